//! Fingerprints: two blocks with equal fingerprints are regarded as equal.

/// 128 bits of XXH3 over a block. Among 2^40 different blocks, two share one with probability 2^-49.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u128);

impl Fingerprint {
    /// The fingerprint of these bytes.
    pub fn of(block: &[u8]) -> Self {
        Self(twox_hash::XxHash3_128::oneshot(block))
    }
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    #[test]
    fn is_the_published_xxh3_of_128_bits() {
        assert_eq!(Fingerprint::of(b"").0, 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
    }

    #[test]
    fn one_bit_changes_it() {
        let mut block = [7u8; 4096];
        let before = Fingerprint::of(&block);
        block[4095] ^= 1;
        assert_ne!(before, Fingerprint::of(&block));
    }
}
