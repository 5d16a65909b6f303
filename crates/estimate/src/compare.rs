//! What file systems that compress records of 128 KiB would save, for comparison: btrfs and ZFS.

use reduce::{BLOCK, Lz4};
use serde::{Deserialize, Serialize};

/// Bytes of a record, btrfs' largest and ZFS' default.
const RECORD: usize = 128 << 10;
/// The level that btrfs and ZFS take when nobody says another.
const ZSTD_LEVEL: i32 = 3;
/// From so many jobs on, one in so many is looked at.
const STEPS: [(u64, u64); 3] = [(16, 32), (4096, 128), (1 << 20, 1024)];

/// What compressing records saves, without deduplication.
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
}

/// One compressor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Other {
    /// Saved space, sizes rounded up to 4 KiB, percent of all blocks, zero blocks among them.
    pub saving_percent: Option<f64>,
    /// Half the width of its 95 % interval, points.
    pub error_points: Option<f64>,
}

/// Compresses some of the records.
pub struct Sampler {
    lz4: Lz4,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    out: Vec<u8>,
    sums: Sums,
}

/// Weighted sums over records: of their blocks, and of what two compressors make of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums {
    records: u64,
    blocks: f64,
    made: [f64; 2],
    /// Squares: of blocks, of blocks times made, of made.
    squares: [[f64; 3]; 2],
}

impl Sampler {
    /// A sampler that saw nothing yet.
    pub fn new() -> Self {
        Self {
            lz4: Lz4::new(),
            zstd: zstd::bulk::Compressor::new(ZSTD_LEVEL).ok(),
            out: vec![0; RECORD + RECORD / 128 + 1024],
            sums: Sums::default(),
        }
    }

    /// Looks at the first record of a job, if this job is one of the sample.
    pub fn look(&mut self, job: u64, bytes: &[u8]) {
        let every = STEPS.iter().rev().find(|step| job >= step.0).map_or(1, |step| step.1);
        // Spread over positions, so that no period of the data meets it.
        let picked = units::Seed(job / every).derive("record").0 % every == job % every;
        let record = &bytes[..bytes.len().min(RECORD)];
        if !picked || record.is_empty() {
            return;
        }
        let Some(zstd) = &mut self.zstd else { return };
        let (Ok(lz4), Ok(zstd)) =
            (self.lz4.size_of(record), zstd.compress_to_buffer(record, &mut self.out))
        else {
            return;
        };
        let blocks = record.len().div_ceil(BLOCK) as f64;
        let weight = every as f64;
        self.sums.records += 1;
        self.sums.blocks += weight * blocks;
        for (at, size) in [lz4, zstd].into_iter().enumerate() {
            let made = (size.div_ceil(BLOCK) as f64).min(blocks);
            self.sums.made[at] += weight * made;
            let spread = weight * weight;
            for (sum, product) in
                self.sums.squares[at].iter_mut().zip([blocks * blocks, blocks * made, made * made])
            {
                *sum += spread * product;
            }
        }
    }

    /// What was found.
    pub fn sums(&self) -> Sums {
        self.sums
    }
}

impl Sums {
    /// Adds what another worker found.
    pub fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.blocks += other.blocks;
        for at in 0..2 {
            self.made[at] += other.made[at];
            for (sum, more) in self.squares[at].iter_mut().zip(other.squares[at]) {
                *sum += more;
            }
        }
    }

    /// What it says.
    pub fn comparison(&self) -> Comparison {
        let other = |at: usize| {
            if self.records == 0 {
                return Other { saving_percent: None, error_points: None };
            }
            let ratio = self.made[at] / self.blocks;
            // The error of a ratio of sums over records (Cochran, Sampling Techniques, 6.4).
            let [blocks, crossed, made] = self.squares[at];
            let spread = (made - 2.0 * ratio * crossed + ratio * ratio * blocks).max(0.0);
            Other {
                saving_percent: Some(100.0 * (1.0 - ratio)),
                error_points: Some(100.0 * 1.96 * spread.sqrt() / self.blocks),
            }
        };
        Comparison {
            record_bytes: RECORD as u64,
            lz4: other(0),
            zstd: other(1),
            records: self.records,
        }
    }
}
