//! Estimates of data made for the purpose.
#![cfg(test)]

mod blank;
mod comparison;
mod damaged;
mod formats;
mod images;
mod mounted;
mod naive;
mod odd;
mod sampling;
mod shared;
mod texture;
mod trees;

use std::path::Path;

use estimate::{Answer, Error, Request};
use sys::interrupt::Interrupt;
use units::Seed;

/// A block of random bytes at the head and zeros behind; never all zero.
pub fn block(id: u64, random: usize) -> Vec<u8> {
    let mut rng = Seed(id).derive("block").generator();
    let mut block = vec![0; 4096];
    block[..random.max(8)].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
    block[0] |= 1;
    block
}

/// Creates the request for `paths` with defaults for everything else.
pub fn request(paths: &[&Path]) -> Request {
    Request { paths: paths.iter().map(|p| p.to_path_buf()).collect(), ..Request::default() }
}

/// The answer.
pub fn estimate(request: &Request) -> Result<Answer, Error> {
    estimate::estimate(request, &Interrupt::new(), None).map(|found| found.answer)
}

/// The answer for one path.
pub fn of(path: &Path) -> Answer {
    estimate(&request(&[path])).unwrap()
}
