//! The cost of a return after a system call: `pread` of a file in memory, in line and through functions.
//!
//! `cargo bench -p engine --bench returns`. CPU time of the thread per call, the least of interleaved repeats; see `src/backend/kernel.rs` for the
//! reason to measure it. On processors that keep their predictions all lines are alike.

#![allow(clippy::print_stdout)]

use std::fs::File;
use std::os::fd::AsRawFd;

use rustix::time::{ClockId, clock_gettime};
use syscalls::{Sysno, raw_syscall};

const BLOCK: usize = 4096;
/// Few enough to stay in the cache, so that the copy itself is cheap.
const BLOCKS: u64 = 1024;
const CALLS: u64 = 20_000;
const REPEATS: usize = 60;

/// The call itself, in line.
#[inline(always)]
fn read(file: i32, memory: &mut [u8; BLOCK], at: u64) -> usize {
    // SAFETY: the memory is as long as is said.
    unsafe { raw_syscall!(Sysno::pread64, file, memory.as_mut_ptr(), BLOCK, at) }
}

/// The call at the bottom of `FRAMES` nested functions, which all return.
#[inline(never)]
fn framed<const FRAMES: u8>(file: i32, memory: &mut [u8; BLOCK], at: u64) -> usize {
    // What comes after the call keeps each frame: none may end in a jump to the next.
    std::hint::black_box(match FRAMES {
        4 => framed::<3>(file, memory, at),
        3 => framed::<2>(file, memory, at),
        2 => framed::<1>(file, memory, at),
        _ => read(file, memory, at),
    })
}

/// CPU time per call, nanoseconds.
fn cost(mut call: impl FnMut(u64) -> usize) -> f64 {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
    };
    let (mut state, start) = (1u64, now());
    for _ in 0..CALLS {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        assert_eq!(call((state >> 32) % BLOCKS * BLOCK as u64), BLOCK);
    }
    (now() - start) / CALLS as f64
}

fn main() -> std::io::Result<()> {
    let path = std::path::Path::new("/dev/shm").join(format!("returns-{}", std::process::id()));
    std::fs::write(&path, vec![7; BLOCK * BLOCKS as usize])?;
    let file = File::open(&path);
    std::fs::remove_file(&path)?;
    let (file, mut memory) = (file?, [0; BLOCK]);
    let file = file.as_raw_fd();
    let mut least = [f64::MAX; 6];
    for _ in 0..REPEATS {
        let memory = &mut memory;
        let costs = [
            cost(|at| read(file, memory, at)),
            cost(|at| framed::<1>(file, memory, at)),
            cost(|at| framed::<2>(file, memory, at)),
            cost(|at| framed::<3>(file, memory, at)),
            cost(|at| framed::<4>(file, memory, at)),
            // SAFETY: the memory is as long as is said.
            cost(|at| unsafe {
                libc::pread(file, memory.as_mut_ptr().cast(), BLOCK, at as i64) as usize
            }),
        ];
        least.iter_mut().zip(costs).for_each(|(least, cost)| *least = least.min(cost));
    }
    let names =
        ["in line", "1 function", "2 functions", "3 functions", "4 functions", "libc's pread"];
    for (name, cost) in names.iter().zip(least) {
        println!("{name:>12} {cost:6.0} ns a call, {:.2} of the one in line", cost / least[0]);
    }
    Ok(())
}
