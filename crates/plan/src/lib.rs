//! The Plan: an experiment as data, with every step, probe and estimate in it. It travels as JSON into the
//! guest, and `explain` prints it; whoever executes it decides nothing.
#![forbid(unsafe_code)]

mod figure;
mod fill;
mod kernels;
mod needs;
mod own_devices;
pub mod placeholder;
mod target;
mod task;
mod times;

use std::collections::BTreeMap;
use std::path::PathBuf;

use layers::Offer;
use layers::environment::AskedSetting;
use layers::probe::Probe;
use layers::step::{Action, Step};
use results::model::{PlanFacts, StageData, StageRecord, StageTraits, SweepFacts};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Seed};
use workload::LoadSpec;

pub use figure::{FigurePicker, regex};
pub use kernels::KERNEL;
pub use needs::{Corpus, Needs};
pub use own_devices::ATTRIBUTES;
pub use target::{Aim, Files, Target};
pub use task::{
    AgeingPlan, CommandPlan, CopyPlan, FigurePlan, FillPlan, Otherwise, Output, Rounds, StatePlan,
    Task, TreePlan,
};

/// An experiment, ready to be executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Eight hexadecimal digits, unique to the run: part of the names of what it makes.
    pub run_tag: String,
    /// The seed that everything random comes from.
    pub seed: Seed,
    /// The plan in short, as results keep it.
    pub facts: PlanFacts,
    /// Notes about the experiment's file, for its author.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Devices by role.
    pub devices: BTreeMap<String, DevicePlan>,
    /// Requirements that the machine must meet.
    pub needs: Needs,
    /// Every cell in the order of running.
    pub cells: Vec<CellPlan>,
}

/// A block device that stacks are built on, or a file that is copied from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DevicePlan {
    /// Size of the virtual disk in the lab; the least that a real device must have.
    pub size: Bytes,
    /// The most that will be stored on it at any moment (an upper bound).
    pub stored: Bytes,
    /// The file or block device of the host whose content it has, read-only; `None`: it is empty and can be written.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Tells whether variants ask for different sizes; `size` is then the largest of them, for all variants.
    #[serde(default)]
    pub largest: bool,
    /// Model of the virtual disk; `None`: a file, as fast as the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelPlan>,
    /// Attributes and limits of the virtual disk.
    #[serde(default, skip_serializing_if = "disk::Attributes::is_usual")]
    pub attributes: disk::Attributes,
}

/// A modelled disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelPlan {
    /// Disk that it is modelled like.
    pub like: disk::Like,
    /// Its faults.
    #[serde(default)]
    pub faults: Vec<disk::Fault>,
}

/// One variant at one repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellPlan {
    /// Position in the order of running, from 0.
    pub index: usize,
    /// Name of its variant.
    pub variant: String,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Its seed, equal for all variants of one repeat.
    pub seed: Seed,
    /// The machine of the lab that it runs in.
    #[serde(default, skip_serializing_if = "Machine::is_usual")]
    pub machine: Machine,
    /// Settings of the kernel around the stack; the first steps of `up` set them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<AskedSetting>,
    /// The layers, for their parsers, figures and simulated twins.
    pub stack: Vec<PlacedLayer>,
    /// Steps that raise the stack; they carry what takes it down.
    pub up: Vec<Step>,
    /// Waits until the stack is ready to be measured.
    pub ready: Vec<Step>,
    /// Stages, in order.
    pub stages: Vec<StagePlan>,
    /// Flush and waits before figures are read.
    pub settle: Vec<Step>,
    /// Probes that are sampled during the cell.
    pub probes: Vec<Probe>,
    /// The top of the stack.
    pub target: Target,
    /// About how long it takes.
    pub about: Nanos,
}

/// A machine of the lab; a field that is `None` is left to the lab, or to its user's options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its memory, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Number of its CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Name of its kernel, or the path of one that the user built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}

impl Machine {
    /// Tells whether every field is left to the lab.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the fields that are set, by key.
    pub fn shown(&self) -> BTreeMap<String, String> {
        let memory = self.memory.map(|memory| ("memory".to_owned(), memory.to_string()));
        let cpus = self.cpus.map(|cpus| ("cpus".to_owned(), cpus.to_string()));
        let kernel = self.kernel.clone().map(|kernel| ("kernel".to_owned(), kernel));
        memory.into_iter().chain(cpus).chain(kernel).collect()
    }
}

