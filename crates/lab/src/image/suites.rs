//! The suites that kernels are taken from, each with a separate apt directory: their lists never mix with those of the userland.

use std::fs;
use std::path::PathBuf;

use super::apt::{Apt, Archived};
use super::kernels::{self, IMAGE, Kernel, Kernels, SPLIT};
use super::mirror;
use crate::cache::Cache;
use crate::event::{Event, Events};
use crate::{Error, Result};

/// Debian's suites with kernels that guests can boot. If several have the same kernel, the first one counts.
pub const KERNEL_SUITES: [&str; 8] = [
    "trixie",
    "trixie-backports",
    "bookworm",
    "bookworm-backports",
    "bullseye",
    "forky",
    "sid",
    "experimental",
];
/// The file in the directory of a suite that names the kernels in its lists.
const LIST: &str = "kernels.json";

impl Kernels {
    /// Returns the kernels that the Debian mirror has, from lists in the cache, which are fetched where they are missing; `fresh` fetches all of
    /// them, which takes a minute. Suites that cannot be reached are named in the result.
    ///
    /// # Errors
    /// Fails where no suite can be reached.
    pub fn list(cache: &Cache, mirror: Option<&str>, fresh: bool, events: Events) -> Result<Self> {
        let mirror = mirror.map_or_else(mirror::find, |url| Ok(url.to_owned()))?;
        let known = |suite: &str| read(cache, suite).filter(|_| !fresh);
        let _lock = match KERNEL_SUITES.iter().all(|suite| known(suite).is_some()) {
            true => None,
            false => Some(cache.lock_build(&mut || events(Event::WaitingForBuild))?),
        };
        let (mut listed, mut unread, mut last) = (Vec::new(), Vec::new(), None);
        for suite in KERNEL_SUITES {
            match known(suite).map_or_else(|| fetched(cache, suite, &mirror, events), Ok) {
                Ok(kernels) => listed.extend(kernels),
                Err(error) => {
                    unread.push((suite.to_owned(), error.to_string()));
                    last = Some(error);
                }
            }
        }
        match last.filter(|_| unread.len() == KERNEL_SUITES.len()) {
            Some(error) => Err(error),
            None => Ok(Self { unread, ..Self::of(listed) }),
        }
    }
}

/// apt of a suite that kernels are taken from.
fn apt(cache: &Cache, suite: &str, mirror: &str) -> Result<Apt> {
    Apt::new(&place(cache, suite)?, suite, mirror, &mirror::keyring()?)
}

fn place(cache: &Cache, suite: &str) -> Result<PathBuf> {
    cache.inside("kernels").map(|dir| dir.join(suite))
}

/// Reads the kernels of a suite from its list in the cache; `None` where there is no list.
fn read(cache: &Cache, suite: &str) -> Option<Vec<Kernel>> {
    let text = fs::read(place(cache, suite).ok()?.join(LIST)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Fetches the lists of a suite, and keeps the kernels that they name.
fn fetched(cache: &Cache, suite: &str, mirror: &str, events: Events) -> Result<Vec<Kernel>> {
    events(Event::FetchingLists { suite: suite.to_owned() });
    let apt = apt(cache, suite, mirror)?;
    apt.update()?;
    let kernels = in_lists(&apt, suite)?;
    let path = place(cache, suite)?.join(LIST);
    let text = serde_json::to_vec_pretty(&kernels).map_err(Error::bad_file(&path))?;
    let aside = path.with_extension("new");
    fs::write(&aside, text).map_err(Error::io("cannot write", &aside))?;
    fs::rename(&aside, &path).map_err(Error::io("cannot write", &path))?;
    Ok(kernels)
}

/// Returns the kernels that the lists of `apt` have.
pub(super) fn in_lists(apt: &Apt, suite: &str) -> Result<Vec<Kernel>> {
    let mut names = Vec::new();
    for stem in [IMAGE].into_iter().chain(SPLIT) {
        names.extend(apt.names(stem)?.into_iter().filter(|name| kernels::is_of_kernel(name)));
    }
    Ok(kernels::listed(suite, &apt.descriptions(&names)?))
}

/// Returns the archives of a kernel: those that are there, or else downloaded, by their exact names and nothing else.
pub(super) fn archives(
    cache: &Cache,
    kernel: &Kernel,
    mirror: Option<&str>,
    events: Events,
) -> Result<Vec<Archived>> {
    let mirror = mirror.map_or_else(mirror::find, |url| Ok(url.to_owned()))?;
    let apt = apt(cache, &kernel.suite, &mirror)?;
    events(Event::FetchingPackages { packages: kernel.packages.len() });
    taken(&apt, kernel)
}

/// Returns the archives of a kernel that the lists of `apt` have.
pub(super) fn taken(apt: &Apt, kernel: &Kernel) -> Result<Vec<Archived>> {
    kernel.packages.iter().map(|package| apt.alone(&package.name)).collect()
}

/// Tells whether all archives of a kernel are in the cache.
pub fn is_downloaded(cache: &Cache, kernel: &Kernel) -> bool {
    let Ok(dir) = place(cache, &kernel.suite) else { return false };
    let archives: Vec<String> = fs::read_dir(dir.join("cache/archives"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    kernel.packages.iter().all(|package| {
        let begins = format!("{}_{}_", package.name, package.version.replace(':', "%3a"));
        archives.iter().any(|name| name.starts_with(&begins))
    })
}
