//! Mounting and unmounting the file systems of a stack, each in a directory of its own.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use rustix::mount::{MountFlags, UnmountFlags};

use crate::node;

/// Makes `directory` and mounts the file system on `device` there.
///
/// # Errors
/// When something is mounted there already, or the kernel refuses; the directory is removed again then.
pub(crate) fn mount(
    device: &str,
    directory: &str,
    filesystem: &str,
    options: &str,
) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let options = CString::new(options)?;
    let options = (!options.is_empty()).then_some(options.as_c_str());
    rustix::mount::mount(device, directory, filesystem, MountFlags::empty(), options).map_err(
        |error| {
            // Left where something else uses it.
            let _ = std::fs::remove_dir(directory);
            error.into()
        },
    )
}

/// A mounted file system, held open: nobody unmounts it meanwhile but by force (`umount -l`), and that is seen.
#[derive(Debug)]
pub(crate) struct HeldMount {
    directory: PathBuf,
    root: File,
}

impl HeldMount {
    /// Returns the file system that is mounted at `directory`.
    ///
    /// # Errors
    /// When the directory cannot be opened.
    pub(crate) fn of(directory: &str) -> io::Result<Self> {
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let root = File::options().read(true).custom_flags(flags).open(directory)?;
        Ok(Self { directory: directory.into(), root })
    }

    /// Returns nothing while the directory leads to this file system.
    ///
    /// # Errors
    /// When it was unmounted, or something is mounted over it.
    pub(crate) fn check(&self) -> io::Result<()> {
        if std::fs::metadata(&self.directory).is_ok_and(|now| self.is(&now)) {
            return Ok(());
        }
        self.check_uncovered()?;
        Err(io::Error::other(format!(
            "the file system at {} was unmounted by somebody else; what was written there since lies in the directory under it. Look into it, \
             and run again",
            self.directory.display()
        )))
    }

    /// Returns nothing unless something else is mounted over this file system.
    ///
    /// # Errors
    /// When something is.
    pub(crate) fn check_uncovered(&self) -> io::Result<()> {
        let now = std::fs::metadata(&self.directory);
        let parent = self.directory.parent().unwrap_or(Path::new("/"));
        let uncovered = match &now {
            Ok(now) => self.is(now) || mount_id(&self.directory) == mount_id(parent),
            // A dead file system over it (FUSE, NFS) cannot be looked at, and is somebody's all the same.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if uncovered {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "something else is mounted over {}: unmount that (umount {0}), then `fathom clean` takes down what is under it",
            self.directory.display()
        )))
    }

    /// Returns the way to `path` in this file system, whatever is mounted at its directory by now; `None` of a path elsewhere. It ends
    /// with this value.
    pub(crate) fn way(&self, path: &Path) -> Option<PathBuf> {
        let rest = path.strip_prefix(&self.directory).ok()?;
        Some(node::way(&self.root).join(rest))
    }

    fn is(&self, now: &std::fs::Metadata) -> bool {
        self.root.metadata().is_ok_and(|held| (held.dev(), held.ino()) == (now.dev(), now.ino()))
    }
}

/// Returns what tells a mount from all others (Linux 5.8 and later; 0 before), bind mounts of one file system included.
fn mount_id(path: &Path) -> u64 {
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID);
    found.map_or(0, |found| found.stx_mnt_id)
}

/// Returns the root of the file system that is mounted at `path`, to ask about it; a kernel before 5.8 cannot tell whether one is.
///
/// # Errors
/// When nothing is mounted there.
pub(crate) fn root(path: &str) -> io::Result<File> {
    let root = File::options().read(true).custom_flags(libc::O_PATH).open(path)?;
    let found = statx(&root, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE)?;
    let mounted = StatxAttributes::MOUNT_ROOT;
    if found.stx_attributes_mask.contains(mounted) && !found.stx_attributes.contains(mounted) {
        return Err(io::Error::other(format!("nothing is mounted at {path}")));
    }
    Ok(root)
}

/// Unmounts whatever is mounted at `directory`, and removes the directory; fine where neither is there.
///
/// # Errors
/// `EBUSY` while something uses the file system.
pub(crate) fn unmount(directory: &str) -> io::Result<()> {
    if !Path::new(directory).exists() {
        return Ok(());
    }
    match rustix::mount::unmount(directory, UnmountFlags::NOFOLLOW) {
        // Nothing is mounted there.
        Ok(()) | Err(rustix::io::Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    std::fs::remove_dir(directory)
}
