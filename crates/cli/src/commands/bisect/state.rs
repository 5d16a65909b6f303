//! How far a bisection came, kept in the directory of its results.

use std::io::Write;
use std::path::Path;

use results::draft::Draft;
use results::model::AskedMetric;
use serde::{Deserialize, Serialize};
use stats::bisect::{Beside, Bisection, Rules};
use units::Seed;

use crate::failure::Failure;

/// The version of the file.
pub const SCHEMA: u32 = 1;
/// Its name.
const FILE: &str = "bisect.json";
/// The beginning of every such file.
const MARK: &[u8] = b"{\"fathom_bisection\":";

/// What the command was told: a call that goes on is told the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The experiment's text.
    pub experiment: String,
    /// Where it is measured: `lab`, `simulated` or `devices`.
    pub measured: String,
    pub scale: Option<String>,
    pub figure: AskedMetric,
    /// Names, the good end first.
    pub candidates: Vec<String>,
    pub fixed: bool,
    pub rules: Rules,
}

/// One result of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub beside: Beside,
    /// The folder of the result.
    pub folder: String,
    pub repeats: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    /// The version of the file; first, since the file is known by it.
    pub fathom_bisection: u32,
    pub asked: Asked,
    pub seed: u64,
    pub bisection: Bisection,
    /// The results, in order.
    pub parts: Vec<Part>,
}

impl State {
    /// Reads how far an earlier call came; `None` where none was. Another bisection is refused.
    pub fn open(out: &Path, asked: &Asked, seed: Option<Seed>) -> Result<Option<Self>, Failure> {
        let path = out.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return unless_foreign(out).map(|()| None);
            }
            Err(error) => {
                let message = format!("{} cannot be read: {error}", path.display());
                return Err(Failure::usage(message).with_help("name another directory with --out"));
            }
        };
        let state: Self = serde_json::from_slice(&text).map_err(|error| {
            let message = format!("{} holds no bisection: {error}", path.display());
            Failure::data(message).with_help("name another directory with --out")
        })?;
        let seeds = seed.is_some_and(|seed| seed.0 != state.seed).then(|| "seed".to_owned());
        match state.asked.differs(asked).or(seeds) {
            None => Ok(Some(state)),
            Some(what) => {
                let message = format!("{} holds a bisection of another {what}", out.display());
                Err(Failure::usage(message).with_help(
                    "give the command as it was given first, or name another directory with --out",
                ))
            }
        }
    }

    /// Keeps it, whole or not at all.
    pub fn write(&self, out: &Path) -> Result<(), Failure> {
        let path = out.join(FILE);
        let written = || -> std::io::Result<()> {
            let draft = Draft::begin(&path, MARK)?;
            draft.file().write_all(&serde_json::to_vec(self)?)?;
            draft.file().sync_all()?;
            draft.finish().map(drop)
        };
        written().map_err(|error| {
            let message = format!("{} cannot be written: {error}", path.display());
            Failure::environment(message).with_help("make room; the same command goes on")
        })
    }

    /// The name of what is measured beside the good end; `None` for the good end once more.
    pub fn other(&self, beside: Beside) -> Option<&str> {
        let place = match beside {
            Beside::Itself => return None,
            Beside::BadEnd => self.asked.candidates.len().checked_sub(1)?,
            Beside::Candidate(place) => place,
        };
        self.asked.candidates.get(place).map(String::as_str)
    }

    /// The results of a step.
    pub fn parts_of(&self, beside: Beside) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.beside == beside)
    }

    /// The folder of the next result: `03-v08-1`.
    pub fn folder(&self, beside: Beside) -> String {
        let steps = &self.bisection.steps;
        let step = steps.iter().position(|step| step.beside == beside).unwrap_or(steps.len()) + 1;
        let name = match beside {
            Beside::BadEnd => "ends",
            Beside::Itself => "itself",
            Beside::Candidate(_) => self.other(beside).unwrap_or_default(),
        };
        let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
        let name: String = name.chars().map(plain).take(40).collect();
        format!("{step:02}-{name}-{}", self.parts_of(beside).count() + 1)
    }
}

impl Asked {
    /// Names what is not as in `other`.
    fn differs(&self, other: &Self) -> Option<String> {
        let (one, other) = (serde_json::to_value(self).ok()?, serde_json::to_value(other).ok()?);
        let object = one.as_object()?;
        object.iter().find(|(key, value)| other.get(key) != Some(value)).map(|(key, _)| {
            match key.as_str() {
                "measured" => "machine (the lab, devices, a simulation)".to_owned(),
                "candidates" => "list".to_owned(),
                "rules" => "--repeat, --threshold or direction of the figure".to_owned(),
                key => key.to_owned(),
            }
        })
    }
}

/// Refuses a directory in which there is something else than results of a bisection that has only begun.
fn unless_foreign(out: &Path) -> Result<(), Failure> {
    let foreign = |name: &str| !name.starts_with("01-ends-") && !name.starts_with(".fathom-");
    let inside = std::fs::read_dir(out).into_iter().flatten().flatten();
    let names = inside.map(|entry| entry.file_name().to_string_lossy().into_owned());
    match names.into_iter().find(|name| foreign(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("--out {} holds no bisection, but '{name}'", out.display());
            Err(Failure::refused(message).with_help("name a new directory"))
        }
    }
}
