//! The workers of a load on real targets: their threads, from start to end.
//!
//! [`Workers::spawn`] starts one thread per job (for `sync` one per I/O in flight) and the census thread; `watch` reads progress from the load's
//! status and rows from the collector until all have reported their end; `join` returns the census.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use results::iolog::Header;
use sys::interrupt::Level;
use sys::stamps::Stamps;

use crate::backend::{Aio, Backend, Files, Inline, Null, Ring};
use crate::census::{self, Taken};
use crate::choice::Driver;
use crate::collect::Collector;
use crate::cpu_affinity::CpuAffinity;
use crate::ended::Ended;
use crate::error::{EngineError, ErrorKind};
use crate::event::{Event, Waiting};
use crate::interval_recorder::IntervalReader;
use crate::job::{Job, MakeFill};
use crate::job_handle::{JobHandle, SharedJob};
use crate::late_rows::LateRows;
use crate::load::{Context, Load};
use crate::load_status::{LoadStatus, StopReason};
use crate::meter::Meter;
use crate::pace::Pace;
use crate::ramp::Ramp;
use crate::record::{IoLog, Recorder, Recorders, SteadyDetector};
use crate::resolved_load::ResolvedLoad;
use crate::sample;
use crate::stall_detector::StallDetector;
use crate::stood_still;
use crate::verify::{self, Verifier, WorkerVerifier};
use crate::worker::{Setting, Worker};

/// Poll interval of the collecting thread. Long: each wake-up may make the kernel move a thread of the load or of its target.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Poll interval where a job has several threads (`sync`), whose number of I/Os in flight is known only from these polls.
const LOOK_AT_THREADS: Duration = Duration::from_millis(50);

/// A message of a worker to the collecting thread.
enum Message {
    /// Its backend and buffers are set up; tells whether they are registered with the kernel.
    Ready(bool),
    Ended(Result<Ended, EngineError>),
}

/// The workers of a load.
pub(crate) struct Workers {
    pub status: Arc<LoadStatus>,
    threads: Vec<JoinHandle<()>>,
    messages: Receiver<Message>,
    sender: Sender<Message>,
    census: JoinHandle<Taken>,
    /// The targets, kept open until every worker has its own copies ([`Files::for_this_thread`]).
    files: Arc<Files>,
    /// Tells whether every worker's buffers and files are registered.
    pub registered: bool,
    /// The largest number of I/Os that all workers together were seen to have in flight.
    pub seen_in_flight: u64,
    /// The times in which the program itself did not run, nanoseconds.
    pub stood_still_ns: Vec<u64>,
}

/// The census, and the CPU time that its thread used.
pub(crate) type CensusTaken = (reduce::Census, (Duration, Duration));

/// The error for a thread of the load that panicked.
pub(crate) fn lost() -> EngineError {
    EngineError::new(
        ErrorKind::Environment,
        "A worker ended unexpectedly",
        "this is a fault of fathom; please report it",
    )
}

/// Everything that the workers of a load are set up from.
pub(crate) struct WorkerSetup<'a> {
    pub load: &'a Load,
    pub resolved: &'a ResolvedLoad,
    pub driver: Driver,
    /// CPUs that workers are pinned to.
    pub affinity: Option<&'a CpuAffinity>,
    pub files: &'a Arc<Files>,
    /// Alignment of I/O on each target, bytes.
    pub alignments: &'a [u64],
    pub context: &'a Context<'a>,
    pub stamps: &'a Stamps,
    pub verifier: Option<&'a Arc<Verifier>>,
}

