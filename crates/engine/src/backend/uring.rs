//! The io_uring backend: one ring with registered buffers and files. A slot's memory is lent to the kernel from `push` to `reap`.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use crate::backend::{Backend, Buffers, Files, Reaped, Transfer, Verb, Wait, calls, kernel};
use crate::cpu_affinity::CpuAffinity;
use crate::error::{EngineError, ErrorKind};

/// The longest time that dropping a ring waits for I/Os in flight; then it leaves their memory to the kernel.
const DROP_DEADLINE: Duration = Duration::from_secs(5);

/// `BLOCK_URING_CMD_DISCARD`: `_IO(0x12, 0)`, since Linux 6.12.
const BLOCK_DISCARD: u32 = 0x1200;

/// A ring, the files it works on and the buffers it works with.
pub(crate) struct Ring {
    ring: ManuallyDrop<IoUring>,
    buffers: ManuallyDrop<Buffers>,
    files: Files,
    /// The transfer in flight of each slot; `None` when the slot's memory is the caller's.
    lent: Box<[Option<Transfer>]>,
    in_flight: usize,
    registered_buffers: bool,
    registered_files: bool,
    /// Tells whether the ring is assumed to support discards of block devices as commands.
    discards: bool,
    /// I/Os that this kernel's rings do not support; a plain system call does each.
    calls: Vec<(u32, Transfer)>,
    /// Completions of these calls.
    done: Vec<Reaped>,
    given_up: bool,
}

impl Ring {
    /// A ring for `depth` I/Os of up to `length` bytes. Uses features of newer kernels where they are offered, and works without them elsewhere.
    pub(crate) fn new(files: Files, depth: usize, length: usize) -> Result<Self, EngineError> {
        Self::over(set_up(depth)?, files, depth, length)
    }

    fn over(ring: IoUring, files: Files, depth: usize, length: usize) -> Result<Self, EngineError> {
        let buffers = Buffers::new(depth, length)?;
        // SAFETY: the mapping outlives the ring, or is left to the kernel for ever (see `Drop`).
        let registered_buffers = unsafe { ring.submitter().register_buffers(&[buffers.iovec()]) };
        let registered_files = ring.submitter().register_files(&files.fds()).is_ok();
        Ok(Self {
            ring: ManuallyDrop::new(ring),
            buffers: ManuallyDrop::new(buffers),
            files,
            lent: vec![None; depth].into_boxed_slice(),
            in_flight: 0,
            registered_buffers: registered_buffers.is_ok(),
            registered_files,
            discards: true,
            calls: Vec::new(),
            done: Vec::with_capacity(depth),
            given_up: false,
        })
    }

    /// Pins this ring's kernel workers to these CPUs, like the worker's thread. Kernels before 5.14 cannot do this and leave them where they are.
    pub(crate) fn pin(&self, place: &CpuAffinity) {
        let _ = self.ring.submitter().register_iowq_aff(&place.set());
    }

    /// Performs the I/Os that this kernel's rings do not support. In `turn`, not in `push`: the submission stamp is taken between the two,
    /// and latency counts from it.
    #[cold]
    fn call(&mut self) {
        for (slot, transfer) in self.calls.drain(..) {
            let result = calls::change(&self.files, &transfer);
            self.done.push(Reaped { slot, result });
        }
    }

    /// Number of entries to be submitted, and whether the kernel keeps completions for which there was no room.
    #[inline(always)]
    fn queued(&mut self) -> (usize, bool) {
        let queue = self.ring.submission();
        (queue.len(), queue.cq_overflow())
    }

    /// Returns the result of a turn whose call failed with `error`.
    #[cold]
    fn turned_away(&mut self, error: i32) -> Result<(), EngineError> {
        match error {
            libc::ETIME | libc::EINTR => Ok(()),
            libc::EAGAIN | libc::EBUSY => {
                // The kernel has no memory for requests, or wants completions to be reaped first: the next turn tries again, but not in a hot loop.
                if self.ring.completion().is_empty() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(())
            }
            _ => Err(unusable(io::Error::from_raw_os_error(error))),
        }
    }

