//! Modelled disks: one host process for each, which serves the disk to the machine and ends with the machine.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ::disk::front::{Service, ServingStats};
use units::Bytes;

use crate::facts::{DiskFacts, ModelFacts};
use crate::files::{inherited_name, nameless_file};
use crate::spec::{Disk, ModelledDisk, VmSpec};
use crate::watchdog::{Exit, Watchdog};
use crate::{Error, Result};

/// Memory that a store gets in addition to the stored bytes, for versions of blocks in the disk's cache.
const VERSIONS: Bytes = Bytes(128 * Bytes::MIB);
/// Largest number of requests in a trace, which take 64 MiB.
const MOST_REQUESTS: u64 = 2 << 20;
/// Time that a serving process gets to end after its machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The trace of one modelled disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The disk's role.
    pub role: String,
    /// The bytes of the trace.
    pub bytes: Vec<u8>,
}

/// The process that serves one modelled disk.
#[derive(Debug)]
pub(crate) struct Server {
    name: String,
    watchdog: Watchdog,
    /// The end of its process; `None` before that.
    ended: Option<Exit>,
    trace: File,
    /// Standard output and standard error of its process.
    output_file: File,
    facts: DiskFacts,
}

/// Refuses disks that have no model, and disks that do not fit into memory together.
pub(crate) fn check(disks: &[Disk]) -> Result<()> {
    let mut needed = 0u64;
    for disk in disks {
        let Some(model) = &disk.model else { continue };
        model.like.profile().map_err(|error| bad(&disk.role, &error))?;
        for (i, fault) in model.faults.iter().enumerate() {
            fault.check(&format!("faults[{i}]"), disk.size.0).map_err(|e| bad(&disk.role, &e))?;
        }
        needed = needed.saturating_add(model.stored.0.min(disk.size.0) + VERSIONS.0);
    }
    match sys::memory::available() {
        Some(available) if needed > 0 => ::disk::check_room(Bytes(needed), available)
            .map_err(|error| Error::BadSpec { what: error.to_string(), help: error.help() }),
        _ => Ok(()),
    }
}

fn bad(role: &str, error: &::disk::Error) -> Error {
    Error::BadSpec { what: format!("disk {role}: {error}"), help: error.help() }
}

/// Source of the file that a disk's contents are kept in, by its role; `None` where they are not kept.
type Contents<'a> = dyn Fn(&str) -> Result<Option<OwnedFd>> + 'a;

/// Starts the processes that serve the modelled disks of a machine.
pub(crate) fn start(spec: &VmSpec, contents: &Contents, began: Instant) -> Result<Vec<Server>> {
    let modelled = spec.disks.iter().filter_map(|disk| Some((disk, disk.model.as_ref()?)));
    modelled.map(|(disk, model)| serve((disk, model), contents(&disk.role)?, spec, began)).collect()
}

