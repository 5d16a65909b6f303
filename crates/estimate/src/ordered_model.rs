//! Puts what workers found back into the order of reading, and through the model.

use std::collections::BTreeMap;

use reduce::{BlockOutcome, Figures, Model, Policy, WrittenBlock};

use crate::calibrate::{Calibration, Correction};
use crate::ladder;
use crate::neighbours::Neighbours;
use crate::worker::Done;

/// The blocks of one directory. Where contents are sampled, duplicates and unique blocks stand for all.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DirectoryCounts {
    /// All blocks.
    pub total: u64,
    /// Zero blocks.
    pub zero: u64,
    /// Duplicates.
    pub duplicate: f64,
    /// Unique blocks.
    pub unique: f64,
    /// Unique blocks whose size is known, by their weight, and the bytes that LZ4 makes of them.
    pub sized: (f64, f64),
}

/// The counts of a whole scan.
pub struct Whole {
    /// Counts.
    pub figures: Figures,
    /// The correction of the packer's figure.
    pub correction: Correction,
    /// Counts of LZ4 sizes that follow each other.
    pub neighbours: Neighbours,
    /// One content in 2^`shift` was followed.
    pub shift: u32,
    /// Bytes that went through.
    pub bytes: u64,
    /// By directory.
    pub held: Vec<DirectoryCounts>,
}

/// Puts the blocks of finished jobs through the model in the order in which they were read: what VDO does depends on it.
pub struct OrderedModel {
    model: Model,
    calibration: Calibration,
    neighbours: Neighbours,
    next: u64,
    waiting: BTreeMap<u64, Done>,
    /// Bytes that went through.
    pub bytes: u64,
    /// By directory.
    pub held: Vec<DirectoryCounts>,
}

impl OrderedModel {
    /// Creates a model that has seen nothing yet.
    pub fn new(policy: Policy) -> Self {
        Self {
            model: Model::new(policy),
            calibration: Calibration::default(),
            neighbours: Neighbours::default(),
            next: 0,
            waiting: BTreeMap::new(),
            bytes: 0,
            held: Vec::new(),
        }
    }

    /// Jobs that wait for one before them.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Duplicates so far, and all blocks that are not zero.
    pub fn duplicates(&self) -> [u64; 2] {
        self.model.duplicates()
    }

