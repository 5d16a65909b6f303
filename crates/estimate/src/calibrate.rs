//! Error of the modelled packer where not every size was taken, found by taking every size in some stretches.
//!
//! Where a size was not taken, the model gives the packer one of the last sizes that were taken in its place. The effect
//! depends on how similar neighbouring blocks are, which nobody can know beforehand. So in some stretches of the data,
//! spread evenly, every size is taken. There the packer runs with the true sizes, and again as the model would have run it,
//! once for each sample that could have been drawn. Every size is in exactly one of these samples, so the mean size is the same and
//! the difference comes from the packer alone. The mean difference over the stretches corrects the model's figure, and the
//! scatter of the stretches gives the error of that mean. The scatter of the samples among each other is the error of drawing one of them.
//!
//! Each stretch is packed twice in a row and only the second pass counts: bins are then as full when it begins as when it ends. A packer
//! that begins empty packs better than one in the middle of its data, and the worth of its open bins at the end is a guess.

use reduce::{Ongoing, RECENT_SIZES};

use crate::ladder::{self, STRATA, taken_by};

/// Samples that are tried in a stretch, at most.
const MOST_SAMPLES: u64 = 64;
/// A stretch with fewer stored blocks is not used.
const MIN_STORED_BLOCKS: usize = 64;

/// Sums over the stretches where the same share of sizes is taken.
#[derive(Debug, Clone, Copy, Default)]
struct Stratum {
    /// Stored blocks; the size of one in 2^n of them was taken.
    stored: f64,
    stretches: f64,
    blocks: f64,
    off: f64,
    /// Variance among the samples of a stretch.
    drawn: f64,
    /// `blocks` and `off` of the last stretch alone.
    previous: Option<[f64; 2]>,
    /// Sums of products of the differences between a stretch and the one before: blocks squared, blocks times `off`, `off` squared.
    steps: [f64; 3],
}

/// Compares the packer with all sizes known and with a sample of them, in some stretches of the data.
#[derive(Debug, Default)]
pub struct Calibration {
    strata: [Stratum; STRATA],
    /// The open stretch: which, and its share of sizes.
    open: Option<(u64, u8)>,
    blocks: Vec<(u64, u16)>,
}

/// The correction of the physical blocks for each stored block, with its error and that of the model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Correction {
    /// Physical blocks for each stored one.
    pub share: f64,
    /// Its standard error.
    pub error: f64,
    /// The standard error of the model's figure because one sample was drawn, as found in the stretches.
    pub drawn: f64,
}

impl Calibration {
    /// Counts stored blocks where one size in 2^`shift` is taken.
    pub fn stored(&mut self, shift: u8, blocks: f64) {
        if let Some(stratum) = self.strata.get_mut(usize::from(shift)) {
            stratum.stored += blocks;
        }
    }

    /// Counts a stored block of a stretch. One content in 2^`content_shift` is followed.
    pub fn block(&mut self, stretch: u64, shift: u8, content_shift: u32, block: (u64, u16)) {
        if self.open != Some((stretch, shift)) {
            self.close(content_shift);
            self.open = Some((stretch, shift));
        }
        self.blocks.push(block);
    }

    /// Ends the open stretch.
    fn close(&mut self, content_shift: u32) {
        let blocks = std::mem::take(&mut self.blocks);
        let Some((_, shift)) = self.open.take() else { return };
        let Some(stratum) = self.strata.get_mut(usize::from(shift)) else { return };
        if blocks.len() < MIN_STORED_BLOCKS {
            return;
        }
        let samples = 1u64 << (u32::from(shift) + content_shift).min(16);
        let tried = samples.min(MOST_SAMPLES);
        let truth = packed(blocks.iter().chain(&blocks).map(|block| block.1), blocks.len());
        let modelled: Vec<f64> = (0..tried)
            .filter_map(|sample| as_modelled(&blocks, sample * (samples / tried), samples))
            .collect();
        if modelled.is_empty() {
            return;
        }
        let among = modelled.len() as f64;
        let mean = modelled.iter().sum::<f64>() / among;
        stratum.drawn += modelled.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / among;
        stratum.add(blocks.len() as f64, truth - mean);
    }

