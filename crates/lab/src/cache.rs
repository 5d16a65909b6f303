//! The cache directory: guest images, downloaded packages, what was learned about the accelerator.
//!
//! ```text
//! CACHEDIR.TAG                                      the mark: only a directory that has it is a cache of Fathom's
//! images/<id>/{vmlinux,root.cpio,image.json,lock}   built images; a machine that starts holds the lock (shared)
//! keys/<key>                                        which image belongs to which needs
//! userlands/<key>/{root.cpio,userland.json}         programs of images, which are the same for all kernels
//! packages/                                         apt's lists and archives
//! kernels/<suite>/                                  apt's lists and archives of a suite that kernels are taken from, and its kernels
//! corpora/<id>/                                     directories that commands read, made from a seed
//! build.lock                                        held by the one process that builds
//! ```

mod corpora;
mod entries;
mod mark;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;
use units::Bytes;

pub use self::corpora::HeldCorpus;
use self::entries::{BUILD_LOCK, Cleaner, IMAGES, KEYS, is_hash};
use crate::image::{Image, Manifest};
use crate::{Error, Result};

/// A cache directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    dir: PathBuf,
}

/// One image in the list that [`Cache::images`] returns.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedImage {
    /// Its id: a hash of its content.
    pub id: String,
    /// Its directory.
    pub path: PathBuf,
    /// Its size on disk, in bytes.
    pub size: Bytes,
    /// Time since it was built.
    pub age: Duration,
    /// Time since a machine was last started from it.
    pub unused_for: Duration,
    /// Tells whether a machine holds it right now.
    pub in_use: bool,
    /// The image's manifest; `None` for a directory without a complete image.
    pub manifest: Option<Manifest>,
}

/// The entries to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clean {
    /// Every image that is not in use, the packages, and what was learned about the accelerator.
    All,
    /// Images that no machine was started from for this long.
    UnusedFor(Duration),
}

/// The outcome of [`Cache::clean`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Ids of the images that are gone.
    pub images: Vec<String>,
    /// Ids of the images that a machine holds, which stay.
    pub in_use: Vec<String>,
    /// Bytes that are free again.
    pub freed: Bytes,
    /// Entries that are not Fathom's, and stay; relative to the cache.
    pub foreign: Vec<PathBuf>,
}

