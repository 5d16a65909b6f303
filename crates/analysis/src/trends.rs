//! One experiment run again and again on one machine: which of its figures changed, and between which results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::Timestamp;
use results::model::{Accelerator, Manifest};
use results::{ResultSet, Seal};
use stats::{LEAST_REPEATS, Trend};
use units::{Better, Seed};

use crate::comparisons::few_beyond;
use crate::scope::Scope;
use crate::{Analysis, analyse};

/// The beginning of 2025, seconds since 1970: no run started earlier.
const FIRST_START: i64 = 1_735_689_600;

/// Figures and facts of a result that are compared with those of other results of its kind. The result itself need not be kept.
#[derive(Debug, Clone)]
pub struct TrendResult {
    run_id: String,
    kind: TrendKind,
    run: TrendRun,
    figures: Vec<AskedFigure>,
}

/// The properties that results must have in common to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrendKind {
    /// The experiment's name.
    pub experiment: String,
    /// Its scale.
    pub scale: Option<String>,
    /// Processor of the machine, and the accelerator of the guest; or a note that all was simulated.
    pub machine: String,
    /// The whole text of the experiment's file: with different questions it is a different experiment.
    text: Option<String>,
}

/// One run in a series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrendRun {
    /// Time at which it started: UTC, RFC 3339.
    pub started_utc: String,
    /// Directory of the result.
    pub path: PathBuf,
    /// The kernel that the layers ran in.
    pub kernel: Option<String>,
    /// Version of the program.
    pub tool_version: String,
    /// Tells whether its files are known to be as the run left them; for a result without a seal that is not known.
    pub sealed: bool,
}

#[derive(Debug, Clone)]
struct AskedFigure {
    name: TrendName,
    value: f64,
    threshold: f64,
    better: Better,
}

/// A result that is not part of any series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its directory.
    pub path: PathBuf,
    /// The reason why it is left out.
    pub why: String,
}

/// All series of some results, and the results that are in none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trends {
    /// Every figure of every kind.
    pub series: Vec<TrendSeries>,
    /// Results that do not count.
    pub left_out: Vec<LeftOut>,
}

/// Name of a series: the metric, its scope, the variant and its base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrendName {
    /// Id of the metric.
    pub metric: String,
    /// Scope of the metric.
    pub scope: Scope,
    /// The variant.
    pub variant: String,
    /// The base that it is divided by; `None` where there is only one variant, or no ratio.
    pub over: Option<String>,
}

/// A figure over all results of one kind, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendSeries {
    /// Kind that the results have in common.
    pub kind: TrendKind,
    /// Name of the series.
    pub name: TrendName,
    /// The direction that is good.
    pub better: Better,
    /// The relative difference that does not matter, as the experiment says it (0.03 is 3 %).
    pub threshold: f64,
    /// The runs with their values: ratios to the base, or medians.
    pub runs: Vec<(TrendRun, f64)>,
    /// Trend of the values, or of their logarithms where [`Self::is_relative`]; places are among `runs`.
    pub trend: Trend,
    /// Results without a figure of enough repeats.
    pub left_out: usize,
}

impl TrendSeries {
    /// Tells whether changes are stated relative to the level before, which needs all values above 0.
    pub fn is_relative(&self) -> bool {
        are_relative(&self.values())
    }

    fn values(&self) -> Vec<f64> {
        self.runs.iter().map(|(_, value)| *value).collect()
    }
}

/// Tells whether changes of these values are stated relative to the level before, which needs all of them above 0.
pub fn are_relative(values: &[f64]) -> bool {
    values.iter().all(|value| *value > 0.0)
}

/// Returns the trend of values, oldest first, or of their logarithms where they [`are_relative`]. For other values a change counts
/// from `threshold` times their mean magnitude. `threshold` is the relative difference that does not matter (0.03 is 3 %); `seed` seeds the test.
pub fn trend_of(values: &[f64], threshold: f64, seed: Seed) -> Trend {
    if are_relative(values) {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        return stats::trend(&logs, threshold.ln_1p(), seed);
    }
    let size = values.iter().map(|value| value.abs()).sum::<f64>() / values.len() as f64;
    stats::trend(values, threshold * size, seed)
}

