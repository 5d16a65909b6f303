//! Rates: I/Os or bytes per second.

use std::fmt;

use units::{Bytes, QuantityError};

use crate::text;

/// I/Os or bytes per second, over all jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rate {
    /// Thousandths of an I/O per second.
    Ios(u64),
    /// Bytes per second.
    Bytes(Bytes),
}

/// A cap on a load that otherwise goes as fast as it can: on I/Os, on bytes, or on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Limit {
    /// Thousandths of an I/O per second, over all jobs.
    pub ios: Option<u64>,
    /// Bytes per second, over all jobs.
    pub bytes: Option<Bytes>,
}

const EXAMPLE: &str =
    "I/Os per second (5000/s), or bytes per second with their unit (100M/s, 64KiB/s)";

impl Rate {
    /// Tells whether no I/O would ever start at this rate.
    pub fn is_zero(self) -> bool {
        matches!(self, Self::Ios(0) | Self::Bytes(Bytes(0)))
    }
}

impl std::str::FromStr for Rate {
    type Err = QuantityError;

    /// Reads `5000/s`, `0.5/s` (I/Os) and `100M/s`, `64KiB/s` (bytes). A bare `k` could mean either, and is refused.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || QuantityError { text: text.to_owned(), what: "rate", example: EXAMPLE };
        let amount = text.trim();
        let amount = amount.strip_suffix("/s").unwrap_or(amount).trim();
        if let Some(ios) = text::number(amount) {
            let thousandths = (ios * 1000.0).round();
            return if thousandths < 1e15 {
                Ok(Self::Ios(thousandths as u64))
            } else {
                Err(error())
            };
        }
        if amount.ends_with(['k', 'K']) {
            return Err(error());
        }
        amount.parse().map(Self::Bytes).map_err(|_| error())
    }
}

impl fmt::Display for Rate {
    /// Writes it in the form in which it is read: `5000/s`, `100M/s`, `64KiB/s`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Self::Ios(n) if n.is_multiple_of(1000) => write!(f, "{}/s", n / 1000),
            Self::Ios(n) => {
                let part = format!("{:03}", n % 1000);
                write!(f, "{}.{}/s", n / 1000, part.trim_end_matches('0'))
            }
            Self::Bytes(bytes) => {
                let size = text::size(bytes);
                // A bare number or a bare `k` would not be read as bytes.
                match size.strip_suffix('k') {
                    Some(kibibytes) => write!(f, "{kibibytes}KiB/s"),
                    None if size.ends_with(['M', 'G', 'T']) => write!(f, "{size}/s"),
                    None => write!(f, "{size}B/s"),
                }
            }
        }
    }
}

units::as_text!(Rate, "a rate such as \"5000/s\" or \"100M/s\"");

impl std::str::FromStr for Limit {
    type Err = QuantityError;

    /// Reads one rate, or one of I/Os and one of bytes: `5000/s`, `100M/s`, `5000/s,100M/s`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let mut limit = Self::default();
        for part in text.split(',') {
            let twice = match part.parse()? {
                Rate::Ios(ios) => limit.ios.replace(ios).is_some(),
                Rate::Bytes(bytes) => limit.bytes.replace(bytes).is_some(),
            };
            if twice {
                return Err(QuantityError {
                    text: text.to_owned(),
                    what: "limit",
                    example: "one rate, or one of I/Os and one of bytes (5000/s,100M/s)",
                });
            }
        }
        Ok(limit)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let rates = [self.ios.map(Rate::Ios), self.bytes.map(Rate::Bytes)];
        for (i, rate) in rates.into_iter().flatten().enumerate() {
            write!(f, "{}{rate}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

units::as_text!(Limit, "a limit such as \"5000/s\", \"100M/s\" or \"5000/s,100M/s\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ios_and_sizes_are_bytes() {
        for (text, rate, printed) in [
            ("5000/s", Rate::Ios(5_000_000), "5000/s"),
            ("5000", Rate::Ios(5_000_000), "5000/s"),
            ("0.5/s", Rate::Ios(500), "0.5/s"),
            ("100M/s", Rate::Bytes(Bytes(100 << 20)), "100M/s"),
            ("64KiB/s", Rate::Bytes(Bytes(65_536)), "64KiB/s"),
            ("64kB/s", Rate::Bytes(Bytes(64_000)), "64000B/s"),
            ("100B/s", Rate::Bytes(Bytes(100)), "100B/s"),
        ] {
            assert_eq!(text.parse(), Ok(rate), "{text}");
            assert_eq!(rate.to_string(), printed);
            assert_eq!(printed.parse(), Ok(rate));
        }
    }

    #[test]
    fn what_could_mean_either_is_refused_with_both_forms() {
        for text in ["5k/s", "5K", "", "/s", "-5/s", "fast", "1e30", "5000/m"] {
            let error = text.parse::<Rate>().expect_err(text).to_string();
            assert!(error.contains("5000/s") && error.contains("100M/s"), "{error}");
        }
    }

    #[test]
    fn a_limit_caps_ios_bytes_or_both() {
        for text in ["5000/s", "100M/s", "5000/s,100M/s"] {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), text);
        }
        assert!("1/s,2/s".parse::<Limit>().is_err() && "".parse::<Limit>().is_err());
    }
}