    #[inline]
    fn entry(&self, slot: usize, transfer: &Transfer) -> squeue::Entry {
        let memory = self.buffers.address(slot).wrapping_add(transfer.done as usize);
        let (at, left) = (transfer.at(), transfer.left());
        let flags = if transfer.durable { libc::RWF_DSYNC } else { 0 };
        macro_rules! of {
            ($fd:expr) => {
                match transfer.verb {
                    Verb::Read if self.registered_buffers => {
                        opcode::ReadFixed::new($fd, memory, left, 0).offset(at).build()
                    }
                    Verb::Read => opcode::Read::new($fd, memory, left).offset(at).build(),
                    Verb::Write if self.registered_buffers => {
                        opcode::WriteFixed::new($fd, memory.cast_const(), left, 0)
                            .offset(at)
                            .rw_flags(flags)
                            .build()
                    }
                    Verb::Write => opcode::Write::new($fd, memory.cast_const(), left)
                        .offset(at)
                        .rw_flags(flags)
                        .build(),
                    Verb::Fsync => opcode::Fsync::new($fd).build(),
                    Verb::Fdatasync => opcode::Fsync::new($fd).flags(FsyncFlags::DATASYNC).build(),
                    Verb::Discard if self.files.is_block(transfer.target) => {
                        let mut command = [0; 16];
                        command[..8].copy_from_slice(&u64::from(left).to_ne_bytes());
                        opcode::UringCmd16::new($fd, BLOCK_DISCARD)
                            .addr(Some(at))
                            .cmd(command)
                            .build()
                    }
                    Verb::Discard | Verb::WriteZeroes => opcode::Fallocate::new($fd, left.into())
                        .offset(at)
                        .mode(calls::mode(transfer.verb))
                        .build(),
                }
            };
        }
        if self.registered_files {
            of!(Fixed(transfer.target.into()))
        } else {
            of!(Fd(self.files.fd(transfer.target)))
        }
    }
}

impl Backend for Ring {
    fn depth(&self) -> usize {
        self.lent.len()
    }

    fn portion(&self) -> usize {
        super::portion(self.depth(), self.in_flight)
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.in_flight
    }

    #[inline]
    fn slot(&mut self, slot: usize) -> &mut [u8] {
        assert!(self.lent[slot].is_none(), "slot {slot} belongs to the kernel");
        self.buffers.slot(slot)
    }

    #[inline]
    fn push(&mut self, slot: usize, transfer: &Transfer) {
        assert!(self.lent[slot].is_none(), "slot {slot} belongs to the kernel");
        let fits = transfer.length as usize <= self.buffers.length();
        assert!(fits && (transfer.left() > 0 || !transfer.verb.moves()), "{transfer:?}");
        self.lent[slot] = Some(*transfer);
        self.in_flight += 1;
        if transfer.verb == Verb::Discard && !self.discards && self.files.is_block(transfer.target)
        {
            return self.calls.push((slot as u32, *transfer));
        }
        let entry = self.entry(slot, transfer).user_data(slot as u64);
        // SAFETY: the slot's memory stays mapped and is not touched until its completion is reaped (`lent`);
        // the files stay open as long as the ring. There is room: the queue has an entry for each slot, and
        // `turn` empties it or leaves entries of slots that are lent.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the queue has an entry for each slot");
    }

    #[inline(always)]
    fn turn(&mut self, wait: Wait) -> Result<(), EngineError> {
        let idle = self.done.is_empty() && self.calls.is_empty();
        let least = if idle { wait.completions.min(self.in_flight) } else { 0 };
        let ring = self.ring.as_raw_fd();
        // Submitted without waiting first: the I/O is often complete when the call returns, while a call that also waits would put the thread to
        // sleep and wake it again, at worst on another CPU.
        let mut called = 0;
        let (pushed, kept) = self.queued();
        if pushed > 0 {
            // SAFETY: what is in flight is lent to the kernel, its memory stays mapped and is not touched.
            called = unsafe { kernel::ring_submit(ring, pushed, kept) };
        }
        if !self.calls.is_empty() {
            self.call();
        }
        if called >= 0 && self.ring.completion().len() < least {
            let patience = Timespec::from(wait.patience);
            let limit = SubmitArgs::new().timespec(&patience);
            let (pushed, _) = self.queued();
            // SAFETY: as above.
            called = unsafe { kernel::ring_wait(ring, pushed, least, &limit) };
        }
        if called >= 0 { Ok(()) } else { self.turned_away(-called as i32) }
    }

