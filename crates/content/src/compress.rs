//! The compression asked of LZ4: `2.5x`, `60%`, `none`, or a distribution of sizes.

use units::{Percent, QuantityError};

/// Compression of the blocks by the kernel's LZ4.
#[derive(Debug, Clone, Default)]
pub enum Compress {
    /// Not at all.
    #[default]
    None,
    /// Every block to its size / ratio; above 1.
    Ratio(f64),
    /// Every block to its size x (1 - saving).
    Saving(Percent),
    /// Normally distributed LZ4 sizes; those that LZ4 cannot give are moved to the nearest one that it can.
    Normal {
        /// Mean, bytes.
        mean_bytes: f64,
        /// Standard deviation, bytes.
        deviation_bytes: f64,
    },
    /// Some LZ4 sizes, each with its weight.
    Sizes(Vec<SizeShare>),
}

/// Blocks of one LZ4 size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeShare {
    /// LZ4 size, bytes.
    pub lz4_bytes: u32,
    /// Weight among all blocks that are not zero.
    pub weight: f64,
}

/// Size, in bytes, of an imaginary block for comparing requests: a ratio and a saving give the same LZ4 size in it only if they mean the same.
const FINE: usize = 1 << 30;

impl PartialEq for Compress {
    /// Tells whether both ask for the same: `2x` is `50%`.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Normal { mean_bytes: mean, deviation_bytes: deviation },
                Self::Normal { mean_bytes, deviation_bytes },
            ) => (mean, deviation) == (mean_bytes, deviation_bytes),
            (Self::Sizes(one), Self::Sizes(other)) => one == other,
            _ => self.lz4_bytes(FINE).is_some_and(|one| other.lz4_bytes(FINE) == Some(one)),
        }
    }
}

impl Compress {
    /// The LZ4 size that is asked for all blocks of `unit` bytes alike; `None` for a distribution.
    pub fn lz4_bytes(&self, unit: usize) -> Option<usize> {
        let bytes = match self {
            Self::None => return Some(unit),
            Self::Ratio(ratio) => unit as f64 / ratio.max(1.0),
            Self::Saving(saving) => unit as f64 * (1.0 - saving.fraction()),
            Self::Normal { .. } | Self::Sizes(_) => return None,
        };
        Some(bytes.round() as usize)
    }

    /// A request of the same form as `self` (ratio or saving) for an LZ4 size of `bytes`, rounded towards smaller blocks.
    pub(crate) fn with_bytes(&self, bytes: usize, unit: usize) -> Self {
        let ratio = unit as f64 / bytes.max(1) as f64;
        match self {
            Self::Saving(_) => Self::Saving(Percent((1000.0 * (1.0 - 1.0 / ratio)).ceil() / 10.0)),
            _ => Self::Ratio((100.0 * ratio).ceil() / 100.0),
        }
    }

    fn read_normal(text: &str) -> Option<Self> {
        let (mean, deviation) = text.split_once(',')?;
        let number =
            |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        Some(Self::Normal { mean_bytes: number(mean)?, deviation_bytes: number(deviation)? })
    }

    fn read_sizes(text: &str) -> Option<Self> {
        let share = |text: &str| {
            let (size, weight) = text.split_once('=')?;
            let weight = weight.trim().trim_end_matches('%').parse::<f64>().ok()?;
            let share = SizeShare { lz4_bytes: size.trim().parse().ok()?, weight };
            (weight.is_finite() && weight > 0.0).then_some(share)
        };
        text.split(',').map(share).collect::<Option<Vec<_>>>().map(Self::Sizes)
    }
}

impl std::str::FromStr for Compress {
    type Err = QuantityError;

    /// Reads `2.5x`, `60%`, `none`, `normal:1600,300` or `1000=30,2000=70`; a ratio below 1 is refused.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || QuantityError {
            text: text.to_owned(),
            what: "compression",
            example: "a ratio as in 2.5x (1x or more), a saving as in 60%, none, LZ4 sizes in bytes with mean and \
                      standard deviation as in normal:1600,300, or with weights as in 1000=30,2000=70",
        };
        let trimmed = text.trim();
        if trimmed == "none" {
            return Ok(Self::None);
        }
        if let Some(rest) = trimmed.strip_prefix("normal:") {
            return Self::read_normal(rest).ok_or_else(error);
        }
        if trimmed.contains('=') {
            return Self::read_sizes(trimmed).ok_or_else(error);
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
            Self::Normal { mean_bytes, deviation_bytes } => {
                write!(f, "normal:{mean_bytes},{deviation_bytes}")
            }
            Self::Sizes(shares) => {
                for (i, share) in shares.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    write!(f, "{comma}{}={}", share.lz4_bytes, share.weight)?;
                }
                Ok(())
            }
        }
    }
}

// From text only: a bare number could be a ratio or a percentage.
units::as_text!(Compress, "a compression such as \"2.5x\", \"60%\" or \"none\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_and_a_saving_name_the_same_size() {
        assert_eq!("2.5x".parse::<Compress>().unwrap().lz4_bytes(4096), Some(1638));
        assert_eq!("60%".parse::<Compress>().unwrap().lz4_bytes(4096), Some(1638));
        for text in ["none", "1x", "0%"] {
            assert_eq!(text.parse(), Ok(Compress::None));
        }
    }

    #[test]
    fn is_read_back_from_what_it_prints() {
        for text in
            ["2.5x", "60%", "none", "33.3%", "1.05x", "normal:1600,300", "1000=30,2000=70.5"]
        {
            let read: Compress = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<Compress>(&json).unwrap(), read);
        }
    }

    #[test]
    fn refuses_what_could_mean_two_things() {
        for text in [
            "2.5",
            "60",
            "0.5x",
            "x",
            "101%",
            "-3%",
            "infx",
            "",
            "normal:1",
            "normal:x,2",
            "5=",
            "5=0",
            "5=1,",
        ] {
            let error = text.parse::<Compress>().expect_err(text);
            assert!(error.to_string().contains("2.5x"), "{error}");
        }
        assert!(serde_json::from_str::<Compress>("2.5").is_err());
    }
}
