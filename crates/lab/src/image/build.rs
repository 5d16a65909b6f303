//! Building an image: packages from the mirror, unpacked aside, put together, moved into the cache in one step.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use units::Bytes;

use super::apt::{self, Apt};
use super::assemble::Root;
use super::manifest::Manifest;
use super::modules::Modules;
use super::spec::ImageSpec;
use super::stored::Image;
use super::{mirror, vmlinux};
use crate::cache::{Cache, remove};
use crate::event::{Event, Events};
use crate::files::check_space;
use crate::needs::ImageNeeds;
use crate::{Error, Result};

/// The kernel: the full one, since the `-cloud-` flavour of 6.12 crashes under VDO.
const KERNEL: &str = "linux-image-amd64";
/// The beginning of the names of packages with a kernel.
const KERNEL_STEM: &str = "linux-image-";
/// Packages of every image.
const PACKAGES: [&str; 1] = ["busybox-static"];
/// Modules of every image: the disks' driver.
const MODULES: [&str; 1] = ["virtio-blk"];
/// Programs of every image.
const TOOLS: [&str; 1] = ["busybox"];

/// The most space that packages, their contents and the image take.
const ROOM: Bytes = Bytes(512 * Bytes::MIB);

/// Builds the image and puts it into the cache under `key`. The caller holds the build lock.
pub(super) fn build(cache: &Cache, spec: &ImageSpec, key: &str, events: Events) -> Result<Image> {
    let began = Instant::now();
    // What is there is of a build that was killed: whoever holds the lock may remove it.
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

/// The archive of a package of the guests' distribution, for its contents alone: from the cache, or else downloaded. `stem` is
/// what the name of the package with a version begins with (`linux-source-` of `linux-source`).
pub(super) fn archive(cache: &Cache, spec: &ImageSpec, name: &str, stem: &str) -> Result<PathBuf> {
    let mirror = spec.mirror.clone().map_or_else(mirror::find, Ok)?;
    let apt = Apt::new(&cache.inside("packages")?, &spec.suite, &mirror, &mirror::keyring()?)?;
    let fetched = || apt.alone(&apt.versioned(name, stem)?);
    // Lists that are there are good enough; without any, or with old ones, they are fetched.
    let archived = fetched().or_else(|_| apt.update().and_then(|()| fetched()))?;
    Ok(archived.path)
}

/// An image that is complete, but not in its place.
struct New {
    dir: PathBuf,
    id: String,
}

fn build_aside(cache: &Cache, spec: &ImageSpec, aside: &Path, events: Events) -> Result<New> {
    let needs = spec.needs.canonical();
    let mut packages: Vec<String> = PACKAGES.iter().map(ToString::to_string).collect();
    packages.extend(needs.packages.iter().cloned());
    let mirror = spec.mirror.clone().map_or_else(mirror::find, Ok)?;
    let apt = Apt::new(&cache.inside("packages")?, &spec.suite, &mirror, &mirror::keyring()?)?;
    events(Event::FetchingLists { suite: spec.suite.clone() });
    apt.update()?;
    let kernel = apt.versioned(KERNEL, KERNEL_STEM)?;
    let mut archives = apt.plan(&packages)?;
    events(Event::FetchingPackages { packages: archives.len() + 1 });
    apt.fetch(&packages)?;
    archives.push(apt.alone(&kernel)?);

    events(Event::Unpacking { packages: archives.len() });
    let unpacked = aside.join("unpacked");
    fs::create_dir_all(&unpacked).map_err(Error::io("cannot make", &unpacked))?;
    for archive in &archives {
        unpack(&archive.path, &unpacked)?;
    }
    let release = kernel.trim_start_matches(KERNEL_STEM).to_owned();
    events(Event::Assembling { kernel: release.clone() });
    let boot = unpacked.join(format!("boot/vmlinuz-{release}"));
    let bzimage = fs::read(&boot).map_err(Error::io("cannot read", &boot))?;
    let vmlinux = vmlinux::extract(&bzimage).map_err(|why| Error::BadFile { path: boot, why })?;
    let (root, modules, tools) = assemble(&unpacked, &release, &packages, &needs)?;
    let mut listed: Vec<_> = archives.into_iter().map(|archive| archive.package).collect();
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    let manifest = Manifest {
        suite: spec.suite.clone(),
        kernel: release,
        packages: listed,
        modules,
        tools,
        kernel_size: Bytes(vmlinux.len() as u64),
        root_size: Bytes(root.len() as u64),
    };
    write_image(&aside.join("image"), &vmlinux, &root, &manifest)
}

fn assemble(
    unpacked: &Path,
    release: &str,
    packages: &[String],
    needs: &ImageNeeds,
) -> Result<(Vec<u8>, Vec<String>, Vec<String>)> {
    let dir = ["usr/lib/modules", "lib/modules"]
        .iter()
        .map(|dir| unpacked.join(dir).join(release))
        .find(|dir| dir.is_dir())
        .ok_or_else(|| Error::BadFile {
            path: unpacked.to_path_buf(),
            why: format!("the kernel's package has no modules for {release}"),
        })?;
    let wanted: Vec<String> =
        MODULES.iter().map(ToString::to_string).chain(needs.modules.iter().cloned()).collect();
    let modules = Modules::list(&dir, release)?.closure(&wanted)?;
    let tools: Vec<String> =
        TOOLS.iter().map(ToString::to_string).chain(needs.tools.iter().cloned()).collect();
    let mut root = Root::new(unpacked, packages)?;
    for tool in &tools {
        root.tool(tool)?;
    }
    root.alias("sh", "busybox")?;
    root.files(&needs.files)?;
    root.modules(&modules)?;
    let names = modules.into_iter().map(|module| module.name).collect();
    Ok((root.finish()?, names, tools))
}

pub(super) fn unpack(archive: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into).map_err(Error::io("cannot make", into))?;
    let mut command = Command::new("dpkg-deb");
    command.arg("-x").arg(archive).arg(into);
    apt::said(command, "dpkg").map(drop)
}

fn write_image(dir: &Path, vmlinux: &[u8], root: &[u8], manifest: &Manifest) -> Result<New> {
    fs::create_dir_all(dir).map_err(Error::io("cannot make", dir))?;
    let text = serde_json::to_vec_pretty(manifest)
        .map_err(|error| Error::BadFile { path: dir.join("image.json"), why: error.to_string() })?;
    let mut hash = twox_hash::XxHash3_128::with_seed(0);
    for (name, content) in
        [("vmlinux", vmlinux), ("root.cpio", root), ("image.json", &text), ("lock", &[])]
    {
        hash.write(content);
        let path = dir.join(name);
        fs::write(&path, content).map_err(Error::io("cannot write", &path))?;
        // On the disk before it has its name: a loss of power must not leave a whole-looking image.
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
