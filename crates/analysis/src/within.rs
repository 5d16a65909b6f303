//! The spread within runs, in the form of the thesis's tables: how throughput varied from interval to interval.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use results::histogram;
use results::model::{IntervalRow, OperationSummary, Row};
use results::read::CellData;
use stats::{Sorted, Spread};

use crate::scope::{Of, Scope};

/// The spread of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunSpread {
    /// The repeat.
    pub repeat: u32,
    /// Throughput of the intervals, bytes per second.
    pub spread: Spread,
    /// Number of independent intervals with the same information: neighbouring intervals depend on each other.
    pub effective_n: f64,
}

/// Returns the spread of each of `cells` by operation: separately for each measured stage if `apart`, else for the only one.
pub(crate) fn spreads(cells: &[&CellData], apart: bool) -> BTreeMap<Scope, Vec<RunSpread>> {
    let mut spreads: BTreeMap<Scope, Vec<RunSpread>> = BTreeMap::new();
    for cell in cells {
        for (operation, rates) in throughputs(&cell.rows, apart) {
            if let Some(spread) = stats::spread(&rates) {
                let effective_n = stats::effective_sample_size(&rates);
                let run = RunSpread { repeat: cell.entry.repeat, spread, effective_n };
                spreads.entry(operation).or_default().push(run);
            }
        }
    }
    spreads
}

/// Returns the throughput of each whole interval of measured stages by operation, bytes per second.
fn throughputs(rows: &[Row], apart: bool) -> BTreeMap<Scope, Vec<f64>> {
    let rates = |rows: Vec<&IntervalRow>| {
        without_short(&rows).map(|row| row.bytes as f64 / seconds(row)).collect::<Vec<_>>()
    };
    intervals(rows, apart).into_iter().map(|(scope, rows)| (scope, rates(rows))).collect()
}

/// Returns the intervals of measured stages by operation: separately for each stage if `apart`, else for the only one.
pub(crate) fn intervals(rows: &[Row], apart: bool) -> BTreeMap<Scope, Vec<&IntervalRow>> {
    let measured: BTreeMap<usize, &str> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Stage(edge) if edge.measured => Some((edge.stage, edge.name.as_str())),
            _ => None,
        })
        .collect();
    let mut intervals: BTreeMap<Scope, Vec<&IntervalRow>> = BTreeMap::new();
    for row in rows {
        if let Row::Interval(row) = row
            && let Some(stage) = measured.get(&row.stage)
        {
            let stage = apart.then(|| (*stage).to_owned());
            let scope = Scope { stage, of: Of::Operation(row.operation.clone()) };
            intervals.entry(scope).or_default().push(row);
        }
    }
    intervals
}

/// Returns the intervals without those shorter than half the usual length (the last one of a stage): over so short a time a rate means little.
pub(crate) fn without_short<'a>(rows: &[&'a IntervalRow]) -> impl Iterator<Item = &'a IntervalRow> {
    let lengths: Sorted = rows.iter().map(|row| seconds(row)).collect();
    let usual = lengths.median().unwrap_or(0.0);
    let long = move |row: &&IntervalRow| seconds(row) > 0.0 && seconds(row) >= usual / 2.0;
    rows.iter().copied().filter(long)
}

fn seconds(row: &IntervalRow) -> f64 {
    row.end_ns.saturating_sub(row.start_ns) as f64 / 1e9
}

/// Returns the spread of the bandwidth of single I/Os in each of `cells`, bytes per second, by operation: separately for each measured stage
/// if `apart`, else for the only one.
pub(crate) fn io_bandwidths(cells: &[&CellData], apart: bool) -> BTreeMap<Scope, Vec<Spread>> {
    let mut spreads: BTreeMap<Scope, Vec<Spread>> = BTreeMap::new();
    for record in cells.iter().filter_map(|cell| cell.record.as_ref()) {
        let mut cell_bandwidths: BTreeMap<Scope, Option<Histogram<u64>>> = BTreeMap::new();
        for stage in record.stages.iter().filter(|stage| stage.measured) {
            let operations = stage.load.iter().flat_map(|load| &load.operations);
            for (name, operation) in operations.filter(|(_, operation)| operation.ios > 0) {
                let next = histogram::bandwidths(operation);
                let stage = apart.then(|| stage.name.clone());
                let scope = Scope { stage, of: Of::Operation(name.clone()) };
                cell_bandwidths
                    .entry(scope)
                    // If it is unknown for one stage, it is unknown for all stages together.
                    .and_modify(|all| *all = all.take().zip(next.clone()).and_then(together))
                    .or_insert(next);
            }
        }
        for (scope, found) in cell_bandwidths {
            spreads.entry(scope).or_default().extend(found.as_ref().and_then(of_histogram));
        }
    }
    spreads
}

/// Returns the spread of the bandwidth (length over latency) of each I/O of an operation, bytes per second; `None` where it is not known.
pub fn io_bandwidth(operation: &OperationSummary) -> Option<Spread> {
    histogram::bandwidths(operation).as_ref().and_then(of_histogram)
}

fn together((mut all, next): (Histogram<u64>, Histogram<u64>)) -> Option<Histogram<u64>> {
    all.add(next).ok().map(|()| all)
}

fn of_histogram(all: &Histogram<u64>) -> Option<Spread> {
    let at = |share| all.value_at_quantile(share) as f64;
    (!all.is_empty()).then(|| Spread {
        n: all.len() as usize,
        median: at(0.5),
        q1: at(0.25),
        q3: at(0.75),
        min: all.min() as f64,
        max: all.max() as f64,
        mean: all.mean(),
        std_dev: (all.len() > 1).then(|| all.stdev()),
    })
}

/// The spread that several runs have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TypicalSpread {
    /// The median of each figure over the runs.
    pub spread: Spread,
    /// The smallest and the largest number of values in a run.
    pub counts: (usize, usize),
}

/// Returns the median over all runs of each figure of their spreads.
pub(crate) fn typical(runs: &[&Spread]) -> Option<TypicalSpread> {
    let median = |figure: fn(&Spread) -> Option<f64>| {
        runs.iter().filter_map(|run| figure(run)).collect::<Sorted>().median()
    };
    let counts = || runs.iter().map(|run| run.n);
    let counts = (counts().min()?, counts().max()?);
    let spread = Spread {
        n: median(|s| Some(s.n as f64))? as usize,
        median: median(|s| Some(s.median))?,
        q1: median(|s| Some(s.q1))?,
        q3: median(|s| Some(s.q3))?,
        min: median(|s| Some(s.min))?,
        max: median(|s| Some(s.max))?,
        mean: median(|s| Some(s.mean))?,
        std_dev: median(|s| s.std_dev),
    };
    Some(TypicalSpread { spread, counts })
}
