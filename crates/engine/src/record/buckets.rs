//! Latency counts in the buckets of an HDR histogram, as cheap to increment as possible.
//!
//! The layout is HdrHistogram's own for 1 ns to 1 h and three digits: values below 2048 have a bucket each, and every further power of two has 1024
//! buckets. So a few shifts find the bucket of a value, and the counts convert exactly into the crate's histogram.

use hdrhistogram::Histogram;

use crate::error::{EngineError, ErrorKind};

/// The longest latency that has a separate bucket, nanoseconds: one hour. Longer ones count as this long.
pub(crate) const LONGEST_NS: u64 = 3_600_000_000_000;

/// Buckets of one power of two.
const HALF: usize = 1024;
const HALF_BITS: u32 = HALF.trailing_zeros();
/// Values that have a bucket each.
const SINGLE: u64 = 2 * HALF as u64;
const PLACES: usize = place(LONGEST_NS) + 1;

/// Counts by latency.
#[derive(Debug, Clone)]
pub(crate) struct Buckets {
    counts: Box<[u64]>,
    /// Bit set of the runs of [`HALF`] buckets that hold anything: only these are merged, cleared and read.
    touched: u64,
}

/// The bucket number of a value.
#[inline]
const fn place(value: u64) -> usize {
    let power = (u64::BITS - HALF_BITS - 1) - (value | (SINGLE - 1)).leading_zeros();
    ((power as usize) << HALF_BITS) + (value >> power) as usize
}

/// The smallest value in this bucket.
const fn value(place: usize) -> u64 {
    if place < 2 * HALF {
        return place as u64;
    }
    let power = (place >> HALF_BITS) - 1;
    ((place - (power << HALF_BITS)) as u64) << power
}

impl Buckets {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; PLACES].into_boxed_slice(), touched: 0 }
    }

    /// Counts one latency in nanoseconds.
    #[inline]
    pub(crate) fn add(&mut self, latency_ns: u64) {
        let place = place(latency_ns.min(LONGEST_NS));
        // The bucket of the longest latency is the last one.
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.touched |= 1 << (place >> HALF_BITS);
    }

    /// Adds what `other` counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        for run in other.runs() {
            let from = &other.counts[run.clone()];
            self.counts[run].iter_mut().zip(from).for_each(|(into, from)| *into += from);
        }
        self.touched |= other.touched;
    }

    /// Resets all counts.
    pub(crate) fn clear(&mut self) {
        for run in self.runs() {
            self.counts[run].fill(0);
        }
        self.touched = 0;
    }

    /// Returns how many latencies were counted.
    pub(crate) fn total(&self) -> u64 {
        self.runs().map(|run| self.counts[run].iter().sum::<u64>()).sum()
    }

    /// Converts the counts to a histogram of nanoseconds with three significant digits.
    pub(crate) fn histogram(&self) -> Result<Histogram<u64>, EngineError> {
        let fault = |error: String| {
            let help = "this is a fault of fathom; please report it";
            EngineError::new(ErrorKind::Environment, "A latency histogram cannot be made", help)
                .because(error)
        };
        let mut histogram = Histogram::new_with_bounds(1, LONGEST_NS, results::histogram::DIGITS)
            .map_err(|e| fault(e.to_string()))?;
        for run in self.runs() {
            for place in run {
                if self.counts[place] > 0 {
                    histogram
                        .record_n(value(place), self.counts[place])
                        .map_err(|e| fault(e.to_string()))?;
                }
            }
        }
        Ok(histogram)
    }

    /// The buckets of every run that holds something.
    fn runs(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let touched = self.touched;
        (0..PLACES.div_ceil(HALF))
            .filter(move |run| touched >> run & 1 == 1)
            .map(|run| run * HALF..((run + 1) * HALF).min(PLACES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Buckets {
        let mut buckets = Buckets::new();
        values.iter().for_each(|&v| buckets.add(v));
        buckets
    }

    /// Returns the crate's own histogram of the values.
    fn crates(values: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3).unwrap();
        values.iter().for_each(|&v| histogram.record(v.min(LONGEST_NS)).unwrap());
        histogram
    }

    /// Values of all magnitudes, equally often.
    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((any::<u64>(), 0u32..64).prop_map(|(v, s)| v >> s), 0..300)
    }

    proptest! {
        #[test]
        fn the_histogram_is_the_one_that_the_crate_makes_of_the_same_values(values in latencies()) {
            let buckets = of(&values);
            prop_assert_eq!(buckets.total(), values.len() as u64);
            let (ours, theirs) = (buckets.histogram().unwrap(), crates(&values));
            prop_assert_eq!(&ours, &theirs);
            prop_assert_eq!(ours.mean().to_bits(), theirs.mean().to_bits());
            let encoded = |h| results::histogram::encode(h).unwrap();
            prop_assert_eq!(encoded(&ours), encoded(&theirs));
        }

        #[test]
        fn merging_is_associative_and_commutative_and_gives_the_histogram_of_the_union(
            a in latencies(), b in latencies(), c in latencies(),
        ) {
            let merged = |parts: &[&Buckets]| {
                let mut all = Buckets::new();
                parts.iter().for_each(|part| all.merge(part));
                all.histogram().unwrap()
            };
            let (x, y, z) = (of(&a), of(&b), of(&c));
            let mut right = y.clone();
            right.merge(&z);
            let union = crates(&[a, b, c].concat());
            prop_assert_eq!(&merged(&[&x, &y, &z]), &union);
            prop_assert_eq!(&merged(&[&z, &x, &y]), &union);
            prop_assert_eq!(&merged(&[&x, &right]), &union);
        }

        #[test]
        fn what_is_emptied_is_as_good_as_new(values in latencies(), again in latencies()) {
            let mut buckets = of(&values);
            buckets.clear();
            prop_assert_eq!(buckets.total(), 0);
            again.iter().for_each(|&v| buckets.add(v));
            prop_assert_eq!(buckets.histogram().unwrap(), crates(&again));
        }
    }

    #[test]
    fn every_place_is_that_of_its_smallest_value_and_the_last_is_that_of_an_hour() {
        assert!((0..PLACES).all(|p| place(value(p)) == p));
        assert!((1..PLACES).all(|p| place(value(p) - 1) == p - 1));
        assert_eq!(place(LONGEST_NS), PLACES - 1);
        assert!(PLACES.div_ceil(HALF) <= 64);
    }
}
