//! Zero blocks, for which a reducing layer stores nothing.

/// Tells whether every byte of `block` is zero. Stops at the first chunk that is not, so that the check costs next to nothing for data.
#[inline]
pub fn is_zero(block: &[u8]) -> bool {
    let Some((head, _)) = block.split_first_chunk::<16>() else {
        return block.iter().all(|&byte| byte == 0);
    };
    *head == [0; 16] && is_zero_throughout(block)
}

/// Checks a block that starts with zeros, in chunks of half a kilobyte with one test each, so that the tests cost little.
fn is_zero_throughout(block: &[u8]) -> bool {
    let (words, rest) = block.as_chunks::<8>();
    let (chunks, words) = words.as_chunks::<64>();
    let any = |words: &[[u8; 8]]| {
        words.iter().fold(0, |seen, &word| seen | u64::from_ne_bytes(word)) != 0
    };
    !chunks.iter().any(|chunk| any(chunk)) && !any(words) && rest.iter().all(|&byte| byte == 0)
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
