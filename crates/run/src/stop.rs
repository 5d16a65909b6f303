//! Why a cell stops before its end.

use results::model::{LoadSummary, VerifyFigures};

/// Why a cell stopped before its end.
pub(crate) enum Stop {
    Failed(String),
    /// A fill has come to its end, and the layer is not as it was to be.
    NotReached(String),
    Interrupted,
}

/// A load that ended too early is no measurement of what was asked, and one that read other data than was written is none
/// of a target that works.
pub(crate) fn judge(load: &LoadSummary) -> Option<Stop> {
    let failed = (load.ended_by == "errors").then(|| {
        let kinds: Vec<_> = load
            .operations
            .iter()
            .flat_map(|(op, s)| s.errors.iter().map(move |(k, n)| format!("{op} {k} x {n}")))
            .collect();
        format!("the load failed: {}", kinds.join(", "))
    });
    let wrong = load.verify.as_ref().and_then(VerifyFigures::accusation);
    let reasons: Vec<_> =
        failed.into_iter().chain(wrong).chain(load.incomplete.iter().cloned()).collect();
    match load.ended_by.as_str() {
        "interrupted" => Some(Stop::Interrupted),
        _ => (!reasons.is_empty()).then(|| Stop::Failed(reasons.join("; "))),
    }
}
