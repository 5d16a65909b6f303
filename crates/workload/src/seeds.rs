//! Seeds by number, for what has to be found again without a walk: passes, decks, batches.

use units::Seed;

/// The seed of part number `number`: equal for equal parents and numbers, unrelated otherwise.
#[inline]
pub(crate) fn nth(seed: Seed, number: u64) -> Seed {
    let spread = number.wrapping_mul(0xd6e8_feb8_6659_fd93);
    Seed(Seed(seed.0 ^ spread).generator().next_u64())
}
