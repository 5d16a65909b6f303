//! Texts about this machine's devices: from sysfs, procfs and the device mapper's tables, status and statistics. Nothing is opened for writing
//! but the device mapper's control node, which takes questions in no other way.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use layers::standing::{ReadFrom, Recognised, StandingMachine};
use sys::block::Number;
use sys::dm::Dm;
use sys::kernel_log::KernelLog;

use crate::mount::{Mount, mount_of, mounts};
use crate::node::{ATTRIBUTES, form_of_device, form_of_target, target, without_secret};
use crate::procfs::{memory, processors};
use crate::recorded::{Block, Recorded, Text, Top};

/// Bytes of a sector, as the kernel counts sizes.
const SECTOR: u64 = 512;

/// The reason why there is no stack to look at.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The mount around a path is not in the table of mounts.
    #[error(
        "{0} exists, but /proc/self/mountinfo does not list the file system that it lies on, as in a chroot or a container"
    )]
    Unlisted(PathBuf),
    /// Nothing has that name.
    #[error("Nothing is at {0}")]
    Nothing(PathBuf),
    /// The kernel knows no device of that number.
    #[error("{0} is a node of a device that is gone")]
    Gone(PathBuf),
    /// A device of no size: a loop device without a file, a drive without a medium.
    #[error("{0} is a device with nothing in it: its size is 0")]
    Empty(PathBuf),
    /// A path whose file system is on no block device.
    #[error(
        "{path} lies on a file system of kind {kind} ({source_name}), which stands on no block device of this machine"
    )]
    NoDevice {
        /// The path.
        path: PathBuf,
        /// The kind of file system, as the kernel names it.
        kind: String,
        /// The source that was mounted.
        source_name: String,
    },
    /// The system refused.
    #[error("Cannot look at {path}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl LiveError {
    /// Returns what to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Nothing(_) => "lsblk lists the devices, findmnt what is mounted where",
            Self::Gone(_) | Self::Empty(_) => "lsblk lists the devices that there are",
            Self::NoDevice { .. } | Self::Unlisted(_) => {
                "name the block device itself, or a path on a file system that lies on one; in a container ask on its host"
            }
            Self::Io { .. } => "try it as root",
        }
    }
}

/// Returns the node that `path` leads to: a block device, or the mounted file system that it lies in.
///
/// # Errors
/// When nothing is there, or nothing that stands on a block device.
pub fn find(path: &Path) -> Result<Top, LiveError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            LiveError::Nothing(path.to_owned())
        }
        _ => LiveError::Io { path: path.to_owned(), source },
    };
    let real = path.canonicalize().map_err(failed)?;
    if let Some(number) = sys::block::number(&real).map_err(failed)? {
        let name = name_of(number).ok_or_else(|| LiveError::Gone(path.to_owned()))?;
        let empty = text(&sysfs(&name).join("size")).is_ok_and(|size| size.trim_end() == "0");
        return if empty { Err(LiveError::Empty(path.to_owned())) } else { Ok(Top::Device(name)) };
    }
    let table = table_of_mounts();
    let mount = mount_of(&table, &real).ok_or_else(|| LiveError::Unlisted(path.to_owned()))?;
    match device_of(mount) {
        Some(_) => Ok(Top::Mount(mount.directory.clone())),
        None => Err(LiveError::NoDevice {
            path: path.to_owned(),
            kind: mount.kind.clone(),
            source_name: mount.source.clone(),
        }),
    }
}

/// Reads all about the stack of a node, as far as it answers within `limit`.
pub fn gather(top: &Top, limit: Duration) -> Recorded {
    let shared = Arc::new(Mutex::new(Recorded::default()));
    let (done, end) = channel();
    let (reader, top) = (Shared(Arc::clone(&shared)), top.clone());
    // A device that does not answer blocks this thread, but not the caller.
    std::thread::spawn(move || {
        read_all(&reader, &top);
        let _ = done.send(());
    });
    let late = end.recv_timeout(limit).is_err();
    let mut read = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if late {
        read.missing.push(format!(
            "something did not answer within {} s: what follows it was not read",
            limit.as_secs()
        ));
    }
    read
}

/// The texts that have been read so far.
struct Shared(Arc<Mutex<Recorded>>);

