//! Temporary directories: whatever ends the program, they are removed, at the latest when the next one is made.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use rustix::fs::{FlockOperation, flock};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Most names that are tried.
const TRIES: u32 = 1_000;

static LIVING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static ON_SIGNALS: Once = Once::new();

/// A directory that is removed when it is dropped, and when SIGINT, SIGTERM or SIGHUP end the program. Directories left behind by SIGKILL are removed
/// when the next one is made in the same folder; a directory in use is recognised by its lock.
#[derive(Debug)]
pub struct Passing {
    path: PathBuf,
    /// The open directory, which holds the lock.
    _held: File,
    keep: bool,
}

impl Passing {
    /// Makes a directory in `folder` whose name begins with `prefix`, with the permissions `mode` less the umask.
    ///
    /// # Errors
    /// Fails if none can be made or locked there.
    pub fn new_in(folder: &Path, prefix: &str, mode: u32) -> io::Result<Self> {
        remove_left(folder, prefix);
        ON_SIGNALS.call_once(|| {
            if let Ok(signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
                let _ =
                    std::thread::Builder::new().name("passing".into()).spawn(|| end_on(signals));
            }
        });
        let mut builder = fs::DirBuilder::new();
        builder.mode(mode);
        for number in 0..TRIES {
            let path = folder.join(format!("{prefix}{}-{number}", std::process::id()));
            // From here on a signal removes it, too.
            living(|all| all.push(path.clone()));
            match builder.create(&path) {
                Ok(()) => {
                    let held = File::open(&path)?;
                    flock(held.as_fd(), FlockOperation::NonBlockingLockExclusive)?;
                    return Ok(Self { path, _held: held, keep: false });
                }
                Err(error) => {
                    living(|all| all.retain(|one| *one != path));
                    if error.kind() != io::ErrorKind::AlreadyExists {
                        return Err(error);
                    }
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the directory at its present place.
    pub fn keep(mut self) {
        self.keep = true;
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        living(|all| all.retain(|one| *one != self.path));
        if !self.keep {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A file that is removed when SIGINT, SIGTERM or SIGHUP end the program. Dropping this value leaves the file in place.
#[derive(Debug)]
pub struct Watched(PathBuf);

/// Makes something with a file that is removed, from its first moment on, when SIGINT, SIGTERM or SIGHUP end the program; `path` returns the file's
/// path, or `None` if there is nothing to remove.
///
/// # Errors
/// Fails if `make` fails.
pub fn watched<T, E>(
    make: impl FnOnce() -> Result<T, E>,
    path: impl FnOnce(&T) -> Option<PathBuf>,
) -> Result<(T, Option<Watched>), E> {
    watch();
    // A signal that arrives during this is handled only when the path is known.
    living(|all| {
        let made = make()?;
        let path = path(&made);
        all.extend(path.clone());
        Ok((made, path.map(Watched)))
    })
}

impl Drop for Watched {
    fn drop(&mut self) {
        living(|all| all.retain(|one| *one != self.0));
    }
}

/// Starts handling signals.
fn watch() {
    ON_SIGNALS.call_once(|| {
        if let Ok(signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
            let _ = std::thread::Builder::new().name("passing".into()).spawn(|| end_on(signals));
        }
    });
}

fn living<T>(work: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    work(&mut LIVING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Removes a file, or a directory that another thread may still be writing into: files that appear during a try are removed by the next one.
fn removed(path: &Path) {
    let gone = || fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
    let _ = (0..TRIES).find(|_| gone().is_ok() || path.symlink_metadata().is_err());
}

/// Waits for a signal, removes all registered files and directories, and ends the program as the signal would.
fn end_on(mut signals: Signals) {
    for signal in signals.forever() {
        // The lock keeps others from being made until the program ends.
        living(|all| {
            all.drain(..).for_each(|path| removed(&path));
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        });
    }
}

/// Removes directories of this user that a program which no longer runs left behind: nobody holds their lock.
fn remove_left(folder: &Path, prefix: &str) {
    let own_uid = rustix::process::geteuid().as_raw();
    let ours = |name: &str| {
        let rest = name.strip_prefix(prefix).and_then(|rest| rest.split_once('-'));
        rest.is_some_and(|(pid, number)| {
            [pid, number].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()))
        })
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let is_own = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own_uid);
        if is_own
            && name.to_str().is_some_and(ours)
            && let Ok(held) = File::open(&path)
            && flock(held.as_fd(), FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o700));
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_goes_with_its_owner_and_one_that_was_left_with_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let one = Passing::new_in(folder.path(), "fathom-", 0o700).unwrap();
        fs::write(one.path().join("a"), "1").unwrap();
        let other = Passing::new_in(folder.path(), "fathom-", 0o755).unwrap();
        assert_eq!(names(), 2, "one that is held stays");
        drop(one);
        assert_eq!(names(), 1);
        // A directory as SIGKILL leaves it, and others that are not ours.
        fs::create_dir(folder.path().join("fathom-1-0")).unwrap();
        for foreign in ["fathom-", "fathom-x-1", "fathom-notes", "fathom-1"] {
            fs::create_dir(folder.path().join(foreign)).unwrap();
        }
        let third = Passing::new_in(folder.path(), "fathom-", 0o755).unwrap();
        assert_eq!(names(), 6, "the one that was left is gone");
        other.keep();
        drop(third);
        assert_eq!(names(), 5);
    }
}
