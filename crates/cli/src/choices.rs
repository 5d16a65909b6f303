//! What a command needs before it starts: the experiment's text, a seed, a tag, a directory.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use experiment::{Choices, Plan, Scale};
use units::{Bytes, Seed};

use run::{Earlier, Event, Ledger, Start};

use crate::args::Common;
use crate::failure::Failure;
use crate::terminal::say;

/// An experiment's file: what errors call it, and its text.
pub struct Source {
    pub name: String,
    pub text: String,
}

impl Source {
    /// Whether it is one that comes with the program.
    pub fn is_shipped(&self) -> bool {
        experiment::SHIPPED.iter().any(|shipped| shipped.text == self.text)
    }

    /// Finds `experiment`: a path when it looks like one or exists, a shipped name otherwise.
    pub fn find(experiment: &str) -> Result<Self, Failure> {
        let path = Path::new(experiment);
        let is_path = experiment.contains('/') || experiment.ends_with(".toml") || path.is_file();
        if !is_path {
            if let Some(shipped) = experiment::shipped(experiment) {
                return Ok(Self { name: format!("{experiment}.toml"), text: shipped.text.into() });
            }
            let names: Vec<_> = experiment::SHIPPED.iter().map(|s| s.name).collect();
            let near = experiment::nearest(experiment, names.iter().copied());
            let hint = near.map_or_else(String::new, |n| format!("did you mean '{n}'? "));
            return Err(Failure::usage(format!("There is no experiment '{experiment}'"))
                .with_help(format!(
                    "{hint}Shipped are: {}; or give the path of a file",
                    names.join(", ")
                )));
        }
        let text = read(path).map_err(|error| {
            Failure::usage(format!("Cannot read experiment file {experiment}: {error}"))
                .with_help("give the path of a TOML file, or the name of a shipped experiment")
        })?;
        Ok(Self { name: experiment.to_owned(), text })
    }
}

/// Reads a file as far as an experiment can be long, and a little more: that it is too long is for the experiment to say.
fn read(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(experiment::LONGEST_FILE + 1).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|e| std::io::Error::new(std::io::ErrorKind::InvalidData, e))
}

/// A seed nobody chose: from the kernel's random bytes.
pub fn fresh_seed() -> Seed {
    let mut bytes = [0u8; 8];
    let read = std::fs::File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes));
    match read {
        Ok(()) => Seed(u64::from_le_bytes(bytes)),
        // Without /dev the time and the process still differ from run to run.
        Err(_) => {
            Seed(std::process::id().into()).derive(&format!("{:?}", std::time::SystemTime::now()))
        }
    }
}

/// Eight hexadecimal digits that no other run has: not from the seed, which may be given twice.
fn run_tag() -> String {
    format!("{:08x}", fresh_seed().0 >> 32)
}

/// What a command says of the plan, beside the experiment.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub seed: Option<Seed>,
    pub repeat: Option<u32>,
    pub scale: Option<String>,
    pub only: Vec<String>,
    /// The tag of the run that goes on; a fresh one where none does.
    pub run_tag: Option<String>,
    /// Sizes of real devices by role.
    pub sizes: BTreeMap<String, Bytes>,
}

impl Asked {
    /// What a command that runs cells says; a run that goes on keeps its seed and its tag.
    pub fn of(common: &Common, earlier: Option<&Earlier>) -> Self {
        Self {
            seed: common.seed.or(earlier.map(Earlier::seed)),
            repeat: common.repeat,
            scale: common.scale.clone(),
            only: common.only.clone(),
            run_tag: earlier.map(|earlier| earlier.run_tag().to_owned()),
            sizes: BTreeMap::new(),
        }
    }

    /// One repeat.
    pub fn once() -> Self {
        Self { repeat: Some(1), ..Self::default() }
    }
}

/// The scale of the lab, unless another is asked for.
pub const LAB: &str = "lab";
/// The scale of this machine's devices, unless another is asked for.
pub const FULL: &str = "full";

/// The plan that the command asks for; `usual` is its scale where none is asked for.
pub fn plan(source: &Source, asked: Asked, usual: &'static str) -> Result<Plan, Failure> {
    let choices = Choices {
        seed: asked.seed.unwrap_or_else(fresh_seed),
        run_tag: asked.run_tag.unwrap_or_else(run_tag),
        repeat: asked.repeat,
        sizes: asked.sizes,
        scale: asked.scale.map_or(Scale::Usual(usual), Scale::Asked),
        only: asked.only,
    };
    Ok(experiment::compose(&source.name, &source.text, &choices)?)
}

/// The directory of the result, checked before anything is started.
pub fn result_directory(common: &Common, plan: &Plan) -> Result<PathBuf, Failure> {
    if let Some(dir) = &common.resume {
        return Ok(dir.clone());
    }
    let dir = common.out.clone().unwrap_or_else(|| {
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        PathBuf::from(format!("{}-{now}", plan.facts.experiment))
    });
    if dir.exists() {
        return Err(Failure::usage(format!("Result directory {} exists already", dir.display()))
            .with_help("name another with --out, or remove it"));
    }
    Ok(dir)
}

/// The result that the command goes on with, if it does.
pub fn earlier(common: &Common) -> Result<Option<Earlier>, Failure> {
    Ok(common.resume.as_deref().map(Earlier::open).transpose()?)
}

/// Begins the result, or goes on with an earlier one of the same plan.
pub fn ledger(
    out: &Path,
    plan: &Plan,
    start: Start,
    earlier: Option<Earlier>,
    on: Box<dyn FnMut(&Event) + Send>,
) -> Result<Ledger, Failure> {
    let Some(earlier) = earlier else { return Ok(Ledger::begin(out, plan, start, on)?) };
    earlier.check(plan, &start)?;
    let (left, all) = (earlier.left(), plan.cells.len());
    say(&format!("{} of {all} cells ended well and are kept; {left} run", all - left));
    Ok(Ledger::resume(earlier, &start, on)?)
}
