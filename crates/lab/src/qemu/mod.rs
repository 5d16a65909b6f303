//! QEMU: where it is, which version, and the arguments it is given.

mod args;
mod command_line;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

pub(crate) use args::{DriveArgument, Machine};
pub(crate) use command_line::command_line;

use crate::cache::Cache;
use crate::{Error, Result};

/// The program's name.
pub(crate) const PROGRAM: &str = "qemu-system-x86_64";
/// The beginning of the name of every machine of the lab, by which it can be found again; the host's process id follows.
pub(crate) const NAME: &str = "fathom-lab-";

/// QEMU on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qemu {
    /// The program.
    pub path: PathBuf,
    /// Arguments before all others, where another program (a linker) starts QEMU.
    #[serde(default)]
    pub(crate) leading: Vec<String>,
    /// The first line of its version output.
    pub version: String,
    /// Size and time of the program, to see that it is still the same.
    stamp: (u64, i64),
}

impl Qemu {
    /// Finds QEMU on the PATH. Its version is remembered in the cache: asking takes 50 ms.
    pub fn find(cache: &Cache) -> Result<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::split_paths(&path)
            .map(|dir| dir.join(PROGRAM))
            .find(|path| path.is_file())
            .ok_or_else(missing)?;
        let facts = fs::metadata(&path).map_err(Error::io("cannot read", &path))?;
        let stamp = (facts.len(), facts.mtime());
        let remembered = cache.dir().join("qemu.json");
        let known =
            fs::read(&remembered).ok().and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        if let Some(known) = known.filter(|known| known.path == path && known.stamp == stamp) {
            return Ok(known);
        }
        let found = Self { version: version(&path, &[])?, path, leading: Vec::new(), stamp };
        // A cache that cannot be written costs 50 ms the next time.
        if let Ok(text) = serde_json::to_vec(&found) {
            let _ = cache.put("qemu.json", &text);
        }
        Ok(found)
    }

    /// Returns the QEMU that `path` starts when it gets these arguments before all others.
    pub(crate) fn started_by(path: PathBuf, leading: Vec<String>) -> Result<Self> {
        let facts = fs::metadata(&path).map_err(Error::io("cannot read", &path))?;
        let stamp = (facts.len(), facts.mtime());
        Ok(Self { version: version(&path, &leading)?, path, leading, stamp })
    }
}

fn version(path: &Path, leading: &[String]) -> Result<String> {
    let mut command = Command::new(path);
    let output = command.args(leading).arg("--version").output();
    let output = output.map_err(Error::io("cannot start", path))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    stdout
        .lines()
        .next()
        .map(str::to_owned)
        .ok_or_else(|| Error::Qemu { why: format!("{} --version printed nothing", path.display()) })
}

fn missing() -> Error {
    Error::MissingProgram { program: PROGRAM.to_owned(), package: "qemu-system-x86".to_owned() }
}
