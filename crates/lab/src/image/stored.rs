//! An image in the cache.

use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use crate::{Error, Result};

/// A guest image in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// A hash of its content.
    pub id: String,
    /// Its directory.
    pub dir: PathBuf,
    /// The list of its content.
    pub manifest: Manifest,
}

impl Image {
    /// The image in `dir`; refused when a file is missing or of the wrong size.
    pub(crate) fn load(dir: &Path) -> Result<Self> {
        let manifest = Manifest::read(dir)?;
        let image = Self {
            id: dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            dir: dir.to_path_buf(),
            manifest,
        };
        for (path, size) in
            [(image.kernel(), image.manifest.kernel_size), (image.root(), image.manifest.root_size)]
        {
            let there = fs::metadata(&path).map_err(Error::io("cannot find", &path))?.len();
            if there != size.0 {
                let why = format!("has {there} B and should have {} B", size.0);
                return Err(Error::bad_file(path)(why));
            }
        }
        Ok(image)
    }

    /// The kernel, uncompressed, as QEMU boots it directly (PVH).
    pub fn kernel(&self) -> PathBuf {
        self.dir.join("vmlinux")
    }

    /// The root: an uncompressed cpio archive without `/init`.
    pub fn root(&self) -> PathBuf {
        self.dir.join("root.cpio")
    }
}
