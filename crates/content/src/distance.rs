//! Distances of duplicates from the content that they repeat, and the popularity of contents.

use units::QuantityError;

use crate::keys::unknown;

/// Distance of a duplicate: in distinct blocks, that is in blocks with new content written since the content was
/// last written, itself not counted (1: no other new content in between).
#[derive(Debug, Clone, PartialEq)]
pub enum Distance {
    /// The newest content.
    Previous,
    /// Within the window.
    Recent,
    /// Anywhere in what was written so far.
    All,
    /// By a histogram.
    Histogram(Vec<DistanceShare>),
}

/// Duplicates of one range of distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistanceShare {
    /// Nearest, distinct blocks.
    pub from: u64,
    /// Farthest, distinct blocks.
    pub to: u64,
    /// Weight among all duplicates.
    pub weight: f64,
}

impl std::str::FromStr for Distance {
    type Err = QuantityError;

    /// Reads `previous`, `recent`, `all`, or a histogram: `1..100=30,100..10000=70`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text.trim() {
            "previous" => return Ok(Self::Previous),
            "recent" => return Ok(Self::Recent),
            "all" => return Ok(Self::All),
            _ => {}
        }
        let shares: Option<Vec<_>> = text.split(',').map(DistanceShare::read).collect();
        shares.filter(|shares| !shares.is_empty()).map(Self::Histogram).ok_or_else(|| {
            unknown(
                text,
                "distance of duplicates",
                "previous, recent, all, or ranges with weights as in 1..100=30,100..10000=70",
            )
        })
    }
}

impl DistanceShare {
    fn read(text: &str) -> Option<Self> {
        let (range, weight) = text.split_once('=')?;
        let (from, to) = range.split_once("..").unwrap_or((range, range));
        let share = Self {
            from: from.trim().parse().ok()?,
            to: to.trim().parse().ok()?,
            weight: weight.trim().trim_end_matches('%').parse().ok()?,
        };
        let fits = share.from >= 1 && share.to >= share.from;
        (fits && share.weight.is_finite() && share.weight > 0.0).then_some(share)
    }
}

impl std::fmt::Display for Distance {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Previous => f.write_str("previous"),
            Self::Recent => f.write_str("recent"),
            Self::All => f.write_str("all"),
            Self::Histogram(shares) => {
                for (i, share) in shares.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    write!(f, "{comma}{}..{}={}", share.from, share.to, share.weight)?;
                }
                Ok(())
            }
        }
    }
}

units::as_text!(
    Distance,
    "a distance: \"previous\", \"recent\", \"all\" or \"1..100=30,100..10000=70\""
);

/// Popularity of contents: equal or unequal numbers of duplicates for each.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Popularity {
    /// All equally often.
    #[default]
    Uniform,
    /// The nth most popular content of a window in proportion to n to the power of minus this.
    Zipf(f64),
    /// All equally often, and none written more than this many times.
    Cap(u64),
}

impl std::str::FromStr for Popularity {
    type Err = QuantityError;

    /// Reads `uniform`, `zipf:1.1` or `cap:20`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || unknown(text, "popularity", "uniform, zipf:1.1 (0 to 4), or cap:20");
        match text.trim().split_once(':') {
            None if text.trim() == "uniform" => Ok(Self::Uniform),
            Some(("zipf", theta)) => match theta.trim().parse::<f64>() {
                Ok(theta) if theta > 0.0 && theta <= 4.0 => Ok(Self::Zipf(theta)),
                _ => Err(error()),
            },
            Some(("cap", most)) => match most.trim().parse::<u64>() {
                Ok(most) if most >= 1 => Ok(Self::Cap(most)),
                _ => Err(error()),
            },
            _ => Err(error()),
        }
    }
}

impl std::fmt::Display for Popularity {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(theta) => write!(f, "zipf:{theta}"),
            Self::Cap(most) => write!(f, "cap:{most}"),
        }
    }
}

units::as_text!(Popularity, "a popularity: \"uniform\", \"zipf:1.1\" or \"cap:20\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_read_back_from_what_they_print() {
        for text in ["previous", "recent", "all", "1..100=30,100..10000=70"] {
            assert_eq!(text.parse::<Distance>().unwrap().to_string(), text);
        }
        let one: Distance = "7=100%".parse().unwrap();
        assert_eq!(one, Distance::Histogram(vec![DistanceShare { from: 7, to: 7, weight: 100.0 }]));
        for text in ["", "near", "0..5=1", "5..2=1", "1..2", "1..2=-3", "1..2=nan"] {
            assert!(text.parse::<Distance>().is_err(), "{text}");
        }
    }

    #[test]
    fn popularities_are_read_back_from_what_they_print() {
        for text in ["uniform", "zipf:1.1", "cap:20"] {
            assert_eq!(text.parse::<Popularity>().unwrap().to_string(), text);
        }
        for text in ["zipf", "zipf:0", "zipf:9", "cap:0", "cap:-1", "pareto:1"] {
            assert!(text.parse::<Popularity>().is_err(), "{text}");
        }
    }
}
