//! Figures over the levels of a factor of the experiment, or of a key that a load swept. There is one curve for each combination of
//! everything else that was varied.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{level_number as number, own_name};
use results::model::{FactorFacts, PictureFacts, PlanFacts, SweepFacts, VariantFacts};
use units::Unit;

use super::chart::scale as scale_of_values;
use super::grids::level;
use super::{Axis, Chart, FigureRow, Of, Part, Scale, Series, Shape};
use crate::wording;

/// Fewest points of a curve: two are just a comparison.
const POINTS: usize = 3;

/// Most lines in one chart of a sweep of several keys; more are distributed over several charts.
const PANEL: usize = 4;
/// The keys of a sweep by bytes in flight: the number of bytes, and the number of I/Os into which they are split.
const SPLIT: [&str; 2] = ["outstanding", "depth"];

/// The name of a curve, and the variant whose colour it has, if it belongs to one.
type Named = (String, Option<usize>);

/// One point: the curve it is on, its level, its figure.
type Point = (Named, f64, Option<f64>);

/// A curve: its name and its points.
type Curve = (Named, Vec<(f64, Option<f64>)>);

/// Texts that explain how to read a curve over a factor, and one over the points of a sweep.
const OF_FACTOR: &str = "Each point is the median over the repeats of one variant; one line for each combination of what else was varied. \
    Parallel lines mean that the two do not depend on each other.";
const OF_SWEEP: &str = "Each point is one point of the sweep: the median over the repeats. One line for each variant, and for each combination of \
    what else was swept.";
const OF_PANEL: &str = "Each point is one point of the sweep: the median over the repeats. One line for each variant; of what else was swept \
    each combination has a chart.";

/// Returns charts of every figure on the first screen over the factor with the most numeric levels, and over each sweep.
pub fn charts(plan: &PlanFacts, rows: &[FigureRow]) -> Vec<Chart> {
    drawn(plan, rows, &Wanted { rows: &FigureRow::headline, axis: None })
}

/// Returns the curves of the figure that a picture names, over the factor or swept key that it names.
pub fn of_picture(
    plan: &PlanFacts,
    rows: &[FigureRow],
    picture: &PictureFacts,
    is_shown: &dyn Fn(&FigureRow) -> bool,
) -> Vec<Chart> {
    drawn(plan, rows, &Wanted { rows: is_shown, axis: picture.by.as_deref() })
}

/// The curves to draw: a filter of figures, and the factor or swept key they are drawn over.
struct Wanted<'a> {
    rows: &'a dyn Fn(&FigureRow) -> bool,
    /// Name of a factor or a swept key; `None` for the one with the most levels.
    axis: Option<&'a str>,
}

impl Wanted<'_> {
    fn is_drawn_over(&self, name: &str) -> bool {
        self.axis.is_none_or(|axis| axis == name)
    }
}

fn drawn(plan: &PlanFacts, rows: &[FigureRow], wanted: &Wanted) -> Vec<Chart> {
    let mut charts = over_factor(plan, rows, wanted);
    charts.extend(over_sweeps(plan, rows, wanted));
    charts.retain(Chart::has_points);
    charts
}

fn over_factor(plan: &PlanFacts, rows: &[FigureRow], wanted: &Wanted) -> Vec<Chart> {
    let numeric = plan.factors.iter().filter(|f| f.levels.iter().all(|l| number(l).is_some()));
    let numeric = numeric.filter(|factor| wanted.is_drawn_over(&factor.name));
    let longest = numeric.filter(|f| f.levels.len() >= POINTS).rev().max_by_key(|f| f.levels.len());
    let Some(factor) = longest else { return Vec::new() };
    let point = |row: &FigureRow, at: usize, variant: &VariantFacts| -> Option<Point> {
        let level = number(variant.levels.get(&factor.name)?)?;
        let value = row.values.get(at).copied().flatten();
        let others = others(plan, factor, variant).unwrap_or_else(|| row.label.clone());
        Some(((others, None), level, value.map(|figure| figure.median)))
    };
    let of_row = |row: &FigureRow| {
        let variants = plan.variants.iter().enumerate();
        let points = variants.filter_map(|(at, variant)| point(row, at, variant)).collect();
        let axis = Over { name: &factor.name, levels: &factor.levels, reading: OF_FACTOR };
        chart(row, &row.scope.name(), &axis, points)
    };
    rows.iter().filter(|row| (wanted.rows)(row)).map(of_row).collect()
}

