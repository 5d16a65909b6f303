//! Sizes of files and of records.

use units::{Bytes, QuantityError, SplitMix64};
use workload::{Ziggurat, exp2};

/// The largest size of a file that the books have room for.
pub(crate) const LARGEST: u64 = (1 << 44) - 1;

/// A size, or a distribution of sizes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// All files have this size.
    Fixed(u64),
    /// All sizes from the first to the second are equally likely.
    Range(u64, u64),
    /// Its logarithm has a normal distribution.
    Lognormal {
        /// Half of all are smaller.
        median: u64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
}

impl Size {
    /// The mean, bytes.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed(bytes) => bytes as f64,
            Self::Range(least, most) => (least as f64 + most as f64) / 2.0,
            Self::Lognormal { median, sigma } => median as f64 * (sigma * sigma / 2.0).exp(),
        }
    }

    /// The largest size that can be drawn; for an unbounded distribution the largest size of a file.
    pub fn most(&self) -> u64 {
        match *self {
            Self::Fixed(bytes) => bytes,
            Self::Range(_, most) => most,
            Self::Lognormal { .. } => LARGEST,
        }
    }

    /// Draws a size: at least 1, and at most what the books have room for.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut SplitMix64, normal: &Ziggurat) -> u64 {
        let drawn = match *self {
            Self::Fixed(bytes) => bytes,
            Self::Range(least, most) => least + rng.below(most.saturating_sub(least) + 1),
            Self::Lognormal { median, sigma } => {
                let doublings = sigma * std::f64::consts::LOG2_E * normal.draw(rng);
                (median as f64 * exp2(doublings)) as u64
            }
        };
        drawn.clamp(1, LARGEST)
    }

    /// Tells whether it is a valid size.
    pub(crate) fn is_valid(&self) -> bool {
        let fits = |bytes: u64| (1..=LARGEST).contains(&bytes);
        match *self {
            Self::Fixed(bytes) => fits(bytes),
            Self::Range(least, most) => fits(least) && fits(most) && least <= most,
            Self::Lognormal { median, sigma } => fits(median) && (0.0..=10.0).contains(&sigma),
        }
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Fixed(bytes) => write!(f, "{bytes}"),
            Self::Range(least, most) => write!(f, "{least}-{most}"),
            Self::Lognormal { median, sigma } => write!(f, "lognormal:{median}:{sigma}"),
        }
    }
}

impl std::str::FromStr for Size {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let size = |text: &str| text.parse::<Bytes>().ok().map(|bytes| bytes.0);
        let lognormal = |rest: &str| {
            let (median, sigma) = rest.split_once(':')?;
            Some(Self::Lognormal { median: size(median)?, sigma: sigma.parse().ok()? })
        };
        let read = match (text.strip_prefix("lognormal:"), text.split_once('-')) {
            (Some(rest), _) => lognormal(rest),
            (None, Some((least, most))) => {
                size(least).zip(size(most)).map(|(least, most)| Self::Range(least, most))
            }
            (None, None) => size(text).map(Self::Fixed),
        };
        read.filter(Self::is_valid).ok_or_else(|| QuantityError {
            text: text.to_owned(),
            what: "size of files",
            example: "8k, 4k-64k, or lognormal:MEDIAN:SIGMA as in lognormal:16k:1.5",
        })
    }
}

units::as_text!(Size, "a size such as \"4k-64k\"");

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(size: Size) -> Vec<u64> {
        let (mut rng, normal) = (units::Seed(1).generator(), Ziggurat::new());
        (0..20_001).map(|_| size.draw(&mut rng, &normal)).collect()
    }

    #[test]
    fn sizes_are_read_back_and_wrong_ones_refused() {
        for text in ["4096", "4096-65536", "lognormal:16384:1.5"] {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), text);
        }
        assert_eq!("4k-64k".parse(), Ok(Size::Range(4096, 65536)));
        for text in ["", "0", "64k-4k", "4k-", "lognormal:4k", "lognormal:4k:-1", "100T"] {
            assert!(text.parse::<Size>().unwrap_err().to_string().contains("lognormal"), "{text}");
        }
    }

    #[test]
    fn what_is_drawn_has_the_mean_and_the_bounds_that_were_asked_for() {
        for text in ["8k", "1-3", "4k-64k", "lognormal:16k:1"] {
            let size: Size = text.parse().unwrap();
            let all = drawn(size);
            let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
            assert!((mean / size.mean() - 1.0).abs() < 0.05, "{text}: {mean} and {}", size.mean());
            assert!(all.iter().all(|&bytes| (1..=size.most()).contains(&bytes)));
        }
        let mut all = drawn(Size::Lognormal { median: 1 << 14, sigma: 2.0 });
        all.sort_unstable();
        assert!((15_500..17_300).contains(&all[10_000]), "{}", all[10_000]);
    }
}
