//! The content of a report as data: one pure function makes it from a result, its analysis and its findings.
//! Every renderer (page, terminal, JSON, CSV) reads nothing else, so they cannot disagree.

mod alike;
mod boxes;
mod build;
mod caches;
mod chart;
mod clock;
mod commands;
mod courses;
mod curves;
mod driven;
mod effects;
mod facts;
mod figures;
mod glossary;
mod grids;
mod headline;
mod heat;
mod idle;
mod jobs;
mod ladders;
mod latency;
mod layers;
mod machine;
mod maps;
mod marks;
mod pictures;
mod repeats;
mod samples;
mod sentence;
mod splits;
mod stacked;
mod states;
mod strips;
mod throughput;
mod trees;
mod trust;
mod unmeasured;
mod why;

pub use alike::{Alike, alike};
pub use build::view;
pub use caches::CacheRow;
pub use chart::{Axis, CELL, Chart, Part, Raster, Scale, Series, Shape};
pub use clock::{StageStart, of_several};
pub use courses::{CourseRow, Mark};
pub use effects::{EffectRow, effect_name};
pub use glossary::Term;
pub use grids::{Grid, GridCell, GridLine};
pub use headline::WORDS as HEADLINE_WORDS;
pub(crate) use headline::words::place;
pub use jobs::JobFigures;
pub use ladders::LadderRow;
pub use maps::{CLASSES, Diagonal, MapCell, MapGroup, MapLevel, Panel, SweepMap};
pub use marks::marks;
pub use splits::SplitRow;
pub use states::StateRow;
pub use trust::{Trust, apart};
pub use why::{Cause, Why};

use std::collections::BTreeMap;

use analysis::{Expectation, MetricComparison, Reported};
pub use analysis::{Of, Scope};
use results::model::{
    AskedContent, Finding, LayerFacts, MachineLoad, SequentialFacts, StoppedFacts, SweepFacts,
    TargetFacts, VerifyFigures,
};
use units::{Better, Unit};

/// Everything that a report says about one result.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Name of the experiment.
    pub experiment: String,
    /// Its description in the experiment.
    pub about: String,
    /// The accelerator that executed the guest: `kvm`, `tcg` or `none`.
    pub accelerator: String,
    /// Tells whether layers and engine were simulated twins: no figure is real then.
    pub simulated: bool,
    /// Progress of the run that is still writing the result; `None` if there is none.
    pub going_on: Option<String>,
    /// Tells whether every cell of the plan ended and no row was lost.
    pub complete: bool,
    /// The state of its files: `whole` (as the run left them), `broken`, or `none` when that is not known.
    pub seal: &'static str,
    /// Caveats that come before any figure, then the result and how sure it is, in sentences.
    pub summary: String,
    /// Answer to the experiment's question, in at most [`HEADLINE_WORDS`] words; `None` if no question has a figure for it.
    pub headline: Option<String>,
    /// Explanation of a change by the layers' counters; `None` if there is none.
    pub why: Option<Why>,
    /// One sentence for each variant against the base, without intervals and p-values.
    pub verdicts: Vec<Sentence>,
    /// A sentence for each figure that is asked about and that no run has, with the reason.
    pub unmeasured: Vec<String>,
    /// Notes that come before any figure.
    pub banners: Vec<Banner>,
    /// The line that says how far the figures may be trusted.
    pub trust: Trust,
    /// The doctor's findings, worst first.
    pub findings: Vec<Finding>,
    /// Experiment, seed, date, command, ...: name and value.
    pub run: Vec<(String, String)>,
    /// The virtual machine: QEMU, kernel, disks: name and value; empty where there was none.
    pub lab: Vec<(String, String)>,
    /// Facts about how the measured loads were driven: name and text.
    pub driven: Vec<(String, String)>,
    /// The machines.
    pub machine: Vec<MachineRow>,
    /// Names of the measured stages in their order.
    pub stages: Vec<String>,
    /// The time that axes over several stages leave out.
    pub idle: idle::Idle,
    /// The stages that began after the first measured one, for each variant.
    pub starts: Vec<Vec<StageStart>>,
    /// The variants in order; the first is the base of comparisons.
    pub variants: Vec<Variant>,
    /// Every figure of every operation and layer.
    pub figures: Vec<FigureRow>,
    /// Tables of rows of one kind (points of a sweep, levels, variants), asked figures first.
    pub grids: Vec<Grid>,
    /// The effects of each factor and each interaction of two.
    pub effects: Vec<EffectRow>,
    /// Answers to the question of few large or many small I/Os, for each sweep of `outstanding`.
    pub splits: Vec<SplitRow>,
    /// Maps of sweeps over two numbers, those by bytes in flight first.
    pub maps: Vec<SweepMap>,
    /// The course of throughput within the runs.
    pub courses: Vec<CourseRow>,
    /// The course of caches: cold, warm, full of junk, stalled.
    pub caches: Vec<CacheRow>,
    /// Latency by layer, where it was asked for.
    pub ladders: Vec<LadderRow>,
    /// The expectations, with their outcomes.
    pub expectations: Vec<Expectation>,
    /// Figures that the experiment's source reported, with those found here.
    pub reported: Vec<Reported>,
    /// Spread of throughput over the intervals, as in the thesis on VDO.
    pub spread: Vec<SpreadRow>,
    /// Spread of the bandwidth of each I/O.
    pub io_bandwidth: Vec<SpreadRow>,
    /// Each job by itself, where that was asked for.
    pub jobs: Vec<JobFigures>,
    /// Ids of the charts shown first: the experiment's pictures, else the chart of its first question.
    pub answers: Vec<String>,
    /// All charts.
    pub charts: Vec<Chart>,
    /// CPU per thread of a layer.
    pub threads: Vec<ThreadRow>,
    /// CPU of layers' threads by kind of thread.
    pub thread_kinds: Vec<ThreadKindRow>,
    /// Threads that a layer has only once, each with its work before its name.
    pub single_threads: Vec<String>,
    /// CPU use of a thread, percent of one CPU, below which its kind has more threads than needed, and above which it needs one more.
    pub thread_marks: Option<(f64, f64)>,
    /// The cost of the samplers.
    pub samplers: Vec<SamplerRow>,
    /// The lab's time line: moments, each with the seconds since the command.
    pub lab_times: Vec<(String, f64)>,
    /// The states that layers were brought to.
    pub states: Vec<StateRow>,
    /// The cells in the order they ran.
    pub cells: Vec<Cell>,
    /// The decision on the number of repeats; `None` where the number was fixed.
    pub sequential: Option<Sequential>,
    /// The meaning of the metrics shown.
    pub glossary: Vec<Term>,
}

