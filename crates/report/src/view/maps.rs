//! A sweep over two numbers as a map: a cell for each point, in the colour of its figure. Over depth and size of the I/Os, diagonals join the
//! cells with as many bytes in flight.

use std::collections::BTreeMap;

use analysis::{Analysis, Split, SplitAnswer, few_ios_of, level_number};
use results::model::{Finding, Severity, SweepFacts, VariantFacts};
use results::read::ResultSet;
use units::{Unit, show};

use super::{FigureRow, Scope};
use crate::wording;

/// Fewest levels of each key: with fewer, a curve says as much.
const LEVELS: usize = 3;
/// Number of colours of a scale.
pub const CLASSES: usize = 5;
/// Ratio of the largest to the least figure from which a scale is logarithmic.
const FAR: f64 = 20.0;
/// Most amounts in flight that an answer names.
const NAMED: usize = 3;
/// The metric of a map with bytes in flight.
const THROUGHPUT: &str = "throughput_bytes_per_s";

/// The maps of one figure of one sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepMap {
    /// The figure and its place: `Throughput of randread in read`.
    pub title: String,
    /// Unit of the figures.
    pub unit: Unit,
    /// The keys across and upwards.
    pub keys: [String; 2],
    /// The levels across and upwards, in order.
    pub levels: [Vec<MapLevel>; 2],
    /// Tells whether the keys are the depth and the size of I/Os, so that a diagonal has the same number of bytes in flight.
    pub in_flight: bool,
    /// The scales, each with the maps that share it: those of the same devices.
    pub groups: Vec<MapGroup>,
}

/// One level of a key.
#[derive(Debug, Clone, PartialEq)]
pub struct MapLevel {
    /// Its name.
    pub name: String,
    /// Its place, in widths of a cell from the first.
    pub place: f64,
}

/// Maps with the same scale of colours.
#[derive(Debug, Clone, PartialEq)]
pub struct MapGroup {
    /// The ends of the classes from the least figure to the largest, one more than there are classes.
    pub ends: Vec<f64>,
    /// A map for each variant.
    pub panels: Vec<Panel>,
}

/// The map of one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Index of the variant.
    pub variant: usize,
    /// Its name.
    pub name: String,
    /// The answer in a few words; empty where nothing is asked of it.
    pub answer: String,
    /// The measured points; there is none where nothing was measured.
    pub cells: Vec<MapCell>,
    /// The diagonals with the same number of bytes in flight.
    pub diagonals: Vec<Diagonal>,
}

/// One measured point.
#[derive(Debug, Clone, PartialEq)]
pub struct MapCell {
    /// Indices of its levels across and upwards.
    pub at: [usize; 2],
    /// Its figure, in the map's unit.
    pub value: f64,
    /// Number of its colour, from 0.
    pub class: usize,
    /// Tells whether a finding, or too few I/Os, spoils its figure.
    pub spoiled: bool,
}

/// The points with the same number of bytes in flight.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagonal {
    /// Bytes in flight.
    pub bytes: f64,
    /// Levels of its first and its last point.
    pub ends: [[usize; 2]; 2],
    /// Levels of the fastest point; `None` where only one was measured.
    pub best: Option<[usize; 2]>,
    /// Tells whether the repeats decide that it is the fastest.
    pub sure: bool,
    /// The fastest against one large I/O, with its interval; empty where that is not known.
    pub ratio: String,
}

/// One point of a figure: the row of its figure, its numbers with their names.
type Point<'a> = (&'a FigureRow, [(f64, String); 2]);

/// A point's keys, its numbers with their names, and whether they are depth and size.
type Placed = ([String; 2], [(f64, String); 2], bool);

