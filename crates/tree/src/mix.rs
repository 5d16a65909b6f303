//! The mix: operations and their weights.

use units::QuantityError;

use crate::{TreeError, TreeOp};

/// The largest weight.
const LARGEST: f64 = 1e9;

/// Operations and their weights, in the order in which they were written. Only their proportions count; an operation with weight 0 never runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mix(Vec<(TreeOp, f64)>);

impl Mix {
    /// A mix of these weights.
    pub fn new(weights: impl IntoIterator<Item = (TreeOp, f64)>) -> Self {
        Self(weights.into_iter().collect())
    }

    /// The operations and their weights, in order.
    pub fn weights(&self) -> impl Iterator<Item = (TreeOp, f64)> + '_ {
        self.0.iter().copied()
    }

    /// The share of an operation among all operations, 0 to 1.
    pub fn share(&self, op: TreeOp) -> f64 {
        let weight: f64 = self.weights().filter(|(other, _)| *other == op).map(|(_, w)| w).sum();
        weight / self.0.iter().map(|(_, weight)| weight).sum::<f64>()
    }

    /// Tells whether an operation ever runs.
    pub fn has(&self, op: TreeOp) -> bool {
        self.weights().any(|(other, weight)| other == op && weight > 0.0)
    }

    /// Checks that the weights can be: none of them so large that their sum is none.
    pub(crate) fn validate(&self) -> Result<(), TreeError> {
        let help =
            "write operations with weights up to a billion, as in create=40,randread=40,delete=20";
        let error = |message: String| Err(TreeError::new("ops", message, help));
        for (at, (op, weight)) in self.0.iter().enumerate() {
            if !(0.0..=LARGEST).contains(weight) {
                return error(format!("the weight of {op} cannot be {weight}"));
            }
            if self.0[..at].iter().any(|(other, _)| other == op) {
                return error(format!("{op} is given twice"));
            }
        }
        match self.0.iter().any(|(_, weight)| *weight > 0.0) {
            true => Ok(()),
            false => error("no operation has a weight above 0".into()),
        }
    }
}

impl std::fmt::Display for Mix {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        for (i, (op, weight)) in self.0.iter().enumerate() {
            write!(f, "{}{op}={weight}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Mix {
    type Err = QuantityError;

    /// Reads `create=40,randread=40,delete=20`. [`crate::TreeSpec::validate`] checks the values.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || QuantityError {
            text: text.to_owned(),
            what: "mix of operations on a tree",
            example: "operations with weights, as in create=40,randread=40,delete=20",
        };
        let pair = |part: &str| {
            let (name, weight) = part.split_once('=').ok_or_else(error)?;
            Ok((name.parse()?, weight.trim().parse().map_err(|_| error())?))
        };
        text.split(',').map(pair).collect::<Result<_, _>>().map(Self)
    }
}

units::as_text!(Mix, "weights of operations such as \"create=40,randread=40,delete=20\"");

/// Draws operations by their weights.
#[derive(Debug, Clone)]
pub(crate) struct Chooser {
    ops: Box<[TreeOp]>,
    /// For each operation but the last, the bound below which a random number chooses it or one before it.
    bounds: Box<[u64]>,
}

impl Chooser {
    /// A chooser for a valid mix.
    pub(crate) fn new(mix: &Mix) -> Self {
        let drawn: Vec<_> = mix.weights().filter(|(_, weight)| *weight > 0.0).collect();
        let total: f64 = drawn.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        let bounds = drawn[..drawn.len().saturating_sub(1)].iter().map(|(_, weight)| {
            sum += weight;
            // The conversion saturates.
            (sum / total * u64::MAX as f64) as u64
        });
        let bounds = bounds.collect();
        Self { ops: drawn.into_iter().map(|(op, _)| op).collect(), bounds }
    }

    /// The operation that a random number chooses.
    #[inline]
    pub(crate) fn choose(&self, random: u64) -> TreeOp {
        self.ops[self.bounds.iter().filter(|bound| random >= **bound).count()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_shares_and_0_never_runs() {
        let mix: Mix = "read=0,create=3,delete=0,random_read=1,stat=0".parse().unwrap();
        mix.validate().unwrap();
        assert_eq!(mix.share(TreeOp::Create), 0.75);
        let chooser = Chooser::new(&mix);
        let mut rng = units::Seed(1).generator();
        let mut counts = std::collections::BTreeMap::new();
        (0..100_000).for_each(|_| *counts.entry(chooser.choose(rng.next_u64())).or_insert(0) += 1);
        assert_eq!(counts.len(), 2, "{counts:?}");
        assert!((74_000..76_000).contains(&counts[&TreeOp::Create]), "{counts:?}");
        assert_eq!(
            (chooser.choose(0), chooser.choose(u64::MAX)),
            (TreeOp::Create, TreeOp::Randread)
        );
        assert_eq!(mix.to_string().parse(), Ok(mix));
    }

    #[test]
    fn refuses_what_is_no_mix_and_says_how_to_write_one() {
        for text in ["", "create", "create=x", "fly=1", "create=1,"] {
            assert!(text.parse::<Mix>().is_err(), "{text}");
        }
        for text in ["create=0", "create=-1", "create=1,create=2", "create=inf", "create=NaN"] {
            let error = text.parse::<Mix>().unwrap().validate().unwrap_err();
            assert!(error.help.contains("create=40"), "{text}: {error}");
        }
    }
}
