//! The list of an image's content.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use units::Bytes;

use super::kernels::KernelPackage;
use crate::{Error, Result};

/// One package of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The list of an image's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The Debian suite.
    pub suite: String,
    /// The kernel's release (`6.12.107+deb13-amd64`).
    pub kernel: String,
    /// The packages that were unpacked, by name.
    pub packages: Vec<Package>,
    /// Modules in the order in which they are loaded.
    pub modules: Vec<String>,
    /// Programs.
    pub tools: Vec<String>,
    /// The packages of the kernel; empty for a user's own kernel, and in images of earlier versions.
    #[serde(default)]
    pub kernel_packages: Vec<KernelPackage>,
    /// The SHA-256 of the kernel's file as it was packed; empty in images of earlier versions.
    #[serde(default)]
    pub kernel_sha256: String,
    /// Bytes of the kernel's file.
    pub kernel_size: Bytes,
    /// Bytes of the root's archive.
    pub root_size: Bytes,
}

impl Manifest {
    /// Reads the manifest of the image in `dir`.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("image.json");
        let text = fs::read(&path).map_err(Error::io("cannot read", &path))?;
        serde_json::from_slice(&text).map_err(Error::bad_file(path))
    }
}