/// Returns the maps of all sweeps over two numbers: of throughput over depth and size, and of the figures that are asked about.
pub fn maps(
    set: &ResultSet,
    analysis: &Analysis,
    rows: &[FigureRow],
    findings: &[Finding],
) -> Vec<SweepMap> {
    let variants = &set.manifest.plan.variants;
    let stages = variants.iter().flat_map(|variant| &variant.stages);
    let sweeps: BTreeMap<&str, &SweepFacts> =
        stages.filter_map(|stage| Some((&*stage.name, stage.sweep.as_ref()?))).collect();
    let mut found: Vec<(&SweepFacts, [String; 2], bool, Vec<Point>)> = Vec::new();
    for row in rows.iter().filter(|row| row.known()) {
        let stage = row.scope.stage.as_deref();
        let Some(sweep) = stage.and_then(|stage| sweeps.get(stage)).copied() else { continue };
        let Some((keys, numbers, in_flight)) = placed(sweep) else { continue };
        let same = |(of, .., points): &&mut (&SweepFacts, _, _, Vec<Point>)| {
            let known = points[0].0;
            of.stage == sweep.stage && known.metric == row.metric && known.scope.of == row.scope.of
        };
        match found.iter_mut().find(same) {
            Some((.., points)) => points.push((row, numbers)),
            None => found.push((sweep, keys, in_flight, vec![(row, numbers)])),
        }
    }
    found.retain(|(.., in_flight, points)| match in_flight {
        true => points[0].0.metric == THROUGHPUT && points[0].0.scope.as_operation().is_some(),
        false => points.iter().any(|(row, _)| row.headline()),
    });
    let map = |(sweep, keys, in_flight, points): (&SweepFacts, _, _, Vec<Point>)| {
        let numbers = [0, 1].map(|axis| distinct(&points, axis));
        if numbers.iter().any(|levels| levels.len() < LEVELS) {
            return None;
        }
        let (first, _) = points.first()?;
        let operation = first.scope.as_operation();
        let splits = analysis
            .splits
            .iter()
            .filter(|split| split.stage == sweep.stage && Some(&*split.operation) == operation);
        let splits: Vec<&Split> = splits.collect();
        let panel = |(index, facts): (usize, &VariantFacts)| {
            let spoiled = |row: &FigureRow| is_spoiled(set, analysis, findings, &facts.name, row);
            let splits = splits.iter().copied().filter(|split| split.variant == facts.name);
            let splits: Vec<&Split> = if in_flight { splits.collect() } else { Vec::new() };
            panel((index, &facts.name), &points, &numbers, in_flight, &splits, &spoiled)
        };
        let panels = variants.iter().enumerate().map(panel).zip(variants.iter().map(devices));
        let scope = Scope { stage: Some(sweep.stage.clone()), of: first.scope.of.clone() };
        Some(SweepMap {
            title: wording::capital(&format!("{} of {}", first.label, scope.name())),
            unit: first.unit,
            keys,
            levels: numbers.each_ref().map(|levels| places(levels, in_flight)),
            in_flight,
            groups: groups(panels.filter(|(panel, _)| !panel.cells.is_empty())),
        })
    };
    found.sort_by_key(|(.., in_flight, _)| !in_flight);
    found.into_iter().filter_map(map).collect()
}

/// Returns the keys and numbers of a point, across and upwards; `None` where there are not exactly two numbers.
fn placed(sweep: &SweepFacts) -> Option<Placed> {
    let [(one, first), (other, second)]: [(&String, &String); 2] =
        sweep.point.iter().collect::<Vec<_>>().try_into().ok()?;
    let [x, y] = [level_number(first)?, level_number(second)?];
    let of_ios = |depth: f64, size: f64| {
        let keys = ["depth".to_owned(), "block size".to_owned()];
        (keys, [(depth, show::grouped(depth as u64)), (size, show::bytes(size))], true)
    };
    Some(match (one.as_str(), other.as_str()) {
        ("depth", "outstanding") if x > 0.0 && y > 0.0 => of_ios(x, y / x),
        ("block_size", "depth") if x > 0.0 && y > 0.0 => of_ios(y, x),
        _ => {
            let names = [(x, wording::level(first)), (y, wording::level(second))];
            ([wording::key(one), wording::key(other)], names, false)
        }
    })
}

