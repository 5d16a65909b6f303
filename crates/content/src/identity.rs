//! Which content a block holds, from its bytes alone: no header is needed, and none dilutes the data.

use reduce::BLOCK;

use crate::ContentId;
use crate::fill::portable;

/// The content whose block starts as `block` does: a zero block is [`ContentId::ZERO`]; `None` when the first 16 bytes
/// are those of no content. Says nothing about the rest of the block.
pub fn identify(block: &[u8; BLOCK]) -> Option<ContentId> {
    if reduce::is_zero(block) {
        return Some(ContentId::ZERO);
    }
    let lane = std::array::from_fn(|i| block[i]);
    portable::invert(lane).map(ContentId)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Generator, Layout};
    use units::Seed;

    #[test]
    fn every_block_names_its_content() {
        let mut rng = Seed(3).generator();
        let mut block = [0; BLOCK];
        for round in 0..5000u64 {
            let id = if round % 2 == 0 { round + 1 } else { rng.next_u64() };
            let layout = Layout::head(16 + rng.below(4080) as usize);
            Generator::best().fill(ContentId(id), layout, &mut block);
            assert_eq!(identify(&block), Some(ContentId(id)));
        }
    }

    #[test]
    fn a_bit_flipped_in_the_head_is_no_content() {
        let mut block = [0; BLOCK];
        Generator::best().fill(ContentId(99), Layout::head(BLOCK), &mut block);
        for bit in 0..128 {
            block[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(identify(&block), None, "bit {bit}");
            block[bit / 8] ^= 1 << (bit % 8);
        }
    }

    /// A content whose first lane is all zero would make a zero block of it where few bytes are random.
    #[test]
    fn no_content_starts_with_16_zero_bytes() {
        assert_eq!(portable::invert([0; 16]), None);
    }
}