impl Shared {
    fn change<T>(&self, change: impl FnOnce(&mut Recorded) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn read_all(shared: &Shared, top: &Top) {
    let dm = Dm::open();
    let (machine, lacks) = machine(dm.as_ref().ok());
    let host = text("/proc/sys/kernel/hostname".as_ref()).unwrap_or_default();
    let table = table_of_mounts();
    shared.change(|all| {
        // A machine without a name is "(none)" to the kernel.
        all.of = match host.trim_end() {
            "" | "(none)" => "this machine".to_owned(),
            host => format!("this machine ({host})"),
        };
        all.machine = machine;
        all.missing = lacks;
    });
    let first = match top {
        Top::Device(name) => Some(name.clone()),
        Top::Mount(directory) => {
            table.iter().rfind(|mount| mount.directory == *directory).and_then(device_of)
        }
        Top::All => None,
    };
    let mut open: Vec<String> = first.into_iter().collect();
    if let Top::Device(name) = top {
        open.extend(devices_above(name));
    }
    let mut seen: Vec<String> = Vec::new();
    while let Some(name) = open.pop() {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name.clone());
        let Some(block) = block(&name, dm.as_ref(), &table) else {
            shared.change(|all| all.missing.push(format!("{name} went away while it was read")));
            continue;
        };
        for below in &block.below {
            let inside = table.iter().rfind(|mount| mount.directory == *below);
            open.extend(inside.map_or_else(|| Some(below.clone()), device_of));
        }
        // The pool's other volumes are read too: their sizes tell how much space it has promised.
        let target = block.text("table").and_then(target).map(|(name, _)| name.to_owned());
        if target.as_deref() == Some("thin-pool") {
            open.extend(names_in(&sysfs(&name).join("holders")));
        }
        shared.change(|all| all.blocks.push(block));
    }
    for mut mount in table {
        let ours = device_of(&mount).is_some_and(|name| seen.contains(&name));
        if !ours {
            continue;
        }
        shared.change(|all| all.mounts.push(mount.clone()));
        // This may wait for a dead disk, so everything else is stored first.
        if let Ok(space) = rustix::fs::statvfs(Path::new(&mount.directory)) {
            mount.space = Some((space.f_blocks * space.f_frsize, space.f_bfree * space.f_frsize));
            shared.change(|all| {
                all.mounts.pop();
                all.mounts.push(mount);
            });
        }
    }
}

/// Names of all devices that stand on a device directly or indirectly, including its partitions.
fn devices_above(name: &str) -> Vec<String> {
    let (mut open, mut found) = (vec![name.to_owned()], Vec::new());
    while let Some(name) = open.pop() {
        let at = sysfs(&name);
        let parts =
            names_in(&at).into_iter().filter(|part| at.join(part).join("partition").exists());
        for above in names_in(&at.join("holders")).into_iter().chain(parts) {
            if !found.contains(&above) {
                found.push(above.clone());
                open.push(above);
            }
        }
    }
    found
}

/// All about one device; `None` where it is not there.
pub(crate) fn block(name: &str, dm: Result<&Dm, &io::Error>, table: &[Mount]) -> Option<Block> {
    let at = sysfs(name);
    let number = text(&at.join("dev")).ok()?.trim_end().to_owned();
    let sectors = text(&at.join("size")).ok().and_then(|size| size.trim_end().parse::<u64>().ok());
    let mut block = Block {
        name: name.to_owned(),
        number,
        mapped: text(&at.join("dm/name")).ok().map(|name| name.trim_end().to_owned()),
        bytes: sectors.map(|sectors| sectors * SECTOR),
        below: names_in(&at.join("slaves")),
        texts: BTreeMap::new(),
    };
    // A partition lies in the directory of its disk.
    let disk = at.canonicalize().ok().filter(|_| at.join("partition").exists());
    block.below.extend(disk.as_deref().and_then(Path::parent).and_then(last_part));
    attributes(&mut block, &at, ATTRIBUTES.iter().copied());
    if let Some(mapped) = block.mapped.clone() {
        read_mapped(&mut block, &mapped, dm);
    }
    if let Some((_, form)) = form_of_device(name) {
        let paths = form.reads.iter().filter_map(|read| match read.from {
            ReadFrom::Attribute(path) => Some(path),
            _ => None,
        });
        attributes(&mut block, &at, paths);
        if let Recognised::Device(link) = form.is {
            let first = at.join(link).canonicalize().ok();
            let first = first.as_deref().and_then(Path::parent).and_then(last_part);
            block.texts.extend(first.map(|first| (link.to_owned(), Ok(first))));
        }
    }
    let file = block.text("loop/backing_file").map(PathBuf::from);
    let around = file.and_then(|file| mount_of(table, &file).cloned());
    let on_device = around.filter(|mount| device_of(mount).is_some_and(|under| under != name));
    block.below.extend(on_device.map(|mount| mount.directory));
    Some(block)
}

fn attributes<'a>(block: &mut Block, at: &Path, keys: impl Iterator<Item = &'a str>) {
    for key in keys {
        match text(&at.join(key)) {
            // Not every device has every file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => drop(block.texts.insert(key.to_owned(), read.map_err(|e| reason(&e)))),
        }
    }
}