/// Returns the levels of all other factors: `dedupe on, compression off`; `None` where there are no others.
fn others(plan: &PlanFacts, factor: &FactorFacts, variant: &VariantFacts) -> Option<String> {
    let level = |factor: &FactorFacts| Some(format!("{} {}", factor.name, level(factor, variant)?));
    let variant_name = own_name(plan, variant);
    let others = plan.factors.iter().filter(|other| other.name != factor.name);
    let named =
        [variant_name].into_iter().filter(|name| !name.is_empty()).chain(others.filter_map(level));
    let named = named.collect::<Vec<_>>().join(", ");
    (!named.is_empty()).then_some(named)
}

fn over_sweeps(plan: &PlanFacts, rows: &[FigureRow], wanted: &Wanted) -> Vec<Chart> {
    let mut points: BTreeMap<&str, BTreeMap<&str, &SweepFacts>> = BTreeMap::new();
    for stage in plan.variants.iter().flat_map(|variant| &variant.stages) {
        if let Some(sweep) = &stage.sweep {
            points.entry(&sweep.stage).or_default().insert(&stage.name, sweep);
        }
    }
    let of = |(stage, points)| over_sweep(plan, rows, (stage, &points), wanted);
    points.into_iter().flat_map(of).collect()
}

/// Returns the swept keys with their levels.
fn levels_of<'a>(points: &BTreeMap<&str, &'a SweepFacts>) -> BTreeMap<&'a str, Vec<String>> {
    let mut levels: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, value) in points.values().flat_map(|sweep| &sweep.point) {
        let known = levels.entry(key).or_default();
        if !known.contains(value) {
            known.push(value.clone());
        }
    }
    levels
}

/// Returns the charts of one sweep over the swept key with the most numeric values.
fn over_sweep(
    plan: &PlanFacts,
    rows: &[FigureRow],
    (stage, points): (&str, &BTreeMap<&str, &SweepFacts>),
    wanted: &Wanted,
) -> Vec<Chart> {
    let levels = levels_of(points);
    // A sweep by bytes in flight has a map, which says more.
    if wanted.axis.is_none() && SPLIT.iter().all(|key| levels.contains_key(key)) {
        return Vec::new();
    }
    let numeric = levels.iter().filter(|(_, l)| l.iter().all(|level| number(level).is_some()));
    let numeric = numeric.filter(|(key, _)| wanted.is_drawn_over(key));
    let Some((key, levels)) = numeric.max_by_key(|(_, levels)| levels.len()) else {
        return Vec::new();
    };
    if levels.len() < POINTS {
        return Vec::new();
    }
    let rest = |sweep: &SweepFacts| {
        let rest = sweep.point.iter().filter(|(other, _)| other != key);
        rest.map(|other| format!(", {}", wording::at_level(other))).collect::<String>()
    };
    let others: BTreeSet<String> = points.values().map(|sweep| rest(sweep)).collect();
    let panels =
        others.len() > 1 && plan.variants.len() > 1 && others.len() * plan.variants.len() > PANEL;
    let mut figures: Vec<(&FigureRow, String, Vec<Point>)> = Vec::new();
    for row in rows.iter().filter(|row| (wanted.rows)(row)) {
        let Some(sweep) = row.scope.stage.as_deref().and_then(|stage| points.get(stage)) else {
            continue;
        };
        let Some(level) = sweep.point.get(*key).and_then(|level| number(level)) else { continue };
        let rest = rest(sweep);
        let (panel, rest) = if panels { (rest, String::new()) } else { (String::new(), rest) };
        let variant_values = plan.variants.iter().zip(&row.values).enumerate();
        let variant_points = variant_values.map(|(index, (variant, value))| {
            let name = (format!("{}{rest}", variant.name), Some(index).filter(|_| rest.is_empty()));
            (name, level, value.map(|figure| figure.median))
        });
        let same = |known: &FigureRow| known.metric == row.metric && known.scope.of == row.scope.of;
        match figures.iter_mut().find(|(known, of, _)| same(known) && *of == panel) {
            Some((.., points)) => points.extend(variant_points),
            None => figures.push((row, panel, variant_points.collect())),
        }
    }
    let reading = if panels { OF_PANEL } else { OF_SWEEP };
    let axis = Over { name: key, levels, reading };
    let drawn = |(row, panel, points): (&FigureRow, String, _)| {
        let of = match &row.scope.of {
            Of::Operation(name) | Of::Layer(name) => format!("{name} in {stage}"),
            Of::Load | Of::Command | Of::Content => stage.to_owned(),
        };
        let mut chart = chart(row, &of, &axis, points);
        chart.id.push_str(&panel.replace(", ", "-"));
        chart.title.push_str(&panel);
        chart
    };
    figures.into_iter().map(drawn).collect()
}

