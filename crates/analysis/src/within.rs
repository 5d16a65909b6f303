//! The spread within runs, as the thesis tabulates it: how throughput varied from interval to interval.

use std::collections::BTreeMap;

use results::model::{IntervalRow, Row};
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
    /// How many independent intervals these are worth: neighbours depend on each other.
    pub effective_n: f64,
}

/// Per operation the spread of each of `cells`; of each measured stage `apart`, or of the only one.
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

/// Per operation the throughput of each whole interval of measured stages, bytes per second.
fn throughputs(rows: &[Row], apart: bool) -> BTreeMap<Scope, Vec<f64>> {
    let rates = |rows: Vec<&IntervalRow>| {
        whole(&rows).map(|row| row.bytes as f64 / seconds(row)).collect::<Vec<_>>()
    };
    intervals(rows, apart).into_iter().map(|(scope, rows)| (scope, rates(rows))).collect()
}

/// Per operation the intervals of measured stages; of each stage `apart`, or of the only one.
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

/// All but those of less than half the usual length (the last one of a stage): over so short a time a rate means little.
pub(crate) fn whole<'a>(rows: &[&'a IntervalRow]) -> impl Iterator<Item = &'a IntervalRow> {
    let lengths: Sorted = rows.iter().map(|row| seconds(row)).collect();
    let usual = lengths.median().unwrap_or(0.0);
    let long = move |row: &&IntervalRow| seconds(row) > 0.0 && seconds(row) >= usual / 2.0;
    rows.iter().copied().filter(long)
}

fn seconds(row: &IntervalRow) -> f64 {
    row.end_ns.saturating_sub(row.start_ns) as f64 / 1e9
}

/// Of each figure of the spread the median over the runs.
pub(crate) fn typical(runs: &[RunSpread]) -> Option<Spread> {
    let median = |figure: fn(&Spread) -> Option<f64>| {
        runs.iter().filter_map(|run| figure(&run.spread)).collect::<Sorted>().median()
    };
    Some(Spread {
        n: median(|s| Some(s.n as f64))? as usize,
        median: median(|s| Some(s.median))?,
        q1: median(|s| Some(s.q1))?,
        q3: median(|s| Some(s.q3))?,
        min: median(|s| Some(s.min))?,
        max: median(|s| Some(s.max))?,
        mean: median(|s| Some(s.mean))?,
        std_dev: median(|s| s.std_dev),
    })
}
