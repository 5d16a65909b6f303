//! Records that are drawn, and the estimate for all records from them.
//!
//! Each of them stands for its stratum. Not its size is extrapolated, but the difference from its predicted size, which is known for
//! every record: the difference estimator (Cochran, Sampling Techniques, 7.2 and 5A.12).

use reduce::BLOCK;
use serde::{Deserialize, Serialize};

use super::copies::RecordDedupe;

/// Bytes of a record, btrfs' largest and ZFS' default.
pub const RECORD: usize = 128 << 10;
/// Its blocks.
pub const RECORD_BLOCKS: u64 = (RECORD / BLOCK) as u64;
/// Most blocks of data for which all records are compressed: 64 MiB.
pub const SMALL: u64 = 1 << 14;
/// Half the width of an interval of 95 %, in standard errors.
pub const SURE: f64 = 1.96;
/// Share of a record by which a record unlike all that were seen may differ from its prediction.
pub const UNSEEN: f64 = 0.25;

/// The saving by compressed records, without deduplication.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The record, bytes.
    pub record_bytes: u64,
    /// With LZ4.
    pub lz4: Other,
    /// With zstd, level 3.
    pub zstd: Other,
    /// Records that this rests on.
    pub records: u64,
    /// Saving by storing equal whole records once, without compression; `None` where nobody counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedupe: Option<RecordDedupe>,
}

/// One compressor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Other {
    /// Saved space, sizes rounded up to 4 KiB, percent of all blocks, zero blocks among them.
    pub saving_percent: Option<f64>,
    /// Half the width of its 95 % interval, points; 0 where all records were compressed, and only there.
    pub error_points: Option<f64>,
}

/// A record, in blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    /// Blocks before it.
    pub place: u64,
    /// Blocks in it.
    pub blocks: u64,
    /// Blocks that it is predicted to take, by the sizes of its blocks.
    pub foretold: u64,
}

impl Record {
    /// Returns how far the compressed sizes in `made`, in blocks, differ from its prediction, for each of its blocks.
    pub fn deviation(self, made: [u64; 2]) -> [f64; 2] {
        made.map(|made| (made as f64 - self.foretold as f64) / self.blocks as f64)
    }
}

/// The record that was drawn in a stratum.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    /// The worker that drew it, by a number.
    worker: u32,
    place: u64,
    /// Its blocks.
    blocks: u64,
    /// Blocks of the stratum.
    stratum: u64,
    /// Difference between the record's size with each of two compressors and its prediction, for each of its blocks.
    off: [f64; 2],
}

/// Sums over all records, and the drawn ones.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// Records that stand for themselves alone, because all around are compressed; their blocks, and (`made`) the compressed ones.
    count: u64,
    blocks: u64,
    made: [u64; 2],
    /// Blocks of all other records, and (`foretold`) the blocks that they are predicted to take; some of these records were drawn.
    rest: u64,
    foretold: u64,
    /// In the order of each worker.
    points: Vec<Point>,
    /// Workers that were added.
    workers: u32,
}

impl Records {
    /// Counts a compressed record that stands for itself alone.
    pub fn count_compressed(&mut self, record: Record, made: [u64; 2]) {
        self.count += 1;
        self.blocks += record.blocks;
        self.made = [self.made[0] + made[0], self.made[1] + made[1]];
    }

    /// Counts a record for which a drawn one stands.
    pub fn count_predicted(&mut self, record: Record) {
        self.rest += record.blocks;
        self.foretold += record.foretold;
    }

    /// Counts a drawn record, which stands for `stratum` blocks.
    pub fn point(&mut self, record: Record, stratum: u64, made: [u64; 2]) {
        let Record { place, blocks, .. } = record;
        self.points.push(Point { worker: 0, place, blocks, stratum, off: record.deviation(made) });
    }

    /// Adds what a worker looked at.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.blocks += other.blocks;
        self.made = [self.made[0] + other.made[0], self.made[1] + other.made[1]];
        self.rest += other.rest;
        self.foretold += other.foretold;
        self.workers += 1;
        let worker = self.workers;
        self.points.extend(other.points.into_iter().map(|point| Point { worker, ..point }));
    }

    /// Returns the estimate.
    pub fn comparison(self) -> Comparison {
        let [lz4, zstd] = [0, 1].map(|at| self.other_method(at));
        let drawn = self.points.chunk_by(|one, next| one.place == next.place).count();
        let records = self.count + drawn as u64;
        Comparison { record_bytes: RECORD as u64, lz4, zstd, records, dedupe: None }
    }

    fn other_method(&self, at: usize) -> Other {
        let blocks = (self.blocks + self.rest) as f64;
        if blocks == 0.0 {
            return Other { saving_percent: None, error_points: None };
        }
        let (off, error) = self.mean_deviation(at);
        let rest = self.foretold as f64 + self.rest as f64 * off;
        let made = (self.made[at] as f64 + rest) / blocks;
        Other {
            saving_percent: Some(100.0 * (1.0 - made).clamp(0.0, 1.0)),
            error_points: Some(100.0 * error * self.rest as f64 / blocks),
        }
    }

    /// Returns how far records differ from their prediction, for each block, and the error of that. One record is drawn in each stratum, so the
    /// error follows from the differences between successive points of the same worker: slow changes along the data add none.
    fn mean_deviation(&self, at: usize) -> (f64, f64) {
        let weights: f64 = self.points.iter().map(|point| point.stratum as f64).sum();
        if self.rest == 0 {
            return (0.0, 0.0);
        }
        let pairs = self.points.windows(2).filter(|pair| pair[0].worker == pair[1].worker);
        let count = pairs.clone().count();
        if count == 0 {
            return (0.0, 1.0);
        }
        let sum: f64 = self.points.iter().map(|point| point.stratum as f64 * point.off[at]).sum();
        let square = |stratum: u64| (stratum as f64).powi(2);
        // The part of a stratum that was compressed adds no error.
        let spread = |point: &Point| {
            square(point.stratum) * (1.0 - point.blocks as f64 / point.stratum as f64).max(0.0)
        };
        let differences = pairs.map(|pair| {
            let weight = (spread(&pair[0]) + spread(&pair[1])) / 2.0;
            weight * (pair[1].off[at] - pair[0].off[at]).powi(2) / 2.0
        });
        let scatter = differences.sum::<f64>() * self.points.len() as f64 / count as f64;
        // One more record may be unlike all that were seen.
        let largest = self.points.iter().map(|point| point.stratum).max().unwrap_or(0);
        let variance = scatter + UNSEEN.powi(2) * square(largest);
        (sum / weights, (SURE * variance.sqrt() / weights).min(1.0))
    }
}

#[cfg(test)]
mod tests;
