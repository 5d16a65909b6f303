//! Mounting and unmounting the file systems of a stack, each in a separate directory.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use rustix::mount::{MountFlags, UnmountFlags};
use sys::block::{Number, unescape};

use crate::opened;

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
    let (flags, options) = flags(options);
    let options = CString::new(options)?;
    let options = (!options.is_empty()).then_some(options.as_c_str());
    rustix::mount::mount(device, directory, filesystem, flags, options).map_err(|error| {
        // The directory stays where something else uses it.
        let _ = std::fs::remove_dir(directory);
        error.into()
    })
}

/// Splits options into those that every file system has, which the kernel takes as flags, and those of the file system itself.
fn flags(options: &str) -> (MountFlags, String) {
    let mut flags = MountFlags::empty();
    let mut of_file_system = Vec::new();
    for option in options.split(',') {
        match option {
            "noatime" => flags |= MountFlags::NOATIME,
            "nodiratime" => flags |= MountFlags::NODIRATIME,
            "relatime" => flags |= MountFlags::RELATIME,
            "strictatime" => flags |= MountFlags::STRICTATIME,
            "lazytime" => flags |= MountFlags::LAZYTIME,
            "sync" => flags |= MountFlags::SYNCHRONOUS,
            "dirsync" => flags |= MountFlags::DIRSYNC,
            own_option => of_file_system.push(own_option),
        }
    }
    (flags, of_file_system.join(","))
}

/// A mounted file system, held open: while this value exists, it can only be unmounted by force (`umount -l`), which is noticed.
#[derive(Debug)]
pub(crate) struct HeldMount {
    directory: PathBuf,
    root: File,
    /// Device and inode of its root; `None` where the file system shut itself down after an error (XFS) and does not report them.
    mark: Option<(u64, u64)>,
    /// The mount; `None` before Linux 5.8.
    mount: Option<u64>,
}

impl HeldMount {
    /// Returns the file system that is mounted at `directory`.
    ///
    /// # Errors
    /// When the directory cannot be opened.
    pub(crate) fn of(directory: &str) -> io::Result<Self> {
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let root = File::options().read(true).custom_flags(flags).open(directory)?;
        let mark = root.metadata().ok().map(|root| (root.dev(), root.ino()));
        let mount = of_file(&root);
        Ok(Self { directory: directory.into(), root, mark, mount })
    }

    /// Checks that the directory still leads to this file system.
    ///
    /// # Errors
    /// When it was unmounted, or something is mounted over it.
    pub(crate) fn check(&self) -> io::Result<()> {
        match std::fs::metadata(&self.directory) {
            Ok(now) if self.is(&now) => return Ok(()),
            // Whoever uses the file system gets its error, and reports it.
            Err(error) if self.is_dead_on_top(&error) => return Ok(()),
            _ => {}
        }
        self.check_uncovered()?;
        Err(io::Error::other(format!(
            "the file system at {} was unmounted, by the command of a stage or another program; what was written there since, if anything was, lies in the directory under it. \
             Look into it, and run again",
            self.directory.display()
        )))
    }

    /// Checks that nothing else is mounted over this file system.
    ///
    /// # Errors
    /// When something is.
    pub(crate) fn check_uncovered(&self) -> io::Result<()> {
        let now = std::fs::metadata(&self.directory);
        let parent = self.directory.parent().unwrap_or(Path::new("/"));
        let uncovered = match &now {
            Ok(now) => self.is(now) || mount_id(&self.directory) == mount_id(parent),
            // A dead file system over it (FUSE, NFS) cannot be examined, but belongs to somebody all the same.
            Err(error) => error.kind() == io::ErrorKind::NotFound || self.is_dead_on_top(error),
        };
        if uncovered {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "something else is mounted over {}: unmount that (umount {0}), then `fathom clean` takes down what is under it",
            self.directory.display()
        )))
    }

    /// Returns a path to `path` in this file system that works whatever is mounted at its directory now; `None` if `path` lies elsewhere. It is
    /// valid as long as this value.
    pub(crate) fn way(&self, path: &Path) -> Option<PathBuf> {
        let rest = path.strip_prefix(&self.directory).ok()?;
        Some(opened::way(&self.root).join(rest))
    }

    /// The number of this file system (`st_dev`); `None` where it was dead from the start.
    pub(crate) fn number(&self) -> Option<u64> {
        self.mark.map(|(number, _)| number)
    }

    fn is(&self, now: &std::fs::Metadata) -> bool {
        self.mark == Some((now.dev(), now.ino()))
    }

    /// Tells whether the directory cannot be examined because this very file system is dead, with nothing mounted over it.
    fn is_dead_on_top(&self, error: &io::Error) -> bool {
        let top = || mounted().into_iter().rfind(|one| Path::new(&one.at) == self.directory);
        error.kind() != io::ErrorKind::NotFound
            && self.mount.is_some_and(|id| top().is_some_and(|top| top.id == id))
    }
}

