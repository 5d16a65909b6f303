//! A file that takes its place whole: it is begun beside it under another name, and renamed.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file on its way to its place. Dropped before [`Draft::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct Draft {
    place: PathBuf,
    to: To,
}

#[derive(Debug)]
enum To {
    /// A pipe or a character device: written as it is.
    Stream(File),
    /// A new file beside the place.
    Beside {
        file: NamedTempFile,
        /// Device and inode of the file that it replaces.
        old: Option<(u64, u64)>,
    },
}

/// Whether something is written as it is, and never replaced.
pub fn is_stream(found: &Metadata) -> bool {
    let kind = found.file_type();
    kind.is_fifo() || kind.is_char_device()
}

impl Draft {
    /// Begins a file for `place`, where a regular file, a stream or nothing may be; links are followed. The new file gets the mode
    /// and, if that is allowed, the owner of the old one.
    pub fn begin(place: &Path) -> io::Result<Self> {
        let linked = fs::symlink_metadata(place).is_ok_and(|found| found.is_symlink());
        let old = match fs::metadata(place) {
            Ok(found) if is_stream(&found) => {
                let file = File::options().write(true).open(place)?;
                return Ok(Self { place: place.to_owned(), to: To::Stream(file) });
            }
            Ok(found) if found.is_file() => Some(found),
            Ok(_) => return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound && !linked => None,
            Err(error) => return Err(error),
        };
        let place = if linked { fs::canonicalize(place)? } else { place.to_owned() };
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = tempfile::Builder::new()
            .prefix(".fathom-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder.unwrap_or(Path::new(".")))?;
        if let Some(old) = &old {
            // Only root may give a file away.
            let _ = fchown(file.as_file(), Some(old.uid()), Some(old.gid()));
            file.as_file().set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
        }
        let old = old.map(|found| (found.dev(), found.ino()));
        Ok(Self { place, to: To::Beside { file, old } })
    }

    /// The file, to be written.
    pub fn file(&self) -> &File {
        match &self.to {
            To::Stream(file) => file,
            To::Beside { file, .. } => file.as_file(),
        }
    }

    /// Puts the file in its place. What others have put there since it was begun stays, and is an error.
    pub fn finish(self) -> io::Result<File> {
        let Self { place, to } = self;
        let (file, old) = match to {
            To::Stream(file) => return Ok(file),
            To::Beside { file, old } => (file, old),
        };
        if identity(&place)? != old {
            let what = "another program has made or replaced it meanwhile";
            return Err(io::Error::new(ErrorKind::AlreadyExists, what));
        }
        let put = match old {
            Some(_) => file.persist(&place),
            None => file.persist_noclobber(&place).or_else(|failed| match failed.error.kind() {
                ErrorKind::AlreadyExists => Err(failed),
                // A file system that has neither hard links nor a rename that replaces nothing.
                _ => failed.file.persist(&place),
            }),
        };
        Ok(put?)
    }
}

fn identity(place: &Path) -> io::Result<Option<(u64, u64)>> {
    match fs::symlink_metadata(place) {
        Ok(found) => Ok(Some((found.dev(), found.ino()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn written(place: &Path, text: &str) -> io::Result<File> {
        let draft = Draft::begin(place)?;
        draft.file().write_all(text.as_bytes())?;
        draft.finish()
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn what_was_there_stays_until_the_new_file_is_finished_and_nothing_is_left_of_a_dropped_one() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("page");
        drop(Draft::begin(&place).unwrap());
        assert_eq!(names(folder.path()), 0);
        written(&place, "one").unwrap();
        let draft = Draft::begin(&place).unwrap();
        draft.file().write_all(b"two").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"one");
        drop(draft);
        assert_eq!((fs::read(&place).unwrap(), names(folder.path())), (b"one".to_vec(), 1));
        written(&place, "two").unwrap();
        assert_eq!((fs::read(&place).unwrap(), names(folder.path())), (b"two".to_vec(), 1));
    }

    #[test]
    fn the_mode_stays_and_a_link_still_leads_to_the_file_while_another_name_keeps_the_old_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("real"), "old").unwrap();
        fs::set_permissions(at("real"), Permissions::from_mode(0o640)).unwrap();
        fs::hard_link(at("real"), at("other")).unwrap();
        std::os::unix::fs::symlink("real", at("link")).unwrap();
        written(&at("link"), "new").unwrap();
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(fs::read(at("real")).unwrap(), b"new");
        assert_eq!(fs::read(at("other")).unwrap(), b"old");
        assert_eq!(fs::metadata(at("real")).unwrap().mode() & 0o777, 0o640);
    }

    #[test]
    fn what_others_put_there_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("page");
        for before in [None, Some("old")] {
            if let Some(text) = before {
                fs::write(&place, text).unwrap();
            }
            let draft = Draft::begin(&place).unwrap();
            fs::write(folder.path().join("theirs"), "theirs").unwrap();
            fs::rename(folder.path().join("theirs"), &place).unwrap();
            assert_eq!(draft.finish().unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&place).unwrap(), b"theirs");
            fs::remove_file(&place).unwrap();
        }
    }

    #[test]
    fn a_device_is_written_as_it_is_and_directories_and_dangling_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(written(Path::new("/dev/null"), "x").is_ok());
        assert!(is_stream(&fs::metadata("/dev/null").unwrap()));
        assert!(Draft::begin(folder.path()).is_err());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert_eq!(Draft::begin(&link).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(names(folder.path()), 1);
    }
}
