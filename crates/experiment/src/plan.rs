//! The Plan: an experiment as data, with every step, probe and estimate in it. It travels as JSON into the
//! guest, and `explain` prints it; whoever executes it decides nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use layers::Offer;
use layers::probe::Probe;
use layers::step::Step;
use results::model::{Criterion, PickedFacts, PlanFacts, SweepFacts};
use serde::{Deserialize, Serialize};
use units::{Better, Bytes, Nanos, Percent, Seed, Unit};
use workload::LoadSpec;

use crate::command::placeholder::{Part, parts};

/// An experiment, ready to be executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Eight hexadecimal digits, unique to the run: part of the names of what it makes.
    pub run_tag: String,
    /// The seed that everything random comes from.
    pub seed: Seed,
    /// The plan in short, as results keep it.
    pub facts: PlanFacts,
    /// Devices by role.
    pub devices: BTreeMap<String, DevicePlan>,
    /// What the machine must have.
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
    /// The file or block device of the host that it shows, for reading only; `None`: it is empty and written to.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Whether variants ask for different sizes: it is the largest of them, for all.
    #[serde(default)]
    pub largest: bool,
    /// What the virtual disk is modelled like; `None`: a file, as fast as the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelPlan>,
    /// What the virtual disk says of itself, and what it is limited to.
    #[serde(default, skip_serializing_if = "disk::Attributes::is_usual")]
    pub attributes: disk::Attributes,
}

/// A modelled disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelPlan {
    /// What it is modelled like.
    pub like: disk::Like,
    /// Its faults.
    #[serde(default)]
    pub faults: Vec<disk::Fault>,
}

/// What a machine must have to execute the plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Needs {
    /// Debian packages.
    pub packages: Vec<String>,
    /// Kernel modules.
    pub modules: Vec<String>,
    /// Programs.
    pub tools: Vec<String>,
    /// Debian packages of commands; in a guest they take no memory.
    #[serde(default)]
    pub command_packages: Vec<String>,
    /// Programs that commands start.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Directories that commands read, by name.
    #[serde(default)]
    pub trees: BTreeMap<String, Tree>,
    /// Memory for the layers themselves, bytes.
    pub memory: Bytes,
}

impl Needs {
    /// What one layer needs.
    pub fn of(needs: &layers::LayerNeeds, memory_bytes: u64) -> Self {
        let own = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
        Self {
            packages: own(needs.packages),
            modules: own(needs.modules),
            tools: own(needs.tools),
            memory: Bytes(memory_bytes),
            ..Self::default()
        }
    }

    /// What every layer needs: a guest with all of it can try them all.
    pub fn of_every_layer() -> Self {
        let kinds = layers::kinds().iter();
        kinds.fold(Self::default(), |needs, kind| needs.beside(&Self::of(&kind.needs, 0)))
    }

    /// These needs and `other`'s on top: memory adds up, as layers of one stack are there at once.
    pub fn with(self, other: &Self) -> Self {
        let memory = Bytes(self.memory.0 + other.memory.0);
        Self { memory, ..self.beside(other) }
    }

    /// These needs or `other`'s, of stacks that are never there at once.
    pub fn beside(mut self, other: &Self) -> Self {
        let lists = [
            (&mut self.packages, &other.packages),
            (&mut self.modules, &other.modules),
            (&mut self.tools, &other.tools),
            (&mut self.command_packages, &other.command_packages),
            (&mut self.programs, &other.programs),
        ];
        for (own, others) in lists {
            for name in others {
                if !own.contains(name) {
                    own.push(name.clone());
                }
            }
        }
        self.trees.extend(other.trees.clone());
        self.memory = self.memory.max(other.memory);
        self
    }
}

/// A directory that commands read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tree {
    /// The files of a Debian package.
    Package(String),
    /// A directory of the host.
    Directory {
        /// Its path.
        path: PathBuf,
        /// Bytes of its files.
        bytes: Bytes,
    },
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
    /// Equal for all variants of one repeat.
    pub seed: Seed,
    /// The layers, for their parsers, figures and simulated twins.
    pub stack: Vec<PlacedLayer>,
    /// Steps that raise the stack; they carry what takes it down.
    pub up: Vec<Step>,
    /// Waits until the stack is ready to be measured.
    pub ready: Vec<Step>,
    /// What is done to it.
    pub stages: Vec<StagePlan>,
    /// Flush and waits before figures are read.
    pub settle: Vec<Step>,
    /// What is sampled meanwhile.
    pub probes: Vec<Probe>,
    /// The top of the stack.
    pub target: Target,
    /// About how long it takes.
    pub about: Nanos,
}

