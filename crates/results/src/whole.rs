//! Checks finished cells against their plan, and finds what is missing: checks of the result cannot look at missing parts.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::{CellRecord, LayerFacts, LoadSummary, Manifest, Row, StageFacts, StageRecord};
use crate::transcript::TranscriptEntry;
use crate::writer::{CELL_RECORD, ROWS, TRANSCRIPT};

/// Marks for which every probe of a cell has a sample.
const MARKS: [&str; 2] = ["allocated", "settled"];

/// The most missing parts of a result that are listed.
const LISTED: usize = 4;

/// Parts missing from finished cells: each part once, with the first cell that lacks it and the number of cells that do.
#[derive(Default)]
pub(crate) struct Lacks(Vec<(String, String, usize)>);

impl Lacks {
    pub(crate) fn add(&mut self, what: String, place: &str) {
        match self.0.iter_mut().find(|(known, ..)| *known == what) {
            Some((.., places)) => *places += 1,
            None => self.0.push((what, place.to_owned(), 1)),
        }
    }

    /// Returns all of them as part of a sentence.
    pub(crate) fn text(&self) -> Option<String> {
        let one = |(what, first, places): &(String, String, usize)| match places - 1 {
            0 => format!("{what} ({first})"),
            n => format!("{what} ({first} and {n} more)"),
        };
        let (listed, others) = self.0.split_at(self.0.len().min(LISTED));
        let mut list: Vec<String> = listed.iter().map(one).collect();
        if !others.is_empty() {
            list.push(format!("and {} more", others.len()));
        }
        let all = list.join(", ");
        (!list.is_empty())
            .then(|| format!("parts are missing, so that they could not be checked: {all}"))
    }
}

/// Lists the planned parts that a finished cell lacks, in words. Without `rows`, which is `None` where some were lost, rows are not checked.
pub(crate) fn lacking(
    manifest: &Manifest,
    record: &CellRecord,
    rows: Option<&[Row]>,
    transcript: &[TranscriptEntry],
) -> Vec<String> {
    let variant = manifest.plan.variants.iter().find(|one| one.name == record.variant);
    let stages: Vec<_> = variant.into_iter().flat_map(|one| &one.stages).collect();
    let mut lacks: Vec<String> = stages.iter().filter_map(|one| of_stage(one, record)).collect();
    let mut of_record = |lacks_it: bool, what: &str| {
        if lacks_it {
            lacks.push(format!("{CELL_RECORD} has no {what}"));
        }
    };
    of_record(record.steps.is_empty(), "steps");
    of_record(record.leftovers.is_none(), "answer to what teardown left behind");
    // A comparison of engines has no plan of cells, because other programs ran.
    let Some(plan) = manifest.plan_document["cells"].get(record.index) else { return lacks };
    // Earlier versions, which did not record the run's id, did not watch the machine, and recorded fewer facts.
    let real = record.run_id.is_some() && !manifest.simulated;
    of_record(real && record.machine.is_none(), "load of the machine");
    of_record(real && record.facts.is_empty(), "facts of layers and devices");
    for LayerFacts { layer, name, .. } in variant.into_iter().flat_map(|one| &one.stack) {
        let of_cell = layer == "device" || record.layers.contains_key(name);
        let has_figures = |stage: &StageRecord| !stage.measured || stage.layers.contains_key(name);
        // Nor did they record the layers and devices of each stage.
        let of_stages = record.run_id.is_none() || record.stages.iter().all(has_figures);
        of_record(!(of_cell && of_stages), &format!("figures of {name}"));
    }
    if let Some(rows) = rows {
        lacks.extend(of_rows(record, rows, &plan["probes"]));
    }
    if !transcript.iter().any(|entry| entry.cell == Some(record.index)) {
        lacks.push(format!("{TRANSCRIPT} has no line of it"));
    }
    lacks
}

