//! The hash slots of all words of a block, computed at once with vector instructions before the search: in the search, each hash would delay the next
//! look-up.

use crate::BLOCK;

/// log2 of the entries in the table of positions.
pub(super) const HASH_BITS: u32 = 13;
/// Factor by which a word is multiplied for its hash.
pub(super) const MULTIPLIER: u32 = 2_654_435_761;
/// Length of the text: a block, followed by everything that a 16-bit position could reach, so that no access needs a bounds check. The bytes after
/// the block do not matter.
pub const TEXT: usize = (1 << 16) + 48;

/// The hash of each word by its position in the block; the array has room for every 16-bit position, so that no access needs a bounds check.
pub(super) type Slots = [u16; 1 << 16];

/// Hashes the words at all positions of the block at the beginning of `text`.
#[inline]
pub(super) fn find(text: &[u8; TEXT], slots: &mut Slots) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions that the function is compiled for.
        return unsafe { with_avx2(text, slots) };
    }
    hash(text, slots);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(text: &[u8; TEXT], slots: &mut Slots) {
    hash(text, slots);
}

/// Handles even and odd positions alternately, with each word split into two consecutive halves, a form that compilers can vectorise.
#[inline(always)]
fn hash(text: &[u8; TEXT], slots: &mut Slots) {
    let halves = |from: usize| {
        let (halves, _) = text[from..from + BLOCK].as_chunks();
        halves.iter().map(|&half| u16::from_le_bytes(half))
    };
    let (slots, _) = slots[..BLOCK].as_chunks_mut();
    let words = halves(0).zip(halves(2)).zip(halves(1).zip(halves(3)));
    for (pair, (even, odd)) in slots.iter_mut().zip(words) {
        *pair = [slot(even), slot(odd)];
    }
}

/// The upper bits of a word's product with the multiplier, computed from 16-bit products, since the most of these fit into a vector.
#[inline(always)]
fn slot((low, high): (u16, u16)) -> u16 {
    const LOW: u16 = MULTIPLIER as u16;
    const HIGH: u16 = (MULTIPLIER >> 16) as u16;
    let carried = (u32::from(low) * u32::from(LOW)) >> 16;
    let upper = low.wrapping_mul(HIGH).wrapping_add(high.wrapping_mul(LOW));
    upper.wrapping_add(carried as u16) >> (16 - HASH_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_and_plain_code_find_the_upper_bits_of_every_product() {
        let mut rng = units::Seed(1).generator();
        let mut text = vec![0u8; TEXT];
        text[..BLOCK + 3].fill_with(|| rng.next_u64() as u8);
        text[100..140].fill(0xff);
        let text: &[u8; TEXT] = text.first_chunk().unwrap();
        let [mut found, mut plain] = [[0; 1 << 16]; 2];
        find(text, &mut found);
        hash(text, &mut plain);
        for at in 0..BLOCK {
            let word = u32::from_le_bytes(*text[at..].first_chunk().unwrap());
            let product = (u64::from(word) * u64::from(MULTIPLIER)) as u32;
            let slot = (product >> (32 - HASH_BITS)) as u16;
            assert_eq!([found[at], plain[at]], [slot; 2], "at {at}");
        }
    }
}
