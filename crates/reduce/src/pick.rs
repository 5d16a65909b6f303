//! The sample: blocks chosen by their content, so that all copies of a block are chosen together.
//!
//! A sample by position would notice a duplicate only if both copies happened to be in it: with one block in thirteen it would find 4 % where 50 %
//! are duplicates. Samples are nested: a block that passes a shift passes every smaller one.

/// The largest sampling shift: one block in 2^40.
pub const MAX_SHIFT: u32 = 40;

/// Number of bytes at the head of a block that decide.
const HEAD: usize = 32;

/// Tells whether a block belongs to the sample of one in 2^`shift` contents. This is a cheap function of its first 32 bytes, meant for blocks whose
/// heads differ, as those of generated content do. Zero blocks have to be counted separately ([`crate::is_zero`]).
#[inline]
pub fn picked(block: &[u8], shift: u32) -> bool {
    passes(pick(block), shift)
}

/// The number that decides which samples contain a block.
#[inline]
pub(crate) fn pick(block: &[u8]) -> u64 {
    let mut head = [0u8; HEAD];
    let length = block.len().min(HEAD);
    head[..length].copy_from_slice(&block[..length]);
    let (words, _) = head.as_chunks::<8>();
    words.iter().fold(0, |hash: u64, word| {
        // Multiply and fold to 64 bits: the high half reaches every bit of the word.
        let product = u128::from(hash ^ u64::from_le_bytes(*word) ^ 0x2d35_8dcc_aa6c_78a5)
            * 0x8bb8_4b93_962e_acc9_u128;
        (product as u64) ^ ((product >> 64) as u64)
    })
}

/// The largest shift whose sample contains a block with this number.
#[inline]
pub(crate) fn level(pick: u64) -> u32 {
    pick.trailing_zeros().min(MAX_SHIFT)
}

/// Tells whether a block with this number is in the sample of one in 2^`shift`.
#[inline]
pub(crate) fn passes(pick: u64, shift: u32) -> bool {
    pick.trailing_zeros() >= shift.min(MAX_SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_about_one_in_two_to_the_shift_and_samples_are_nested() {
        let mut counts = [0u32; 11];
        for i in 0..100_000u64 {
            let mut block = [0u8; 4096];
            block[..8].copy_from_slice(&i.to_le_bytes());
            for (shift, count) in counts.iter_mut().enumerate() {
                let shift = shift as u32;
                *count += u32::from(picked(&block, shift));
                assert!(shift == 0 || picked(&block, shift - 1) || !picked(&block, shift));
            }
        }
        for (shift, &count) in counts.iter().enumerate() {
            let mean = 100_000.0 / f64::from(1 << shift);
            assert!((f64::from(count) - mean).abs() <= 5.0 * mean.sqrt(), "{shift}: {count}");
        }
    }

    #[test]
    fn short_blocks_are_read_to_their_end_only() {
        assert!(picked(&[], 0));
        assert_eq!(picked(&[1, 2, 3], 5), picked(&[1, 2, 3], 5));
    }
}