    /// Returns the correction from all stretches together.
    pub fn finish(mut self, content_shift: u32) -> Correction {
        self.close(content_shift);
        let stored: f64 = self.strata.iter().map(|stratum| stratum.stored).sum();
        if stored == 0.0 {
            return Correction::default();
        }
        let (mut share, mut variance, mut drawn) = (0.0, 0.0, 0.0);
        for (shift, stratum) in (0..).zip(&self.strata).skip(1) {
            let part = stratum.stored / stored;
            let (off, error) = stratum.off_and_error(shift);
            share += part * off;
            variance += (part * error).powi(2);
            drawn += stratum.drawn * stratum.stored / stratum.blocks.max(1.0);
        }
        Correction { share, error: variance.sqrt(), drawn: drawn.sqrt() / stored }
    }
}

/// The error of a stratum without two stretches: more than was ever seen.
const UNKNOWN: f64 = 0.02;

impl Stratum {
    /// Adds a stretch, in which the model is wrong by `off` physical blocks.
    fn add(&mut self, blocks: f64, off: f64) {
        self.stretches += 1.0;
        self.blocks += blocks;
        self.off += off;
        if let Some([blocks_before, off_before]) = self.previous.replace([blocks, off]) {
            let (more, further) = (blocks - blocks_before, off - off_before);
            let squares = [more * more, more * further, further * further];
            self.steps.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
        }
    }

    /// The mean over stretches, and its standard error: a ratio of sums over clusters. One stretch is picked in each group of consecutive
    /// ones, so slow changes along the data add no error (Cochran, Sampling Techniques, 6.4 and 5A.12).
    fn off_and_error(&self, shift: u8) -> (f64, f64) {
        if self.stretches < 2.0 {
            return (0.0, if self.stored > 0.0 { UNKNOWN } else { 0.0 });
        }
        let off = self.off / self.blocks;
        let [blocks, crossed, offs] = self.steps;
        let spread = (offs - 2.0 * off * crossed + off * off * blocks).max(0.0);
        let pairs = self.stretches - 1.0;
        let left_out = 1.0 - 1.0 / ladder::stretches_to_one(shift) as f64;
        let error = (left_out * self.stretches / (2.0 * pairs) * spread).sqrt() / self.blocks;
        // Few stretches may be alike by chance: about what Student's distribution adds.
        (off, error * (1.0 + 2.0 / pairs))
    }
}

/// Physical blocks that the second pass of a stretch takes; `twice` has its sizes two times in a row.
fn packed(twice: impl Iterator<Item = u16>, blocks: usize) -> f64 {
    let mut packer = Ongoing::default();
    let mut before = 0.0;
    for (at, size) in twice.enumerate() {
        if at == blocks {
            before = packer.physical();
        }
        packer.add(usize::from(size));
    }
    packer.physical() - before
}

/// Physical blocks of a stretch when the sizes of one sample alone are known; `None` when it holds none.
fn as_modelled(blocks: &[(u64, u16)], sample: u64, samples: u64) -> Option<f64> {
    let known = |block: &&(u64, u16)| taken_by(block.0, sample, samples);
    // The sizes known before the stretch are taken from its own beginning, the nearest that there are.
    let mut last: Vec<u16> =
        blocks.iter().filter(known).map(|block| block.1).take(RECENT_SIZES).collect();
    if last.is_empty() {
        return None;
    }
    let mut taken = 0;
    let twice = blocks.iter().chain(blocks).enumerate().map(|(at, block)| {
        if known(&block) {
            let place = taken % last.len();
            last[place] = block.1;
            taken += 1;
            return block.1;
        }
        let name = block.0.rotate_left(u32::from(at >= blocks.len()));
        let drawn = (name.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as usize;
        last[drawn % last.len()]
    });
    Some(packed(twice, blocks.len()))
}
