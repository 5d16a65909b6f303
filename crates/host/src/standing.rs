//! Checks what is at the path of a target: something, an empty file, or nothing where a file can be made.

use std::io;
use std::path::{Path, PathBuf};

/// The state of the path of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetPresence {
    /// A device, or a file with data.
    There,
    /// A file without data, which is extended to the size that it is to have.
    Empty,
    /// Nothing, and a file can be made.
    Absent,
}

/// Reason why a path cannot be a target.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// A link leads to nothing.
    #[error("{} is a link to {}, which is not there", path.display(), to.display())]
    Dangling {
        /// The link.
        path: PathBuf,
        /// Path that the link leads to.
        to: PathBuf,
    },
    /// A device is not there.
    #[error("{} is not there", .0.display())]
    NoDevice(PathBuf),
    /// The directory of a new file is not there.
    #[error("{} cannot be made: its directory is not there", .0.display())]
    NoDirectory(PathBuf),
    /// It exists but cannot be examined.
    #[error("{} cannot be examined: {source}", path.display())]
    Unseen {
        /// The path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

impl PathError {
    /// Returns the remedy.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Dangling { .. } => "name the file itself, or remove the link",
            Self::NoDevice(_) => "lsblk lists the devices there are",
            Self::NoDirectory(_) => "make the directory first",
            Self::Unseen { source, .. } => {
                match source.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
                    Some(rustix::io::Errno::LOOP) => {
                        "its links lead back to themselves: name the file itself"
                    }
                    Some(rustix::io::Errno::ACCESS) => sys::denied::help(),
                    Some(rustix::io::Errno::NOTDIR) => {
                        "a part of the path is a file, not a directory"
                    }
                    _ => "check the path",
                }
            }
        }
    }
}

/// Returns what stands at `path`.
pub fn standing(path: &Path) -> Result<TargetPresence, PathError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() == 0 => return Ok(TargetPresence::Empty),
        Ok(_) => return Ok(TargetPresence::There),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(PathError::Unseen { path: path.to_owned(), source }),
    }
    if let Ok(to) = std::fs::read_link(path) {
        return Err(PathError::Dangling { path: path.to_owned(), to });
    }
    let refused = |error: &io::Error| sys::new_file::remedy(error).is_some();
    if sys::new_file::may_be_at(path).is_err_and(|error| refused(&error)) {
        return Err(PathError::NoDevice(path.to_owned()));
    }
    if !path.parent().is_none_or(|dir| dir == Path::new("") || dir.is_dir()) {
        return Err(PathError::NoDirectory(path.to_owned()));
    }
    Ok(TargetPresence::Absent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_told_from_a_device_that_is_not_there_and_from_a_link_to_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("empty"), "").unwrap();
        std::fs::write(at("full"), "x").unwrap();
        std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
        assert_eq!(standing(&at("empty")).unwrap(), TargetPresence::Empty);
        assert_eq!(standing(&at("full")).unwrap(), TargetPresence::There);
        assert_eq!(standing(&at("new")).unwrap(), TargetPresence::Absent);
        assert!(matches!(standing(&at("link")), Err(PathError::Dangling { .. })));
        assert!(matches!(standing(&at("no/new")), Err(PathError::NoDirectory(_))));
        std::os::unix::fs::symlink("/dev", at("d")).unwrap();
        for missing in
            ["/dev/no-such", "/dev/no/such"].map(Path::new).into_iter().chain([&*at("d/no-such")])
        {
            assert!(matches!(standing(missing), Err(PathError::NoDevice(_))), "{missing:?}");
        }
    }
}
