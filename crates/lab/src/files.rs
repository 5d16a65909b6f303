//! Files without a name, files that are kept, and the space that they take.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use units::Bytes;

use crate::{Error, Result};

/// Space that must stay free in addition to the written data: for file system metadata, consoles, the result.
const MARGIN: Bytes = Bytes(256 * Bytes::MIB);

/// Refuses when less than `written` and a margin is free in `dir`. The size of sparse disks does not matter.
pub(crate) fn check_space(dir: &Path, written: Bytes, what: &'static str) -> Result<()> {
    let free = rustix::fs::statvfs(dir).map_err(Error::system("cannot ask for the free space"))?;
    let free = Bytes(free.f_bavail.saturating_mul(free.f_frsize));
    let needed = Bytes(written.0.saturating_add(MARGIN.0));
    if free < needed {
        return Err(Error::DiskSpace { what, dir: dir.to_path_buf(), free, needed });
    }
    Ok(())
}

/// Makes a file in `dir` that has no name, so that nothing is left whatever happens.
pub(crate) fn nameless_file(dir: &Path) -> Result<File> {
    let tmpfile = i32::try_from(OFlags::TMPFILE.bits()).unwrap_or(0);
    let file = File::options().read(true).write(true).mode(0o600).custom_flags(tmpfile).open(dir);
    if let Ok(file) = file {
        return Ok(file);
    }
    // The file system has no nameless files: the file has a name for a moment.
    let path = dir.join(format!(".fathom-{}-{}", std::process::id(), unique()));
    let file = kept_file(&path)?;
    std::fs::remove_file(&path).map_err(Error::io("cannot remove", &path))?;
    Ok(file)
}

pub(crate) fn kept_file(path: &Path) -> Result<File> {
    File::options().read(true).write(true).create_new(true).mode(0o600).open(path).map_err(
        |source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => Error::DiskExists { path: path.to_path_buf() },
            _ => Error::io("cannot make", path)(source),
        },
    )
}

fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The name under which a process that inherits `file` opens it.
pub(crate) fn inherited_name(file: impl AsFd) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}
