//! The files behind the virtual disks: sparse, without a name unless they are to be kept.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::Path;

use ::disk::{Attributes, CutStats, Limit, Throughput};
use rustix::fs::{Mode, OFlags};
use units::Bytes;

use crate::contents::KeptContents;
use crate::facts::DiskFacts;
use crate::files::{check_space, inherited_name, kept_file, nameless_file};
use crate::qemu::DriveArgument;
use crate::spec::{Aio, Disk, DiskHome, VmSpec};
use crate::{Error, Result};

/// The longest serial number of a virtio disk.
const LONGEST_ROLE: usize = 20;

/// A virtual disk as QEMU's arguments and the descriptors that it inherits.
#[derive(Debug)]
pub(crate) struct Drive {
    pub(crate) argument: DriveArgument,
    pub(crate) facts: DiskFacts,
    /// The descriptor of the disk's file, which QEMU must inherit.
    pub(crate) inherited: Option<OwnedFd>,
}

/// The virtual disks of a machine. They outlive it: another machine can go on with their contents.
#[derive(Debug)]
pub struct Disks {
    /// Those that are files.
    drives: Vec<Drive>,
    /// The contents of modelled ones, where these are kept.
    contents: KeptContents,
}

impl Disks {
    /// Makes the disks that `spec` describes; they are empty.
    ///
    /// # Errors
    /// When they make no sense, or there is too little room for the data that will be written.
    pub fn make(spec: &VmSpec) -> Result<Self> {
        let drives = make(spec)?;
        let contents = KeptContents::make(spec)?;
        Ok(Self { drives, contents })
    }

    /// Cuts the power of the modelled disks, whose machine has ended: each loses a part of its volatile cache, drawn from `seed`.
    ///
    /// # Errors
    /// When the contents of one were not kept, or cannot be read or written.
    pub fn cut_power(&mut self, seed: units::Seed) -> Result<Vec<(String, CutStats)>> {
        self.contents.cut_power(seed)
    }

    /// Returns the file for the contents of a modelled disk, for the process that serves it; `None` where they are not kept.
    pub(crate) fn contents(&self, role: &str) -> Result<Option<OwnedFd>> {
        self.contents.file_of(role)
    }

    /// Returns the drives for another machine. Two running machines must not have them at once.
    pub(crate) fn drives(&self) -> Result<Vec<Drive>> {
        self.drives.iter().map(Drive::shared).collect()
    }
}

impl Drive {
    /// Returns the same disk for another machine.
    fn shared(&self) -> Result<Self> {
        let inherited = self.inherited.as_ref().map(OwnedFd::try_clone);
        let cannot = Error::system("cannot duplicate a descriptor");
        let inherited = inherited.transpose().map_err(cannot)?;
        let mut argument = self.argument.clone();
        if let Some(file) = &inherited {
            argument.file = inherited_name(file);
        }
        Ok(Self { argument, facts: self.facts.clone(), inherited })
    }
}

/// Checks that a machine's disks make sense and fit; returns their directory, which is made where it does not exist.
pub(crate) fn check_all(spec: &VmSpec) -> Result<&Path> {
    let home = match &spec.disk_home {
        DiskHome::Nameless => spec.cache.dir(),
        DiskHome::Kept(dir) => {
            sys::new_file::create_directories(dir).map_err(Error::io("cannot make", dir))?;
            dir.as_path()
        }
    };
    for disk in &spec.disks {
        check(disk, &spec.disks)?;
    }
    crate::modelled::check(&spec.disks)?;
    check_space(home, spec.will_write, "the virtual disks")?;
    Ok(home)
}

/// Makes all disks of a machine, after checking that the data that will be written fit.
pub(crate) fn make(spec: &VmSpec) -> Result<Vec<Drive>> {
    if spec.disks.is_empty() {
        return Ok(Vec::new());
    }
    let home = check_all(spec)?;
    let (aio, note) = match spec.aio {
        Some(aio) => (aio, None),
        None => usual_aio(),
    };
    spec.disks
        .iter()
        .filter(|disk| disk.model.is_none())
        .map(|disk| make_one(disk, home, spec.disk_home == DiskHome::Nameless, aio, note.clone()))
        .collect()
}