fn distinct(points: &[Point], axis: usize) -> Vec<(f64, String)> {
    let mut levels: Vec<_> = points.iter().map(|(_, numbers)| numbers[axis].clone()).collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    levels.dedup_by(|a, b| a.0 == b.0);
    levels
}

/// Returns the places of levels: on a logarithmic axis the two closest are a cell apart, on any other all neighbours are.
fn places(levels: &[(f64, String)], logarithmic: bool) -> Vec<MapLevel> {
    let gaps = levels.windows(2).map(|two| (two[1].0 / two[0].0).log2());
    let step = gaps.fold(f64::INFINITY, f64::min);
    let place = |at: usize, number: f64| match logarithmic {
        true => (number / levels[0].0).log2() / step,
        false => at as f64,
    };
    let level = |(at, (number, name)): (usize, &(f64, String))| MapLevel {
        name: name.clone(),
        place: place(at, *number),
    };
    levels.iter().enumerate().map(level).collect()
}

/// Returns the names of the devices of a variant's stack.
fn devices(variant: &VariantFacts) -> Vec<&str> {
    let devices = variant.stack.iter().filter(|facts| facts.layer == "device");
    devices.map(|facts| facts.name.as_str()).collect()
}

/// Tells whether the figure of a variant rests on too few I/Os, or a warning is about its point.
fn is_spoiled(
    set: &ResultSet,
    analysis: &Analysis,
    findings: &[Finding],
    variant: &str,
    row: &FigureRow,
) -> bool {
    let Some(stage) = row.scope.stage.as_deref() else { return false };
    let begins = |finding: &Finding| {
        let range = finding.range?;
        let cell = set.cells.iter().find(|cell| cell.entry.index == range.cell)?;
        let of_variant = cell.entry.variant == variant;
        let mut stages = cell.record.iter().flat_map(|record| &record.stages);
        Some(of_variant && stages.any(|s| s.name == stage && s.start_ns == range.start_ns))
    };
    let named = format!("tage {stage} of {variant} ");
    let spoils = |finding: &Finding| {
        let of_variant = finding.subject.as_deref() == Some(variant);
        finding.severity >= Severity::Warning
            && finding.explains_percent.is_none()
            && (begins(finding) == Some(true) || of_variant && finding.message.contains(&named))
    };
    few_ios_of(analysis, [variant, variant], (&row.scope, &row.metric)).is_some()
        || findings.iter().any(spoils)
}

fn panel(
    (variant, name): (usize, &str),
    points: &[Point],
    levels: &[Vec<(f64, String)>; 2],
    in_flight: bool,
    splits: &[&Split],
    spoiled: &dyn Fn(&FigureRow) -> bool,
) -> Panel {
    let at = |axis: usize, number: f64| levels[axis].iter().position(|(level, _)| *level == number);
    let cell = |(row, [across, up]): &Point| {
        let value = row.values.get(variant).copied().flatten()?.median;
        let at = [at(0, across.0)?, at(1, up.0)?];
        Some(MapCell { at, value, class: 0, spoiled: spoiled(row) })
    };
    let cells: Vec<MapCell> =
        points.iter().filter_map(cell).filter(|cell| cell.value.is_finite()).collect();
    let bytes = |cell: &MapCell| levels[0][cell.at[0]].0 * levels[1][cell.at[1]].0;
    let mut amounts: Vec<f64> = if in_flight { cells.iter().map(bytes).collect() } else { vec![] };
    amounts.sort_by(f64::total_cmp);
    amounts.dedup();
    let diagonal = |amount: f64| {
        let mut on: Vec<&MapCell> = cells.iter().filter(|cell| bytes(cell) == amount).collect();
        on.sort_by_key(|cell| cell.at[0]);
        let split = splits.iter().copied().find(|split| split.outstanding as f64 == amount);
        let depth = split.and_then(fastest_of);
        let decided = |cell: &&&MapCell| Some(levels[0][cell.at[0]].0) == depth;
        let sound = on.iter().filter(|cell| !cell.spoiled);
        let most = sound.max_by(|a, b| a.value.total_cmp(&b.value));
        let sure = on.iter().find(decided);
        let best = sure.or(most).filter(|_| on.len() > 1);
        Some(Diagonal {
            bytes: amount,
            ends: [on.first()?.at, on.last()?.at],
            best: best.map(|cell| cell.at),
            sure: sure.is_some(),
            ratio: split.map(ratio).unwrap_or_default(),
        })
    };
    let diagonals = amounts.into_iter().filter_map(diagonal).collect();
    Panel { variant, name: name.to_owned(), answer: answer(splits), cells, diagonals }
}

