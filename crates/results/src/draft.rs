//! A file that appears in its place only when it is complete: it is written beside it under another name, and then renamed.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::NamedTempFile;

/// A file that is still being written. Dropped before [`Draft::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct Draft {
    place: PathBuf,
    to: To,
}

#[derive(Debug)]
enum To {
    /// A pipe or a character device, which is written directly.
    Stream(File),
    /// A new file beside the place.
    Beside {
        file: NamedTempFile,
        /// Device and inode of the file that it replaces.
        old: Option<(u64, u64)>,
    },
}

/// Tells whether a file is written directly and never replaced: a pipe or a character device.
pub fn is_stream(found: &Metadata) -> bool {
    let kind = found.file_type();
    kind.is_fifo() || kind.is_char_device()
}

impl Draft {
    /// Begins a file for `place`, where there may be nothing, a stream, an empty file, or a file that begins with `mark`; links are followed.
    /// The new file gets the mode and, if that is allowed, the owner of the old one.
    ///
    /// # Errors
    /// When something else is there, or no file can be made there.
    pub fn begin(place: &Path, mark: &[u8]) -> io::Result<Self> {
        Self::begin_as(place, mark, ".fathom-")
    }

    /// Begins a file as [`Draft::begin`] does, whose name begins with `prefix` until it is finished.
    ///
    /// # Errors
    /// The same.
    pub fn begin_as(place: &Path, mark: &[u8], prefix: &str) -> io::Result<Self> {
        let linked = fs::symlink_metadata(place).is_ok_and(|found| found.is_symlink());
        let old = match fs::metadata(place) {
            Ok(found) if is_stream(&found) => {
                let file = stream(place)?;
                return Ok(Self { place: place.to_owned(), to: To::Stream(file) });
            }
            Ok(_) => Some(replaceable(place, mark)?),
            Err(error) if error.kind() == ErrorKind::NotFound && !linked => None,
            Err(error) => return Err(error),
        };
        let place = if linked { fs::canonicalize(place)? } else { place.to_owned() };
        sys::new_file::may_be_at(&place)?;
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = tempfile::Builder::new()
            .prefix(prefix)
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

    /// Returns the file, for writing.
    pub fn file(&self) -> &File {
        match &self.to {
            To::Stream(file) => file,
            To::Beside { file, .. } => file.as_file(),
        }
    }

    /// Returns the path of the file until it is finished; `None` for a stream.
    pub fn unfinished_path(&self) -> Option<PathBuf> {
        match &self.to {
            To::Stream(_) => None,
            To::Beside { file, .. } => Some(file.path().to_owned()),
        }
    }

    /// Puts the file in its place. If others have put something there since it was begun, that stays, and an error is returned.
    pub fn finish(self) -> io::Result<File> {
        let Self { place, to } = self;
        match to {
            To::Stream(file) => Ok(file),
            To::Beside { file, old: Some(old) } => in_place_of(old, file, &place),
            To::Beside { file, old: None } => in_new_place(file, &place),
        }
    }
}

/// Tests whether a directory accepts files by making a nameless one, which vanishes at once: permissions do not tell (`/proc` accepts none).
///
/// # Errors
/// When no file can be made there, or none is to be made as it is among the devices of `/dev`.
pub fn try_in(folder: &Path) -> io::Result<()> {
    sys::new_file::may_be_at(&folder.join("new"))?;
    tempfile::tempfile_in(folder).map(drop)
}

/// The remedy for a pipe that nobody reads ([`ErrorKind::NotConnected`]).
pub const NO_READER: &str = "start the program that reads it first, or name a file";

/// Opens a pipe or a character device for writing. A pipe that nobody reads is an error: waiting for a reader could not be interrupted.
///
/// # Errors
/// When nobody reads the pipe ([`ErrorKind::NotConnected`]), or something else is there.
pub fn stream(place: &Path) -> io::Result<File> {
    let opened = File::options().write(true).custom_flags(libc::O_NONBLOCK).open(place);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) if is_pipe(place) => {
            let what = "it is a pipe that nobody reads";
            io::Error::new(ErrorKind::NotConnected, what)
        }
        _ => error,
    })?;
    // The open file is checked, not the path, which may lead elsewhere now.
    if !is_stream(&file.metadata()?) {
        return Err(replaced());
    }
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - rustix::fs::OFlags::NONBLOCK)?;
    Ok(file)
}

