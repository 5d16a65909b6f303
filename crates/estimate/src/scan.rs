//! Reading everything once: a walk that hands out jobs, workers, and the order behind them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use content::SequenceCounter;
use reduce::BLOCK;
use sys::interrupt::{Interrupt, Level};

use crate::answer::PartitionOffBlocks;
use crate::compare::{self, Comparison, Copies, Records, Sampler, Scatter};
use crate::extrapolate::{Estimate, Parts};
use crate::ordered_model::OrderedModel;
use crate::queue::{Queue, Taker};
use crate::source::{OffBlocks, SizeScan, Tally, Walk};
use crate::worker::{Done, SizeCache, Worker};
use crate::{Error, Request};

/// Jobs that are handed out ahead, for each worker.
const AHEAD: usize = 16;
/// Done jobs that may wait for one before them, or for the model.
const WAITING: usize = 1024;
/// Time before the first report of progress.
const QUIET: Duration = Duration::from_secs(2);
/// Time between two reports of progress.
const TELL: Duration = Duration::from_millis(250);

/// Progress of a scan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Bytes that were read.
    pub bytes: u64,
    /// Bytes there are, once that is known.
    pub total_bytes: Option<u64>,
    /// Time since the start, nanoseconds.
    pub elapsed_ns: u64,
    /// Time that is left at the present pace, nanoseconds.
    pub remaining_ns: Option<u64>,
}

/// The state that all threads share.
struct Shared<'a> {
    request: &'a Request,
    interrupt: &'a Interrupt,
    jobs: Queue,
    /// Finished jobs on their way to the model.
    done: Mutex<Vec<Done>>,
    order: Mutex<OrderedModel>,
    tally: Arc<Tally>,
    remembered: SizeCache,
    /// Tells whether all records are compressed, as far as that is known before all is read.
    all_records: Option<bool>,
    scatter: Arc<Scatter>,
    records: Mutex<Records>,
    copies: Mutex<Copies>,
    sequences: Mutex<SequenceCounter>,
    bytes: AtomicU64,
}

/// The receiver of progress reports.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress);

/// Reads everything once and estimates what a volume would make of it. A disk with a partition that does not begin at a multiple of 4 KiB is
/// read once more, cut from there. `tell` receives progress reports from the third second on; only with it a separate walk finds
/// how many bytes there are.
/// An interrupt ends it early: the answer is then for what was read so far, and says so.
pub fn estimate(
    request: &Request,
    interrupt: &Interrupt,
    tell: Option<OnProgress>,
) -> Result<Estimate, Error> {
    let (mut found, off) = scan(request, &[], interrupt, tell)?;
    if let Some((path, off)) = off {
        let alone = Request { paths: vec![path.clone()], ..request.clone() };
        let saving = |cuts: &[u64]| -> Result<_, Error> {
            Ok(scan(&alone, cuts, interrupt, None)?.0.answer.vdo.saving_percent)
        };
        let as_it_lies = match request.paths.len() {
            1 => found.answer.vdo.saving_percent,
            _ => saving(&[])?,
        };
        found.answer.off_blocks = Some(PartitionOffBlocks {
            path: path.display().to_string(),
            partition: off.partition,
            start_bytes: off.start,
            saving_percent: as_it_lies,
            aligned_saving_percent: saving(&off.cuts)?,
        });
        found.answer.complete &= interrupt.level() == Level::None;
    }
    Ok(found)
}

/// The estimate of one reading, and the first partition off the blocks of 4 KiB that it met.
type Scan = (Estimate, Option<(PathBuf, OffBlocks)>);

/// Reads everything once; files and devices that are named are cut into blocks anew at each of the `cuts`.
fn scan(
    request: &Request,
    cuts: &[u64],
    interrupt: &Interrupt,
    tell: Option<OnProgress>,
) -> Result<Scan, Error> {
    let started = Instant::now();
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let workers = request.workers.unwrap_or(cores).max(1);
    let shared = Shared::new(request, interrupt, workers);
    let names = Mutex::new(Vec::new());
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (finished, ends) = channel::<()>();
        let last = Ends(&shared.jobs);
        for number in 0..workers {
            let (shared, finished) = (&shared, finished.clone());
            let jobs = shared.jobs.taker();
            let spawn = thread::Builder::new().name(format!("estimate{number}"));
            let work = move || {
                shared.work(&jobs);
                drop(finished);
            };
            spawn.spawn_scoped(scope, work).map_err(Error::Thread)?;
        }
        drop(finished);
        let (shared, names) = (&shared, &names);
        let walk = thread::Builder::new().name("walk".into());
        let walk = walk
            .spawn_scoped(scope, move || {
                let _last = last;
                shared.walk(cuts, names)
            })
            .map_err(Error::Thread)?;
        let over = &over;
        let (found, total_bytes) = channel();
        let scout = move || {
            while started.elapsed() < QUIET && !over.load(Ordering::Relaxed) {
                thread::park_timeout(QUIET);
            }
            if let Some(bytes) =
                SizeScan::bytes(request, u64::MAX, &|| over.load(Ordering::Relaxed))
            {
                let _ = found.send(bytes);
            }
        };
        if let Some(tell) = tell {
            let builder = thread::Builder::new().name("scout".into());
            let scout = builder.spawn_scoped(scope, scout).map_err(Error::Thread)?;
            shared.tell(&ends, &total_bytes, started, tell);
            over.store(true, Ordering::Relaxed);
            scout.thread().unpark();
        }
        walk.join().unwrap_or(Ok(()))
    })?;
    shared.model(shared.order());
    let order = shared.order.into_inner().unwrap_or_else(PoisonError::into_inner);
    let records = shared.records.into_inner().unwrap_or_else(PoisonError::into_inner);
    let copies = shared.copies.into_inner().unwrap_or_else(PoisonError::into_inner);
    let sequences = shared.sequences.into_inner().unwrap_or_else(PoisonError::into_inner);
    let parts = Parts {
        whole: order.finish(),
        names: names.into_inner().unwrap_or_else(PoisonError::into_inner),
        complete: interrupt.level() == Level::None && shared.tally.sources().unreadable == 0,
        sources: shared.tally.sources(),
        comparison: Comparison { dedupe: Some(copies.dedupe()), ..records.comparison() },
        sequences: sequences.classes(),
        elapsed: started.elapsed(),
    };
    Ok((Estimate::of(request, parts)?, shared.tally.first_off_blocks()))
}

