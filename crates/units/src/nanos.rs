//! Times and durations in nanoseconds.

use crate::quantity::{QuantityError, split};

/// A duration, or a point on the run's monotonic epoch, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Nanoseconds in a second.
    pub const PER_SECOND: u64 = 1_000_000_000;

    /// Whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * Self::PER_SECOND)
    }

    /// The duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / Self::PER_SECOND as f64
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

impl std::str::FromStr for Nanos {
    type Err = QuantityError;

    /// Reads `90s`, `1.5ms`, `2m`, `1h`; a bare number is seconds.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || QuantityError {
            text: text.to_owned(),
            what: "duration",
            example: "a number with ns, us, ms, s, m or h, as in 90s or 1.5ms",
        };
        let (number, suffix) = split(text).ok_or_else(error)?;
        let unit = match suffix {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(error()),
        };
        let nanos = (number * unit * Self::PER_SECOND as f64).round();
        if nanos >= u64::MAX as f64 {
            return Err(QuantityError {
                example: "one below 584 years, the most that is counted",
                ..error()
            });
        }
        Ok(Self(nanos as u64))
    }
}

impl std::fmt::Display for Nanos {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&crate::show::nanos(self.0 as f64))
    }
}

impl serde::Serialize for Nanos {
    /// Writes text with the unit, because a bare number means seconds to people.
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&format_args!("{}ns", self.0))
    }
}

crate::read_as_text!(Nanos, "a duration such as \"90s\" or \"1.5ms\"");

#[cfg(test)]
mod tests {
    use super::Nanos;

    #[test]
    fn reads_every_unit_and_takes_a_bare_number_for_seconds() {
        for (text, nanos) in [
            ("90s", 90_000_000_000),
            ("1.5ms", 1_500_000),
            ("2m", 120_000_000_000),
            ("3", 3_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(nanos)), "{text}");
        }
        assert!("10x".parse::<Nanos>().is_err());
    }

    #[test]
    fn what_is_written_is_read_back_exactly() {
        let nanos = Nanos(1_234_567_891);
        let json = serde_json::to_string(&nanos).unwrap();
        assert_eq!(serde_json::from_str::<Nanos>(&json).unwrap(), nanos);
    }
}
