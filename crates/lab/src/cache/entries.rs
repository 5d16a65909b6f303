//! The entries of a cache and their removal: only what Fathom makes, by name and kind, and never through links.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, File};

use crate::{Error, Result};

/// The mark of a cache.
pub(super) const MARK: &str = "CACHEDIR.TAG";
/// The file that every building program locks; it also identifies caches made before there was a mark.
pub(super) const BUILD_LOCK: &str = "build.lock";
/// Folders whose entries are named by a hash.
pub(super) const IMAGES: &str = "images";
pub(super) const KEYS: &str = "keys";
pub(super) const SUPPLIES: &str = "supplies";
pub(super) const CORPORA: &str = "corpora";
/// apt's folder, and what it holds.
pub(super) const PACKAGES: &str = "packages";
const OF_APT: [&str; 4] = ["apt.conf", "cache", "etc", "state"];
/// The beginning of the name of another suite's QEMU; the suite's name follows.
const QEMU: &str = "qemu-";
/// Files and folders that belong to Fathom with all that is in them.
const WHOLE: [&str; 5] = ["accelerator.json", "qemu.json", "building", "kernels", "userlands"];

/// Tells whether something with this name can belong to a cache of Fathom's.
pub(super) fn is_own(name: &str) -> bool {
    [IMAGES, KEYS, SUPPLIES, CORPORA, PACKAGES, BUILD_LOCK].contains(&name)
        || WHOLE.contains(&name)
        || name.starts_with(QEMU)
        || name.starts_with(".fathom-")
        || name.starts_with(".tag-")
}

/// Tells whether `name` is a hash, by which images, keys and supplies are named.
pub(super) fn is_hash(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// A cache that is being cleaned.
pub(super) struct Cleaner<'a> {
    pub(super) dir: &'a Dir,
    /// Its path, for people.
    pub(super) path: &'a Path,
    /// Entries that are not Fathom's, and stay.
    pub(super) foreign: Vec<PathBuf>,
}

impl Cleaner<'_> {
    /// Returns the names in a folder that `is_ours` accepts; others are foreign. A link in place of the folder is foreign, too.
    pub(super) fn own_names(
        &mut self,
        folder: &str,
        is_ours: fn(&str) -> bool,
    ) -> Result<Vec<String>> {
        let at = Path::new(folder);
        match self.dir.symlink_metadata(at) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Ok(facts) if !facts.is_dir() => {
                self.foreign.push(at.to_owned());
                return Ok(Vec::new());
            }
            _ => {}
        }
        let place = self.path.join(at);
        let mut names = Vec::new();
        for entry in self.dir.read_dir(at).map_err(Error::io("cannot list", &place))? {
            let name = entry.map_err(Error::io("cannot list", &place))?.file_name();
            match name.to_str().filter(|name| is_ours(name)) {
                Some(name) => names.push(name.to_owned()),
                None => self.foreign.push(match folder {
                    "." => PathBuf::from(name),
                    _ => at.join(name),
                }),
            }
        }
        Ok(names)
    }

    /// Removes a file, a link or a tree, and returns the bytes that it took; succeeds where there is none. Links are not followed.
    pub(super) fn remove(&self, at: &Path) -> Result<u64> {
        let size = size(self.dir, at);
        let gone = match self.dir.symlink_metadata(at) {
            Ok(facts) if facts.is_dir() => self.dir.remove_dir_all(at),
            Ok(_) => self.dir.remove_file(at),
            Err(_) => Ok(()),
        };
        gone.map_err(Error::io("cannot remove", &self.path.join(at)))?;
        Ok(size)
    }

    /// Removes everything but images and keys.
    pub(super) fn remove_rest(&mut self) -> Result<u64> {
        let mut freed = 0;
        for (folder, is_ours) in [
            (SUPPLIES, is_hash as fn(&str) -> bool),
            (CORPORA, is_hash),
            (PACKAGES, |name: &str| OF_APT.contains(&name)),
        ] {
            for name in self.own_names(folder, is_ours)? {
                let at = Path::new(folder).join(name);
                // A corpus that is held is in use.
                if folder != CORPORA || self.dir.open(&at).is_ok_and(|held| is_free(&held)) {
                    freed += self.remove(&at)?;
                }
            }
        }
        for name in self.own_names(".", |name| is_own(name) || name == MARK)? {
            if WHOLE.contains(&name.as_str()) || name.starts_with(QEMU) {
                freed += self.remove(Path::new(&name))?;
            }
        }
        Ok(freed)
    }
}

/// Tells whether a directory is held by nobody.
fn is_free(directory: &File) -> bool {
    rustix::fs::flock(directory, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Bytes of a file, or of all files below a folder; 0 for what is not there.
fn size(dir: &Dir, at: &Path) -> u64 {
    match dir.symlink_metadata(at) {
        Ok(facts) if facts.is_dir() => {
            let names = dir.read_dir(at).into_iter().flatten().flatten();
            names.map(|entry| size(dir, &at.join(entry.file_name()))).sum()
        }
        Ok(facts) => facts.len(),
        Err(_) => 0,
    }
}
