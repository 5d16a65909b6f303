//! Samples of one field over time: a line per cell, as value or as rate of change.

use results::model::{Row, SampleRow};
use results::read::CellData;

use super::clock::{measured_span, seconds};
use super::repeats::Line;

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
/// anew and gives a gap.
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
            // Two samples at one moment (a mark falls on a tick) say nothing about a rate.
            if before.is_some_and(|(then, _)| x <= then) {
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

/// How much a counter grew per second over what was measured; `None` with fewer than two samples.
pub fn mean_rate(cell: &CellData, source: &str, field: &str) -> Option<f64> {
    let mut values = samples(cell, source)
        .filter(|s| s.error.is_none())
        .filter_map(|s| Some((s.at_ns, s.fields.get(field).copied().flatten()?)));
    let (start, first) = values.next()?;
    let (end, last) = values.last()?;
    (end > start && last >= first).then(|| (last - first) / seconds(start, end))
}
