//! Words for the outcomes of a trend, of results and of anybody's series.

use stats::{LEAST_RESULTS, LevelShift, Trend, Verdict};
use units::{Better, Seed, show::significant};

/// Draws the orders of the tests: the same series has the same changes.
pub const SEED: Seed = Seed(18);

pub fn changes(trend: &Trend) -> &[LevelShift] {
    if let Trend::Changes(changes) = trend { changes } else { &[] }
}

/// Tells whether a change is one for the better.
pub fn verdict_of(better: Better, shift: &LevelShift) -> Verdict {
    match (better, shift.by > 0.0) {
        (Better::Neither, _) => Verdict::Differs,
        (Better::Higher, true) | (Better::Lower, false) => Verdict::Better,
        (Better::Higher, false) | (Better::Lower, true) => Verdict::Worse,
    }
}

/// The word of a trend for programs, and how much each follows the one before where it drifts.
pub fn outcome(trend: &Trend) -> (&'static str, Option<f64>) {
    match trend {
        Trend::TooFew => ("too_few", None),
        Trend::Drifting(follows) => ("drifting", Some(*follows)),
        Trend::Changes(changes) if changes.is_empty() => ("level", None),
        Trend::Changes(_) => ("changed", None),
    }
}

/// The number that a series of so many lacks to say anything.
pub fn more_needed(there: usize) -> usize {
    LEAST_RESULTS.saturating_sub(there)
}

/// The lines about a trend of so many values; `changed` tells of one change.
pub fn lines(trend: &Trend, there: usize, changed: impl Fn(&LevelShift) -> String) -> Vec<String> {
    match trend {
        Trend::TooFew => vec![format!(
            "too few to say anything: {LEAST_RESULTS} are needed, {} more",
            more_needed(there)
        )],
        Trend::Drifting(follows) => vec![format!(
            "drifts: each follows the one before (correlation {}), so that no place of a change can be told",
            significant(*follows, 2)
        )],
        Trend::Changes(changes) if changes.is_empty() => vec!["stays as it is".to_owned()],
        Trend::Changes(changes) => changes.iter().map(changed).collect(),
    }
}
