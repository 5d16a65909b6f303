//! Initial memory file systems: newc cpio archives. The kernel accepts several, one after the other.

use std::collections::BTreeSet;

use cpio::NewcBuilder;
use cpio::newc::{ModeFileType, trailer};

use crate::{Error, Result};

/// Alignment of an archive's beginning, bytes: where one archive follows another, it begins at a multiple of this.
const ALIGNMENT: usize = 512;
/// The words of an error while an archive is made.
const FAILED: &str = "cannot make an archive in memory";

/// An archive that is being made, in memory. Equal contents give equal bytes: no times, no owners.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    seen: BTreeSet<String>,
}

impl Archive {
    /// Adds a file and its directories; `mode` holds its permission bits. A path that is in the archive already stays as it is.
    pub(crate) fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<()> {
        self.parents(path)?;
        self.entry(path, ModeFileType::Regular, mode, content)
    }

    /// Adds a symbolic link and its directories.
    pub(crate) fn link(&mut self, path: &str, target: &str) -> Result<()> {
        self.parents(path)?;
        self.entry(path, ModeFileType::Symlink, 0o777, target.as_bytes())
    }

    /// Adds a directory and those above it.
    pub(crate) fn directory(&mut self, path: &str) -> Result<()> {
        self.parents(path)?;
        self.entry(path, ModeFileType::Directory, 0o755, &[])
    }

    /// Adds a character device, for what the kernel opens before any program runs.
    pub(crate) fn character_device(&mut self, path: &str, major: u32, minor: u32) -> Result<()> {
        self.parents(path)?;
        let builder = NewcBuilder::new(path)
            .mode(0o600)
            .set_mode_file_type(ModeFileType::Char)
            .rdev_major(major)
            .rdev_minor(minor);
        self.put(path, builder, &[])
    }

    /// The bytes of the whole archive, padded so that another one can follow.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        trailer(&mut self.bytes).map_err(Error::system(FAILED))?;
        let padded = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(padded, 0);
        Ok(self.bytes)
    }

    fn parents(&mut self, path: &str) -> Result<()> {
        for (at, _) in path.match_indices('/') {
            let parent = &path[..at];
            if !parent.is_empty() {
                self.entry(parent, ModeFileType::Directory, 0o755, &[])?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &str, kind: ModeFileType, mode: u32, content: &[u8]) -> Result<()> {
        let builder = NewcBuilder::new(path).mode(mode).set_mode_file_type(kind);
        self.put(path, builder, content)
    }

    fn put(&mut self, path: &str, builder: NewcBuilder, content: &[u8]) -> Result<()> {
        if !self.seen.insert(path.to_owned()) {
            return Ok(());
        }
        let size = u32::try_from(content.len()).map_err(|_| {
            let bytes = content.len();
            let why = format!("{bytes} B are more than an initial memory file system can hold");
            Error::bad_file(path)(why)
        })?;
        let ino = u32::try_from(self.seen.len()).unwrap_or(u32::MAX);
        let mut writer = builder.ino(ino).nlink(1).write(&mut self.bytes, size);
        let written =
            std::io::Write::write_all(&mut writer, content).and_then(|()| writer.finish());
        written.map(drop).map_err(Error::system(FAILED))
    }
}
