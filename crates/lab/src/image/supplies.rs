//! Builds supplies: packages and directories as compressed images, each kept in the cache under a hash of its ingredients.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;
use units::Bytes;

use super::apt::{self, Apt, Archived};
use super::listing::listing;
use super::manifest::Package;
use super::mirror;
use super::unpack::unpack;
use crate::cache::{Cache, remove};
use crate::event::{Event, Events};
use crate::files::check_space;
use crate::supply::{Content, Supply, SupplySpec};
use crate::{Error, Result};

/// Version of the recipe: changed whenever the same packages would give another image.
const RECIPE: &str = "1";
/// The package of the program that makes images. The guests' distribution brings it, and its own linker starts it: nothing has to
/// be installed here, and the same packages give the same bytes everywhere.
const MAKER: &str = "squashfs-tools";
/// The most space that packages, their contents and their image take.
const ROOM: Bytes = Bytes(Bytes::GIB);
/// The image of a supply, in its folder of the cache.
const IMAGE: &str = "image.squashfs";
/// The list of its contents, in the same folder.
const CONTENTS: &str = "supply.json";

/// The facts that are stored next to an image.
#[derive(Serialize, Deserialize)]
struct Contents {
    size: Bytes,
    packages: Vec<Package>,
}

impl Supply {
    /// The images for `spec`: from the cache, or else built, which needs the Debian mirror.
    pub fn ready(
        cache: &Cache,
        spec: &SupplySpec,
        (suite, mirror): (&str, Option<&str>),
        events: Events,
    ) -> Result<Vec<Self>> {
        let mut builder = Builder { cache, suite, mirror, events };
        let mut supplies = Vec::new();
        if !spec.packages.is_empty() || !spec.package_corpora.is_empty() {
            supplies.push(builder.packages(&spec.packages, &spec.package_corpora)?);
        }
        for (name, path) in &spec.directories {
            supplies.push(builder.directory(name, path)?);
        }
        Ok(supplies)
    }
}

struct Builder<'a, 'e> {
    cache: &'a Cache,
    suite: &'a str,
    mirror: Option<&'a str>,
    events: Events<'e>,
}

impl Builder<'_, '_> {
    fn packages(&mut self, packages: &[String], corpora: &[String]) -> Result<Supply> {
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort();
            names.dedup();
            names
        };
        let (packages, corpora) = (sorted(packages), sorted(corpora));
        let mut hash = XxHash3_128::with_seed(0);
        for name in [RECIPE, self.suite].into_iter().chain(packages.iter().map(String::as_str)) {
            hash.write(name.as_bytes());
            hash.write(&[0]);
        }
        corpora.iter().for_each(|name| hash.write(format!("\u{1}{name}\0").as_bytes()));
        let content = Content::Packages { programs: !packages.is_empty() };
        self.made(&content, &key(&hash), "the packages of commands", |builder, aside| {
            let root = aside.join("tree");
            let apt = builder.apt()?;
            let mut listed = Vec::new();
            for archive in builder.fetched(&apt, &packages)? {
                unpack(&archive.path, &root)?;
                listed.push(archive.package);
            }
            for corpus in &corpora {
                let archive =
                    apt.alone(corpus).or_else(|_| apt.update().and_then(|()| apt.alone(corpus)))?;
                unpack(&archive.path, &root.join("trees").join(corpus))?;
                listed.push(archive.package);
            }
            // The guest lays these over its own directories, whether packages have them or not.
            for dir in ["usr", "etc", "var"] {
                let dir = root.join(dir);
                fs::create_dir_all(&dir).map_err(Error::io("cannot make", &dir))?;
            }
            listed.sort_by(|a, b| a.name.cmp(&b.name));
            listed.dedup();
            Ok((root, listed))
        })
    }

    fn directory(&mut self, name: &str, path: &Path) -> Result<Supply> {
        let mut hash = XxHash3_128::with_seed(0);
        hash.write(format!("{RECIPE}\0{}\0{}\0", self.suite, path.display()).as_bytes());
        listing(path, &mut hash)?;
        let content = Content::Directory { name: name.to_owned() };
        let what = format!("the corpus {name}");
        self.made(&content, &key(&hash), &what, |_, _| Ok((path.to_path_buf(), Vec::new())))
    }

    /// Returns the image under `key`: the existing one, or a new one of the directory that `gather` returns.
    fn made(
        &mut self,
        content: &Content,
        key: &str,
        what: &str,
        gather: impl FnOnce(&mut Self, &Path) -> Result<(PathBuf, Vec<Package>)>,
    ) -> Result<Supply> {
        let place = self.cache.inside("supplies")?.join(key);
        if let Some(found) = load(&place, content) {
            return Ok(found);
        }
        let _lock = self.cache.lock_build(&mut || (self.events)(Event::WaitingForBuild))?;
        // Another process may have built it while this one waited.
        if let Some(found) = load(&place, content) {
            return Ok(found);
        }
        let began = Instant::now();
        let aside = self.cache.dir().join("building");
        remove(&aside)?;
        check_space(self.cache.dir(), ROOM, "building an image for commands")?;
        (self.events)(Event::BuildingSupply { what: what.to_owned() });
        let built = gather(self, &aside).and_then(|(root, packages)| {
            let maker = self.maker(&aside)?;
            let folder = aside.join("supply");
            fs::create_dir_all(&folder).map_err(Error::io("cannot make", &folder))?;
            squash(&maker, &root, &folder.join(IMAGE))?;
            publish(&folder, packages, &place)
        });
        remove(&aside)?;
        built?;
        let supply = load(&place, content)
            .ok_or_else(|| Error::bad_file(&place)("was built and cannot be read"))?;
        let (size, took) = (supply.size, began.elapsed());
        (self.events)(Event::SupplyBuilt { what: what.to_owned(), size, took });
        Ok(supply)
    }

    fn apt(&self) -> Result<Apt> {
        let mirror = self.mirror.map_or_else(mirror::find, |url| Ok(url.to_owned()))?;
        Apt::new(&self.cache.inside("packages")?, self.suite, &mirror, &mirror::keyring()?)
    }

    /// The archives of packages and of all that they depend on.
    fn fetched(&self, apt: &Apt, packages: &[String]) -> Result<Vec<Archived>> {
        if packages.is_empty() {
            return Ok(Vec::new());
        }
        let fetch = || apt.plan(packages).and_then(|plan| apt.fetch(packages).map(|()| plan));
        // Existing lists are used; lists are fetched if there are none, or if they turn out to be too old.
        fetch().or_else(|_| apt.update().and_then(|()| fetch()))
    }

    /// Unpacks the program that makes images; returns the directory that it is in.
    fn maker(&self, aside: &Path) -> Result<PathBuf> {
        let root = aside.join("maker");
        for archive in self.fetched(&self.apt()?, &[MAKER.to_owned()])? {
            unpack(&archive.path, &root)?;
        }
        Ok(root)
    }
}

