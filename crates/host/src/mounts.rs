//! Mounting and unmounting the file systems of a stack, each in a directory of its own.

use std::ffi::CString;
use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags};

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
