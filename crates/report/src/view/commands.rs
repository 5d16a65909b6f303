//! The cells as they ran, with what was done to the machine for each.

use results::model::CellState;
use results::read::{CellData, ResultSet};

use super::{Cell, Step};

/// Returns every cell of the plan in the order of running, except those that were not needed. A cell's steps come from its record, or from the
/// transcript if the cell was cut off.
pub fn cells(set: &ResultSet) -> Vec<Cell> {
    let variants = &set.manifest.plan.variants;
    set.cells
        .iter()
        .filter(|cell| cell.state() != CellState::Skipped)
        .map(|cell| Cell {
            variant: variants.iter().position(|v| v.name == cell.entry.variant),
            name: cell.entry.variant.clone(),
            repeat: cell.entry.repeat,
            state: state(cell.state()).to_owned(),
            disturbed: results::disturbances(cell),
            machine: cell.record.as_ref().and_then(|record| record.machine),
            host: cell.entry.host,
            reason: cell.reason().map(str::to_owned),
            figures: Vec::new(),
            steps: steps(set, cell),
        })
        .collect()
}

/// Returns the word for a state.
fn state(state: CellState) -> &'static str {
    match state {
        CellState::Pending => "not begun",
        CellState::Running => "cut off",
        CellState::Done => "done",
        CellState::Failed => "failed",
        CellState::Interrupted => "interrupted",
        CellState::Skipped => "not needed",
    }
}

fn steps(set: &ResultSet, cell: &CellData) -> Vec<Step> {
    let recorded = cell.record.iter().flat_map(|r| &r.steps).map(|s| Step {
        about: s.about.clone(),
        command: s.command.clone(),
        duration_ns: s.duration_ns,
        error: s.error.clone(),
    });
    let recorded: Vec<_> = recorded.collect();
    if !recorded.is_empty() {
        return recorded;
    }
    let cell_entries = set.transcript.iter().filter(|entry| entry.cell == Some(cell.entry.index));
    cell_entries
        .map(|entry| Step {
            about: entry.about.clone(),
            command: entry.action.clone(),
            duration_ns: entry.duration_ns,
            error: entry.error.clone(),
        })
        .collect()
}
