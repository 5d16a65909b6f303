//! The facts of a run: its plan in brief, the machines it ran on, the states of its cells.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    CellState, ExpectedFigure, MachineFacts, MachineLoad, PictureFacts, ReportedFacts,
    SequentialFacts, StageTraits, StoppedFacts, TargetFacts,
};

/// Version of the layout of a result; grows with every change that an older reader would misread.
pub const SCHEMA: u32 = 1;

/// The accelerator that executed the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// The lab with hardware virtualisation.
    Kvm,
    /// The lab with an emulated CPU: shapes and ratios count, not absolute speed.
    Tcg,
    /// No lab: the host itself.
    None,
}

/// `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the layout ([`SCHEMA`]).
    pub schema: u32,
    /// Version of the program that wrote it.
    pub tool_version: String,
    /// Unique to this run.
    pub run_id: String,
    /// The command line that started it.
    pub command: Vec<String>,
    /// Time at which it started: UTC, RFC 3339.
    pub started_utc: String,
    /// Time at which it ended; `None` while it runs and after a kill.
    pub ended_utc: Option<String>,
    /// The times and command lines with which it was continued.
    #[serde(default)]
    pub resumed: Vec<ResumeFacts>,
    /// The device or file of each role that a run on a host began with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, DeviceFacts>,
    /// The seed everything random came from.
    pub seed: units::Seed,
    /// The accelerator that executed the guest's instructions.
    pub accelerator: Accelerator,
    /// The reason why there is no better one, in words.
    pub accelerator_reason: Option<String>,
    /// Tells whether layers and engine were simulated twins: no figure is real then.
    pub simulated: bool,
    /// The plan in brief: what a report needs of it.
    pub plan: PlanFacts,
    /// The whole plan as it was sent to the machine that ran it; opaque to readers.
    pub plan_document: serde_json::Value,
    /// The machine that `fathom` was started on.
    pub host: MachineFacts,
    /// The machine inside the lab.
    pub guest: Option<MachineFacts>,
    /// The lab: QEMU's command line, drive options, where the time went; opaque to most.
    pub lab: Option<serde_json::Value>,
    /// Every cell of the plan in the order of running.
    pub cells: Vec<CellEntry>,
    /// The outcome of the run in words; `None` while it runs and after a kill.
    pub outcome: Option<String>,
    /// The repeat after which a run with as many repeats as needed stopped, and why; `None` before that, and for a fixed number of
    /// repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedFacts>,
}

/// A device or file that a run works on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Its size, bytes.
    pub bytes: u64,
    /// Its identity, which does not depend on its name; opaque to readers.
    pub identity: serde_json::Value,
}

/// A continuation of a run: cells that had not ended well ran again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeFacts {
    /// Time of the continuation: UTC, RFC 3339.
    pub started_utc: String,
    /// The command line.
    pub command: Vec<String>,
    /// Number of cells that were kept.
    pub kept: usize,
    /// Version of the program that continued it; `None` in results of earlier versions.
    #[serde(default)]
    pub tool_version: Option<String>,
}

/// One cell in the manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellEntry {
    /// Position in the order of running, from 0.
    pub index: usize,
    /// Name of its variant.
    pub variant: String,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Its folder below `cells/`.
    pub folder: String,
    /// The cell's state.
    pub state: CellState,
    /// The reason why it failed.
    pub reason: Option<String>,
    /// CPU time that other programs took when the cell began, percent of its machine's CPUs; set if the run waited in vain for a quiet machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed_percent: Option<f64>,
    /// The load of other programs on the host while the cell ran; set for a cell in a guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<MachineLoad>,
}

/// The plan in brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanFacts {
    /// Name of the experiment.
    pub experiment: String,
    /// A description of the experiment.
    pub about: String,
    /// The source of the experiment.
    pub source: Option<String>,
    /// Repeats of each variant; the largest possible number where the run is [`Self::sequential`].
    pub repeat: u32,
    /// The rule that decides during the run how many repeats are needed; `None` where the number is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<SequentialFacts>,
    /// Tells whether the order of the variants within each repeat was random; in results of earlier versions it alternated.
    #[serde(default)]
    pub order_drawn: bool,
    /// Its variants in order; the first is the base of comparisons.
    pub variants: Vec<VariantFacts>,
    /// The questions: these metrics get verdicts.
    pub questions: Vec<AskedMetric>,
    /// The expected figures.
    #[serde(default)]
    pub expectations: Vec<ExpectedFigure>,
    /// Figures that the source reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reported: Vec<ReportedFacts>,
    /// The pictures of the first screen, in this order.
    #[serde(default)]
    pub pictures: Vec<PictureFacts>,
    /// The factors, varied at several levels each, in the order in which the variants' names have them.
    #[serde(default)]
    pub factors: Vec<FactorFacts>,
    /// Name of the scale at which it ran, where the experiment has that scale.
    #[serde(default)]
    pub scale: Option<String>,
    /// Settings of the scale, as they are written (`vdo.logical_size = "10G"`).
    #[serde(default)]
    pub scaled: Vec<String>,
    /// The first variant of the file, if it was not among those chosen to run, so that another variant is the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_left_out: Option<String>,
}

