//! The log of every I/O: workers put records into bounded queues, and a separate thread writes them to disk.
//!
//! A worker never waits: a record that finds its queue full is dropped and counted. A queue has one writer and one reader
//! and no lock.

use std::cell::UnsafeCell;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use results::draft::Draft;
use results::iolog::{self, Closing, Header, IoRecord, RECORD};
use results::model::IoLogFacts;

use crate::error::{EngineError, ErrorKind};
use crate::record::{Completion, IoLogKeeper, IoLogTarget};

/// Records that all queues together hold: 20 MiB.
const QUEUED: usize = 1 << 19;
/// Records that are written at once.
const BATCH: usize = 4096;
/// The time that the thread sleeps when all queues are empty.
const PAUSE: Duration = Duration::from_millis(2);

struct Queue {
    places: Box<[UnsafeCell<IoRecord>]>,
    /// Records ever put in; written by the worker.
    put: AtomicUsize,
    /// Records ever taken out; written by the thread.
    taken: AtomicUsize,
    /// Records that found no room; written by the worker.
    dropped: AtomicU64,
}

// SAFETY: the worker writes places `put` to `taken + length - 1`, the thread reads places `taken` to `put - 1`; these
// never overlap, and each counter is stored with Release after the last touch of a place and loaded with Acquire
// before the first by the other side. Each side exists once (`LogSender`, `LogReceiver`).
unsafe impl Sync for Queue {}

/// The worker's side of a queue.
pub(crate) struct LogSender {
    queue: Arc<Queue>,
    job: u16,
}

/// The writing thread's side of a queue.
struct LogReceiver(Arc<Queue>);

fn queue(length: usize, job: u16) -> (LogSender, LogReceiver) {
    let length = length.next_power_of_two();
    // Written once now, so that no page fault comes between two I/Os.
    let blank = IoRecord { length: 1, ..IoRecord::default() };
    let places = (0..length).map(|_| UnsafeCell::new(blank)).collect();
    let queue = Arc::new(Queue {
        places,
        put: AtomicUsize::new(0),
        taken: AtomicUsize::new(0),
        dropped: AtomicU64::new(0),
    });
    (LogSender { queue: queue.clone(), job }, LogReceiver(queue))
}

impl LogSender {
    /// Queues one I/O, or counts it as dropped.
    #[inline]
    pub(crate) fn put(&mut self, io: &Completion) {
        let length = self.queue.places.len();
        let put = self.queue.put.load(Ordering::Relaxed);
        if put - self.queue.taken.load(Ordering::Acquire) == length {
            let dropped = self.queue.dropped.load(Ordering::Relaxed);
            return self.queue.dropped.store(dropped + 1, Ordering::Relaxed);
        }
        let record = IoRecord {
            start_ns: io.intended_ns,
            latency_ns: io.latency_ns(),
            offset: io.offset,
            length: io.length,
            error: io.error,
            job: self.job,
            operation: io.operation as u16,
            target: io.target as u16,
        };
        // SAFETY: the place is free, and therefore the worker's (see `Queue`).
        unsafe { *self.queue.places[put & (length - 1)].get() = record };
        self.queue.put.store(put + 1, Ordering::Release);
    }
}

impl LogSender {
    /// Queues one I/O and waits for room if necessary: in virtual time nothing is dropped.
    pub(crate) fn put_patiently(&mut self, io: &Completion) {
        while self.queue.put.load(Ordering::Relaxed) - self.queue.taken.load(Ordering::Acquire)
            == self.queue.places.len()
        {
            std::thread::sleep(PAUSE);
        }
        self.put(io);
    }
}

impl LogReceiver {
    /// Moves at most `most` records into `bytes`; returns how many were moved.
    fn take(&mut self, most: usize, bytes: &mut Vec<u8>) -> usize {
        let put = self.0.put.load(Ordering::Acquire);
        let taken = self.0.taken.load(Ordering::Relaxed);
        let count = (put - taken).min(most);
        for at in taken..taken + count {
            // SAFETY: the record was put in and not yet taken out: it is the thread's (see `Queue`).
            let record = unsafe { &*self.0.places[at & (self.0.places.len() - 1)].get() };
            bytes.extend_from_slice(&record.encode());
        }
        self.0.taken.store(taken + count, Ordering::Release);
        count
    }
}

/// The file or sink that the bytes of a log go to.
enum LogTarget {
    File(File),
    Keeper(IoLogKeeper),
}

