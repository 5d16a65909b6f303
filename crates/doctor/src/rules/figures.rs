//! Figures that are stored twice and must agree: a summary, its histogram, and the rows it was summed up from.

use std::collections::BTreeMap;

use analysis::Analysis;
use results::histogram;
use results::model::{Finding, LatencySummary, OperationSummary, Row, Severity, StageRecord};
use results::read::{CellData, ResultSet};
use units::show::{grouped, nanos, significant};

use super::imported;

/// Tolerance for a latency, as a share: it is read from a histogram bucket, which has three digits.
const BUCKET: f64 = 2e-3;
/// Tolerance for a rate, as a share: the load's duration may be rounded.
const RATE: f64 = 1e-2;
/// Largest number of contradictions of a variant that are reported.
const LISTED: usize = 4;

/// Figures contradict each other.
pub(crate) fn contradictory(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let of_variant = |variant: &results::model::VariantFacts| {
        let cells = result.cells_of(&variant.name);
        let all: Vec<String> = cells.flat_map(of_cell).collect();
        let more = match all.len().saturating_sub(LISTED) {
            0 => String::new(),
            n => format!("; and {n} more"),
        };
        (!all.is_empty()).then(|| Finding {
            rule: "figures_contradict".into(),
            severity: Severity::Error,
            subject: Some(variant.name.clone()),
            message: format!("Figures of {} contradict each other.", variant.name),
            evidence: format!("{}{more}.", all[..all.len().min(LISTED)].join("; ")),
            remedy: match imported::is(result) {
                true => "Compare them with the output that they were taken from; where they differ, Fathom has a fault to report.",
                false => "Somebody changed them, or Fathom has a fault to report: run the experiment again.",
            }
            .into(),
            ..Finding::default()
        })
    };
    result.manifest.plan.variants.iter().filter_map(of_variant).collect()
}

fn of_cell(cell: &CellData) -> Vec<String> {
    let Some(record) = &cell.record else { return Vec::new() };
    let sums = sums(cell);
    let mut found = Vec::new();
    for stage in &record.stages {
        let Some(load) = &stage.load else { continue };
        for (name, operation) in &load.operations {
            // fio reports a time for each operation, and its rate is over that time.
            let whole = load.ended_by != imported::ELSEWHERE;
            let mut wrong = of_operation(operation, if whole { load.duration_ns } else { 0 });
            wrong.extend(against_rows(cell, stage, name, operation, &sums));
            let place = format!("repeat {}, {} of stage {}", cell.entry.repeat, name, stage.name);
            found.extend(wrong.into_iter().map(|what| format!("{place}: {what}")));
        }
    }
    found
}

/// I/Os and bytes of a stage's operation.
type Sums<'a> = BTreeMap<(usize, &'a str), (u64, u64)>;

/// Returns the I/Os and bytes that the interval rows of a cell sum to.
fn sums(cell: &CellData) -> Sums<'_> {
    let mut sums = Sums::new();
    for row in &cell.rows {
        if let Row::Interval(row) = row {
            let (ios, bytes) = sums.entry((row.stage, row.operation.as_str())).or_default();
            *ios += row.ios;
            *bytes += row.bytes;
        }
    }
    sums
}

fn against_rows(
    cell: &CellData,
    stage: &StageRecord,
    name: &str,
    operation: &OperationSummary,
    sums: &Sums,
) -> Option<String> {
    // Without rows, or with some lost, there is nothing to compare it with.
    if !cell.damage.is_empty() || !sums.keys().any(|(index, _)| *index == stage.index) {
        return None;
    }
    let (ios, bytes) = sums.get(&(stage.index, name)).copied().unwrap_or_default();
    if (ios, bytes) == (operation.ios, operation.bytes) {
        return None;
    }
    Some(format!(
        "{} I/Os of {} bytes, and its intervals have {} of {}",
        grouped(operation.ios),
        grouped(operation.bytes),
        grouped(ios),
        grouped(bytes)
    ))
}

fn of_operation(operation: &OperationSummary, duration_ns: u64) -> Vec<String> {
    let Some(text) = &operation.histogram else { return Vec::new() };
    let Ok(all) = histogram::decode(text) else {
        return vec!["its histogram cannot be read".to_owned()];
    };
    let mut found = Vec::new();
    if all.len() != operation.ios {
        let (ios, held) = (grouped(operation.ios), grouped(all.len()));
        found.push(format!("{ios} I/Os, and its histogram holds {held}"));
    }
    if let (Some(recorded), Some(computed)) = (&operation.latency, histogram::summary(&all)) {
        for (name, value) in LATENCIES {
            let (recorded, computed) = (value(recorded), value(&computed));
            if differ(recorded, computed, BUCKET) {
                found.push(format!(
                    "{name} {}, by its own histogram {}",
                    nanos(recorded),
                    nanos(computed)
                ));
            }
        }
    }
    let per_second = |n: u64| n as f64 / (duration_ns as f64 / 1e9);
    for (name, recorded, n) in [
        ("IOPS", operation.iops, operation.ios),
        ("throughput", operation.throughput_bytes_per_s, operation.bytes),
    ] {
        if let Some(recorded) =
            recorded.filter(|recorded| duration_ns > 0 && differ(*recorded, per_second(n), RATE))
        {
            let (recorded, computed) = (significant(recorded, 4), significant(per_second(n), 4));
            found.push(format!("{name} {recorded}, by count and duration {computed}"));
        }
    }
    found
}

type Latency = (&'static str, fn(&LatencySummary) -> f64);

const LATENCIES: [Latency; 6] = [
    ("mean", |l| l.mean_ns),
    ("minimum", |l| l.min_ns as f64),
    ("p50", |l| l.p50_ns as f64),
    ("p99", |l| l.p99_ns as f64),
    ("p99.9", |l| l.p999_ns as f64),
    ("maximum", |l| l.max_ns as f64),
];

/// Tells whether two figures differ by more than this share of the larger, and by more than one.
fn differ(one: f64, other: f64, share: f64) -> bool {
    let most = one.abs().max(other.abs());
    (one - other).abs() > (share * most).max(1.0)
}
