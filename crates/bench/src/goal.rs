//! Goals, and the verdicts on whether they were reached.

use serde::{Deserialize, Serialize};
use stats::Figure;

use crate::case::Case;
use crate::target::{Target, TargetKind};

/// An interval of a ratio that is wider than this share of its median decides nothing "within noise".
const WIDEST: f64 = 0.3;

/// The bound on a figure, or on its ratio to a peer's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// The whole interval is at most this.
    AtMost(f64),
    /// The whole interval is at least this.
    AtLeast(f64),
    /// The interval does not lie wholly above this.
    NotAbove(f64),
    /// The interval does not lie wholly below this.
    NotBelow(f64),
}

/// The verdict on a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalVerdict {
    /// The interval says yes.
    Reached,
    /// The interval says no.
    NotReached,
    /// The interval says no, and so does that of the floor: the same calls alone miss the goal, too.
    BeyondFloor,
    /// The interval crosses the goal, is too wide to decide, or does not exist.
    Undecided,
}

impl GoalVerdict {
    /// Returns the words that are printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::Reached => "reached",
            Self::NotReached => "NOT reached",
            Self::BeyondFloor => "NOT reached, beyond the floor",
            Self::Undecided => "undecided",
        }
    }
}

impl Goal {
    /// Returns it as it is printed: `<= 0.3`.
    pub fn text(self) -> String {
        match self {
            Self::AtMost(limit) => format!("<= {limit}"),
            Self::AtLeast(limit) => format!(">= {limit}"),
            Self::NotAbove(limit) => format!("<= {limit} within noise"),
            Self::NotBelow(limit) => format!(">= {limit} within noise"),
        }
    }

    /// Tells whether `figure` reaches it.
    pub fn judge(self, figure: &Figure) -> GoalVerdict {
        let (Some(median), Some(interval)) = (figure.median, figure.interval()) else {
            return GoalVerdict::Undecided;
        };
        let (yes, no) = match self {
            Self::AtMost(limit) => (interval.high <= limit, interval.low > limit),
            Self::AtLeast(limit) => (interval.low >= limit, interval.high < limit),
            Self::NotAbove(limit) => (interval.low <= limit, interval.low > limit),
            Self::NotBelow(limit) => (interval.high >= limit, interval.high < limit),
        };
        // "Within noise" must not excuse everything: noise that hides any difference proves nothing. An interval that
        // lies on the good side as a whole needs no such care.
        let wide = interval.high - interval.low > WIDEST * median;
        let good = match self {
            Self::AtMost(_) | Self::AtLeast(_) => true,
            Self::NotAbove(limit) => interval.high <= limit,
            Self::NotBelow(limit) => interval.low >= limit,
        };
        match (yes, no) {
            (true, _) if good || !wide => GoalVerdict::Reached,
            (_, true) => GoalVerdict::NotReached,
            _ => GoalVerdict::Undecided,
        }
    }
}

impl Goal {
    /// Returns `word`, or [`GoalVerdict::BeyondFloor`] where this goal was not reached and cannot be: the whole interval of `floor`, the ratio of the
    /// CPU time of the same calls alone to fio's, misses it. `ours` is the ratio of our CPU time to that of the calls; a floor that ours lies wholly
    /// below does not count.
    ///
    /// What was reached or is undecided stays so.
    pub fn above_floor(self, word: GoalVerdict, ours: &Figure, floor: &Figure) -> GoalVerdict {
        let (Self::AtMost(limit), GoalVerdict::NotReached) = (self, word) else { return word };
        let (Some(ours), Some(floor)) = (ours.interval(), floor.interval()) else { return word };
        if floor.low > limit && ours.high >= 1.0 { GoalVerdict::BeyondFloor } else { word }
    }
}

/// A goal, and what was found.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// Unit of its figures: `B/s`, `points`, or nothing for a ratio.
    pub unit: &'static str,
    /// The goal.
    pub goal: Goal,
    /// The figure that was measured.
    pub found: Summary,
    /// The verdict on the goal.
    pub word: GoalVerdict,
}

impl Judged {
    /// Judges what was found.
    pub fn new(name: impl Into<String>, unit: &'static str, goal: Goal, found: Figure) -> Self {
        Self { name: name.into(), unit, goal, word: goal.judge(&found), found: found.into() }
    }
}