impl TrendResult {
    /// Takes the figures that the experiment asks about from a complete result: each other variant over the base, or the only variant's median.
    ///
    /// # Errors
    /// When the result is incomplete, is not as its run left it, or has a start time that cannot be ordered among others.
    pub fn of(result: &ResultSet) -> Result<Self, LeftOut> {
        let changed = result.seal.broken().map(|what| format!("it was changed: {what}"));
        let incomplete = || Some(format!("it is incomplete: {}", result.incomplete.as_ref()?));
        let manifest = &result.manifest;
        let left_out = |why| LeftOut { path: result.path.clone(), why };
        if let Some(why) = changed.or_else(incomplete) {
            return Err(left_out(why));
        }
        let started_utc = start(&manifest.started_utc).map_err(left_out)?;
        let analysis = analyse(result);
        let kernel = kernels(result);
        Ok(Self {
            run_id: manifest.run_id.clone(),
            kind: kind(result),
            run: TrendRun {
                started_utc,
                path: result.path.clone(),
                kernel,
                tool_version: manifest.tool_version.clone(),
                sealed: result.seal == Seal::Whole,
            },
            figures: figures(&analysis, manifest),
        })
    }
}

/// Returns a start time in the canonical form by which runs are sorted, or the reason why it is invalid.
fn start(text: &str) -> Result<String, String> {
    let time: Timestamp =
        text.parse().map_err(|_| format!("its started_utc '{text}' is no time"))?;
    if time.as_second() < FIRST_START {
        return Err(format!("it says that it started at {text}: the clock was wrong"));
    }
    Ok(time.to_string())
}

