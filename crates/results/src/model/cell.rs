//! The record of a cell: its state, its stages, the figures of its layers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    AgeingFigures, CommandFigures, DeviceLatency, FillFigures, LoadSummary, MachineFacts,
    MachineLoad, StageTraits, StateFigures,
};

/// The state of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellState {
    /// Not begun.
    Pending,
    /// Begun, and not known to have ended, as after a kill.
    Running,
    /// All stages ran and the stack is down.
    Done,
    /// A step, a stage, the guest or the teardown failed.
    Failed,
    /// The user stopped it.
    Interrupted,
    /// Not begun, and not needed: all questions were decided before it, or the run's time was over.
    Skipped,
}

/// Figures of one layer by id, `None` where there are none (`saving_percent`, `data_blocks_used`).
pub type LayerFigures = BTreeMap<String, Option<f64>>;

/// `cell.json`: everything about a cell that is not a time series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Id of the run that it belongs to; `None` in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Position in the order of running, from 0.
    pub index: usize,
    /// Name of its variant.
    pub variant: String,
    /// Repeat, from 1.
    pub repeat: u32,
    /// The seed, equal for all variants of one repeat.
    pub seed: units::Seed,
    /// Its state.
    pub state: CellState,
    /// The reason why it failed or was interrupted, with the remedy.
    pub reason: Option<String>,
    /// Start, nanoseconds since the run's epoch.
    pub start_ns: u64,
    /// End, nanoseconds since the run's epoch.
    pub end_ns: Option<u64>,
    /// The steps that set the stack up, waited, or took it down, in the order they ran.
    pub steps: Vec<StepRecord>,
    /// Its stages.
    pub stages: Vec<StageRecord>,
    /// Figures of each layer by the layer's name, over the measured stages.
    pub layers: BTreeMap<String, LayerFigures>,
    /// Facts about each layer, found while it was up (`vdo.instance`, `index memory`), as text.
    pub facts: BTreeMap<String, String>,
    /// Things that teardown left behind; empty when it left nothing; `None` when this was not checked.
    pub leftovers: Option<Vec<String>>,
    /// Notices for the reader, in sentences.
    #[serde(default)]
    pub notices: Vec<String>,
    /// The machine that ran it: kernel, CPUs, memory and what else is known; empty in results of earlier versions and in simulations.
    #[serde(default, skip_serializing_if = "MachineFacts::is_empty")]
    pub ran_on: MachineFacts,
    /// The load of other programs, while it ran, on the machine that ran it (the guest, if there is one).
    #[serde(default)]
    pub machine: Option<MachineLoad>,
}

/// One executed step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Its purpose.
    pub about: String,
    /// The command or action as a person would type it.
    pub command: String,
    /// Tells whether it took something down.
    pub undo: bool,
    /// Start, nanoseconds since the run's epoch.
    pub start_ns: u64,
    /// Its duration, nanoseconds.
    pub duration_ns: u64,
    /// The reason why it failed.
    pub error: Option<String>,
}

/// One executed stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    /// Position in the cell, from 0.
    pub index: usize,
    /// `allocate`, `load`, ...
    pub kind: String,
    /// Its traits, for other parts of the program; `None` in results of earlier versions. [`StageRecord::traits()`] gives them for all versions.
    #[serde(default)]
    pub traits: Option<StageTraits>,
    /// Its name.
    pub name: String,
    /// Tells whether its figures are the measured ones.
    pub measured: bool,
    /// Start, nanoseconds since the run's epoch.
    pub start_ns: u64,
    /// End, nanoseconds since the run's epoch.
    pub end_ns: Option<u64>,
    /// The summary of its load.
    pub load: Option<LoadSummary>,
    /// The figures of its command.
    #[serde(default)]
    pub command: Option<CommandFigures>,
    /// The figures of its fill.
    #[serde(default)]
    pub fill: Option<FillFigures>,
    /// The figures of its ageing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ageing: Option<AgeingFigures>,
    /// The outcome of bringing a layer to a state, where the stage had to.
    #[serde(default)]
    pub state: Option<StateFigures>,
    /// Figures of each layer, and of each device under them, over a measured stage, by name.
    #[serde(default)]
    pub layers: BTreeMap<String, LayerFigures>,
    /// CPU seconds of the whole machine in a measured stage, from the beginning of its load until the stack had come to rest: `busy_s`, `ticks_s`;
    /// empty in results of earlier versions.
    #[serde(default, skip_serializing_if = "LayerFigures::is_empty")]
    pub machine: LayerFigures,
    /// Latency of each block device of the stack while the load of a measured stage ran, the uppermost first; empty unless it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<DeviceLatency>,
    /// The reason why it failed, or did not come to its end.
    pub error: Option<String>,
}

impl StageRecord {
    /// Returns its traits, also for results from before they were recorded.
    pub fn traits(&self) -> StageTraits {
        self.traits.unwrap_or_else(|| StageTraits::before_recorded(&self.kind))
    }

    /// Returns its duration, seconds, if that is its measured figure; `None` for other stages, and for one that did not end.
    pub fn timed_s(&self) -> Option<f64> {
        let end_ns = self.end_ns.filter(|_| self.traits().timed)?;
        Some(end_ns.saturating_sub(self.start_ns) as f64 / 1e9)
    }
}
