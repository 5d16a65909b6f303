//! Access patterns: the order of the places that I/Os go to, as specified.

use std::fmt;

use units::QuantityError;

use crate::Hot;
use crate::text;
use crate::zones::Zones;

/// The order in which blocks of the range are visited, or the distribution from which they are drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Pattern {
    /// One after the other.
    Sequential,
    /// One after the other over all jobs: each takes `chunk` blocks in turn. With a single job it is sequential.
    Interleaved {
        /// Number of blocks that a job takes in its turn.
        chunk: u64,
    },
    /// Every `blocks`-th block.
    Strided {
        /// Distance from one visited block to the next.
        blocks: u64,
        /// Tells whether each pass begins one block later than the one before, so that all blocks are visited in `blocks` passes.
        shift: bool,
    },
    /// Every block equally likely, again and again.
    Uniform,
    /// Every block once in a pass, in random order.
    Permutation,
    /// Rank k with a probability proportional to k^-theta.
    Zipf {
        /// The exponent, above 0.
        theta: f64,
    },
    /// A share 1 - h of the I/Os goes to the share h of the blocks, and likewise within each of the two parts (self-similar).
    Pareto {
        /// The share of blocks, above 0 and below 0.5.
        h: f64,
    },
    /// A normal distribution over the range, its tails cut where the range ends.
    Normal {
        /// Standard deviation, percent of the range.
        sigma_percent: f64,
        /// Its mean, percent of the range; 50 is the middle.
        centre_percent: f64,
    },
    /// Zones of the range, each with its share of the I/Os; uniform within.
    Zones(Zones),
    /// The same block again and again.
    Single {
        /// Its number.
        block: u64,
    },
}

const EXAMPLE: &str = "sequential, interleaved[:CHUNK], strided:N[:shift], random, permutation, zipf:THETA, \
pareto:H, normal:SIGMA%[@CENTRE%], zones:SHARE%/SIZE,... or single[:BLOCK]";

impl Pattern {
    /// Tells whether the pattern has passes, which end with a last block.
    pub const fn has_passes(&self) -> bool {
        matches!(
            self,
            Self::Sequential | Self::Interleaved { .. } | Self::Strided { .. } | Self::Permutation
        )
    }

    /// Tells whether it draws blocks at random, each independently of the ones before.
    pub const fn is_drawn(&self) -> bool {
        !self.has_passes() && !matches!(self, Self::Single { .. })
    }

    /// Returns where its hot blocks are by default; `None` if no block is hotter than another.
    pub const fn own_hot(&self) -> Option<Hot> {
        match self {
            Self::Zipf { .. } | Self::Pareto { .. } => Some(Hot::Scattered),
            Self::Normal { .. } | Self::Zones(_) => Some(Hot::Contiguous),
            _ => None,
        }
    }
}

/// Reads a pattern from its name and the text after the colon; `None` if there is no such pattern.
fn read(name: &str, rest: Option<&str>) -> Option<Pattern> {
    let whole = |text: &str| text.trim().parse::<u64>().ok();
    Some(match (name, rest) {
        ("sequential", None) => Pattern::Sequential,
        ("interleaved", None) => Pattern::Interleaved { chunk: 1 },
        ("interleaved", Some(chunk)) => {
            Pattern::Interleaved { chunk: whole(chunk).filter(|&n| n > 0)? }
        }
        ("strided", Some(rest)) => {
            let (blocks, shift) = match rest.split_once(':') {
                None => (rest, false),
                Some((blocks, "shift")) => (blocks, true),
                Some(_) => return None,
            };
            Pattern::Strided { blocks: whole(blocks).filter(|&n| n > 0)?, shift }
        }
        ("random" | "uniform", None) => Pattern::Uniform,
        ("permutation", None) => Pattern::Permutation,
        ("zipf", Some(theta)) => Pattern::Zipf { theta: text::number(theta)? },
        ("pareto", Some(h)) => Pattern::Pareto { h: text::number(h)? },
        ("normal", Some(rest)) => {
            let (sigma, centre) = rest.split_once('@').unwrap_or((rest, "50"));
            let (sigma_percent, centre_percent) = (text::percent(sigma)?, text::percent(centre)?);
            Pattern::Normal { sigma_percent, centre_percent }
        }
        ("zones", Some(zones)) => Pattern::Zones(zones.parse().ok()?),
        ("single", None) => Pattern::Single { block: 0 },
        ("single", Some(block)) => Pattern::Single { block: whole(block)? },
        _ => return None,
    })
}

