//! Charts of the layers over time: each kind of layer describes its own, drawn from its samples.

use std::collections::BTreeSet;

use layers::{Chart as Described, Kind};
use results::model::LayerFacts;
use results::read::ResultSet;
use units::Unit;

use super::clock::span_axis;
use super::repeats::{Look, median, with_median, with_median_of_all};
use super::samples::{line, mean_rate, samples};
use super::stacked::stacked;
use super::{Axis, Chart, Part, Scale, Series, Shape, ThreadKindRow, ThreadRow};

/// Returns one chart for every description and every variant with such a layer. Charts with a line per thread use the order of `threads`, busiest
/// first, so that a thread has the same colour in all charts.
pub fn charts(set: &ResultSet, threads: &[ThreadRow]) -> Vec<Chart> {
    let order: Vec<&str> = threads.iter().map(|row| row.thread.as_str()).collect();
    let mut charts = Vec::new();
    for (index, variant) in set.manifest.plan.variants.iter().enumerate() {
        for facts in &variant.stack {
            let Some(kind) = layers::kind(&facts.layer) else { continue };
            let layer_charts = kind
                .charts
                .iter()
                .map(|described| (described.rate, chart(set, index, facts, described, &order)));
            let changing = layer_charts.filter(|(rate, chart)| !chart.is_of_a_moment(*rate));
            charts
                .extend(changing.map(|(rate, chart)| if rate { chart } else { as_growth(chart) }));
        }
    }
    // Figures that never changed are only in the tables.
    let moves = |series: &Series| {
        let mut values = series.y.iter().flatten();
        values.next().is_some_and(|first| values.any(|value| value != first))
    };
    charts.retain(|chart| chart.series.iter().any(moves));
    charts
}

fn chart(
    set: &ResultSet,
    variant: usize,
    layer: &LayerFacts,
    described: &Described,
    order: &[&str],
) -> Chart {
    let of = &set.manifest.plan.variants[variant].name;
    let per_field = described.series.iter().any(|s| s.field == "*");
    let mut series = Vec::new();
    for one in described.series {
        let source = format!("{}.{}", layer.name, one.probe);
        let names = match one.field {
            "*" => fields(set, of, &source).into_iter().map(|f| (f.clone(), f)).collect(),
            field => vec![(field.to_owned(), one.label.to_owned())],
        };
        for (field, name) in names {
            let look = Look { name, variant: None, hue: series_hue(&series) };
            let cells = set.cells_of(of).map(|c| line(c, &source, &field, described.rate));
            let cells = cells.collect();
            let lines = match described.rate {
                true => with_median(&look, cells),
                false => with_median_of_all(&look, cells),
            };
            // Repeats cannot be stacked on each other: only the medians are stacked.
            series.extend(lines.into_iter().filter(|s: &Series| !per_field || s.bold()));
        }
    }
    if per_field {
        series = stacked(series, order);
        series.iter_mut().for_each(|one| one.name = layers::thread(&one.name));
    }
    let title = if layer.name == *of {
        format!("{}: {}", layer.name, described.title)
    } else {
        format!("{} in {of}: {}", layer.name, described.title)
    };
    Chart {
        id: format!("{variant}-{}-{}", layer.name, described.id),
        title,
        part: if per_field { Part::Machine } else { Part::Layers },
        reading: described.help.to_owned(),
        shape: if per_field { Shape::Stacked } else { Shape::Lines },
        names: Vec::new(),
        x: span_axis(set),
        y: Axis { label: y_label(described), scale: Scale::Linear, unit: described.unit },
        series,
    }
}

/// Change of a line, as a share of its highest value, below which it looks flat on an axis from zero.
const STILL: f64 = 0.01;

/// Turns a chart whose lines hardly change into one of their growth: on an axis from zero they would look flat, and findings may be about them.
fn as_growth(mut chart: Chart) -> Chart {
    let hardly = |series: &Series| {
        let values = || series.y.iter().flatten().copied();
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        high - low < STILL * high
    };
    if chart.shape != Shape::Lines || !chart.series.iter().all(hardly) {
        return chart;
    }
    for series in &mut chart.series {
        let first = series.y.iter().flatten().next().copied().unwrap_or(0.0);
        series.y.iter_mut().flatten().for_each(|y| *y -= first);
    }
    chart.title.push_str(", growth");
    chart.reading.push_str(" Drawn is what it grew by since the beginning.");
    chart.y.label = format!("Growth: {}", chart.y.label);
    chart
}

/// Returns the next colour: all series of one line share a colour.
fn series_hue(series: &[Series]) -> usize {
    series.last().map_or(0, |s| s.hue + 1)
}

pub(super) fn y_label(described: &Described) -> String {
    axis_label(described.unit, described.rate)
}

/// Returns the label of an axis for values of this unit, or for their growth per second.
pub(super) fn axis_label(unit: Unit, rate: bool) -> String {
    if rate && unit == Unit::Ratio {
        return "Seconds per second".to_owned();
    }
    let name = match unit {
        Unit::Blocks => "Blocks of 4 KiB",
        Unit::Bytes => "Bytes",
        Unit::BytesPerSecond => "Bytes per second",
        Unit::Percent => "Percent",
        Unit::Nanos | Unit::Micros | Unit::Seconds => "Time",
        Unit::Ratio => "Ratio",
        Unit::Count => "Count",
        Unit::PerSecond => "Per second",
    };
    let of_time = [Unit::Percent, Unit::Ratio, Unit::BytesPerSecond, Unit::PerSecond];
    if rate && !of_time.contains(&unit) { format!("{name} per second") } else { name.to_owned() }
}

