//! One io_uring with its file and its buffers: a slot's memory is lent to the kernel from `push` to `reap`.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use crate::buffers::Buffers;
use crate::error::{EngineError, Kind};

/// How long dropping a ring waits for what is still in flight before it leaves the memory to the kernel.
const DROP_DEADLINE: Duration = Duration::from_secs(5);

/// What is to be moved for a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// To the target, or from it.
    pub write: bool,
    /// Where in the target, bytes.
    pub offset: u64,
    /// How much in all, bytes.
    pub length: u32,
    /// How much of it was moved by earlier attempts, bytes.
    pub done: u32,
}

/// A ring, the file it works on and the buffers it works with.
pub(crate) struct Ring {
    ring: ManuallyDrop<IoUring>,
    buffers: ManuallyDrop<Buffers>,
    file: File,
    /// Slots whose memory the kernel may be using.
    lent: Vec<bool>,
    in_flight: usize,
    registered_buffers: bool,
    registered_file: bool,
}

impl Ring {
    /// A ring for `depth` I/Os of up to `length` bytes. Takes what newer kernels offer and does without where they do not.
    pub(crate) fn new(file: File, depth: usize, length: usize) -> Result<Self, EngineError> {
        let buffers = Buffers::new(depth, length)?;
        let ring = set_up(depth)?;
        // SAFETY: the mapping outlives the ring, or is left to the kernel for ever (see `Drop`).
        let registered_buffers = unsafe { ring.submitter().register_buffers(&[buffers.iovec()]) };
        let registered_file = ring.submitter().register_files(&[file.as_raw_fd()]).is_ok();
        Ok(Self {
            ring: ManuallyDrop::new(ring),
            buffers: ManuallyDrop::new(buffers),
            file,
            lent: vec![false; depth],
            in_flight: 0,
            registered_buffers: registered_buffers.is_ok(),
            registered_file,
        })
    }

    /// Whether buffers and file are registered, both.
    pub(crate) fn is_registered(&self) -> bool {
        self.registered_buffers && self.registered_file
    }

    /// Slots that there are.
    pub(crate) fn depth(&self) -> usize {
        self.lent.len()
    }

    /// I/Os that were pushed and not reaped.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The memory of a slot that is not in flight.
    pub(crate) fn slot(&mut self, slot: usize) -> &mut [u8] {
        assert!(!self.lent[slot], "slot {slot} belongs to the kernel");
        self.buffers.slot(slot)
    }

    /// Queues `transfer` from or to the memory of `slot`; nothing reaches the kernel before [`Ring::turn`].
    pub(crate) fn push(&mut self, slot: usize, transfer: Transfer) {
        assert!(!self.lent[slot], "slot {slot} belongs to the kernel");
        let entry = self.entry(slot, transfer).user_data(slot as u64);
        // SAFETY: the slot's memory stays mapped and is not touched until its completion is reaped (`lent`);
        // the file stays open as long as the ring. There is room: the queue has an entry for each slot, and
        // `turn` empties it or leaves entries of slots that are lent.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the queue has an entry for each slot");
        self.lent[slot] = true;
        self.in_flight += 1;
    }

    fn entry(&self, slot: usize, transfer: Transfer) -> squeue::Entry {
        let Transfer { write, offset, length, done } = transfer;
        assert!(done < length && length as usize <= self.buffers.length(), "{transfer:?}");
        let address = self.buffers.address(slot).wrapping_add(done as usize);
        let (offset, length) = (offset + u64::from(done), length - done);
        macro_rules! entry {
            ($fd:expr) => {
                match (write, self.registered_buffers) {
                    (false, true) => {
                        opcode::ReadFixed::new($fd, address, length, 0).offset(offset).build()
                    }
                    (true, true) => opcode::WriteFixed::new($fd, address.cast_const(), length, 0)
                        .offset(offset)
                        .build(),
                    (false, false) => {
                        opcode::Read::new($fd, address, length).offset(offset).build()
                    }
                    (true, false) => {
                        opcode::Write::new($fd, address.cast_const(), length).offset(offset).build()
                    }
                }
            };
        }
        if self.registered_file { entry!(Fixed(0)) } else { entry!(Fd(self.file.as_raw_fd())) }
    }

