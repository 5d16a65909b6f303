//! Charts of loads of trees over time: operations of each kind, their outcomes, and the number of files and bytes in the tree.

use std::collections::BTreeMap;

use results::model::{IntervalRow, TREE_SOURCE};
use results::read::{CellData, ResultSet};
use units::Unit;

use super::clock::{Window, seconds, stage_axis, windows};
use super::repeats::{Line, Look, with_median, with_median_of_all};
use super::samples::line_within;
use super::throughput::intervals;
use super::{Axis, Chart, Part, Scale, Series, Shape};

/// Returns charts for each measured load of a tree: its files and its bytes, one line for each variant, and for each variant the operations of each
/// kind and their outcomes.
pub fn charts(set: &ResultSet) -> Vec<Chart> {
    let stages = set.manifest.plan.measured_stages();
    let loads: Vec<&str> = stages.iter().copied().filter(|stage| is_of_tree(set, stage)).collect();
    let several = stages.len() > 1;
    let mut charts = Vec::new();
    for stage in loads {
        let within = if several { format!(" in stage {stage}") } else { String::new() };
        charts.push(population(set, stage, &within, &FILES));
        charts.push(population(set, stage, &within, &BYTES));
        for variant in 0..set.manifest.plan.variants.len() {
            charts.push(kinds(set, stage, &within, variant));
            charts.push(outcomes(set, stage, &within, variant));
        }
    }
    charts.retain(Chart::has_points);
    charts
}

fn is_of_tree(set: &ResultSet, stage: &str) -> bool {
    let mut rows = set.cells.iter().flat_map(intervals);
    rows.any(|(window, row)| window.name == stage && row.outcomes.is_some())
}

/// One field of the samples of a tree.
struct Course {
    field: &'static str,
    title: &'static str,
    axis: &'static str,
    unit: Unit,
}

const FILES: Course =
    Course { field: "files", title: "Files in the tree", axis: "Files", unit: Unit::Count };
const BYTES: Course =
    Course { field: "bytes", title: "Bytes in the tree", axis: "Bytes", unit: Unit::Bytes };

fn population(set: &ResultSet, stage: &str, within: &str, course: &Course) -> Chart {
    let line = |cell: &CellData| {
        let stage_window = windows(cell).into_iter().find(|window| window.name == stage);
        let span = stage_window.map(|window| (window.start_ns, window.end_ns.unwrap_or(u64::MAX)));
        span.map(|span| line_within(cell, span, TREE_SOURCE, course.field, false))
            .unwrap_or_default()
    };
    let variants = set.manifest.plan.variants.iter().enumerate();
    let series = variants.flat_map(|(index, variant)| {
        let look = Look { name: variant.name.clone(), variant: Some(index), hue: 0 };
        with_median_of_all(&look, set.cells_of(&variant.name).map(line).collect())
    });
    Chart {
        id: format!("tree-{}-{stage}", course.field),
        title: format!("{}{within}", course.title),
        reading: "As counted by the load: names that have a file, not counting links, and their sizes. Where the line is level, as many \
                  files are made as deleted. The space that the file system uses for them is shown in its own charts."
            .to_owned(),
        y: Axis { label: course.axis.to_owned(), scale: Scale::Linear, unit: course.unit },
        series: series.collect(),
        ..empty()
    }
}

/// Returns an empty chart over the time of a stage.
fn empty() -> Chart {
    Chart {
        id: String::new(),
        title: String::new(),
        part: Part::Load,
        reading: String::new(),
        shape: Shape::Lines,
        names: Vec::new(),
        x: stage_axis(),
        y: Axis { label: "Per second".to_owned(), scale: Scale::Linear, unit: Unit::PerSecond },
        series: Vec::new(),
    }
}

fn kinds(set: &ResultSet, stage: &str, within: &str, variant: usize) -> Chart {
    let of = &set.manifest.plan.variants[variant].name;
    Chart {
        id: format!("tree-kinds-{stage}-{variant}"),
        title: format!("Operations of each kind on {of}{within}"),
        reading: "Operations done per second. Their proportions follow the weights, except for operations that missed: a read of a name \
                  without a file does not count as a read."
            .to_owned(),
        y: Axis { label: "Operations per second".to_owned(), ..empty().y },
        series: lines(set, stage, of, |row| vec![(row.operation.clone(), row.ios)]),
        ..empty()
    }
}

/// The outcomes that are distinguished, in the order of their colours.
const OUTCOMES: [&str; 4] = ["done", "expected errors", "unexpected errors", "skipped"];

