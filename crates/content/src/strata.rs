//! A stratified order: the numbers 0 to 4095 in a random-looking order, in which every aligned run of 16 places has one number of each
//! sixteenth of the range, and every aligned run of 256 one of each 256th.
//!
//! So whatever is chosen by the number (a class, a size) has its share in every short stretch, and no stride meets a period. It is a base-16
//! radical inverse with permuted digits (A. B. Owen's scrambling, 1995).

/// Numbers, and places, of a stratum.
pub(crate) const STRATUM: u64 = 1 << BITS;
const BITS: u32 = 12;

/// The order of the numbers in all strata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strata {
    salt: u64,
    runs: Runs,
}

/// Lengths of the runs in which consecutive numbers stay together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Runs {
    /// log2 of the length of most runs.
    pub bits: u32,
    /// Strata of 65,536 in which runs are twice as long; spread evenly.
    pub longer: u32,
}

impl Runs {
    /// log2 of the length of runs in a stratum.
    #[inline]
    fn bits_in(self, stratum: u64) -> u32 {
        let longer = u64::from(self.longer);
        // Rounded, so that the first strata get their share as well.
        let upto = |n: u64| n.wrapping_mul(longer).wrapping_add(1 << 15) >> 16;
        (self.bits + u32::from(upto(stratum + 1) > upto(stratum))).min(BITS)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014, constants of Stafford's variant 13).
#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A permutation of 0..2^`bits` (at most 16 numbers) drawn by `hash`: additions, odd multiplications and xor-shifts, each invertible.
#[inline]
fn permute(hash: u64, bits: u32, x: u64) -> u64 {
    let mask = (1 << bits) - 1;
    let mut x = x.wrapping_add(hash) & mask;
    x = x.wrapping_mul(hash >> 8 | 1) & mask;
    x ^= x >> 2;
    x = x.wrapping_add(hash >> 16).wrapping_mul(hash >> 24 | 1) & mask;
    x ^= x >> 1;
    x.wrapping_add(hash >> 32).wrapping_mul(hash >> 40 | 1) & mask
}

impl Strata {
    pub fn new(seed: units::Seed) -> Self {
        Self { salt: seed.0, runs: Runs::default() }
    }

    /// Keeps consecutive numbers together in runs.
    pub fn in_runs(self, runs: Runs) -> Self {
        Self { runs, ..self }
    }

    /// The number at place `n`, below [`STRATUM`]; each once in every aligned stratum of places.
    #[inline]
    pub fn at(self, n: u64) -> u64 {
        let (salt, place) = (self.salt ^ (n >> BITS) << 24, n & (STRATUM - 1));
        let run_bits = if self.runs == Runs::default() { 0 } else { self.runs.bits_in(n >> BITS) };
        let (run, rest) = (place >> run_bits, place & ((1 << run_bits) - 1));
        let bits = BITS - run_bits;
        let widths = [bits.min(4), bits.saturating_sub(4).min(4), bits.saturating_sub(8)];
        let low = run & ((1 << widths[0]) - 1);
        let middle = run >> widths[0] & ((1 << widths[1]) - 1);
        let high = run >> (widths[0] + widths[1]);
        let first = permute(mix(salt ^ (high << 4 | middle)), widths[0], low);
        let second = permute(mix(salt ^ (high << 4 | first) ^ 1 << 12), widths[1], middle);
        let third = permute(mix(salt ^ (first << 4 | second) ^ 2 << 12), widths[2], high);
        ((first << widths[1] | second) << widths[2] | third) << run_bits | rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once_in_a_stratum_and_shares_hold_in_short_stretches() {
        for seed in 0..5 {
            for run_bits in [0, 1, 3, 5, 12] {
                let strata =
                    Strata::new(units::Seed(seed)).in_runs(Runs { bits: run_bits, longer: 0 });
                for stratum in 0..3 {
                    let numbers: Vec<_> =
                        (0..STRATUM).map(|n| strata.at(stratum * STRATUM + n)).collect();
                    let mut sorted = numbers.clone();
                    sorted.sort_unstable();
                    assert!(sorted.into_iter().eq(0..STRATUM));
                    if run_bits == 0 {
                        for (length, parts) in [(16, 16), (256, 256)] {
                            for stretch in numbers.chunks(length) {
                                let mut parts: Vec<_> =
                                    stretch.iter().map(|x| x * parts / STRATUM).collect();
                                parts.sort_unstable();
                                assert!(parts.into_iter().eq(0..length as u64));
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn runs_between_two_lengths_are_a_mixture_of_strata() {
        let runs = Runs { bits: 3, longer: 65_536 / 4 };
        let longer = (0..400).filter(|&stratum| runs.bits_in(stratum) == 4).count();
        assert_eq!(longer, 100);
        assert_eq!((0..4).filter(|&stratum| runs.bits_in(stratum) == 4).count(), 1);
        let strata = Strata::new(units::Seed(1)).in_runs(runs);
        for stratum in 0..8 {
            let mut numbers: Vec<_> =
                (0..STRATUM).map(|n| strata.at(stratum * STRATUM + n)).collect();
            numbers.sort_unstable();
            assert!(numbers.iter().copied().eq(0..STRATUM), "stratum {stratum}");
        }
    }

    #[test]
    fn no_stride_meets_a_period() {
        // The share of the lower half among every 2nd, 3rd, ... number: within 6 standard deviations of a coin.
        let strata = Strata::new(units::Seed(3));
        for stride in 2..70 {
            let places = 40_000u64;
            let low = (0..places).filter(|n| strata.at(n * stride) < STRATUM / 2).count() as f64;
            let off = (low - places as f64 / 2.0).abs();
            assert!(off < 6.0 * (places as f64 / 4.0).sqrt(), "stride {stride}: {off}");
        }
    }
}
