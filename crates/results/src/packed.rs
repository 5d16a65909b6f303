//! Results packed into one file: a tar archive, compressed with zstd, after a short frame that identifies it. `zstd -d` and `tar` read it, too.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

use sys::passing::Passing;

use crate::folder::Folder;
use crate::writer::MANIFEST;

/// The beginning of every packed result: a skippable zstd frame that contains Fathom's name.
pub const MARK: &[u8] = b"\x50\x2A\x4D\x18\x0E\x00\x00\x00fathom result\n";

/// The compression level: it shrinks JSON rows to a tenth of their size; a stronger one takes ten times as long to save a tenth of that.
const LEVEL: i32 = 5;
/// The largest total size of the files of a packed result that is read without `fathom unpack`, bytes.
const MOST: u64 = 8 << 30;
/// The most files that a result may have.
const MOST_FILES: usize = 1_000_000;

/// The reason why a result cannot be packed, or a packed one cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The directory contains something that does not belong in a result.
    #[error("{0} is neither a file nor a directory; a result holds nothing else")]
    Foreign(PathBuf),
    /// The file is not a packed result, or is damaged.
    #[error("{path} is not a readable packed result: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault in it.
        what: String,
    },
    /// The package cannot be written.
    #[error("Cannot write the package")]
    Unwritten(#[source] io::Error),
    /// The system refused.
    #[error("Cannot read or write {path}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> PackError {
    let path = path.to_owned();
    |source| PackError::Io { path, source }
}

/// Tells whether a file is a packed result, by its beginning.
pub fn is_packed(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    let begins = || {
        let mut begin = Vec::new();
        let read = File::open(path)?.take(MARK.len() as u64).read_to_end(&mut begin);
        read.map(|_| begin == MARK)
    };
    is_file && begins().unwrap_or(false)
}

/// Packs all files of the result in `dir` into one. The same files give the same bytes, wherever and whenever they are packed. `on` is called with
/// the size of each file that was packed.
///
/// # Errors
/// When a file cannot be read, the package cannot be written, or the directory contains something that is neither a file nor a directory.
pub fn pack(dir: &Path, to: impl Write, mut on: impl FnMut(u64)) -> Result<(), PackError> {
    let mut files = Vec::new();
    files_in(dir, Path::new(""), &mut files)?;
    files.sort();
    let refused = Cell::new(false);
    let mut to = Target { inner: to, refused: &refused };
    to.write_all(MARK).map_err(PackError::Unwritten)?;
    let encoder = zstd::Encoder::new(to, LEVEL).map_err(PackError::Unwritten)?;
    let mut archive = tar::Builder::new(encoder);
    for name in files {
        let path = dir.join(&name);
        let file = File::open(&path).map_err(failed(&path))?;
        let bytes = file.metadata().map_err(failed(&path))?.len();
        let mut header = tar::Header::new_ustar();
        header.set_path(&name).map_err(failed(&path))?;
        header.set_size(bytes);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_cksum();
        // The header states the size: if the file grows now, no more is read; if it shrinks, the archive is damaged, and packing fails.
        let mut read = Counted { inner: file.take(bytes), bytes: 0 };
        archive.append(&header, &mut read).map_err(|error| match refused.get() {
            true => PackError::Unwritten(error),
            false => failed(&path)(error),
        })?;
        if read.bytes != bytes {
            return Err(failed(&path)(io::Error::other("it was changed while it was packed")));
        }
        on(bytes);
    }
    let encoder = archive.into_inner().map_err(PackError::Unwritten)?;
    let mut to = encoder.finish().map_err(PackError::Unwritten)?;
    to.flush().map_err(PackError::Unwritten)
}

/// A writer that records whether a write failed: an error of the archive may come from reading or from writing.
struct Target<'a, W> {
    inner: W,
    refused: &'a Cell<bool>,
}

impl<W: Write> Write for Target<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes).inspect_err(|_| self.refused.set(true))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush().inspect_err(|_| self.refused.set(true))
    }
}

/// A reader that counts the bytes read.
struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Returns the size of all files of the result in `dir`, bytes.
///
/// # Errors
/// The same as those of [`pack`].
pub fn size(dir: &Path) -> Result<u64, PackError> {
    let mut files = Vec::new();
    files_in(dir, Path::new(""), &mut files)?;
    let size = |name: PathBuf| {
        let path = dir.join(name);
        fs::metadata(&path).map(|found| found.len()).map_err(failed(&path))
    };
    files.into_iter().map(size).sum()
}

