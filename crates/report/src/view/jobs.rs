//! Each job of a load by itself, where the experiment asks for it: its figures, and its course over time.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Analysis, Scope};
use results::model::{JobRow, Row};
use results::read::{CellData, ResultSet};
use units::Unit;

use super::chart::scale;
use super::clock::{Window, seconds, stage_axis, windows};
use super::repeats::{Line, Look, with_median};
use super::{Axis, Chart, Figure, Part, Series, Shape, figures};

/// Most jobs that are drawn one by one: of more, only the fastest and the slowest are drawn.
const DRAWN: usize = 8;

/// The figures of one job of a variant in one operation.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFigures {
    /// Index of the variant.
    pub variant: usize,
    /// The operation, with its stage.
    pub scope: Scope,
    /// The job, from 0.
    pub job: u32,
    /// Its figures by id of their metric.
    pub figures: BTreeMap<String, Figure>,
}

/// Returns the figures of every job that has its own: by variant, stage and operation.
pub(super) fn rows(analysis: &Analysis) -> Vec<JobFigures> {
    let stage =
        |scope: &Scope| analysis.stages.iter().position(|s| Some(s) == scope.stage.as_ref());
    let mut rows = Vec::new();
    for (variant, figures) in analysis.variants.iter().enumerate() {
        for (scope, jobs) in &figures.jobs {
            rows.extend(jobs.iter().map(|(&job, all)| {
                JobFigures {
                    variant,
                    scope: scope.clone(),
                    job,
                    figures: all
                        .iter()
                        .filter_map(|(id, figure)| Some((id.clone(), figures::figure(figure)?)))
                        .collect(),
                }
            }));
        }
    }
    rows.sort_by_key(|row| (row.variant, stage(&row.scope)));
    rows
}

/// Returns charts of the I/Os per second of each job over time, for each variant, each measured stage (or only `stage`) and each operation (or only
/// `operation`).
pub(super) fn charts(set: &ResultSet, stage: Option<&str>, operation: Option<&str>) -> Vec<Chart> {
    let stages = set.manifest.plan.measured_stages();
    let several = stages.len() > 1;
    let mut charts = Vec::new();
    for stage_name in stages.into_iter().filter(|name| stage.is_none_or(|stage| stage == *name)) {
        for (variant, facts) in set.manifest.plan.variants.iter().enumerate() {
            let cells: Vec<_> =
                set.cells_of(&facts.name).map(|cell| of_cell(cell, stage_name)).collect();
            let names: BTreeSet<&str> =
                cells.iter().flat_map(|cell| cell.keys().map(|(name, _)| *name)).collect();
            for name in names.into_iter().filter(|name| operation.is_none_or(|o| o == *name)) {
                let place = if several { format!(" in stage {stage_name}") } else { String::new() };
                let title = format!("I/Os per second of each job: {name}{place}, {}", facts.name);
                charts.extend(chart(
                    format!("{variant}-jobs-{stage_name}-{name}"),
                    title,
                    &cells,
                    name,
                ));
            }
        }
    }
    charts
}

/// The lines of a cell, by operation and job.
type Lines<'a> = BTreeMap<(&'a str, u32), Line>;

fn of_cell<'a>(cell: &'a CellData, stage: &str) -> Lines<'a> {
    let mut lines = Lines::new();
    let Some(window) = windows(cell).into_iter().find(|window| window.name == stage) else {
        return lines;
    };
    let rows = cell.rows.iter().filter_map(|row| match row {
        Row::Job(row) if row.part.stage == window.stage => Some(row),
        _ => None,
    });
    for row in without_short_ends(rows.collect()) {
        let line = lines.entry((&*row.part.operation, row.job)).or_default();
        line.repeat = cell.entry.repeat;
        push(line, &window, row);
    }
    lines
}

/// Returns the rows without a short last interval of a run, which is not comparable with the others.
fn without_short_ends(rows: Vec<&JobRow>) -> impl Iterator<Item = &JobRow> {
    let length = |row: &JobRow| row.part.end_ns.saturating_sub(row.part.start_ns);
    let usual = rows.iter().map(|row| length(row)).max().unwrap_or(0);
    rows.into_iter().filter(move |row| length(row) * 2 >= usual)
}

fn push(line: &mut Line, window: &Window, row: &JobRow) {
    let length = seconds(row.part.start_ns, row.part.end_ns);
    let rate = (length > 0.0).then(|| row.part.ios as f64 / length);
    line.push(seconds(window.start_ns, row.part.end_ns), rate);
}