impl Cache {
    /// Opens the usual cache: `$FATHOM_CACHE`, else `$XDG_CACHE_HOME/fathom`, else `~/.cache/fathom`. It is made where it does not exist.
    pub fn open() -> Result<Self> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let dir = set("FATHOM_CACHE")
            .map(PathBuf::from)
            .or_else(|| set("XDG_CACHE_HOME").map(|dir| Path::new(&dir).join("fathom")))
            .or_else(|| set("HOME").map(|dir| Path::new(&dir).join(".cache/fathom")))
            .ok_or(Error::NoCache)?;
        Self::at(&dir)
    }

    /// Opens the cache in `dir`, which is made where it does not exist.
    ///
    /// # Errors
    /// A directory that holds anything that does not belong to a cache of Fathom's is refused.
    pub fn at(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).map_err(Error::io("cannot make the cache directory", dir))?;
        let dir = dir.canonicalize().map_err(Error::io("cannot find the cache directory", dir))?;
        mark::open(&dir)?;
        Ok(Self { dir })
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A directory inside, made when it is not there.
    pub(crate) fn inside(&self, name: &str) -> Result<PathBuf> {
        let dir = self.dir.join(name);
        fs::create_dir_all(&dir).map_err(Error::io("cannot make", &dir))?;
        // Through a link, the cache would be built wherever that leads.
        if dir.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(Error::ForeignCache { dir: self.dir.clone(), holds: name.to_owned() });
        }
        Ok(dir)
    }

    /// Writes a file of the cache: others see the old one or the new one. A link there is replaced, never followed.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".fathom-").tempfile_in(&self.dir)?;
        file.write_all(bytes)?;
        file.persist(self.dir.join(name)).map(drop).map_err(|failed| failed.error)
    }

    /// Every image, the most recently used first.
    pub fn images(&self) -> Result<Vec<CachedImage>> {
        let dir = self.inside(IMAGES)?;
        let mut images = Vec::new();
        for path in entries(&dir)? {
            if path.is_dir() {
                images.push(inspect(&path));
            }
        }
        images.sort_by_key(|image| image.unused_for);
        Ok(images)
    }

    /// Removes images (and with [`Clean::All`] everything else), except what a machine uses and what is not Fathom's.
    pub fn clean(&self, what: Clean) -> Result<Cleaned> {
        let _build = self.lock_build(&mut || {})?;
        // Everything is removed below the directory whose mark was read, even if its name leads elsewhere now.
        let dir = mark::open(&self.dir)?;
        let mut cleaner = Cleaner { dir: &dir, path: &self.dir, foreign: Vec::new() };
        let mut cleaned = Cleaned::default();
        for id in cleaner.own_names(IMAGES, is_hash)? {
            let place = Path::new(IMAGES).join(&id);
            let image = inspect(&self.dir.join(&place));
            let wanted = match what {
                Clean::All => true,
                Clean::UnusedFor(time) => image.manifest.is_none() || image.unused_for >= time,
            };
            if !wanted {
                continue;
            }
            // A directory without a lock file does not hold a complete image, so no machine can use it.
            let held = lock(&image.path, FlockOperation::NonBlockingLockExclusive);
            if held.is_err() && image.path.join("lock").exists() {
                cleaned.in_use.push(id);
            } else {
                cleaned.freed.0 += cleaner.remove(&place)?;
                cleaned.images.push(id);
            }
        }
        for key in cleaner.own_names(KEYS, is_hash)? {
            let key = Path::new(KEYS).join(key);
            let id = dir.read_to_string(&key).unwrap_or_default();
            if !is_hash(&id) || !dir.exists(Path::new(IMAGES).join(&id)) {
                cleaner.remove(&key)?;
            }
        }
        if what == Clean::All {
            cleaned.freed.0 += cleaner.remove_rest()?;
        }
        cleaned.foreign = cleaner.foreign;
        Ok(cleaned)
    }

    /// Waits until no other process builds; `waiting` is called once if it has to.
    pub(crate) fn lock_build(&self, waiting: &mut dyn FnMut()) -> Result<File> {
        let path = self.dir.join(BUILD_LOCK);
        let file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(Error::io("cannot open", &path))?;
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            waiting();
            rustix::fs::flock(&file, FlockOperation::LockExclusive)
                .map_err(Error::system("cannot lock the cache for building"))?;
        }
        Ok(file)
    }
}

/// Holds an image: as long as the file lives, [`Cache::clean`] leaves it alone.
pub(crate) fn hold(image: &Image) -> Result<File> {
    let file = lock(&image.dir, FlockOperation::LockShared)?;
    // The lock file's time is when the image was last used.
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
    // This fails on an image that another user built, which can be used all the same.
    let _ = rustix::fs::futimens(&file, &times);
    Ok(file)
}

fn lock(image: &Path, how: FlockOperation) -> Result<File> {
    let path = image.join("lock");
    let file = File::open(&path).map_err(Error::io("cannot open", &path))?;
    rustix::fs::flock(&file, how).map_err(Error::system("cannot lock the image"))?;
    Ok(file)
}

fn inspect(path: &Path) -> CachedImage {
    let since = |file: &str| {
        fs::metadata(path.join(file))
            .and_then(|facts| facts.modified())
            .ok()
            .and_then(|time| SystemTime::now().duration_since(time).ok())
            .unwrap_or_default()
    };
    CachedImage {
        id: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        path: path.to_path_buf(),
        size: Bytes(size_of(path)),
        age: since("image.json"),
        unused_for: since("lock"),
        in_use: path.join("lock").exists()
            && lock(path, FlockOperation::NonBlockingLockExclusive).is_err(),
        manifest: Manifest::read(path).ok(),
    }
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let list = fs::read_dir(dir).map_err(Error::io("cannot list", dir))?;
    list.map(|entry| entry.map(|entry| entry.path()).map_err(Error::io("cannot list", dir)))
        .collect()
}

