//! Bars side by side, a colour for each variant: percentiles of latency, or a figure stage by stage.

use results::model::PictureFacts;
use results::read::ResultSet;
use units::Unit;

use crate::view::repeats::median;
use crate::view::{Axis, Chart, FigureRow, Part, Scale, Series, Shape, latency};

/// Returns percentiles of latency of each operation of each stage that the picture names.
pub(super) fn latency(set: &ResultSet, picture: &PictureFacts) -> Vec<Chart> {
    let stages = set.manifest.plan.measured_stages();
    let apart = stages.len() > 1;
    let wanted_stages =
        stages.into_iter().filter(|s| picture.stage.as_deref().is_none_or(|name| name == *s));
    let charts = wanted_stages.flat_map(|stage| {
        let operations = latency::operations(set, Some(stage));
        let wanted_operations = operations
            .into_iter()
            .filter(|name| picture.operation.as_ref().is_none_or(|wanted| wanted == name));
        wanted_operations
            .map(|operation| latency_of(set, (stage, apart), &operation, &picture.percentiles))
            .collect::<Vec<_>>()
    });
    charts.collect()
}

fn latency_of(
    set: &ResultSet,
    (stage, apart): (&str, bool),
    operation: &str,
    percentiles: &[f64],
) -> Chart {
    let variants = set.manifest.plan.variants.iter().enumerate();
    let series = variants.map(|(index, variant)| {
        let value = |percent: &f64| {
            let percentile = |cell| latency::quantile(cell, stage, operation, percent / 100.0);
            median(set.cells_of(&variant.name).filter_map(percentile).collect())
        };
        bars(&variant.name, index, percentiles.iter().map(value).collect())
    });
    let in_stage = if apart { format!(" in stage {stage}") } else { String::new() };
    Chart {
        id: format!("bars-latency-{stage}-{operation}"),
        title: format!("How long I/Os took: latency percentiles of {operation}{in_stage}"),
        part: Part::Load,
        reading: "99 % is the latency that 99 of 100 I/Os of the stage stayed below: the median over the repeats of each repeat's own percentile. \
                  Shorter bars are better."
            .to_owned(),
        shape: Shape::Bars,
        names: percentiles.iter().map(|percent| format!("{} %", plain(*percent))).collect(),
        x: Axis { label: "Share of I/Os that were faster".to_owned(), scale: Scale::Linear, unit: Unit::Count },
        y: Axis { label: "Latency".to_owned(), scale: Scale::Linear, unit: Unit::Nanos },
        series: series.filter(|series| series.y.iter().any(Option::is_some)).collect(),
    }
}

/// Returns a percentage without trailing zeros: `99.9` for 99.9, `50` for 50.
fn plain(percent: f64) -> String {
    let text = format!("{percent:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns a figure of every variant, with a group of bars for each stage, operation or layer that has it.
pub(super) fn comparison(
    set: &ResultSet,
    rows: &[FigureRow],
    picture: &PictureFacts,
    wanted: &dyn Fn(&FigureRow) -> bool,
) -> Vec<Chart> {
    let wanted_rows: Vec<&FigureRow> = rows.iter().filter(|row| wanted(row)).collect();
    let Some(first) = wanted_rows.first() else { return Vec::new() };
    let variants = set.manifest.plan.variants.iter().enumerate();
    let series = variants.map(|(index, variant)| {
        let value = |row: &&FigureRow| Some(row.values.get(index).copied().flatten()?.median);
        bars(&variant.name, index, wanted_rows.iter().map(value).collect())
    });
    let way = match first.better {
        units::Better::Higher => " Longer bars are better.",
        units::Better::Lower => " Shorter bars are better.",
        units::Better::Neither => "",
    };
    // Bars of the same operation or layer in several stages are named only by the stages, so that names fit on a narrow page.
    let one =
        wanted_rows.iter().all(|row| row.scope.of == first.scope.of && row.scope.stage.is_some());
    let staged = one && wanted_rows.len() > 1;
    let within =
        picture.stage.as_ref().map_or_else(String::new, |stage| format!(" in stage {stage}"));
    let of = match wanted_rows.len() {
        1 => format!(" of {}", first.scope.name()),
        _ if staged => {
            format!(" of {}, stage by stage", first.scope.of.clone().in_only_stage().name())
        }
        _ => within,
    };
    let name = |row: &&FigureRow| match (&row.scope.stage, staged) {
        (Some(stage), true) => stage.clone(),
        _ => row.scope.name(),
    };
    let (common, names) = without_common_words(wanted_rows.iter().map(name).collect());
    let common = common.map_or_else(String::new, |common| format!(", {common}"));
    vec![Chart {
        id: format!("bars-{}-{}", first.metric, picture.stage.as_deref().unwrap_or("all")),
        title: format!("{}{of}{common}", capitalised(&first.label)),
        part: Part::Load,
        reading: format!(
            "Each bar is one variant, the median over its repeats; the tables have the spread.{way}"
        ),
        shape: Shape::Bars,
        names,
        x: Axis { label: String::new(), scale: Scale::Linear, unit: Unit::Count },
        y: Axis { label: capitalised(&first.label), scale: Scale::Linear, unit: first.unit },
        series: series.filter(|series| series.y.iter().any(Option::is_some)).collect(),
    }]
}

/// Splits off the words with which all names begin, so that names fit on a narrow page; returns these words, and the shortened names.
fn without_common_words(names: Vec<String>) -> (Option<String>, Vec<String>) {
    let words = |name: &String| name.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = names.iter().map(words).collect();
    let Some((first, others)) = all.split_first().filter(|(_, others)| !others.is_empty()) else {
        return (None, names);
    };
    let shared = |at: &usize| others.iter().all(|other| other.get(*at) == first.get(*at));
    // The last word of the shortest name is kept, so that no name is empty.
    let most = all.iter().map(Vec::len).min().unwrap_or(1).saturating_sub(1);
    let count = (0..most).take_while(shared).count();
    let rest = all.iter().map(|words| words[count..].join(" ")).collect();
    ((count > 0).then(|| first[..count].join(" ")), rest)
}

fn bars(name: &str, variant: usize, y: Vec<Option<f64>>) -> Series {
    let x = (0..y.len()).map(|place| place as f64).collect();
    Series { name: name.to_owned(), variant: Some(variant), hue: 0, repeat: None, x, y }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}