fn chart(id: String, title: String, cells: &[Lines], operation: &str) -> Option<Chart> {
    let jobs: BTreeSet<u32> = cells
        .iter()
        .flat_map(|cell| cell.keys().filter(|(name, _)| *name == operation).map(|(_, job)| *job))
        .collect();
    let rate = |job: &u32| -> f64 {
        let lines = cells.iter().filter_map(|cell| cell.get(&(operation, *job)));
        let rates: Vec<f64> = lines.flat_map(|line| line.y.iter().flatten().copied()).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    // A job without a rate is neither the fastest nor the slowest.
    let rates = jobs.iter().map(|job| (*job, rate(job))).filter(|(_, rate)| !rate.is_nan());
    let mut rates: Vec<(u32, f64)> = rates.collect();
    rates.sort_by(|a, b| a.1.total_cmp(&b.1));
    let ((slowest, _), (fastest, _)) = (*rates.first()?, *rates.last()?);
    let few = jobs.len() <= DRAWN;
    let drawn = jobs.iter().filter(|job| few || [slowest, fastest].contains(job));
    let mut series: Vec<Series> = Vec::new();
    for (hue, job) in drawn.enumerate() {
        let name = match few {
            true => format!("job {job}"),
            false if *job == fastest => format!("job {job}, the fastest"),
            false => format!("job {job}, the slowest"),
        };
        let look = Look { name, variant: None, hue };
        let lines = cells.iter().filter_map(|cell| cell.get(&(operation, *job)).cloned());
        series.extend(with_median(&look, lines.collect()));
    }
    let others = if few { "" } else { " The fastest and the slowest of all jobs are drawn." };
    Some(Chart {
        id,
        title,
        part: Part::Load,
        reading: format!(
            "A line for each job of the load, which all do the same. Thin lines are repeats, the bold line is their median.{others}"
        ),
        shape: Shape::Lines,
        names: Vec::new(),
        x: stage_axis(),
        y: Axis {
            label: "I/Os per second of a job".to_owned(),
            scale: scale(&series),
            unit: Unit::PerSecond,
        },
        series,
    })
}

#[cfg(test)]
mod tests {
    use results::model::IntervalRow;

    use super::*;
    use crate::view::Scale;

    /// The made-up result with `jobs` jobs, each with the rows of the whole load; the second one with only `part` of the I/Os.
    fn set(jobs: u32, part: f64) -> ResultSet {
        let mut set = fixture::result();
        for cell in &mut set.cells {
            let rows: Vec<IntervalRow> = cell
                .rows
                .iter()
                .filter_map(
                    |row| if let Row::Interval(row) = row { Some(row.clone()) } else { None },
                )
                .collect();
            for row in rows {
                for job in 0..jobs {
                    let share = if job == 1 { part } else { 1.0 };
                    let ios = (row.ios as f64 * share) as u64;
                    let part = IntervalRow { ios, ..row.clone() };
                    cell.rows.push(Row::Job(JobRow { job, part }));
                }
            }
        }
        set
    }

    #[test]
    fn each_job_has_a_line_and_a_slow_one_is_none_on_the_ground() {
        assert_eq!(charts(&fixture::result(), None, None), []);
        let all = charts(&set(2, 0.01), None, None);
        assert_eq!(all.len(), 2, "a chart for each variant");
        assert_eq!((all[0].of_variant(), all[1].of_variant()), (Some(0), Some(1)));
        let bold: Vec<&str> =
            all[0].series.iter().filter(|s| s.bold()).map(|s| s.name.as_str()).collect();
        assert_eq!((bold, all[0].y.scale), (vec!["job 0", "job 1"], Scale::Log));
        assert_eq!(charts(&set(2, 0.9), None, None)[0].y.scale, Scale::Linear);
        assert_eq!(charts(&set(2, 0.9), None, Some("randread")), []);
    }

    #[test]
    fn of_many_jobs_the_fastest_and_the_slowest_stand_for_all() {
        let all = charts(&set(12, 0.5), None, None);
        let bold: Vec<&str> =
            all[0].series.iter().filter(|s| s.bold()).map(|s| s.name.as_str()).collect();
        assert_eq!(bold.len(), 2, "{bold:?}");
        assert!(bold.contains(&"job 1, the slowest"), "{bold:?}");
        // A job with rows of only one repeat does not count as slower for that.
        let mut fewer = set(12, 0.5);
        for cell in fewer.cells.iter_mut().skip(2) {
            cell.rows.retain(|row| !matches!(row, Row::Job(row) if row.job == 3));
        }
        let all = charts(&fewer, None, None);
        assert!(all[0].series.iter().any(|s| s.name == "job 1, the slowest"));
    }
}