impl Write for LogTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Keeper(keeper) => {
                (keeper.add)(bytes);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LogTarget {
    /// Writes the header of the log. An existing file is replaced only once the new one has its header.
    fn begin(target: &IoLogTarget, header: &Header) -> io::Result<Self> {
        match target {
            IoLogTarget::File(path) => {
                let draft = Draft::begin(path, &iolog::MAGIC)?;
                iolog::begin(&mut draft.file(), header)?;
                draft.finish().map(Self::File)
            }
            IoLogTarget::Keeper(keeper) => {
                let mut bytes = Vec::new();
                iolog::begin(&mut bytes, header)?;
                (keeper.add)(&bytes);
                Ok(Self::Keeper(keeper.clone()))
            }
        }
    }

    /// Returns the largest number of records that fit in the log.
    fn most(&self) -> u64 {
        match self {
            Self::File(_) => u64::MAX,
            Self::Keeper(keeper) => keeper.most / RECORD as u64,
        }
    }
}

/// Result of the writing thread.
struct Written {
    recorded: u64,
    lost: u64,
    /// I/Os left out because the log had reached its bound.
    over_bound: u64,
    error: Option<std::io::Error>,
    /// CPU time of the thread, as (user, kernel).
    cpu: (Duration, Duration),
}

/// Handle of the writing thread.
pub(crate) struct IoLog {
    name: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Written>>,
}

/// Starts the log of `jobs` jobs with `workers` workers each; returns the workers' senders in order.
pub(crate) fn start(
    target: &IoLogTarget,
    header: &Header,
    (jobs, workers): (usize, usize),
) -> Result<(Vec<LogSender>, IoLog), EngineError> {
    let name = match target {
        IoLogTarget::File(path) => path.display().to_string(),
        IoLogTarget::Keeper(keeper) => keeper.name.clone(),
    };
    let refused = |error: io::Error| {
        let (kind, help) = match error.kind() {
            io::ErrorKind::AlreadyExists => (ErrorKind::Refused, "name another file"),
            io::ErrorKind::NotConnected => (ErrorKind::Usage, results::draft::NO_READER),
            _ => (ErrorKind::Usage, "name a file in a directory that you may write to"),
        };
        let message = format!("The log of I/Os cannot be written to {name}");
        EngineError::new(kind, message, help).because(error)
    };
    let out = LogTarget::begin(target, header).map_err(refused)?;
    let all = (jobs * workers).max(1);
    let length = (QUEUED / all).max(1024);
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..all).map(|worker| queue(length, (worker / workers.max(1)) as u16)).unzip();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let write = move || write(out, receivers, &stopped);
    let thread = std::thread::Builder::new().name("io log".into()).spawn(write).map_err(refused)?;
    Ok((senders, IoLog { name, stop, thread: Some(thread) }))
}

/// Writes until `stop` is set and nothing is left.
fn write(mut out: LogTarget, mut receivers: Vec<LogReceiver>, stop: &AtomicBool) -> Written {
    let most = out.most();
    let mut bytes = Vec::with_capacity(BATCH * RECORD);
    let mut written =
        Written { recorded: 0, lost: 0, over_bound: 0, error: None, cpu: Default::default() };
    loop {
        // Read before the queues, so that records queued before the stop are still found.
        let last = stop.load(Ordering::Acquire);
        let mut busy = false;
        for receiver in &mut receivers {
            bytes.clear();
            let count = receiver.take(BATCH, &mut bytes);
            busy |= count == BATCH;
            let room = (most - written.recorded).min(count as u64);
            written.over_bound += count as u64 - room;
            if written.error.is_none() && room > 0 {
                written.error = out.write_all(&bytes[..room as usize * RECORD]).err();
            }
            match written.error {
                None => written.recorded += room,
                Some(_) => written.lost += room,
            }
        }
        if last && !busy {
            break;
        }
        if !busy {
            std::thread::sleep(PAUSE);
        }
    }
    let dropped: u64 = receivers.iter().map(|o| o.0.dropped.load(Ordering::Acquire)).sum();
    written.lost += dropped;
    if written.error.is_none() {
        let dropped = written.lost + written.over_bound;
        let closing = Closing { recorded: written.recorded, dropped };
        written.error = iolog::close(&mut out, closing).err();
    }
    written.cpu = sys::usage::thread();
    written
}

impl IoLog {
    /// Ends the log once all workers have ended or are given up; returns facts about the log and the CPU time of its thread.
    pub(crate) fn finish(mut self) -> (IoLogFacts, (Duration, Duration)) {
        self.stop.store(true, Ordering::Release);
        let path = std::mem::take(&mut self.name);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => {
                let Written { recorded, lost, over_bound: beyond, error, cpu } = written;
                let (error, dropped) = (error.map(|e| e.to_string()), lost + beyond);
                (IoLogFacts { path, recorded, dropped, beyond, error }, cpu)
            }
            _ => {
                let error = Some("its thread ended before its time".to_owned());
                let facts = IoLogFacts { path, recorded: 0, dropped: 0, beyond: 0, error };
                (facts, Default::default())
            }
        }
    }
}