/// A median over repeats with its 95 % interval.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Summary {
    /// The median.
    pub median: Option<f64>,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

impl From<Figure> for Summary {
    fn from(figure: Figure) -> Self {
        Self { median: figure.median, low: figure.low, high: figure.high }
    }
}

/// The goal of the CPU time per I/O, and of the IOPS where there is one.
pub fn goals(case: &Case, target: &Target) -> (Goal, Option<Goal>) {
    match target.kind {
        TargetKind::Null => (Goal::AtMost(0.3), None),
        _ if target.later && case.depth < 32 => (Goal::NotAbove(1.0), Some(Goal::NotBelow(1.0))),
        _ => (Goal::AtMost(0.7), Some(Goal::NotBelow(1.0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(values: &[f64]) -> Figure {
        stats::figure(values)
    }

    #[test]
    fn an_interval_that_crosses_the_goal_decides_nothing() {
        let goal = Goal::AtMost(0.7);
        assert_eq!(goal.judge(&figure(&[0.5, 0.6, 0.65])), GoalVerdict::Reached);
        assert_eq!(goal.judge(&figure(&[0.8, 0.75, 0.9])), GoalVerdict::NotReached);
        assert_eq!(goal.judge(&figure(&[0.65, 0.69, 0.75])), GoalVerdict::Undecided);
        assert_eq!(goal.judge(&figure(&[0.5])), GoalVerdict::Undecided);
        assert_eq!(goal.judge(&figure(&[])), GoalVerdict::Undecided);
        let goal = Goal::AtLeast(2.5);
        assert_eq!(goal.judge(&figure(&[2.6, 2.7, 2.55])), GoalVerdict::Reached);
        assert_eq!(goal.judge(&figure(&[2.4, 2.3, 2.45])), GoalVerdict::NotReached);
        assert_eq!(goal.judge(&figure(&[2.4, 2.6, 2.7])), GoalVerdict::Undecided);
    }

    #[test]
    fn within_noise_means_that_the_noise_is_small() {
        let goal = Goal::NotBelow(1.0);
        assert_eq!(goal.judge(&figure(&[0.97, 0.99, 1.01])), GoalVerdict::Reached);
        assert_eq!(goal.judge(&figure(&[0.5, 0.99, 1.5])), GoalVerdict::Undecided);
        assert_eq!(goal.judge(&figure(&[1.2, 1.8, 2.5])), GoalVerdict::Reached);
        assert_eq!(goal.judge(&figure(&[0.90, 0.95, 0.97])), GoalVerdict::NotReached);
        let goal = Goal::NotAbove(1.0);
        assert_eq!(goal.judge(&figure(&[1.02, 0.99, 1.05])), GoalVerdict::Reached);
        assert_eq!(goal.judge(&figure(&[1.02, 1.04, 1.05])), GoalVerdict::NotReached);
        assert_eq!(goal.judge(&figure(&[0.9, 1.6, 2.0])), GoalVerdict::Undecided);
    }

    #[test]
    fn a_floor_explains_a_goal_that_was_missed_only_when_its_whole_interval_misses_it_too() {
        let goal = Goal::AtMost(0.7);
        let above = figure(&[1.05, 1.1, 1.12]);
        let word = |word, floor: &[f64]| goal.above_floor(word, &above, &figure(floor));
        let (misses, crosses) = ([0.72, 0.75, 0.8], [0.69, 0.75, 0.8]);
        assert_eq!(word(GoalVerdict::NotReached, &misses), GoalVerdict::BeyondFloor);
        assert_eq!(word(GoalVerdict::NotReached, &crosses), GoalVerdict::NotReached);
        assert_eq!(
            word(GoalVerdict::NotReached, &[0.8]),
            GoalVerdict::NotReached,
            "one run has no interval"
        );
        for decided in [GoalVerdict::Reached, GoalVerdict::Undecided] {
            assert_eq!(word(decided, &misses), decided);
        }
        let below = figure(&[0.9, 0.95, 0.97]);
        let missed = GoalVerdict::NotReached;
        assert_eq!(goal.above_floor(missed, &below, &figure(&misses)), missed);
        let noise = Goal::NotAbove(1.0);
        assert_eq!(noise.above_floor(missed, &above, &figure(&[1.1, 1.2, 1.3])), missed);
    }
}
