//! Building an image: packages from the mirror, unpacked aside, put together, moved into the cache in one step.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use units::Bytes;

use super::apt::Apt;
use super::manifest::Manifest;
use super::modules::Modules;
use super::spec::ImageSpec;
use super::stored::Image;
use super::{assemble, kernel, mirror, userland};
use crate::cache::{Cache, remove};
use crate::event::{Event, Events};
use crate::files::check_space;
use crate::{Error, Result};

/// Modules of every image: the driver of the disks, and the drivers below it and below the link where these are not built in.
const MODULES: [&str; 3] = ["virtio-pci", "virtio-blk", "virtio-console"];

/// The most space that packages, their contents and the image take; modules of old kernels are not compressed.
const ROOM: Bytes = Bytes(1024 * Bytes::MIB);

/// Builds the image and puts it into the cache under `key`. The caller holds the build lock.
pub(super) fn build(cache: &Cache, spec: &ImageSpec, key: &str, events: Events) -> Result<Image> {
    let began = Instant::now();
    // Anything here is left from a killed build: the holder of the lock may remove it.
    let aside = cache.dir().join("building");
    remove(&aside)?;
    check_space(cache.dir(), ROOM, "building the guest image")?;
    let built = build_aside(cache, spec, &aside, events).and_then(|new| new.publish(cache, key));
    remove(&aside)?;
    let image = built?;
    events(Event::ImageBuilt {
        id: image.id.clone(),
        size: Bytes(image.manifest.kernel_size.0 + image.manifest.root_size.0),
        took: began.elapsed(),
    });
    Ok(image)
}

/// Returns the archive of a package of the guests' distribution, for its contents alone: from the cache, or else downloaded. `stem` is the beginning
/// of the name of the package with a version (`linux-source-` of `linux-source`).
pub(super) fn archive(cache: &Cache, spec: &ImageSpec, name: &str, stem: &str) -> Result<PathBuf> {
    let mirror = spec.mirror.clone().map_or_else(mirror::find, Ok)?;
    let apt = Apt::new(&cache.inside("packages")?, &spec.suite, &mirror, &mirror::keyring()?)?;
    let fetched = || apt.alone(&apt.versioned(name, stem)?);
    // Existing lists are used; lists are fetched if there are none, or if they turn out to be too old.
    let archived = fetched().or_else(|_| apt.update().and_then(|()| fetched()))?;
    Ok(archived.path)
}

/// An image that is complete, but not in its place.
struct New {
    dir: PathBuf,
    id: String,
}

fn build_aside(cache: &Cache, spec: &ImageSpec, aside: &Path, events: Events) -> Result<New> {
    let mirror = spec.mirror.clone().map_or_else(mirror::find, Ok)?;
    let apt = Apt::new(&cache.inside("packages")?, &spec.suite, &mirror, &mirror::keyring()?)?;
    let userland = userland::ready(cache, spec, &apt, aside, events)?;
    let taken = kernel::take((cache, &apt), spec, aside, events)?;
    events(Event::Assembling { kernel: taken.release.clone() });
    let needs = spec.needs.canonical();
    let wanted: Vec<String> =
        MODULES.iter().map(ToString::to_string).chain(needs.modules.iter().cloned()).collect();
    let modules = Modules::list(&taken.modules, &taken.release)?.closure(&wanted, &needs.faster)?;
    let mut root = userland.archive;
    root.extend(assemble::modules(&modules)?);
    let manifest = Manifest {
        suite: spec.suite.clone(),
        kernel: taken.release,
        packages: userland.list.packages,
        modules: modules.into_iter().map(|module| module.name).collect(),
        tools: userland.list.tools,
        kernel_packages: taken.packages,
        kernel_sha256: taken.sha256,
        kernel_size: Bytes(taken.vmlinux.len() as u64),
        root_size: Bytes(root.len() as u64),
    };
    write_image(&aside.join("image"), &taken.vmlinux, &root, &manifest)
}

fn write_image(dir: &Path, vmlinux: &[u8], root: &[u8], manifest: &Manifest) -> Result<New> {
    fs::create_dir_all(dir).map_err(Error::io("cannot make", dir))?;
    let text =
        serde_json::to_vec_pretty(manifest).map_err(Error::bad_file(dir.join("image.json")))?;
    let mut hash = twox_hash::XxHash3_128::with_seed(0);
    for (name, content) in
        [("vmlinux", vmlinux), ("root.cpio", root), ("image.json", &text), ("lock", &[])]
    {
        hash.write(content);
        let path = dir.join(name);
        fs::write(&path, content).map_err(Error::io("cannot write", &path))?;
        // It is on the disk before it gets its name, so that a power loss cannot leave an image that only looks complete.
        fs::File::open(&path)
            .and_then(|file| file.sync_all())
            .map_err(Error::io("cannot write", &path))?;
    }
    Ok(New { dir: dir.to_path_buf(), id: format!("{:032x}", hash.finish_128()) })
}

impl New {
    /// Moves the image to its place, then lets the key point to it.
    fn publish(self, cache: &Cache, key: &str) -> Result<Image> {
        let place = cache.inside("images")?.join(&self.id);
        if Image::load(&place).is_err() {
            remove(&place)?;
            fs::rename(&self.dir, &place).map_err(Error::io("cannot move the image to", &place))?;
        }
        let keys = cache.inside("keys")?;
        let (aside, key) = (keys.join(format!(".{key}.new")), keys.join(key));
        fs::write(&aside, &self.id).map_err(Error::io("cannot write", &aside))?;
        fs::rename(&aside, &key).map_err(Error::io("cannot write", &key))?;
        Image::load(&place)
    }
}
