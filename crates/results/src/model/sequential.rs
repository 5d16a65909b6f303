//! Runs that take as many repeats as are needed: when they are looked at, and why they stopped.

use serde::{Deserialize, Serialize};

/// A run that takes as many repeats as are needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequentialFacts {
    /// After which repeats it is looked at; the last are all. A look that came early because the time was over stands in place of the
    /// next planned one, so that there are never more of them than the error was divided among.
    pub looks: Vec<u32>,
    /// It stops before a repeat that would not end in this time.
    #[serde(default)]
    pub time: Option<units::Nanos>,
}

impl SequentialFacts {
    /// Puts a look after `repeat` in place of the next one. Before the first look nothing can be decided, and nothing is replaced.
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

/// The point at which a run stopped that takes as many repeats as are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedFacts {
    /// The last repeat, from 1.
    pub after: u32,
    /// Why.
    pub why: StopReason,
}

/// Why a run takes no more repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// All that is asked was decided.
    Decided,
    /// There are no more looks.
    Most,
    /// One more repeat would not have ended in time.
    Time,
    /// No question has a value on both sides in any repeat.
    Nothing,
    /// Only percentiles are asked about beyond which too few I/Os of a run lie.
    FewIos,
}

impl StopReason {
    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Decided => "all that is asked is decided",
            Self::Most => "that is the most that were planned, and not all is decided",
            Self::Time => "another repeat would not have ended in the time there was",
            Self::Nothing => "no question has a value on both sides in any repeat",
            Self::FewIos => {
                "too few I/Os of a run lie beyond each percentile that is asked about; let the load do more"
            }
        }
    }
}
