//! The directory that a tree is made in, without touching anything that was there before.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, Access, AtFlags, Dir, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use sys::meant::Meant;

use crate::error::{EngineError, ErrorKind};

/// Flags for a mere handle of a directory, with which the directory itself is neither read nor written.
pub(crate) const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Flags for paths that stay below the directory, follow no link, and enter no other file system.
const RESOLVE_BELOW: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_XDEV);
/// The directory that mkfs creates in every ext4 file system.
const LOST_AND_FOUND: &[u8] = b"lost+found";
/// Most names that are tried for a new directory.
const MAX_NAMES_TRIED: u32 = 10_000;

/// Opens a directory below another one.
pub(crate) fn below(root: impl AsFd, path: &str) -> rustix::io::Result<OwnedFd> {
    let path = if path.is_empty() { "." } else { path };
    fs::openat2(root, path, DIRECTORY, Mode::empty(), RESOLVE_BELOW)
}

/// The directory that a tree lies in.
#[derive(Debug)]
pub(crate) struct Root {
    directory: OwnedFd,
    /// The path as the user gave it, for messages.
    path: PathBuf,
    /// The path to open; it bypasses whatever is mounted at the name now.
    way: PathBuf,
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl Root {
    /// Opens the directory, which has to be empty or is made; with `into_existing` makes a new directory in it.
    pub(crate) fn enter(
        (path, way): (&Path, &Path),
        into_existing: bool,
    ) -> Result<Self, EngineError> {
        if matches!(fs::stat(way), Err(Errno::NOENT)) {
            sys::new_file::may_be_at(way).map_err(|error| not_allowed_there(path, error))?;
            let made = fs::mkdir(way, Mode::from_raw_mode(0o755));
            made.map_err(|error| cannot_make(path, error))?;
        }
        let directory = open((path, way), into_existing)?;
        let (path, way) = (path.to_owned(), way.to_owned());
        if !into_existing {
            return Ok(Self { directory, path, way });
        }
        for number in 1..=MAX_NAMES_TRIED {
            let name = format!("fathom-tree-{number}");
            match fs::mkdirat(&directory, name.as_str(), Mode::from_raw_mode(0o755)) {
                Err(Errno::EXIST) => {}
                Err(error) => return Err(cannot_make(&path.join(name), error)),
                Ok(()) => {
                    let (path, way) = (path.join(&name), way.join(&name));
                    let child =
                        below(&directory, &name).map_err(|error| cannot_make(&path, error))?;
                    return Ok(Self { directory: child, path, way });
                }
            }
        }
        Err(cannot_make(&path, Errno::EXIST))
    }

    /// Opens an existing directory, whatever is in it.
    ///
    /// # Errors
    /// Fails if it does not exist, cannot be written to, or lies in a file system other than `meant`.
    pub(crate) fn existing(
        (path, way): (&Path, &Path),
        meant: Option<&Meant>,
    ) -> Result<Self, EngineError> {
        let directory = open((path, way), true)?;
        let found = fs::fstat(&directory).map_err(|error| cannot_make(path, error))?;
        if matches!(meant, Some(Meant::FileOn(on)) if found.st_dev != *on) {
            let message = format!("{} leads out of the file system of the stack", path.display());
            let help = "nothing is written there: see what is mounted at it";
            return Err(EngineError::new(ErrorKind::Refused, message, help));
        }
        Ok(Self { directory, path: path.to_owned(), way: way.to_owned() })
    }

    /// Makes a directory in this one, and opens it; a file system that was mounted there in between is not entered.
    ///
    /// # Errors
    /// Fails if the directory exists already or cannot be made.
    pub(crate) fn make(&self, name: &str) -> Result<Self, EngineError> {
        let (path, way) = (self.path.join(name), self.way.join(name));
        let made = fs::mkdirat(&self.directory, name, Mode::from_raw_mode(0o755));
        // Opened for reading since it has to be synced, which is not possible through an `O_PATH` descriptor.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || fs::openat2(&self.directory, name, flags, Mode::empty(), RESOLVE_BELOW);
        let directory = made.and_then(|()| open()).map_err(|error| cannot_make(&path, error))?;
        Ok(Self { directory, path, way })
    }

    /// Checks that the path by which it was opened still leads to it.
    ///
    /// # Errors
    /// Fails if it was moved, removed, or covered by a mount, or its file system fails.
    pub(crate) fn check_place(&self) -> Result<(), EngineError> {
        let shown = self.path.display();
        match fs::stat(&self.way) {
            Ok(found) if is_same(&self.directory, found) => Ok(()),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Err(EngineError::new(
                ErrorKind::Refused,
                format!(
                    "{shown} is not where it was made: it was moved, removed, or covered by a mount"
                ),
                "nothing more is written: keep others out of it",
            )),
            Err(error) => {
                let message = format!("{shown} cannot be looked at");
                let help = "see the cause below";
                Err(EngineError::new(ErrorKind::Target, message, help)
                    .because(io::Error::from(error)))
            }
        }
    }

    /// The path as the user gave it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Tells whether the path by which it was opened still leads to it.
    pub(crate) fn is_in_place(&self) -> bool {
        fs::stat(&self.way).is_ok_and(|found| is_same(&self.directory, found))
    }

    /// Size of the file system that it lies on, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        fs::fstatvfs(&self.directory).map_or(0, |found| found.f_blocks * found.f_frsize)
    }
}