    /// Submits what was pushed and waits for at least one completion, in one system call, for at most `patience`.
    ///
    /// Signals, a timeout and a kernel that is short of something end the wait early; only a ring that
    /// cannot work at all is an error.
    pub(crate) fn turn(&mut self, patience: Duration) -> Result<(), EngineError> {
        let patience = Timespec::from(patience);
        let arguments = SubmitArgs::new().timespec(&patience);
        match self.ring.submitter().submit_with_args(1, &arguments) {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR) => Ok(()),
                Some(libc::EAGAIN | libc::EBUSY) => {
                    // No memory for requests, or completions to take first: ask again, but not in a hot loop.
                    if self.ring.completion().is_empty() {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    Ok(())
                }
                _ => Err(unusable(error)),
            },
        }
    }

    /// Hands every completion that is there to `take` as (slot, result); the slot's memory is the caller's again.
    pub(crate) fn reap(&mut self, mut take: impl FnMut(usize, i32)) {
        for entry in self.ring.completion() {
            let slot = entry.user_data() as usize;
            if self.lent.get(slot) == Some(&true) {
                self.lent[slot] = false;
                self.in_flight -= 1;
                take(slot, entry.result());
            }
        }
    }

    /// Completions that the kernel had to drop because their queue was full: 0, as the queue holds all slots twice.
    pub(crate) fn overflowed(&mut self) -> u32 {
        self.ring.completion().overflow()
    }
}

impl Drop for Ring {
    /// Waits for what is in flight. What does not end in time keeps its memory: the kernel may still write to it.
    fn drop(&mut self) {
        let start = Instant::now();
        while self.in_flight > 0 && start.elapsed() < DROP_DEADLINE {
            if self.turn(Duration::from_millis(50)).is_err() {
                break;
            }
            self.reap(|_, _| {});
        }
        if self.in_flight == 0 {
            // The kernel ends a ring some time after its descriptor is closed. Whoever takes the target's stack down
            // now must not find it busy until then, so the file is given back first.
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
    let ring = builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
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
    EngineError::new(Kind::Environment, "The kernel gives no io_uring", help).because(source)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn ring(bytes: u64, depth: usize) -> Ring {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        Ring::new(file, depth, 4096).unwrap()
    }

    fn transfer(write: bool, offset: u64) -> Transfer {
        Transfer { write, offset, length: 4096, done: 0 }
    }

    fn wait(ring: &mut Ring) -> Vec<(usize, i32)> {
        let mut seen = Vec::new();
        while ring.in_flight() > 0 {
            ring.turn(Duration::from_secs(10)).unwrap();
            ring.reap(|slot, result| seen.push((slot, result)));
        }
        seen.sort_unstable();
        seen
    }

    #[test]
    fn what_is_written_is_read_back_with_and_without_registration() {
        for registered in [true, false] {
            let mut ring = ring(1 << 20, 3);
            assert!(ring.is_registered());
            (ring.registered_buffers, ring.registered_file) = (registered, registered);
            for slot in 0..3 {
                ring.slot(slot).fill(slot as u8 + 1);
                ring.push(slot, transfer(true, slot as u64 * 8192));
            }
            assert_eq!(wait(&mut ring), [(0, 4096), (1, 4096), (2, 4096)]);
            for slot in 0..3 {
                ring.push(slot, transfer(false, (2 - slot as u64) * 8192));
            }
            wait(&mut ring);
            assert!((0..3).all(|s| ring.slot(s).iter().all(|&b| b == 3 - s as u8)));
        }
    }

    #[test]
    fn the_rest_of_a_short_transfer_goes_to_the_right_place() {
        let mut ring = ring(8192, 1);
        for (i, byte) in ring.slot(0).iter_mut().enumerate() {
            *byte = (i / 512) as u8;
        }
        ring.push(0, Transfer { done: 1024, ..transfer(true, 4096) });
        assert_eq!(wait(&mut ring), [(0, 3072)]);
        let mut bytes = [9; 4096];
        ring.file.read_exact_at(&mut bytes, 4096).unwrap();
        assert!(bytes[..1024].iter().all(|&b| b == 0));
        assert!(bytes[1024..].iter().enumerate().all(|(i, &b)| b == (i / 512) as u8 + 2));
    }

    #[test]
    #[should_panic(expected = "belongs to the kernel")]
    fn memory_that_is_in_flight_cannot_be_had() {
        let mut ring = ring(8192, 1);
        ring.push(0, transfer(false, 0));
        ring.slot(0);
    }

    #[test]
    fn dropping_a_ring_waits_for_what_is_in_flight() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let mut ring = Ring::new(file.try_clone().unwrap(), 64, 4096).unwrap();
        for slot in 0..64 {
            ring.slot(slot).fill(7);
            ring.push(slot, transfer(true, slot as u64 * 4096));
        }
        ring.turn(Duration::ZERO).unwrap();
        drop(ring);
        let mut bytes = vec![0; 64 * 4096];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert!(bytes.iter().all(|&b| b == 7));
    }

    #[test]
    fn a_wait_without_anything_to_wait_for_ends_in_time() {
        let mut ring = ring(8192, 1);
        let start = Instant::now();
        ring.turn(Duration::from_millis(20)).unwrap();
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_eq!(ring.overflowed(), 0);
    }
}
