//! Compressible blocks: how many random bytes, with zeros after them, LZ4 makes a given size of.

use reduce::{BLOCK, Lz4};

use crate::ContentId;
use crate::fill::{Generator, Layout};

/// How far the LZ4 size of a block may lie from the one asked for, bytes.
pub(crate) const TOLERANCE: usize = 3;
/// Fewest random bytes: the head that identifies a block.
const LEAST: usize = 16;
/// Blocks that are tried for each number of random bytes; the middle one counts.
const TRIED: u64 = 5;

/// A texture and what LZ4 makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Texture {
    /// Random bytes at the head of a block.
    pub random: usize,
    /// LZ4 size of most blocks, bytes.
    pub lz4_bytes: usize,
}

/// The texture whose LZ4 size is nearest to `target` bytes, found by trying: size grows with the number of random bytes.
pub(crate) fn calibrate(target: usize) -> Texture {
    let whole = Texture { random: BLOCK, lz4_bytes: BLOCK };
    if target >= BLOCK {
        return whole;
    }
    let mut lz4 = Lz4::new();
    let mut size = |random| Texture { random, lz4_bytes: typical_size(&mut lz4, random) };
    let (mut low, mut high) = (LEAST, BLOCK);
    while low < high {
        let middle = low.midpoint(high);
        if size(middle).lz4_bytes < target { low = middle + 1 } else { high = middle }
    }
    let (at, below) = (size(low), size(low.saturating_sub(1).max(LEAST)));
    if at.lz4_bytes.abs_diff(target) <= below.lz4_bytes.abs_diff(target) { at } else { below }
}

fn typical_size(lz4: &mut Lz4, random: usize) -> usize {
    let mut block = [0; BLOCK];
    let mut sizes: [usize; TRIED as usize] = std::array::from_fn(|i| {
        Generator::best().fill(ContentId(i as u64 + 1), Layout::head(random), &mut block);
        lz4.size(&block).unwrap_or(BLOCK)
    });
    sizes.sort_unstable();
    sizes[sizes.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

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
                Generator::best().fill(ContentId(id), Layout::head(texture.random), &mut block);
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
            Generator::best().fill(ContentId(id), Layout::head(BLOCK), &mut block);
            assert_eq!(lz4.size(&block), Ok(BLOCK));
        }
    }
}
