//! Options as text: the same in flags, TOML and JSON, and written in the form in which they are read.

use units::{Bytes, Nanos};

/// A type that is one of a few words.
macro_rules! choice {
    (
        $(#[$doc:meta])* $name:ident is a $what:literal, $default:ident unless said:
        $($(#[$each:meta])* $variant:ident = $word:literal),+ $(,)?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$each])* $variant,)+
        }

        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for it in files, flags and results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::$default
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = units::QuantityError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.iter().find(|choice| choice.name() == text.trim());
                found.copied().ok_or_else(|| units::QuantityError {
                    text: text.to_owned(),
                    what: $what,
                    example: concat!("one of:" $(, " ", $word)+),
                })
            }
        }

        units::as_text!($name, $what);
    };
}
pub(crate) use choice;

/// A size as short as it can be written without loss: `4k`, `1536`.
pub(crate) fn size(bytes: Bytes) -> String {
    let units = [(50, "P"), (40, "T"), (30, "G"), (20, "M"), (10, "k")];
    let fits = |&&(shift, _): &&(u32, &str)| bytes.0 > 0 && bytes.0.trailing_zeros() >= shift;
    match units.iter().find(fits) {
        Some((shift, suffix)) => format!("{}{suffix}", bytes.0 >> shift),
        None => bytes.0.to_string(),
    }
}

/// A duration as short as it can be written without loss: `90s`, `1500us`.
pub(crate) fn duration(time: Nanos) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.iter().find(|(n, _)| time.0 > 0 && time.0.is_multiple_of(*n));
    unit.map_or(format!("{}ns", time.0), |(n, suffix)| format!("{}{suffix}", time.0 / n))
}

/// A number that is finite and not negative, with or without a sign for percent after it.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    text.parse().ok().filter(|n: &f64| n.is_finite())
}

/// A share in percent, which may exceed 100 where that makes sense; the sign may be left out.
pub(crate) fn percent(text: &str) -> Option<f64> {
    number(text.trim().strip_suffix('%').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations_are_read_back_exactly_from_what_is_printed() {
        for n in [0, 1, 1023, 1024, 1536, 4096, 3 << 20, 5 << 40, (1 << 53) - 1] {
            assert_eq!(size(Bytes(n)).parse(), Ok(Bytes(n)));
            assert_eq!(duration(Nanos(n)).parse(), Ok(Nanos(n)));
        }
        assert_eq!(size(Bytes(3 << 50)), "3P");
        assert_eq!(
            (size(Bytes(65_536)), duration(Nanos::from_secs(90))),
            ("64k".into(), "90s".into())
        );
    }

    #[test]
    fn numbers_are_plain() {
        assert_eq!(
            (number("1.2"), percent("5%"), percent("0.25")),
            (Some(1.2), Some(5.0), Some(0.25))
        );
        assert_eq!(["", "-1", "inf", "NaN", "+2", "1e999", "%", "a"].map(percent), [None; 8]);
    }
}
