//! The outcome of a comparison, case by case, as it is printed and kept (`bench.json`).

use serde::{Deserialize, Serialize};
use stats::Figure;

use crate::case::Case;
use crate::contest::{ContestantKind, Programs, Sample};
use crate::floor;
use crate::goal::{Goal, GoalVerdict};
use crate::target::Target;
use crate::verified::Verified;

/// Version of the layout of `bench.json`. New fields have a default, so that older files stay readable; a change of existing fields raises the
/// version. 2: plain calls among the sides, and the word `beyond_floor`. 3: other calls than plain ones as the floor.
pub const SCHEMA: u32 = 3;

/// A `bench.json` that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It has a later layout.
    #[error(
        "it has layout {found}, written by a later Fathom; this one reads layouts up to {SCHEMA}"
    )]
    Newer {
        /// Its layout.
        found: u32,
    },
    /// It is not a comparison, or cut off.
    #[error("it is not a comparison of engines: {0}")]
    Broken(#[from] serde_json::Error),
}

impl Unreadable {
    /// Returns what to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Newer { .. } => "read it with the Fathom that wrote it, or a later one",
            Self::Broken(_) => "name the directory that fathom-bench engine made",
        }
    }
}

/// Reads a `bench.json` of this layout or an earlier one.
pub fn decode(bytes: &[u8]) -> Result<Outcome, Unreadable> {
    /// The one key that every layout has.
    #[derive(Deserialize)]
    struct Head {
        schema: u32,
    }
    let Head { schema } = serde_json::from_slice(bytes)?;
    if schema > SCHEMA {
        return Err(Unreadable::Newer { found: schema });
    }
    Ok(serde_json::from_slice(bytes)?)
}

/// One way of driving the load in the short round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRun {
    /// The contestant.
    pub who: ContestantKind,
    /// Its name in tables.
    pub name: String,
    /// Its command line.
    pub line: String,
    /// The figures of the short round; `None` when it failed.
    pub sample: Option<Sample>,
    /// The reason why it failed.
    pub error: Option<String>,
}

/// One contestant of the interleaved repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The contestant.
    pub who: ContestantKind,
    /// Its name in tables.
    pub name: String,
    /// Its command line.
    pub line: String,
    /// CPU time of its start, which is left out, seconds.
    pub start_s: f64,
    /// One run per repeat.
    pub samples: Vec<Sample>,
    /// Median of the IOPS over repeats.
    pub iops: Figure,
    /// Median of the CPU time of all its threads per I/O, microseconds.
    pub cpu_per_io_us: Figure,
    /// The same with kernel threads and interrupts, microseconds.
    pub system_per_io_us: Figure,
}

impl Side {
    /// Returns the backend of the last run that reports one, where the contestant chooses it itself.
    pub fn backend(&self) -> Option<&str> {
        self.samples.iter().rev().find_map(|sample| sample.reported.backend.as_deref())
    }

    /// Returns the share of I/Os at whose submission the depth asked for was in flight: the median of the runs that report it.
    pub fn at_full_depth(&self) -> Option<f64> {
        let shares: Vec<f64> =
            self.samples.iter().filter_map(|s| s.reported.at_full_depth).collect();
        stats::figure(&shares).median
    }
}

/// One ratio of ours to another's, repeat by repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The contestant that it is compared with.
    pub against: String,
    /// Median of the ratios within each repeat, with its interval.
    pub ratio: Figure,
    /// The goal for the ratio.
    pub goal: Option<Goal>,
    /// Verdict on the goal.
    pub word: Option<GoalVerdict>,
}

/// The floor: the calls that ours makes and nothing else, compared with both engines in CPU time per I/O of all threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// The backend whose calls they are: `sync`, `io_uring` or `libaio`.
    #[serde(default = "plain")]
    pub calls: String,
    /// Ours over the calls alone.
    pub ours: Ratio,
    /// The calls alone over the cheapest fio.
    pub fio: Ratio,
}

/// Returns the calls of the floor in earlier layouts, which did not name them.
fn plain() -> String {
    floor::PLAIN.to_owned()
}

impl Floor {
    /// Returns how tables call it: `plain calls alone`.
    pub fn about(&self) -> &'static str {
        floor::title(&self.calls)
    }
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseOutcome {
    /// The case.
    pub case: Case,
    /// Its name.
    pub name: String,
    /// Every way of driving that was tried in the short round.
    pub tried: Vec<TrialRun>,
    /// Ours, then the best of fio's, then the floor where it takes part.
    pub sides: Vec<Side>,
    /// CPU time per I/O, all threads, against the cheapest fio.
    pub cpu: Ratio,
    /// CPU time per I/O with kernel threads and interrupts, against the cheapest fio. It has no goal, because it includes the work of others.
    pub system: Ratio,
    /// IOPS against the fastest fio.
    pub iops: Ratio,
    /// The calls alone, compared with both engines; `None` if they did not take part.
    #[serde(default)]
    pub floor: Option<Floor>,
    /// Runs that others disturbed, of all.
    #[serde(default)]
    pub disturbed: (usize, usize),
}

impl CaseOutcome {
    /// Returns the verdict on the goal of the CPU time in words, with the floor where the goal lies beyond it.
    pub fn verdict(&self) -> Option<String> {
        let (goal, word) = self.cpu.goal.zip(self.cpu.word)?;
        let mut text = format!("goal {}: {}", goal.text(), word.text());
        if let (GoalVerdict::BeyondFloor, Some(floor)) = (word, &self.floor) {
            let alone = floor.about();
            text.push_str(&format!(": {alone} at {}", spread(&floor.fio.ratio)));
        }
        Some(text)
    }
}

/// A ratio with its interval: `0.78 [0.76, 0.80]`.
pub fn spread(figure: &Figure) -> String {
    let part = |value: Option<f64>| value.map_or_else(|| "–".into(), |v| format!("{v:.2}"));
    format!("{} [{}, {}]", part(figure.median), part(figure.low), part(figure.high))
}

/// The outcome of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Version of the layout.
    pub schema: u32,
    /// The programs.
    pub programs: Programs,
    /// Kernel, CPUs.
    pub machine: String,
    /// The targets.
    pub targets: Vec<Target>,
    /// The parts that were left out, each with the reason.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The cases that were done.
    pub cases: Vec<CaseOutcome>,
    /// Cases that failed, and why.
    #[serde(default)]
    pub failed: Vec<String>,
    /// Cost of verification of reads; `None` where it was not measured.
    #[serde(default)]
    pub verified: Option<Verified>,
    /// fio's figures against the proportions that are known of it.
    #[serde(default)]
    pub proportions: Vec<Proportion>,
    /// Tells whether the user stopped it.
    #[serde(default)]
    pub interrupted: bool,
}

impl Outcome {
    /// Adds the outcome of the same comparison on other targets.
    pub fn add(&mut self, part: Self) {
        self.targets.extend(part.targets);
        self.cases.extend(part.cases);
        self.failed.extend(part.failed);
        self.proportions.extend(part.proportions);
        self.interrupted |= part.interrupted;
    }
}

/// One proportion between two figures of fio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proportion {
    /// The figure, and the two points whose ratio it is.
    pub about: String,
    /// The proportion that is known of fio.
    pub expected: f64,
    /// The proportion that was measured here.
    pub measured: f64,
    /// Tells whether the two agree within a factor of 1.6.
    pub agrees: bool,
    /// The things other than fio that the figure depends on: the reasons why another machine may differ.
    #[serde(default)]
    pub hangs_on: String,
}