/// Tells whether an open directory is the one whose status was found.
pub(crate) fn is_same(directory: impl AsFd, found: fs::Stat) -> bool {
    let identity = fs::fstat(directory).map(|stat| (stat.st_dev, stat.st_ino));
    identity == Ok((found.st_dev, found.st_ino))
}

/// Checks the directory of a load without touching anything; tells whether it exists, since otherwise the load would make it.
///
/// # Errors
/// Fails if the path is not a directory, is not empty, cannot be written to, or cannot be made.
pub fn examine(path: &Path, into_existing: bool) -> Result<bool, EngineError> {
    if !matches!(fs::stat(path), Err(Errno::NOENT)) {
        return open((path, path), into_existing).map(|_| true);
    }
    let around = path.parent().filter(|around| !around.as_os_str().is_empty());
    let around = around.unwrap_or(Path::new("."));
    fs::stat(around).map_err(|error| cannot_make(path, error))?;
    open((around, around), true).map(|_| false)
}

fn open((path, way): (&Path, &Path), into_existing: bool) -> Result<OwnedFd, EngineError> {
    let shown = path.display();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let failed = |error: Errno| {
        let (kind, what, help) = match error {
            Errno::NOTDIR => (
                ErrorKind::Usage,
                "is not a directory",
                "name a directory; without --tree a load goes to a file or a device",
            ),
            Errno::NOENT => {
                (ErrorKind::Usage, "is not there", "create it, or mount its file system")
            }
            _ => (ErrorKind::Target, "cannot be opened", "see the cause below"),
        };
        EngineError::new(kind, format!("{shown} {what}"), help).because(io::Error::from(error))
    };
    let directory = fs::open(way, flags, Mode::empty()).map_err(failed)?;
    if !into_existing && !is_empty(&directory).map_err(failed)? {
        return Err(EngineError::new(
            ErrorKind::Refused,
            format!("{shown} is not empty"),
            "name an empty directory, or add --into-existing, which makes a new directory in it and touches nothing else",
        ));
    }
    sys::new_file::may_be_in(&directory).map_err(|error| not_allowed_there(path, error))?;
    fs::accessat(&directory, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).map_err(
        |error| {
            EngineError::new(
                ErrorKind::Target,
                format!("{shown} cannot be written to"),
                "mount the file system for writing, or name a directory that you may write to",
            )
            .because(io::Error::from(error))
        },
    )?;
    Ok(directory)
}

fn is_empty(directory: &OwnedFd) -> rustix::io::Result<bool> {
    for entry in Dir::read_from(directory)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b".." | LOST_AND_FOUND) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The error for a directory that may not be made where its path leads.
fn not_allowed_there(path: &Path, error: io::Error) -> EngineError {
    let help = sys::new_file::remedy(&error).unwrap_or("check the path");
    let message = format!("The directory {} cannot be made", path.display());
    EngineError::new(ErrorKind::Usage, message, help).because(error)
}

/// The error for a directory that could not be made.
pub(crate) fn cannot_make(path: &Path, error: Errno) -> EngineError {
    let (kind, help) = match error {
        Errno::EXIST => (
            ErrorKind::Refused,
            "another program creates names in this directory: name one that nobody else uses",
        ),
        Errno::NOENT => (ErrorKind::Usage, "make its parent directory first"),
        Errno::NOTDIR => (ErrorKind::Usage, "name a directory: the path above it is none"),
        Errno::NOSYS => (ErrorKind::Environment, "openat2 is needed: Linux 5.6 or newer"),
        _ => (ErrorKind::Target, "see the cause below"),
    };
    let message = format!("The directory {} cannot be made", path.display());
    EngineError::new(kind, message, help).because(io::Error::from(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tree_is_made_among_the_devices() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev", folder.path().join("d")).unwrap();
        let new = folder.path().join("d/fathom-no-such");
        for (path, into_existing) in [(new.as_path(), false), (Path::new("/dev"), true)] {
            let error = Root::enter((path, path), into_existing).unwrap_err();
            assert!(error.help().contains("elsewhere"), "{error:?}");
        }
        assert!(!new.exists() && !Path::new("/dev/fathom-tree-1").exists());
    }
}