/// The decision on the number of repeats of a run that could stop early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequential {
    /// Repeats after which looks were planned.
    pub planned: SequentialFacts,
    /// Repeats after which the run was looked at.
    pub looks: Vec<u32>,
    /// The look at which the run stopped, and the reason; `None` where it was cut off before.
    pub stopped: Option<StoppedFacts>,
    /// The decision in a sentence.
    pub text: String,
}

impl View {
    /// Returns the rows that are in no [`Grid`].
    pub fn rows_alone(&self) -> impl Iterator<Item = &FigureRow> {
        let rows = self.figures.iter().enumerate();
        rows.filter(|(index, _)| !self.gridded(*index)).map(|(_, row)| row)
    }

    /// Tells whether the row with this index is in a [`Grid`].
    fn gridded(&self, row: usize) -> bool {
        self.grids.iter().any(|grid| grid.rows().any(|of| of == row))
    }

    /// Returns the variants that use another name for a device, with that name: `ssd: sata, nvme: pcie`; `None` if all use the same.
    pub fn called_otherwise(&self, scope: &Scope) -> Option<String> {
        let name = scope.as_layer()?;
        let own_names = self.variants.iter().filter_map(|v| Some((&v.name, v.devices.get(name)?)));
        let otherwise = own_names.filter(|(_, own_name)| *own_name != name);
        let texts: Vec<String> =
            otherwise.map(|(v, own_name)| format!("{v}: {own_name}")).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// Returns a fact about the run by its name: `started`, `run`.
    pub fn run_fact(&self, name: &str) -> Option<&str> {
        self.run.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Tells whether there are too many variants to name each on the first screen.
    pub fn crowded(&self) -> bool {
        self.variants.len() > CROWD
    }
}

/// Most variants that the first screen names one by one.
pub(crate) const CROWD: usize = 5;

/// A sentence with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// The sentence.
    pub text: String,
    /// `better`, `worse`, `same`, `unclear`; `None` when nothing was compared.
    pub verdict: Option<String>,
}

/// A note above the figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Banner {
    /// Two or three words.
    pub title: String,
    /// The consequence for the figures.
    pub text: String,
    /// The original message of QEMU or of the guest's kernel about it.
    pub raw: Option<String>,
}

/// One fact of the machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineRow {
    /// Its name.
    pub name: String,
    /// Its value on the machine `fathom` was started on.
    pub host: Option<String>,
    /// Its value in the lab's guest.
    pub guest: Option<String>,
}

/// One variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Repeats that ended.
    pub repeats: usize,
    /// Its layers from bottom to top.
    pub stack: Vec<LayerFacts>,
    /// The variant's own name of each device, by the name shared by the devices at that place in all variants' stacks.
    pub devices: BTreeMap<String, String>,
    /// Its stages in words.
    pub stages: Vec<String>,
    /// The targets of its measured stages, by the stages' names.
    pub targets: BTreeMap<String, Vec<TargetFacts>>,
    /// The points of its sweeps, each with the name of the stage that measured it.
    pub points: Vec<(String, SweepFacts)>,
    /// Content that its measured stages wrote; the name of the stage may be missing where there is only one.
    pub content: Vec<Content>,
    /// The findings of verification in all its cells, failed ones included; `None` when no cell was verified.
    pub verified: Option<VerifyFigures>,
}

