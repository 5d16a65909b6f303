//! Sizes of files.

use units::{Bytes, QuantityError, Seed};

/// Step of a sequence whose first n members cover an interval evenly for any n: the golden ratio minus one.
const STEP: f64 = 0.618_033_988_749_894_9;

/// Sizes of files: a single size, or a range in which every doubling of the size has the same number of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSizes {
    /// The smallest.
    pub least: Bytes,
    /// The largest.
    pub most: Bytes,
}

impl FileSizes {
    /// Returns the size of file number `n`, bytes: every few dozen consecutive files cover the range evenly.
    pub(crate) fn at(self, n: u64, seed: Seed) -> u64 {
        let (least, most) = (self.least.0 as f64, self.most.0 as f64);
        let place = (seed.generator().unit() + n as f64 * STEP).fract();
        let size = least * (most / least).powf(place);
        (size.round() as u64).clamp(self.least.0, self.most.0)
    }
}

impl std::str::FromStr for FileSizes {
    type Err = QuantityError;

    /// Reads `64k`, or `4k..1M`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let wrong = || QuantityError {
            text: text.to_owned(),
            what: "size or range of sizes",
            example: "64k, or 4k..1M with the smaller one first",
        };
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let size = |text: &str| text.trim().parse::<Bytes>().map_err(|_| wrong());
        let sizes = Self { least: size(least)?, most: size(most)? };
        if sizes.least.0 == 0 || sizes.least > sizes.most { Err(wrong()) } else { Ok(sizes) }
    }
}

impl std::fmt::Display for FileSizes {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        if self.least == self.most {
            return write!(f, "{}", self.least);
        }
        write!(f, "{} to {}", self.least, self.most)
    }
}

impl serde::Serialize for FileSizes {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&format_args!("{}..{}", self.least.0, self.most.0))
    }
}

units::read_as_text!(FileSizes, "a size such as \"64k\" or a range such as \"4k..1M\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_shown_and_spread_evenly_over_doublings() {
        let sizes: FileSizes = "4k..1M".parse().unwrap();
        assert_eq!((sizes.least, sizes.most), (Bytes(4 << 10), Bytes(1 << 20)));
        assert_eq!("64k".parse::<FileSizes>().unwrap().to_string(), "64 KiB");
        for text in ["", "0", "1M..4k", "4k...8k", "..4k"] {
            assert!(text.parse::<FileSizes>().is_err(), "{text}");
        }
        let json = serde_json::to_string(&sizes).unwrap();
        assert_eq!(serde_json::from_str::<FileSizes>(&json).unwrap(), sizes);
        let (mut lower, files) = (0, 800);
        for n in 0..files {
            let size = sizes.at(n, Seed(7));
            assert!((4 << 10..=1 << 20).contains(&size));
            lower += u64::from(size < 64 << 10);
        }
        assert!(lower.abs_diff(files / 2) <= 2, "{lower} of {files} below the middle");
    }
}