/// One layer of a stack with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacedLayer {
    /// Its kind (`vdo`).
    pub kind: String,
    /// Its name in the experiment.
    pub name: String,
    /// What is under it by the names of its inputs, placeholders allowed.
    pub inputs: BTreeMap<String, Offer>,
    /// Its settings as written.
    pub settings: toml::Table,
}

/// One stage of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StagePlan {
    /// `allocate`, `load`, `copy`, ...
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Whether its figures are the measured ones.
    pub measured: bool,
    /// Whether the stack is brought to rest, and read, before the next stage.
    pub settle: bool,
    /// Steps that change settings of running layers, before it begins.
    pub before: Vec<Step>,
    /// What it works on; of a load the layer of its first aim.
    pub target: Target,
    /// What its load drives; empty where it is none.
    #[serde(default)]
    pub aims: Vec<Aim>,
    /// When the cell fails because the stage has not ended.
    #[serde(default)]
    pub deadline: Option<Nanos>,
    /// What is done.
    pub task: Task,
    /// Whether its hot places are its own; otherwise what is hot in one stage of a cell is hot in all.
    pub fresh_places: bool,
    /// The point of a sweep that it is.
    #[serde(default)]
    pub sweep: Option<SweepFacts>,
    /// The state that it brings a layer to.
    #[serde(default)]
    pub state: Option<StatePlan>,
    /// I/Os it makes, when that is known beforehand.
    pub ios: Option<u64>,
    /// Bytes of them, when that is known beforehand.
    pub bytes: Option<Bytes>,
    /// About how long it takes.
    pub about: Nanos,
}

impl StagePlan {
    /// Its load, if it is one.
    pub fn load(&self) -> Option<&LoadSpec> {
        match &self.task {
            Task::Load(spec) => Some(spec),
            Task::Fill(_) | Task::Copy(_) | Task::Command(_) | Task::Steps(_) => None,
        }
    }

    /// The load that drives its target, if one does: its own, or that of each round of a fill.
    pub fn driven(&self) -> Option<&LoadSpec> {
        match &self.task {
            Task::Fill(fill) => Some(&fill.by),
            _ => self.load(),
        }
    }

    /// How long it may take at most, where nobody knows beforehand how long it will.
    pub fn patience(&self) -> Option<Nanos> {
        let limit = self.command().map(|command| command.time_limit);
        limit.into_iter().chain(self.deadline).min()
    }

    /// Its command, if it is one.
    pub fn command(&self) -> Option<&CommandPlan> {
        match &self.task {
            Task::Command(command) => Some(command),
            Task::Load(_) | Task::Fill(_) | Task::Copy(_) | Task::Steps(_) => None,
        }
    }
}

/// What a stage works on: the top of the stack, or another layer by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Name of the layer.
    pub name: String,
    /// What it offers, placeholders allowed.
    pub offer: Offer,
}

/// One thing that a load drives, and its part of the I/Os.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aim {
    /// The layer.
    pub target: Target,
    /// The files in its directory, where it is one.
    #[serde(default)]
    pub files: Option<Files>,
    /// Its part of the I/Os, in relation to the other aims'.
    pub share: Percent,
}

/// Files of one size in a folder of a directory, called by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// The folder.
    pub folder: String,
    /// Number of the first.
    pub first: u64,
    /// How many there are.
    pub count: u64,
    /// Size of each.
    pub size: Bytes,
    /// Whether they are made now.
    pub make: bool,
}

impl Aim {
    /// All I/Os go to one block device.
    pub(crate) fn alone(target: Target) -> Self {
        Self { target, files: None, share: Percent(100.0) }
    }

    /// Paths of the device, or of the files, placeholders allowed; each with its part of the I/Os.
    pub fn paths(&self) -> Vec<(String, Percent)> {
        let path = self.target.offer.path();
        let Some(files) = &self.files else { return vec![(path.to_owned(), self.share)] };
        let share = Percent(self.share.0 / files.count.max(1) as f64);
        let numbers = files.first..files.first + files.count;
        numbers.map(|n| (format!("{path}/{}/{n}", files.folder), share)).collect()
    }

