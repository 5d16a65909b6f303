//! An offset or a size, in bytes or as a share of a target.

use std::fmt;

use units::{Bytes, Percent, QuantityError};

use crate::text;

/// A number of bytes, or a share of the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Portion {
    /// Bytes.
    Bytes(Bytes),
    /// A share of the whole target.
    Share(Percent),
}

impl Portion {
    /// Returns the number of bytes for a target of `target` bytes; a share is rounded down to a multiple of `unit`.
    pub fn bytes_of(self, target: u64, unit: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.0,
            Self::Share(share) => {
                let bytes = (target as f64 * share.fraction()) as u64;
                bytes.min(target) / unit.max(1) * unit.max(1)
            }
        }
    }

    /// The bytes, where they do not depend on the target.
    pub fn bytes(self) -> Option<Bytes> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Share(_) => None,
        }
    }

    /// Tells whether it is zero for every target.
    pub(crate) fn is_zero(self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.0 == 0,
            Self::Share(share) => share.0 == 0.0,
        }
    }
}

impl From<Bytes> for Portion {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl std::str::FromStr for Portion {
    type Err = QuantityError;

    /// Reads a size (`10G`), or a share with its sign (`50%`).
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || QuantityError {
            text: text.to_owned(),
            what: "size",
            example: "a size (4k, 1.5G), or a share of the target (50%)",
        };
        if text.trim_end().ends_with('%') {
            return text.parse().map(Self::Share).map_err(|_| error());
        }
        text.parse().map(Self::Bytes).map_err(|_| error())
    }
}

impl fmt::Display for Portion {
    /// Writes it in the form in which it is read.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => f.write_str(&text::size(*bytes)),
            Self::Share(share) => write!(f, "{}%", share.0),
        }
    }
}

impl serde::Serialize for Portion {
    /// Writes bytes as a number, as older files do, and a share as text.
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(bytes) => bytes.serialize(out),
            Self::Share(_) => out.collect_str(self),
        }
    }
}

units::read_as_text!(Portion, "a size such as \"10G\", or a share of the target such as \"50%\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_are_read_back_as_they_are_printed() {
        for text in ["4k", "1536", "10G", "50%", "0.5%", "100%"] {
            let portion: Portion = text.parse().unwrap();
            assert_eq!(portion.to_string(), text);
            let json = serde_json::to_string(&portion).unwrap();
            assert_eq!(serde_json::from_str::<Portion>(&json).unwrap(), portion, "{json}");
        }
        assert_eq!(serde_json::from_str::<Portion>("8192").unwrap(), Portion::Bytes(Bytes(8192)));
        for wrong in ["", "101%", "-1%", "x", "%"] {
            let error = wrong.parse::<Portion>().expect_err(wrong).to_string();
            assert!(error.contains("50%"), "{error}");
        }
    }

    #[test]
    fn a_share_is_whole_units_of_the_target_and_a_size_is_what_it_says() {
        let share =
            |text: &str, target, unit| text.parse::<Portion>().unwrap().bytes_of(target, unit);
        assert_eq!(share("50%", 1 << 30, 4096), 1 << 29);
        assert_eq!(share("33.3%", 1_000_000, 4096), 81 * 4096);
        assert_eq!(share("100%", 10_000, 4096), 8192);
        assert_eq!(share("5000", 1 << 30, 4096), 5000);
    }
}