fn outcomes(set: &ResultSet, stage: &str, within: &str, variant: usize) -> Chart {
    let of = &set.manifest.plan.variants[variant].name;
    let parts = |row: &IntervalRow| {
        let other = row.outcomes.unwrap_or_default();
        let counts = [row.ios, other.expected, row.errors, other.skipped];
        OUTCOMES.into_iter().zip(counts).map(|(name, n)| (name.to_owned(), n)).collect()
    };
    let mut series = lines(set, stage, of, parts);
    // An outcome that never occurred has no line.
    series.retain(|one| one.y.iter().flatten().any(|y| *y > 0.0));
    Chart {
        id: format!("tree-outcomes-{stage}-{variant}"),
        title: format!("Outcomes of operations on {of}{within}"),
        reading: "Expected errors follow from the state of the tree: no file of that name, a file that exists already, no space. Unexpected \
                  errors should not occur. Skipped operations were not attempted. An outcome that never occurred has no line."
            .to_owned(),
        y: Axis { label: "Operations per second".to_owned(), ..empty().y },
        series,
        ..empty()
    }
}

/// Returns a line for each name that the rows of a stage give numbers for, per second.
fn lines(
    set: &ResultSet,
    stage: &str,
    variant: &str,
    parts: impl Fn(&IntervalRow) -> Vec<(String, u64)>,
) -> Vec<Series> {
    let mut all: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for cell in set.cells_of(variant) {
        for (name, points) in points(cell, stage, &parts) {
            let mut line = Line { repeat: cell.entry.repeat, ..Line::default() };
            points.into_iter().for_each(|(x, y)| line.push(x, y));
            all.entry(name).or_default().push(line);
        }
    }
    let known = |name: &String| OUTCOMES.iter().position(|known| known == name);
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|(name, _)| known(name));
    let drawn = all.into_iter().enumerate().flat_map(|(hue, (name, lines))| {
        let hue = known(&name).unwrap_or(hue);
        with_median(&Look { name, variant: None, hue }, lines)
    });
    drawn.filter(Series::bold).collect()
}

type Points = Vec<(f64, Option<f64>)>;

/// Returns the points of each name in one cell: the sum over all rows of an interval, divided by its length.
fn points(
    cell: &CellData,
    stage: &str,
    parts: &impl Fn(&IntervalRow) -> Vec<(String, u64)>,
) -> BTreeMap<String, Points> {
    let mut sums: BTreeMap<(String, u64, u64), (Window, u64)> = BTreeMap::new();
    for (window, row) in intervals(cell).filter(|(window, _)| window.name == stage) {
        for (name, n) in parts(row) {
            let at = (name, row.start_ns, row.end_ns);
            sums.entry(at).or_insert_with(|| (window.clone(), 0)).1 += n;
        }
    }
    let longest = sums.keys().map(|(_, start, end)| end - start).max().unwrap_or_default();
    let mut points: BTreeMap<String, Points> = BTreeMap::new();
    for ((name, start_ns, end_ns), (window, n)) in sums {
        // A short last interval of a run is not comparable with the others.
        if end_ns - start_ns >= longest / 2 && end_ns > start_ns {
            let rate = n as f64 / seconds(start_ns, end_ns);
            let line = points.entry(name).or_default();
            line.push((seconds(window.start_ns, end_ns), Some(rate)));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use results::model::{Outcomes, Population, Row};

    use super::*;

    /// The result whose load is one of a tree, with half as many expected errors as operations that were done.
    fn tree() -> ResultSet {
        let mut set = fixture::result();
        for cell in &mut set.cells {
            let mut samples = Vec::new();
            for row in &mut cell.rows {
                let Row::Interval(row) = row else { continue };
                let (attempted, expected) = (row.ios * 3 / 2, row.ios / 2);
                row.outcomes = Some(Outcomes { attempted, expected, skipped: 0 });
                let population = Population { files: 7 + row.end_ns % 2, bytes: 4096 };
                samples.push(Row::Sample(population.sample(row.end_ns)));
            }
            cell.rows.extend(samples);
        }
        set
    }

    #[test]
    fn a_load_of_a_tree_has_its_population_its_kinds_and_its_outcomes_over_time() {
        assert_eq!(charts(&fixture::result()), [], "no tree, no chart");
        let charts = charts(&tree());
        let of = |begins: &str| charts.iter().find(|chart| chart.id.starts_with(begins)).unwrap();
        assert!(of("tree-files-").series.iter().any(|s| s.y.contains(&Some(7.0))));
        assert!(of("tree-bytes-").series.iter().all(|s| s.variant.is_some()));
        assert!(of("tree-kinds-").series.iter().any(|s| s.name == "randwrite"));
        let outcomes = of("tree-outcomes-");
        let names: Vec<_> = outcomes.series.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["done", "expected errors"], "what never came has no line");
        let (done, expected) = (&outcomes.series[0].y, &outcomes.series[1].y);
        let halves = |(done, expected): (&Option<f64>, &Option<f64>)| {
            (done.unwrap() / 2.0 - expected.unwrap()).abs() < 1.0
        };
        assert!(!done.is_empty() && done.iter().zip(expected).all(halves));
    }

    #[test]
    fn the_first_picture_of_a_question_about_an_operation_on_a_tree_is_of_that_operation() {
        let set = tree();
        let view = crate::view::view(&set, &analysis::analyse(&set), &[]);
        assert!(view.answers[0].starts_with("iops-") && view.answers[0].ends_with("-randwrite"));
    }
}
