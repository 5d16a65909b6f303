//! Charts of the load over time: throughput and latency of each interval, each repeat and their median.

use std::collections::BTreeSet;

use results::histogram;
use results::model::{IntervalRow, PictureFacts, Row, Show};
use results::read::{CellData, ResultSet};
use units::Unit;

use super::clock::{Window, seconds, stage_axis, windows};
use super::repeats::{Line, Look, median, with_median};
use super::{Axis, Chart, Part, Scale, Shape, boxes, jobs};

/// Returns the charts of every operation of every measured stage.
pub fn charts(set: &ResultSet) -> Vec<Chart> {
    let mut keys: Vec<Key> = keys(set).into_iter().collect();
    let order = set.manifest.plan.measured_stages();
    keys.sort_by_key(|key| order.iter().position(|stage| *stage == key.stage));
    let stages: BTreeSet<_> = keys.iter().map(|k| &k.stage).collect();
    let mut charts = Vec::new();
    for key in &keys {
        let of = operation_name(key, stages.len() > 1);
        // Operations that move no bytes, such as flushes, and operations on a tree have no chart of throughput.
        let moved = throughput(set, key, &of);
        let moves = !key.on_tree && moved.y_range().is_none_or(|(_, most)| most > 0.0);
        let over_time = if moves { moved } else { iops(set, key, &of) };
        let boxes = boxes::of(&over_time);
        charts.push(over_time);
        charts.extend(boxes);
        charts.push(latency(set, key, &of));
    }
    charts.retain(Chart::has_points);
    charts
}

/// Returns the charts over time that a picture asks for, for each operation of each stage that it names.
pub fn of_picture(set: &ResultSet, picture: &PictureFacts) -> Vec<Chart> {
    let stages: BTreeSet<_> = keys(set).into_iter().map(|key| key.stage).collect();
    let same = |wanted: &Option<String>, key: &str| wanted.as_ref().is_none_or(|name| name == key);
    let wanted_keys = keys(set)
        .into_iter()
        .filter(|key| same(&picture.stage, &key.stage) && same(&picture.operation, &key.operation));
    let order = set.manifest.plan.measured_stages();
    let mut wanted_keys: Vec<Key> = wanted_keys.collect();
    wanted_keys.sort_by_key(|key| order.iter().position(|stage| *stage == key.stage));
    wanted_keys
        .iter()
        .flat_map(|key| {
            let of = operation_name(key, stages.len() > 1);
            match picture.show {
                Show::IopsOverTime => {
                    let by_job = jobs::charts(set, Some(&key.stage), Some(&key.operation));
                    if by_job.is_empty() { vec![iops(set, key, &of)] } else { by_job }
                }
                Show::ThroughputOverTime => vec![throughput(set, key, &of)],
                Show::LatencyOverTime => {
                    picture.percentiles.iter().map(|p| latency_at(set, key, &of, *p)).collect()
                }
                _ => Vec::new(),
            }
        })
        .collect()
}

/// Returns the name of an operation, with its stage where there are several.
pub(super) fn operation_name(key: &Key, several: bool) -> String {
    if several {
        format!("{} in stage {}", key.operation, key.stage)
    } else {
        key.operation.clone()
    }
}

/// A stage's name and an operation.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub stage: String,
    pub operation: String,
    /// Tells whether it is an operation on a tree.
    pub on_tree: bool,
}

pub(super) fn keys(set: &ResultSet) -> BTreeSet<Key> {
    let mut keys = BTreeSet::new();
    for cell in &set.cells {
        for (window, row) in intervals(cell) {
            let on_tree = row.outcomes.is_some();
            keys.insert(Key { stage: window.name, operation: row.operation.clone(), on_tree });
        }
    }
    keys
}

/// Returns the interval rows of measured stages, each with its stage.
pub(super) fn intervals(cell: &CellData) -> impl Iterator<Item = (Window, &IntervalRow)> {
    let windows = windows(cell);
    cell.rows.iter().filter_map(move |row| match row {
        Row::Interval(row) => {
            windows.iter().find(|w| w.stage == row.stage).map(|window| (window.clone(), row))
        }
        Row::Job(_) | Row::Sample(_) | Row::Stage(_) => None,
    })
}

fn throughput(set: &ResultSet, key: &Key, of: &str) -> Chart {
    let rate = |row: &IntervalRow| {
        let length = seconds(row.start_ns, row.end_ns);
        (length > 0.0).then(|| row.bytes as f64 / length)
    };
    Chart {
        id: format!("throughput-{}-{}", key.stage, key.operation),
        title: format!("Throughput of {of}"),
        part: Part::Load,
        reading: "Thin lines are repeats, the bold line is their median. Each point is one interval, at its end. A line that falls to zero \
                  is a stall; a gap means that nothing was recorded."
            .to_owned(),
        shape: Shape::Lines,
        names: Vec::new(),
        x: stage_axis(),
        y: Axis { label: "Throughput".to_owned(), scale: Scale::Linear, unit: Unit::BytesPerSecond },
        series: series(set, key, rate),
    }
}