/// Table, status and answers of a device of the device mapper.
fn read_mapped(block: &mut Block, mapped: &str, dm: Result<&Dm, &io::Error>) {
    let ask = |question: &dyn Fn(&Dm) -> io::Result<String>| -> Text {
        dm.map_err(reason).and_then(|dm| question(dm).map_err(|error| reason(&error)))
    };
    let lines = |lines: Vec<sys::dm::TargetLine>| {
        lines.iter().map(|line| format!("{line}\n")).collect::<String>()
    };
    let table = ask(&|dm| dm.table(mapped).map(lines)).map(|table| {
        table.lines().map(|line| format!("{}\n", without_secret(line))).collect::<String>()
    });
    let form =
        table.as_ref().ok().and_then(|table| target(table)).and_then(|(t, _)| form_of_target(t));
    for read in form.iter().flat_map(|(_, form)| form.reads) {
        if let ReadFrom::Message(words) = read.from {
            let answer = ask(&|dm| dm.message(mapped, words));
            block.texts.insert(read.from.key(), answer);
        }
    }
    let status = ask(&|dm| dm.status(mapped).map(lines));
    block.texts.extend([("table".to_owned(), table), ("status".to_owned(), status)]);
}

/// The machine, and what of it could not be read.
fn machine(dm: Option<&Dm>) -> (StandingMachine, Vec<String>) {
    let (mut found, mut missing) = (StandingMachine::default(), Vec::new());
    found.kernel =
        text("/proc/sys/kernel/osrelease".as_ref()).ok().map(|t| t.trim_end().to_owned());
    let cpus = text("/proc/cpuinfo".as_ref()).ok();
    found.cpus = cpus.as_deref().map(processors).filter(|cpus| *cpus > 0);
    found.memory_bytes = text("/proc/meminfo".as_ref()).ok().as_deref().and_then(memory);
    let modules = ["dm_vdo", "kvdo", "uds", "dm_cache", "dm_writecache", "bcache", "zfs"];
    for module in modules {
        let version = text(&Path::new("/sys/module").join(module).join("version"));
        found.versions.extend(version.ok().map(|v| (module.to_owned(), v.trim_end().to_owned())));
    }
    for (name, [a, b, c]) in dm.and_then(|dm| dm.targets().ok()).unwrap_or_default() {
        if form_of_target(&name).is_some() {
            found.versions.push((format!("target {name}"), format!("{a}.{b}.{c}")));
        }
    }
    match KernelLog::open() {
        Ok(mut log) => {
            found.log = Some(log.records().flatten().map(|record| record.text).collect());
        }
        Err(error) => missing.push(format!("the kernel's log: {}", reason(&error))),
    }
    (found, missing)
}

fn table_of_mounts() -> Vec<Mount> {
    mounts(&text("/proc/self/mountinfo".as_ref()).unwrap_or_default())
}

/// The kernel's name of the device that a file system is mounted from.
fn device_of(mount: &Mount) -> Option<String> {
    let numbered = mount.number.as_deref().and_then(|number| {
        let (major, minor) = number.split_once(':')?;
        name_of(Number { major: major.parse().ok()?, minor: minor.parse().ok()? })
    });
    // Some file systems (btrfs) have a device number of their own; their device is known by the mount's source.
    numbered.or_else(|| name_of(sys::block::number(Path::new(&mount.source)).ok()??))
}

fn name_of(number: Number) -> Option<String> {
    sys::block::sysfs(number).canonicalize().ok().as_deref().and_then(last_part)
}

pub(crate) fn sysfs(name: &str) -> PathBuf {
    Path::new("/sys/class/block").join(name)
}

fn last_part(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

pub(crate) fn text(path: &Path) -> io::Result<String> {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The reason of an error in words.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("{error}: this takes root"),
        _ => error.to_string(),
    }
}
