//! The states that layers were brought to before they were measured, with the proof.

use layers::criterion;
use results::read::ResultSet;

/// A criterion of a state in one cell.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StateRow {
    /// The variant, and the repeat.
    pub cell: String,
    /// Name of the stage.
    pub stage: String,
    /// The layer, and the state that it was to be in.
    pub state: String,
    /// The condition that had to hold.
    pub asked: String,
    /// The value that was read.
    pub read: String,
    /// Tells whether it held.
    pub met: bool,
}

/// Returns every criterion of every state, in the order of running.
pub fn states(set: &ResultSet) -> Vec<StateRow> {
    let mut rows = Vec::new();
    for record in set.cells.iter().filter_map(|cell| cell.record.as_ref()) {
        for (stage, figures) in
            record.stages.iter().filter_map(|stage| Some((stage, stage.state.as_ref()?)))
        {
            rows.extend(figures.criteria.iter().map(|judged| StateRow {
                cell: format!("{} r{}", record.variant, record.repeat),
                stage: stage.name.clone(),
                state: format!("{} is {}", figures.layer, figures.state),
                asked: criterion::describe(&judged.criterion),
                read: criterion::found(judged),
                met: judged.met,
            }));
        }
    }
    rows
}