/// Returns io_uring where this process may use it, else threads and the reason.
pub(crate) fn usual_aio() -> (Aio, Option<String>) {
    match io_uring::IoUring::new(2) {
        Ok(_ring) => (Aio::IoUring, None),
        Err(error) => (
            Aio::Threads,
            Some(format!("io_uring is not available here ({error}): disks are driven by threads")),
        ),
    }
}

fn check(disk: &Disk, all: &[Disk]) -> Result<()> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let bad = |what: String, help: &str| Error::BadSpec { what, help: help.to_owned() };
    let role = &disk.role;
    if role.is_empty() || role.len() > LONGEST_ROLE || !role.chars().all(fine) {
        return Err(bad(
            format!("a virtual disk cannot have the role {role:?}"),
            "use at most 20 letters, digits, - and _",
        ));
    }
    if all.iter().filter(|other| other.role == *role).count() > 1 {
        return Err(bad(
            format!("two virtual disks have the role {role}"),
            "give each its own role",
        ));
    }
    if disk.size.0 == 0 || !disk.size.0.is_multiple_of(4096) {
        return Err(bad(
            format!("the virtual disk {role} cannot have {} B", disk.size.0),
            "give it a multiple of 4 KiB",
        ));
    }
    let wrong = |e: ::disk::Error| bad(format!("the virtual disk {role}: {e}"), &e.help());
    disk.attributes.check().map_err(wrong)?;
    disk.image.as_ref().map_or(Ok(()), |image| open(disk, image).map(drop))
}

/// Opens the file or block device that a disk shows; refuses one whose size is not the disk's.
fn open(disk: &Disk, image: &Path) -> Result<File> {
    let mut file = File::open(image).map_err(Error::io("cannot read", image))?;
    let there = file.seek(SeekFrom::End(0)).map_err(Error::io("cannot read", image))?;
    if there == disk.size.0 {
        return Ok(file);
    }
    let (image, size, role) = (image.display(), disk.size.0, &disk.role);
    Err(Error::BadSpec {
        what: format!("{image} holds {there} B, not the {size} B of the disk {role}"),
        help: "give a file or block device of whole blocks of 4 KiB that does not change; truncate -s %4096 FILE fills a file up".into(),
    })
}

fn make_one(
    disk: &Disk,
    home: &Path,
    nameless: bool,
    aio: Aio,
    note: Option<String>,
) -> Result<Drive> {
    if let Some(image) = &disk.image {
        return read_only(disk, image, aio, note);
    }
    let path = home.join(format!("{}.img", disk.role));
    let file = if nameless { nameless_file(home)? } else { kept_file(&path)? };
    file.set_len(disk.size.0).map_err(Error::io("cannot set the size of a disk in", home))?;
    let seen = inherited_name(&file);
    let (cache, note) = cache(&seen, OFlags::RDWR, home, note);
    let limit = throttling(&disk.attributes.limit);
    let options = format!("cache={cache},aio={},discard=unmap{limit}", aio.name());
    Ok(Drive {
        argument: DriveArgument {
            role: disk.role.clone(),
            // By its name QEMU would open whatever is there by then.
            file: seen,
            options: options.clone(),
            properties: properties(&disk.attributes),
        },
        facts: facts(disk, options, note),
        inherited: Some(file.into()),
    })
}

fn facts(disk: &Disk, options: String, note: Option<String>) -> DiskFacts {
    let attributes = disk.attributes.clone();
    DiskFacts { role: disk.role.clone(), size: disk.size, options, note, attributes, model: None }
}

/// Returns a limit as options of QEMU's drives.
fn throttling(limit: &Limit) -> String {
    let bytes = |rate: Option<Throughput>| rate.map(|rate| rate.0);
    let all = [
        ("iops-total", limit.iops),
        ("iops-read", limit.read_iops),
        ("iops-write", limit.write_iops),
        ("bps-total", bytes(limit.throughput)),
        ("bps-read", bytes(limit.read_throughput)),
        ("bps-write", bytes(limit.write_throughput)),
    ];
    all.iter().filter_map(|(key, value)| Some(format!(",throttling.{key}={}", (*value)?))).collect()
}

/// Returns the properties that a disk reports as options of QEMU's virtio-blk; whether it is rotational is set in the guest.
fn properties(attributes: &Attributes) -> String {
    let word = |on: bool| if on { "on" } else { "off" };
    let block = attributes
        .logical_block
        .map(|bytes| format!(",logical_block_size={bytes},physical_block_size={bytes}"));
    let cache = attributes.write_cache.map(|on| format!(",write-cache={}", word(on)));
    let discard = attributes.discard.map(|on| format!(",discard={}", word(on)));
    [block, cache, discard].into_iter().flatten().collect()
}

