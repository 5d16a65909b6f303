//! The verdict on a comparison.

use serde::{Deserialize, Serialize};
use units::Better;

/// Fewest repeats for a verdict: with four per side, not even complete separation is significant for two questions.
pub const LEAST_REPEATS: usize = 5;

/// The result of a comparison in one metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The new side is better, by more than the threshold.
    Better,
    /// The new side is worse, by more than the threshold.
    Worse,
    /// The two sides differ by less than the threshold. This too is a proven claim, not a lack of proof.
    Same,
    /// They differ by more than the threshold, in a figure for which neither more nor less is good.
    Differs,
    /// These repeats do not decide the question.
    Unclear,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 5] =
        [Self::Better, Self::Worse, Self::Same, Self::Differs, Self::Unclear];

    /// The word as it is written in reports and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Differs => "differs",
            Self::Unclear => "unclear",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.pad(self.word())
    }
}

/// The claim that figures point to, which a test then confirms or leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The difference lies above the zone of differences that do not matter.
    More,
    /// It lies below that zone.
    Less,
    /// It lies within that zone.
    Within,
}

impl Claim {
    /// Returns the claim that an estimate points to; the zone includes its borders.
    pub(crate) fn of(estimate: f64, (low, high): (f64, f64)) -> Self {
        if estimate > high {
            Self::More
        } else if estimate < low {
            Self::Less
        } else {
            Self::Within
        }
    }
}

/// The word for a claim that stands.
pub(crate) fn word(claim: Claim, better: Better) -> Verdict {
    match (claim, better) {
        (Claim::Within, _) => Verdict::Same,
        (Claim::More, Better::Higher) | (Claim::Less, Better::Lower) => Verdict::Better,
        (Claim::More, Better::Lower) | (Claim::Less, Better::Higher) => Verdict::Worse,
        (_, Better::Neither) => Verdict::Differs,
    }
}

/// Returns the largest share of runs, percent, that may behave differently although none of `runs` did, with 95 % confidence: the p for which
/// (1 - p)^n is 0.05 (Hanley and Lippman-Hand 1983). No test can notice a kind of run that has not occurred yet.
pub fn unseen_percent(runs: usize) -> f64 {
    100.0 * (1.0 - 0.05_f64.powf(1.0 / runs.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_on_the_border_does_not_matter() {
        assert_eq!(Claim::of(1.03, (0.97, 1.03)), Claim::Within);
        assert_eq!(Claim::of(1.04, (0.97, 1.03)), Claim::More);
        assert_eq!(Claim::of(0.96, (0.97, 1.03)), Claim::Less);
    }

    #[test]
    fn few_quiet_runs_leave_many_bad_ones_possible() {
        for (runs, percent) in [(5, 45.1), (12, 22.1), (27, 10.5)] {
            assert!((unseen_percent(runs) - percent).abs() < 0.05, "{runs}");
        }
    }

    #[test]
    fn words_are_written_in_small_letters() {
        assert_eq!(serde_json::to_string(&Verdict::Unclear).unwrap(), "\"unclear\"");
        assert_eq!(Verdict::Same.to_string(), "same");
    }
}
