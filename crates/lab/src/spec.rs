//! The description of one virtual machine.

use std::path::PathBuf;
use std::time::Duration;

use units::Bytes;

use crate::accel::Accelerator;
use crate::cache::Cache;
use crate::image::Image;
use crate::qemu::Qemu;
use crate::supply::Supply;

/// One virtual disk: empty and sparse, or a file of the host that the guest can only read.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// Its role in the experiment (`data`): at most 20 letters, digits, `-` and `_`.
    pub role: String,
    /// Its size as the guest sees it, in bytes.
    pub size: Bytes,
    /// The file or block device whose bytes the guest reads; it is opened for reading only. `None`: a fresh disk.
    pub image: Option<PathBuf>,
    /// Its model; `None`: a file, as fast as the host.
    pub model: Option<ModelledDisk>,
    /// The properties that it reports about itself, and its limits.
    pub attributes: ::disk::Attributes,
}

impl Disk {
    /// An empty disk, as fast as the host.
    pub fn plain(role: &str, size: Bytes) -> Self {
        let attributes = ::disk::Attributes::default();
        Self { role: role.to_owned(), size, image: None, model: None, attributes }
    }

    /// Tells whether it is reported as rotational; `None`: the guest decides. For a modelled disk its model decides, unless it is set.
    pub(crate) fn rotational(&self) -> Option<bool> {
        let kind = self.model.as_ref().and_then(|model| Some(model.like.profile().ok()?.kind()));
        self.attributes.rotational.or_else(|| match kind? {
            ::disk::ModelKind::Hdd => Some(true),
            ::disk::ModelKind::Flash => Some(false),
            ::disk::ModelKind::Memory => None,
        })
    }
}

/// A disk whose times a model computes, and whose contents are in the host's memory.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelledDisk {
    /// The profile of its model, with other values for some parameters.
    pub like: ::disk::Like,
    /// Its faults.
    pub faults: Vec<::disk::Fault>,
    /// The seed from which faults are drawn.
    pub seed: units::Seed,
    /// The most that will be stored on it, bytes, as far as is known.
    pub stored: Bytes,
}

/// The place of the files that hold the bytes of virtual disks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DiskHome {
    /// In files without a name in the cache directory: gone with the machine, however it ends.
    #[default]
    Nameless,
    /// In `<role>.img` in this directory; they stay.
    Kept(PathBuf),
}

/// The interface by which QEMU reads and writes the files of the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aio {
    /// Through io_uring.
    IoUring,
    /// Through a pool of threads.
    Threads,
}

impl Aio {
    /// QEMU's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Threads => "threads",
        }
    }
}

/// The switches that the guest's kernel gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandLine {
    /// Boots fast; some switches change measured performance (no mitigations, no hardening).
    #[default]
    Tuned,
    /// The switches with which the distribution's kernel runs by itself.
    Plain,
}

/// The purpose of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Purpose {
    /// The program's session: the closure given to [`crate::guest::main`] runs.
    #[default]
    Session,
    /// As `Session`, with an additional console that [`crate::shell::attach`] connects to the terminal.
    Shell,
    /// The lab's own probe of an accelerator: comes up and powers off.
    Probe,
}

/// One virtual machine to start: [`VmSpec::new`] returns the usual one, whose fields may be changed.
#[derive(Clone, Debug)]
pub struct VmSpec {
    /// The cache, in whose directory nameless disks live.
    pub cache: Cache,
    /// The guest image.
    pub image: Image,
    /// The QEMU to start; `None`: the one on the PATH.
    pub qemu: Option<Qemu>,
    /// The accelerator that runs its instructions.
    pub accelerator: Accelerator,
    /// Its purpose.
    pub purpose: Purpose,
    /// Its memory in bytes.
    pub memory: Bytes,
    /// Its processors.
    pub cpus: u32,
    /// Its disks; the guest finds them by role.
    pub disks: Vec<Disk>,
    /// The supplies that commands need in addition to the root; the guest mounts them before the session starts.
    pub supplies: Vec<Supply>,
    /// The place of the disks' files.
    pub disk_home: DiskHome,
    /// Tells whether modelled disks keep their contents for another machine that goes on with them.
    pub keeps_contents: bool,
    /// The bytes that will be written to all disks together; checked against the free space before the start.
    pub will_write: Bytes,
    /// The interface by which QEMU drives the disks; `None`: io_uring, or threads where that is forbidden.
    pub aio: Option<Aio>,
    /// Time after its start when the machine is killed, whatever it does.
    pub deadline: Duration,
    /// The kernel's switches.
    pub command_line: CommandLine,
    /// The file that the guest's serial console is written to; `None`: a nameless file, whose end is in [`crate::End`].
    pub console: Option<PathBuf>,
    /// The program that becomes the guest's process 1: a static one; usually the running one.
    pub program: PathBuf,
    /// Opaque bytes for the session, there when it starts.
    pub mission: Vec<u8>,
}

impl VmSpec {
    /// The usual machine: this program, 1 GiB of memory, as many processors as the host has (at most 4), no disks,
    /// ten minutes.
    pub fn new(cache: &Cache, image: Image, accelerator: Accelerator) -> Self {
        let host_cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            cache: cache.clone(),
            image,
            qemu: None,
            accelerator,
            purpose: Purpose::Session,
            memory: Bytes(Bytes::GIB),
            cpus: u32::try_from(host_cpus.clamp(1, 4)).unwrap_or(1),
            disks: Vec::new(),
            supplies: Vec::new(),
            disk_home: DiskHome::Nameless,
            keeps_contents: false,
            will_write: Bytes(0),
            aio: None,
            deadline: Duration::from_secs(600),
            command_line: CommandLine::Tuned,
            console: None,
            program: PathBuf::from("/proc/self/exe"),
            mission: Vec::new(),
        }
    }

    /// Returns a machine for a user at its console: the user ends the shell; the deadline only limits the time of a forgotten one.
    #[must_use]
    pub fn for_user(self) -> Self {
        Self { purpose: Purpose::Shell, deadline: Duration::from_secs(24 * 3600), ..self }
    }

    /// Adds an empty disk.
    #[must_use]
    pub fn with_disk(mut self, role: &str, size: Bytes) -> Self {
        self.disks.push(Disk::plain(role, size));
        self
    }
}
