//! Bytes of files: what is written comes from the project's generator, and what is read goes nowhere.

use std::os::fd::OwnedFd;

use content::Source;
use rustix::fs::{fdatasync, fsync};
use rustix::io::{Errno, pread, pwrite};
use sys::stamps::Stamps;
use tree::{Expectation, Step, StepOutcome, Sync};

/// Bytes that are made at a time; a longer request is several calls.
const BUFFER: usize = 1 << 20;

/// The call that made a file durable after an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Synced {
    pub sync: Sync,
    pub latency_ns: u64,
    /// 0 where it was done.
    pub errno: i32,
}

/// Reads and writes the bytes of one worker's files.
pub(crate) struct Writer {
    source: Source,
    buffer: Box<[u8]>,
    /// Bytes of the buffer that are made and not written yet.
    fresh: std::ops::Range<usize>,
    pub stamps: Stamps,
    /// Time of an operation that is not its own, nanoseconds: to make bytes, and to make them durable.
    pub away_ns: u64,
    pub synced: Option<Synced>,
}

impl Writer {
    pub(crate) fn new(source: Source, stamps: Stamps) -> Self {
        let buffer = vec![0; BUFFER].into();
        Self { source, buffer, fresh: 0..0, stamps, away_ns: 0, synced: None }
    }

    /// Makes ready for an operation, before its time begins.
    pub(crate) fn prepare(&mut self, step: &Step) {
        (self.away_ns, self.synced, self.fresh) = (0, None, 0..0);
        if step.op.writes() && step.expected == Expectation::Done {
            self.make(step.amount);
        }
    }

    /// Does what is no part of an operation's own time.
    pub(crate) fn aside<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begin_ns = self.stamps.now_ns();
        let done = work();
        self.away_ns += self.stamps.now_ns() - begin_ns;
        done
    }

    /// Makes the next bytes, for so many that are left to be written.
    fn make(&mut self, left: u64) {
        self.fresh = 0..left.min(BUFFER as u64) as usize;
        self.source.fill_next(&mut self.buffer[self.fresh.clone()]);
    }

    /// Writes what an operation writes; the answer gets the bytes, whatever comes of it.
    pub(crate) fn write(
        &mut self,
        file: &OwnedFd,
        step: &Step,
        outcome: &mut StepOutcome,
    ) -> Result<(), Errno> {
        for request in step.requests() {
            let mut done = 0;
            while done < request.bytes {
                if self.fresh.is_empty() {
                    let begin_ns = self.stamps.now_ns();
                    self.make(step.amount - outcome.bytes);
                    self.away_ns += self.stamps.now_ns() - begin_ns;
                }
                let bytes = (request.bytes - done).min(self.fresh.len() as u64) as usize;
                let bytes = &self.buffer[self.fresh.start..][..bytes];
                let written = again(|| pwrite(file, bytes, request.offset + done))?;
                if written == 0 {
                    return Ok(());
                }
                self.fresh.start += written;
                done += written as u64;
                outcome.bytes += written as u64;
            }
        }
        Ok(())
    }

    /// Reads what an operation reads.
    pub(crate) fn read(
        &mut self,
        file: &OwnedFd,
        step: &Step,
        outcome: &mut StepOutcome,
    ) -> Result<(), Errno> {
        for request in step.requests() {
            let mut done = 0;
            while done < request.bytes {
                let bytes = (request.bytes - done).min(BUFFER as u64) as usize;
                let offset = request.offset + done;
                let read = again(|| pread(file, &mut self.buffer[..bytes], offset))?;
                if read == 0 {
                    return Ok(());
                }
                done += read as u64;
                outcome.bytes += read as u64;
            }
        }
        Ok(())
    }

    /// Makes a file durable, where the operation asks for it.
    pub(crate) fn sync(&mut self, file: &OwnedFd, step: &Step) {
        let Some(sync) = step.sync else { return };
        let begin_ns = self.stamps.now_ns();
        let done = match sync {
            Sync::Fsync => fsync(file),
            Sync::Fdatasync => fdatasync(file),
        };
        let latency_ns = self.stamps.now_ns() - begin_ns;
        self.away_ns += latency_ns;
        let errno = done.err().map_or(0, Errno::raw_os_error);
        self.synced = Some(Synced { sync, latency_ns, errno });
    }
}

/// Makes a call until no signal cuts it off.
fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
