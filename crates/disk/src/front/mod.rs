//! A modelled disk that a virtual machine sees: vhost-user-blk, served by a process of the host.
//!
//! QEMU shares the guest's memory and the ring of requests; one thread takes requests from it, asks the model when each ends, and
//! replies then. That thread keeps time: it waits for the ring and a timer and for nothing else. Contents are in memory, and the
//! trace is written by another thread.

mod config;
mod late;
mod ring;
mod served;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::{BufReader, BufWriter};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use late::Notes;
use ring::{Chain, GuestRequest};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use serde::{Deserialize, Serialize};
use units::{Bytes, Seed};
use vhost::vhost_user::Error::{Disconnected, PartialMessage};
use vhost::vhost_user::Listener;
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::Error::HandleRequest;
use vhost_user_backend::{
    ShutdownHandle, VhostUserBackendMut, VhostUserDaemon, VringMutex, VringT,
};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};
use virtio_queue::QueueT;
use vm_memory::{GuestAddressSpace, GuestMemoryAtomic, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};

use crate::drive::{Drive, Reply};
use crate::error::{Error, Result};
use crate::request::{Op, Request};
use crate::trace::{Header, Record};
use crate::{Attributes, Disk, Like, Store};

pub use served::ServingStats;

type Memory = GuestMemoryAtomic<GuestMemoryMmap>;

/// The size of the ring that QEMU is asked for, in descriptors.
pub const RING_SIZE: usize = 256;
/// The largest split ring that virtio allows (virtio 1.2, section 2.7). Firmware and kernel of the guest negotiate one after the other,
/// each its own size, and QEMU 10 offers more than it was asked for: the server takes whatever comes.
const LARGEST_RING: usize = 1 << 15;
/// Number of the timer's event: those of the queue and of the end come before it.
const TIMER: u16 = 2;

/// The description of a disk that is to be served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// Its role, which is its serial number in the guest.
    pub role: String,
    /// Its size as the guest sees it, in bytes.
    pub size: Bytes,
    /// The kind of disk that it is modelled after.
    pub like: Like,
    /// Its faults.
    #[serde(default)]
    pub faults: Vec<crate::Fault>,
    /// The properties that it reports about itself, and its limits.
    #[serde(default)]
    pub attributes: Attributes,
    /// Seed that faults are drawn by.
    pub seed: Seed,
    /// Bytes that it may hold in memory at most.
    pub most: Bytes,
    /// Path of the trace.
    pub trace: PathBuf,
    /// Number of requests that the trace holds at most.
    pub most_requests: u64,
    /// Path of the file that its contents are read from at its start and written to at its end; an empty file is an empty disk. `None`: it begins
    /// empty, and forgets what it holds.
    #[serde(default)]
    pub contents: Option<PathBuf>,
}

/// A request of the guest that has no reply yet.
#[derive(Debug)]
struct Pending {
    chain: Chain,
    request: Request,
}

/// The device.
struct Front {
    drive: Drive,
    role: String,
    config: [u8; config::LENGTH],
    features: u64,
    /// Tells whether every write is on the medium when it is replied to: the disk has reported no cache, so the guest does not flush.
    through: bool,
    memory: Memory,
    began: Instant,
    timer: OwnedFd,
    event_idx: bool,
    /// The outcome of asking for real-time priority; `None` before that.
    priority: Option<std::result::Result<(), String>>,
    /// Closes the connection to QEMU.
    connection: Option<ShutdownHandle>,
    /// The error that ended the service.
    broken: Option<String>,
    pending: HashMap<u64, Pending>,
    requests: u64,
    /// Bytes of the write that is being taken; the next field holds those of the read that is being replied to.
    bytes: Vec<u8>,
    data: Vec<u8>,
    replies: Vec<Reply>,
    notes: Notes,
}

/// Serves a disk to the one machine that connects to `listener`, until it goes away.
pub fn serve(listener: UnixListener, service: &Service) -> Result<ServingStats> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: &dyn std::fmt::Display| Error::Front { what, why: error.to_string() }
    };
    let front = Front::new(service)?;
    let timer = front.timer.as_raw_fd();
    let memory = front.memory.clone();
    let front = Arc::new(Mutex::new(front));
    let mut daemon = VhostUserDaemon::new(service.role.clone(), Arc::clone(&front), memory)
        .map_err(|error| failed("cannot be made")(&error))?;
    for handler in daemon.get_epoll_handlers() {
        handler
            .register_listener(timer, EventSet::IN, u64::from(TIMER))
            .map_err(|error| failed("cannot wait for its timer")(&error))?;
    }
    let mut listener = Listener::from(listener);
    daemon.start(&mut listener).map_err(|error| failed("cannot be connected to")(&error))?;
    front.lock().unwrap_or_else(PoisonError::into_inner).connection = daemon.shutdown_handle();
    let ended = daemon.wait();
    daemon.get_epoll_handlers().iter().for_each(|handler| handler.send_exit_event());
    let mut front = front.lock().unwrap_or_else(PoisonError::into_inner);
    let mut served = front.notes.finish();
    if let Some(why) = front.broken.take() {
        return Err(failed("cannot serve a request")(&why));
    }
    if let Some(path) = &service.contents {
        front.keep(path)?;
    }
    match ended {
        // A machine that ends closes the connection, whatever is under way.
        Ok(()) | Err(HandleRequest(Disconnected | PartialMessage)) => {}
        Err(error) => return Err(failed("cannot follow what QEMU asks for")(&error)),
    }
    served.priority = match front.priority.take() {
        Some(Err(why)) => Some(why),
        _ => None,
    };
    Ok(served)
}

