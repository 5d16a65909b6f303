//! Linux native asynchronous I/O (libaio) by its system calls: one call submits everything that was pushed, another collects completions.
//!
//! It supports reads, writes and syncs. Discards and zeroing are plain system calls, made while the worker waits.

use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

use crate::backend::calls::{self, errno};
use crate::backend::{Backend, Buffers, Files, Reaped, Transfer, Verb, Wait, kernel};
use crate::error::{EngineError, ErrorKind};

/// The longest time that dropping a queue waits for I/Os in flight; then it leaves their memory to the kernel.
const DROP_DEADLINE: Duration = Duration::from_secs(5);

const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;

/// The kernel's `struct iocb` on little-endian machines.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Request {
    data: u64,
    key: u32,
    flags: i32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    request_flags: u32,
    event_fd: u32,
}

/// The kernel's `struct io_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    data: u64,
    request: u64,
    result: i64,
    more: i64,
}

pub(crate) struct Aio {
    context: libc::c_ulong,
    files: Files,
    buffers: ManuallyDrop<Buffers>,
    requests: Box<[Request]>,
    /// Slots that were pushed and not submitted, as pointers to their requests.
    pushed: Vec<*mut Request>,
    /// Transfers that libaio does not support (discards, zeroing); a system call does each.
    calls: Vec<(u32, Transfer)>,
    /// Completions of these calls, and requests that the kernel refused.
    done: Vec<Reaped>,
    ended: Box<[Ended]>,
    arrived: usize,
    in_kernel: usize,
    given_up: bool,
}

// SAFETY: the pointers point into `requests`, which this value owns and which never moves.
unsafe impl Send for Aio {}

impl Aio {
    /// A queue for `depth` I/Os of up to `length` bytes.
    pub(crate) fn new(files: Files, depth: usize, length: usize) -> Result<Self, EngineError> {
        let buffers = Buffers::new(depth, length)?;
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes one number to `context`.
        let made =
            unsafe { libc::syscall(libc::SYS_io_setup, depth as libc::c_uint, &raw mut context) };
        if made < 0 {
            return Err(unusable(errno()));
        }
        Ok(Self {
            context,
            files,
            buffers: ManuallyDrop::new(buffers),
            requests: vec![Request::default(); depth].into_boxed_slice(),
            pushed: Vec::with_capacity(depth),
            calls: Vec::new(),
            done: Vec::with_capacity(depth),
            ended: vec![Ended::default(); depth].into_boxed_slice(),
            arrived: 0,
            in_kernel: 0,
            given_up: false,
        })
    }

    /// Submits what was pushed. An I/O that the kernel refuses ends with its error.
    #[inline(always)]
    fn submit(&mut self) {
        let mut from = 0;
        while from < self.pushed.len() {
            let rest = &self.pushed[from..];
            // SAFETY: the pointers point to requests of slots in flight, which stay until they are reaped.
            let taken = unsafe { kernel::io_submit(self.context, rest.len(), rest.as_ptr()) };
            if taken > 0 {
                from += taken as usize;
                self.in_kernel += taken as usize;
                continue;
            }
            // The first of the rest was refused; the others are tried again.
            // SAFETY: as above.
            let slot = unsafe { (*rest[0]).data } as u32;
            let result = if taken < 0 { taken as i32 } else { -libc::EAGAIN };
            self.done.push(Reaped { slot, result });
            from += 1;
        }
        self.pushed.clear();
    }

    /// Performs the transfers that libaio does not support. In `turn`, not in `push`: the submission stamp is taken between the two, and
    /// latency counts from it.
    #[cold]
    fn call(&mut self) {
        for (slot, transfer) in self.calls.drain(..) {
            let result = calls::change(&self.files, &transfer);
            self.done.push(Reaped { slot, result });
        }
    }

