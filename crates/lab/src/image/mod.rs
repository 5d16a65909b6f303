//! The guest's kernel and root: a handful of files from Debian packages, built once, then taken from the cache.

mod apt;
mod archive;
mod assemble;
mod build;
mod elf;
mod mirror;
mod modules;
mod supplies;
mod vmlinux;

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use units::Bytes;

pub(crate) use archive::Archive;
pub(crate) use assemble::MODULE_LIST;
pub(crate) use elf::loadable_part;
pub(crate) use supplies::ready as supplies;

use crate::cache::Cache;
use crate::event::{Event, Events};
use crate::needs::Needs;
use crate::{Error, Result};

/// The Debian suite whose kernel and tools are used unless told otherwise: its 6.12 kernel has dm-vdo.
pub const SUITE: &str = "trixie";

/// What an image is to be made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSpec {
    /// What must be in it.
    pub needs: Needs,
    /// The Debian suite.
    pub suite: String,
    /// Where packages come from; `None`: the Debian mirror of this machine's apt. Not part of the image's identity.
    pub mirror: Option<String>,
}

impl ImageSpec {
    /// An image of the usual suite with these needs.
    pub fn new(needs: Needs) -> Self {
        Self { needs, suite: SUITE.to_owned(), mirror: None }
    }

    /// A hash of everything that decides what is in the image, except the packages' versions.
    fn key(&self) -> String {
        let needs = self.needs.canonical();
        let mut hash = twox_hash::XxHash3_128::with_seed(0);
        for list in [&needs.packages, &needs.modules, &needs.tools] {
            for name in list {
                hash.write(name.as_bytes());
                hash.write(&[0]);
            }
            hash.write(&[1]);
        }
        hash.write(self.suite.as_bytes());
        hash.write(assemble::RECIPE.as_bytes());
        format!("{:032x}", hash.finish_128())
    }
}

/// One package of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What is in an image.
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
        serde_json::from_slice(&text)
            .map_err(|error| Error::BadFile { path, why: error.to_string() })
    }
}

/// A guest image in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// A hash of its content.
    pub id: String,
    /// Its directory.
    pub dir: PathBuf,
    /// What is in it.
    pub manifest: Manifest,
}

impl Image {
    /// The image for these needs, when it is in the cache and whole. Needs no network and reads no large file.
    pub fn find(cache: &Cache, spec: &ImageSpec) -> Result<Option<Self>> {
        let key = cache.inside("keys")?.join(spec.key());
        let Ok(id) = fs::read_to_string(&key) else {
            return Ok(None);
        };
        Ok(Self::load(&cache.dir().join("images").join(&id)).ok())
    }

    /// The image for these needs: from the cache, or else built, which needs the Debian mirror.
    pub fn ready(cache: &Cache, spec: &ImageSpec, events: Events) -> Result<Self> {
        let found = |image: Self, events: Events| {
            events(Event::ImageFound { id: image.id.clone() });
            Ok(image)
        };
        if let Some(image) = Self::find(cache, spec)? {
            return found(image, events);
        }
        let _lock = cache.lock_build(&mut || events(Event::WaitingForBuild))?;
        // Another process may have built it while this one waited.
        match Self::find(cache, spec)? {
            Some(image) => found(image, events),
            None => build::build(cache, spec, &spec.key(), events),
        }
    }

    /// The archive (`.deb`) of a package of the guests' distribution, for what is in it: nothing is installed. It comes from
    /// the cache, or else from the Debian mirror. `stem` begins the name of the package with a version that `name` stands
    /// for: `linux-source-` of `linux-source`.
    pub fn archive(cache: &Cache, spec: &ImageSpec, name: &str, stem: &str) -> Result<PathBuf> {
        let _lock = cache.lock_build(&mut || {})?;
        build::archive(cache, spec, name, stem)
    }

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
                return Err(Error::BadFile { path, why });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_depends_on_what_is_needed_and_not_on_how_it_is_said() {
        let key = |packages: &[&str], tools: &[&str]| {
            ImageSpec::new(Needs::new(packages, &["dm-vdo"], tools)).key()
        };
        assert_eq!(key(&["lvm2", "vdo"], &["lvm"]), key(&["vdo", "lvm2", "vdo"], &["lvm"]));
        assert_ne!(key(&["lvm2", "vdo"], &["lvm"]), key(&["lvm2"], &["vdo", "lvm"]));
        let mut other = ImageSpec::new(Needs::default());
        other.suite = "sid".into();
        assert_ne!(other.key(), ImageSpec::new(Needs::default()).key());
    }
}
