//! Samples of one field over time: a line per cell, as value or as rate of change.

use layers::{LOAD_END, LOAD_START, SHORTEST_S};
use results::model::{Row, SampleRow};
use results::read::CellData;

use super::clock::{measured_span, seconds, windows};
use super::repeats::{Line, median};

/// Returns the samples of one source of a cell, in order of time, from the start of its first measured stage to
/// the end of its last one.
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

/// Returns the line of one field of a cell. A sample that failed, or lacks the field, gives a gap. As a rate, each
/// point is the growth per second since the sample before; a counter that fell was reset, and gives a gap. Samples with
/// marks may follow regular ones closely: growth in less than half of the usual time between samples, or in less than
/// [`SHORTEST_S`], is added to the next, since a counter that counts clock ticks has no meaningful rate over a millisecond.
pub fn line(cell: &CellData, source: &str, field: &str, rate: bool) -> Line {
    let nothing = || Line { repeat: cell.entry.repeat, ..Line::default() };
    measured_span(cell).map_or_else(nothing, |span| line_within(cell, span, source, field, rate))
}

/// Returns the line of one field between two moments, nanoseconds since the run's epoch.
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
    let shortest = (usual_gap(at) / 2.0).max(SHORTEST_S);
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
            if before.is_some_and(|(then, _)| x - then < shortest) {
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

/// Returns the usual time between moments, seconds; 0 for fewer than two.
fn usual_gap(at_ns: impl Iterator<Item = u64>) -> f64 {
    let at: Vec<u64> = at_ns.collect();
    let gaps = at.windows(2).map(|two| seconds(two[0], two[1])).filter(|gap| *gap > 0.0);
    median(gaps.collect()).unwrap_or(0.0)
}

/// Returns the part of a stage in which its load ran, if the source was read at both its ends and it lasted at least [`SHORTEST_S`]; else all of it.
fn load_within(cell: &CellData, stage: (u64, u64), source: &str) -> (u64, u64) {
    let marked = |mark| {
        samples_within(cell, Some(stage), source)
            .find(|sample| sample.mark.as_deref() == Some(mark))
    };
    let ends = marked(LOAD_START).zip(marked(LOAD_END));
    let load = ends.map(|(begin, end)| (begin.at_ns, end.at_ns));
    load.filter(|(begin, end)| seconds(*begin, *end) >= SHORTEST_S).unwrap_or(stage)
}

/// Returns the growth of a counter per second over the loads of the measured stages, without what ran between them; `None` where samples cover less
/// than [`SHORTEST_S`]. A counter that fell was reset: the time between these two samples is left out.
pub fn mean_rate(cell: &CellData, source: &str, field: &str) -> Option<f64> {
    let (mut grown, mut lasted) = (0.0, 0.0);
    for window in windows(cell) {
        let stage = (window.start_ns, window.end_ns.unwrap_or(u64::MAX));
        let span = load_within(cell, stage, source);
        let known = samples_within(cell, Some(span), source).filter(|s| s.error.is_none());
        let values: Vec<(u64, f64)> = known
            .filter_map(|s| Some((s.at_ns, s.fields.get(field).copied().flatten()?)))
            .collect();
        for two in values.windows(2).filter(|two| two[1].1 >= two[0].1) {
            grown += two[1].1 - two[0].1;
            lasted += seconds(two[0].0, two[1].0);
        }
    }
    (lasted >= SHORTEST_S).then(|| grown / lasted)
}

#[cfg(test)]
mod tests {
    use results::model::StageEdge;

    use super::super::clock::{StageStart, starts};
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn sample(at_ns: u64, value: f64) -> Row {
        Row::Sample(SampleRow {
            at_ns,
            source: "vdo.threads".into(),
            cost_ns: 0,
            cost_cpu_ns: 0,
            mark: None,
            fields: [("journalQ".to_owned(), Some(value))].into(),
            error: None,
        })
    }

    fn edge(stage: usize, measured: bool, ended: bool, at: u64) -> Row {
        let name = format!("stage {stage}");
        Row::Stage(StageEdge { stage, name, measured, ended, at_ns: at * SECOND })
    }

    fn cell(rows: Vec<Row>) -> CellData {
        let mut cell = fixture::result().cells.remove(0);
        cell.rows = rows;
        cell
    }

    #[test]
    fn a_mark_beside_a_tick_makes_no_rate_of_a_millisecond() {
        let second = |n: u64, value| sample(n * SECOND, value);
        let mut rows = vec![edge(0, true, false, 0), second(1, 0.0), second(2, 0.5)];
        rows.extend([sample(2 * SECOND + 1_000_000, 0.51), second(3, 1.0), second(4, 1.5)]);
        rows.push(edge(0, true, true, 5));
        let line = line(&cell(rows), "vdo.threads", "journalQ", true);
        assert_eq!(line.x, [2.0, 3.0, 4.0]);
        assert!(line.y.iter().all(|y| *y == Some(0.5)), "{line:?}");
    }

    #[test]
    fn a_stage_of_a_few_ticks_tells_no_rate() {
        let at = |ms: u64, value| sample(ms * 1_000_000, value);
        let mut rows = vec![edge(0, true, false, 0), at(0, 0.0), at(10, 0.03), at(20, 0.04)];
        rows.push(edge(0, true, true, 1));
        let short = cell(rows.clone());
        assert_eq!(line(&short, "vdo.threads", "journalQ", true).y, []);
        assert_eq!(mean_rate(&short, "vdo.threads", "journalQ"), None);
        rows.insert(4, at(500, 0.25));
        let long = line(&cell(rows), "vdo.threads", "journalQ", true);
        assert_eq!((long.x, long.y), (vec![0.5], vec![Some(0.5)]));
    }

    /// Two measured stages, in which the thread is busy for a half of the time, and one between them, in which it never rests.
    fn three_stages() -> CellData {
        let edges = |n: usize, measured| {
            [edge(n, measured, false, n as u64 * 10), edge(n, measured, true, n as u64 * 10 + 10)]
        };
        let mut rows = [edges(0, true), edges(1, false), edges(2, true)].concat();
        let at = |n: u64, value: f64| sample(n * SECOND, value);
        // The volume is brought up anew while the last stage runs.
        rows.extend([at(0, 0.0), at(10, 5.0), at(20, 15.0), at(24, 17.0), at(26, 0.0)]);
        rows.push(at(30, 2.0));
        cell(rows)
    }

    #[test]
    fn a_mean_is_of_what_was_measured_and_not_of_what_ran_between() {
        assert_eq!(mean_rate(&three_stages(), "vdo.threads", "journalQ"), Some(9.0 / 18.0));
    }

    #[test]
    fn a_load_of_a_moment_has_the_mean_of_its_stage() {
        let marked = |at_ns, value, mark: &str| match sample(at_ns, value) {
            Row::Sample(sample) => Row::Sample(SampleRow { mark: Some(mark.into()), ..sample }),
            row => row,
        };
        let mut rows = vec![edge(0, true, false, 0), sample(0, 0.0)];
        rows.push(marked(4 * SECOND, 1.99, LOAD_START));
        rows.push(marked(4 * SECOND + 1_000, 2.0, LOAD_END));
        rows.push(edge(0, true, true, 4));
        if let Some(Row::Stage(last)) = rows.last_mut() {
            last.at_ns += 2_000;
        }
        let mean = mean_rate(&cell(rows), "vdo.threads", "journalQ").unwrap();
        assert!((mean - 0.5).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn stages_begin_where_most_cells_began_them() {
        let mut set = fixture::with(1, 1000.0);
        let name = set.cells[0].entry.variant.clone();
        set.cells[0].rows = three_stages().rows;
        let start =
            |stage: &str, measured, at_s| StageStart { stage: stage.into(), measured, at_s };
        assert_eq!(
            starts(&set, &name),
            [start("stage 1", false, 10.0), start("stage 2", true, 20.0)]
        );
    }
}
