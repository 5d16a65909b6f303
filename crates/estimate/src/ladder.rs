//! Chooses the share of contents whose LZ4 size is taken.
//!
//! The figures of a sample of n sizes are off by at most 1.96 s / sqrt(n) in 95 of 100 cases, s the spread of what a
//! block costs. With s = 0.36, more than any real data had, 125,000 sizes keep that below 0.2 points. The first blocks
//! are all taken, so that small data is exact, and the share falls as data grows: down to one in 32, so that the sample in a stretch
//! ([`crate::calibrate`]) has twice as many sizes as the model chooses from.

/// Steps of (position in blocks, n): from this position on, the sizes of one content in 2^n are taken.
const STEPS: [(u64, u8); 5] =
    [(1 << 15, 1), (1 << 17, 2), (5 << 16, 3), (11 << 16, 4), (3 << 19, 5)];

/// Returns n for a block with `position` blocks before it: the sizes of one content in 2^n are taken there.
pub fn shift(position: u64, exact: bool) -> u8 {
    let step = STEPS.iter().rev().find(|step| position >= step.0);
    if exact { 0 } else { step.map_or(0, |step| step.1) }
}

/// Tells whether the content of this name is among those whose size is taken.
#[inline]
pub fn is_sized(name: u64, shift: u8) -> bool {
    // By bits that neither the sample of contents nor the names of the index use.
    name >> 44 & ((1 << shift) - 1) == 0
}

/// Shares that [`shift`] can give.
pub const STRATA: usize = 6;
/// Jobs of a stretch in which every size is taken: 2 MiB.
const STRETCH: u64 = 8;

/// Returns n: where sizes are taken of one content in 2^`shift`, one stretch in n has all of them.
pub fn stretches_to_one(shift: u8) -> u64 {
    2 << shift
}

/// Returns the stretch of a job if every size is taken in it, so that the effect of the sample of sizes on the packer can be seen
/// ([`crate::calibrate`]). These stretches add half as many sizes as the sample itself has.
pub fn stretch(job: u64, shift: u8) -> Option<u64> {
    let (stretch, every) = (job / STRETCH, stretches_to_one(shift));
    // Spread over positions, so that no period of the data meets it.
    let picked = units::Seed(stretch / every).derive("stretch").0 % every == stretch % every;
    (shift > 0 && picked).then_some(stretch)
}

/// Tells whether a content would be in one of `samples` samples that share all contents.
pub fn taken_by(name: u64, sample: u64, samples: u64) -> bool {
    name >> 44 & (samples - 1) == sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_sizes_are_taken_at_every_length_and_few_of_much_data() {
        for sixteenths in 15 * 16..40 * 16 {
            let blocks = 2f64.powf(f64::from(sixteenths) / 16.0) as u64;
            let bounds = [0].into_iter().chain(STEPS.iter().map(|s| s.0));
            let ends = STEPS.iter().map(|s| s.0).chain([u64::MAX]);
            let (mut sizes, mut spread) = (0.0, 0.0);
            for (from, to) in bounds.zip(ends) {
                let here = to.min(blocks).saturating_sub(from) as f64;
                let each = f64::from(1u32 << shift(from, false));
                sizes += here / each;
                // Variance of a sum over a sample of one in `each`, with a spread of 0.36.
                spread += here * (each - 1.0) * 0.36 * 0.36;
            }
            let error = 1.96 * spread.sqrt() / blocks as f64;
            assert!(error <= 0.002, "{blocks} blocks: {:.3} points", 100.0 * error);
            assert!(blocks < 1 << 20 || sizes <= blocks as f64 * 0.2, "{sizes} of {blocks}");
        }
        assert_eq!(shift(u64::MAX, true), 0);
    }
}
