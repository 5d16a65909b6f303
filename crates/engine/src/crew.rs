//! The workers of a load on real targets, and how they are started and waited for.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use results::iolog::Header;
use sys::interrupt::Level;
use sys::stamps::Stamps;

use crate::backend::{Aio, Backend, Files, Inline, Null, Ring};
use crate::banks::Reader;
use crate::board::{Board, Halt};
use crate::census::{self, Taken};
use crate::choice::Driver;
use crate::collect::Collector;
use crate::ended::Ended;
use crate::error::{EngineError, Kind};
use crate::event::{Event, Waiting};
use crate::gaps::Gaps;
use crate::hold::{Hold, Shared};
use crate::job::{Job, MakeFill};
use crate::load::{Context, Load};
use crate::meter::Meter;
use crate::outline::Outline;
use crate::pace::Pace;
use crate::place::Place;
use crate::record::{Desk, IoLog, Recorder, Settling};
use crate::sample;
use crate::verify::{self, Hand, Verifier};
use crate::watch::Watch;
use crate::worker::{Setting, Worker};

/// How often the collecting thread looks around. Seldom: each look wakes a CPU, and gives the kernel cause to move a thread of
/// the load or of its target there.
const LOOK: Duration = Duration::from_millis(250);
/// The same where only such looks see how many of a job's threads have an I/O in flight.
const LOOK_AT_THREADS: Duration = Duration::from_millis(50);

/// What a worker tells the collecting thread.
enum Word {
    /// Its backend and buffers stand; whether they are registered.
    Ready(bool),
    Ended(Result<Ended, EngineError>),
}

/// The workers of a load.
pub(crate) struct Crew {
    pub board: Arc<Board>,
    threads: Vec<JoinHandle<()>>,
    words: Receiver<Word>,
    sender: Sender<Word>,
    census: JoinHandle<Taken>,
    /// Kept until all workers have taken theirs from them ([`Files::for_this_thread`]).
    files: Arc<Files>,
    /// Whether every worker's buffers and files are registered.
    pub registered: bool,
    /// The most I/Os that all workers together were seen to have in flight.
    pub seen_in_flight: u64,
}

/// What the census thread took, and the CPU time that it needed.
pub(crate) type CensusTaken = (reduce::Census, (Duration, Duration));

/// A thread of the load that panicked.
pub(crate) fn lost() -> EngineError {
    EngineError::new(
        Kind::Environment,
        "A worker ended before its time",
        "this is a fault of fathom; please report it",
    )
}

/// What all workers of a load are made of.
pub(crate) struct Plan<'a> {
    pub load: &'a Load,
    pub outline: &'a Outline,
    pub driver: Driver,
    /// Where workers are held.
    pub place: Option<&'a Place>,
    pub files: &'a Arc<Files>,
    /// What I/O on each target must be aligned to, bytes.
    pub alignments: &'a [u64],
    pub context: &'a Context<'a>,
    pub stamps: &'a Stamps,
    pub verifier: Option<&'a Arc<Verifier>>,
}

impl Plan<'_> {
    /// Workers of one job: a thread for each I/O in flight where one thread can have only one.
    fn workers_of_a_job(&self) -> usize {
        if self.driver == Driver::Sync { self.outline.depth } else { 1 }
    }

    /// What verifies the I/Os of a worker of job number `job`: one for each worker, so that blocks are compared without the lock
    /// of threads that share a job.
    fn hand(&self, job: usize) -> Option<Hand> {
        let depth = if self.driver == Driver::Sync { 1 } else { self.outline.depth };
        let hand = Hand::new(Arc::clone(self.verifier?), depth, self.outline.block_bytes);
        let spec = &self.load.spec;
        let quiet = !spec.ops.names().any(|op| op.changes());
        Some(hand.of_job(job).that_checks(verify::checks(spec)).that_only_reads(quiet))
    }

    fn setting(&self, index: usize, board: &Arc<Board>) -> Setting {
        Setting {
            index,
            board: board.clone(),
            stamps: self.stamps.clone(),
            interrupt: self.context.interrupt.clone(),
            interval_ns: self.outline.interval_ns,
            duration_ns: self.outline.duration_ns,
            ramp_ns: self.outline.ramp_ns,
            batch: self.outline.batch.min(self.outline.depth),
            split: self.load.recording.split_latency,
            alignments: self.alignments.into(),
        }
    }
}

/// A crew, what it records into, and the log of its I/Os.
pub(crate) type Hired = (Crew, Vec<Reader>, Option<IoLog>);

