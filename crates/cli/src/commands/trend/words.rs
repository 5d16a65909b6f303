//! Words for the outcomes of a trend, for results and for the user's own series.

use stats::{LEAST_RESULTS, LevelShift, Trend, Verdict};
use units::{Better, Seed, show::significant};

/// Seed of the tests' random orders, fixed so that the same series always has the same changes.
pub const SEED: Seed = Seed(18);

pub fn changes(trend: &Trend) -> &[LevelShift] {
    if let Trend::Changes(changes) = trend { changes } else { &[] }
}

/// Returns the verdict on a change.
pub fn verdict_of(better: Better, shift: &LevelShift) -> Verdict {
    match (better, shift.by > 0.0) {
        (Better::Neither, _) => Verdict::Differs,
        (Better::Higher, true) | (Better::Lower, false) => Verdict::Better,
        (Better::Higher, false) | (Better::Lower, true) => Verdict::Worse,
    }
}

/// The word of a trend for programs, and the correlation of each value with the previous one where it drifts.
pub fn outcome(trend: &Trend) -> (&'static str, Option<f64>) {
    match trend {
        Trend::TooFew => ("too_few", None),
        Trend::Drifting(follows) => ("drifting", Some(*follows)),
        Trend::Changes(changes) if changes.is_empty() => ("level", None),
        Trend::Changes(_) => ("changed", None),
    }
}

/// Returns how many more values a series of `there` values needs before it can be tested.
pub fn more_needed(there: usize) -> usize {
    LEAST_RESULTS.saturating_sub(there)
}

/// The lines about a trend of `there` values; `changed` puts one change into words.
pub fn lines(trend: &Trend, there: usize, changed: impl Fn(&LevelShift) -> String) -> Vec<String> {
    match trend {
        Trend::TooFew => vec![format!(
            "too few to say anything: {LEAST_RESULTS} are needed, {} more",
            more_needed(there)
        )],
        Trend::Drifting(follows) => vec![format!(
            "drifts: each value follows the previous one (correlation {}), so no point of change can be named",
            significant(*follows, 2)
        )],
        Trend::Changes(changes) if changes.is_empty() => vec!["stays as it is".to_owned()],
        Trend::Changes(changes) => changes.iter().map(changed).collect(),
    }
}
