//! Progress of a run that is still writing its result.

use crate::model::{CellState, Manifest};

/// Returns the progress of a run, given the states of its cells: `cell 4 of 10 is running (vdo, repeat 2); begun 2026-11-27T04:36:54Z`.
pub(crate) fn progress(manifest: &Manifest, states: &[CellState]) -> String {
    let all = states.iter().filter(|state| **state != CellState::Skipped).count();
    let each = || manifest.cells.iter().zip(states);
    let at = match each().find(|(_, state)| **state == CellState::Running) {
        Some((cell, _)) => format!(
            "cell {} of {all} is running ({}, repeat {})",
            cell.index + 1,
            cell.variant,
            cell.repeat
        ),
        None => {
            let ended = states.iter().filter(|state| state.is_final()).count();
            format!("{ended} of {all} cells have ended, and none is running at the moment")
        }
    };
    let since = manifest.resumed.last().map_or(&manifest.started_utc, |again| &again.started_utc);
    format!("{at}; begun {since}")
}