    /// Bytes that a load can write to it that keeps to the first `range` of the device, or of each file.
    pub(crate) fn room(&self, range: Option<Bytes>) -> u64 {
        let each = range.map_or(self.bytes(), |range| range.0.min(self.bytes()));
        each.saturating_mul(self.files.as_ref().map_or(1, |files| files.count))
    }

    /// Size of the device, or of each file, bytes.
    pub fn bytes(&self) -> u64 {
        self.files.as_ref().map_or(self.target.offer.bytes(), |files| files.size.0)
    }
}

/// What a stage does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A load on the target.
    Load(Box<LoadSpec>),
    /// A load until a figure of a layer has been reached.
    Fill(FillPlan),
    /// Blocks of a device go to the target.
    Copy(CopyPlan),
    /// A program works on the target.
    Command(CommandPlan),
    /// Steps, one after the other.
    Steps(Vec<Step>),
}

/// A state that a layer is to be in when its stage ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatePlan {
    /// Name of the layer.
    pub layer: String,
    /// The state (`steady`).
    pub state: String,
    /// What must hold then.
    pub criteria: Vec<Criterion>,
    /// What happens when it does not.
    pub otherwise: Otherwise,
}

/// What happens when a state is not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// The cell fails.
    Fail,
    /// The cell goes on, and its record says so.
    Warn,
}

/// The load of a fill, and the metric that ends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FillPlan {
    /// Name of the layer that is read.
    pub layer: String,
    /// Which of its metrics.
    pub metric: String,
    /// The value that ends the fill.
    pub at_least: f64,
    /// The load of one round; after each the layer is read.
    pub by: Box<LoadSpec>,
    /// What one round is.
    pub rounds: Rounds,
}

/// What one round of a fill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounds {
    /// The load for so long.
    Time(Nanos),
    /// The load on the next bytes of its range, in order, once.
    Parts {
        /// Bytes of one part.
        bytes: Bytes,
        /// How many there are.
        count: u32,
    },
    /// The load on one more file of so many bytes.
    Files(Bytes),
}

/// Which blocks are copied, and where they go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyPlan {
    /// Role of the device they come from.
    pub role: String,
    /// Its path, placeholders allowed.
    pub from: String,
    /// Where on it the first block is.
    pub offset: Bytes,
    /// How many bytes.
    pub bytes: Bytes,
    /// Bytes of one write.
    pub block: Bytes,
    /// Where on the target the first block goes.
    pub to: Bytes,
}

/// A program, and what is measured of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPlan {
    /// The program and its arguments; `{mount}`, `{target}` and `{tree.NAME}` stand in them.
    pub argv: Vec<String>,
    /// When it is killed.
    pub time_limit: Nanos,
    /// Whether what it wrote is brought to stable storage after it, which is measured too.
    pub sync: bool,
    /// Numbers that are picked from what it prints, by name.
    pub figures: BTreeMap<String, FigurePlan>,
}

/// A number in what a command prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigurePlan {
    /// Where it is looked for.
    pub from: Output,
    /// A regular expression with one group, which is the number.
    pub pattern: String,
    /// Its unit; a plain number unless said.
    #[serde(default)]
    pub unit: Option<Unit>,
    /// Which direction is good, if one is.
    #[serde(default)]
    pub better: Option<Better>,
}

/// One of the outputs of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl CommandPlan {
    /// The figures that are picked from what it prints, as results keep them.
    pub(crate) fn picked(&self) -> BTreeMap<String, PickedFacts> {
        self.figures.iter().map(|(name, figure)| (name.clone(), figure.facts())).collect()
    }

    /// The program and its arguments on `target`, a path; `tree` gives the directory of a tree. The error is the name of a tree
    /// that it does not give.
    pub fn argv_on(
        &self,
        target: &str,
        tree: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<String>, String> {
        let word = |word: &String| {
            let shown = |part| match part {
                Part::Text(text) => Ok(text.to_owned()),
                Part::Mount | Part::Target => Ok(target.to_owned()),
                Part::Tree(name) => tree(name).ok_or_else(|| name.to_owned()),
            };
            parts(word).map(shown).collect()
        };
        self.argv.iter().map(word).collect()
    }
}