    /// Collects completions into `ended`, after those collected earlier and not yet reaped; waits for at least `least` more, no longer than
    /// `patience`.
    #[inline(always)]
    fn collect(&mut self, least: usize, patience: Duration) -> Result<(), EngineError> {
        let time = libc::timespec {
            tv_sec: patience.as_secs() as libc::time_t,
            tv_nsec: patience.subsec_nanos().into(),
        };
        let places = &mut self.ended[self.arrived..];
        let (least, ended) = ((least, places.len()), places.as_mut_ptr());
        // SAFETY: there is room for as many events as there are places.
        let got = unsafe { kernel::io_getevents(self.context, least, ended, &time) };
        if got >= 0 {
            self.arrived += got as usize;
            return Ok(());
        }
        match -got as i32 {
            libc::EINTR => Ok(()),
            error => Err(unusable(error)),
        }
    }
}

impl Backend for Aio {
    fn depth(&self) -> usize {
        self.requests.len()
    }

    fn portion(&self) -> usize {
        super::portion(self.depth(), self.in_flight())
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.pushed.len() + self.calls.len() + self.done.len() + self.in_kernel
    }

    #[inline]
    fn slot(&mut self, slot: usize) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    #[inline]
    fn push(&mut self, slot: usize, transfer: &Transfer) {
        let opcode = match transfer.verb {
            Verb::Read => PREAD,
            Verb::Write => PWRITE,
            Verb::Fsync => FSYNC,
            Verb::Fdatasync => FDSYNC,
            Verb::Discard | Verb::WriteZeroes => {
                return self.calls.push((slot as u32, *transfer));
            }
        };
        let memory = self.buffers.address(slot).wrapping_add(transfer.done as usize);
        let moves = transfer.verb.moves();
        let request = &mut self.requests[slot];
        *request = Request {
            data: slot as u64,
            opcode,
            fd: self.files.fd(transfer.target) as u32,
            buffer: if moves { memory as u64 } else { 0 },
            bytes: if moves { transfer.left().into() } else { 0 },
            offset: if moves { transfer.at() as i64 } else { 0 },
            flags: if transfer.durable && transfer.is_write() { libc::RWF_DSYNC } else { 0 },
            ..Request::default()
        };
        self.pushed.push(request);
    }

    #[inline(always)]
    fn turn(&mut self, wait: Wait) -> Result<(), EngineError> {
        self.submit();
        if !self.calls.is_empty() {
            self.call();
        }
        let running = self.in_kernel - self.arrived;
        if running == 0 {
            return Ok(());
        }
        // Completions of an earlier turn that did not wait count too.
        let here = self.done.len() + self.arrived;
        self.collect(wait.completions.saturating_sub(here).min(running), wait.patience)
    }

    #[inline]
    fn reap(&mut self, into: &mut Vec<Reaped>) {
        into.append(&mut self.done);
        for ended in &self.ended[..self.arrived] {
            into.push(Reaped { slot: ended.data as u32, result: ended.result as i32 });
        }
        self.in_kernel -= self.arrived;
        self.arrived = 0;
    }

    fn give_up(&mut self) {
        self.given_up = true;
    }
}

impl Drop for Aio {
    /// Waits for the I/Os in flight. An I/O that does not end in time keeps its memory, since the kernel may still write to it.
    fn drop(&mut self) {
        let start = Instant::now();
        while self.in_kernel > 0 && !self.given_up && start.elapsed() < DROP_DEADLINE {
            if self.collect(1, Duration::from_millis(50)).is_err() {
                break;
            }
            self.in_kernel -= self.arrived;
            self.arrived = 0;
        }
        if self.in_kernel == 0 {
            // SAFETY: the context was made by `new`, nothing is in flight, and it is not used afterwards.
            unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
            // SAFETY: dropped once, here; the kernel holds no pointer into it any more.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        }
    }
}

#[cold]
fn unusable(error: i32) -> EngineError {
    let help = match error {
        libc::EAGAIN => "raise fs.aio-max-nr, or use a smaller depth",
        libc::ENOSYS => "the kernel was built without it: use --backend io_uring or sync",
        _ => "use --backend io_uring or sync",
    };
    EngineError::new(ErrorKind::Environment, "The kernel gives no queue for libaio", help)
        .because(std::io::Error::from_raw_os_error(error))
}