fn iops(set: &ResultSet, key: &Key, of: &str) -> Chart {
    let ios = if key.on_tree { "Operations done" } else { "I/Os" };
    let rate = |row: &IntervalRow| {
        let length = seconds(row.start_ns, row.end_ns);
        (length > 0.0).then(|| row.ios as f64 / length)
    };
    Chart {
        id: format!("iops-{}-{}", key.stage, key.operation),
        title: format!("{ios} per second of {of} over time"),
        y: Axis { label: format!("{ios} per second"), scale: Scale::Linear, unit: Unit::PerSecond },
        series: series(set, key, rate),
        reading: "All jobs together. Thin lines are repeats, the bold line is their median. Each point is one interval, at its end. A line that falls to \
                  zero is a stall; a gap means that nothing was recorded."
            .to_owned(),
        ..throughput(set, key, of)
    }
}

/// Returns the chart of a percentile of the latency of each interval.
fn latency_at(set: &ResultSet, key: &Key, of: &str, percent: f64) -> Chart {
    let usual = latency(set, key, of);
    if (percent - 99.0).abs() < f64::EPSILON {
        return usual;
    }
    let value = |row: &IntervalRow| {
        let histogram = histogram::merge(row.histogram.as_deref()).ok().flatten()?;
        Some(histogram.value_at_quantile(percent / 100.0) as f64)
    };
    Chart {
        id: format!("p{percent}-{}-{}", key.stage, key.operation),
        title: format!("Latency of {of} over time: the fastest {percent} % of each interval"),
        reading: format!(
            "The latency that {percent} % of the I/Os of an interval stayed below. Thin lines are repeats, the bold line is their median."
        ),
        y: Axis { label: format!("Latency, {percent} %"), ..usual.y },
        series: series(set, key, value),
        ..usual
    }
}

fn latency(set: &ResultSet, key: &Key, of: &str) -> Chart {
    Chart {
        id: format!("p99-{}-{}", key.stage, key.operation),
        title: format!("99th percentile of latency of {of}"),
        part: Part::Load,
        reading: "The latency that 99 of 100 I/Os of an interval stayed below. Spikes that come at the same time in all repeats have a \
                  cause in the layers: look at the charts below at the same second."
            .to_owned(),
        shape: Shape::Lines,
        names: Vec::new(),
        x: stage_axis(),
        y: Axis {
            label: "Latency, 99th percentile".to_owned(),
            scale: Scale::Log,
            unit: Unit::Nanos,
        },
        series: series(set, key, |row| row.latency.map(|l| l.p99_ns as f64)),
    }
}

fn series(
    set: &ResultSet,
    key: &Key,
    value: impl Fn(&IntervalRow) -> Option<f64>,
) -> Vec<super::Series> {
    let variants = set.manifest.plan.variants.iter().enumerate();
    variants
        .flat_map(|(index, variant)| {
            let look = Look { name: variant.name.clone(), variant: Some(index), hue: 0 };
            let lines = set.cells_of(&variant.name).map(|cell| line(cell, key, &value)).collect();
            with_median(&look, lines)
        })
        .collect()
}

fn line(cell: &CellData, key: &Key, value: &impl Fn(&IntervalRow) -> Option<f64>) -> Line {
    let mut line = Line { repeat: cell.entry.repeat, ..Line::default() };
    let mut last_end: Option<u64> = None;
    let rows: Vec<_> = intervals(cell)
        .filter(|(window, row)| window.name == key.stage && row.operation == key.operation)
        .collect();
    let lengths = rows.iter().map(|(_, row)| seconds(row.start_ns, row.end_ns)).collect();
    let usual = median(lengths).unwrap_or(0.0);
    for (window, row) in rows {
        // A short last interval of a run is not comparable with the others.
        if seconds(row.start_ns, row.end_ns) < usual / 2.0 {
            continue;
        }
        let length = row.end_ns.saturating_sub(row.start_ns);
        if let Some(end) = last_end.filter(|end| row.start_ns > end + length / 2) {
            line.push(seconds(window.start_ns, end + (row.start_ns - end) / 2), None);
        }
        line.push(seconds(window.start_ns, row.end_ns), value(row));
        last_end = Some(row.end_ns);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_zero_and_what_was_not_recorded_is_a_gap() {
        let mut set = fixture::result();
        let rows = &mut set.cells[0].rows;
        let mut seen = 0;
        rows.retain_mut(|row| match row {
            Row::Interval(row) if row.operation == "randwrite" => {
                seen += 1;
                if seen == 3 {
                    (row.ios, row.bytes, row.latency) = (0, 0, None);
                }
                seen != 5
            }
            _ => true,
        });
        let charts = charts(&set);
        let first = &charts[0].series[0];
        assert_eq!((first.name.as_str(), first.repeat), ("plain", Some(1)));
        assert_eq!(first.y[2], Some(0.0), "a second without I/O");
        assert_eq!(first.y[4], None, "a second without a row");
        assert!(first.y[5].is_some() && first.x[4] > 4.0 && first.x[4] < 5.0, "{:?}", first.x);
        let latency = charts.iter().find(|c| c.id.starts_with("p99-")).unwrap();
        assert_eq!(latency.series[0].y[2], None, "no I/O, no latency");
    }
}
