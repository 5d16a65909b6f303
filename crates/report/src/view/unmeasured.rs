//! Figures that are asked about but were not measured, each with the reason.

use std::collections::BTreeSet;

use results::model::{LoadSummary, NOTHING_MEASURED, StageRecord};
use results::read::ResultSet;

use super::{FigureRow, Of};

/// Returns a sentence for each figure that is asked about and that no run has.
pub fn unmeasured(set: &ResultSet, rows: &[FigureRow]) -> Vec<String> {
    let modelled =
        |row: &&FigureRow| !set.manifest.simulated || analysis::is_simulated(&row.metric);
    let lacking = rows.iter().filter(|row| row.asked && !row.known()).filter(modelled);
    lacking.map(|row| format!("{} of {}: {}", row.label, row.scope.name(), why(set, row))).collect()
}

/// Returns the reason why no run has a figure, as far as the runs tell.
fn why(set: &ResultSet, row: &FigureRow) -> String {
    let stage = row.scope.stage.as_deref();
    match row.scope.of {
        Of::Operation(_) | Of::Load => {
            let reasons: BTreeSet<&str> = measured(set, stage).filter_map(of_load).collect();
            match reasons.first() {
                Some(why) if reasons.len() == 1 => (*why).to_owned(),
                _ => "no run has a value".to_owned(),
            }
        }
        Of::Command if set.manifest.plan.picked_figure(stage, &row.metric).is_some() => {
            "no run printed a number for it".to_owned()
        }
        _ => "no run has a value".to_owned(),
    }
}

/// Returns the measured stages in all runs that ended well: those of that name, if one is given.
fn measured<'a>(
    set: &'a ResultSet,
    name: Option<&'a str>,
) -> impl Iterator<Item = &'a StageRecord> {
    let records = set.cells.iter().filter(|cell| cell.done());
    let stages = records.filter_map(|cell| cell.record.as_ref()).flat_map(|record| &record.stages);
    stages.filter(move |stage| stage.measured && name.is_none_or(|name| stage.name == name))
}

/// Returns the reason that a load gives for having measured nothing.
fn of_load(stage: &StageRecord) -> Option<&str> {
    let LoadSummary { notices, .. } = stage.load.as_ref()?;
    notices.iter().find_map(|notice| notice.strip_prefix(NOTHING_MEASURED))
}
