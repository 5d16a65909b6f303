//! The directory of a running server: its two sockets.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};

/// A directory with the sockets of a server.
#[derive(Debug, Clone)]
pub struct Place(PathBuf);

/// Sockets that are removed when this is dropped, and the lock of their directory.
pub struct Sockets {
    place: Place,
    /// Socket for NBD clients.
    pub nbd: UnixListener,
    /// Socket for questions.
    pub control: UnixListener,
    /// Device and inode of the sockets that were made.
    made: [(u64, u64); 2],
    _lock: File,
}

impl Place {
    /// The directory at a path, which need not exist.
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The socket for NBD clients.
    pub fn nbd(&self) -> PathBuf {
        self.0.join("nbd.sock")
    }

    /// Returns the URI of the export for NBD clients, with an absolute path. Bytes that have a meaning in a URI are written as `%` and
    /// two digits.
    pub fn uri(&self) -> String {
        let path = std::path::absolute(self.nbd()).unwrap_or_else(|_| self.nbd());
        let mut uri = String::from("nbd+unix:///?socket=");
        for byte in path.as_os_str().as_bytes() {
            match byte {
                b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
                byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
                byte => uri.push_str(&format!("%{byte:02X}")),
            }
        }
        uri
    }

    /// The socket for questions.
    pub fn control(&self) -> PathBuf {
        self.0.join("control.sock")
    }

    /// Makes the directory and the sockets, for their owner alone. Sockets that a killed server left are removed.
    ///
    /// # Errors
    /// Fails if a server is running in the directory, or if the directory or a socket cannot be made.
    pub fn occupy(&self) -> Result<Sockets> {
        let at = |what: &'static str| move |error: io::Error| Error::io(&self.0, what, error);
        sys::new_file::may_be_at(&self.nbd()).map_err(at("made"))?;
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(at("made"))?;
        let lock = File::open(&self.0).map_err(at("opened"))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| Error::Served(self.0.clone()))?;
        let (nbd, control) = (self.nbd(), self.control());
        clear(&control)?;
        let listeners = (listen(&nbd)?, listen(&control)?);
        let made = |path: &Path| identity(path).map_err(|error| Error::io(path, "examined", error));
        let made = [made(&nbd)?, made(&control)?];
        let (nbd, control) = listeners;
        Ok(Sockets { place: self.clone(), nbd, control, made, _lock: lock })
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        for (path, made) in [(self.place.nbd(), self.made[0]), (self.place.control(), self.made[1])]
        {
            if identity(&path).is_ok_and(|there| there == made) {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// Returns the device and the inode of the file at a path, without following a link.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    path.symlink_metadata().map(|found| (found.dev(), found.ino()))
}

fn listen(path: &Path) -> Result<UnixListener> {
    clear(path)?;
    let made = UnixListener::bind(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => Error::Value {
            what: format!("{} is too long for a socket's name", path.display()),
            help: "give a directory with a shorter path: a socket's name has at most 107 bytes"
                .into(),
        },
        _ => Error::io(path, "bound", error),
    })?;
    let owner = Permissions::from_mode(0o600);
    std::fs::set_permissions(path, owner).map_err(|error| Error::io(path, "protected", error))?;
    Ok(made)
}

/// Removes a socket at `path` that nobody listens on. Anything else there may be in use, and is an error.
fn clear(path: &Path) -> Result<()> {
    let kind = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(|error| Error::io(path, "examined", error))?.file_type(),
    };
    if kind.is_socket() && UnixStream::connect(path).is_err() {
        return std::fs::remove_file(path).map_err(|error| Error::io(path, "removed", error));
    }
    Err(Error::Occupied(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_one_server_and_what_a_killed_one_left_is_no_hindrance() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::new(&dir.path().join("a"));
        let sockets = place.occupy().unwrap();
        assert!(matches!(place.occupy(), Err(Error::Served(_))));
        let mode = std::fs::metadata(place.nbd()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(sockets);
        assert!(!place.nbd().exists());
        // What a killed server leaves: a socket to which nobody listens.
        drop(UnixListener::bind(place.nbd()).unwrap());
        drop(place.occupy().unwrap());
        assert!(!place.nbd().exists());
    }

    #[test]
    fn what_stands_at_the_name_of_a_socket_and_is_somebody_s_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::new(dir.path());
        let other = dir.path().join("other");
        for path in [place.nbd(), place.control()] {
            std::fs::write(&path, "mine").unwrap();
            assert!(matches!(place.occupy(), Err(Error::Occupied(at)) if at == path));
            assert_eq!(std::fs::read(&path).unwrap(), b"mine");
            std::fs::rename(&path, &other).unwrap();
            std::os::unix::fs::symlink(&other, &path).unwrap();
            assert!(place.occupy().is_err());
            std::fs::remove_file(&path).unwrap();
            std::fs::create_dir(&path).unwrap();
            assert!(place.occupy().is_err());
            std::fs::remove_dir(&path).unwrap();
            let living = UnixListener::bind(&path).unwrap();
            assert!(place.occupy().is_err());
            assert!(UnixStream::connect(&path).is_ok());
            drop(living);
            std::fs::remove_file(&path).unwrap();
        }
        assert_eq!(std::fs::read(&other).unwrap(), b"mine");
        // Whatever takes the place of a socket stays when the server ends.
        let sockets = place.occupy().unwrap();
        std::fs::rename(&other, place.nbd()).unwrap();
        drop(sockets);
        assert_eq!(std::fs::read(place.nbd()).unwrap(), b"mine");
        assert!(!place.control().exists());
    }

    #[test]
    fn the_uri_of_a_place_is_absolute_and_no_byte_of_its_path_means_anything_in_it() {
        let uri = |path: &[u8]| Place::new(Path::new(std::ffi::OsStr::from_bytes(path))).uri();
        assert_eq!(uri(b"/run/a-b_c.1~"), "nbd+unix:///?socket=/run/a-b_c.1~/nbd.sock");
        let odd = uri("/a b?c#d%e&f=g+h;é".as_bytes());
        let coded = "/a%20b%3Fc%23d%25e%26f%3Dg%2Bh%3B%C3%A9/nbd.sock";
        assert_eq!(odd, format!("nbd+unix:///?socket={coded}"));
        assert!(uri(b"/\xff\n").ends_with("/%FF%0A/nbd.sock"));
        assert!(uri(b"here").starts_with("nbd+unix:///?socket=/"));
    }

    #[test]
    fn a_path_that_is_too_long_for_a_socket_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let Err(error) = Place::new(&dir.path().join("x".repeat(120))).occupy() else { panic!() };
        assert!(error.to_string().contains("too long") && error.help().contains("107"));
    }
}