/// Returns every field that a source of a variant ever had.
fn fields(set: &ResultSet, variant: &str, source: &str) -> BTreeSet<String> {
    let cells = set.cells_of(variant);
    let names = cells.flat_map(|c| samples(c, source).flat_map(|s| s.fields.keys().cloned()));
    names.collect()
}

/// Returns the kinds of layers in this result.
fn used(set: &ResultSet) -> impl Iterator<Item = &'static Kind> {
    let stacks = set.manifest.plan.variants.iter().flat_map(|variant| &variant.stack);
    let used: BTreeSet<String> = stacks.map(|layer| layer.layer.clone()).collect();
    ::layers::kinds().iter().filter(move |kind| used.contains(kind.name))
}

/// Returns the kinds of threads of this result's layers of which there can be only one, each with its work first.
pub fn single_threads(set: &ResultSet) -> Vec<String> {
    used(set).flat_map(|kind| kind.threads.single).map(|name| layers::thread(name)).collect()
}

/// Returns the use of one CPU, percent, below which a kind has more threads than needed, and above which it needs one more.
pub fn thread_marks(set: &ResultSet) -> Option<(f64, f64)> {
    used(set).find_map(|kind| kind.threads.marks)
}

/// Returns the busiest thread of each kind: threads of a kind have its name and a number (`logQ0`, `logQ1`).
pub fn thread_kinds(threads: &[ThreadRow], variants: usize) -> Vec<ThreadKindRow> {
    let mut rows: Vec<ThreadKindRow> = Vec::new();
    for row in threads {
        let kind = row.thread.trim_end_matches(|c: char| c.is_ascii_digit());
        let at = rows.iter().position(|known| known.kind == kind).unwrap_or_else(|| {
            rows.push(ThreadKindRow { kind: kind.to_owned(), busiest: vec![None; variants] });
            rows.len() - 1
        });
        for (known, percent) in rows[at].busiest.iter_mut().zip(&row.percent) {
            if let Some(percent) = *percent {
                let (most, count) = known.unwrap_or((0.0, 0));
                *known = Some((most.max(percent), count + 1));
            }
        }
    }
    rows
}

/// Returns the CPU use of each thread of the layers over the measured stages, busiest first.
pub fn threads(set: &ResultSet) -> Vec<ThreadRow> {
    let variants = &set.manifest.plan.variants;
    let mut rows: Vec<ThreadRow> = Vec::new();
    for (index, variant) in variants.iter().enumerate() {
        for facts in &variant.stack {
            let sources = layers::kind(&facts.layer).into_iter().flat_map(thread_probes);
            for probe in sources {
                let source = format!("{}.{probe}", facts.name);
                for thread in fields(set, &variant.name, &source) {
                    let shares =
                        set.cells_of(&variant.name).filter_map(|c| mean_rate(c, &source, &thread));
                    let percent = median(shares.map(|share| share * 100.0).collect());
                    let row = rows.iter().position(|r| r.thread == thread).unwrap_or_else(|| {
                        rows.push(ThreadRow { thread, percent: vec![None; variants.len()] });
                        rows.len() - 1
                    });
                    rows[row].percent[index] = percent;
                }
            }
        }
    }
    let most = |row: &ThreadRow| row.percent.iter().flatten().copied().fold(0.0, f64::max);
    rows.sort_by(|a, b| most(b).total_cmp(&most(a)));
    rows
}

/// Returns the probes that have a field per thread.
fn thread_probes(kind: &Kind) -> impl Iterator<Item = &'static str> {
    kind.charts.iter().flat_map(|c| c.series).filter(|s| s.field == "*").map(|s| s.probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hardly_leaves_its_level_is_drawn_as_its_growth() {
        let chart = |y: [f64; 3]| Chart {
            id: "1-vdo-overhead".into(),
            title: "vdo: Metadata blocks (overhead)".into(),
            part: Part::Layers,
            reading: String::new(),
            shape: Shape::Lines,
            names: Vec::new(),
            x: Axis { label: String::new(), scale: Scale::Linear, unit: Unit::Seconds },
            y: Axis { label: "Blocks of 4 KiB".into(), scale: Scale::Linear, unit: Unit::Blocks },
            series: vec![Series {
                name: "overhead".into(),
                variant: None,
                hue: 0,
                repeat: None,
                x: vec![0.0, 1.0, 2.0],
                y: y.map(Some).to_vec(),
            }],
        };
        let grown = as_growth(chart([786_116.0, 786_120.0, 786_154.0]));
        assert_eq!(grown.series[0].y, [Some(0.0), Some(4.0), Some(38.0)]);
        assert!(grown.title.ends_with("growth") && grown.y.label.starts_with("Growth"));
        let moved = chart([786_116.0, 786_120.0, 800_000.0]);
        assert_eq!(as_growth(moved.clone()), moved);
    }
}