/// Tells whether this path is a pipe: a device without a driver gives the same error.
fn is_pipe(place: &Path) -> bool {
    std::fs::metadata(place).is_ok_and(|found| found.file_type().is_fifo())
}

fn replaced() -> io::Error {
    let what = "another program has made or replaced it since";
    io::Error::new(ErrorKind::AlreadyExists, what)
}

/// Returns the metadata of the file at `place` if it may be replaced: it is empty or begins with `mark`.
fn replaceable(place: &Path, mark: &[u8]) -> io::Result<Metadata> {
    // Without O_NONBLOCK, opening a FIFO that took its place would block.
    let mut file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(place)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut start = vec![0; mark.len()];
    let ours = found.len() == 0 || file.read_exact(&mut start).is_ok() && start == mark;
    let foreign =
        || io::Error::new(ErrorKind::AlreadyExists, "a file of another kind is there already");
    ours.then_some(found).ok_or_else(foreign)
}

/// Exchanges the file with the one that it replaces, and checks which file came out before removing it.
fn in_place_of(old: (u64, u64), file: NamedTempFile, place: &Path) -> io::Result<File> {
    if identity(place)? != Some(old) {
        return Err(replaced());
    }
    let exchange = || renameat_with(CWD, file.path(), CWD, place, RenameFlags::EXCHANGE);
    match exchange() {
        Ok(()) if identity(file.path())? == Some(old) => {
            let (file, aside) = file.keep()?;
            fs::remove_file(aside)?;
            Ok(file)
        }
        Ok(()) => {
            // Another file came out: it is put back. If yet another one has come in the meantime, that one stays under the temporary name.
            exchange()?;
            let metadata = file.as_file().metadata()?;
            if identity(file.path())? != Some((metadata.dev(), metadata.ino())) {
                let (_, beside) = file.keep()?;
                let what =
                    format!("{}; what it put there before is in {}", replaced(), beside.display());
                return Err(io::Error::new(ErrorKind::AlreadyExists, what));
            }
            Err(replaced())
        }
        Err(rustix::io::Errno::NOENT) => Err(replaced()),
        // The file system cannot exchange files: a plain rename, with only a short time since the check.
        Err(_) => Ok(file.persist(place)?),
    }
}

