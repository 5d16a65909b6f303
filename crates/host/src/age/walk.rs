//! A walk through a tree that follows no link, enters no other file system, and reads nothing but names.

use std::collections::HashSet;
use std::ffi::{CString, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat, fstat, openat2, statat,
};
use rustix::io::Errno;

/// Paths stay below the directory, follow no link, and enter no other file system.
const RESOLVE_BELOW: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_XDEV);
const OPEN_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
/// Size of the buffer for names of a directory, bytes.
const LISTED: usize = 32 << 10;

/// Something that was met on the way.
pub(super) enum Met<'a> {
    Directory,
    /// A regular file, open.
    File(OwnedFd, Stat),
    /// Another name of a file that was met.
    HardLink,
    /// Neither a regular file nor a directory.
    Other,
    /// A directory in which another file system begins.
    LeftOut,
    Unreadable(&'a Path, Errno),
}

/// Opens `path` below `near`, without changing its access time where that is allowed.
fn open(
    near: impl AsFd,
    path: impl rustix::path::Arg + Copy,
    more: OFlags,
) -> Result<OwnedFd, Errno> {
    let flags = OPEN_FLAGS.union(more);
    match openat2(near.as_fd(), path, flags.union(OFlags::NOATIME), Mode::empty(), RESOLVE_BELOW) {
        Err(Errno::PERM) => openat2(near, path, flags, Mode::empty(), RESOLVE_BELOW),
        opened => opened,
    }
}

/// Walks through the tree at `root` until `meet` returns false; `meet` gets each thing with its path below `root`.
pub(super) fn walk(root: impl AsFd, mut meet: impl FnMut(&Path, Met) -> bool) -> bool {
    let mut pending = vec![PathBuf::new()];
    let mut seen = HashSet::new();
    while let Some(path) = pending.pop() {
        let here = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
        let listed = open(&root, here, OFlags::DIRECTORY).and_then(|directory| {
            let names = names(&directory)?;
            Ok((directory, names))
        });
        let (directory, names) = match listed {
            Ok(listed) => listed,
            Err(error) => {
                let met =
                    if error == Errno::XDEV { Met::LeftOut } else { Met::Unreadable(here, error) };
                if !meet(&path, met) {
                    return false;
                }
                continue;
            }
        };
        if !meet(&path, Met::Directory) {
            return false;
        }
        let mut below = Vec::new();
        for name in names {
            let path = path.join(OsStr::from_bytes(name.to_bytes()));
            let met = match look(&directory, &name, &mut seen) {
                // Removed since it was listed.
                Err(Errno::NOENT) => continue,
                Ok(Met::Directory) => {
                    below.push(path);
                    continue;
                }
                Err(error) => Met::Unreadable(&path, error),
                Ok(met) => met,
            };
            if !meet(&path, met) {
                return false;
            }
        }
        pending.extend(below.into_iter().rev());
    }
    true
}

/// Returns the names in a directory, in order.
fn names(directory: &OwnedFd) -> Result<Vec<CString>, Errno> {
    let mut room = [MaybeUninit::uninit(); LISTED];
    let mut listed = RawDir::new(directory, &mut room);
    let mut names = Vec::new();
    while let Some(entry) = listed.next() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Examines one name. A directory is not opened yet; anything that is neither a directory nor a regular file is never opened.
fn look<'a>(
    directory: &OwnedFd,
    name: &CString,
    seen: &mut HashSet<(u64, u64)>,
) -> Result<Met<'a>, Errno> {
    let regular = |stat: &Stat| FileType::from_raw_mode(stat.st_mode).is_file();
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode).is_dir() {
        return Ok(Met::Directory);
    }
    if !regular(&stat) {
        return Ok(Met::Other);
    }
    if stat.st_nlink > 1 && !seen.insert((stat.st_dev, stat.st_ino)) {
        return Ok(Met::HardLink);
    }
    let file = match open(directory, name.as_c_str(), OFlags::empty()) {
        Err(Errno::XDEV) => return Ok(Met::LeftOut),
        file => file?,
    };
    let stat = fstat(&file)?;
    // It may have been replaced since it was examined.
    Ok(if regular(&stat) { Met::File(file, stat) } else { Met::Other })
}
