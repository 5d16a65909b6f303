//! Compressible blocks: finds the number of random bytes, with zeros after them, that LZ4 packs to a given size, or texts of that size.

use reduce::{BLOCK, Lz4};

use crate::fill::{BlockLayout, Generator};
use crate::texts::{TEXTS, TextWriter, Texts};
use crate::{ContentId, ContentSpec, ProfileSource, Texture};

/// Largest distance of a block's LZ4 size from the one asked for, bytes.
pub(crate) const TOLERANCE: usize = 3;
/// Fewest random bytes: the head that identifies a block.
const MIN_RANDOM_BYTES: usize = 16;
/// Blocks that are tried for each number of random bytes; the middle one counts.
const TRIED: usize = 5;
/// Layouts that are tried for each size where there are many sizes to find.
const TRIED_OF_MANY: usize = 1;

/// A layout and what LZ4 makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Calibrated {
    pub layout: BlockLayout,
    /// LZ4 size of most blocks, bytes.
    pub lz4_bytes: usize,
}

/// The form of a block's bytes, whichever content it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// Random bytes and zeros.
    Runs(BlockLayout),
    /// One of `count` texts from `first` on, by the id.
    Texts { first: u32, count: u32 },
}

/// The layouts of one texture in blocks of one size.
pub(crate) struct Textures {
    unit: usize,
    texture: Texture,
    lz4: Lz4,
    block: Vec<u8>,
    tried: usize,
    writer: Option<TextWriter>,
}

impl Textures {
    /// The layouts of what a spec asks for.
    pub fn of(spec: &ContentSpec) -> Self {
        let (unit, texture) = (spec.unit(), spec.texture());
        let learned = || {
            let profile = spec.profile.as_ref().and_then(ProfileSource::loaded);
            profile.and_then(|profile| profile.texture.clone()).unwrap_or_default()
        };
        let writer =
            (texture == Texture::Natural && unit == BLOCK).then(|| TextWriter::new(learned()));
        Self { unit, texture, lz4: Lz4::new(), block: vec![0; unit], tried: TRIED, writer }
    }

    /// The texts that were written for the layouts.
    pub fn into_texts(self) -> Texts {
        self.writer.map_or_else(Texts::default, |writer| writer.texts)
    }

    /// Incompressible.
    pub fn of_block(&self) -> Calibrated {
        Calibrated { layout: BlockLayout::head(self.unit), lz4_bytes: self.unit }
    }

    /// The layout whose LZ4 size is nearest to `target` bytes.
    pub fn of_size(&mut self, target: usize) -> Calibrated {
        self.search(target, MIN_RANDOM_BYTES).1
    }

    /// The body of blocks whose LZ4 size is nearest to `target` bytes.
    pub fn body(&mut self, target: usize) -> Body {
        self.texts(target, 1.0).unwrap_or_else(|| Body::Runs(self.of_size(target).layout))
    }

    /// The bodies for sizes in ascending order, one for each that differs, and how many of all blocks have it.
    pub fn bodies(&mut self, sorted: &[u32]) -> Vec<Body> {
        self.tried = TRIED_OF_MANY;
        let mut least = MIN_RANDOM_BYTES;
        let bodies = sorted.chunk_by(|one, next| one == next).map(|alike| {
            let size = alike[0] as usize;
            let share = alike.len() as f64 / sorted.len() as f64;
            self.texts(size, share).unwrap_or_else(|| {
                let (random, calibrated) = self.search(size, least);
                least = random;
                Body::Runs(calibrated.layout)
            })
        });
        let bodies = bodies.collect();
        self.tried = TRIED;
        bodies
    }

    /// Texts of this size, for a share of all blocks.
    fn texts(&mut self, size: usize, share: f64) -> Option<Body> {
        let count = ((TEXTS as f64 * share).round() as u32).max(1);
        let first = self.writer.as_mut()?.write(size, count as usize)?;
        Some(Body::Texts { first, count })
    }

    /// The number of random bytes, `least` or more, whose size is nearest to `target`, found by trying: size grows
    /// with the number of random bytes.
    fn search(&mut self, target: usize, least: usize) -> (usize, Calibrated) {
        if target >= self.unit {
            return (self.unit, self.of_block());
        }
        let (mut low, mut high, mut step) = (least, least, 1);
        while high < self.unit && self.tried(high).lz4_bytes < target {
            (low, high, step) = (high + 1, (high + step).min(self.unit), step * 2);
        }
        while low < high {
            let middle = low.midpoint(high);
            if self.tried(middle).lz4_bytes < target { low = middle + 1 } else { high = middle }
        }
        let before = low.saturating_sub(1).max(MIN_RANDOM_BYTES);
        let (at, below) = (self.tried(low), self.tried(before));
        if at.lz4_bytes.abs_diff(target) <= below.lz4_bytes.abs_diff(target) {
            (low, at)
        } else {
            (before, below)
        }
    }

    fn layout(&self, random: usize) -> BlockLayout {
        match self.texture {
            Texture::Tail | Texture::Natural => BlockLayout::head(random),
            Texture::Interleaved(chunk) => {
                let chunk = (chunk.0 as usize).clamp(BlockLayout::GRAIN, self.unit);
                let run = random.div_ceil(self.unit / chunk).max(MIN_RANDOM_BYTES);
                BlockLayout::chunks(random, run, chunk)
            }
        }
    }

    fn tried(&mut self, random: usize) -> Calibrated {
        let layout = self.layout(random);
        let mut sizes = [self.unit; TRIED];
        for (i, size) in sizes.iter_mut().enumerate().take(self.tried) {
            Generator::best().fill(ContentId(i as u64 + 1), layout, &mut self.block);
            // liblz4's error is a size that cannot be: as good as incompressible.
            *size = match <&[u8; BLOCK]>::try_from(self.block.as_slice()) {
                Ok(block) => self.lz4.size(block).unwrap_or(self.unit),
                Err(_) => self.lz4.size_of(&self.block).unwrap_or(self.unit),
            };
        }
        let sizes = &mut sizes[..self.tried];
        sizes.sort_unstable();
        Calibrated { layout, lz4_bytes: sizes[sizes.len() / 2] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibrate(target: usize) -> Calibrated {
        Textures::of(&ContentSpec::default()).of_size(target)
    }

    #[test]
    fn nearly_every_size_is_reached_within_the_tolerance() {
        let missed: Vec<_> = (45..=4059)
            .step_by(11)
            .filter(|&target| calibrate(target).lz4_bytes.abs_diff(target) > TOLERANCE)
            .collect();
        assert!(missed.is_empty(), "{missed:?}");
    }

    #[test]
    fn blocks_of_a_texture_have_its_size() {
        let mut lz4 = Lz4::new();
        for target in [64, 290, 1015, 1638, 2030, 3000, 4059] {
            let texture = calibrate(target);
            let mut exact = 0;
            for id in 1000..2000 {
                let mut block = [0; BLOCK];
                Generator::best().fill(ContentId(id), texture.layout, &mut block);
                let size = lz4.size(&block).unwrap();
                assert!(size.abs_diff(target) <= TOLERANCE, "{target}: block {id} has {size}");
                exact += u32::from(size == texture.lz4_bytes);
            }
            assert!(exact > 950, "{target}: {exact} of 1000 have the typical size");
        }
    }

    #[test]
    fn incompressible_blocks_are_so() {
        let mut lz4 = Lz4::new();
        for id in 1..1000 {
            let mut block = [0; BLOCK];
            Generator::best().fill(ContentId(id), BlockLayout::head(BLOCK), &mut block);
            assert_eq!(lz4.size(&block), Ok(BLOCK));
        }
    }
}
