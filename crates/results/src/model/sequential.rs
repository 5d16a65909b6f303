//! Runs that take as many repeats as needed: the looks at their results, and why they stopped.

use serde::{Deserialize, Serialize};

/// A run that takes as many repeats as are needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequentialFacts {
    /// The repeats after which results are looked at; the last is the largest number of repeats. A look that comes early because the time is
    /// over replaces the next planned one, so that there are never more looks than the error was divided among.
    pub looks: Vec<u32>,
    /// The time limit: the run stops before a repeat that would not end in it.
    #[serde(default)]
    pub time: Option<units::Nanos>,
}

impl SequentialFacts {
    /// Replaces the next look by one after `repeat`. Before the first look nothing can be decided, and nothing is replaced.
    pub fn look_after(&mut self, repeat: u32) {
        let first = self.looks.first().copied().unwrap_or_default();
        if repeat > first
            && !self.looks.contains(&repeat)
            && let Some(next) = self.looks.iter_mut().find(|look| **look > repeat)
        {
            *next = repeat;
        }
    }
}

/// The point at which a run that takes as many repeats as needed stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedFacts {
    /// The last repeat, from 1.
    pub after: u32,
    /// The reason.
    pub why: StopReason,
}

/// The reason why a run takes no more repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// All questions were decided.
    Decided,
    /// The last planned look is over.
    Most,
    /// One more repeat would not have ended in time.
    Time,
    /// No question has a value on both sides in any repeat.
    Nothing,
    /// All questions are about percentiles with too few I/Os of a run beyond them.
    FewIos,
}

impl StopReason {
    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Decided => "all that is asked is decided",
            Self::Most => "the planned maximum, and not everything is decided",
            Self::Time => "another repeat would have exceeded the time limit",
            Self::Nothing => "no question has a value on both sides in any repeat",
            Self::FewIos => {
                "too few I/Os of a run lie beyond each percentile that is asked about; let the load do more"
            }
        }
    }
}
