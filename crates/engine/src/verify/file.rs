//! A file that is replaced as a whole: an eight-letter signature, a version, a header in JSON, the body, and a CRC-32 over everything.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use results::draft::Draft;
use serde::Serialize;

/// The first bytes of every state file.
pub const MAGIC: &[u8; 8] = b"fathomvs";
pub(crate) const VERSION: u32 = 2;

/// A reader or writer that computes a CRC over everything that passes through it.
pub(crate) struct Summed<T> {
    pub(crate) inner: T,
    pub(crate) crc: crc32fast::Hasher,
}

impl<T: Read> Read for Summed<T> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        self.crc.update(&out[..read]);
        Ok(read)
    }
}

impl<T: Write> Write for Summed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.crc.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

pub(crate) fn number<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Replaces the file at `path` by what `write` writes, either completely or not at all.
pub(crate) fn replace(path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
    let draft = Draft::begin(path, MAGIC)?;
    write(draft.file().try_clone()?)?;
    draft.finish()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Begins a state file with its header.
pub(crate) fn begin(file: File, header: &impl Serialize) -> io::Result<Summed<BufWriter<File>>> {
    let mut to = Summed { inner: BufWriter::new(file), crc: crc32fast::Hasher::new() };
    to.write_all(MAGIC)?;
    to.write_all(&VERSION.to_le_bytes())?;
    let json = serde_json::to_vec(header)?;
    to.write_all(&(json.len() as u32).to_le_bytes())?;
    to.write_all(&json)?;
    Ok(to)
}

/// Closes a state file with its checksum.
pub(crate) fn end(mut to: Summed<BufWriter<File>>) -> io::Result<()> {
    let sum = to.crc.clone().finalize();
    to.inner.write_all(&sum.to_le_bytes())?;
    to.inner.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}