/// Bytes of a file, or of all files below a directory; 0 for what is not there.
pub(crate) fn size_of(path: &Path) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => {
            entries(path).map_or(0, |list| list.iter().map(|path| size_of(path)).sum())
        }
        Ok(facts) => facts.len(),
        Err(_) => 0,
    }
}

/// Removes a file or a tree; succeeds where there is none.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let gone = match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    gone.map_err(Error::io("cannot remove", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "cafe00000000000000000000000000ff";
    const KEY: &str = "0123456789abcdef0123456789abcdef";

    /// A cache with one image of a few bytes that the key `KEY` leads to.
    fn cache_with_image() -> (tempfile::TempDir, Cache, Image) {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path()).unwrap();
        let image = cache.inside("images").unwrap().join(ID);
        fs::create_dir(&image).unwrap();
        let manifest = Manifest {
            suite: "trixie".into(),
            kernel: "6.12".into(),
            packages: Vec::new(),
            modules: Vec::new(),
            tools: Vec::new(),
            kernel_packages: Vec::new(),
            kernel_sha256: String::new(),
            kernel_size: Bytes(3),
            root_size: Bytes(4),
        };
        fs::write(image.join("image.json"), serde_json::to_vec(&manifest).unwrap()).unwrap();
        fs::write(image.join("vmlinux"), "abc").unwrap();
        fs::write(image.join("root.cpio"), "defg").unwrap();
        fs::write(image.join("lock"), "").unwrap();
        fs::write(cache.inside("keys").unwrap().join(KEY), ID).unwrap();
        let image = Image::load(&image).unwrap();
        (dir, cache, image)
    }

    #[test]
    fn an_image_is_listed_with_what_is_in_it() {
        let (_dir, cache, image) = cache_with_image();
        let images = cache.images().unwrap();
        assert_eq!(images.len(), 1);
        assert_eq!(images[0].id, ID);
        assert_eq!(images[0].manifest.as_ref(), Some(&image.manifest));
        assert!(!images[0].in_use && images[0].size.0 > 7);
    }

    #[test]
    fn an_image_in_use_stays_and_goes_afterwards() {
        let (_dir, cache, image) = cache_with_image();
        let held = hold(&image).unwrap();
        assert!(cache.images().unwrap()[0].in_use);
        let cleaned = cache.clean(Clean::All).unwrap();
        assert_eq!((cleaned.images.len(), cleaned.in_use), (0, vec![ID.to_owned()]));
        drop(held);
        let cleaned = cache.clean(Clean::All).unwrap();
        assert_eq!(cleaned.images, [ID]);
        assert!(cleaned.freed.0 > 7);
        assert!(cache.images().unwrap().is_empty());
        assert!(!cache.dir().join("keys").join(KEY).exists());
    }

    #[test]
    fn an_image_that_was_just_used_is_not_unused() {
        let (_dir, cache, image) = cache_with_image();
        drop(hold(&image).unwrap());
        let cleaned = cache.clean(Clean::UnusedFor(Duration::from_secs(3600))).unwrap();
        assert_eq!(cleaned, Cleaned::default());
        assert!(cache.dir().join("keys").join(KEY).exists());
    }

    #[test]
    fn an_image_with_a_file_cut_short_is_none() {
        let (_dir, _cache, image) = cache_with_image();
        fs::write(image.root(), "def").unwrap();
        let error = Image::load(&image.dir).unwrap_err();
        assert!(error.to_string().contains("has 3 B and should have 4 B"), "{error}");
    }

    /// Every name and content below `dir`.
    fn all(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        for path in entries(dir).unwrap() {
            match fs::symlink_metadata(&path).unwrap() {
                facts if facts.is_dir() => found.extend(all(&path)),
                _ => found.push((path.clone(), fs::read(&path).unwrap_or_default())),
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_directory_of_somebody_else_is_no_cache_and_keeps_all_that_it_holds() {
        for held in ["keys/id_rsa", "packages/index", "images/photo.jpg", "supplies/a", "letter"] {
            let dir = tempfile::tempdir().unwrap();
            let file = dir.path().join(held);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "theirs").unwrap();
            let before = all(dir.path());
            let error = Cache::at(dir.path()).unwrap_err();
            assert!(error.to_string().contains("is not a cache of Fathom's"), "{held}: {error}");
            assert!(error.help().unwrap().contains("FATHOM_CACHE"), "{held}");
            assert_eq!(all(dir.path()), before, "{held}");
        }
    }

    #[test]
    fn what_others_put_into_a_cache_stays_when_it_is_cleaned() {
        let (dir, cache, _image) = cache_with_image();
        let elsewhere = tempfile::tempdir().unwrap();
        let beyond = elsewhere.path().join(ID);
        fs::create_dir(&beyond).unwrap();
        fs::write(beyond.join("lock"), "theirs").unwrap();
        let ours = ["packages/state/lists", "packages/apt.conf", "supplies/ff", "qemu-sid/usr"];
        for name in ours.map(|name| name.replace("ff", KEY)) {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let foreign = ["images/photo", "keys/id_rsa", "notes", "packages/mine", "supplies/it"];
        for name in foreign {
            fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
            fs::write(dir.path().join(name), "theirs").unwrap();
        }
        std::os::unix::fs::symlink(&beyond, dir.path().join("images").join(KEY)).unwrap();
        let mut cleaned = cache.clean(Clean::All).unwrap();
        cleaned.foreign.sort();
        assert_eq!(cleaned.foreign, foreign.map(PathBuf::from));
        cleaned.images.sort();
        assert_eq!(cleaned.images, [KEY, ID], "the link goes, not what it leads to");
        assert_eq!(fs::read(beyond.join("lock")).unwrap(), b"theirs");
        let left = all(dir.path()).into_iter().map(|(path, _)| path);
        let left: Vec<_> = left.map(|p| p.strip_prefix(dir.path()).unwrap().to_owned()).collect();
        let mut stays: Vec<_> = foreign.iter().chain(&["CACHEDIR.TAG", "build.lock"]).collect();
        stays.sort();
        assert_eq!(left, stays.into_iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    #[test]
    fn folders_of_a_cache_that_are_links_are_left_with_what_they_lead_to() {
        let (dir, cache, _image) = cache_with_image();
        let theirs = tempfile::tempdir().unwrap();
        fs::write(theirs.path().join("apt.conf"), "theirs").unwrap();
        fs::write(theirs.path().join(KEY), "theirs").unwrap();
        fs::remove_dir_all(dir.path().join("keys")).unwrap();
        for folder in ["keys", "packages", "supplies"] {
            std::os::unix::fs::symlink(theirs.path(), dir.path().join(folder)).unwrap();
        }
        assert_eq!(cache.clean(Clean::All).unwrap().foreign.len(), 3);
        assert_eq!(all(theirs.path()).len(), 2);
    }

    #[test]
    fn a_cache_from_before_the_mark_gets_one_and_two_openers_agree() {
        let (dir, ..) = cache_with_image();
        let mark = dir.path().join(entries::MARK);
        drop(Cache::at(dir.path()).unwrap().lock_build(&mut || {}));
        fs::remove_file(&mark).unwrap();
        Cache::at(dir.path()).unwrap();
        assert!(mark.is_file());
        let fresh = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            let openers: Vec<_> =
                (0..16).map(|_| scope.spawn(|| Cache::at(fresh.path()))).collect();
            assert!(openers.into_iter().all(|opener| opener.join().unwrap().is_ok()));
        });
        assert_eq!(fs::read_dir(fresh.path()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_written_through_a_link_in_the_cache() {
        let (dir, cache, _image) = cache_with_image();
        let theirs = tempfile::tempdir().unwrap();
        let file = theirs.path().join("file");
        fs::write(&file, "theirs").unwrap();
        std::os::unix::fs::symlink(theirs.path(), dir.path().join("packages")).unwrap();
        std::os::unix::fs::symlink(&file, dir.path().join("qemu.json")).unwrap();
        assert!(matches!(cache.inside("packages"), Err(Error::ForeignCache { .. })));
        cache.put("qemu.json", b"ours").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"theirs");
        assert_eq!(fs::read(dir.path().join("qemu.json")).unwrap(), b"ours");
    }
}
