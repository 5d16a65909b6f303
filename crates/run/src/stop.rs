//! The reasons why a cell stops before its end.

use plan::{Aim, StagePlan};
use results::model::{LoadSummary, VerifyFigures};

/// The reason why a cell stopped before its end.
pub(crate) enum Stop {
    Failed(String),
    /// A fill, or a load of a tree that was to come to rest, ended without reaching its goal.
    NotReached(String),
    Interrupted,
}

/// Returns why the cell has to stop after a load, if it has to: a load that ended too early did not measure what was asked, and one that
/// read other data than was written shows a target that does not work.
pub(crate) fn judge(load: &LoadSummary) -> Option<Stop> {
    let failed =
        (load.ended_by == "errors").then(|| format!("the load failed: {}", failures(load)));
    let wrong = load.verify.as_ref().and_then(VerifyFigures::accusation);
    let reasons: Vec<_> =
        failed.into_iter().chain(wrong).chain(load.incomplete.iter().cloned()).collect();
    match load.ended_by.as_str() {
        "interrupted" => Some(Stop::Interrupted),
        "unsettled" => Some(Stop::NotReached(reasons.join("; "))),
        _ => (!reasons.is_empty()).then(|| Stop::Failed(reasons.join("; "))),
    }
}

/// Returns a message if a layout is incomplete: the stages after it would work on files that are not whole.
pub(crate) fn gaps(stage: &StagePlan, load: &LoadSummary) -> Option<String> {
    let failed = load.operations.values().any(|operation| !operation.errors.is_empty());
    let makes = |aim: &Aim| aim.files.as_ref().is_some_and(|files| files.make);
    (failed && stage.aims.iter().any(makes)).then(|| {
        format!(
            "layout {} is incomplete: {}; give its device more room, or write less",
            stage.name,
            failures(load)
        )
    })
}

/// Lists what failed: `randwrite EIO x 3`.
fn failures(load: &LoadSummary) -> String {
    let kinds = load
        .operations
        .iter()
        .flat_map(|(op, s)| s.errors.iter().map(move |(k, n)| format!("{op} {k} x {n}")));
    kinds.collect::<Vec<_>>().join(", ")
}