/// The factor or swept key that a curve is drawn over.
struct Over<'a> {
    name: &'a str,
    levels: &'a [String],
    /// Text that explains how to read the curve.
    reading: &'a str,
}

/// Returns the chart of the figure of `row` over the levels of a factor or a swept key.
fn chart(row: &FigureRow, of: &str, over: &Over, points: Vec<Point>) -> Chart {
    let Over { name, levels, reading } = *over;
    let mut curves: Vec<Curve> = Vec::new();
    for (curve, x, y) in points {
        match curves.iter_mut().find(|(known, _)| *known == curve) {
            Some((_, points)) => points.push((x, y)),
            None => curves.push((curve, vec![(x, y)])),
        }
    }
    // A single point is only in the tables: it is not a curve.
    curves.retain(|(_, points)| points.len() > 1);
    let series: Vec<Series> = curves
        .into_iter()
        .enumerate()
        .map(|(hue, ((name, variant), mut points))| {
            points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            let (x, y) = points.into_iter().unzip();
            // In a variant's colour an odd number means a dashed line; a variant has only one line here.
            let hue = if variant.is_some() { 0 } else { hue };
            Series { name, variant, hue, repeat: None, x, y }
        })
        .collect();
    let percent = levels.iter().all(|level| level.trim_end().ends_with('%'));
    let mut places: Vec<(f64, &String)> =
        levels.iter().filter_map(|level| Some((number(level)?, level))).collect();
    places.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    Chart {
        id: format!("curve-{}-{of}", row.metric),
        title: wording::capital(&format!("{} of {of} by {}", row.label, wording::key(name))),
        part: Part::Load,
        reading: reading.to_owned(),
        shape: Shape::Marked,
        names: places.iter().map(|(_, level)| wording::level(level)).collect(),
        x: Axis {
            label: wording::key(name),
            scale: scale(&places),
            unit: if percent { Unit::Percent } else { Unit::Count },
        },
        y: Axis { label: row.label.clone(), scale: scale_of_values(&series), unit: row.unit },
        series,
    }
}

/// Returns the scale of the levels: those that span a decade would crowd at one end of a linear axis.
fn scale(places: &[(f64, &String)]) -> Scale {
    match (places.first(), places.last()) {
        (Some((least, _)), Some((most, _))) if *least > 0.0 && most / least >= 10.0 => Scale::Log,
        _ => Scale::Linear,
    }
}
