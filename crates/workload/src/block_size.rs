//! The sizes of I/Os.

use std::fmt;

use units::{Bytes, QuantityError};

use crate::text;

/// The size of one I/O, or several sizes with their shares.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockSize {
    /// All I/Os have this size.
    Fixed(Bytes),
    /// Several sizes, each with its share in percent; exact in each deck.
    Weighted(Vec<(Bytes, f64)>),
    /// All multiples of the alignment between two sizes, both included, equally often in each deck.
    Between(Bytes, Bytes),
}

const EXAMPLE: &str =
    "one size (4k), sizes with shares that sum to 100 (4k=70,64k=30), or a range (4k..64k)";

impl BlockSize {
    /// The smallest I/O.
    pub fn smallest(&self) -> Bytes {
        match self {
            Self::Fixed(size) | Self::Between(size, _) => *size,
            Self::Weighted(sizes) => sizes.iter().map(|(size, _)| *size).min().unwrap_or_default(),
        }
    }

    /// The largest I/O.
    pub fn largest(&self) -> Bytes {
        match self {
            Self::Fixed(size) | Self::Between(_, size) => *size,
            Self::Weighted(sizes) => sizes.iter().map(|(size, _)| *size).max().unwrap_or_default(),
        }
    }

    /// The size that all I/Os have; `None` when they differ.
    pub fn fixed(&self) -> Option<Bytes> {
        Some(self.smallest()).filter(|size| *size == self.largest())
    }

    /// All sizes that are written out: one size, a list, or both ends of a range.
    pub fn sizes(&self) -> impl Iterator<Item = Bytes> + '_ {
        let (ends, listed): ([Option<Bytes>; 2], &[(Bytes, f64)]) = match self {
            Self::Fixed(size) => ([Some(*size), None], &[]),
            Self::Between(low, high) => ([Some(*low), Some(*high)], &[]),
            Self::Weighted(sizes) => ([None, None], sizes),
        };
        ends.into_iter().flatten().chain(listed.iter().map(|(size, _)| *size))
    }

    /// The greatest common divisor of all sizes, bytes; I/Os are aligned to it unless the load says otherwise.
    pub fn common(&self) -> u64 {
        self.sizes().fold(0, |common, size| divisor(common, size.0)).max(1)
    }
}

/// The greatest common divisor; of `a` and 0 it is `a`.
pub(crate) fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

impl Default for BlockSize {
    fn default() -> Self {
        Self::Fixed(Bytes(4096))
    }
}

impl From<Bytes> for BlockSize {
    fn from(size: Bytes) -> Self {
        Self::Fixed(size)
    }
}

impl std::str::FromStr for BlockSize {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error =
            || QuantityError { text: text.to_owned(), what: "block size", example: EXAMPLE };
        if let Some((low, high)) = text.split_once("..") {
            let (low, high): (Bytes, Bytes) =
                (low.parse().map_err(|_| error())?, high.parse().map_err(|_| error())?);
            return match low.cmp(&high) {
                std::cmp::Ordering::Less => Ok(Self::Between(low, high)),
                std::cmp::Ordering::Equal => Ok(Self::Fixed(low)),
                std::cmp::Ordering::Greater => Err(error()),
            };
        }
        if !text.contains('=') {
            return text.parse().map(Self::Fixed).map_err(|_| error());
        }
        let mut sizes: Vec<(Bytes, f64)> = Vec::new();
        for part in text.split(',') {
            let (size, share) = part.split_once('=').ok_or_else(error)?;
            let size: Bytes = size.parse().map_err(|_| error())?;
            let share = text::percent(share).ok_or_else(error)?;
            if sizes.iter().any(|(other, _)| *other == size) {
                return Err(error());
            }
            sizes.push((size, share));
        }
        // A list of a single size asks for the same as that size alone.
        Ok(match sizes[..] {
            [(size, 100.0)] => Self::Fixed(size),
            _ => Self::Weighted(sizes),
        })
    }
}

impl fmt::Display for BlockSize {
    /// Writes it in the form in which it is read: `4k`, `4k=70,64k=30`, `4k..64k`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Fixed(size) => f.write_str(&text::size(*size)),
            Self::Between(low, high) => write!(f, "{}..{}", text::size(*low), text::size(*high)),
            Self::Weighted(sizes) => {
                for (i, (size, share)) in sizes.iter().enumerate() {
                    write!(f, "{}{}={share}", if i == 0 { "" } else { "," }, text::size(*size))?;
                }
                Ok(())
            }
        }
    }
}

impl serde::Serialize for BlockSize {
    /// Writes a number where all sizes are equal, as older files do; otherwise text.
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(size) => size.serialize(out),
            _ => out.collect_str(self),
        }
    }
}

impl<'de> serde::Deserialize<'de> for BlockSize {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = BlockSize;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(EXAMPLE)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<BlockSize, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<BlockSize, E> {
                Ok(BlockSize::Fixed(Bytes(n)))
            }
            fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<BlockSize, E> {
                self.visit_str(&n.to_string())
            }
            fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<BlockSize, E> {
                self.visit_str(&n.to_string())
            }
        }
        input.deserialize_any(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_back_from_what_it_prints() {
        for text in ["4k", "512", "4k=50,64k=50", "4k=99.5,1M=0.5", "4k..64k"] {
            let size: BlockSize = text.parse().unwrap();
            assert_eq!(size.to_string(), text);
            let json = serde_json::to_string(&size).unwrap();
            assert_eq!(serde_json::from_str::<BlockSize>(&json).unwrap(), size, "{json}");
        }
        // A single size is the same however it is written.
        for text in ["512..512", "512=100"] {
            assert_eq!(text.parse::<BlockSize>().unwrap(), BlockSize::Fixed(Bytes(512)));
        }
        assert_eq!(serde_json::from_str::<BlockSize>("4096").unwrap(), BlockSize::default());
    }

    #[test]
    fn knows_its_ends_and_what_all_are_multiples_of() {
        let of = |text: &str| {
            let size: BlockSize = text.parse().unwrap();
            (size.smallest().0, size.largest().0, size.common())
        };
        assert_eq!(of("64k=50,4k=25,12k=25"), (4096, 65_536, 4096));
        assert_eq!(of("6k..16k"), (6144, 16_384, 2048));
        assert_eq!(of("8k"), (8192, 8192, 8192));
    }

    #[test]
    fn refuses_what_is_not_a_block_size_and_says_how_to_write_one() {
        for text in
            ["", "4k=", "=5", "4k=50,4k=50", "64k..4k", "4k..", "4k=50;8k=50", "4k=x", "-4k"]
        {
            let error = text.parse::<BlockSize>().expect_err(text).to_string();
            assert!(error.contains("4k..64k"), "{error}");
        }
    }
}