impl std::str::FromStr for Pattern {
    type Err = QuantityError;

    /// Reads `sequential`, `random`, `zipf:1.2`, `normal:5%@30%`, `zones:90%/10%,10%/90%`, ...
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let trimmed = text.trim();
        let (name, rest) = match trimmed.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (trimmed, None),
        };
        let error = || QuantityError { text: text.to_owned(), what: "pattern", example: EXAMPLE };
        read(name, rest).ok_or_else(error)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Sequential => f.write_str("sequential"),
            Self::Interleaved { chunk: 1 } => f.write_str("interleaved"),
            Self::Interleaved { chunk } => write!(f, "interleaved:{chunk}"),
            Self::Strided { blocks, shift: false } => write!(f, "strided:{blocks}"),
            Self::Strided { blocks, shift: true } => write!(f, "strided:{blocks}:shift"),
            Self::Uniform => f.write_str("random"),
            Self::Permutation => f.write_str("permutation"),
            Self::Zipf { theta } => write!(f, "zipf:{theta}"),
            Self::Pareto { h } => write!(f, "pareto:{h}"),
            Self::Normal { sigma_percent, centre_percent: 50.0 } => {
                write!(f, "normal:{sigma_percent}%")
            }
            Self::Normal { sigma_percent, centre_percent } => {
                write!(f, "normal:{sigma_percent}%@{centre_percent}%")
            }
            Self::Zones(zones) => write!(f, "zones:{zones}"),
            Self::Single { block: 0 } => f.write_str("single"),
            Self::Single { block } => write!(f, "single:{block}"),
        }
    }
}

units::as_text!(
    Pattern,
    "a pattern such as \"sequential\", \"random\", \"permutation\" or \"zipf:1.2\""
);

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn is_read_back_from_what_it_prints() {
        for text in [
            "sequential",
            "interleaved",
            "interleaved:64",
            "strided:812",
            "strided:812:shift",
            "random",
            "permutation",
            "zipf:1.2",
            "zipf:0.99",
            "pareto:0.2",
            "normal:5%",
            "normal:0.25%@30%",
            "zones:90%/10%,10%/90%",
            "single",
            "single:7",
        ] {
            let pattern: Pattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), text);
            let json = serde_json::to_string(&pattern).unwrap();
            assert_eq!(serde_json::from_str::<Pattern>(&json).unwrap(), pattern);
        }
        // Forms that are found in older results.
        assert_eq!("uniform".parse(), Ok(Pattern::Uniform));
        assert_eq!("normal:5".parse(), "normal:5%@50%".parse::<Pattern>());
    }

    #[test]
    fn refuses_what_is_not_a_pattern_and_names_those_there_are() {
        for text in [
            "",
            "rnd",
            "strided",
            "strided:0",
            "strided:-1",
            "strided:x",
            "strided:2:shifted",
            "zipf",
            "zipf:",
            "zipf:x",
            "zipf:-1",
            "zipf:inf",
            "pareto",
            "normal:",
            "normal:5%@",
            "zones:",
            "zones:5%",
            "single:-1",
            "interleaved:0",
            "random:1",
            "permutation:2",
        ] {
            let error = text.parse::<Pattern>().expect_err(text).to_string();
            assert!(error.contains("permutation"), "{error}");
        }
    }
}
