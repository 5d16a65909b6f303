//! The userland of guests: programs with their libraries and settings, without a kernel. It is made once for what is needed, and is the
//! same for all kernels.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use units::Bytes;

use super::apt::Apt;
use super::assemble::Root;
use super::manifest::Package;
use super::spec::ImageSpec;
use super::unpack::unpack;
use crate::Error;
use crate::Result;
use crate::cache::{Cache, remove};
use crate::event::{Event, Events};
use crate::needs::ImageNeeds;

/// Packages of every userland.
const PACKAGES: [&str; 1] = ["busybox-static"];
/// Programs of every userland.
const TOOLS: [&str; 1] = ["busybox"];
/// The files of a userland in the cache: its archive, and the list of what is in it.
const ARCHIVE: &str = "root.cpio";
const LIST: &str = "userland.json";

/// A userland.
pub(super) struct Userland {
    /// Its archive.
    pub(super) archive: Vec<u8>,
    /// Its contents.
    pub(super) list: Contents,
}

/// The list of what is in a userland.
#[derive(Serialize, Deserialize)]
pub(super) struct Contents {
    /// Packages that were unpacked, by name.
    pub(super) packages: Vec<Package>,
    /// Its programs.
    pub(super) tools: Vec<String>,
    size: Bytes,
}

/// The userland for `spec`: from the cache, or else made of packages in `aside`. The caller holds the build lock.
pub(super) fn ready(
    cache: &Cache,
    spec: &ImageSpec,
    apt: &Apt,
    aside: &Path,
    events: Events,
) -> Result<Userland> {
    let place = cache.inside("userlands")?.join(spec.userland_key());
    if let Some(found) = load(&place) {
        return Ok(found);
    }
    let needs = spec.needs.canonical();
    let mut packages: Vec<String> = PACKAGES.iter().map(ToString::to_string).collect();
    packages.extend(needs.packages.iter().cloned());
    events(Event::FetchingLists { suite: spec.suite.clone() });
    apt.update()?;
    let archives = apt.plan(&packages)?;
    events(Event::FetchingPackages { packages: archives.len() });
    apt.fetch(&packages)?;
    events(Event::Unpacking { packages: archives.len() });
    let unpacked = aside.join("userland");
    for archive in &archives {
        unpack(&archive.path, &unpacked)?;
    }
    let (archive, tools) = assemble(&unpacked, &packages, &needs)?;
    let mut packages: Vec<_> = archives.into_iter().map(|archive| archive.package).collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    let list = Contents { packages, tools, size: Bytes(archive.len() as u64) };
    let made = Userland { archive, list };
    publish(&made, &aside.join("made"), &place)?;
    Ok(made)
}

fn assemble(
    unpacked: &Path,
    packages: &[String],
    needs: &ImageNeeds,
) -> Result<(Vec<u8>, Vec<String>)> {
    let tools: Vec<String> =
        TOOLS.iter().map(ToString::to_string).chain(needs.tools.iter().cloned()).collect();
    let mut root = Root::new(unpacked, packages)?;
    for tool in &tools {
        root.tool(tool)?;
    }
    root.alias("sh", "busybox")?;
    root.files(&needs.files)?;
    Ok((root.finish()?, tools))
}

/// The userland in `place`, when it is there and whole.
fn load(place: &Path) -> Option<Userland> {
    let list: Contents = serde_json::from_slice(&fs::read(place.join(LIST)).ok()?).ok()?;
    let archive = fs::read(place.join(ARCHIVE)).ok()?;
    (archive.len() as u64 == list.size.0).then_some(Userland { archive, list })
}

/// Moves a userland to its place in the cache.
fn publish(made: &Userland, aside: &Path, place: &Path) -> Result<()> {
    fs::create_dir_all(aside).map_err(Error::io("cannot make", aside))?;
    let list = serde_json::to_vec_pretty(&made.list).map_err(Error::bad_file(aside.join(LIST)))?;
    for (name, bytes) in [(ARCHIVE, &made.archive), (LIST, &list)] {
        let path = aside.join(name);
        fs::write(&path, bytes).map_err(Error::io("cannot write", &path))?;
        // It is on the disk before it gets its name, so that a power loss cannot leave a userland that only looks complete.
        let synced = fs::File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(Error::io("cannot write", &path))?;
    }
    remove(place)?;
    fs::rename(aside, place).map_err(Error::io("cannot move the userland to", place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_userland_is_kept_and_one_that_was_cut_short_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let (aside, place) = (dir.path().join("aside"), dir.path().join("place"));
        let list = Contents { packages: Vec::new(), tools: vec!["lvm".into()], size: Bytes(3) };
        publish(&Userland { archive: b"abc".to_vec(), list }, &aside, &place).unwrap();
        let found = load(&place).unwrap();
        assert_eq!((found.archive, found.list.tools), (b"abc".to_vec(), vec!["lvm".to_owned()]));
        fs::write(place.join(ARCHIVE), "ab").unwrap();
        assert!(load(&place).is_none());
    }
}