impl Crew {
    /// Starts all workers, and the thread that takes the census.
    pub(crate) fn hire(plan: &Plan, make: MakeFill) -> Result<Hired, EngineError> {
        let (outline, shape) = (plan.outline, plan.outline.shape(plan.load));
        let common = outline.sampling();
        let rooms = outline.rooms();
        let (samplers, taps): (Vec<_>, Vec<_>) =
            (0..outline.jobs).map(|_| sample::queues(rooms, common.clone())).unzip();
        let jobs = outline.make_jobs(plan.load, samplers, make);
        let per_job = plan.workers_of_a_job();
        let board = Arc::new(Board::new(outline.jobs * per_job, plan.load.spec.max_errors));
        let (sender, words) = channel();
        // A thread that looks at empty queues 200 times a second disturbs a load that only reads.
        let taps = if outline.writes { taps } else { Vec::new() };
        let census = census::start(taps, &common, outline.census(&common))?;
        let header = Header { operations: outline.names.clone(), targets: outline.targets.clone() };
        let desk = Desk::open(&plan.load.recording, shape, (outline.jobs, per_job), &header)?;
        let mut recorders = desk.recorders.into_iter();
        let mut crew = Self {
            board,
            threads: Vec::new(),
            words,
            sender,
            census,
            files: plan.files.clone(),
            registered: true,
            seen_in_flight: 0,
        };
        if let Err(error) = crew.enlist_all(plan, jobs, &mut recorders) {
            crew.disband();
            return Err(error);
        }
        Ok((crew, desk.readers, desk.log))
    }

    fn enlist_all(
        &mut self,
        plan: &Plan,
        jobs: Vec<Job>,
        recorders: &mut impl Iterator<Item = Recorder>,
    ) -> Result<(), EngineError> {
        let per_job = plan.workers_of_a_job();
        for (number, job) in jobs.into_iter().enumerate() {
            if per_job == 1 {
                let Some(recorder) = recorders.next() else { return Err(lost()) };
                self.enlist(plan, (number, number), job, recorder)?;
                continue;
            }
            let holds = Shared::among(per_job, job);
            for (n, (hold, recorder)) in holds.zip(recorders.by_ref()).enumerate() {
                self.enlist(plan, (number, number * per_job + n), hold, recorder)?;
            }
        }
        Ok(())
    }

    /// Starts the worker that is number `place.1` of all, in job `place.0`.
    fn enlist(
        &mut self,
        plan: &Plan,
        place: (usize, usize),
        job: impl Hold + 'static,
        recorder: Recorder,
    ) -> Result<(), EngineError> {
        let setting = plan.setting(place.1, &self.board);
        let hand = plan.hand(place.0);
        let (depth, length) = (plan.outline.depth, plan.outline.block_bytes);
        let (number, held) = (place.0, plan.place.cloned());
        match plan.driver {
            Driver::Libaio => {
                let backend = move |files| Aio::new(files, depth, length);
                self.start((number, held), backend, setting, job, (recorder, hand))
            }
            Driver::Sync => {
                let backend = move |files| Inline::new(files, length);
                self.start((number, held), backend, setting, job, (recorder, hand))
            }
            Driver::Null => {
                let backend = move |_| Null::new(depth, length);
                self.start((number, held), backend, setting, job, (recorder, hand))
            }
            Driver::IoUring | Driver::Sim => {
                let beside = held.clone();
                let backend = move |files| {
                    let ring = Ring::new(files, depth, length)?;
                    beside.iter().for_each(|place| ring.hold(place));
                    Ok(ring)
                };
                self.start((number, held), backend, setting, job, (recorder, hand))
            }
        }
    }

    fn start<B: Backend>(
        &mut self,
        (number, held): (usize, Option<Place>),
        backend: impl FnOnce(Files) -> Result<B, EngineError> + Send + 'static,
        setting: Setting,
        job: impl Hold + 'static,
        (recorder, hand): (Recorder, Option<Hand>),
    ) -> Result<(), EngineError> {
        let (sender, files) = (self.sender.clone(), self.files.clone());
        let work = move || {
            // Waits for an arrival end when they should, not up to 50 µs later.
            // SAFETY: a call without pointers, for this thread alone.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
            // Before it touches its memory, which is then near to where it runs.
            let held = held.as_ref().map_or(Ok(()), Place::hold_this_thread);
            let own = files.for_this_thread();
            // The crew has them still: nothing is closed here, where it would be closed in this thread's table.
            drop(files);
            let ended = held.and(own).and_then(backend).and_then(|backend| {
                let _ = sender.send(Word::Ready(backend.is_registered()));
                Worker::new(setting, backend, job, recorder, hand).run()
            });
            let _ = Sender::send(&sender, Word::Ended(ended));
        };
        let thread = std::thread::Builder::new().name(format!("job {number}")).spawn(work);
        self.threads.push(thread.map_err(|e| {
            self.board.halt(Halt::Errors);
            let help =
                "use fewer jobs or a smaller depth, or raise the limit of threads (ulimit -u)";
            EngineError::new(Kind::Environment, "A worker cannot be started", help).because(e)
        })?);
        Ok(())
    }

    /// Workers that there are.
    pub(crate) fn workers(&self) -> usize {
        self.threads.len()
    }

