//! The place of a file in a result: its folder, reached from the result's own directory without following a link.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

/// A name in an open folder: replacing the folder by a link afterwards has no effect.
#[derive(Debug)]
pub struct Place {
    folder: OwnedFd,
    name: OsString,
}

impl Place {
    /// Opens the folders on the way from `root` to `path`; missing ones are made.
    pub(super) fn make(root: &File, path: &Path) -> io::Result<Self> {
        Self::walk(root, path, true)
    }

    /// Opens the folders on the way from `root` to `path`; all of them must exist.
    pub(super) fn find(root: &File, path: &Path) -> io::Result<Self> {
        Self::walk(root, path, false)
    }

    fn walk(root: &File, path: &Path, make: bool) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut folder: OwnedFd = root.try_clone()?.into();
        for part in path.parent().into_iter().flat_map(Path::components) {
            let name = part.as_os_str();
            if make {
                match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                    Err(error) if error != Errno::EXIST => return Err(error.into()),
                    _ => {}
                }
            }
            folder = openat(&folder, name, flags, Mode::empty()).map_err(|error| match error {
                Errno::NOTDIR | Errno::LOOP => io::Error::new(
                    io::ErrorKind::NotADirectory,
                    "a folder of the result is a link or a file",
                ),
                error => error.into(),
            })?;
        }
        Ok(Self { folder, name: path.file_name().unwrap_or_default().to_owned() })
    }

    /// Returns the path by which this process reaches it, as long as this value lives.
    pub fn way(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd())).join(&self.name)
    }
}

/// Returns the path if it stays inside a result; `None` otherwise.
pub(super) fn inside(path: &str) -> Option<&Path> {
    let path_of = Path::new(path);
    let stays = path_of.components().all(|part| matches!(part, Component::Normal(_)));
    (stays && !path.is_empty()).then_some(path_of)
}