/// Returns the depth that is surely the fastest; `None` where that is not decided.
fn fastest_of(split: &Split) -> Option<f64> {
    match split.answer {
        SplitAnswer::Split => Some(split.best.depth as f64),
        SplitAnswer::Whole => Some(split.whole.depth as f64),
        SplitAnswer::Either | SplitAnswer::Open => None,
    }
}

/// Describes the fastest split against the whole: `8 of 64 KiB: 1.64 times [1.62, 1.66] the speed of one`.
fn ratio(split: &Split) -> String {
    let Some(ratio) = split.ratio else { return String::new() };
    let interval = split.low.zip(split.high).map_or_else(String::new, |(low, high)| {
        format!(" [{}, {}]", show::bound(low), show::bound(high))
    });
    let (parts, whole) = (wording::split_parts(split), wording::split_whole(split));
    format!("{parts}: {} times{interval} the speed of {whole}", show::significant(ratio, 3))
}

/// Returns the answer of a variant in a few words: `Split 128 KiB, 512 KiB; do not split 32 KiB`.
fn answer(splits: &[&Split]) -> String {
    let of = |answer: SplitAnswer, words: &str| {
        let those: Vec<String> = splits
            .iter()
            .filter(|split| split.answer == answer)
            .map(|split| show::bytes(split.outstanding as f64))
            .collect();
        let amounts = match those.as_slice() {
            [] => return None,
            all if all.len() == splits.len() && all.len() > 1 => "any amount".to_owned(),
            many if many.len() > NAMED => format!("{} of {} amounts", many.len(), splits.len()),
            few => show::names(few),
        };
        Some(format!("{words} {amounts}"))
    };
    let all = [
        of(SplitAnswer::Split, "split"),
        of(SplitAnswer::Whole, "do not split"),
        of(SplitAnswer::Either, "no difference at"),
        of(SplitAnswer::Open, "not decided at"),
    ];
    wording::capital(&all.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// Groups maps by their devices, and gives each cell its colour.
fn groups<'a>(panels: impl Iterator<Item = (Panel, Vec<&'a str>)>) -> Vec<MapGroup> {
    let mut groups: Vec<(Vec<&str>, Vec<Panel>)> = Vec::new();
    for (panel, devices) in panels {
        match groups.iter_mut().find(|(known, _)| *known == devices) {
            Some((_, panels)) => panels.push(panel),
            None => groups.push((devices, vec![panel])),
        }
    }
    let group = |mut panels: Vec<Panel>| {
        let values = || panels.iter().flat_map(|panel| &panel.cells).map(|cell| cell.value);
        let least = values().fold(f64::INFINITY, f64::min);
        let ends = ends(least, values().fold(f64::NEG_INFINITY, f64::max));
        for cell in panels.iter_mut().flat_map(|panel| &mut panel.cells) {
            cell.class = ends[1..CLASSES].iter().filter(|end| cell.value >= **end).count();
        }
        MapGroup { ends, panels }
    };
    groups.into_iter().map(|(_, panels)| group(panels)).collect()
}

/// Returns the ends of the classes, equally far apart.
fn ends(least: f64, most: f64) -> Vec<f64> {
    let end = |at: usize| {
        let share = at as f64 / CLASSES as f64;
        match least > 0.0 && most >= FAR * least {
            true => least * (most / least).powf(share),
            false => least + (most - least) * share,
        }
    };
    (0..=CLASSES).map(end).collect()
}

#[cfg(test)]
mod tests;
