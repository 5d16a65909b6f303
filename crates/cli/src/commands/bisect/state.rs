//! The progress of a bisection, kept in the directory of its results.

use std::io::Write;
use std::path::Path;

use results::draft::Draft;
use results::model::{AskedMetric, Manifest};
use serde::{Deserialize, Serialize};
use stats::bisect::{Beside, Bisection, Rules};
use units::Seed;

use crate::failure::Failure;

/// The version of the file.
pub const SCHEMA: u32 = 1;
/// Its name.
const FILE: &str = "bisect.json";
/// The most bytes of it that are read.
const MAX_STATE_BYTES: u64 = 16 << 20;
/// The beginning of every such file.
const MARK: &[u8] = b"{\"fathom_bisection\":";

/// The arguments of the command; a call that continues the bisection must have the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectRequest {
    /// The experiment's text.
    pub experiment: String,
    /// The place of the measurements: `lab`, `simulated` or `devices`.
    pub measured: String,
    /// Options of that place: devices by role, and the guest's machine.
    pub options: Vec<String>,
    pub scale: Option<String>,
    pub figure: AskedMetric,
    /// Names, the good end first.
    pub candidates: Vec<String>,
    pub fixed: bool,
    pub rules: Rules,
}

/// One result of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub beside: Beside,
    /// The folder of the result.
    pub folder: String,
    pub repeats: u32,
}

/// A bisection and its progress. Only its arguments and its seed are stored: all else follows from the results, which are sealed.
#[derive(Debug, Clone)]
pub struct State {
    pub asked: BisectRequest,
    pub seed: u64,
    pub bisection: Bisection,
    /// The results, in order.
    pub parts: Vec<Part>,
    /// The manifest of the first result: all others must come from the same machine.
    pub first: Option<Box<Manifest>>,
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    /// The version of the file; first, since the file is known by it.
    fathom_bisection: u32,
    asked: BisectRequest,
    seed: u64,
}

impl State {
    /// Begins a bisection.
    pub fn new(request: BisectRequest, seed: u64) -> Self {
        let bisection = Bisection::new(request.candidates.len(), request.fixed, request.rules);
        Self { asked: request, seed, bisection, parts: Vec::new(), first: None }
    }

    /// Tells whether there is a bisection in a directory.
    pub fn is_in(out: &Path) -> bool {
        out.join(FILE).symlink_metadata().is_ok()
    }

    /// Reads the arguments of a bisection, but none of its results.
    pub fn read(out: &Path) -> Result<Self, Failure> {
        let path = out.join(FILE);
        let help = "name another directory";
        let text = sys::input::read(&path, MAX_STATE_BYTES).map_err(|error| {
            let message = format!("{} cannot be read: {error}", path.display());
            Failure::usage(message).with_help(help)
        })?;
        let wrong = |why: String| {
            let message = format!("{} holds no bisection: {why}", path.display());
            Failure::data(message).with_help(help)
        };
        let stored: Stored =
            serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if stored.fathom_bisection != SCHEMA {
            let version = stored.fathom_bisection;
            return Err(wrong(format!("its version is {version}; {SCHEMA} is known here")));
        }
        let rules = &stored.asked.rules;
        let possible = rules.threshold.is_finite() && (5..=27).contains(&rules.most);
        if stored.asked.candidates.len() < 2 || !possible {
            return Err(wrong("its list or its rules are not valid".to_owned()));
        }
        Ok(Self::new(stored.asked, stored.seed))
    }

    /// Reads the arguments of an earlier call; `None` if there was none. Fails where they are those of another bisection.
    pub fn open(
        out: &Path,
        request: &BisectRequest,
        seed: Option<Seed>,
    ) -> Result<Option<Self>, Failure> {
        if !Self::is_in(out) {
            return unless_foreign(out).map(|()| None);
        }
        let state = Self::read(out)?;
        let seeds = seed.is_some_and(|seed| seed.0 != state.seed).then(|| "seed".to_owned());
        match state.asked.differs(request).or(seeds) {
            None => Ok(Some(state)),
            Some(what) => {
                let message = format!("{} holds a bisection of another {what}", out.display());
                Err(Failure::usage(message).with_help(
                    "give the command as it was given first, or name another directory with --out",
                ))
            }
        }
    }

    /// Stores the arguments, completely or not at all.
    pub fn write(&self, out: &Path) -> Result<(), Failure> {
        let path = out.join(FILE);
        let stored =
            Stored { fathom_bisection: SCHEMA, asked: self.asked.clone(), seed: self.seed };
        let written = || -> std::io::Result<()> {
            let draft = Draft::begin(&path, MARK)?;
            draft.file().write_all(&serde_json::to_vec(&stored)?)?;
            draft.file().sync_all()?;
            draft.finish().map(drop)
        };
        written().map_err(|error| {
            let message = format!("{} cannot be written: {error}", path.display());
            Failure::environment(message).with_help("make room; the same command goes on")
        })
    }

    /// The name of what is compared with the good end; `None` for the good end once more.
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

impl BisectRequest {
    /// Names the first argument that is not as in `other`.
    fn differs(&self, other: &Self) -> Option<String> {
        let (one, other) = (serde_json::to_value(self).ok()?, serde_json::to_value(other).ok()?);
        let object = one.as_object()?;
        object.iter().find(|(key, value)| other.get(key) != Some(value)).map(|(key, _)| {
            match key.as_str() {
                "measured" => "machine (the lab, devices, a simulation)".to_owned(),
                "options" => "machine (its devices, or the options of the guest)".to_owned(),
                "candidates" => "list".to_owned(),
                "rules" => "--repeat, --threshold or direction of the figure".to_owned(),
                key => key.to_owned(),
            }
        })
    }
}

/// Refuses a directory that holds something else.
fn unless_foreign(out: &Path) -> Result<(), Failure> {
    let inside = std::fs::read_dir(out).into_iter().flatten().flatten();
    let mut names = inside.map(|entry| entry.file_name().to_string_lossy().into_owned());
    match names.find(|name| !name.starts_with(".fathom-")) {
        None => Ok(()),
        Some(name) => {
            let message = format!("--out {} holds no bisection, but '{name}'", out.display());
            Err(Failure::refused(message).with_help("name a new directory"))
        }
    }
}
