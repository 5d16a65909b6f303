//! Kernels of Debian's suites: found in package lists, each with all the packages that it consists of, and chosen by a name.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::{Error, Result};

/// The beginning of the names of packages with, or for, a kernel.
pub(super) const IMAGE: &str = "linux-image-";
/// The beginnings of the names of the packages that a kernel's image may be split into.
pub(super) const SPLIT: [&str; 3] = ["linux-binary-", "linux-modules-", "linux-base-"];
/// The end of the names of the kernels that guests boot.
const FLAVOUR: &str = "-amd64";
/// Ends of the names of other flavours, and of packages that do not contain a kernel themselves.
const OTHERS: [&str; 2] = ["-cloud-amd64", "-rt-amd64"];

/// A package of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelPackage {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The SHA-256 of its archive, as its suite's list says.
    pub sha256: String,
    /// Bytes of its archive.
    pub size: Bytes,
}

/// A kernel that a suite lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its release, as it says itself (`6.12.107+deb13-amd64`).
    pub release: String,
    /// Its version: of the sources, a dash, and Debian's (`6.12.107-1`).
    pub version: String,
    /// The suite that has it.
    pub suite: String,
    /// The packages that it consists of.
    pub packages: Vec<KernelPackage>,
    /// Packages of it that its suite no longer has; unless this is empty, the kernel cannot be downloaded.
    #[serde(default)]
    pub gone: Vec<String>,
}

impl Kernel {
    /// Returns the version of its sources: `6.12.107`.
    pub fn sources(&self) -> &str {
        self.version.rsplit_once('-').map_or(&self.version, |(sources, _)| sources)
    }

    /// Returns the bytes of its archives.
    pub fn download(&self) -> Bytes {
        Bytes(self.packages.iter().map(|package| package.size.0).sum())
    }

    /// Tells whether all of it can be downloaded.
    pub fn is_whole(&self) -> bool {
        self.gone.is_empty()
    }

    /// Tells whether `name` matches it, and maybe others too: its release with or without the flavour, or the beginning of its version.
    fn is(&self, name: &str) -> bool {
        let of_version = self.version.strip_prefix(name);
        self.release == name
            || self.release.strip_suffix(FLAVOUR) == Some(name)
            || of_version.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '~']))
    }
}

/// Returns the sort key of a version: the numbers of the sources, the release candidate, Debian's numbers.
fn rank(version: &str) -> (Vec<u64>, u64, Vec<u64>) {
    let numbers = |text: &str| {
        let parts = text.split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect::<Vec<u64>>()
    };
    let (sources, debian) = version.rsplit_once('-').unwrap_or((version, ""));
    let (plain, candidate) = sources
        .split_once("~rc")
        .map_or((sources, u64::MAX), |(plain, number)| (plain, number.parse().unwrap_or(0)));
    (numbers(plain), candidate, numbers(debian))
}

/// All kernels of some suites, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernels {
    /// Those that are listed, whether all of them can be had or not.
    pub listed: Vec<Kernel>,
    /// Suites whose lists could not be had, and why.
    pub unread: Vec<(String, String)>,
}

impl Kernels {
    /// Sorts the kernels of suites. Where several suites have the same kernel, the first that has all of it counts.
    pub(super) fn of(listed: impl IntoIterator<Item = Kernel>) -> Self {
        let mut one_each: Vec<Kernel> = Vec::new();
        for kernel in listed {
            match one_each.iter_mut().find(|known| known.release == kernel.release) {
                None => one_each.push(kernel),
                Some(known) if kernel.is_whole() && !known.is_whole() => *known = kernel,
                Some(_) => {}
            }
        }
        one_each.sort_by_cached_key(|kernel| rank(&kernel.version));
        Self { listed: one_each, unread: Vec::new() }
    }

    /// Those that can be had.
    pub fn available(&self) -> impl DoubleEndedIterator<Item = &Kernel> {
        self.listed.iter().filter(|kernel| kernel.is_whole())
    }

