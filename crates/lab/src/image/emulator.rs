//! QEMU of a Debian suite, unpacked into the cache of the guest images: nothing is installed on this machine.

use std::fs;
use std::path::Path;

use super::apt::Apt;
use super::mirror;
use super::unpack::unpack;
use crate::cache::{Cache, remove};
use crate::event::{Event, Events};
use crate::files::check_space;
use crate::{Error, Qemu, Result};
use units::Bytes;

/// The package that brings QEMU for x86-64.
const PACKAGE: &str = "qemu-system-x86";
/// The most that its packages and their files take.
const ROOM: Bytes = Bytes(Bytes::GIB);

impl Qemu {
    /// Returns the QEMU of `suite`: from the cache, or else from the Debian mirror, which takes half a minute.
    ///
    /// Its own linker and libraries start it, so it does not matter which distribution this machine runs. It stays at the version that
    /// was fetched first until `qemu-<suite>` in the cache directory is removed.
    pub fn of_suite(
        cache: &Cache,
        suite: &str,
        mirror: Option<&str>,
        events: Events,
    ) -> Result<Self> {
        if suite.is_empty() || !suite.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') {
            return Err(Error::BadSpec {
                what: format!("{suite:?} is not the name of a Debian suite"),
                help: "give one such as bookworm, trixie or sid".into(),
            });
        }
        let place = cache.dir().join(format!("qemu-{suite}"));
        if !place.is_dir() {
            let _lock = cache.lock_build(&mut || events(Event::WaitingForBuild))?;
            // Another process may have fetched it while this one waited.
            if !place.is_dir() {
                events(Event::FetchingQemu { suite: suite.to_owned() });
                let aside = cache.dir().join("building");
                remove(&aside)?;
                let fetched = fetch(cache, &aside, suite, mirror, &place);
                remove(&aside)?;
                fetched?;
            }
        }
        let file = |name: &str| place.join(name).display().to_string();
        let mut qemu = Self::started_by(
            place.join("usr/lib64/ld-linux-x86-64.so.2"),
            vec![
                "--library-path".into(),
                file("usr/lib/x86_64-linux-gnu"),
                file("usr/bin/qemu-system-x86_64"),
            ],
        )?;
        for firmware in ["usr/share/qemu", "usr/share/seabios"] {
            qemu.leading.extend(["-L".into(), file(firmware)]);
        }
        Ok(qemu)
    }
}

fn fetch(
    cache: &Cache,
    aside: &Path,
    suite: &str,
    mirror: Option<&str>,
    place: &Path,
) -> Result<()> {
    check_space(cache.dir(), ROOM, "unpacking QEMU")?;
    let mirror = mirror.map_or_else(mirror::find, |url| Ok(url.to_owned()))?;
    let apt = Apt::new(&aside.join("packages"), suite, &mirror, &mirror::keyring()?)?;
    let wanted = [PACKAGE.to_owned()];
    apt.update()?;
    let plan = apt.plan(&wanted)?;
    apt.fetch(&wanted)?;
    let root = aside.join("root");
    for archive in &plan {
        unpack(&archive.path, &root)?;
    }
    // Before Debian 13 the linker lies in /lib64, which is a link to usr/lib64 where packages are installed.
    let linker = root.join("usr/lib64/ld-linux-x86-64.so.2");
    if !linker.exists() {
        let dir = root.join("usr/lib64");
        fs::create_dir_all(&dir).map_err(Error::io("cannot make", &dir))?;
        // In those suites it is an absolute link, and so leads to this machine's own linker, which works with no other libc.
        let is_own =
            |path: &std::path::PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_file());
        let old = ["lib64", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"]
            .map(|dir| root.join(dir).join("ld-linux-x86-64.so.2"))
            .into_iter()
            .find(is_own)
            .ok_or_else(|| Error::Qemu { why: format!("{suite}'s has no linker") })?;
        fs::copy(&old, &linker).map_err(Error::io("cannot copy", &old))?;
    }
    join(&root.join("lib/x86_64-linux-gnu"), &root.join("usr/lib/x86_64-linux-gnu"))?;
    fs::rename(&root, place).map_err(Error::io("cannot move QEMU to", place))
}

/// Moves the libraries of `/lib` into `/usr/lib`.
fn join(from: &Path, to: &Path) -> Result<()> {
    let Ok(list) = fs::read_dir(from) else { return Ok(()) };
    fs::create_dir_all(to).map_err(Error::io("cannot make", to))?;
    for entry in list.flatten() {
        let new = to.join(entry.file_name());
        fs::rename(entry.path(), &new).map_err(Error::io("cannot move a library to", &new))?;
    }
    Ok(())
}
