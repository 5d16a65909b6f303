//! Shares in percent.

use crate::quantity::{QuantityError, split};

/// A share in percent, 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Percent(pub f64);

impl Percent {
    /// The share as a fraction, 0 to 1.
    pub fn fraction(self) -> f64 {
        self.0 / 100.0
    }
}

impl std::str::FromStr for Percent {
    type Err = QuantityError;

    /// Reads `50%` or `50`; refuses what lies outside 0 to 100.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match split(text) {
            Some((n, "" | "%")) if n <= 100.0 => Ok(Self(n)),
            _ => Err(QuantityError {
                text: text.to_owned(),
                what: "share",
                example: "a number from 0 to 100 with or without %, as in 50%",
            }),
        }
    }
}

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}%", crate::show::readable(self.0, 4))
    }
}

impl serde::Serialize for Percent {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_f64(self.0)
    }
}

crate::read_as_text!(Percent, "a share such as 50 or \"50%\"");

#[cfg(test)]
mod tests {
    use super::Percent;

    #[test]
    fn reads_with_and_without_the_sign_and_refuses_more_than_all() {
        assert_eq!("12.5%".parse(), Ok(Percent(12.5)));
        assert_eq!("100".parse(), Ok(Percent(100.0)));
        for text in ["101%", "-1", "half", "5 percent"] {
            assert!(text.parse::<Percent>().is_err(), "{text}");
        }
    }
}
