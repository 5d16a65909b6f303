//! One thing that the doctor noticed.

use serde::{Deserialize, Serialize};
use units::Unit;

/// The severity of a finding: how far it limits what the figures mean.
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

/// One thing that the doctor noticed, with its evidence and what to do.
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
    /// The figures it rests on.
    pub evidence: String,
    /// The advice: what to do about it.
    pub remedy: String,
    /// The evidence as numbers, each with the threshold that it was held against.
    #[serde(default)]
    pub figures: Vec<EvidenceFigure>,
    /// When it was so.
    #[serde(default)]
    pub range: Option<TimeRange>,
    /// The same in words: cell, stage and time (`cell 3 (vdo r2), stage write, from 2 s to 12 s of the cell`).
    #[serde(default)]
    pub place: Option<String>,
    /// Share of its limit that a bottleneck used, or of the I/Os that it touched, percent; bottlenecks are ranked by it. `None` for other
    /// findings.
    #[serde(default)]
    pub explains_percent: Option<f64>,
    /// Changes that would take a bottleneck away, if it is one: settings of the stack as an experiment's `set` writes them.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// Commands that make these changes to a volume of one's own; words in capitals stand for its names.
    #[serde(default)]
    pub commands: Vec<String>,
    /// The proof, from a trial of the change; `None` when nobody tried it.
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
    /// The threshold that it was held against, in the same unit.
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

/// A stretch of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRange {
    /// The cell, by its position in the order of running.
    pub cell: usize,
    /// Start, nanoseconds since the run's epoch, as all times of a cell.
    pub start_ns: u64,
    /// End, nanoseconds since the run's epoch.
    pub end_ns: u64,
}

/// Another value of one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The setting as `set` names it (`vdo.block_map_cache`).
    pub key: String,
    /// Its value, as it is written in TOML (`"512M"`, `2`).
    pub value: String,
}

impl Change {
    /// The line of an experiment that makes the change: of a device it stands at the top of the file, of all else in the `[[variant]]` that is to have
    /// it.
    pub fn line(&self) -> String {
        match self.key.starts_with("devices.") {
            true => self.to_string(),
            false => format!("set.{:?} = {}", self.key, self.value),
        }
    }

    /// Returns where the lines of these changes stand in an experiment, in words.
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

/// The outcome of the trial of a suspicion: a run with the change that would take it away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofOutcome {
    /// With the change it was better, twice.
    Confirmed,
    /// With the change it was the same or worse.
    Refuted,
    /// The runs do not say.
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

/// The trial of a bottleneck: the stack with one change beside the stack as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The outcome.
    pub outcome: ProofOutcome,
    /// The figure that was compared, in words.
    pub figure: String,
    /// Every time that it was measured, each on fresh seeds.
    pub rounds: Vec<ProofRound>,
}

impl Proof {
    /// Returns what was measured, in words.
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

/// One time that base and change were measured beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProofRound {
    /// The verdict on the change (`better`, `worse`, `same`, `unclear`).
    pub verdict: String,
    /// Changed over base.
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
