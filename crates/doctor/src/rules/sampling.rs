//! Rules about sampling: what it cost, and whether it worked.

use std::collections::BTreeMap;

use analysis::Analysis;
use results::model::{Finding, Row, SampleRow, Severity, StageRecord};
use results::read::{CellData, ResultSet};
use units::show;

/// Share of one CPU, percent, above which sampling takes from what is measured.
pub(crate) const AFFORDABLE_PERCENT: f64 = 1.0;

fn samples(cell: &CellData) -> impl Iterator<Item = &SampleRow> {
    cell.rows.iter().filter_map(|row| match row {
        Row::Sample(sample) => Some(sample),
        _ => None,
    })
}

/// Beginning of the names of sources that belong to no layer.
const OF_THE_MACHINE: &str = "machine.";

/// Tells whether a sample could not be read because Fathom itself took the layer down and up again during a stage. Samples with a mark are read while
/// the layer is up.
fn is_down(cell: &CellData, sample: &SampleRow) -> bool {
    let known = sample.mark.is_some() || sample.source.starts_with(OF_THE_MACHINE);
    let read_ns = sample.at_ns.saturating_add(sample.cost_ns);
    let stages = cell.record.iter().flat_map(|record| &record.stages);
    let mut stages = stages.filter(|stage| stage.traits().down);
    let during = |stage: &StageRecord| {
        read_ns >= stage.start_ns && stage.end_ns.is_none_or(|end_ns| sample.at_ns <= end_ns)
    };
    sample.error.is_some() && !known && stages.any(during)
}

/// Samples could not be read.
pub(crate) fn failed(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    // A simulated layer has no samples of what it does not model.
    if result.manifest.simulated {
        return Vec::new();
    }
    let mut sources: BTreeMap<&str, (usize, usize, &str)> = BTreeMap::new();
    let expected = |cell| samples(cell).filter(move |sample| !is_down(cell, sample));
    for sample in result.cells.iter().flat_map(expected) {
        let (all, failed, first) = sources.entry(&sample.source).or_default();
        *all += 1;
        if let Some(error) = &sample.error {
            *failed += 1;
            if first.is_empty() {
                *first = error;
            }
        }
    }
    let finding = |(source, (all, failed, first)): (&str, (usize, usize, &str))| {
        Finding {
        rule: "samples_failed".into(),
        severity: Severity::Warning,
        subject: Some(source.to_owned()),
        message: format!("{failed} of {all} samples of {source} could not be read."),
        evidence: format!("The first said: {first}"),
        remedy: "Figures and charts of this source have gaps there; see the layer's manual page for what \
                 the source needs."
            .into(),
        ..Finding::default()
    }
    };
    sources.into_iter().filter(|(_, (_, failed, _))| *failed > 0).map(finding).collect()
}

/// Sampling took CPU time that the load could have had.
pub(crate) fn expensive(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut measured_ns = 0;
    let mut cost_ns: BTreeMap<&str, u64> = BTreeMap::new();
    for cell in &result.cells {
        let stages = cell.record.iter().flat_map(|record| &record.stages);
        let windows: Vec<(u64, u64)> = stages
            .filter(|stage| stage.measured)
            .filter_map(|stage| Some((stage.start_ns, stage.end_ns?)))
            .collect();
        measured_ns += windows.iter().map(|(start, end)| end.saturating_sub(*start)).sum::<u64>();
        let within = |s: &&SampleRow| windows.iter().any(|w| (w.0..w.1).contains(&s.at_ns));
        for sample in samples(cell).filter(within) {
            *cost_ns.entry(&sample.source).or_default() += sample.cost_cpu_ns;
        }
    }
    let total: u64 = cost_ns.values().sum();
    let percent = 100.0 * total as f64 / measured_ns.max(1) as f64;
    if percent <= AFFORDABLE_PERCENT {
        return Vec::new();
    }
    let most = cost_ns.iter().max_by_key(|(_, cost)| **cost);
    let (source, cost) = most.map_or(("", 0), |(source, cost)| (*source, *cost));
    vec![Finding {
        rule: "sampling_expensive".into(),
        severity: Severity::Warning,
        subject: Some(source.to_owned()),
        message: "Sampling took CPU time that the load could have had.".into(),
        evidence: format!(
            "{} of CPU in {} of measured stages is {} % of one CPU; {source} took {}.",
            show::nanos(total as f64),
            show::nanos(measured_ns as f64),
            show::significant(percent, 2),
            show::nanos(cost as f64)
        ),
        remedy: "Read the figures as those of a machine that is watched closely; no setting changes that."
            .into(),
        ..Finding::default()
    }]
}
