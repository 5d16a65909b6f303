//! The directory of a running server: its two sockets.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};

/// A directory with the sockets of a server.
#[derive(Debug, Clone)]
pub struct Place(PathBuf);

/// Sockets that are removed when this is dropped, and the lock of their directory.
pub struct Sockets {
    place: Place,
    /// NBD clients.
    pub nbd: UnixListener,
    /// Questions.
    pub control: UnixListener,
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

    /// The socket for questions.
    pub fn control(&self) -> PathBuf {
        self.0.join("control.sock")
    }

    /// Makes the directory and the sockets, for their owner alone. What a killed server left there goes; a living one keeps its place.
    pub fn occupy(&self) -> Result<Sockets> {
        let at = |what: &'static str| move |error: io::Error| Error::io(&self.0, what, error);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(at("made"))?;
        let lock = File::open(&self.0).map_err(at("opened"))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| Error::Served(self.0.clone()))?;
        let nbd = listen(&self.nbd())?;
        let control = listen(&self.control())?;
        Ok(Sockets { place: self.clone(), nbd, control, _lock: lock })
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.place.nbd());
        let _ = std::fs::remove_file(self.place.control());
    }
}

fn listen(path: &Path) -> Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io(path, "removed", error));
        }
        _ => {}
    }
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
        std::fs::write(place.nbd(), "").unwrap();
        drop(place.occupy().unwrap());
    }

    #[test]
    fn a_path_that_is_too_long_for_a_socket_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let Err(error) = Place::new(&dir.path().join("x".repeat(120))).occupy() else { panic!() };
        assert!(error.to_string().contains("too long") && error.help().contains("107"));
    }
}