    /// Takes the result of a job. All results up to the first one missing in the order go through the model.
    pub fn take(&mut self, done: Done) {
        self.waiting.insert(done.number, done);
        while let Some(done) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.bytes += done.bytes;
            self.model.touch(done.blocks.iter().map(|block| block.name));
            let mut at = 0;
            for run in &done.runs {
                let blocks = &done.blocks[at..at + run.data as usize];
                at += blocks.len();
                let directory = run.directory as usize;
                if self.held.len() <= directory {
                    self.held.resize(directory + 1, DirectoryCounts::default());
                }
                let held = &mut self.held[directory];
                held.total += u64::from(run.zeros + run.data);
                held.zero += u64::from(run.zeros);
                self.model.zeros(u64::from(run.zeros));
                for &block in blocks {
                    let (block, outcome) = self.put(block, done.stretch);
                    let held = &mut self.held[directory];
                    let each = (1u64 << self.model.shift()) as f64;
                    match outcome {
                        BlockOutcome::Passed => {}
                        BlockOutcome::New => {
                            held.unique += each;
                            if let Some(size) = block.lz4_bytes {
                                let each = each * f64::from(1u32 << block.size_shift);
                                held.sized.0 += each;
                                held.sized.1 += each * f64::from(size);
                            }
                        }
                        BlockOutcome::Duplicate | BlockOutcome::Again => held.duplicate += each,
                    }
                }
            }
        }
    }

    /// Puts a block through the model; returns it with its size only if that is in the sample, and the outcome.
    #[inline]
    fn put(&mut self, block: WrittenBlock, stretch: Option<u64>) -> (WrittenBlock, BlockOutcome) {
        let size = block.lz4_bytes;
        let beyond = stretch.is_some() && !ladder::is_sized(block.name, block.size_shift);
        let block = WrittenBlock { lz4_bytes: size.filter(|_| !beyond), ..block };
        let cancelled = self.model.cancelled();
        let outcome = self.model.write(block);
        if self.model.cancelled() > cancelled {
            self.neighbours.remove_repeated(block.name);
            if let Some(size) = block.lz4_bytes {
                let shift = self.model.shift() + u32::from(block.size_shift);
                self.neighbours.count_near(size, (1u64 << shift) as f64);
            }
        }
        self.follow(block, size, outcome, stretch.is_some());
        self.calibrate(block, size, outcome, stretch);
        (block, outcome)
    }

    /// Counts a block that is stored for the first time among the consecutive sizes, where all sizes are known.
    #[inline]
    fn follow(
        &mut self,
        block: WrittenBlock,
        size: Option<u16>,
        outcome: BlockOutcome,
        stretch: bool,
    ) {
        match (outcome, size) {
            (BlockOutcome::Duplicate | BlockOutcome::Again, _) => {}
            // A content that is not followed may be new; in a stretch it counts as new.
            (BlockOutcome::New | BlockOutcome::Passed, Some(size)) if stretch => {
                let pairs = ladder::stretches_to_one(block.size_shift) as f64;
                self.neighbours.stored(block.name, size, pairs);
            }
            (BlockOutcome::New, Some(size)) if block.size_shift == 0 && self.model.shift() == 0 => {
                self.neighbours.stored(block.name, size, 1.0);
            }
            _ => self.neighbours.gap(),
        }
    }

    /// Counts a stored block for the correction of the packer's figure.
    #[inline]
    fn calibrate(
        &mut self,
        block: WrittenBlock,
        size: Option<u16>,
        outcome: BlockOutcome,
        at: Option<u64>,
    ) {
        let shift = self.model.shift();
        let each = match outcome {
            BlockOutcome::New | BlockOutcome::Again => (1u64 << shift) as f64,
            // Contents that are not followed may be new; in a stretch they count as new.
            BlockOutcome::Passed => 0.0,
            BlockOutcome::Duplicate => return,
        };
        self.calibration.stored(block.size_shift, each);
        if let (Some(stretch), Some(size)) = (at, size) {
            self.calibration.block(stretch, block.size_shift, shift, (block.name, size));
        }
    }

    /// Returns the counts of everything.
    pub fn finish(self) -> Whole {
        let shift = self.model.shift();
        Whole {
            correction: self.calibration.finish(shift),
            neighbours: self.neighbours,
            figures: self.model.finish(),
            shift,
            bytes: self.bytes,
            held: self.held,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;
    use crate::compare::Records;
    use crate::extrapolate::{Estimate, Parts};
    use crate::{Request, Sources};
    use units::Seed;

    /// Blocks of a job.
    const JOB: usize = 64;
    /// 768 MiB.
    const BLOCKS: usize = 3 << 16;

    /// LZ4 sizes of blocks, one for each, with some likeness of neighbours.
    fn sizes(texture: usize, seed: u64) -> Vec<u16> {
        let mut rng = Seed(seed).derive("sizes").generator();
        let mixed = [280u64, 700, 1300, 1500, 2100, 2600, 3500, 4096];
        let mut sizes = Vec::with_capacity(BLOCKS);
        while sizes.len() < BLOCKS {
            let (length, base, spread) = match texture {
                // No likeness at all.
                0 => (1, mixed[rng.below(8) as usize], 1),
                // Runs of one size.
                1 => (1 + rng.below(40), mixed[rng.below(8) as usize], 1),
                // Files, each with a level of its own.
                2 => (1 + rng.below(300), 300 + rng.below(2400), 1200),
                // Pairs that fit each other.
                3 => (1, if sizes.len() % 2 == 0 { 2537 } else { 1433 }, 20),
                // A half that is packed already, and text.
                _ => (1 + rng.below(900), [4096, 1200][rng.below(2) as usize], 900),
            };
            for _ in 0..length {
                sizes.push((base + rng.below(spread)).min(4096) as u16);
            }
        }
        sizes.truncate(BLOCKS);
        sizes
    }

    fn estimated(sizes: &[u16], seed: u64, exact: bool) -> (Answer, Correction) {
        let mut rng = Seed(seed).derive("names").generator();
        let mut order = OrderedModel::new(Policy::default());
        for (number, sizes) in sizes.chunks(JOB).enumerate() {
            let shift = ladder::shift((number * JOB) as u64, exact);
            let stretch = ladder::stretch(number as u64, shift);
            let blocks = sizes.iter().map(|&size| {
                let name = rng.next_u64();
                let there = stretch.is_some() || ladder::is_sized(name, shift);
                WrittenBlock { name, lz4_bytes: there.then_some(size), size_shift: shift }
            });
            let blocks: Vec<_> = blocks.collect();
            let runs = vec![crate::worker::Run { directory: 0, zeros: 0, data: JOB as u32 }];
            order.take(Done { number: number as u64, runs, blocks, stretch, ..Done::default() });
        }
        let whole = order.finish();
        let correction = whole.correction;
        let parts = Parts {
            whole,
            names: vec!["/".into()],
            sources: Sources::default(),
            sequences: Vec::new(),
            comparison: Records::default().comparison(),
            complete: true,
            elapsed: std::time::Duration::ZERO,
        };
        (Estimate::of(&Request::default(), parts).unwrap().answer, correction)
    }

    /// The interval of the saving holds the truth as often as it says, whatever neighbours are like, the packer included.
    #[test]
    fn the_stated_error_covers_what_every_size_would_have_given() {
        let (mut outside, mut without, mut all) = (0, 0, 0);
        for texture in 0..5 {
            for seed in 0..4 {
                let sizes = sizes(texture, seed);
                let saving = |answer: &Answer| answer.vdo.saving_percent.unwrap();
                let truth = saving(&estimated(&sizes, seed, true).0);
                let (answer, correction) = estimated(&sizes, seed, false);
                let (off, error) = (saving(&answer) - truth, answer.sampled.saving_error_points);
                assert!(error > 0.0 && error < 2.0, "{error}");
                all += 1;
                outside += u32::from(off.abs() > error);
                without += u32::from((off + 100.0 * correction.share).abs() > error);
                println!(
                    "{texture} {seed} truth {truth:.3} off {off:.3} error {error:.3} correction {:.3} ± {:.3}",
                    100.0 * correction.share,
                    196.0 * correction.error
                );
            }
        }
        assert!(outside * 10 <= all, "{outside} of {all} outside the interval");
        assert!(without > 2 * outside, "the correction changes nothing: {without}, {outside}");
    }
}
