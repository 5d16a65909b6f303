//! Pictures of a layer over time, for every variant with a layer of that name: lines of its charts, or its metrics from one sample to
//! the next.

use std::collections::BTreeMap;

use layers::{ALLOCATED, FigureFacts, Kind, Window, machine};
use results::model::{PictureFacts, Row, SampleRow};
use results::read::{CellData, ResultSet};
use units::{Basis, Metric, Unit};

use crate::view::chart::scale;
use crate::view::clock::{measured_span, seconds, span_axis, stage_axis, windows};
use crate::view::layers::{axis_label, y_label};
use crate::view::repeats::{Line, Look, with_median};
use crate::view::samples::line_within;
use crate::view::{Axis, Chart, Part, Scale, Series, Shape};

/// The meaning of one name in `series`.
#[derive(Clone, Copy)]
enum Drawn {
    /// A line of a chart of the layer's kind.
    Field(&'static layers::Chart, &'static layers::Series),
    /// A metric of the kind.
    Metric(&'static Metric),
    /// A counter of the kind.
    Counter(&'static Metric),
}

impl Drawn {
    /// Finds a name, which may be the id of a metric or counter, or the label or field of a line; devices have only metrics.
    fn find(layer: &str, name: &str) -> Option<Self> {
        let Some(kind) = layers::kind(layer) else {
            return machine::metrics().find(|metric| metric.id == name).map(Self::Metric);
        };
        if let Some(metric) = kind.metrics.iter().find(|metric| metric.id == name) {
            return Some(Self::Metric(metric));
        }
        if let Some(counter) = kind.counter(name) {
            return Some(Self::Counter(counter));
        }
        kind.charts.iter().find_map(|chart| {
            let line = chart.series.iter().find(|s| s.label == name || s.field == name)?;
            Some(Self::Field(chart, line))
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Field(_, line) => line.label,
            Self::Metric(metric) | Self::Counter(metric) => metric.name,
        }
    }

    /// Returns the label of the axis, its unit, and how to read the line.
    fn axis(self) -> (String, Unit, String) {
        match self {
            Self::Field(chart, _) => (y_label(chart), chart.unit, chart.help.to_owned()),
            Self::Metric(metric) => {
                let since = match metric.basis {
                    Basis::Counter | Basis::Load | Basis::Work => {
                        " Each point covers the time since the sample before."
                    }
                    Basis::Cell => " Each point covers the time since allocation ended.",
                    Basis::Level => "",
                };
                (metric.name.to_owned(), metric.unit, format!("{}{since}", metric.help))
            }
            Self::Counter(counter) => {
                let grows = counter.basis != Basis::Level;
                let rate = if grows { " Growth per second." } else { "" };
                let help = format!("{}: {}{rate}", counter.name, counter.help);
                (axis_label(counter.unit, grows), counter.unit, help)
            }
        }
    }
}

/// An axis with how to read its lines, their names and their points.
type Shared = (Axis, Vec<String>, Vec<&'static str>, Vec<Series>);

/// Returns one chart, or one for each axis if the series do not share one.
pub(super) fn charts(set: &ResultSet, picture: &PictureFacts) -> Vec<Chart> {
    let Some(layer) = picture.layer.as_deref() else { return Vec::new() };
    let mut lines: Vec<(Drawn, usize)> = Vec::new();
    for name in &picture.series {
        for (index, variant) in set.manifest.plan.variants.iter().enumerate() {
            let found = variant.stack.iter().find(|facts| facts.name == layer);
            let drawn = found.and_then(|facts| Drawn::find(&facts.layer, name));
            lines.extend(drawn.map(|drawn| (drawn, index)));
        }
    }
    // The axis of a metric is labelled with its own name; several metrics of the same unit share an axis.
    let mut axes: Vec<Shared> = Vec::new();
    let single = lines.iter().all(|(drawn, _)| drawn.name() == lines[0].0.name());
    for (hue, (drawn, index)) in lines.iter().enumerate() {
        let variant = &set.manifest.plan.variants[*index].name;
        let look = match (single, lines.iter().all(|(_, other)| other == index)) {
            (true, _) => Look { name: variant.clone(), variant: Some(*index), hue: 0 },
            (false, true) => Look { name: drawn.name().to_owned(), variant: None, hue },
            (false, false) => {
                Look { name: format!("{}, {variant}", drawn.name()), variant: None, hue }
            }
        };
        let of_cell = |cell| of_cell(cell, layer, *drawn, set, *index, picture.stage.as_deref());
        let lines = with_median(&look, set.cells_of(variant).filter_map(of_cell).collect());
        let (label, unit, help) = drawn.axis();
        let same =
            |axis: &Axis| axis.unit == unit && (unit == Unit::Percent || axis.label == label);
        match axes.iter_mut().find(|(axis, ..)| same(axis)) {
            Some((axis, helps, names, series)) => {
                if axis.label != label {
                    axis.label = "Percent".to_owned();
                }
                if !helps.contains(&help) {
                    helps.push(help);
                }
                if !names.contains(&drawn.name()) {
                    names.push(drawn.name());
                }
                series.extend(lines);
            }
            None => {
                let axis = Axis { label, scale: Scale::Linear, unit };
                axes.push((axis, vec![help], vec![drawn.name()], lines));
            }
        }
    }
    let in_stage = picture.stage.as_ref().map_or_else(String::new, |s| format!(" in stage {s}"));
    let chart = |(y, helps, names, series): Shared| Chart {
        id: format!(
            "series-{layer}-{}-{}",
            names.join("-"),
            picture.stage.as_deref().unwrap_or("all")
        ),
        title: format!("{layer}: {} over time{in_stage}", names.join(", ")),
        part: Part::Layers,
        reading: helps.join(" "),
        shape: Shape::Lines,
        names: Vec::new(),
        x: if picture.stage.is_some() { stage_axis() } else { span_axis(set) },
        y: Axis { scale: scale(&series), ..y },
        series,
    };
    axes.into_iter().map(chart).collect()
}

/// Returns the line of one cell; `None` where the stage did not run.
fn of_cell(
    cell: &CellData,
    layer: &str,
    drawn: Drawn,
    set: &ResultSet,
    variant: usize,
    stage: Option<&str>,
) -> Option<Line> {
    let span = match stage {
        None => measured_span(cell)?,
        Some(name) => {
            let window = windows(cell).into_iter().find(|window| window.name == name)?;
            (window.start_ns, window.end_ns.unwrap_or(u64::MAX))
        }
    };
    match drawn {
        Drawn::Field(chart, line) => {
            let source = format!("{layer}.{}", line.probe);
            Some(line_within(cell, span, &source, line.field, chart.rate))
        }
        Drawn::Counter(counter) => {
            let (probe, field) = layers::place_of(counter);
            let grows = counter.basis != Basis::Level;
            Some(line_within(cell, span, &format!("{layer}.{probe}"), field, grows))
        }
        Drawn::Metric(metric) => {
            let stack = &set.manifest.plan.variants.get(variant)?.stack;
            let facts = stack.iter().find(|facts| facts.name == layer)?;
            Some(metric_line(cell, span, (layer, layers::kind(&facts.layer)), metric))
        }
    }
}

/// Returns the metric at each round of samples of the layer: over the time since the round before, or since allocation.
fn metric_line(
    cell: &CellData,
    span: (u64, u64),
    (layer, kind): (&str, Option<&'static Kind>),
    metric: &Metric,
) -> Line {
    let mut line = Line { repeat: cell.entry.repeat, ..Line::default() };
    let of_device = machine::device_source(metric.id, layer);
    let is_of_layer = |row: &&SampleRow| {
        let same_source = match kind {
            Some(_) => row.source.strip_prefix(layer).is_some_and(|rest| rest.starts_with('.')),
            None => row.source == of_device,
        };
        same_source && row.error.is_none()
    };
    let figures = |window: &Window| match kind {
        Some(kind) => (kind.figures)(&FigureFacts { layer, window, achieved: None, ios: None }),
        None => machine::device_figures([window, window], layer, true),
    };
    let samples = || {
        let rows = cell.rows.iter().filter_map(|row| match row {
            Row::Sample(sample) => Some(sample),
            Row::Interval(_) | Row::Job(_) | Row::Stage(_) => None,
        });
        rows.filter(is_of_layer)
    };
    let allocated: Vec<&SampleRow> =
        samples().filter(|row| row.mark.as_deref() == Some(ALLOCATED)).collect();
    // Samples with marks are left out: they are taken close to the regular ones, and little happens in between.
    let at_cadence =
        samples().filter(|row| row.mark.is_none() && (span.0..=span.1).contains(&row.at_ns));
    let rounds = rounds(at_cadence);
    for (place, now) in rounds.iter().enumerate() {
        let from = match metric.basis {
            Basis::Cell => Some(&allocated),
            Basis::Counter | Basis::Load | Basis::Work | Basis::Level => {
                place.checked_sub(1).and_then(|at| rounds.get(at))
            }
        };
        if let (Some(from), Some(at)) = (from, now.iter().map(|row| row.at_ns).max()) {
            let window = Window::of_rows(from, now);
            let value = figures(&window).get(metric.id).copied().flatten();
            line.push(seconds(span.0, at), value);
        }
    }
    line
}

/// Groups samples into rounds: whenever all sources were read once, the latest sample of each.
fn rounds<'a>(samples: impl Iterator<Item = &'a SampleRow>) -> Vec<Vec<&'a SampleRow>> {
    let mut rounds = Vec::new();
    let mut latest: BTreeMap<&str, &SampleRow> = BTreeMap::new();
    let mut seen: Vec<&str> = Vec::new();
    for row in samples {
        if seen.contains(&row.source.as_str()) {
            rounds.push(latest.values().copied().collect());
            seen.clear();
        }
        seen.push(&row.source);
        latest.insert(&row.source, row);
    }
    if !seen.is_empty() {
        rounds.push(latest.into_values().collect());
    }
    rounds
}
