//! How far LZ4 is to compress a block: `2.5x`, `60%` or `none`.

use reduce::BLOCK;
use units::{Percent, QuantityError};

/// How far the kernel's LZ4 compresses a block of 4096 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Compress {
    /// Not at all.
    #[default]
    None,
    /// To 4096 / ratio bytes; above 1.
    Ratio(f64),
    /// To 4096 (1 - saving) bytes.
    Saving(Percent),
}

impl Compress {
    /// The LZ4 size that is asked for, bytes; 4096 for `none`.
    pub fn lz4_bytes(self) -> usize {
        let bytes = match self {
            Self::None => return BLOCK,
            Self::Ratio(ratio) => BLOCK as f64 / ratio.max(1.0),
            Self::Saving(saving) => BLOCK as f64 * (1.0 - saving.fraction()),
        };
        bytes.round() as usize
    }

    /// The ask for an LZ4 size of `bytes`, in the form that `self` has, rounded so that blocks get no larger.
    pub(crate) fn with_bytes(self, bytes: usize) -> Self {
        let ratio = BLOCK as f64 / bytes.max(1) as f64;
        match self {
            Self::Saving(_) => Self::Saving(Percent((1000.0 * (1.0 - 1.0 / ratio)).ceil() / 10.0)),
            Self::None | Self::Ratio(_) => Self::Ratio((100.0 * ratio).ceil() / 100.0),
        }
    }
}

impl std::str::FromStr for Compress {
    type Err = QuantityError;

    /// Reads `2.5x`, `60%` or `none`; a ratio below 1 is refused.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || QuantityError {
            text: text.to_owned(),
            what: "compression",
            example: "a ratio as in 2.5x (1x or more), a saving as in 60%, or none",
        };
        let trimmed = text.trim();
        if trimmed == "none" {
            return Ok(Self::None);
        }
        if let Some(number) = trimmed.strip_suffix('x') {
            return match number.trim_end().parse::<f64>() {
                Ok(1.0) => Ok(Self::None),
                Ok(ratio) if ratio.is_finite() && ratio > 1.0 => Ok(Self::Ratio(ratio)),
                _ => Err(error()),
            };
        }
        if !trimmed.ends_with('%') {
            return Err(error());
        }
        match trimmed.parse::<Percent>() {
            Ok(Percent(0.0)) => Ok(Self::None),
            Ok(saving) => Ok(Self::Saving(saving)),
            Err(_) => Err(error()),
        }
    }
}

impl std::fmt::Display for Compress {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Ratio(ratio) => write!(f, "{ratio}x"),
            Self::Saving(saving) => write!(f, "{}%", saving.0),
        }
    }
}

impl serde::Serialize for Compress {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Compress {
    /// From text only: a bare number could be a ratio or a percentage.
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Compress;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a compression such as \"2.5x\", \"60%\" or \"none\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Compress, E> {
                text.parse().map_err(E::custom)
            }
        }
        input.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_and_a_saving_name_the_same_size() {
        assert_eq!("2.5x".parse::<Compress>().unwrap().lz4_bytes(), 1638);
        assert_eq!("60%".parse::<Compress>().unwrap().lz4_bytes(), 1638);
        for text in ["none", "1x", "0%"] {
            assert_eq!(text.parse(), Ok(Compress::None));
        }
    }

    #[test]
    fn is_read_back_from_what_it_prints() {
        for text in ["2.5x", "60%", "none", "33.3%", "1.05x"] {
            let read: Compress = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<Compress>(&json).unwrap(), read);
        }
    }

    #[test]
    fn refuses_what_could_mean_two_things() {
        for text in ["2.5", "60", "0.5x", "x", "101%", "-3%", "infx", ""] {
            let error = text.parse::<Compress>().expect_err(text);
            assert!(error.to_string().contains("2.5x"), "{error}");
        }
        assert!(serde_json::from_str::<Compress>("2.5").is_err());
    }
}