impl Front {
    fn new(service: &Service) -> Result<Self> {
        let profile = service.like.profile()?;
        let size = service.size.0;
        let attributes = &service.attributes;
        let disk = Disk::new(&profile, size).limited(&attributes.limit);
        let disk = disk.with_faults(&service.faults, size, service.seed)?;
        let cached = attributes.write_cache.unwrap_or(profile.is_volatile());
        let store = contents(service)?;
        let header = Header {
            role: service.role.clone(),
            size,
            like: service.like.clone(),
            faults: service.faults.clone(),
            attributes: attributes.clone(),
        };
        let io = |what, path: &PathBuf| {
            let path = path.clone();
            move |source| Error::Io { what, path, source }
        };
        let trace = std::fs::File::options().write(true).open(&service.trace);
        let trace = trace.map_err(io("cannot write", &service.trace))?;
        let timer = rustix::time::timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        );
        let timer = timer.map_err(|e| io("cannot make a timer for", &service.trace)(e.into()))?;
        Ok(Self {
            // Without a cache, data are on the medium when the reply is sent.
            drive: Drive::new(disk, store).destaging(attributes.destage.filter(|_| cached)),
            role: service.role.clone(),
            config: config::bytes(size, attributes.logical_block.unwrap_or(512)),
            features: config::features(cached, attributes.discard.unwrap_or(true)),
            through: !cached,
            memory: GuestMemoryAtomic::new(GuestMemoryMmap::new()),
            began: Instant::now(),
            timer,
            event_idx: false,
            priority: None,
            connection: None,
            broken: None,
            pending: HashMap::new(),
            requests: 0,
            bytes: Vec::new(),
            data: Vec::new(),
            replies: Vec::new(),
            notes: Notes::begin(trace, &header, service.most_requests)?,
        })
    }

    /// Writes the present contents of the disk to a file.
    fn keep(&mut self, path: &Path) -> Result<()> {
        let io = |source| Error::Io { what: "cannot write", path: path.to_owned(), source };
        self.drive.advance(self.now(), &mut Vec::new());
        let mut file = std::fs::File::options().write(true).open(path).map_err(io)?;
        file.set_len(0).map_err(io)?;
        crate::contents::save(self.drive.store(), BufWriter::with_capacity(1 << 20, &mut file))
            .map_err(io)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Takes everything out of the ring.
    fn take(&mut self, ring: &VringMutex) -> std::io::Result<()> {
        let memory = self.memory.memory();
        loop {
            let next = ring.get_mut().get_queue_mut().pop_descriptor_chain(memory.clone());
            let Some(chain) = next else { return Ok(()) };
            self.submit(ring, chain)?;
        }
    }

    fn submit(&mut self, ring: &VringMutex, chain: Chain) -> std::io::Result<()> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let read = ring::read_request(&chain, &mut bytes);
        match read {
            GuestRequest::Serial => used(ring, &chain, ring::serial(&chain, &self.role))?,
            GuestRequest::Unknown => used(ring, &chain, ring::refuse(&chain))?,
            GuestRequest::Disk { op, offset, length } => {
                let arrival = self.now();
                self.replies_until(ring, arrival)?;
                self.requests += 1;
                let fua = self.through && op == Op::Write;
                let request = Request { id: self.requests, arrival, op, offset, length, fua };
                self.pending.insert(self.requests, Pending { chain, request });
                self.drive.submit(request, &bytes);
            }
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Sends the replies that are due.
    fn replies_until(&mut self, ring: &VringMutex, now: u64) -> std::io::Result<()> {
        let mut replies = std::mem::take(&mut self.replies);
        self.drive.advance(now, &mut replies);
        for reply in replies.drain(..) {
            self.reply(ring, reply)?;
        }
        self.replies = replies;
        Ok(())
    }

    fn reply(&mut self, ring: &VringMutex, reply: Reply) -> std::io::Result<()> {
        let Some(Pending { chain, request }) = self.pending.remove(&reply.id) else {
            return Ok(());
        };
        let mut well = reply.failed.is_none();
        let read = if well && request.op == Op::Read { request.length as usize } else { 0 };
        if self.data.len() < read {
            self.data.resize(read, 0);
        }
        // The old content of the buffer is overwritten everywhere: places that were never written read as zeroes.
        let data = self.data.get_mut(..read).unwrap_or_default();
        if read > 0 {
            well = self.drive.read(request.offset, data).is_ok();
        }
        used(ring, &chain, ring::answer(&chain, if well { data } else { &[] }, well))?;
        let late = self.now().saturating_sub(reply.at);
        self.notes.add(Record {
            arrival_ns: request.arrival,
            op: request.op,
            fua: request.fua,
            failed: !well,
            offset: request.offset,
            length: u32::try_from(request.length).unwrap_or(u32::MAX),
            latency_ns: reply.at.saturating_sub(request.arrival),
            late_ns: u32::try_from(late).unwrap_or(u32::MAX),
        });
        Ok(())
    }

    /// Takes the requests in the ring and sends the replies that are due. Requests that arrive while it does so are taken, too.
    fn serve_ring(&mut self, event: u16, rings: &[VringMutex]) -> std::io::Result<()> {
        if self.priority.is_none() {
            self.priority = Some(sys::priority::real_time().map_err(|error| error.to_string()));
        }
        let Some(ring) = rings.first() else { return Ok(()) };
        if event == TIMER {
            // The number of times that it was due does not matter.
            let _ = rustix::io::read(&self.timer, &mut [0; 8]);
        }
        loop {
            if self.event_idx {
                ring.disable_notification().map_err(std::io::Error::other)?;
            }
            self.take(ring)?;
            let now = self.now();
            self.replies_until(ring, now)?;
            let more =
                self.event_idx && ring.enable_notification().map_err(std::io::Error::other)?;
            if !more {
                break;
            }
        }
        if ring.needs_notification().map_err(std::io::Error::other)? {
            ring.signal_used_queue()?;
        }
        self.set_timer()
    }

    /// Sets the timer to the next event.
    fn set_timer(&self) -> std::io::Result<()> {
        let at = self.drive.next().map_or(0, |at| at.saturating_sub(self.now()).max(1));
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec {
            tv_sec: i64::try_from(at / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (at % 1_000_000_000) as i64,
        };
        let new = Itimerspec { it_interval: none, it_value: value };
        rustix::time::timerfd_settime(self.timer.as_fd(), TimerfdTimerFlags::empty(), &new)?;
        Ok(())
    }
}

/// Returns the contents of a disk at its start.
fn contents(service: &Service) -> Result<Store> {
    let empty = || Store::new(service.size.0, service.most);
    let Some(path) = &service.contents else { return Ok(empty()) };
    let io = |source| Error::Io { what: "cannot read", path: path.clone(), source };
    let file = std::fs::File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.len() == 0 {
        return Ok(empty());
    }
    let from = BufReader::with_capacity(1 << 20, file);
    let mut store = crate::contents::load(from, service.size.0, service.most).map_err(io)?;
    // The disk was idle and had power until now, so that everything is on the medium.
    store.stable(0, service.size.0, u64::MAX);
    Ok(store)
}

fn used(ring: &VringMutex, chain: &Chain, length: u32) -> std::io::Result<()> {
    ring.add_used(chain.head_index(), length).map_err(std::io::Error::other)
}

impl VhostUserBackendMut for Front {
    type Bitmap = ();
    type Vring = VringMutex;

    fn num_queues(&self) -> usize {
        1
    }

    fn max_queue_size(&self) -> usize {
        LARGEST_RING
    }

    fn features(&self) -> u64 {
        let ring = 1 << VIRTIO_RING_F_INDIRECT_DESC | 1 << VIRTIO_RING_F_EVENT_IDX;
        let protocol = VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();
        self.features | ring | protocol | 1 << VIRTIO_F_VERSION_1
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG
    }

    fn exit_event(&self, _thread: usize) -> Option<(EventConsumer, EventNotifier)> {
        new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC).ok()
    }

    fn set_event_idx(&mut self, enabled: bool) {
        self.event_idx = enabled;
    }

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        let at = |i: u32| self.config.get(i as usize).copied().unwrap_or(0);
        (offset..offset.saturating_add(size)).map(at).collect()
    }

    fn update_memory(&mut self, memory: Memory) -> std::io::Result<()> {
        self.memory = memory;
        Ok(())
    }

    /// Serves the ring. An error ends the service and is kept, since the caller would drop it and the guest would wait for ever.
    fn handle_event(
        &mut self,
        event: u16,
        _set: EventSet,
        rings: &[VringMutex],
        _thread: usize,
    ) -> std::io::Result<()> {
        let done = self.serve_ring(event, rings);
        if let Err(error) = &done {
            self.broken = Some(error.to_string());
            if let Some(connection) = &self.connection {
                connection.shutdown();
            }
        }
        done
    }
}
