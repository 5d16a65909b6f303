//! Why a cell stops before its end.

use plan::{Aim, StagePlan};
use results::model::{LoadSummary, VerifyFigures};

/// Why a cell stopped before its end.
pub(crate) enum Stop {
    Failed(String),
    /// A fill, or a load of a tree that was to come to rest, has come to its end, and what it is for was not reached.
    NotReached(String),
    Interrupted,
}

/// A load that ended too early is no measurement of what was asked, and one that read other data than was written is none
/// of a target that works.
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

/// Returns what a layout left unwritten: the stages after it would work on files that are not there as a whole.
pub(crate) fn gaps(stage: &StagePlan, load: &LoadSummary) -> Option<String> {
    let failed = load.operations.values().any(|operation| !operation.errors.is_empty());
    let makes = |aim: &Aim| aim.files.as_ref().is_some_and(|files| files.make);
    (failed && stage.aims.iter().any(makes)).then(|| {
        format!(
            "layout {} is not whole: {}; give its device more room, or write less",
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
