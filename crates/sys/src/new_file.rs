//! New files and directories, of which none is made among the devices of `/dev`.
//!
//! A name there that leads nowhere is a device that is missing. A file in its place would take memory and stand where programs look for the device.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The directory of the devices.
const DEVICES: &str = "/dev";

/// The directory in it that is for files.
const SHARED_MEMORY: &str = "/dev/shm";

/// The refusal of a place on the file system of `/dev`.
#[derive(Debug)]
struct AmongDevices;

impl fmt::Display for AmongDevices {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("no such device is there, and nothing new is made among the devices of /dev")
    }
}

impl std::error::Error for AmongDevices {}

/// Returns the remedy, if `error` is the refusal of a place among the devices.
pub fn remedy(error: &io::Error) -> Option<&'static str> {
    let refused = error.get_ref().is_some_and(|inner| inner.is::<AmongDevices>());
    refused.then_some("check the name (lsblk lists the devices), or name a place elsewhere")
}

/// Makes a new file, for reading and writing. A link that leads nowhere is not followed.
///
/// # Errors
/// When something is there, when the file cannot be made, or when its directory, as it was opened, is on the file system of `/dev`.
pub fn create(path: &Path) -> io::Result<File> {
    let bytes = path.as_os_str().as_bytes();
    let name_at = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (folder, name) = bytes.split_at(name_at);
    match (folder, name) {
        ([], []) => return Err(Errno::NOENT.into()),
        (_, []) => return Err(Errno::ISDIR.into()),
        _ => {}
    }
    let folder = directory(if folder.is_empty() { b"." } else { folder })?;
    may_be_in(&folder)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(&folder, name, flags, Mode::from_raw_mode(0o666))?.into())
}

/// Refuses the place of a new file or directory if the nearest directory above it that exists is on the file system of `/dev`.
///
/// # Errors
/// When it is, and when that directory cannot be opened or examined.
pub fn may_be_at(path: &Path) -> io::Result<()> {
    let mut above = path;
    loop {
        above = match above.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) => Path::new("."),
            None => return Ok(()),
        };
        match directory(above.as_os_str().as_bytes()) {
            Err(error) if error == Errno::NOENT && above != Path::new(".") => {}
            opened => return may_be_in(&opened?),
        }
    }
}

/// Refuses new files and directories in this opened directory if it is on the file system of `/dev`.
///
/// # Errors
/// When it is, or cannot be examined.
pub fn may_be_in(folder: &OwnedFd) -> io::Result<()> {
    let number = rustix::fs::fstat(folder)?.st_dev;
    let is_of = |path| rustix::fs::stat(path).is_ok_and(|found| found.st_dev == number);
    // Where /dev is a part of the root file system, paths tell what is in it.
    let within = || {
        let place = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        place.is_ok_and(|place| place.starts_with(DEVICES) && !place.starts_with(SHARED_MEMORY))
    };
    if is_of(DEVICES) && (!is_of("/") || within()) {
        return Err(io::Error::new(io::ErrorKind::NotFound, AmongDevices));
    }
    Ok(())
}

/// Makes a directory, and those above it, where it is not there.
///
/// # Errors
/// When it cannot be made, or would be on the file system of `/dev`.
pub fn create_directories(path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        may_be_at(path)?;
    }
    std::fs::create_dir_all(path)
}

fn directory(path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_new_is_made_among_the_devices_by_whatever_way_its_name_leads_there() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::os::unix::fs::symlink("/dev", at("d")).unwrap();
        std::os::unix::fs::symlink("/dev/no-such", at("dangling")).unwrap();
        let name = format!("fathom-no-such-{}", std::process::id());
        for folder in [Path::new("/dev"), Path::new("/dev/./"), Path::new("/proc/../dev"), &at("d")]
        {
            let path = folder.join(&name);
            for refused in
                [create(&path).map(drop), may_be_at(&path), create_directories(&path.join("a"))]
            {
                let error = refused.unwrap_err();
                assert!(remedy(&error).is_some(), "{}: {error}", path.display());
            }
            assert!(std::fs::symlink_metadata(&path).is_err(), "{}", path.display());
        }
        // A link to a device that is not there is not followed.
        assert_eq!(create(&at("dangling")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn elsewhere_files_are_made_as_ever() {
        use std::io::{Read, Seek, Write};
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        create_directories(&at("a/b")).unwrap();
        create_directories(Path::new("/dev")).unwrap();
        let mut made = create(&at("new")).unwrap();
        made.write_all(b"x").unwrap();
        made.rewind().unwrap();
        assert_eq!(made.read(&mut [0; 2]).unwrap(), 1);
        let kinds = [
            ("new", io::ErrorKind::AlreadyExists),
            ("no/new", io::ErrorKind::NotFound),
            ("new/x", io::ErrorKind::NotADirectory),
            ("x/", io::ErrorKind::IsADirectory),
        ];
        for (name, kind) in kinds {
            let error = create(&at(name)).unwrap_err();
            assert_eq!((error.kind(), remedy(&error)), (kind, None), "{name}");
        }
        assert_eq!(create(Path::new("")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