fn serve(
    (disk, model): (&Disk, &ModelledDisk),
    contents: Option<OwnedFd>,
    spec: &VmSpec,
    began: Instant,
) -> Result<Server> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // An abstract name has no file that could be left behind.
    let name = format!("fathom-{}-{number}", std::process::id());
    let cannot = |source| Error::System { what: "cannot make a socket".into(), source };
    let address = SocketAddr::from_abstract_name(&name).map_err(cannot)?;
    let listener = UnixListener::bind_addr(&address).map_err(cannot)?;
    let not_duplicated =
        |source| Error::System { what: "cannot duplicate a descriptor".into(), source };
    let trace = nameless_file(spec.cache.dir())?;
    let output_file = nameless_file(spec.cache.dir())?;
    let server_trace = OwnedFd::from(trace.try_clone().map_err(not_duplicated)?);
    let service = Service {
        role: disk.role.clone(),
        size: disk.size,
        like: model.like.clone(),
        faults: model.faults.clone(),
        attributes: disk.attributes.clone(),
        seed: model.seed,
        most: Bytes(disk.size.0.saturating_add(VERSIONS.0)),
        trace: inherited_name(&server_trace).into(),
        most_requests: MOST_REQUESTS,
        contents: contents.as_ref().map(|file| inherited_name(file).into()),
    };
    let words = serde_json::to_string(&service).map_err(Error::system("cannot describe a disk"))?;
    // The disk is served by this same program.
    let mut command = Command::new("/proc/self/exe");
    command.args(["disk", "serve", &words]).stdin(OwnedFd::from(listener));
    command.stdout(output_file.try_clone().map_err(not_duplicated)?);
    command.stderr(output_file.try_clone().map_err(not_duplicated)?);
    sys::lifeline::tie(&mut command, contents.into_iter().chain([server_trace]).collect());
    let watchdog = Watchdog::start(command, began + spec.deadline + PATIENCE)?;
    let options = format!("vhost-user-blk-pci,queue-size={}", ::disk::front::RING_SIZE);
    let (role, size) = (disk.role.clone(), disk.size);
    let model = Some(facts(model));
    let attributes = disk.attributes.clone();
    let facts = DiskFacts { role, size, options, note: None, attributes, model };
    Ok(Server { name, watchdog, ended: None, trace, output_file, facts })
}

fn facts(model: &ModelledDisk) -> ModelFacts {
    let profile = model.like.profile().ok();
    let values = profile.iter().flat_map(::disk::Profile::values);
    ModelFacts {
        like: model.like.to_string(),
        parameters: values.map(|(p, value)| (p.name.to_owned(), p.show(value))).collect(),
        faults: model.faults.iter().filter_map(|f| serde_json::to_value(f).ok()).collect(),
        served: None,
        note: None,
    }
}

impl Server {
    /// The abstract name of its socket.
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    /// Returns the facts of the disk that it serves.
    pub(crate) fn facts(&self) -> DiskFacts {
        self.facts.clone()
    }

    /// Returns the way in which its process ended, and what to do about it; `None` while it serves. It should not end while the machine runs.
    pub(crate) fn lost(&mut self) -> Option<String> {
        let ended = self.wait(Duration::ZERO)?;
        let output = self.output();
        let role = &self.facts.role;
        let how = match ended.status.map(|status| (status.signal(), status.code())) {
            Some((Some(signal), _)) => format!(
                "was killed by signal {signal}; run again, and where that happens again see the host's kernel log (dmesg): the kernel kills \
                 processes when memory runs short"
            ),
            Some((_, Some(0))) => {
                "ended while the machine still ran: QEMU closed its connection".into()
            }
            Some((_, Some(code))) => format!("ended with {code}: {}", output.trim()),
            _ => "ended".into(),
        };
        Some(format!("the process of the host that served {role} {how}"))
    }

    fn wait(&mut self, patience: Duration) -> Option<Exit> {
        if self.ended.is_none() {
            self.ended = self.watchdog.wait(patience);
        }
        self.ended
    }

    fn output(&mut self) -> String {
        String::from_utf8_lossy(&all(&mut self.output_file)).into_owned()
    }

    /// Waits for its end, now that its machine is gone; returns how it served, and its trace.
    pub(crate) fn finish(mut self) -> (DiskFacts, Option<Trace>) {
        if self.wait(PATIENCE).is_none() {
            self.watchdog.killer().kill();
            self.wait(PATIENCE);
        }
        let output = self.output();
        let served =
            output.lines().find_map(|line| serde_json::from_str::<ServingStats>(line).ok());
        if let Some(model) = &mut self.facts.model {
            let why = || format!("the process that served it did not end well: {}", output.trim());
            model.note = served.is_none().then(why);
            model.served = served;
        }
        let bytes = all(&mut self.trace);
        let trace = Trace { role: self.facts.role.clone(), bytes };
        (self.facts, Some(trace).filter(|trace| !trace.bytes.is_empty()))
    }
}

/// Everything that another process wrote to a file.
fn all(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Anything that cannot be read is left out.
    let _ = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    bytes
}