/// Returns the id of the mount (Linux 5.8 and later; 0 before), which differs even between bind mounts of one file system.
fn mount_id(path: &Path) -> u64 {
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID);
    found.map_or(0, |found| found.stx_mnt_id)
}

/// Returns the id of the mount that an open file is in; `None` before Linux 5.8, which does not report it.
pub(crate) fn of_file(file: &File) -> Option<u64> {
    let found = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

/// Opens the root of the file system that is mounted at `path`; before Linux 5.8 it cannot be checked that one is mounted there.
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

/// One entry of the table of mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mounted {
    /// The id of the mount.
    pub(crate) id: u64,
    /// The number of its device, as the kernel writes it (`7:0`).
    pub(crate) number: String,
    /// The source that was mounted, a device as a rule.
    pub(crate) source: String,
    /// The directory that it is mounted on.
    pub(crate) at: String,
    /// The kernel's word for the file system.
    pub(crate) kind: String,
}

impl Mounted {
    /// Tells whether it is the file system on a block device.
    pub(crate) fn is_on(&self, device: &str) -> bool {
        let found = std::fs::metadata(device);
        found.is_ok_and(|found| Number::from_dev(found.rdev()).to_string() == self.number)
    }
}

/// Returns all that is mounted, the last one mounted last.
pub(crate) fn mounted() -> Vec<Mounted> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(entry).collect()
}

/// Returns the kernel's word for the file system that an open file is in (`xfs`).
pub(crate) fn kind(file: &File) -> Option<String> {
    let id = of_file(file)?;
    mounted().into_iter().find(|mounted| mounted.id == id).map(|mounted| mounted.kind)
}

/// Reads one line of mountinfo.
fn entry(line: &str) -> Option<Mounted> {
    let (left, right) = line.split_once(" - ")?;
    let (mut left, mut right) = (left.split(' '), right.split(' '));
    let (id, number, at) = (left.next()?.parse().ok()?, left.nth(1)?, unescape(left.nth(1)?));
    let (kind, source) = (right.next()?, right.next()?);
    let number = sys::block::device_of_mount(number, kind, source);
    Some(Mounted { id, number, source: unescape(source), at, kind: kind.to_owned() })
}

/// Checks that nothing else than the file system on `device` is on top of what is mounted at `directory`; without a device, that nothing is mounted
/// there.
///
/// # Errors
/// When something else is.
pub(crate) fn check_top(directory: &str, device: Option<&str>) -> io::Result<()> {
    let table = mounted();
    let Some(top) = table.iter().rfind(|mounted| mounted.at == directory) else { return Ok(()) };
    if device.is_some_and(|device| top.is_on(device)) {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{} is mounted at {directory}, and not by the run: unmount that (umount {directory}), then `fathom clean` takes down what is left",
        top.source
    )))
}

/// Unmounts whatever is mounted at `directory`, and removes the directory; fine where neither is there.
///
/// # Errors
/// `EBUSY` while something uses the file system.
pub(crate) fn unmount(directory: &str) -> io::Result<()> {
    // A directory that cannot be examined (an XFS that has shut itself down) exists all the same.
    let looked_at = std::fs::symlink_metadata(directory);
    if looked_at.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    match rustix::mount::unmount(directory, UnmountFlags::NOFOLLOW) {
        // Nothing is mounted there.
        Ok(()) | Err(rustix::io::Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    std::fs::remove_dir(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_of_mounts_is_read_whole() {
        let line = "35 28 7:0 / /mnt/a\\040b rw,relatime shared:1 master:2 - ext4 /dev/loop0p1 rw";
        let read = entry(line).unwrap();
        assert_eq!((read.id, read.number.as_str(), read.at.as_str()), (35, "7:0", "/mnt/a b"));
        assert_eq!((read.source.as_str(), read.kind.as_str()), ("/dev/loop0p1", "ext4"));
        assert_eq!(entry("35 28 7:0 / /mnt"), None);
        // In a chroot the mount around the new root is not listed.
        assert!(mounted().iter().any(|mounted| mounted.at == "/proc"));
    }

    #[test]
    fn what_is_mounted_by_others_is_left_alone() {
        let error = check_top("/proc", Some("/dev/null")).unwrap_err().to_string();
        assert!(error.contains("umount /proc"), "{error}");
        assert!(check_top("/proc", None).is_err());
        check_top("/no/mount/is/here", None).unwrap();
    }
}
