//! A directory that appears complete or not at all: it is filled beside its place, and moved there when it is done.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use sys::passing::Passing;

/// A directory that is being filled. It is removed when dropped, or when a signal ends the program.
#[derive(Debug)]
pub struct Folder {
    place: PathBuf,
    dir: Passing,
}

impl Folder {
    /// Begins a directory that will be moved to `place`.
    ///
    /// # Errors
    /// When no directory can be made beside `place`.
    pub fn begin(place: &Path) -> io::Result<Self> {
        let beside = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        // The umask applies, as to any new directory.
        let dir = Passing::new_in(beside.unwrap_or(Path::new(".")), ".fathom-", 0o777)?;
        Ok(Self { place: place.to_owned(), dir })
    }

    /// Returns its path until it is finished.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Moves it to its place, where there must be nothing.
    ///
    /// # Errors
    /// When something is there, or the system refuses.
    pub fn finish(self) -> io::Result<()> {
        match renameat_with(CWD, self.path(), CWD, &self.place, RenameFlags::NOREPLACE) {
            // Some file systems do not support NOREPLACE: an empty directory is made there, and replaced.
            Err(Errno::INVAL | Errno::NOSYS) => {
                fs::create_dir(&self.place).and_then(|()| fs::rename(self.path(), &self.place))
            }
            moved => moved.map_err(io::Error::from),
        }?;
        // The directory has been moved, so that it must not be removed on drop.
        self.dir.keep();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Folder;
    use std::fs;

    #[test]
    fn a_directory_is_there_whole_or_not_at_all_and_takes_the_place_of_nothing() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("new");
        let folder = Folder::begin(&place).unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        assert!(!place.exists());
        drop(folder);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        let folder = Folder::begin(&place).unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        folder.finish().unwrap();
        assert_eq!(fs::read_to_string(place.join("a")).unwrap(), "1");
        assert!(Folder::begin(&place).unwrap().finish().is_err());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
