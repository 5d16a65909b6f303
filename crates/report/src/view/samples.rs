//! Samples of one field over time: a line per cell, as value or as rate of change.

use results::model::{Row, SampleRow};
use results::read::CellData;

use super::clock::{measured_span, seconds, windows};
use super::repeats::{Line, median};

/// The samples of one source of a cell, in order of time, while it measured. What was read just before and
/// just after belongs to it: marks are taken there.
pub fn samples<'a>(cell: &'a CellData, source: &'a str) -> impl Iterator<Item = &'a SampleRow> {
    samples_within(cell, measured_span(cell), source)
}

fn samples_within<'a>(
    cell: &'a CellData,
    span: Option<(u64, u64)>,
    source: &'a str,
) -> impl Iterator<Item = &'a SampleRow> {
    cell.rows.iter().filter_map(move |row| {
        let Row::Sample(sample) = row else { return None };
        let (start, end) = span?;
        let inside = (start..=end).contains(&sample.at_ns);
        (sample.source == source && inside).then_some(sample)
    })
}

/// The line of one field of a cell. A sample that failed, or has no such figure, is a gap. As a rate, each
/// point is the growth since the sample before, per second, at its own time; a counter that fell started
/// anew and gives a gap. Marks fall close to ticks: what grew in less than half of the usual time between samples
/// is counted with the next, since a counter that moves by clock ticks tells no rate over a millisecond.
pub fn line(cell: &CellData, source: &str, field: &str, rate: bool) -> Line {
    let nothing = || Line { repeat: cell.entry.repeat, ..Line::default() };
    measured_span(cell).map_or_else(nothing, |span| line_within(cell, span, source, field, rate))
}

/// The line of one field between two moments, nanoseconds since the run's epoch.
pub fn line_within(
    cell: &CellData,
    (start, end): (u64, u64),
    source: &str,
    field: &str,
    rate: bool,
) -> Line {
    let mut line = Line { repeat: cell.entry.repeat, ..Line::default() };
    let mut before: Option<(f64, f64)> = None;
    let at = samples_within(cell, Some((start, end)), source).map(|sample| sample.at_ns);
    let shortest = usual_gap(at) / 2.0;
    for sample in samples_within(cell, Some((start, end)), source) {
        let x = seconds(start, sample.at_ns);
        let value = match sample.error {
            Some(_) => None,
            None => sample.fields.get(field).copied().flatten(),
        };
        if rate {
            let Some(new) = value else {
                line.push(x, None);
                before = None;
                continue;
            };
            if before.is_some_and(|(then, _)| x - then <= shortest) {
                continue;
            }
            if let Some((then, old)) = before {
                line.push(x, (new >= old).then(|| (new - old) / (x - then)));
            }
            before = value.map(|value| (x, value));
        } else {
            line.push(x, value);
        }
    }
    line
}

/// The usual time between moments, seconds; 0 of fewer than two.
fn usual_gap(at_ns: impl Iterator<Item = u64>) -> f64 {
    let at: Vec<u64> = at_ns.collect();
    let gaps = at.windows(2).map(|two| seconds(two[0], two[1])).filter(|gap| *gap > 0.0);
    median(gaps.collect()).unwrap_or(0.0)
}

/// How much a counter grew per second in the measured stages, what ran between them left out; `None` where no stage has two samples.
/// A counter that fell started anew: the time in which it did is left out.
pub fn mean_rate(cell: &CellData, source: &str, field: &str) -> Option<f64> {
    let (mut grown, mut lasted) = (0.0, 0.0);
    for window in windows(cell) {
        let span = (window.start_ns, window.end_ns.unwrap_or(u64::MAX));
        let known = samples_within(cell, Some(span), source).filter(|s| s.error.is_none());
        let values: Vec<(u64, f64)> = known
            .filter_map(|s| Some((s.at_ns, s.fields.get(field).copied().flatten()?)))
            .collect();
        for two in values.windows(2).filter(|two| two[1].1 >= two[0].1) {
            grown += two[1].1 - two[0].1;
            lasted += seconds(two[0].0, two[1].0);
        }
    }
    (lasted > 0.0).then(|| grown / lasted)
}
