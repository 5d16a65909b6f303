//! A bisection as a page shows it: the list with every measurement.

use stats::bisect::{Pair, Reading};
use units::Unit;

/// A bisection.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisected {
    /// The experiment's name.
    pub experiment: String,
    /// The outcome in a sentence.
    pub outcome: String,
    /// The figure, by its label.
    pub figure: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Tells whether it was simulated, so that no figure is real.
    pub simulated: bool,
    /// The ratio to the good one beyond which a candidate is bad; `None` until the ends are known to differ.
    pub border: Option<f64>,
    /// All entries of the list, in the order of the file.
    pub rungs: Vec<BisectedRung>,
    /// Notes, each in a sentence.
    pub notes: Vec<String>,
}

/// One entry of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectedRung {
    /// Its name.
    pub name: String,
    /// The role of the entry: an end, or the result of the search.
    pub role: Option<&'static str>,
    /// Tells whether it is the result of the search, or one of several candidates for that.
    pub named: bool,
    /// Its comparison with the good end; `None` if it was not measured.
    pub measured: Option<BisectedStep>,
}

/// The measurement of one entry of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectedStep {
    /// The position of this measurement in time, from 1.
    pub place: usize,
    /// The evaluation of its pairs.
    pub reading: Reading,
    /// The decision in one word.
    pub word: &'static str,
    /// All pairs, in order: the good end's value first.
    pub pairs: Vec<Pair>,
    /// Names of its results.
    pub results: Vec<String>,
}

impl BisectedStep {
    /// Returns the ratios of all pairs that have one.
    pub fn ratios(&self) -> impl Iterator<Item = f64> {
        let ratio = |(good, other): &(f64, f64)| other / good;
        self.pairs.iter().flatten().map(ratio).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
    }
}