/// Returns the kernels that the cells ran on, or that of the machine where no cell records one.
fn kernels(result: &ResultSet) -> Option<String> {
    let records = result.cells.iter().filter_map(|cell| cell.record.as_ref());
    let of_cells: BTreeSet<&str> =
        records.filter_map(|record| record.ran_on.0.get("kernel")).map(String::as_str).collect();
    let machine = result.manifest.guest.as_ref().unwrap_or(&result.manifest.host);
    match of_cells.is_empty() {
        true => machine.0.get("kernel").cloned(),
        false => Some(of_cells.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// Returns the text of an experiment without a kernel set on the command line, so that runs on different kernels belong to one series.
fn without_kernel(text: &str) -> String {
    let is_kernel = |line: &&str| line.starts_with("\"machine.kernel\" = ");
    let kept = text.lines().filter(|line| !is_kernel(line)).collect::<Vec<_>>().join("\n");
    // The form in which earlier versions wrote what was given on the command line.
    let kept = kept.replace("# Given on the command line:\n[given]", "[set]");
    kept.trim_end().strip_suffix("[set]").unwrap_or(&kept).trim_end().to_owned()
}

fn kind(result: &ResultSet) -> TrendKind {
    let manifest = &result.manifest;
    let cpu = manifest.host.0.get("cpu").map_or("an unknown CPU", String::as_str);
    TrendKind {
        experiment: manifest.plan.experiment.clone(),
        scale: manifest.plan.scale.clone(),
        machine: match manifest.simulated {
            true => "simulated, where no figure is real".to_owned(),
            false => format!("{cpu}, {}", place(manifest.accelerator)),
        },
        text: result.experiment_toml.as_deref().map(without_kernel),
    }
}

fn place(accelerator: Accelerator) -> &'static str {
    match accelerator {
        Accelerator::None => "no lab",
        Accelerator::Kvm => "the lab with KVM",
        Accelerator::Tcg => "the lab with an emulated CPU",
    }
}

/// Returns the figures asked about that have as many repeats as a verdict needs.
fn figures(analysis: &Analysis, manifest: &Manifest) -> Vec<AskedFigure> {
    let mut figures = Vec::new();
    let mut add = |name: TrendName, value: Option<f64>, n: usize, threshold: f64| {
        let value = value.filter(|value| n >= LEAST_REPEATS && value.is_finite());
        let picked = || manifest.plan.picked_figure(name.scope.stage.as_deref(), &name.metric);
        let better = layers::metric(&name.metric).map(|metric| metric.better);
        let better = better.or_else(|| Some(picked()?.better)).unwrap_or(Better::Neither);
        figures.extend(value.map(|value| AskedFigure { name, value, threshold, better }));
    };
    if let [only] = &analysis.variants[..] {
        for (scope, metric, figure, threshold) in asked_of(only, manifest) {
            let (metric, variant) = (metric.to_owned(), only.name.clone());
            let name = TrendName { metric, scope: scope.clone(), variant, over: None };
            add(name, figure.median, figure.n, threshold);
        }
    }
    for c in &analysis.comparisons {
        let Some(threshold) = c.threshold.filter(|_| !c.few_beyond) else { continue };
        let name = TrendName {
            metric: c.metric.clone(),
            scope: c.scope.clone(),
            variant: c.new.clone(),
            over: Some(c.base.clone()),
        };
        // Without a ratio, as to a base of 0, the variant's own figure is taken.
        let new_figure = || {
            let variant = analysis.variants.iter().find(|one| one.name == c.new)?;
            variant.figure(&c.scope, &c.metric)
        };
        match (c.ratio, new_figure()) {
            (None, Some(new_figure)) => {
                add(TrendName { over: None, ..name }, new_figure.median, new_figure.n, threshold);
            }
            (ratio, _) => add(name, ratio, c.n, threshold),
        }
    }
    figures
}

/// Returns the figures asked about of the only variant, each with the difference that does not matter.
fn asked_of<'a>(
    only: &'a crate::VariantFigures,
    manifest: &'a Manifest,
) -> impl Iterator<Item = (&'a Scope, &'a str, &'a stats::Figure, f64)> {
    let all = only.figures.iter().flat_map(|(scope, of)| {
        of.iter().map(move |(metric, figure)| (scope, metric.as_str(), figure))
    });
    // A percentile from few I/Os varies from run to run by chance.
    let all = all.filter(|(scope, metric, _)| !few_beyond(&[only], scope, metric));
    all.filter_map(|(scope, metric, figure)| {
        let question =
            manifest.plan.questions.iter().find(|one| crate::asks(one, scope, metric))?;
        Some((scope, metric, figure, question.threshold))
    })
}

/// Returns the series of all results, one for each kind and figure, with their trends. A run counts once, however many copies of its result
/// there are. `seed` seeds the series drawn by the test.
pub fn trends(mut results: Vec<TrendResult>, seed: Seed) -> Trends {
    results.sort_by(|a, b| a.run.cmp(&b.run));
    let mut left_out = take_copies(&mut results);
    let empty = results.iter().filter(|result| result.figures.is_empty());
    left_out.extend(empty.map(|result| LeftOut {
        path: result.run.path.clone(),
        why: format!("nothing that it asks rests on {LEAST_REPEATS} repeats or more"),
    }));
    let mut series: Vec<TrendSeries> = Vec::new();
    for result in &results {
        for figure in &result.figures {
            let is_same = |one: &&mut TrendSeries| {
                one.kind == result.kind
                    && one.name == figure.name
                    && one.threshold == figure.threshold
            };
            let point = (result.run.clone(), figure.value);
            match series.iter_mut().find(is_same) {
                Some(series) => series.runs.push(point),
                None => series.push(new_series(&result.kind, figure, point)),
            }
        }
    }
    for series in &mut series {
        series.trend = trend_of(&series.values(), series.threshold, seed);
        let of_kind = results.iter().filter(|result| result.kind == series.kind).count();
        series.left_out = of_kind - series.runs.len();
    }
    Trends { series, left_out }
}

/// Begins a series with its first result.
fn new_series(kind: &TrendKind, figure: &AskedFigure, first: (TrendRun, f64)) -> TrendSeries {
    TrendSeries {
        kind: kind.clone(),
        name: figure.name.clone(),
        better: figure.better,
        threshold: figure.threshold,
        runs: vec![first],
        trend: Trend::TooFew,
        left_out: 0,
    }
}

/// Removes all results of a run but one.
fn take_copies(results: &mut Vec<TrendResult>) -> Vec<LeftOut> {
    let mut runs: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut copies = Vec::new();
    results.retain(|result| {
        let path = result.run.path.clone();
        match runs.get(&result.run_id) {
            None => runs.insert(result.run_id.clone(), path).is_none(),
            Some(first) => {
                let why = format!("it belongs to the same run as {}", first.display());
                copies.push(LeftOut { path, why });
                false
            }
        }
    });
    copies
}
