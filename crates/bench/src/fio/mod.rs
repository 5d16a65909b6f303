//! fio as a peer: its program and build, its command lines, and its output.

mod job;
mod output;

use std::path::{Path, PathBuf};

use sys::interrupt::Interrupt;

use crate::BenchError;
use crate::child::{self, Line};

pub use job::{Candidate, Engine, FioJob, candidates};
pub use output::parse;

/// A fio that can be run.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fio {
    /// The program.
    pub path: PathBuf,
    /// Version as it reports it (`fio-3.33`).
    pub version: String,
    /// Its origin: a Debian package with its version, or built by hand.
    pub build: String,
}

impl Fio {
    /// The fio at `path`, or the first one on the search path.
    pub fn find(path: Option<&Path>) -> Result<Self, BenchError> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => search("fio").ok_or_else(|| BenchError::NoProgram("fio".into()))?,
        };
        let never = Interrupt::new();
        let version = child::run(&Line::new(&path, vec!["--version".into()]), &never)?;
        let version = version.stdout.trim().to_owned();
        if !version.starts_with("fio-") {
            return Err(BenchError::NoProgram(format!("fio at {}", path.display())));
        }
        Ok(Self { build: build(&path), path, version })
    }

    /// Name, version and build in one line.
    pub fn describe(&self) -> String {
        format!("{} ({}, {})", self.version, self.build, self.path.display())
    }
}

/// The first `program` on the search path.
pub(crate) fn search(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Returns whose build it is, as far as the package manager knows.
fn build(path: &Path) -> String {
    let ask = |program: &str, arguments: &[&str]| {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let ran = child::run(&Line::new(Path::new(program), arguments), &Interrupt::new()).ok()?;
        Some(ran.stdout.trim().to_owned())
    };
    if search("dpkg-query").is_none() {
        return "build unknown: no package manager to ask".into();
    }
    let owner = ask("dpkg-query", &["-S", &path.display().to_string()]);
    let package = owner.as_deref().and_then(|line| line.split(':').next()).map(str::to_owned);
    let version =
        package.and_then(|name| ask("dpkg-query", &["-W", "-f=${Package} ${Version}", &name]));
    version.map_or_else(|| "no package: built by hand".into(), |named| format!("package {named}"))
}