/// Finds the layers' figures that a record lacks although `others`, the records of the other cells of its variant, have them. A figure that is
/// `null` counts as present. Nothing is reported where another version may have continued the run, as it may know more figures.
pub(crate) fn fewer_figures(
    manifest: &Manifest,
    record: &CellRecord,
    others: &[&CellRecord],
) -> Vec<String> {
    let mut lacks = Vec::new();
    let began = Some(&manifest.tool_version);
    if manifest.resumed.iter().any(|resumed| resumed.tool_version.as_ref() != began) {
        return lacks;
    }
    // Earlier versions did not always record figures per stage.
    for stage in record.stages.iter().filter(|stage| stage.measured && record.run_id.is_some()) {
        let same =
            || others.iter().flat_map(|other| &other.stages).filter(|one| one.index == stage.index);
        for (name, figures) in &stage.layers {
            let there = same().filter_map(|one| one.layers.get(name));
            let known: BTreeSet<&String> = there.flat_map(|figures| figures.keys()).collect();
            let lost = known.iter().filter(|metric| !figures.contains_key(**metric)).count();
            if lost > 0 {
                let all = known.len();
                let stage = &stage.name;
                lacks.push(format!(
                    "{CELL_RECORD} has {} of {all} figures of {name} in stage '{stage}'",
                    all - lost
                ));
            }
        }
    }
    lacks
}

/// Tells whether a stage in a record matches a planned one.
pub(crate) fn is_planned(planned: &StageFacts, stage: &StageRecord) -> bool {
    (&planned.kind, &planned.name, planned.measured) == (&stage.kind, &stage.name, stage.measured)
}

/// Returns the part of a planned stage that the record lacks, in words; `None` where it has all.
fn of_stage(planned: &StageFacts, record: &CellRecord) -> Option<String> {
    let name = &planned.name;
    let Some(stage) = record.stages.iter().find(|stage| is_planned(planned, stage)) else {
        return Some(format!("{CELL_RECORD} has no stage '{name}'"));
    };
    // A stage that did not come to its end, because the machine was meant to crash during it, has no figures.
    if stage.error.is_some() {
        return None;
    }
    let done = |load: &LoadSummary| !load.operations.is_empty();
    let what = if !planned.load.is_null() && !stage.load.as_ref().is_some_and(done) {
        "figures of its load"
    } else if !planned.rounds.is_null() && stage.fill.is_none() {
        "figures of its fill"
    } else if planned.synced.is_some() && stage.command.is_none() {
        "figures of its command"
    } else {
        return None;
    };
    Some(format!("stage '{name}' in {CELL_RECORD} has no {what}"))
}

/// Lists missing rows: edges and intervals of the stages in the record, and samples of each probe at the two ends of the measured part.
fn of_rows(record: &CellRecord, rows: &[Row], probes: &Value) -> Vec<String> {
    let mut lacks = Vec::new();
    for StageRecord { index, name, load, .. } in &record.stages {
        let edge = |row: &Row| matches!(row, Row::Stage(edge) if edge.stage == *index);
        let interval = |row: &Row| matches!(row, Row::Interval(row) if row.stage == *index);
        let ios = load.as_ref().map_or(0, |load| load.operations.values().map(|o| o.ios).sum());
        if rows.iter().filter(|row| edge(row)).count() != 2 {
            lacks.push(format!("{ROWS} does not tell where stage '{name}' began and ended"));
        } else if ios > 0 && !rows.iter().any(interval) {
            lacks.push(format!("{ROWS} has no intervals of stage '{name}'"));
        }
    }
    let probes = probes.as_array().into_iter().flatten();
    for probe in probes.filter_map(|probe| probe["id"].as_str()) {
        let marked = |mark: &str| {
            rows.iter().any(|row| {
                matches!(row, Row::Sample(one) if one.source == probe && one.mark.as_deref() == Some(mark))
            })
        };
        if !MARKS.into_iter().all(marked) {
            lacks.push(format!(
                "{ROWS} has no samples of {probe} at the two ends of the measured part"
            ));
        }
    }
    lacks
}
