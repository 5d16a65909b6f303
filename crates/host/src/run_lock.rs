//! The lock of a run, by its id: a process with a copy of the run's result has the same id, and is kept away while the run goes on.
//!
//! It is held as long as anything of the run works: by the run, and by the keepers of its tools, which outlive a run that is killed
//! until the tool has ended its work. Programs of an experiment do not inherit it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::FdFlags;

/// Longest time for which the tools of a killed run are given to end their work.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause between two checks of that.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The lock of a run, which this process holds until it is dropped.
#[derive(Debug)]
pub struct RunLock {
    file: File,
    path: PathBuf,
}

/// Reason why a run could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum RunLockError {
    /// Another process has it.
    #[error("Run {id} still goes on: {holder}")]
    Live {
        /// The run.
        id: String,
        /// The process, and where it writes.
        holder: String,
    },
    /// The lock cannot be made.
    #[error("Cannot lock run {id} in {}", path.display())]
    Io {
        /// The run.
        id: String,
        /// The file of the lock.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl RunLockError {
    /// The remedy.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Live { .. } => {
                "let it end, or stop it with Ctrl-C: it takes down what it made itself"
            }
            Self::Io { .. } => {
                "root needs /run to be writable, others XDG_RUNTIME_DIR or the directory for temporary files"
            }
        }
    }
}

impl RunLock {
    /// Takes the run with this id, which writes into `result`. Tools of a killed run are waited for.
    ///
    /// # Errors
    /// When another process has it, or the lock cannot be made.
    pub fn take(id: &str, result: &Path) -> Result<Self, RunLockError> {
        Self::take_in(&directory(), id, result)
    }

    fn take_in(directory: &Path, id: &str, result: &Path) -> Result<Self, RunLockError> {
        let plain = !id.is_empty() && id.bytes().all(|letter| letter.is_ascii_alphanumeric());
        let path = directory.join(format!("{id}.lock"));
        let failed = |source| RunLockError::Io { id: id.to_owned(), path: path.clone(), source };
        if !plain {
            return Err(failed(io::Error::other("this is not the id of a run")));
        }
        private(directory).map_err(failed)?;
        let begun = Instant::now();
        loop {
            let mut file = open(&path).map_err(failed)?;
            let free = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => true,
                Err(rustix::io::Errno::WOULDBLOCK) => false,
                Err(error) => return Err(failed(error.into())),
            };
            if !free {
                let mut holder = String::new();
                file.read_to_string(&mut holder).map_err(failed)?;
                if begun.elapsed() >= PATIENCE || !was_killed(&holder) {
                    return Err(RunLockError::Live { id: id.to_owned(), holder: shown(&holder) });
                }
                std::thread::sleep(POLL_INTERVAL);
                continue;
            }
            // Whoever had it may have removed it between the two calls above.
            let same = std::fs::metadata(&path).is_ok_and(|there| {
                file.metadata()
                    .is_ok_and(|mine| (mine.dev(), mine.ino()) == (there.dev(), there.ino()))
            });
            if same {
                let result = std::path::absolute(result).unwrap_or_else(|_| result.to_owned());
                file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
                writeln!(file, "{} {}", std::process::id(), result.display()).map_err(failed)?;
                rustix::io::fcntl_setfd(&file, FdFlags::empty()).map_err(|e| failed(e.into()))?;
                return Ok(Self { file, path });
            }
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A file that stays does no harm: its lock is gone.
        let _ = std::fs::remove_file(&self.path);
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Returns the directory of this user's locks.
fn directory() -> PathBuf {
    let user = rustix::process::geteuid();
    if user.is_root() {
        return "/run/fathom".into();
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|path| path.is_dir()) {
        Some(runtime) => runtime.join("fathom"),
        None => std::env::temp_dir().join(format!("fathom-of-{}", user.as_raw())),
    }
}

/// Makes the directory, for this user alone; insists that it is theirs.
fn private(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = std::fs::symlink_metadata(directory)?;
    if found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(io::Error::other(format!("{} belongs to somebody else", directory.display())))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(libc::O_NOFOLLOW)
        .mode(0o600)
        .open(path)
}

/// Tells whether the process that took the lock is gone: what holds it still are the keepers of its tools.
fn was_killed(holder: &str) -> bool {
    let Some(pid) = holder.split(' ').next().and_then(|pid| pid.parse::<u32>().ok()) else {
        return false;
    };
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    // It may be a zombie that nobody has waited for yet.
    stat.map_or(true, |stat| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z")))
}

fn shown(holder: &str) -> String {
    match holder.trim().split_once(' ') {
        Some((pid, result)) if was_killed(holder) => {
            format!(
                "its process {pid} is gone, and a tool of it still works; it wrote into {result}"
            )
        }
        Some((pid, result)) => format!("process {pid} writes into {result}"),
        None => "another process has just begun it".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_of_one_process_whatever_directory_its_result_is_in() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("locks");
        let lock = RunLock::take_in(&at, "0badcafe", Path::new("/x/r")).unwrap();
        let other = RunLock::take_in(&at, "0badcaff", Path::new("/x/r")).unwrap();
        let error = RunLock::take_in(&at, "0badcafe", Path::new("/x/copy")).unwrap_err();
        let message = format!("process {} writes into /x/r", std::process::id());
        assert!(error.to_string().contains(&message), "{error}");
        drop(lock);
        let again = RunLock::take_in(&at, "0badcafe", Path::new("/x/copy")).unwrap();
        drop((again, other));
        assert_eq!(std::fs::read_dir(&at).unwrap().count(), 0);
    }

    #[test]
    fn the_tools_of_a_run_that_was_killed_are_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0badcafe.lock");
        let held = open(&path).unwrap();
        // No process has this number.
        std::fs::write(&path, format!("{} /x/r\n", u32::MAX)).unwrap();
        flock(&held, FlockOperation::LockExclusive).unwrap();
        let begun = Instant::now();
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(held);
        });
        RunLock::take_in(dir.path(), "0badcafe", Path::new("/x/r")).unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(300));
        ends.join().unwrap();
    }

    #[test]
    fn a_directory_of_somebody_else_is_no_place_for_locks() {
        let dir = tempfile::tempdir().unwrap();
        for id in ["", "..", "a/b"] {
            assert!(RunLock::take_in(dir.path(), id, Path::new("r")).is_err(), "{id}");
        }
        let at = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &at).unwrap();
        let error = RunLock::take_in(&at, "0badcafe", Path::new("r")).unwrap_err();
        assert!(matches!(error, RunLockError::Io { .. }) && !error.help().is_empty());
    }
}
