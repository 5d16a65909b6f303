//! Seeds by number, so that pass, deck or batch n can be made without those before it.

use units::Seed;

/// The seed of part number `number`: the same for the same parent and number, unrelated otherwise.
#[inline]
pub fn nth(seed: Seed, number: u64) -> Seed {
    let spread = number.wrapping_mul(0xd6e8_feb8_6659_fd93);
    Seed(Seed(seed.0 ^ spread).generator().next_u64())
}