impl WorkerSetup<'_> {
    /// Number of threads of one job: with plain calls (`sync`) one for each I/O in flight.
    pub(crate) fn workers_of_a_job(&self) -> usize {
        if self.driver == Driver::Sync { self.resolved.depth } else { 1 }
    }

    /// The verifier of one worker of job number `job`. Each worker has a separate verifier, so that threads that share a job compare blocks outside
    /// of the job's lock.
    fn worker_verifier(&self, job: usize) -> Option<WorkerVerifier> {
        let depth = if self.driver == Driver::Sync { 1 } else { self.resolved.depth };
        let worker_verifier =
            WorkerVerifier::new(Arc::clone(self.verifier?), depth, self.resolved.block_bytes);
        let spec = &self.load.spec;
        let quiet = !spec.ops.names().any(|op| op.changes());
        let verifier = worker_verifier.for_job(job);
        let verifier = if verify::checks(spec) { verifier } else { verifier.record_only() };
        Some(if quiet { verifier.read_only() } else { verifier })
    }

    fn setting(&self, index: usize, status: &Arc<LoadStatus>) -> Setting {
        Setting {
            index,
            status: status.clone(),
            stamps: self.stamps.clone(),
            interrupt: self.context.interrupt.clone(),
            interval_ns: self.resolved.interval_ns,
            duration_ns: self.resolved.duration_ns,
            ramp_ns: self.resolved.ramp_ns,
            batch: self.resolved.batch.min(self.resolved.depth),
            split: self.load.recording.split_latency,
            alignments: self.alignments.into(),
        }
    }
}

/// The workers of a load, the readers of what they record, and the log of its I/Os.
pub(crate) type Spawned = (Workers, Vec<IntervalReader>, Option<IoLog>);

impl Workers {
    /// Starts all workers, and the census thread.
    pub(crate) fn spawn(setup: &WorkerSetup, make: MakeFill) -> Result<Spawned, EngineError> {
        let (resolved, shape) = (setup.resolved, setup.resolved.shape(setup.load));
        let common = resolved.sampling();
        let capacities = resolved.capacities();
        let (samplers, receivers): (Vec<_>, Vec<_>) =
            (0..resolved.jobs).map(|_| sample::queues(capacities, common.clone())).unzip();
        let jobs = resolved.make_jobs(setup.load, samplers, make);
        let per_job = setup.workers_of_a_job();
        let status = Arc::new(LoadStatus::new(resolved.jobs * per_job, setup.load.spec.max_errors));
        let (sender, messages) = channel();
        // Without writes there is nothing to sample, and polling empty queues would disturb the load.
        let receivers = if resolved.writes { receivers } else { Vec::new() };
        let census = census::start(receivers, &common, resolved.census(&common))?;
        let header =
            Header { operations: resolved.names.clone(), targets: resolved.targets.clone() };
        let Recorders { recorders, readers, log } =
            Recorders::open(&setup.load.recording, shape, (resolved.jobs, per_job), &header)?;
        let mut recorders = recorders.into_iter();
        let mut workers = Self {
            status,
            threads: Vec::new(),
            messages,
            sender,
            census,
            files: setup.files.clone(),
            registered: true,
            seen_in_flight: 0,
            stood_still_ns: Vec::new(),
        };
        if let Err(error) = workers.spawn_jobs(setup, jobs, &mut recorders) {
            workers.abort();
            return Err(error);
        }
        Ok((workers, readers, log))
    }

    fn spawn_jobs(
        &mut self,
        setup: &WorkerSetup,
        jobs: Vec<Job>,
        recorders: &mut impl Iterator<Item = Recorder>,
    ) -> Result<(), EngineError> {
        let per_job = setup.workers_of_a_job();
        for (number, job) in jobs.into_iter().enumerate() {
            if per_job == 1 {
                let Some(recorder) = recorders.next() else { return Err(lost()) };
                self.spawn_worker(setup, (number, number), job, recorder)?;
                continue;
            }
            let handles = SharedJob::among(per_job, job);
            for (n, (handle, recorder)) in handles.zip(recorders.by_ref()).enumerate() {
                self.spawn_worker(setup, (number, number * per_job + n), handle, recorder)?;
            }
        }
        Ok(())
    }

    /// Starts worker `worker` of all workers, which belongs to job `number`.
    fn spawn_worker(
        &mut self,
        setup: &WorkerSetup,
        (number, worker): (usize, usize),
        job: impl JobHandle + 'static,
        recorder: Recorder,
    ) -> Result<(), EngineError> {
        let setting = setup.setting(worker, &self.status);
        let worker_verifier = setup.worker_verifier(number);
        let (depth, length) = (setup.resolved.depth, setup.resolved.block_bytes);
        let affinity = setup.affinity.cloned();
        match setup.driver {
            Driver::Libaio => {
                let backend = move |files| Aio::new(files, depth, length);
                self.start((number, affinity), backend, setting, job, (recorder, worker_verifier))
            }
            Driver::Sync => {
                let backend = move |files| Inline::new(files, length);
                self.start((number, affinity), backend, setting, job, (recorder, worker_verifier))
            }
            Driver::Null => {
                let backend = move |_| Null::new(depth, length);
                self.start((number, affinity), backend, setting, job, (recorder, worker_verifier))
            }
            Driver::IoUring | Driver::Sim => {
                let beside = affinity.clone();
                let backend = move |files| {
                    let ring = Ring::new(files, depth, length)?;
                    beside.iter().for_each(|affinity| ring.pin(affinity));
                    Ok(ring)
                };
                self.start((number, affinity), backend, setting, job, (recorder, worker_verifier))
            }
        }
    }

