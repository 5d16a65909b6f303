//! How far the packer is off because not every size was taken, found by taking every size in some stretches.
//!
//! Where a size was not taken, the model lets one of the last that were taken pass through the packer in its place. What that
//! does depends on how like each other neighbours are, which nobody can know beforehand. So in some stretches of the data,
//! spread evenly, every size is taken. There the packer runs with the true sizes, and again as the model would have run it,
//! once for each sample that could have been drawn: every size is then in exactly one of these, so that the means are
//! equal and the difference is the packer's alone. Its mean over the stretches corrects the model's figure, and the
//! scatter of the stretches gives the error of that.

use reduce::Ongoing;

use crate::ladder::{STRATA, taken_by};

/// Samples that are tried in a stretch, at most.
const MOST_SAMPLES: u64 = 64;
/// Sizes that the model remembers.
const LAST: usize = 16;
/// A stretch with fewer stored blocks says nothing.
const LEAST: usize = 64;

/// Sums over the stretches of one share of sizes.
#[derive(Debug, Clone, Copy, Default)]
struct Stratum {
    /// Blocks that were stored, of which one size in 2^n was taken.
    stored: f64,
    stretches: f64,
    blocks: f64,
    off: f64,
    /// Squares: of blocks, of blocks times off, of off.
    squares: [f64; 3],
}

/// The stretches.
#[derive(Debug, Default)]
pub struct Calibration {
    strata: [Stratum; STRATA],
    /// The open stretch: which, and its share of sizes.
    open: Option<(u64, u8)>,
    blocks: Vec<(u64, u16)>,
}

/// What is to be added to the physical blocks for each stored block, and its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Correction {
    /// Physical blocks for each stored one.
    pub share: f64,
    /// Its standard error.
    pub error: f64,
}

impl Calibration {
    /// Counts stored blocks where one size in 2^`shift` is taken.
    pub fn stored(&mut self, shift: u8, blocks: f64) {
        if let Some(stratum) = self.strata.get_mut(usize::from(shift)) {
            stratum.stored += blocks;
        }
    }

    /// A stored block of a stretch. `content_shift`: of contents, one in 2^this is followed.
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
        if blocks.len() < LEAST {
            return;
        }
        let samples = 1u64 << (u32::from(shift) + content_shift).min(16);
        let tried = samples.min(MOST_SAMPLES);
        let truth = packed(blocks.iter().map(|block| block.1));
        let modelled: Vec<f64> = (0..tried)
            .filter_map(|sample| as_modelled(&blocks, sample * (samples / tried), samples))
            .collect();
        if modelled.is_empty() {
            return;
        }
        let off = truth - modelled.iter().sum::<f64>() / modelled.len() as f64;
        let n = blocks.len() as f64;
        stratum.stretches += 1.0;
        stratum.blocks += n;
        stratum.off += off;
        for (sum, product) in stratum.squares.iter_mut().zip([n * n, n * off, off * off]) {
            *sum += product;
        }
    }

    /// What all stretches say together.
    pub fn finish(mut self, content_shift: u32) -> Correction {
        self.close(content_shift);
        let stored: f64 = self.strata.iter().map(|stratum| stratum.stored).sum();
        if stored == 0.0 {
            return Correction::default();
        }
        let (mut share, mut variance) = (0.0, 0.0);
        for stratum in self.strata.iter().skip(1) {
            let part = stratum.stored / stored;
            let (off, error) = stratum.off_and_error();
            share += part * off;
            variance += (part * error).powi(2);
        }
        Correction { share, error: variance.sqrt() }
    }
}

/// The error of a stratum without two stretches: more than was ever seen.
const UNKNOWN: f64 = 0.02;

impl Stratum {
    /// The mean over stretches, and its standard error (a ratio of sums over clusters; Cochran 6.4).
    fn off_and_error(&self) -> (f64, f64) {
        if self.stretches < 2.0 {
            return (0.0, if self.stored > 0.0 { UNKNOWN } else { 0.0 });
        }
        let off = self.off / self.blocks;
        let [blocks, crossed, offs] = self.squares;
        let spread = (offs - 2.0 * off * crossed + off * off * blocks).max(0.0);
        let few = self.stretches / (self.stretches - 1.0);
        (off, (few * spread).sqrt() / self.blocks)
    }
}

/// Physical blocks of a stretch. Bins that are open at its end count as far as they are filled: the data goes on.
fn packed(sizes: impl Iterator<Item = u16>) -> f64 {
    let mut packer = Ongoing::default();
    sizes.for_each(|size| packer.add(usize::from(size)));
    packer.physical()
}

/// Physical blocks of a stretch when the sizes of one sample alone are known; `None` when it holds none.
fn as_modelled(blocks: &[(u64, u16)], sample: u64, samples: u64) -> Option<f64> {
    let known = |block: &&(u64, u16)| taken_by(block.0, sample, samples);
    // The stretch begins with what came before it: the nearest that is there.
    let mut last: Vec<u16> = blocks.iter().filter(known).map(|block| block.1).take(LAST).collect();
    if last.is_empty() {
        return None;
    }
    let mut at = 0;
    let sizes = blocks.iter().map(|block| {
        if known(&block) {
            let place = at % last.len();
            last[place] = block.1;
            at += 1;
            return block.1;
        }
        let drawn = (block.0.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as usize;
        last[drawn % last.len()]
    });
    Some(packed(sizes))
}
