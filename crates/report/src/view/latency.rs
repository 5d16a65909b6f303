//! Latency as a distribution: all quantiles, on an axis on which 90 %, 99 %, 99.9 %, ... are equally far apart.

use std::collections::BTreeSet;

use results::histogram;
use results::model::CellState;
use results::read::{CellData, ResultSet};
use units::Unit;

use super::{Axis, Chart, Part, Scale, Series, Shape};

/// Number of points drawn for each nine of the axis.
const PER_NINE: usize = 12;

/// Returns one chart for each operation of each measured stage.
pub fn charts(set: &ResultSet) -> Vec<Chart> {
    let stages = set.manifest.plan.measured_stages();
    let apart = stages.len() > 1;
    let of_stage = |stage: Option<&str>| {
        operations(set, stage)
            .iter()
            .map(|operation| chart(set, stage, operation))
            .collect::<Vec<_>>()
    };
    let mut charts: Vec<Chart> = if apart {
        stages.into_iter().flat_map(|stage| of_stage(Some(stage))).collect()
    } else {
        of_stage(None)
    };
    charts.retain(Chart::has_points);
    charts
}

/// Returns the operations that have latencies, in a stage or in all measured ones.
pub(super) fn operations(set: &ResultSet, stage: Option<&str>) -> BTreeSet<String> {
    let names = |cell| histograms(cell, stage).map(|(name, _)| name.to_owned());
    set.cells.iter().flat_map(names).collect()
}

/// Returns the latency below which a share of the I/Os of a cell's stage stayed; `None` where there were too few I/Os.
pub(super) fn quantile(cell: &CellData, stage: &str, operation: &str, share: f64) -> Option<f64> {
    let texts = histograms(cell, Some(stage)).filter(|(name, _)| *name == operation);
    let histogram = histogram::merge(texts.map(|(_, text)| text)).ok().flatten()?;
    let beyond = histogram.len() as f64 * (1.0 - share);
    (beyond >= 1.0).then(|| histogram.value_at_quantile(share) as f64)
}

/// Returns the id of the chart of an operation in a stage, or in the only one.
pub fn id(stage: Option<&str>, operation: &str) -> String {
    stage.map_or_else(
        || format!("latency-{operation}"),
        |stage| format!("latency-{stage}-{operation}"),
    )
}

/// Returns operation and histogram of every measured load of a cell in a stage, or in all.
fn histograms<'a>(
    cell: &'a CellData,
    stage: Option<&'a str>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let record = cell.record.as_ref().filter(|r| r.state == CellState::Done);
    let stages = record.into_iter().flat_map(|r| r.stages.iter().filter(|s| s.measured));
    let wanted = stages.filter(move |s| stage.is_none_or(|name| s.name == name));
    let loads = wanted.filter_map(|s| s.load.as_ref());
    loads.flat_map(|load| {
        load.operations
            .iter()
            .filter_map(|(name, o)| Some((name.as_str(), o.histogram.as_deref()?)))
    })
}

fn chart(set: &ResultSet, stage: Option<&str>, operation: &str) -> Chart {
    let mut series = Vec::new();
    for (index, variant) in set.manifest.plan.variants.iter().enumerate() {
        let cells: Vec<_> = set
            .cells_of(&variant.name)
            .map(|cell| {
                let texts = histograms(cell, stage).filter(|(name, _)| *name == operation);
                (cell.entry.repeat, texts.map(|(_, text)| text).collect::<Vec<_>>())
            })
            .filter(|(_, texts)| !texts.is_empty())
            .collect();
        let line = |repeat, texts: &[&str]| line(&variant.name, index, repeat, texts);
        if cells.len() > 1 {
            series.extend(cells.iter().filter_map(|(repeat, texts)| line(Some(*repeat), texts)));
        }
        let all: Vec<_> = cells.iter().flat_map(|(_, texts)| texts.iter().copied()).collect();
        series.extend(line(None, &all));
    }
    let in_stage = stage.map_or_else(String::new, |stage| format!(" in stage {stage}"));
    Chart {
        id: id(stage, operation),
        title: format!("Latency percentiles of {operation}{in_stage}"),
        part: Part::Load,
        reading: "Read upwards from a share: above 99 % is the latency that only one I/O in a hundred exceeded. Each step to the right is ten \
                  times rarer. Bold is all repeats together, thin is each of them; the figures in the tables are medians of the repeats' own \
                  percentiles."
            .to_owned(),
        shape: Shape::Lines,
        names: Vec::new(),
        x: Axis { label: "Share of I/Os that were faster".to_owned(), scale: Scale::Nines, unit: Unit::Ratio },
        y: Axis { label: "Latency".to_owned(), scale: Scale::Log, unit: Unit::Nanos },
        series,
    }
}

/// Returns a histogram's quantiles, as far as its count allows: 1000 I/Os say nothing about the 99.99th percentile.
fn line(name: &str, variant: usize, repeat: Option<u32>, texts: &[&str]) -> Option<Series> {
    let histogram = histogram::merge(texts.iter().copied()).ok().flatten()?;
    let reach = (histogram.len() as f64).log10();
    let last = (reach * PER_NINE as f64).floor() as usize;
    let x: Vec<f64> = (0..=last).map(|i| i as f64 / PER_NINE as f64).collect();
    let y = x
        .iter()
        .map(|nines| Some(histogram.value_at_quantile(1.0 - 10f64.powf(-nines)) as f64))
        .collect();
    Some(Series { name: name.to_owned(), variant: Some(variant), hue: 0, repeat, x, y })
}
