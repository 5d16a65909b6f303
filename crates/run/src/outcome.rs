//! Outcome of a run, and the exit code that tells it.

use results::model::CellState;

/// Outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    /// Every cell is done, or was not needed.
    Complete,
    /// Some cells failed; what the others measured is kept.
    Incomplete,
    /// Something was left behind and has to be removed by hand.
    TeardownFailed,
    /// The user stopped it; what was measured is kept.
    Interrupted,
}

impl RunOutcome {
    /// Returns the outcome of a run whose cells ended in these states. A failed teardown outweighs all else.
    pub fn of(states: impl IntoIterator<Item = CellState>, left_behind: bool) -> Self {
        let states: Vec<_> = states.into_iter().collect();
        if left_behind {
            Self::TeardownFailed
        } else if states.contains(&CellState::Interrupted) {
            Self::Interrupted
        } else if states.iter().all(|s| matches!(s, CellState::Done | CellState::Skipped)) {
            Self::Complete
        } else {
            Self::Incomplete
        }
    }

    /// The exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Complete => 0,
            Self::Incomplete => 5,
            Self::TeardownFailed => 6,
            Self::Interrupted => 130,
        }
    }

    /// The word that the manifest keeps.
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::TeardownFailed => "teardown_failed",
            Self::Interrupted => "interrupted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_teardown_comes_before_everything_else() {
        let interrupted = [CellState::Done, CellState::Interrupted];
        assert_eq!(RunOutcome::of(interrupted, true).exit_code(), 6);
        assert_eq!(RunOutcome::of(interrupted, false).exit_code(), 130);
        assert_eq!(RunOutcome::of([CellState::Done, CellState::Failed], false).exit_code(), 5);
        assert_eq!(RunOutcome::of([CellState::Done], false).exit_code(), 0);
        assert_eq!(RunOutcome::of([CellState::Done, CellState::Skipped], false).exit_code(), 0);
    }
}