impl Drop for IoLog {
    /// Lets the thread end, even if the load never began.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn header() -> Header {
        Header { operations: vec!["read".into()], targets: vec!["x".into()] }
    }

    fn io(n: u64) -> Completion {
        Completion { offset: n * 4096, length: 4096, reaped_ns: n, ..Completion::default() }
    }

    #[test]
    fn what_several_workers_put_is_in_the_file_or_counted_as_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (senders, log) = start(&IoLogTarget::File(path.clone()), &header(), (3, 1)).unwrap();
        let workers: Vec<_> = senders
            .into_iter()
            .map(|mut sender| {
                std::thread::spawn(move || (0..300_000).for_each(|n| sender.put(&io(n))))
            })
            .collect();
        workers.into_iter().for_each(|w| w.join().unwrap());
        let (facts, _) = log.finish();
        assert_eq!(facts.recorded + facts.dropped, 900_000, "{facts:?}");
        assert!(facts.error.is_none() && facts.recorded >= QUEUED as u64 / 4, "{facts:?}");
        let mut reader = iolog::Reader::new(BufReader::new(File::open(&path).unwrap())).unwrap();
        let (mut last, mut count) = ([None; 3], 0);
        for record in reader.by_ref() {
            let record = record.unwrap();
            let n = Some(record.offset / 4096);
            assert!(last[usize::from(record.job)] < n && Some(record.latency_ns) == n);
            last[usize::from(record.job)] = n;
            count += 1;
        }
        let closing = Closing { recorded: facts.recorded, dropped: facts.dropped };
        assert_eq!((count, reader.closing()), (facts.recorded, Some(closing)));
    }

    #[test]
    fn a_full_queue_drops_and_counts_and_never_waits() {
        let (mut sender, mut receiver) = queue(8, 0);
        (0..20).for_each(|n| sender.put(&io(n)));
        assert_eq!(receiver.0.dropped.load(Ordering::Relaxed), 12);
        let mut bytes = Vec::new();
        assert_eq!(receiver.take(100, &mut bytes), 8);
        sender.put(&io(20));
        assert_eq!((receiver.take(100, &mut bytes), bytes.len()), (1, 9 * RECORD));
    }

    #[test]
    fn a_disk_that_is_full_is_told_and_what_is_lost_is_counted() {
        let full = std::path::Path::new("/dev/full");
        if !full.exists() {
            return println!("SKIP a_disk_that_is_full_is_told: there is no /dev/full");
        }
        // The header is refused at once.
        let error = start(&IoLogTarget::File(full.into()), &header(), (1, 1)).err().unwrap();
        assert!(error.to_string().contains("/dev/full") && error.kind() == ErrorKind::Usage);
        // A disk that fills up later.
        let (mut sender, receiver) = queue(64, 0);
        (0..10).for_each(|n| sender.put(&io(n)));
        let file = File::options().write(true).open(full).unwrap();
        let written = write(LogTarget::File(file), vec![receiver], &AtomicBool::new(true));
        assert_eq!((written.recorded, written.lost), (0, 10));
        assert!(written.error.is_some());
    }

    #[test]
    fn a_keeper_gets_the_beginning_and_what_is_beyond_is_counted() {
        let kept = Arc::new(std::sync::Mutex::new(Vec::new()));
        let add = {
            let kept = kept.clone();
            move |bytes: &[u8]| kept.lock().unwrap().extend_from_slice(bytes)
        };
        let most = 10 * RECORD as u64;
        let keeper = IoLogKeeper { name: "cells/x".into(), add: Arc::new(add), most };
        let (mut senders, log) = start(&IoLogTarget::Keeper(keeper), &header(), (2, 2)).unwrap();
        // Threads of one job share its number.
        (0..4).for_each(|worker| (0..5).for_each(|n| senders[worker].put(&io(n))));
        let (facts, _) = log.finish();
        assert_eq!((facts.recorded, facts.dropped, facts.beyond), (10, 10, 10));
        assert_eq!((&*facts.path, facts.error), ("cells/x", None));
        let bytes = kept.lock().unwrap().clone();
        let mut reader = iolog::Reader::new(BufReader::new(&bytes[..])).unwrap();
        assert!(reader.by_ref().all(|record| record.unwrap().job < 2));
        assert_eq!(reader.closing(), Some(Closing { recorded: 10, dropped: 10 }));
    }
}
