//! Tasks of the stages of a plan.

use std::collections::BTreeMap;

use layers::Round;
use layers::step::Step;
use results::model::{Criterion, PickedFacts};
use serde::{Deserialize, Serialize};
use units::{Better, Bytes, Nanos, Unit};
use workload::LoadSpec;

use crate::placeholder::{Part, parts};

/// Task of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A load on the target.
    Load(Box<LoadSpec>),
    /// A load until a figure of a layer has been reached.
    Fill(FillPlan),
    /// A load of a tree of files on the target.
    Tree(Box<TreePlan>),
    /// An ageing of the file system at the target.
    Age(Box<AgeingPlan>),
    /// A copy of blocks of a device to the target.
    Copy(CopyPlan),
    /// A program that works on the target.
    Command(CommandPlan),
    /// Steps, one after the other.
    Steps(Vec<Step>),
}

impl Task {
    /// Its load; `None` if it is something else.
    pub fn load(&self) -> Option<&LoadSpec> {
        if let Self::Load(load) = self { Some(load) } else { None }
    }

    /// Its fill; `None` if it is something else.
    pub fn fill(&self) -> Option<&FillPlan> {
        if let Self::Fill(fill) = self { Some(fill) } else { None }
    }

    /// Its copy; `None` if it is something else.
    pub fn copy(&self) -> Option<&CopyPlan> {
        if let Self::Copy(copy) = self { Some(copy) } else { None }
    }

    /// Its command; `None` if it is something else.
    pub fn command(&self) -> Option<&CommandPlan> {
        if let Self::Command(command) = self { Some(command) } else { None }
    }

    /// Its steps; none where it is something else.
    pub fn steps(&self) -> &[Step] {
        if let Self::Steps(steps) = self { steps } else { &[] }
    }
}

/// A load of a tree of files, in a separate directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreePlan {
    /// Operations, names, sizes, workers.
    pub spec: tree::TreeSpec,
    /// Content of what is written.
    pub content: content::ContentSpec,
    /// The time after which it ends.
    pub duration: Option<Nanos>,
    /// The operations after which it ends.
    pub ios: Option<u64>,
    /// Tells whether it ends when the number of its files has come to an equilibrium.
    pub equilibrium: bool,
    /// Length of an interval row.
    pub interval: Nanos,
    /// Name of its directory in that of the target.
    pub folder: String,
}

/// An ageing of a file system, in a separate directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgeingPlan {
    /// Files that grow in turn.
    pub files: u64,
    /// Bytes that each grows by in a round.
    pub append: Bytes,
    /// Rounds, each with one flush.
    pub rounds: u64,
    /// Rounds end when the files consist of this many runs (contiguous pieces) on average.
    pub runs_per_file: Option<f64>,
    /// Rounds end when this many bytes have been written.
    pub bytes: Option<Bytes>,
    /// Rounds end after this time.
    pub duration: Option<Nanos>,
    /// Tells whether every second file is removed after the rounds.
    pub thin_out: bool,
    /// Percentage to which the file system is filled afterwards.
    pub fill_percent: Option<f64>,
    /// Size of each file that fills it.
    pub fill_file: Bytes,
    /// Bytes that are read, at most, of each kind of file.
    pub read: Bytes,
    /// Content of what is written.
    pub content: content::ContentSpec,
    /// Name of its directory in that of the target.
    pub folder: String,
}

impl AgeingPlan {
    /// Returns the number of rounds until `rounds` or `bytes` ends them.
    pub fn all_rounds(&self) -> u64 {
        let round = self.append.0.saturating_mul(self.files).max(1);
        let by_bytes = self.bytes.map_or(u64::MAX, |bytes| bytes.0.div_ceil(round).max(1));
        self.rounds.min(by_bytes)
    }

    /// Returns the size of one file after all rounds.
    pub fn file_bytes(&self) -> Bytes {
        Bytes(self.append.0.saturating_mul(self.all_rounds()))
    }

    /// Returns the size of all growing files together after all rounds.
    pub fn grown_bytes(&self) -> Bytes {
        Bytes(self.file_bytes().0.saturating_mul(self.files))
    }
}

/// A state that a layer is to be in when its stage ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatePlan {
    /// Name of the layer.
    pub layer: String,
    /// The state (`steady`).
    pub state: String,
    /// Criteria that must hold then.
    pub criteria: Vec<Criterion>,
    /// The end of a round for criteria about rounds; `None` takes the rounds of the load.
    pub round: Option<Round>,
    /// Consequence when the state is not reached.
    pub otherwise: Otherwise,
}

/// Consequence of a state that is not reached.
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
    /// The metric of it that is read.
    pub metric: String,
    /// The value that ends the fill.
    pub at_least: f64,
    /// The load of one round; after each the layer is read.
    pub by: Box<LoadSpec>,
    /// Length of one round.
    pub rounds: Rounds,
}

/// Length of one round of a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounds {
    /// The load for so long.
    Time(Nanos),
    /// The load on the next bytes of its range, in order, once.
    Parts {
        /// Bytes of one part.
        bytes: Bytes,
        /// Number of parts.
        count: u32,
    },
    /// The load on one more file of so many bytes.
    Files(Bytes),
}

/// The blocks that are copied, and the place they are copied to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyPlan {
    /// Role of the device they come from.
    pub role: String,
    /// Its path, placeholders allowed.
    pub from: String,
    /// Offset of the first block on that device, bytes.
    pub offset: Bytes,
    /// Number of bytes that are copied.
    pub bytes: Bytes,
    /// Bytes of one write.
    pub block: Bytes,
    /// Offset on the target to which the first block goes, bytes.
    pub to: Bytes,
}

/// A program, and what is measured of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPlan {
    /// The program and its arguments; `{mount}`, `{target}` and `{corpus.NAME}` stand in them.
    pub argv: Vec<String>,
    /// The time after which it is killed.
    pub time_limit: Nanos,
    /// Tells whether what it wrote is brought to stable storage after it, which is measured too.
    pub sync: bool,
    /// Numbers that are picked from what it prints, by name.
    pub figures: BTreeMap<String, FigurePlan>,
}

/// A number in what a command prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigurePlan {
    /// Output of the command in which it is looked for.
    pub from: Output,
    /// A regular expression with one group, which is the number; it sees one line at a time.
    pub pattern: String,
    /// Its unit; a plain number unless said.
    #[serde(default)]
    pub unit: Option<Unit>,
    /// The direction that is good, if one is.
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
    pub fn picked(&self) -> BTreeMap<String, PickedFacts> {
        self.figures.iter().map(|(name, figure)| (name.clone(), figure.facts())).collect()
    }

    /// Returns the program and its arguments with the placeholders filled in: `target` is a path, `corpus` returns the directory of a corpus. The
    /// error is the name of a corpus that `corpus` does not know.
    pub fn argv_on(
        &self,
        target: &str,
        corpus: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<String>, String> {
        let word = |word: &String| {
            let shown = |part| match part {
                Part::Text(text) => Ok(text.to_owned()),
                Part::Mount | Part::Target => Ok(target.to_owned()),
                Part::Corpus(name) => corpus(name).ok_or_else(|| name.to_owned()),
            };
            parts(word).map(shown).collect()
        };
        self.argv.iter().map(word).collect()
    }
}