/// Lists the files below a directory, relative to it.
fn files_in(root: &Path, below: &Path, found: &mut Vec<PathBuf>) -> Result<(), PackError> {
    let dir = root.join(below);
    for entry in fs::read_dir(&dir).map_err(failed(&dir))? {
        let entry = entry.map_err(failed(&dir))?;
        let name = below.join(entry.file_name());
        let kind = entry.file_type().map_err(failed(&entry.path()))?;
        match (kind.is_file(), kind.is_dir()) {
            (true, _) => found.push(name),
            (_, true) => files_in(root, &name, found)?,
            _ => return Err(PackError::Foreign(entry.path())),
        }
    }
    Ok(())
}

/// Unpacks a result into `dir`, an existing empty directory. After each file `on` is called with the bytes of the package read for it.
///
/// # Errors
/// When the file is not a packed result, is cut off or damaged, or contains a path outside of `dir`. Files unpacked before the error stay there.
pub fn unpack(from: &Path, dir: &Path, on: impl FnMut(u64)) -> Result<(), PackError> {
    unpack_at_most(from, dir, u64::MAX, on)
}

fn unpack_at_most(
    from: &Path,
    dir: &Path,
    most: u64,
    mut on: impl FnMut(u64),
) -> Result<(), PackError> {
    let damaged = |what: String| PackError::Damaged { path: from.to_owned(), what };
    if !is_packed(from) {
        return Err(damaged("it does not begin like one".to_owned()));
    }
    let file = File::open(from).map_err(failed(from))?;
    let packed = Cell::new(0);
    let decoder =
        zstd::Decoder::new(CountingReader { inner: file, bytes: &packed }).map_err(failed(from))?;
    let mut archive = tar::Archive::new(decoder);
    let (mut bytes, mut whole, mut reported) = (0u64, false, 0);
    // Raw entries: Fathom never writes extension entries for long names, which could be of any length.
    for (number, entry) in archive.entries().map_err(failed(from))?.raw(true).enumerate() {
        let mut entry = entry.map_err(|error| damaged(error.to_string()))?;
        let name = entry.path().map_err(|error| damaged(error.to_string()))?.into_owned();
        let inside = name.components().all(|part| matches!(part, Component::Normal(_)));
        if !inside || !entry.header().entry_type().is_file() || number > MOST_FILES {
            return Err(damaged(format!(
                "it holds {}, which cannot be a file of a result",
                name.display()
            )));
        }
        bytes = bytes.saturating_add(entry.size());
        if bytes > most {
            return Err(damaged(format!(
                "its files are larger than {}; fathom unpack makes a directory of it",
                units::Bytes(most)
            )));
        }
        let path = dir.join(&name);
        let folder = path.parent().unwrap_or(dir);
        fs::create_dir_all(folder).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                damaged(format!("it holds {} below a file", name.display()))
            }
            _ => failed(folder)(error),
        })?;
        let mut file = File::create_new(&path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => damaged(format!("it holds {} twice", name.display())),
            _ => failed(&path)(error),
        })?;
        copy(&mut entry, &mut file, &damaged, &path)?;
        whole |= name == Path::new(MANIFEST);
        on(packed.get() - reported);
        reported = packed.get();
    }
    if whole { Ok(()) } else { Err(damaged(format!("it holds no {MANIFEST}"))) }
}

/// A reader that reports how many bytes it has read.
struct CountingReader<'a, R> {
    inner: R,
    bytes: &'a Cell<u64>,
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

/// Copies one file out of a package; a read error means that the package is damaged, a write error does not.
fn copy(
    entry: &mut tar::Entry<impl Read>,
    file: &mut File,
    damaged: &dyn Fn(String) -> PackError,
    path: &Path,
) -> Result<(), PackError> {
    let (mut buffer, mut left) = (vec![0; 64 << 10], entry.size());
    while left > 0 {
        let read = entry.read(&mut buffer).map_err(|error| damaged(error.to_string()))?;
        if read == 0 {
            return Err(damaged("it is cut off".to_owned()));
        }
        file.write_all(&buffer[..read]).map_err(failed(path))?;
        left = left.saturating_sub(read as u64);
    }
    Ok(())
}

/// Unpacks a result to a new place: it appears there complete, or not at all.
///
/// # Errors
/// The same as those of [`unpack`], and when there is something at the place already.
pub fn unpack_to(from: &Path, place: &Path, on: impl FnMut(u64)) -> Result<(), PackError> {
    let folder = Folder::begin(place).map_err(failed(place))?;
    unpack(from, folder.path(), on)?;
    folder.finish().map_err(failed(place))
}

/// Unpacks a result into a temporary directory, which is removed when the returned value is dropped.
pub(crate) fn unpacked(from: &Path) -> Result<Passing, PackError> {
    let place = std::env::temp_dir();
    let dir = Passing::new_in(&place, "fathom-", 0o700).map_err(failed(&place))?;
    unpack_at_most(from, dir.path(), MOST, |_| {})?;
    Ok(dir)
}
