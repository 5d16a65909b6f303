//! Finds which content a block holds, from its bytes alone: no header is needed, and none dilutes the data.

use crate::ContentId;
use crate::fill::invert;

/// Bytes of a lane, the piece that names a content.
pub const LANE: usize = 16;
/// Distance between lanes that name their content, bytes: every lane does.
pub const LANE_STEP: usize = LANE;

/// The content whose block starts as `block` does, which may be the head of one: zeros are [`ContentId::ZERO`]; `None`
/// when the first 16 bytes are those of no content. The rest of the block is not checked.
#[inline]
pub fn identify(block: &[u8]) -> Option<ContentId> {
    let lane = block.first_chunk::<LANE>()?;
    if *lane == [0; LANE] {
        // No content starts like this, so that only zeros are left.
        return reduce::is_zero(block).then_some(ContentId::ZERO);
    }
    invert::invert(*lane, 0).map(ContentId)
}

/// The content whose random bytes at `offset` in its block (a multiple of [`LANE_STEP`]) are these; `None` when no content has them
/// there, as for zeros.
#[inline]
pub fn identify_lane(lane: &[u8; LANE], offset: usize) -> Option<ContentId> {
    invert::invert(*lane, offset / LANE_STEP).map(ContentId)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fill::portable;
    use crate::{BLOCK, BlockLayout, Generator};
    use units::Seed;

    #[test]
    fn every_block_names_its_content() {
        let mut rng = Seed(3).generator();
        let mut block = [0; BLOCK];
        for round in 0..5000u64 {
            let id = if round % 2 == 0 { round + 1 } else { rng.next_u64() };
            let layout = BlockLayout::head(16 + rng.below(4080) as usize);
            Generator::best().fill(ContentId(id), layout, &mut block);
            assert_eq!(identify(&block), Some(ContentId(id)));
        }
    }

    #[test]
    fn a_bit_flipped_in_the_head_is_no_content() {
        let mut block = [0; BLOCK];
        Generator::best().fill(ContentId(99), BlockLayout::head(BLOCK), &mut block);
        for bit in 0..128 {
            block[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(identify(&block), None, "bit {bit}");
            block[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn every_lane_names_its_content_and_only_where_it_belongs() {
        let mut block = [0; BLOCK];
        for id in [1, 77, 1 << 63 | 12345] {
            Generator::best().fill(ContentId(id), BlockLayout::head(BLOCK), &mut block);
            for offset in (0..BLOCK).step_by(LANE_STEP) {
                let lane = block[offset..].first_chunk().unwrap();
                assert_eq!(identify_lane(lane, offset), Some(ContentId(id)), "{offset}");
                assert_eq!(identify_lane(lane, offset ^ 64), None);
                assert_eq!(portable::invert(*lane, offset / LANE_STEP), Some(id));
            }
        }
        assert_eq!(identify_lane(&[0; LANE], 64), None);
    }

    /// A content whose first lane is all zero would make a zero block of it where few bytes are random.
    #[test]
    fn no_content_starts_with_16_zero_bytes() {
        assert_eq!(portable::invert([0; 16], 0), None);
    }
}