impl Manifest {
    /// Describes in words after which repeat a run with as many repeats as needed stopped, and why; `None` where [`Self::stopped`] is `None`.
    pub fn stopped_text(&self) -> Option<String> {
        let StoppedFacts { after, why } = self.stopped?;
        Some(format!("after {after} of at most {} repeats: {}", self.plan.repeat, why.text()))
    }
}

/// A factor that was varied at several levels, crossed with all other factors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactorFacts {
    /// Its name.
    pub name: String,
    /// Names of its levels, in order; the first is the base's.
    pub levels: Vec<String>,
}

impl PlanFacts {
    /// Returns the names of the measured stages of all variants, in the order of the file: a stage that only a later variant has is placed
    /// after the stage that precedes it in that variant, and the stages of a variant that shares none with others come last.
    pub fn measured_stages(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for variant in &self.variants {
            let measured = || variant.stages.iter().filter(|stage| stage.measured);
            let shared =
                measured().filter_map(|stage| names.iter().position(|name| *name == stage.name));
            let mut next = shared.min().unwrap_or(names.len());
            for stage in measured() {
                let known = names.iter().position(|name| *name == stage.name);
                if known.is_none() {
                    names.insert(next, &stage.name);
                }
                next = known.unwrap_or(next) + 1;
            }
        }
        names
    }

    /// Returns the base of comparisons with the reason, if it is not the first variant of the file; `None` otherwise, and where nothing is
    /// compared.
    pub fn other_base(&self) -> Option<String> {
        let [base, _, ..] = &self.variants[..] else { return None };
        let first = self.first_left_out.as_ref()?;
        Some(format!("{}, since {first}, the first variant of the file, is left out", base.name))
    }

    /// Describes how often each variant is run: `5`, or `auto, at most 27`.
    pub fn repeats(&self) -> String {
        let Some(sequential) = &self.sequential else { return self.repeat.to_string() };
        let time = sequential.time.map_or_else(String::new, |time| format!(" and {time}"));
        format!("{}{time}", self.repeats_at_most())
    }

    /// The number of repeats in words, without the time that a run may take.
    pub fn repeats_at_most(&self) -> String {
        match self.sequential {
            Some(_) => format!("auto, at most {}", self.repeat),
            None => self.repeat.to_string(),
        }
    }

    /// Returns the figures that measured stages pick from the output of commands, each with its stage; only those of `stage` if that is given.
    pub fn picked<'a>(
        &'a self,
        stage: Option<&str>,
    ) -> impl Iterator<Item = (&'a str, &'a str, &'a PickedFacts)> {
        let stages = self.variants.iter().flat_map(|variant| &variant.stages);
        let measured =
            stages.filter(move |s| s.measured && stage.is_none_or(|name| s.name == name));
        measured.flat_map(|s| s.figures.iter().map(|(name, f)| (s.name.as_str(), name.as_str(), f)))
    }

    /// Returns the facts of a metric that is not in the catalogue: a figure that a stage picks from the output of its command.
    pub fn picked_figure(&self, stage: Option<&str>, name: &str) -> Option<&PickedFacts> {
        self.picked(stage).find(|(_, figure, _)| *figure == name).map(|(.., facts)| facts)
    }
}

/// A metric that the experiment asks about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedMetric {
    /// Id of the metric (`iops`, `latency_p99_ns`, `saving_percent`).
    pub metric: String,
    /// The stage it concerns; `None` for every measured one.
    #[serde(default)]
    pub stage: Option<String>,
    /// The operation it concerns; `None` for a layer's metric.
    pub operation: Option<String>,
    /// The layer it concerns; `None` for every one that has such a metric.
    #[serde(default)]
    pub layer: Option<String>,
    /// Relative difference that does not matter (0.03 is 3 %).
    pub threshold: f64,
}

