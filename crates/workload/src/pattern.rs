//! Where I/Os go.

use units::QuantityError;

/// The order in which blocks of the range are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// One after the other; jobs take contiguous parts.
    Sequential,
    /// Every block as likely, again and again.
    Uniform,
    /// Every block once in a pass, in random order; jobs share the pass.
    Permutation,
    /// Every `blocks`-th block; jobs take contiguous parts.
    Strided {
        /// From one visited block to the next.
        blocks: u64,
    },
}

impl Pattern {
    /// Whether there is a last block of a pass.
    pub const fn has_passes(self) -> bool {
        !matches!(self, Self::Uniform)
    }
}

impl std::str::FromStr for Pattern {
    type Err = QuantityError;

    /// Reads `sequential`, `uniform` (or `random`), `permutation`, `strided:812`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let trimmed = text.trim();
        let stride = trimmed.strip_prefix("strided:").and_then(|n| n.parse().ok());
        match (trimmed, stride) {
            ("sequential", _) => Ok(Self::Sequential),
            ("uniform" | "random", _) => Ok(Self::Uniform),
            ("permutation", _) => Ok(Self::Permutation),
            (_, Some(blocks)) if blocks > 0 => Ok(Self::Strided { blocks }),
            _ => Err(QuantityError {
                text: text.to_owned(),
                what: "pattern",
                example: "sequential, uniform (or random), permutation, or strided:N with N blocks",
            }),
        }
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Sequential => f.write_str("sequential"),
            Self::Uniform => f.write_str("uniform"),
            Self::Permutation => f.write_str("permutation"),
            Self::Strided { blocks } => write!(f, "strided:{blocks}"),
        }
    }
}

impl serde::Serialize for Pattern {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Pattern {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Pattern;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a pattern such as \"sequential\", \"random\" or \"permutation\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Pattern, E> {
                text.parse().map_err(E::custom)
            }
        }
        input.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn is_read_back_from_what_it_prints() {
        for pattern in [
            Pattern::Sequential,
            Pattern::Uniform,
            Pattern::Permutation,
            Pattern::Strided { blocks: 812 },
        ] {
            assert_eq!(pattern.to_string().parse(), Ok(pattern));
            let json = serde_json::to_string(&pattern).unwrap();
            assert_eq!(serde_json::from_str::<Pattern>(&json).unwrap(), pattern);
        }
        assert_eq!("random".parse(), Ok(Pattern::Uniform));
    }

    #[test]
    fn refuses_what_is_not_a_pattern_and_names_those_there_are() {
        for text in ["", "rnd", "strided", "strided:0", "strided:-1", "strided:x"] {
            let error = text.parse::<Pattern>().expect_err(text).to_string();
            assert!(error.contains("permutation"), "{error}");
        }
    }
}
