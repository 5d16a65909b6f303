//! Paths to open files, and opening a block device exclusively.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Opens a block device exclusively, as the kernel's users of whole devices do. It tries again for a tenth of a second, because a process forked just
/// now may still hold what its parent has closed.
///
/// # Errors
/// When it has such a user (`ResourceBusy`), or cannot be opened.
pub(crate) fn open_alone(node: &Path) -> io::Result<File> {
    let mut tries = 10;
    loop {
        let opened = File::options().read(true).custom_flags(libc::O_EXCL).open(node);
        match opened {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && tries > 0 => tries -= 1,
            done => return done,
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns a path to an open file that does not depend on its name.
pub(crate) fn way(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