/// One variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantFacts {
    /// Its name.
    pub name: String,
    /// Its layers from bottom to top, the devices first.
    pub stack: Vec<LayerFacts>,
    /// Its stages.
    pub stages: Vec<StageFacts>,
    /// The level of each factor that it was crossed with, by the factor's name.
    #[serde(default)]
    pub levels: BTreeMap<String, String>,
    /// The experiment's settings for the machine that its cells run on, by key: those of the lab's machine, and those of the environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machine: BTreeMap<String, String>,
}

/// One layer of a stack as configured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerFacts {
    /// Its kind (`vdo`, `linear`, `device`).
    pub layer: String,
    /// Its name in the experiment.
    pub name: String,
    /// Its settings as text, defaults included.
    pub settings: BTreeMap<String, String>,
    /// The device or layer that each of its inputs leads to, by the name of the input. Empty in results from before this was recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub on: BTreeMap<String, String>,
    /// Values of its figures that formulas predict before it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub computed: Vec<Computed>,
}

/// A figure's value, computed by a formula.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Computed {
    /// Id of the metric.
    pub metric: String,
    /// The case or rule that the value is for (`with all of its block map`).
    pub about: String,
    /// The value, in the unit of the metric.
    pub value: f64,
}

/// One stage as planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageFacts {
    /// `allocate`, `load`, ...
    pub kind: String,
    /// Its traits, for other parts of the program; `None` in results of earlier versions. [`StageFacts::traits()`] gives them for all versions.
    #[serde(default)]
    pub traits: Option<StageTraits>,
    /// Its name.
    pub name: String,
    /// Tells whether its figures are the measured ones.
    pub measured: bool,
    /// A description of its work.
    pub about: String,
    /// The load as asked (`ops`, `pattern`, `block_size`, ...), `null` when it has none.
    pub load: serde_json::Value,
    /// The load of each round of a fill, as asked; `null` for other stages.
    #[serde(default)]
    pub rounds: serde_json::Value,
    /// The layers that it works on; empty where it works on none, and in results from before this was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetFacts>,
    /// Size of what it works on, bytes.
    #[serde(default)]
    pub target_bytes: Option<u64>,
    /// Bytes of its I/Os, when that is known beforehand.
    #[serde(default)]
    pub io_bytes: Option<u64>,
    /// For a stage with a command: tells whether it is followed by a sync, which is measured too. `None` for other stages.
    #[serde(default)]
    pub synced: Option<bool>,
    /// Its point in a sweep, if it belongs to one.
    #[serde(default)]
    pub sweep: Option<SweepFacts>,
    /// The numbers that are picked from the output of its command, by name.
    #[serde(default)]
    pub figures: BTreeMap<String, PickedFacts>,
    /// The most of its reads that each cache can hit, where a known distribution says which blocks are hot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheBound>,
}

/// The most reads of a load that a cache can hit: the share if it held the most frequently read chunks from the start, and kept them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheBound {
    /// Name of the layer.
    pub layer: String,
    /// Share of the reads, percent.
    pub percent: f64,
    /// Size of a chunk, which the cache fetches at once, bytes.
    pub chunk_bytes: u64,
    /// The fewest chunks with which it reaches that share less 2 percentage points: so many have to come in before it is warm.
    pub chunks: u64,
    /// The time in which the modelled disk below reads that many chunks at random, as many at once as the load has I/Os in flight: the shortest
    /// possible warm-up, nanoseconds; `None` where the speed of the disk is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_ns: Option<u64>,
    /// The smallest chunk that its setting allows, bytes, and the share it could hit with that, percent; `None` where it has no such setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finest: Option<(u64, f64)>,
}

/// A number that is picked from the output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PickedFacts {
    /// Its unit.
    pub unit: units::Unit,
    /// The direction that is good.
    pub better: units::Better,
    /// The regular expression that finds it.
    pub pattern: String,
}

/// One point of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepFacts {
    /// Name of the stage that sweeps.
    pub stage: String,
    /// The swept keys with their values at this point.
    pub point: BTreeMap<String, String>,
}

impl StageFacts {
    /// Returns its traits, also for results from before they were recorded.
    pub fn traits(&self) -> StageTraits {
        self.traits.unwrap_or_else(|| StageTraits::before_recorded(&self.kind))
    }
}
