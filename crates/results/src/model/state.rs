//! A state that a stage brings a layer to, and the criteria that prove it.

use serde::{Deserialize, Serialize};

/// A requirement on a figure: a bound for its value, or for its change from one reading to the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// The value is at least this.
    BeAtLeast(f64),
    /// The value is at most this.
    BeAtMost(f64),
    /// The value over the last round is above 0.
    Grow,
    /// The value over the last round differs from that over the round before by at most this many percent.
    StayWithin(f64),
}

impl Requirement {
    /// Tells whether `value` meets the requirement; `before` is the value read a round earlier.
    pub fn is_met(self, before: Option<f64>, value: Option<f64>) -> bool {
        let Some(value) = value else { return false };
        match self {
            Self::BeAtLeast(least) => value >= least,
            Self::BeAtMost(most) => value <= most,
            Self::Grow => value > 0.0,
            Self::StayWithin(percent) => before
                .is_some_and(|before| (value - before).abs() <= before.abs() * percent / 100.0),
        }
    }

    /// Tells whether it concerns only the last round, not the whole time since the stage began.
    pub fn is_of_a_round(self) -> bool {
        matches!(self, Self::Grow | Self::StayWithin(_))
    }
}

/// One condition that a layer, or a device below it, must meet in some state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// Name of the layer or the device.
    pub layer: String,
    /// The metric.
    pub metric: String,
    /// The requirement on the metric.
    pub must: Requirement,
}

/// A criterion, and the values that were read for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CriterionResult {
    /// The criterion.
    #[serde(flatten)]
    pub criterion: Criterion,
    /// The value that was read a round earlier, if there was one.
    pub before: Option<f64>,
    /// The value that was read last; `None` where none was reported.
    pub value: Option<f64>,
    /// Tells whether it holds.
    pub met: bool,
}

/// The outcome of a stage that had to bring a layer to a state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StateFigures {
    /// Name of the layer.
    pub layer: String,
    /// The state (`steady`).
    pub state: String,
    /// Tells whether all criteria are met.
    pub reached: bool,
    /// The criteria of the state with the values that were read.
    pub criteria: Vec<CriterionResult>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_told_meets_nothing() {
        for must in [
            Requirement::BeAtLeast(0.0),
            Requirement::BeAtMost(9.0),
            Requirement::Grow,
            Requirement::StayWithin(10.0),
        ] {
            assert!(!must.is_met(Some(1.0), None), "{must:?}");
        }
    }

    #[test]
    fn a_figure_that_has_to_stay_is_held_against_the_round_before() {
        let stays = |before, value| Requirement::StayWithin(10.0).is_met(before, Some(value));
        assert!(stays(Some(100.0), 110.0) && stays(Some(100.0), 90.0) && stays(Some(0.0), 0.0));
        assert!(!stays(Some(100.0), 111.0) && !stays(None, 100.0) && !stays(Some(0.0), 1.0));
    }

    #[test]
    fn bounds_belong_to_what_is_allowed() {
        assert!(Requirement::BeAtLeast(50.0).is_met(None, Some(50.0)));
        assert!(Requirement::BeAtMost(0.0).is_met(None, Some(0.0)));
        assert!(!Requirement::Grow.is_met(Some(-1.0), Some(0.0)));
    }
}