/// Makes the image. Equal files give equal bytes: no times, no owners.
fn squash(maker: &Path, root: &Path, image: &Path) -> Result<()> {
    let mut command = Command::new(maker.join("usr/lib64/ld-linux-x86-64.so.2"));
    command.arg("--library-path").arg(maker.join("usr/lib/x86_64-linux-gnu"));
    command.arg(maker.join("usr/bin/mksquashfs")).arg(root).arg(image);
    for option in [
        "-all-root -noappend -no-progress -quiet -no-xattrs",
        "-mkfs-time 0 -all-time 0",
        // Ten times faster to make than the usual level, and a seventh larger.
        "-comp zstd -Xcompression-level 3",
    ] {
        command.args(option.split(' '));
    }
    apt::output_of(command, MAKER).map(drop)
}

/// Moves a folder with an image to its place in the cache.
fn publish(folder: &Path, packages: Vec<Package>, place: &Path) -> Result<()> {
    let image = folder.join(IMAGE);
    let file = fs::File::open(&image).map_err(Error::io("cannot open", &image))?;
    // It is on the disk before it gets its name, so that a power loss cannot leave an image that only looks complete.
    let size = file.sync_all().and_then(|()| file.metadata());
    let size = Bytes(size.map_err(Error::io("cannot write", &image))?.len());
    let path = folder.join(CONTENTS);
    let text =
        serde_json::to_vec_pretty(&Contents { size, packages }).map_err(Error::bad_file(&path))?;
    fs::write(&path, text).map_err(Error::io("cannot write", &path))?;
    remove(place)?;
    fs::rename(folder, place).map_err(Error::io("cannot move the image to", place))
}

/// The image in a folder of the cache, when it is there and whole.
fn load(place: &Path, content: &Content) -> Option<Supply> {
    let contents: Contents = serde_json::from_slice(&fs::read(place.join(CONTENTS)).ok()?).ok()?;
    let image = place.join(IMAGE);
    let whole = fs::metadata(&image).is_ok_and(|facts| facts.len() == contents.size.0);
    whole.then(|| Supply {
        content: content.clone(),
        image,
        size: contents.size,
        packages: contents.packages,
    })
}

fn key(hash: &XxHash3_128) -> String {
    format!("{:032x}", hash.finish_128())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(dir: &Path) -> String {
        let mut hash = XxHash3_128::with_seed(0);
        listing(dir, &mut hash).unwrap();
        key(&hash)
    }

    #[test]
    fn a_directory_that_changed_is_another_supply() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("deep")).unwrap();
        let file = dir.path().join("deep/file");
        fs::write(&file, "one").unwrap();
        let before = listed(dir.path());
        assert_eq!(listed(dir.path()), before);
        fs::write(&file, "three").unwrap();
        assert_ne!(listed(dir.path()), before);
    }

    #[test]
    fn an_image_that_was_cut_short_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, place) = (dir.path().join("new"), dir.path().join("place"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(IMAGE), [1; 4096]).unwrap();
        publish(&folder, Vec::new(), &place).unwrap();
        let content = Content::Directory { name: "mine".into() };
        assert_eq!(load(&place, &content).unwrap().size, Bytes(4096));
        fs::write(place.join(IMAGE), [1; 100]).unwrap();
        assert!(load(&place, &content).is_none());
    }
}
