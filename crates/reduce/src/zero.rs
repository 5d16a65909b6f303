//! Zero blocks: the ones that a reducing layer stores nothing for.

/// Whether every byte of `block` is zero. Ends at the first chunk that is not, so that data costs next to nothing.
#[inline]
pub fn is_zero(block: &[u8]) -> bool {
    let (chunks, rest) = block.as_chunks::<64>();
    chunks.iter().all(|chunk| chunk.iter().fold(0, |seen, byte| seen | byte) == 0)
        && rest.iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::is_zero;

    #[test]
    fn one_byte_anywhere_makes_a_block_nonzero() {
        for length in [1, 63, 64, 65, 512, 4096] {
            let mut block = vec![0u8; length];
            assert!(is_zero(&block));
            for at in 0..length {
                block[at] = 1;
                assert!(!is_zero(&block), "byte {at} of {length}");
                block[at] = 0;
            }
        }
    }
}
