//! The choice of the name that an operation works on: how names are drawn from the range.

use units::{Permutation, QuantityError, Seed, SplitMix64};
use workload::{Ziggurat, Zipf};

/// A distribution of names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// All names are equally likely.
    Uniform,
    /// Zipf; ranks are assigned to names by a permutation, so that the most used names are spread over all directories.
    Zipf {
        /// The exponent.
        theta: f64,
    },
    /// Normal around a mean that moves through the range again and again.
    Gaussian {
        /// Standard deviation, in indices.
        sigma: f64,
        /// Number of indices by which the mean moves with each operation of the load.
        velocity: f64,
        /// Distance, in standard deviations, at which files are created ahead of the mean; it does not move the mean.
        ahead: f64,
    },
}

impl Distribution {
    pub(crate) fn is_valid(&self) -> bool {
        match *self {
            Self::Uniform => true,
            Self::Zipf { theta } => theta > 0.0 && theta <= 10.0,
            Self::Gaussian { sigma, velocity, ahead } => {
                let fits = |number: f64| number.is_finite() && (0.0..1e9).contains(&number);
                sigma > 0.0 && fits(sigma) && fits(velocity) && fits(ahead)
            }
        }
    }
}

impl std::fmt::Display for Distribution {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf { theta } => write!(f, "zipf:{theta}"),
            Self::Gaussian { sigma, velocity, ahead } => {
                write!(f, "gaussian:{sigma}:{velocity}:{ahead}")
            }
        }
    }
}

impl std::str::FromStr for Distribution {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let numbers: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
        let distribution = match (name, numbers.as_deref()) {
            ("uniform", Some([])) => Some(Self::Uniform),
            ("zipf", Some(&[theta])) => Some(Self::Zipf { theta }),
            ("gaussian", Some(&[sigma, velocity, ref ahead @ ..])) if ahead.len() < 2 => {
                let ahead = ahead.first().copied().unwrap_or_default();
                Some(Self::Gaussian { sigma, velocity, ahead })
            }
            _ => None,
        };
        distribution.filter(Self::is_valid).ok_or_else(|| QuantityError {
            text: text.to_owned(),
            what: "distribution of names",
            example: "uniform, zipf:EXPONENT, or gaussian:SIGMA:VELOCITY:AHEAD as in gaussian:500:0.05:3",
        })
    }
}

units::as_text!(Distribution, "a distribution of names such as \"zipf:1.1\"");

/// Draws places in a worker's part of the range.
#[derive(Debug, Clone)]
pub(crate) enum Places {
    Uniform,
    Zipf(Box<Zipf>, Permutation),
    Gaussian { sigma: f64, velocity: f64, ahead: f64 },
}

impl Places {
    /// The distribution over `len` places, which are every `workers`-th place of all.
    pub(crate) fn new(distribution: Distribution, len: u32, workers: u32, seed: Seed) -> Self {
        match distribution {
            Distribution::Uniform => Self::Uniform,
            Distribution::Zipf { theta } => Self::Zipf(
                Box::new(Zipf::new(u64::from(len), theta)),
                Permutation::new(u64::from(len), seed),
            ),
            // A worker has one in n operations and one in n indices of the load, so that the velocity per operation stays the same.
            Distribution::Gaussian { sigma, velocity, ahead } => {
                Self::Gaussian { sigma: sigma / f64::from(workers), velocity, ahead }
            }
        }
    }

    /// Draws the place of operation number `number`; `creates` tells whether it creates a file.
    #[inline]
    pub(crate) fn draw(
        &self,
        rng: &mut SplitMix64,
        normal: &Ziggurat,
        len: u32,
        number: u64,
        creates: bool,
    ) -> u32 {
        match self {
            Self::Uniform => rng.below(u64::from(len)) as u32,
            Self::Zipf(zipf, order) => order.at(zipf.draw(rng)) as u32,
            Self::Gaussian { sigma, velocity, ahead } => {
                let mean = number as f64 * velocity + if creates { ahead * sigma } else { 0.0 };
                let at = (mean + sigma * normal.draw(rng)).rem_euclid(f64::from(len));
                (at as u32).min(len - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(distribution: &str, len: u32, number: u64, creates: bool) -> Vec<u32> {
        let distribution: Distribution = distribution.parse().unwrap();
        let places = Places::new(distribution, len, 1, Seed(3));
        let (mut rng, normal) = (Seed(1).generator(), Ziggurat::new());
        let mut counts = vec![0; len as usize];
        for _ in 0..100_000 {
            counts[places.draw(&mut rng, &normal, len, number, creates) as usize] += 1;
        }
        counts
    }

    #[test]
    fn laws_are_read_back_and_wrong_ones_refused() {
        for text in ["uniform", "zipf:1.1", "gaussian:500:0.05:3"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        assert_eq!("gaussian:9:1".parse::<Distribution>().unwrap().to_string(), "gaussian:9:1:0");
        for text in
            ["", "zipf", "zipf:0", "zipf:x", "gaussian:1", "gaussian:0:1", "gaussian:1:1:1:1"]
        {
            assert!(
                text.parse::<Distribution>().unwrap_err().to_string().contains("gaussian:"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_most_used_names_of_a_zipf_law_lie_apart() {
        let counts = counted("zipf:1.1", 1000, 0, false);
        let mut hot: Vec<_> = (0..1000).collect();
        hot.sort_by_key(|&at| std::cmp::Reverse(counts[at]));
        assert!(counts[hot[0]] > 10_000 && counts[hot[9]] < 2_500, "{:?}", counts[hot[0]]);
        let tenths: std::collections::BTreeSet<_> = hot[..20].iter().map(|at| at / 100).collect();
        assert!(tenths.len() >= 6, "{hot:?}");
    }

    #[test]
    fn the_mean_moves_by_operations_and_creates_go_ahead_without_moving_it() {
        let mean = |number, creates| {
            let counts = counted("gaussian:20:0.05:3", 1000, number, creates);
            let sum: f64 = counts.iter().enumerate().map(|(at, &n)| at as f64 * f64::from(n)).sum();
            sum / 100_000.0
        };
        assert!((mean(10_000, false) - 500.0).abs() < 1.0);
        assert!((mean(10_000, true) - 560.0).abs() < 1.0);
        assert!((mean(10_000 + 20_000, false) - 500.0).abs() < 1.0, "round once");
    }
}