    fn start<B: Backend>(
        &mut self,
        (number, affinity): (usize, Option<CpuAffinity>),
        backend: impl FnOnce(Files) -> Result<B, EngineError> + Send + 'static,
        setting: Setting,
        job: impl JobHandle + 'static,
        (recorder, worker_verifier): (Recorder, Option<WorkerVerifier>),
    ) -> Result<(), EngineError> {
        let (sender, files) = (self.sender.clone(), self.files.clone());
        let work = move || {
            // So that sleeps until an arrival end on time, not up to 50 µs late (the default timer slack).
            // SAFETY: a call without pointers, for this thread alone.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
            // Pinned before the buffers are touched, so that their pages come from the NUMA node that the thread runs on.
            let pinned = affinity.as_ref().map_or(Ok(()), CpuAffinity::pin_this_thread);
            let opened = files.for_this_thread();
            // `Workers` still holds these files, so nothing is closed here; closing would only affect this thread's table.
            drop(files);
            let ended = pinned.and(opened).and_then(backend).and_then(|backend| {
                let _ = sender.send(Message::Ready(backend.is_registered()));
                Worker::new(setting, backend, job, recorder, worker_verifier).run()
            });
            let _ = Sender::send(&sender, Message::Ended(ended));
        };
        let thread = std::thread::Builder::new().name(format!("job {number}")).spawn(work);
        self.threads.push(thread.map_err(|e| {
            self.status.halt(StopReason::Errors);
            let help =
                "use fewer jobs or a smaller depth, or raise the limit of threads (ulimit -u)";
            EngineError::new(ErrorKind::Environment, "A worker cannot be started", help).because(e)
        })?);
        Ok(())
    }

    /// Number of workers.
    pub(crate) fn count(&self) -> usize {
        self.threads.len()
    }

    /// Waits until every worker is ready.
    pub(crate) fn wait_ready(&mut self) -> Result<(), EngineError> {
        for _ in 0..self.threads.len() {
            match self.messages.recv() {
                Ok(Message::Ready(registered)) => self.registered &= registered,
                Ok(Message::Ended(Err(error))) => {
                    self.abort();
                    return Err(error);
                }
                Ok(Message::Ended(Ok(_))) | Err(_) => {
                    self.abort();
                    return Err(lost());
                }
            }
        }
        Ok(())
    }

    /// Ends workers that have not begun.
    fn abort(&mut self) {
        self.status.halt(StopReason::Errors);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }

    /// Starts all workers; `at_ns` is the common start.
    pub(crate) fn begin(&self, at_ns: u64) {
        self.status.begin(at_ns);
        self.threads.iter().for_each(|t| t.thread().unpark());
    }