fn in_new_place(file: NamedTempFile, place: &Path) -> io::Result<File> {
    let failed = match file.persist_noclobber(place) {
        Ok(file) => return Ok(file),
        Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => return Err(replaced()),
        Err(failed) => failed,
    };
    // The file system has neither hard links nor a rename that never replaces: reserve the name with an empty file first.
    let taken = File::options().write(true).create_new(true).open(place)?;
    drop(taken);
    Ok(failed.file.persist(place)?)
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

    const MARK: &[u8] = b"m:";

    fn written(place: &Path, text: &str) -> io::Result<File> {
        let draft = Draft::begin(place, MARK)?;
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
        drop(Draft::begin(&place, MARK).unwrap());
        assert_eq!(names(folder.path()), 0);
        written(&place, "m:one").unwrap();
        let draft = Draft::begin(&place, MARK).unwrap();
        draft.file().write_all(b"m:two").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"m:one");
        drop(draft);
        assert_eq!((fs::read(&place).unwrap(), names(folder.path())), (b"m:one".to_vec(), 1));
        written(&place, "m:two").unwrap();
        assert_eq!((fs::read(&place).unwrap(), names(folder.path())), (b"m:two".to_vec(), 1));
    }

    #[test]
    fn the_mode_stays_and_a_link_still_leads_to_the_file_while_another_name_keeps_the_old_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("real"), "m:old").unwrap();
        fs::set_permissions(at("real"), Permissions::from_mode(0o640)).unwrap();
        fs::hard_link(at("real"), at("other")).unwrap();
        std::os::unix::fs::symlink("real", at("link")).unwrap();
        written(&at("link"), "m:new").unwrap();
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(fs::read(at("real")).unwrap(), b"m:new");
        assert_eq!(fs::read(at("other")).unwrap(), b"m:old");
        assert_eq!(fs::metadata(at("real")).unwrap().mode() & 0o777, 0o640);
    }

    #[test]
    fn what_others_put_there_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("page");
        for before in [None, Some("m:old")] {
            if let Some(text) = before {
                fs::write(&place, text).unwrap();
            }
            let draft = Draft::begin(&place, MARK).unwrap();
            fs::write(folder.path().join("theirs"), "theirs").unwrap();
            fs::rename(folder.path().join("theirs"), &place).unwrap();
            assert_eq!(draft.finish().unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&place).unwrap(), b"theirs");
            fs::remove_file(&place).unwrap();
        }
    }

    #[test]
    fn what_does_not_begin_with_the_mark_stays_whatever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("page");
        for foreign in ["m", "theirs", "M:"] {
            fs::write(&place, foreign).unwrap();
            assert_eq!(written(&place, "m:new").unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&place).unwrap(), foreign);
        }
        fs::write(&place, "").unwrap();
        written(&place, "m:new").unwrap();
        assert_eq!((fs::read(&place).unwrap(), names(folder.path())), (b"m:new".to_vec(), 1));
    }

    #[test]
    fn a_foreign_file_that_changes_places_with_ours_all_the_time_is_never_lost() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let (place, other) = (folder.path().join("page"), folder.path().join("theirs"));
        fs::write(&place, "m:").unwrap();
        fs::write(&other, "theirs").unwrap();
        let over = AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let _ = renameat_with(CWD, &place, CWD, &other, RenameFlags::EXCHANGE);
                }
            });
            let some = || (0..4000).filter(|_| written(&place, "m:new").is_ok()).count();
            // On a busy machine the other thread may stand still for a while, with its file in the place.
            let written = (0..1000).map(|_| some()).find(|count| *count > 0).unwrap_or(0);
            over.store(true, Ordering::Relaxed);
            written
        });
        assert!(written > 0, "no draft ever took its place");
        let entries = fs::read_dir(folder.path()).unwrap();
        let foreign =
            entries.filter(|entry| fs::read(entry.as_ref().unwrap().path()).unwrap() == b"theirs");
        assert_eq!(foreign.count(), 1);
    }

    #[test]
    fn a_pipe_is_written_where_somebody_reads_it_and_refused_at_once_where_nobody_does() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let error = written(&pipe, "m:x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotConnected);
        assert!(error.to_string().contains("nobody reads"), "{error}");
        let mut reader =
            File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&pipe).unwrap();
        written(&pipe, "m:x").unwrap();
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "m:x");
    }

    #[test]
    fn a_device_is_written_as_it_is_and_directories_and_dangling_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(written(Path::new("/dev/null"), "x").is_ok());
        assert!(is_stream(&fs::metadata("/dev/null").unwrap()));
        assert!(Draft::begin(folder.path(), MARK).is_err());
        assert!(
            sys::new_file::remedy(&written(Path::new("/dev/no-such"), "m:").unwrap_err()).is_some()
        );
        assert!(sys::new_file::remedy(&try_in(Path::new("/dev/")).unwrap_err()).is_some());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert_eq!(Draft::begin(&link, MARK).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(names(folder.path()), 1);
    }
}
