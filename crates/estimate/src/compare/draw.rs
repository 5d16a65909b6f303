//! Chooses the records to compress: as many as the comparison needs to be within a point, and no more.
//!
//! The data that a worker meets is cut into strata. One block is drawn in each of them, and the record around it is compressed. So every block,
//! whatever the order of the data, is as likely to be drawn as its neighbours, and each drawn one stands for its stratum. Strata are as long as
//! the scatter seen so far allows, and in proportion to the data before them, so the number of draws grows with the logarithm of the data.
//! Where strata would be no longer than records, all records are compressed.

use std::sync::{Mutex, PoisonError};

use units::Seed;

use super::records::{RECORD_BLOCKS, Record, SMALL, SURE, UNSEEN};

/// Half the width of the interval that is aimed at, as a fraction: below a point, since records to come may scatter more than those before.
const AIM: f64 = 0.0085;
/// The scatter that is assumed before anything is seen, and the number of pairs of records that it counts for.
const SUPPOSED: f64 = 0.2;
const SUPPOSED_PAIRS: f64 = 2.0;
/// Pairs of records after which older ones count half: data changes.
const FORGOTTEN: f64 = 256.0;

/// Scatter of the records around their predicted size, as seen so far by all workers.
#[derive(Debug, Default)]
pub struct Scatter(Mutex<Seen>);

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    pairs: f64,
    /// For both compressors, the sum of half the squared differences between a record's deviation and that of the one before.
    squares: [f64; 2],
}

impl Scatter {
    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, before: [f64; 2], off: [f64; 2]) {
        let mut seen = self.lock();
        if seen.pairs >= FORGOTTEN {
            seen.pairs /= 2.0;
            seen.squares = seen.squares.map(|square| square / 2.0);
        }
        seen.pairs += 1.0;
        for (square, (before, off)) in seen.squares.iter_mut().zip(before.into_iter().zip(off)) {
            *square += (off - before).powi(2) / 2.0;
        }
    }

    /// Returns the length in blocks of a stratum that begins after `at` blocks.
    ///
    /// Strata of at/K blocks (SMALL/K at the beginning) give a variance of s²/2K (1 + SMALL²/at²), and one record unlike all seen so far
    /// adds (UNSEEN/K)². K is the least number that keeps their sum within the aim.
    fn stratum(&self, at: u64) -> u64 {
        let seen = *self.lock();
        let worst = seen.squares[0].max(seen.squares[1]) + SUPPOSED_PAIRS * SUPPOSED.powi(2);
        let variance = worst / (seen.pairs + SUPPOSED_PAIRS);
        let at = at.max(SMALL) as f64;
        let aim = (AIM / SURE).powi(2);
        let half = variance * (1.0 + (SMALL as f64 / at).powi(2)) / 4.0 / aim;
        let strata = half + (half.powi(2) + UNSEEN.powi(2) / aim).sqrt();
        (at / strata) as u64
    }
}

/// The result of the draw for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// It is compressed, and stands for itself.
    Whole,
    /// It is compressed, and stands for this number of blocks.
    For(u64),
    /// Others stand for it.
    Passed,
}

/// The draws of one worker.
#[derive(Debug, Default)]
pub struct Draw {
    seed: u64,
    /// Blocks of the open stratum; `left` of them are still to come, and the drawn one is number `until` among those, 0 when it has passed.
    length: u64,
    left: u64,
    until: u64,
    /// Differences of the last compressed record from its prediction, for both compressors.
    last: Option<[f64; 2]>,
}

impl Draw {
    /// Creates the draws of a seed.
    pub fn new(seed: Seed) -> Self {
        Self { seed: seed.0, ..Self::default() }
    }

    /// Decides about a record.
    pub fn take(&mut self, record: Record, scatter: &Scatter) -> Drawn {
        let (mut blocks, mut stands) = (record.blocks, 0);
        while blocks > 0 {
            if self.left == 0 {
                let length = scatter.stratum(record.place);
                if length <= RECORD_BLOCKS && blocks == record.blocks {
                    return Drawn::Whole;
                }
                let at = record.place + record.blocks - blocks;
                self.length = length.max(1);
                self.left = self.length;
                self.until = Seed(self.seed ^ at).derive("record").0 % self.length + 1;
            }
            let here = blocks.min(self.left);
            if self.until > 0 && self.until <= here {
                stands += self.length;
            }
            self.until = self.until.saturating_sub(here);
            (self.left, blocks) = (self.left - here, blocks - here);
        }
        if stands > 0 { Drawn::For(stands) } else { Drawn::Passed }
    }

    /// Notes what two compressors made of a record.
    pub fn note(&mut self, record: Record, made: [u64; 2], scatter: &Scatter) {
        let off = record.deviation(made);
        if let Some(before) = self.last.replace(off) {
            scatter.note(before, off);
        }
    }
}

#[cfg(test)]
mod tests;
