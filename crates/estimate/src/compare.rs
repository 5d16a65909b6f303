//! What file systems that compress records of 128 KiB would save, for comparison: btrfs and ZFS.

use reduce::{BLOCK, Lz4};
use serde::{Deserialize, Serialize};

/// Bytes of a record, btrfs' largest and ZFS' default.
const RECORD: usize = 128 << 10;
/// The level that btrfs and ZFS take when nobody says another.
const ZSTD_LEVEL: i32 = 3;
/// From so many jobs on, one in so many is looked at. A record costs as much as the sizes of 300 blocks.
const STEPS: [(u64, u64); 5] =
    [(16, 64), (2048, 128), (8192, 256), (1 << 20, 1024), (1 << 24, 1 << 14)];

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
    /// What it looked at.
    pub records: Records,
}

/// A record that was looked at, in 4 KiB.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SampledRecord {
    job: u64,
    /// Jobs that it stands for.
    each: f64,
    /// What it takes as it is, and what two compressors make of it.
    blocks: f64,
    made: [f64; 2],
}

/// The records that were looked at: some thousands at most.
#[derive(Debug, Clone, Default)]
pub struct Records(Vec<SampledRecord>);

/// Of the jobs around this one, one in so many is looked at.
fn every(job: u64) -> u64 {
    STEPS.iter().rev().find(|step| job >= step.0).map_or(1, |step| step.1)
}

impl Sampler {
    /// A sampler that saw nothing yet.
    pub fn new() -> Self {
        Self {
            lz4: Lz4::new(),
            zstd: zstd::bulk::Compressor::new(ZSTD_LEVEL).ok(),
            out: vec![0; RECORD + RECORD / 128 + 1024],
            records: Records::default(),
        }
    }

    /// Looks at the first record of a job, if this job is one of the sample.
    pub fn look(&mut self, job: u64, bytes: &[u8]) {
        let every = every(job);
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
        let made = [lz4, zstd].map(|size| (size.div_ceil(BLOCK) as f64).min(blocks));
        self.records.0.push(SampledRecord { job, each: every as f64, blocks, made });
    }
}

impl Records {
    /// Adds what another worker looked at.
    pub fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns what they say.
    pub fn comparison(mut self) -> Comparison {
        self.0.sort_unstable_by_key(|looked| looked.job);
        let [lz4, zstd] = [0, 1].map(|at| self.other(at));
        Comparison { record_bytes: RECORD as u64, lz4, zstd, records: self.0.len() as u64 }
    }

    /// A ratio of sums over records, and its error. Of each group of jobs in a row one was looked at, so what counts is how far a
    /// record is off the one before it: what changes slowly along the data does not (Cochran, Sampling Techniques, 6.4 and 5A.12).
    fn other(&self, at: usize) -> Other {
        let blocks: f64 = self.0.iter().map(|looked| looked.each * looked.blocks).sum();
        if blocks == 0.0 {
            return Other { saving_percent: None, error_points: None };
        }
        let made: f64 = self.0.iter().map(|looked| looked.each * looked.made[at]).sum();
        let ratio = made / blocks;
        let off = |looked: &SampledRecord| looked.each * (looked.made[at] - ratio * looked.blocks);
        let variance: f64 = self
            .0
            .chunk_by(|one, next| one.each == next.each)
            .map(|step| {
                let squares: f64 =
                    step.windows(2).map(|pair| (off(&pair[1]) - off(&pair[0])).powi(2)).sum();
                match step {
                    // Beside a single one there is nothing: it may be off by all.
                    [single] => off(single).powi(2),
                    _ => squares * step.len() as f64 / (2 * (step.len() - 1)) as f64,
                }
            })
            .sum();
        Other {
            saving_percent: Some(100.0 * (1.0 - ratio)),
            error_points: Some(100.0 * 1.96 * variance.sqrt() / blocks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    /// Jobs of 2 GiB.
    const JOBS: u64 = 8192;

    /// Returns what is looked at when the sample is drawn by `seed`, of data that begins compressible and ends as noise.
    fn drawn(seed: u64, every: impl Fn(u64) -> u64) -> Records {
        let mut records = Records::default();
        for job in 0..JOBS {
            let mut data = Seed(job / 20).derive("file").generator();
            let each = every(job);
            let group = Seed(seed).derive("drawn").0 ^ (job / each);
            if Seed(group).derive("record").0 % each != job % each {
                continue;
            }
            let made = (data.below(20) + 12 * u64::from(job > JOBS / 2)) as f64;
            records.0.push(SampledRecord {
                job,
                each: each as f64,
                blocks: 32.0,
                made: [made, made / 2.0],
            });
        }
        records
    }

    #[test]
    fn the_stated_error_covers_what_all_records_would_have_said_and_is_no_wider_than_needed() {
        let truth = drawn(0, |_| 1).comparison();
        let (mut outside, mut stated, mut squares) = (0, 0.0, 0.0);
        for seed in 0..100 {
            let found = drawn(seed, every).comparison();
            for (found, truth) in [(found.lz4, truth.lz4), (found.zstd, truth.zstd)] {
                let off = found.saving_percent.unwrap() - truth.saving_percent.unwrap();
                let error = found.error_points.unwrap();
                outside += u32::from(off.abs() > error);
                stated += error / 200.0;
                squares += off * off / 200.0;
            }
        }
        let needed = 1.96 * f64::sqrt(squares);
        assert!(outside <= 20, "{outside} of 200 outside the interval of 95 %");
        assert!(stated < 1.5 * needed, "stated {stated}, needed {needed}");
    }

    #[test]
    fn one_record_may_be_off_by_all_and_none_says_nothing() {
        let none = Records::default().comparison();
        assert_eq!((none.lz4.saving_percent, none.records), (None, 0));
        let looked = |job, made| SampledRecord { job, each: 1.0, blocks: 32.0, made: [made, 32.0] };
        let some = Records(vec![looked(1, 32.0), looked(0, 0.0)]).comparison();
        assert_eq!((some.lz4.saving_percent, some.zstd.saving_percent), (Some(50.0), Some(0.0)));
        assert!(some.lz4.error_points > Some(60.0) && some.zstd.error_points == Some(0.0));
    }
}