/// One layer of a stack with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacedLayer {
    /// Its kind (`vdo`).
    pub kind: String,
    /// Its name in the experiment.
    pub name: String,
    /// Offers that it stands on, by the names of its inputs, placeholders allowed.
    pub inputs: BTreeMap<String, Offer>,
    /// Its settings as written.
    pub settings: toml::Table,
}

/// One stage of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StagePlan {
    /// `allocate`, `load`, `copy`, ...
    pub kind: String,
    /// Its traits; missing in plans of earlier versions, which can be taken down but are not run.
    #[serde(default = "unknown")]
    pub traits: StageTraits,
    /// Its name.
    pub name: String,
    /// Tells whether its figures are the measured ones.
    pub measured: bool,
    /// Tells whether the stack is brought to rest, and read, before the next stage.
    pub settle: bool,
    /// Steps that change settings of running layers, before it begins.
    pub before: Vec<Step>,
    /// Target that it works on; for a load the layer of its first aim.
    pub target: Target,
    /// Tells whether it may lose writes that were not flushed before.
    #[serde(default)]
    pub loses: bool,
    /// Tells whether it begins at a random moment of the load before it, which it cuts off.
    #[serde(default)]
    pub cuts_load: bool,
    /// Aims of its load; empty where it has no load.
    #[serde(default)]
    pub aims: Vec<Aim>,
    /// The time after which the cell fails if the stage has not ended.
    #[serde(default)]
    pub deadline: Option<Nanos>,
    /// Its task.
    pub task: Task,
    /// Tells whether it has separate hot places; otherwise the same places are hot in all stages of a cell.
    pub fresh_places: bool,
    /// The point of a sweep that it measures, if any.
    #[serde(default)]
    pub sweep: Option<SweepFacts>,
    /// The state that it brings a layer to, if any.
    #[serde(default)]
    pub state: Option<StatePlan>,
    /// I/Os it makes, when that is known beforehand.
    pub ios: Option<u64>,
    /// Bytes of them, when that is known beforehand.
    pub bytes: Option<Bytes>,
    /// About how long it takes.
    pub about: Nanos,
}

fn unknown() -> StageTraits {
    StageTraits::of(StageData::Unknown)
}

impl StagePlan {
    /// Returns the record with which it begins, at `start_ns` of the run's epoch, as stage number `index` of its cell.
    pub fn begun(&self, index: usize, start_ns: u64) -> StageRecord {
        StageRecord {
            index,
            kind: self.kind.clone(),
            traits: Some(self.traits),
            name: self.name.clone(),
            measured: self.measured,
            start_ns,
            ..StageRecord::default()
        }
    }

    /// Tells whether the machine reboots in it.
    pub fn reboots(&self) -> bool {
        self.task.steps().iter().any(|step| matches!(step.action, Action::Reboot { .. }))
    }

    /// Its load; `None` if it is something else.
    pub fn load(&self) -> Option<&LoadSpec> {
        self.task.load()
    }

    /// The load that drives its target, if one does: its load, or the load of each round of a fill.
    pub fn driven(&self) -> Option<&LoadSpec> {
        self.task.load().or_else(|| self.task.fill().map(|fill| &*fill.by))
    }

    /// Returns the offers of all layers that it works on.
    pub fn offers(&self) -> impl Iterator<Item = &Offer> {
        [&self.target].into_iter().chain(self.aims.iter().map(|aim| &aim.target)).map(|t| &t.offer)
    }

    /// Returns the longest time that it may take, if there is a limit: its command's time limit or its deadline, whichever is shorter.
    pub fn patience(&self) -> Option<Nanos> {
        let limit = self.command().map(|command| command.time_limit);
        limit.into_iter().chain(self.deadline).min()
    }

    /// Its command; `None` if it is something else.
    pub fn command(&self) -> Option<&CommandPlan> {
        self.task.command()
    }

    /// Tells whether it does the same as `other`, even if their loads are written in different ways.
    pub fn does_as(&self, other: &Self) -> bool {
        self.normal_form() == other.normal_form()
    }

    /// Returns its normal form, which is equal for all stages that do the same.
    fn normal_form(&self) -> Self {
        let size = Aim::common_size(&self.aims);
        let mut form = self.clone();
        match &mut form.task {
            Task::Load(load) => **load = load.normal_form(size),
            Task::Fill(fill) => *fill.by = fill.by.normal_form(size),
            Task::Tree(_) | Task::Age(_) | Task::Copy(_) | Task::Command(_) | Task::Steps(_) => {}
        }
        form
    }
}
