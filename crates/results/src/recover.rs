//! Recovers stages from a cell's rows alone, when its record is missing or was written before the cell ended.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::histogram;
use crate::model::{IntervalRow, OperationSummary, Row};

/// A stage reconstructed from rows: as much as was measured before the run was cut off.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveredStage {
    /// Position in the cell, from 0.
    pub index: usize,
    /// Its name; `None` when the row with it was lost.
    pub name: Option<String>,
    /// Tells whether its figures are the measured ones; `None` when that was lost.
    pub measured: Option<bool>,
    /// Start, nanoseconds since the run's epoch.
    pub start_ns: Option<u64>,
    /// End, nanoseconds since the run's epoch; `None` when it never ended.
    pub end_ns: Option<u64>,
    /// Sums over the intervals of each operation. `errors` are of the kind `unknown`, since rows only count them.
    pub operations: BTreeMap<String, OperationSummary>,
}

/// Returns the stages that `rows` describe, in order.
pub fn recover(rows: &[Row]) -> Vec<RecoveredStage> {
    let mut stages: BTreeMap<usize, (RecoveredStage, BTreeMap<String, Sum>)> = BTreeMap::new();
    for row in rows {
        match row {
            Row::Stage(edge) => {
                let (stage, _) = stages.entry(edge.stage).or_insert_with(|| blank(edge.stage));
                stage.name = Some(edge.name.clone());
                stage.measured = Some(edge.measured);
                let moment = if edge.ended { &mut stage.end_ns } else { &mut stage.start_ns };
                *moment = Some(edge.at_ns);
            }
            Row::Interval(row) => {
                let (_, sums) = stages.entry(row.stage).or_insert_with(|| blank(row.stage));
                sums.entry(row.operation.clone()).or_default().add(row);
            }
            // The interval rows contain the I/Os of single jobs; samples are not needed.
            Row::Job(_) | Row::Sample(_) => {}
        }
    }
    let finish = |(mut stage, sums): (RecoveredStage, BTreeMap<String, Sum>)| {
        stage.operations = sums.into_iter().map(|(name, sum)| (name, sum.summary())).collect();
        stage
    };
    stages.into_values().map(finish).collect()
}

fn blank(index: usize) -> (RecoveredStage, BTreeMap<String, Sum>) {
    let stage = RecoveredStage {
        index,
        name: None,
        measured: None,
        start_ns: None,
        end_ns: None,
        operations: BTreeMap::new(),
    };
    (stage, BTreeMap::new())
}

/// Sum over the intervals of one operation.
#[derive(Default)]
struct Sum {
    ios: u64,
    bytes: u64,
    errors: u64,
    nanos: u64,
    latencies: Option<Histogram<u64>>,
    /// Tells whether a histogram was missing or unreadable, so that there are no quantiles.
    holed: bool,
}

impl Sum {
    fn add(&mut self, row: &IntervalRow) {
        self.ios += row.ios;
        self.bytes += row.bytes;
        self.errors += row.errors;
        self.nanos += row.end_ns.saturating_sub(row.start_ns);
        let Some(text) = &row.histogram else {
            self.holed |= row.ios > 0;
            return;
        };
        let texts = [text.as_str()];
        match (&mut self.latencies, histogram::merge(texts)) {
            (Some(all), Ok(Some(next))) => self.holed |= all.add(next).is_err(),
            (all @ None, Ok(first)) => *all = first,
            _ => self.holed = true,
        }
    }

    fn summary(self) -> OperationSummary {
        let seconds = (self.nanos > 0).then_some(self.nanos as f64 / 1e9);
        let latencies = self.latencies.filter(|_| !self.holed);
        let errors = (self.errors > 0).then(|| ("unknown".to_owned(), self.errors));
        OperationSummary {
            ios: self.ios,
            bytes: self.bytes,
            errors: errors.into_iter().collect(),
            iops: seconds.map(|s| self.ios as f64 / s),
            throughput_bytes_per_s: seconds.map(|s| self.bytes as f64 / s),
            latency: latencies.as_ref().and_then(histogram::summary),
            histogram: latencies.as_ref().and_then(|h| histogram::encode(h).ok()),
            ..OperationSummary::default()
        }
    }
}