    /// Reports rows and notices until all workers have ended, or the remaining ones are given up.
    pub(crate) fn watch(
        &mut self,
        setup: &WorkerSetup,
        pace: Pace,
        collector: &mut Collector,
        notices: &mut Vec<String>,
        steady_detector: &mut Option<SteadyDetector>,
        on: &mut dyn FnMut(Event),
    ) -> Result<Vec<Ended>, EngineError> {
        let (mut ended, mut failed) = (Vec::new(), Vec::new());
        let (mut watch, mut late_rows) = (StallDetector::new(pace), LateRows::new(pace));
        let mut meter = Meter::new(setup.context);
        let seldom = if setup.workers_of_a_job() > 1 { LOOK_AT_THREADS } else { POLL_INTERVAL };
        let quarter = Duration::from_nanos(pace.interval_ns / 4);
        let look = seldom.min(quarter).max(Duration::from_millis(1));
        let mut ramp = Ramp::new(setup.resolved.ramp_ns, pace.start_ns);
        while ended.len() + failed.len() < self.threads.len() {
            let asleep_ns = setup.context.clock.now().0;
            let wait = ramp.wait(look, asleep_ns);
            let message = self.messages.recv_timeout(wait);
            let awake_ns = setup.context.clock.now().0;
            if let Some(still) = stood_still::paused_during(wait, (asleep_ns, awake_ns)) {
                watch.stood_still(still);
                self.stood_still_ns.push(stood_still::nanos(still));
                report_notice(stood_still::notice(still), notices, on);
            }
            match message {
                Ok(Message::Ended(Ok(end))) => ended.push(end),
                // The others go on until they see the halt: their ends are still waited for.
                Ok(Message::Ended(Err(error))) => {
                    self.status.halt(StopReason::Errors);
                    failed.push(error);
                }
                Ok(Message::Ready(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            }
            let level = setup.context.interrupt.level();
            if level != Level::None {
                self.status.halt(StopReason::Interrupted);
            }
            if ended.len() + failed.len() < self.threads.len() && ramp.ends(awake_ns) {
                on(Event::RampOver);
            }
            let in_flight = self.status.in_flight();
            self.seen_in_flight = self.seen_in_flight.max(in_flight);
            let now_ns = setup.context.clock.now().0;
            let rows = collector.rows()?;
            let elapsed_ns = now_ns.saturating_sub(pace.start_ns);
            let (ended_ios, bytes) = (self.status.ended(), self.status.bytes());
            if !rows.all.is_empty() {
                let mut progress = setup.resolved.progress(elapsed_ns, bytes);
                let counted = rows.counted_part();
                progress.cpu_per_io_us = meter.per_io_us(ended_ios).map(|us| us / counted);
                if steady_detector.as_mut().is_some_and(|s| s.add_rows(&rows.all, pace.start_ns)) {
                    self.status.halt(StopReason::Steady);
                }
                on(Event::Intervals { rows: rows.all, jobs: rows.jobs, progress });
            }
            if let Some(notice) = watch.stalled(now_ns, ended_ios, in_flight) {
                report_notice(notice, notices, on);
            }
            if let Some(late) = late_rows.check(now_ns, collector.next(), (ended_ios, bytes)) {
                on(Event::Waiting(Waiting {
                    start_ns: late.span_ns.0,
                    end_ns: late.span_ns.1,
                    ios: late.ios,
                    bytes: late.bytes,
                    in_flight,
                    silent_ns: watch.silent_ns(now_ns),
                    progress: setup.resolved.progress(elapsed_ns, bytes),
                }));
            }
            let missing = self.threads.len() - ended.len() - failed.len();
            if missing > 0 && watch.is_lost(now_ns, self.status.halted() != StopReason::None, level)
            {
                report_notice(not_back(missing, self.threads.len()), notices, on);
                break;
            }
        }
        failed.pop().map_or(Ok(ended), Err)
    }

    /// Joins the threads; `ended` workers have reported their end, with `unfinished` I/Os given up. Returns the census, an empty one if a worker is
    /// lost, since then its queue never closes.
    pub(crate) fn join(self, ended: usize, unfinished: usize) -> Result<CensusTaken, EngineError> {
        let missing = ended < self.threads.len();
        if !missing && unfinished == 0 {
            // A panic after the reported end changes nothing. A thread that gave up I/Os is not joined: it cannot exit before they end.
            self.threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        if missing {
            return Ok((reduce::Census::new(1), Default::default()));
        }
        // It may be asleep between two polls.
        self.census.thread().unpark();
        let taken = self.census.join().map_err(|_| lost())?;
        Ok((taken.census, taken.cpu))
    }
}

/// Returns the notice about workers that are stuck in the kernel.
fn not_back(missing: usize, all: usize) -> String {
    format!(
        "{missing} of {all} workers did not come back from the kernel; what they did since their last interval is not counted"
    )
}

/// Reports a notice and keeps it.
fn report_notice(notice: String, notices: &mut Vec<String>, on: &mut dyn FnMut(Event)) {
    on(Event::Notice(notice.clone()));
    notices.push(notice);
}