    #[inline]
    fn reap(&mut self, into: &mut Vec<Reaped>) {
        for done in self.done.drain(..) {
            self.lent[done.slot as usize] = None;
            self.in_flight -= 1;
            into.push(done);
        }
        let Self { ring, lent, in_flight, files, discards, .. } = self;
        for entry in ring.completion() {
            let slot = entry.user_data() as u32;
            let Some(transfer) = lent.get_mut(slot as usize).and_then(Option::take) else {
                continue;
            };
            *in_flight -= 1;
            let mut result = transfer.moved(entry.result());
            if result == -libc::EOPNOTSUPP && transfer.verb == Verb::Discard {
                // The kernel does not know the command; a plain call performs it, or reports why it cannot.
                *discards = false;
                result = calls::change(files, &transfer);
            }
            into.push(Reaped { slot, result });
        }
    }

    fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Always 0: the queue has two places for each slot, and the kernel keeps what does not fit (`IORING_FEAT_NODROP`).
    fn overflowed(&mut self) -> u32 {
        self.ring.completion().overflow()
    }

    fn is_registered(&self) -> bool {
        self.registered_buffers && self.registered_files
    }
}

impl Drop for Ring {
    /// Waits for the I/Os in flight. An I/O that does not end in time keeps its memory, since the kernel may still write to it.
    fn drop(&mut self) {
        let (start, mut ended) = (Instant::now(), Vec::with_capacity(self.lent.len()));
        while self.in_flight > 0 && !self.given_up && start.elapsed() < DROP_DEADLINE {
            let wait = Wait { completions: 1, patience: Duration::from_millis(50) };
            if self.turn(wait).is_err() {
                break;
            }
            self.reap(&mut ended);
            ended.clear();
        }
        if self.in_flight == 0 {
            // The kernel ends a ring some time after its descriptor is closed. Until then the target would be busy for whoever takes its stack down
            // now, so the file is given back first.
            let submitter = self.ring.submitter();
            let _ = (submitter.unregister_files(), submitter.unregister_buffers());
            // SAFETY: dropped once, here, and not used afterwards; nothing is in flight. The ring goes first.
            unsafe {
                ManuallyDrop::drop(&mut self.ring);
                ManuallyDrop::drop(&mut self.buffers);
            }
        }
    }
}

/// The best ring that the kernel gives.
fn set_up(depth: usize) -> Result<IoUring, EngineError> {
    let entries = u32::try_from(depth).unwrap_or(u32::MAX).next_power_of_two();
    let builder = || {
        let mut builder = IoUring::builder();
        builder.setup_cqsize(entries.saturating_mul(2)).dontfork();
        builder
    };
    // Not DEFER_TASKRUN: with it completions appear only in a call that asks for them, so that each turn needs one that waits.
    let ring = builder()
        .setup_single_issuer()
        .setup_coop_taskrun()
        .setup_submit_all()
        .build(entries)
        .or_else(|_| builder().setup_coop_taskrun().setup_submit_all().build(entries))
        .or_else(|_| builder().build(entries))
        .map_err(unusable)?;
    if ring.params().is_feature_ext_arg() && ring.params().is_feature_nodrop() {
        Ok(ring)
    } else {
        Err(unusable(io::Error::from_raw_os_error(libc::ENOSYS)))
    }
}

fn unusable(source: io::Error) -> EngineError {
    let help = match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "allow it: sysctl kernel.io_uring_disabled=0, and no seccomp filter against it"
        }
        Some(libc::ENOMEM) => {
            "raise the limit of locked memory (ulimit -l), or use a smaller depth"
        }
        Some(libc::EINVAL) => "use a smaller depth: the kernel allows at most 32768",
        _ => "a kernel from 5.11 on with io_uring is needed",
    };
    EngineError::new(ErrorKind::Environment, "The kernel gives no io_uring", help).because(source)
}

#[cfg(test)]
mod tests;