/// Content of what one stage wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// Name of the stage; `None` where the experiment measures only one.
    pub stage: Option<String>,
    /// The content that was asked for.
    pub asked: Option<AskedContent>,
    /// The content that was achieved: the median of each figure over the repeats, with its interval.
    pub achieved: BTreeMap<String, Figure>,
}

/// One figure of one variant.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Figure {
    /// Median over the repeats.
    pub median: f64,
    /// Lower end of its interval (95 %; the range of fewer than five repeats); `None` with too few repeats.
    pub low: Option<f64>,
    /// Upper end of its interval; `None` with too few repeats.
    pub high: Option<f64>,
    /// Number of repeats behind it.
    pub n: usize,
}

impl Figure {
    /// Tells whether the intervals of two figures overlap; false if one of them has no interval.
    pub fn meets(self, other: Self) -> bool {
        let below = |a: Self, b: Self| a.high.zip(b.low).is_none_or(|(a, b)| a < b);
        !below(self, other) && !below(other, self)
    }
}

/// One figure over all variants.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureRow {
    /// Scope of the figure.
    pub scope: Scope,
    /// Id of the metric, its key in JSON.
    pub metric: String,
    /// Its name for people.
    pub label: String,
    /// Unit of the stored numbers.
    pub unit: Unit,
    /// The direction that is good.
    pub better: Better,
    /// Tells whether the experiment asks about it, so that it gets a verdict.
    pub asked: bool,
    /// Tells whether it measures the purpose of a layer (the space saved, the hits of a cache).
    pub purpose: bool,
    /// Tells whether it is a part of an asked figure and is shown beside it.
    pub part: bool,
    /// One per variant; `None` where the variant has no such figure.
    pub values: Vec<Option<Figure>>,
    /// One per variant: its comparison with the base; `None` for the base and where nothing can be compared.
    pub comparisons: Vec<Option<MetricComparison>>,
}

impl FigureRow {
    /// Tells whether it belongs on the first screen: asked figures, and those that measure a layer's purpose.
    pub fn headline(&self) -> bool {
        self.asked || self.purpose
    }

    /// Tells whether the value of the variant with this index is 0.
    pub fn is_zero(&self, variant: usize) -> bool {
        self.values.get(variant).copied().flatten().is_some_and(|figure| figure.median == 0.0)
    }

    /// Tells whether any variant has a value.
    pub fn known(&self) -> bool {
        self.values.iter().any(Option::is_some)
    }
}

/// Spread of throughput over intervals, or of bandwidth over I/Os, bytes per second; each figure is the median over a variant's runs.
#[derive(Debug, Clone, PartialEq)]
pub struct SpreadRow {
    /// Index of the variant.
    pub variant: usize,
    /// The operation, with its stage where there are several.
    pub operation: String,
    /// Fewest and most intervals, or I/Os, that a run had.
    pub values: (usize, usize),
    /// Least, lower quartile, median, upper quartile, greatest, standard deviation.
    pub figures: [Option<f64>; 6],
}

/// CPU of one thread of a layer over the measured stages.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadRow {
    /// The thread's name without its instance (`cpuQ0`).
    pub thread: String,
    /// Percent of one CPU, median over the repeats, one per variant.
    pub percent: Vec<Option<f64>>,
}

/// CPU of the busiest thread of a kind over the measured stages.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadKindRow {
    /// Name of the threads without their number (`cpuQ`).
    pub kind: String,
    /// One per variant: percent of one CPU, and how many threads of the kind there were.
    pub busiest: Vec<Option<(f64, usize)>>,
}

/// The cost of one sampler.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplerRow {
    /// The probe's id.
    pub source: String,
    /// Samples taken.
    pub samples: usize,
    /// Samples that failed.
    pub failed: usize,
    /// Median wall time of one, nanoseconds.
    pub wall_ns: Option<f64>,
    /// Median CPU time of one, nanoseconds.
    pub cpu_ns: Option<f64>,
    /// CPU time of all over the time they cover, percent of one CPU.
    pub cpu_percent: Option<f64>,
}

/// One cell as it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its variant's index, when the plan names it.
    pub variant: Option<usize>,
    /// Its variant's name.
    pub name: String,
    /// Repeat, from 1.
    pub repeat: u32,
    /// `done`, `failed`, ...
    pub state: String,
    /// Disturbances while it ran, each in a few words; `None` where nobody looked.
    pub disturbed: Option<Vec<String>>,
    /// CPU time of other programs, and pressure, on the machine that ran the cell (in the lab the guest).
    pub machine: Option<MachineLoad>,
    /// The same on the lab's host.
    pub host: Option<MachineLoad>,
    /// Why it failed.
    pub reason: Option<String>,
    /// Its asked figures: label and value, as text.
    pub figures: Vec<(String, String)>,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// One step that was executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its purpose.
    pub about: String,
    /// The command that a person would type.
    pub command: String,
    /// Its duration, nanoseconds.
    pub duration_ns: u64,
    /// Why it failed.
    pub error: Option<String>,
}