    /// Returns the newest kernel that `name` means.
    ///
    /// # Errors
    /// When no kernel matches, or none that can be had whole; the error names those near it.
    pub fn choose(&self, name: &str) -> Result<&Kernel> {
        if let Some(kernel) = self.available().rev().find(|kernel| kernel.is(name)) {
            return Ok(kernel);
        }
        let near = self.near(name);
        let unread = self.unread.iter().map(|(suite, _)| suite.clone()).collect();
        Err(match self.listed.iter().rev().find(|kernel| kernel.is(name)) {
            None => Error::UnknownKernel { name: name.to_owned(), near, unread },
            Some(kernel) => Error::KernelGone {
                release: kernel.release.clone(),
                suite: kernel.suite.clone(),
                gone: kernel.gone.clone(),
                near,
            },
        })
    }

    /// Returns the source versions of the kernels nearest to `name`: the last one before it and the first one after it; for a name without numbers
    /// the newest one of all.
    fn near(&self, name: &str) -> Vec<String> {
        let (wanted, ..) = rank(name.trim_end_matches(FLAVOUR));
        let place = |kernel: &&Kernel| rank(&kernel.version).0.cmp(&wanted);
        let before = self.available().rev().find(|kernel| place(kernel).is_lt());
        let after = self.available().find(|kernel| place(kernel).is_gt());
        let two =
            if wanted.is_empty() { [None, self.available().next_back()] } else { [before, after] };
        two.into_iter().flatten().map(|kernel| kernel.sources().to_owned()).collect()
    }
}

/// Tells whether a package of this name may belong to a kernel that guests boot.
pub(super) fn is_of_kernel(name: &str) -> bool {
    let stems = [IMAGE].into_iter().chain(SPLIT);
    stems.filter_map(|stem| name.strip_prefix(stem)).any(is_release)
}

fn is_release(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(FLAVOUR)
        && !OTHERS.iter().any(|other| text.ends_with(other))
}

/// Finds the kernels in the descriptions of a suite's packages, as `apt-cache show` prints them.
pub(super) fn listed(suite: &str, descriptions: &str) -> Vec<Kernel> {
    let all = packages(descriptions);
    let images = all.iter().filter_map(|(name, one)| Some((name.strip_prefix(IMAGE)?, one)));
    let kernel = |(release, image): (&str, &Described)| {
        // The image package of a split kernel is empty, and depends on its parts.
        let split = format!("{}{release}", SPLIT[0]);
        let wanted: Vec<String> = match image.depends.contains(split.as_str()) {
            true => SPLIT.iter().map(|stem| format!("{stem}{release}")).collect(),
            false => vec![format!("{IMAGE}{release}")],
        };
        let (there, gone): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|name| all.contains_key(name.as_str()));
        let there = there.iter().filter_map(|name| Some(all.get(name.as_str())?.package.clone()));
        Kernel {
            release: release.to_owned(),
            version: image.package.version.clone(),
            suite: suite.to_owned(),
            packages: there.collect(),
            gone,
        }
    };
    let mut kernels: Vec<_> =
        images.filter(|(release, _)| is_release(release)).map(kernel).collect();
    kernels.sort_by_cached_key(|kernel| Reverse(rank(&kernel.version)));
    kernels
}

/// A package as a list describes it.
struct Described<'a> {
    package: KernelPackage,
    depends: BTreeSet<&'a str>,
}

/// Reads descriptions; where a package has several versions the first counts, which is the newest.
fn packages(descriptions: &str) -> BTreeMap<&str, Described<'_>> {
    let mut all = BTreeMap::new();
    for text in descriptions.split("\n\n") {
        let field = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::trim)
        };
        let (Some(name), Some(version)) = (field("Package"), field("Version")) else { continue };
        let depends = field("Depends").unwrap_or_default().split([',', '|']);
        let depends = depends.filter_map(|one| one.split_whitespace().next()).collect();
        let package = KernelPackage {
            name: name.to_owned(),
            version: version.to_owned(),
            sha256: field("SHA256").unwrap_or_default().to_owned(),
            size: Bytes(field("Size").and_then(|size| size.parse().ok()).unwrap_or(0)),
        };
        all.entry(name).or_insert(Described { package, depends });
    }
    all
}

#[cfg(test)]
mod tests;
