//! Programs of Debian packages, and directories, that commands of an experiment need in addition to the guest's root. They come as read-only
//! compressed images on virtual disks and so take no memory of the guest.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::image::Package;
use crate::needs::ImageNeeds;

/// Modules that a guest needs for supplies.
const MODULES: [&str; 2] = ["squashfs", "overlay"];
/// The guest's directory at which the image of packages is mounted.
const PACKAGES: &str = "/lab/packages";
/// The guest's directory below which those corpora are mounted that are directories.
const CORPORA: &str = "/lab/corpora";

/// The packages and directories that commands of an experiment need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SupplySpec {
    /// Debian packages whose programs are laid over the guest's root, with all that they depend on.
    pub packages: Vec<String>,
    /// Debian packages whose files are only read, each alone.
    pub package_corpora: Vec<String>,
    /// Directories of this machine that are read, by name.
    pub directories: Vec<(String, PathBuf)>,
}

impl SupplySpec {
    /// Tells whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.package_corpora.is_empty() && self.directories.is_empty()
    }

    /// Returns what it needs in the guest's root.
    pub fn needs(&self) -> ImageNeeds {
        if self.is_empty() { ImageNeeds::default() } else { ImageNeeds::new(&[], &MODULES, &[]) }
    }
}

/// The content of a supply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Packages: programs, and corpora.
    Packages {
        /// Tells whether there are programs, to be laid over the guest's root.
        programs: bool,
    },
    /// A directory of this machine.
    Directory {
        /// Its name.
        name: String,
    },
}

/// One read-only image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supply {
    /// Its content.
    pub content: Content,
    /// Its file.
    pub image: PathBuf,
    /// Its bytes.
    pub size: Bytes,
    /// The packages in it.
    pub packages: Vec<Package>,
}

/// The facts of a supply that a result holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupplyFacts {
    /// Its mount point in the guest.
    pub place: String,
    /// Bytes of its image, compressed.
    pub size: Bytes,
    /// The Debian packages in it, as `name version`.
    pub packages: Vec<String>,
}

/// The instructions to the guest for mounting a supply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mount {
    /// Serial number of its disk.
    pub(crate) serial: String,
    /// Its mount point.
    pub(crate) place: String,
    /// Tells whether it is laid over the root.
    pub(crate) over_root: bool,
}

impl Supply {
    fn place(&self) -> String {
        match &self.content {
            Content::Packages { .. } => PACKAGES.to_owned(),
            Content::Directory { name } => directory(name),
        }
    }

    pub(crate) fn facts(&self) -> SupplyFacts {
        let packages = self.packages.iter().map(|p| format!("{} {}", p.name, p.version));
        SupplyFacts { place: self.place(), size: self.size, packages: packages.collect() }
    }
}

/// Returns the path in the guest of the directory called `name`.
pub fn directory(name: &str) -> String {
    format!("{CORPORA}/{name}")
}

/// Returns the path in the guest of the files of a package that is only read.
pub fn package_corpus(package: &str) -> String {
    format!("{PACKAGES}/trees/{package}")
}

/// Serial number of the disk of the supply at `position`: no device of an experiment can have a name like it.
pub(crate) fn serial(position: usize) -> String {
    format!("-supply-{position}")
}

/// Returns the instructions to the guest for mounting all supplies.
pub(crate) fn mounts(supplies: &[Supply]) -> Vec<Mount> {
    let mount = |(position, supply): (usize, &Supply)| Mount {
        serial: serial(position),
        place: supply.place(),
        over_root: supply.content == Content::Packages { programs: true },
    };
    supplies.iter().enumerate().map(mount).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supplies_are_mounted_apart_and_only_programs_lie_over_the_root() {
        let supply = |content| Supply {
            content,
            image: "x".into(),
            size: Bytes(4096),
            packages: vec![Package { name: "git".into(), version: "1:2.47".into() }],
        };
        let all = [
            supply(Content::Packages { programs: true }),
            supply(Content::Directory { name: "mine".into() }),
        ];
        let mounts = mounts(&all);
        assert_eq!((mounts[0].place.as_str(), mounts[0].over_root), ("/lab/packages", true));
        assert_eq!((mounts[1].place.as_str(), mounts[1].over_root), ("/lab/corpora/mine", false));
        assert_ne!(mounts[0].serial, mounts[1].serial);
        assert!(package_corpus("git").starts_with("/lab/packages/"));
        assert_eq!(all[0].facts().packages, ["git 1:2.47"]);
        assert!(SupplySpec::default().needs().modules.is_empty());
    }
}
