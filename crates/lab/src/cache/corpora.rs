//! Corpora in the cache: directories that commands read, each under a hash of its ingredients.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use units::Bytes;

use super::entries::CORPORA;
use super::{Cache, remove};
use crate::files::check_space;
use crate::{Error, Result};

impl Cache {
    /// Returns the directory of the corpus called `id`, held; where it does not exist, or `whole` finds that it was changed, `make` fills a new one
    /// with files of `bytes` in all. `waiting` is called once if another process is building something.
    ///
    /// # Errors
    /// When `make` fails, there is no room for so many bytes, or the system refuses; nothing is left of the new directory then.
    pub fn corpus<E: From<Error>>(
        &self,
        id: &str,
        bytes: Bytes,
        waiting: &mut dyn FnMut(),
        whole: impl Fn(&Path) -> bool,
        make: impl FnOnce(&Path) -> std::result::Result<(), E>,
    ) -> std::result::Result<HeldCorpus, E> {
        let path = self.inside(CORPORA)?.join(id);
        // It is held first, so that a process that cleans the cache leaves it alone.
        if let Some(held) = HeldCorpus::at(&path).filter(|held| whole(&held.path)) {
            return Ok(held);
        }
        let _lock = self.lock_build(waiting)?;
        // Another process may have made it while this one waited.
        if let Some(held) = HeldCorpus::at(&path).filter(|held| whole(&held.path)) {
            return Ok(held);
        }
        check_space(self.dir(), bytes, "making a corpus")?;
        let aside = self.dir.join("building");
        remove(&aside)?;
        fs::create_dir(&aside).map_err(Error::io("cannot make", &aside))?;
        if let Err(error) = make(&aside).and_then(|()| Ok(keep(&aside, &path)?)) {
            // The first error is reported; a directory that stays is removed by the next process that builds.
            let _ = remove(&aside);
            return Err(error);
        }
        let gone = || Error::BadFile { path: path.clone(), why: "was made and is gone".into() };
        Ok(HeldCorpus::at(&path).ok_or_else(gone)?)
    }
}

/// The directory of a corpus: as long as this lives, [`Cache::clean`] leaves it alone and no process replaces it.
#[derive(Debug)]
pub struct HeldCorpus {
    /// Its path.
    pub path: PathBuf,
    _lock: File,
}

impl HeldCorpus {
    fn at(path: &Path) -> Option<Self> {
        let lock = lock(path, FlockOperation::LockShared)?;
        Some(Self { path: path.to_owned(), _lock: lock })
    }
}

/// Locks the directory that the path leads to now: it may have been removed, or made anew, before it was locked.
fn lock(path: &Path, how: FlockOperation) -> Option<File> {
    let lock = File::open(path).ok()?;
    rustix::fs::flock(&lock, how).ok()?;
    let (locked, there) = (lock.metadata().ok()?, fs::symlink_metadata(path).ok()?);
    (there.is_dir() && (locked.dev(), locked.ino()) == (there.dev(), there.ino())).then_some(lock)
}

/// Moves a directory to its place once all of it is on the disk, so that what is there after a power cut is complete. An old one stays there, and
/// this fails, while another process reads it.
fn keep(aside: &Path, place: &Path) -> Result<()> {
    let made = File::open(aside).map_err(Error::io("cannot open", aside))?;
    rustix::fs::syncfs(&made).map_err(Error::system("cannot write a corpus to the disk"))?;
    let free = lock(place, FlockOperation::NonBlockingLockExclusive);
    if place.exists() && free.is_none() {
        let why = "was changed, and another process reads it: try again when that has ended";
        return Err(Error::bad_file(place)(why));
    }
    remove(place)?;
    fs::rename(aside, place).map_err(Error::io("cannot make", place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Clean;

    const ID: &str = "cafe00000000000000000000000000ff";

    fn made(cache: &Cache, whole: bool, text: &str) -> Result<HeldCorpus> {
        cache.corpus(
            ID,
            Bytes(4096),
            &mut || {},
            |dir| whole && dir.join("file").exists(),
            |dir| fs::write(dir.join("file"), text).map_err(Error::io("cannot write", dir)),
        )
    }

    #[test]
    fn a_corpus_is_made_once_and_one_that_is_read_is_neither_removed_nor_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(&dir.path().join("cache")).unwrap();
        let first = made(&cache, true, "first").unwrap();
        let text = || fs::read_to_string(first.path.join("file")).unwrap();
        let second = made(&cache, true, "second").unwrap();
        assert_eq!((text().as_str(), &second.path), ("first", &first.path));
        drop(second);
        let refused = made(&cache, false, "anew").unwrap_err().to_string();
        assert!(refused.contains("another process reads it"), "{refused}");
        cache.clean(Clean::All).unwrap();
        assert_eq!(text(), "first");
        let path = first.path.clone();
        drop(first);
        drop(made(&cache, false, "anew").unwrap());
        assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "anew");
        cache.clean(Clean::All).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn of_a_corpus_that_could_not_be_made_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(&dir.path().join("cache")).unwrap();
        let failed: Result<HeldCorpus> = cache.corpus(
            ID,
            Bytes(4096),
            &mut || {},
            |_| true,
            |dir| {
                fs::write(dir.join("part"), "x").unwrap();
                Err(Error::BadFile { path: dir.to_owned(), why: "stopped".into() })
            },
        );
        assert!(failed.unwrap_err().to_string().contains("stopped"));
        assert!(!cache.dir().join("building").exists());
        assert_eq!(fs::read_dir(cache.dir().join(CORPORA)).unwrap().count(), 0);
    }
}
