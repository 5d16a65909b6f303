//! Time without load, cut short where it would take most of an axis over several stages.

use std::collections::BTreeSet;

use results::model::Row;
use results::read::{CellData, ResultSet};
use units::show::significant;

use super::clock::{measured_span, of_several, seconds, windows};
use super::{Chart, Mark};

/// The share of an axis that may be without load before it is cut.
const MAX_IDLE_SHARE: f64 = 0.5;
/// The length to which a stretch without load is shortened, as a share of the time with load.
const LEFT: f64 = 0.05;

/// The periods without a load in any cell that axes leave out, in seconds since the first measured stage began.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Idle {
    /// Beginning and end of each period, seconds, in their order; empty where nothing is cut.
    stretches: Vec<(f64, f64)>,
    /// The length to which each is shortened, seconds.
    left: f64,
}

impl Idle {
    /// Finds the periods to cut from axes over several stages.
    pub fn of(set: &ResultSet) -> Self {
        let mut busy: Vec<(f64, f64)> = set.cells.iter().flat_map(loaded).collect();
        busy.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut stretches, mut end) = (Vec::new(), 0.0_f64);
        for (from, to) in busy {
            if from > end {
                stretches.push((end, from));
            }
            end = end.max(to);
        }
        let idle: f64 = stretches.iter().map(|(from, to)| to - from).sum();
        let left = LEFT * (end - idle);
        if idle <= MAX_IDLE_SHARE * end {
            return Self::default();
        }
        stretches.retain(|(from, to)| to - from > left);
        Self { stretches, left }
    }

    /// Returns the place of a moment on a cut axis, seconds.
    fn place(&self, at: f64) -> f64 {
        let cut = self.stretches.iter().filter(|(from, _)| at > *from).map(|(from, to)| {
            let past = (at.min(*to) - from) / (to - from);
            past * (to - from - self.left)
        });
        at - cut.sum::<f64>()
    }

    /// Cuts the axis of a chart over several stages.
    pub fn cut(&self, chart: &mut Chart) {
        if self.stretches.is_empty() || !of_several(&chart.x) {
            return;
        }
        for x in chart.series.iter_mut().flat_map(|series| &mut series.x) {
            *x = self.place(*x);
        }
        let gone: f64 = self.stretches.iter().map(|(from, to)| to - from - self.left).sum();
        chart.x.label.push_str(&format!(", {} s without load cut out", significant(gone, 3)));
    }

    /// Moves a mark of such a chart to its place on the cut axis.
    pub fn put(&self, mark: Mark) -> Mark {
        let place = |at| self.place(at);
        Mark { x: place(mark.x), low: mark.low.map(place), high: mark.high.map(place), ..mark }
    }
}

/// Returns the periods of a cell in which a load or a measured stage without a load ran, seconds since its first measured stage began.
fn loaded(cell: &CellData) -> Vec<(f64, f64)> {
    let Some((start, _)) = measured_span(cell) else { return Vec::new() };
    let intervals = || {
        cell.rows.iter().filter_map(|row| match row {
            Row::Interval(row) => Some(row),
            _ => None,
        })
    };
    let with_load: BTreeSet<usize> = intervals().map(|row| row.stage).collect();
    let other = windows(cell).into_iter().filter(|window| !with_load.contains(&window.stage));
    let other = other.filter_map(|window| Some((window.start_ns, window.end_ns?)));
    let all = intervals().map(|row| (row.start_ns, row.end_ns)).chain(other);
    let within = all.filter(|(from, _)| *from >= start);
    within.map(|(from, to)| (seconds(start, from), seconds(start, to))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::clock::span_axis;

    /// Two measured stages of two seconds; so many seconds pass between them.
    fn stages_apart(between_s: u64) -> ResultSet {
        let mut set = fixture::result();
        for cell in &mut set.cells {
            let rows = std::mem::take(&mut cell.rows);
            for (stage, begin_s) in [(1, 0), (3, 2 + between_s)] {
                for row in &rows {
                    let at = |s: u64| (begin_s + s) * 1_000_000_000;
                    match row {
                        Row::Stage(edge) if edge.measured => {
                            let edge = results::model::StageEdge {
                                stage,
                                at_ns: at(if edge.ended { 2 } else { 0 }),
                                ..edge.clone()
                            };
                            cell.rows.push(Row::Stage(edge));
                        }
                        _ => {}
                    }
                }
                let first = rows.iter().find_map(|row| match row {
                    Row::Interval(row) => Some(row.clone()),
                    _ => None,
                });
                let first = first.unwrap();
                let (start_ns, end_ns) = (begin_s * 1_000_000_000, (begin_s + 2) * 1_000_000_000);
                let row = results::model::IntervalRow { stage, start_ns, end_ns, ..first };
                cell.rows.push(Row::Interval(row));
            }
        }
        set
    }

    #[test]
    fn long_stretches_without_load_are_cut_and_short_ones_stay() {
        assert_eq!(Idle::of(&stages_apart(3)), Idle::default(), "3 of 7 s");
        let idle = Idle::of(&stages_apart(96));
        assert_eq!(idle.stretches, [(2.0, 98.0)]);
        let places = [0.0, 2.0, 50.0, 98.0, 100.0].map(|at| idle.place(at));
        assert_eq!(places.map(|at| (at * 10.0).round() / 10.0), [0.0, 2.0, 2.1, 2.2, 4.2]);
        let mut chart =
            crate::view::view(&stages_apart(3), &analysis::analyse(&stages_apart(3)), &[]).charts
                [0]
            .clone();
        chart.x = span_axis(&stages_apart(96));
        let (before, label) = (chart.clone(), chart.x.label.clone());
        idle.cut(&mut chart);
        assert_eq!(chart.x.label, format!("{label}, 95.8 s without load cut out"));
        assert!(of_several(&chart.x), "still known as one over several stages");
        chart.x = crate::view::clock::stage_axis();
        let expected = chart.clone();
        idle.cut(&mut chart);
        assert_eq!(
            (chart, before.series.len()),
            (expected.clone(), expected.series.len()),
            "one stage has an axis of its own"
        );
    }
}