    /// Waits until every worker is ready.
    pub(crate) fn muster(&mut self) -> Result<(), EngineError> {
        for _ in 0..self.threads.len() {
            match self.words.recv() {
                Ok(Word::Ready(registered)) => self.registered &= registered,
                Ok(Word::Ended(Err(error))) => {
                    self.disband();
                    return Err(error);
                }
                Ok(Word::Ended(Ok(_))) | Err(_) => {
                    self.disband();
                    return Err(lost());
                }
            }
        }
        Ok(())
    }

    /// Sends home workers that have not begun.
    fn disband(&mut self) {
        self.board.halt(Halt::Errors);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }

    /// Lets all workers begin; `at_ns` is the common start.
    pub(crate) fn begin(&self, at_ns: u64) {
        self.board.begin(at_ns);
        self.threads.iter().for_each(|t| t.thread().unpark());
    }

    /// Gives rows and notices until all workers have ended, or until those that have not are given up.
    pub(crate) fn watch(
        &mut self,
        plan: &Plan,
        pace: Pace,
        collector: &mut Collector,
        notices: &mut Vec<String>,
        settling: &mut Option<Settling>,
        on: &mut dyn FnMut(Event),
    ) -> Result<Vec<Ended>, EngineError> {
        let (mut ended, mut failed) = (Vec::new(), Vec::new());
        let (mut watch, mut gaps) = (Watch::new(pace), Gaps::new(pace));
        let mut meter = Meter::new(plan.context);
        let seldom = if plan.workers_of_a_job() > 1 { LOOK_AT_THREADS } else { LOOK };
        let quarter = Duration::from_nanos(pace.interval_ns / 4);
        let look = seldom.min(quarter).max(Duration::from_millis(1));
        while ended.len() + failed.len() < self.threads.len() {
            match self.words.recv_timeout(look) {
                Ok(Word::Ended(Ok(end))) => ended.push(end),
                // The others write on until they have seen it: their ends are waited for all the same.
                Ok(Word::Ended(Err(error))) => {
                    self.board.halt(Halt::Errors);
                    failed.push(error);
                }
                Ok(Word::Ready(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            }
            let level = plan.context.interrupt.level();
            if level != Level::None {
                self.board.halt(Halt::Interrupted);
            }
            let in_flight = self.board.in_flight();
            self.seen_in_flight = self.seen_in_flight.max(in_flight);
            let now_ns = plan.context.clock.now().0;
            let rows = collector.rows()?;
            let elapsed_ns = now_ns.saturating_sub(pace.start_ns);
            let (ended_ios, bytes) = (self.board.ended(), self.board.bytes());
            if !rows.is_empty() {
                let mut progress = plan.outline.progress(elapsed_ns, bytes);
                progress.cpu_per_io_us = meter.per_io_us(rows.iter().map(|row| row.ios).sum());
                if settling.as_mut().is_some_and(|s| s.see(&rows, pace.start_ns)) {
                    self.board.halt(Halt::Steady);
                }
                on(Event::Intervals { rows, progress });
            }
            if let Some(notice) = watch.stalled(now_ns, ended_ios, in_flight) {
                on(Event::Notice(notice.clone()));
                notices.push(notice);
            }
            if let Some(gap) = gaps.look(now_ns, collector.next(), (ended_ios, bytes)) {
                on(Event::Waiting(Waiting {
                    start_ns: gap.span_ns.0,
                    end_ns: gap.span_ns.1,
                    ios: gap.ios,
                    bytes: gap.bytes,
                    in_flight,
                    silent_ns: watch.silent_ns(now_ns),
                    progress: plan.outline.progress(elapsed_ns, bytes),
                }));
            }
            if watch.is_lost(now_ns, self.board.halted() != Halt::None, level) {
                let missing = self.threads.len() - ended.len() - failed.len();
                let notice = format!(
                    "{missing} of {} workers did not come back from the kernel; what they did since their last interval is not counted",
                    self.threads.len()
                );
                on(Event::Notice(notice.clone()));
                notices.push(notice);
                break;
            }
        }
        failed.pop().map_or(Ok(ended), Err)
    }

    /// Lets the crew go when `ended` of its workers have said their last word and gave up `unfinished` I/Os; what the census
    /// thread counted. When a worker is lost, its queue never closes: then nothing is known.
    pub(crate) fn dismiss(
        self,
        ended: usize,
        unfinished: usize,
    ) -> Result<CensusTaken, EngineError> {
        let missing = ended < self.threads.len();
        if !missing && unfinished == 0 {
            // They have said their last word; a panic after it cannot take anything back. A thread that gave I/Os up
            // is not joined: the kernel does not let it end before they do.
            self.threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        if missing {
            return Ok((reduce::Census::new(1), Default::default()));
        }
        // It sleeps longer than the end of the load should wait for it.
        self.census.thread().unpark();
        let taken = self.census.join().map_err(|_| lost())?;
        Ok((taken.census, taken.cpu))
    }
}
