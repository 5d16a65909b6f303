//! A finding of the doctor.

use serde::{Deserialize, Serialize};
use units::Unit;

/// The severity of a finding: how much it limits the meaning of the figures.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    #[default]
    Note,
    /// The figures mean less than they seem to.
    Warning,
    /// The figures do not mean what was asked.
    Error,
}

/// A finding of the doctor, with its evidence and what to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id (`emulated_cpu`).
    pub rule: String,
    /// Its severity.
    pub severity: Severity,
    /// Its subject: a variant, a cell, a layer; `None` for the whole result.
    pub subject: Option<String>,
    /// The observation, one sentence.
    pub message: String,
    /// The figures it rests on, in words.
    pub evidence: String,
    /// The advice: what to do about it.
    pub remedy: String,
    /// The evidence as numbers, each with the threshold that it was compared with.
    #[serde(default)]
    pub figures: Vec<EvidenceFigure>,
    /// The period in which it was observed.
    #[serde(default)]
    pub range: Option<TimeRange>,
    /// That period in words: cell, stage and time (`cell 3 (vdo r2), stage write, from 2 s to 12 s of the cell`).
    #[serde(default)]
    pub place: Option<String>,
    /// Share of its limit that a bottleneck used, or of the I/Os that it touched, percent; bottlenecks are ranked by it. `None` for other
    /// findings.
    #[serde(default)]
    pub explains_percent: Option<f64>,
    /// Changes that would remove a bottleneck, if this is one: settings of the stack as an experiment's `set` writes them.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// Commands with which users make these changes to their own volume; words in capitals stand for its names.
    #[serde(default)]
    pub commands: Vec<String>,
    /// The proof, from a trial of the change; `None` when it was not tried.
    #[serde(default)]
    pub proof: Option<Proof>,
}

/// One number of the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceFigure {
    /// Its name (`CPU of logQ0`).
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The threshold that it was compared with, in the same unit.
    pub threshold: Option<f64>,
}

impl std::fmt::Display for EvidenceFigure {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.unit.show(self.value))?;
        match self.threshold {
            Some(threshold) => write!(f, " (threshold {})", self.unit.show(threshold)),
            None => Ok(()),
        }
    }
}

/// A period within a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRange {
    /// The cell, by its position in the order of running.
    pub cell: usize,
    /// Start, nanoseconds since the run's epoch, as all times of a cell.
    pub start_ns: u64,
    /// End, nanoseconds since the run's epoch.
    pub end_ns: u64,
}

/// A change of one setting to another value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The setting as `set` names it (`vdo.block_map_cache`).
    pub key: String,
    /// Its value, as it is written in TOML (`"512M"`, `2`).
    pub value: String,
}

impl Change {
    /// Returns the line of an experiment that makes the change. For a device it belongs at the top of the file, otherwise in the `[[variant]]`
    /// that should have it.
    pub fn line(&self) -> String {
        match self.key.starts_with("devices.") {
            true => self.to_string(),
            false => format!("set.{:?} = {}", self.key, self.value),
        }
    }

    /// Describes where in an experiment the lines of these changes belong.
    pub fn places(changes: &[Self]) -> &'static str {
        let at_top = |change: &Self| change.key.starts_with("devices.");
        match (changes.iter().any(at_top), changes.iter().all(at_top)) {
            (true, true) => "at the top of the experiment",
            (true, false) => {
                "in the experiment, devices at its top and set in the [[variant]] that is to have it"
            }
            (false, _) => "in the [[variant]] of the experiment that is to have it",
        }
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} = {}", self.key, self.value)
    }
}

/// The outcome of testing a suspected bottleneck: a run with the change that would remove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofOutcome {
    /// It was better with the change, twice.
    Confirmed,
    /// It was the same or worse with the change.
    Refuted,
    /// The runs do not decide.
    Unclear,
}

impl ProofOutcome {
    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Unclear => "unclear",
        }
    }
}

/// The test of a suspected bottleneck: the stack with one change, compared with the stack as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The outcome.
    pub outcome: ProofOutcome,
    /// The figure that was compared, in words.
    pub figure: String,
    /// The rounds of measurements, each on fresh seeds.
    pub rounds: Vec<ProofRound>,
}

impl Proof {
    /// Describes what was measured, in words.
    pub fn describe(&self) -> String {
        let round = |round: &ProofRound| {
            let figures = round.ratio.zip(round.low.zip(round.high));
            let ratio = figures.map(|(ratio, (low, high))| {
                let [ratio, low, high] = [ratio, low, high].map(units::show::bound);
                format!(" at {ratio} times ({low} to {high})")
            });
            format!("{}{} in {} repeats", round.verdict, ratio.unwrap_or_default(), round.repeats)
        };
        let rounds: Vec<_> = self.rounds.iter().map(round).collect();
        format!("{} {}", self.figure, rounds.join(", and again on fresh seeds "))
    }
}

/// One round in which base and change were measured side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProofRound {
    /// The verdict on the change (`better`, `worse`, `same`, `unclear`).
    pub verdict: String,
    /// The figure with the change over that of the base.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub high: Option<f64>,
    /// Repeats of each.
    pub repeats: usize,
    /// Seed of the round.
    pub seed: units::Seed,
    /// The path of its result.
    pub result: String,
}