/// Tells whether all records of 128 KiB are compressed for the comparison: if that is asked for, or if there are few. `None` when their
/// number is known only at the end.
fn all_records(request: &Request, interrupt: &Interrupt) -> Option<bool> {
    let few = compare::SMALL * BLOCK as u64;
    let stop = || interrupt.level() != Level::None;
    let small = || Some(SizeScan::bytes(request, few, &stop)? <= few);
    if request.exact { Some(true) } else { small() }
}

/// Ends a queue when the walk is over or could not begin.
struct Ends<'a>(&'a Queue);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<'a> Shared<'a> {
    fn new(request: &'a Request, interrupt: &'a Interrupt, workers: usize) -> Self {
        Self {
            request,
            interrupt,
            jobs: Queue::new(AHEAD * workers),
            done: Mutex::default(),
            order: Mutex::new(OrderedModel::new(request.policy)),
            tally: Arc::default(),
            remembered: SizeCache::default(),
            all_records: all_records(request, interrupt),
            scatter: Arc::default(),
            records: Mutex::default(),
            copies: Mutex::default(),
            sequences: Mutex::default(),
            bytes: AtomicU64::new(0),
        }
    }

    fn walk(&self, cuts: &[u64], names: &Mutex<Vec<String>>) -> Result<(), Error> {
        let mut hand_out = |job| self.jobs.send(job);
        let tally = Arc::clone(&self.tally);
        Walk::new(tally, self.interrupt, names, self.request, &mut hand_out).run(cuts)
    }

    fn work(&self, jobs: &Taker) {
        let sampler = Sampler::new(self.all_records, Arc::clone(&self.scatter));
        let mut worker = Worker::new(self.request.exact, &self.remembered, &self.tally, sampler);
        // A job that was taken is finished even after an interrupt, so that what was read is a beginning without gaps.
        while let Some(job) = jobs.take() {
            if self.interrupt.level() != Level::None {
                break;
            }
            let mut done = worker.work(job);
            let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
            done.records.drain(..).for_each(|record| copies.note(record));
            drop(copies);
            self.bytes.fetch_add(done.bytes, Ordering::Relaxed);
            self.hand_in(done);
        }
        worker.sampler.finish(jobs.blocks());
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.add(worker.sampler.records);
        drop(records);
        let mut sequences = self.sequences.lock().unwrap_or_else(PoisonError::into_inner);
        sequences.merge(&worker.sequences);
    }

    /// Hands in the result of a job. One worker at a time puts results through the model, for all; the others go on with their
    /// jobs, unless the model is far behind.
    fn hand_in(&self, done: Done) {
        let mut waiting = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(done);
        let behind = waiting.len() > WAITING;
        drop(waiting);
        let order = match self.order.try_lock() {
            Ok(order) => order,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if behind => self.order(),
            Err(TryLockError::WouldBlock) => return,
        };
        if self.model(order) > WAITING {
            // The job before all of these is slow.
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn order(&self) -> MutexGuard<'_, OrderedModel> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts all that was handed in through the model; returns how many results wait for one before them.
    fn model(&self, mut order: MutexGuard<'_, OrderedModel>) -> usize {
        loop {
            let mut waiting = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            let some = std::mem::take(&mut *waiting);
            drop(waiting);
            if some.is_empty() {
                return order.waiting();
            }
            some.into_iter().for_each(|done| order.take(done));
            self.remembered.duplicates(order.duplicates());
        }
    }

    /// Reports progress until all workers are done.
    fn tell(&self, ends: &Receiver<()>, total: &Receiver<u64>, started: Instant, tell: OnProgress) {
        let mut total_bytes = None;
        while ends.recv_timeout(TELL) == Err(RecvTimeoutError::Timeout) {
            total_bytes = total.try_recv().ok().or(total_bytes);
            let (elapsed, bytes) = (started.elapsed(), self.bytes.load(Ordering::Relaxed));
            if elapsed < QUIET {
                continue;
            }
            let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
            let remaining_ns = total_bytes.filter(|_| bytes > 0).map(|total: u64| {
                let left = total.saturating_sub(bytes) as f64;
                (left * elapsed_ns as f64 / bytes as f64) as u64
            });
            tell(Progress { bytes, total_bytes, elapsed_ns, remaining_ns });
        }
    }
}