/// A disk that shows the guest what is in `image`.
fn read_only(disk: &Disk, image: &Path, aio: Aio, note: Option<String>) -> Result<Drive> {
    let file = open(disk, image)?;
    let seen = inherited_name(&file);
    let (cache, note) = cache(&seen, OFlags::RDONLY, image, note);
    let options = format!("cache={cache},aio={},readonly=on", aio.name());
    Ok(Drive {
        argument: DriveArgument {
            role: disk.role.clone(),
            file: seen,
            options: options.clone(),
            properties: String::new(),
        },
        facts: facts(disk, options, note),
        inherited: Some(file.into()),
    })
}

/// Returns a read-only disk with this serial number that shows an image of the lab.
pub(crate) fn image(serial: &str, size: Bytes, image: &Path, aio: Option<Aio>) -> Result<Drive> {
    let (aio, note) = aio.map_or_else(usual_aio, |aio| (aio, None));
    read_only(&Disk::plain(serial, size), image, aio, note)
}

/// Returns QEMU's cache mode for the file `seen`, and a note on it, if any: it bypasses the host's page cache, which would distort every measurement,
/// wherever the file system allows that.
fn cache(
    seen: &str,
    access: OFlags,
    place: &Path,
    note: Option<String>,
) -> (&'static str, Option<String>) {
    let flags = access | OFlags::DIRECT | OFlags::CLOEXEC;
    match rustix::fs::open(seen, flags, Mode::empty()) {
        Ok(_) => ("none", note),
        Err(errno) => (
            "writeback",
            Some(format!(
                "the file system of {} refuses direct I/O ({errno}): the host's page cache is between guest and disk",
                place.display()
            )),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    fn disk(role: &str, size: u64) -> Disk {
        Disk::plain(role, Bytes(size))
    }

    #[test]
    fn an_image_is_attached_for_reading_only_and_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("corpus.img");
        std::fs::write(&path, vec![7; 8192]).unwrap();
        let image = Disk { image: Some(path.clone()), ..disk("corpus", 8192) };
        let drive = make_one(&image, dir.path(), true, Aio::Threads, None).unwrap();
        assert!(drive.argument.options.ends_with(",readonly=on"), "{:?}", drive.argument);
        assert!(!drive.argument.options.contains("discard"));
        assert_eq!(std::fs::read(&path).unwrap(), vec![7; 8192]);
        let gone = Disk { image: Some(dir.path().join("none")), ..disk("corpus", 8192) };
        let error = make_one(&gone, dir.path(), true, Aio::Threads, None).unwrap_err();
        assert!(error.to_string().contains("none"), "{error}");
    }

    #[test]
    fn an_image_must_hold_what_the_guest_is_to_see() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("corpus.img");
        std::fs::write(&path, vec![7; 4096]).unwrap();
        let image = Disk { image: Some(path), ..disk("corpus", 8192) };
        let error = check(&image, &[]).unwrap_err();
        assert!(error.to_string().contains("4096 B"), "{error}");
    }

    #[test]
    fn a_nameless_disk_is_sparse_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let drive = make_one(&disk("data", 1 << 40), dir.path(), true, Aio::Threads, None).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(drive.argument.file.starts_with("/proc/self/fd/"));
        assert_eq!(drive.facts.size, Bytes(1 << 40));
    }

    #[test]
    fn two_machines_one_after_the_other_see_one_disk() {
        let dir = tempfile::tempdir().unwrap();
        let made = make_one(&disk("data", 1 << 20), dir.path(), true, Aio::Threads, None).unwrap();
        let disks = Disks { drives: vec![made], contents: KeptContents::default() };
        let file = |drives: &[Drive]| {
            File::options().read(true).write(true).open(&drives[0].argument.file)
        };
        let first = disks.drives().unwrap();
        file(&first).unwrap().write_all(b"kept").unwrap();
        drop(first);
        let mut found = [0; 4];
        file(&disks.drives().unwrap()).unwrap().read_exact(&mut found).unwrap();
        assert_eq!(&found, b"kept");
    }

    #[test]
    fn what_is_asked_of_a_disk_becomes_options_of_its_drive_and_of_its_device() {
        let dir = tempfile::tempdir().unwrap();
        let limit = Limit {
            read_iops: Some(120),
            write_throughput: Some(Throughput(1 << 20)),
            ..Limit::default()
        };
        let attributes = Attributes {
            limit,
            logical_block: Some(4096),
            write_cache: Some(false),
            discard: Some(false),
            rotational: Some(true),
            destage: None,
        };
        let wanted = Disk { attributes, ..disk("data", 1 << 30) };
        let drive = make_one(&wanted, dir.path(), true, Aio::Threads, None).unwrap();
        assert!(
            drive
                .argument
                .options
                .ends_with(",throttling.iops-read=120,throttling.bps-write=1048576")
        );
        let properties =
            ",logical_block_size=4096,physical_block_size=4096,write-cache=off,discard=off";
        assert_eq!(
            (drive.argument.properties.as_str(), wanted.rotational()),
            (properties, Some(true))
        );
        assert_eq!(drive.facts.attributes, wanted.attributes);
        let wrong = Attributes { logical_block: Some(1000), ..Attributes::default() };
        let error = check(&Disk { attributes: wrong, ..disk("data", 4096) }, &[]).unwrap_err();
        assert!(error.to_string().contains("disk data: logical_block"), "{error}");
    }

    #[test]
    fn a_modelled_disk_says_that_it_turns_only_if_it_does() {
        let modelled = |like: &str| {
            let model = crate::spec::ModelledDisk {
                like: like.parse().unwrap(),
                faults: Vec::new(),
                seed: units::Seed(1),
                stored: Bytes(0),
            };
            Disk { model: Some(model), ..disk("data", 4096) }.rotational()
        };
        assert_eq!(["hdd", "ssd", "memory"].map(modelled), [Some(true), Some(false), None]);
        assert_eq!(disk("data", 4096).rotational(), None);
    }

    #[test]
    fn a_kept_disk_never_replaces_another() {
        let dir = tempfile::tempdir().unwrap();
        let make = || make_one(&disk("data", 1 << 20), dir.path(), false, Aio::Threads, None);
        assert!(make().is_ok() && dir.path().join("data.img").exists());
        let error = make().unwrap_err();
        assert!(matches!(error, Error::DiskExists { .. }), "{error}");
        assert!(error.help().is_some());
    }

    #[test]
    fn qemu_gets_the_kept_disk_that_was_made_whatever_its_name_leads_to_since() {
        let dir = tempfile::tempdir().unwrap();
        let made = make_one(&disk("data", 1 << 20), dir.path(), false, Aio::Threads, None).unwrap();
        let name = dir.path().join("data.img");
        std::fs::rename(&name, dir.path().join("moved.img")).unwrap();
        std::fs::write(&name, "somebody's").unwrap();
        assert_eq!(std::fs::metadata(&made.argument.file).unwrap().len(), 1 << 20);
        assert!(made.inherited.is_some());
    }

    #[test]
    fn an_image_that_was_exchanged_after_the_check_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("corpus.img");
        std::fs::write(&path, vec![7; 8192]).unwrap();
        let image = Disk { image: Some(path.clone()), ..disk("corpus", 8192) };
        check(&image, &[]).unwrap();
        std::fs::write(&path, vec![7; 4096]).unwrap();
        let error = make_one(&image, dir.path(), true, Aio::Threads, None).unwrap_err();
        assert!(error.to_string().contains("4096 B"), "{error}");
    }

    #[test]
    fn disks_that_do_not_fit_are_refused_with_figures_and_remedy() {
        let dir = tempfile::tempdir().unwrap();
        check_space(dir.path(), Bytes(0), "nothing").unwrap();
        let error = check_space(dir.path(), Bytes(1 << 60), "a sea").unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("free") && text.contains(&dir.path().display().to_string()),
            "{text}"
        );
        assert!(error.help().unwrap().contains("FATHOM_CACHE"));
    }

    #[test]
    fn a_role_that_no_disk_can_carry_is_refused() {
        for role in ["", "a,b", "twenty-one-characters", "a b"] {
            let disk = disk(role, 4096);
            assert!(check(&disk, std::slice::from_ref(&disk)).is_err(), "{role}");
        }
        let twice = [disk("data", 4096), disk("data", 4096)];
        assert!(check(&twice[0], &twice).is_err());
        assert!(check(&disk("data", 4095), &[]).is_err());
    }
}
