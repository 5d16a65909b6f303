//! The load on a real target: sets workers up, watches them, gathers what they did.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use results::iolog::Header;
use results::model::LoadSummary;
use sys::interrupt::Level;
use sys::stamps::Stamps;

use crate::banks::Reader;
use crate::board::{Board, Halt};
use crate::census::{self, SAMPLE, Taken};
use crate::collect::Collector;
use crate::error::{EngineError, Kind};
use crate::event::{Event, Started};
use crate::job::{Job, MakeFill};
use crate::load::{Context, Load};
use crate::outline::Outline;
use crate::pace::Pace;
use crate::record::{Desk, IoLog};
use crate::ring::Ring;
use crate::sample::{self, Counts, Shift};
use crate::summary::{self, Driven, Outcome};
use crate::target::{Target, Wish};
use crate::watch::Watch;
use crate::worker::{Ended, Setting, Worker};

/// How often the collecting thread looks around.
const LOOK: Duration = Duration::from_millis(50);

/// What a worker tells the collecting thread.
enum Word {
    /// Its ring and buffers stand; whether they are registered.
    Ready(bool),
    Ended(Result<Ended, EngineError>),
}

/// The workers of a load.
struct Crew {
    board: Arc<Board>,
    threads: Vec<JoinHandle<()>>,
    words: Receiver<Word>,
    census: JoinHandle<Taken>,
    registered: bool,
}

impl Crew {
    /// Waits until every worker is ready.
    fn muster(&mut self) -> Result<(), EngineError> {
        for _ in 0..self.threads.len() {
            match self.words.recv() {
                Ok(Word::Ready(registered)) => self.registered &= registered,
                Ok(Word::Ended(Err(error))) => {
                    self.board.halt(Halt::Errors);
                    return Err(error);
                }
                Ok(Word::Ended(Ok(_))) | Err(_) => return Err(lost()),
            }
        }
        Ok(())
    }

    fn begin(&self, at_ns: u64) {
        self.board.begin(at_ns);
        self.threads.iter().for_each(|t| t.thread().unpark());
    }
}

fn lost() -> EngineError {
    EngineError::new(
        Kind::Environment,
        "A worker ended before its time",
        "this is a fault of fathom; please report it",
    )
}

/// Runs `load` on the device or file at `path`.
pub(crate) fn run(
    load: &Load,
    path: &Path,
    context: &Context,
    on: &mut dyn FnMut(Event),
    make: MakeFill,
) -> Result<LoadSummary, EngineError> {
    let target = Target::open(path, wish(load))?;
    let object = path.display().to_string();
    let outline = Outline::of(load, target.size, target.alignment, &object)?;
    let stamps = Stamps::of(context.clock);
    let (mut crew, readers, log) = hire(load, &outline, &target, context, &stamps, &object, make)?;
    crew.muster()?;
    let mut notices = target.notices.clone();
    if !crew.registered {
        notices.push(
            "Buffers could not be registered with io_uring: each I/O costs more CPU (raise ulimit -l)".into(),
        );
    }
    notices.iter().for_each(|n| on(Event::Notice(n.clone())));
    let used = usage(context);
    let start_ns = stamps.now_ns();
    let pace =
        Pace { start_ns, interval_ns: outline.interval_ns, duration_ns: outline.duration_ns };
    let shape = outline.shape(load);
    let mut collector = Collector::new(readers, pace, outline.stage, outline.names.clone(), shape);
    on(Event::Started(Started {
        target: target.size,
        backend: "io_uring".into(),
        direct: target.direct,
        start_ns,
    }));
    crew.begin(start_ns);
    let ended = watch(&crew, &outline, pace, context, &mut collector, &mut notices, on)?;
    let sum = Sum::of(&ended);
    let end_ns = sum.span_ns.map_or(start_ns, |(_, last)| last);
    let rows = collector.last_rows(end_ns)?;
    let progress = outline.progress(end_ns - start_ns, crew.board.bytes());
    on(Event::Intervals { rows, progress });
    let failed = (collector.total().errors(), crew.board.halted() == Halt::Errors);
    for notice in failures(failed).into_iter().chain(sum.notices()) {
        on(Event::Notice(notice.clone()));
        notices.push(notice);
    }
    let missing = ended.len() < crew.threads.len();
    if !missing && sum.unfinished == 0 {
        // They have said their last word; a panic after it cannot take anything back. A thread that gave I/Os up
        // is not joined: the kernel does not let it end before they do.
        crew.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
    let (census, census_cpu) = take_census(crew.census, missing)?;
    let (now, ios) = (usage(context), collector.total().ios());
    let since = |now: (Duration, Duration), then: (Duration, Duration)| {
        (now.0.saturating_sub(then.0), now.1.saturating_sub(then.1))
    };
    let (io_log, log_cpu) = log.map(IoLog::finish).unzip();
    let others = [since(now.1, used.1), census_cpu, log_cpu.unwrap_or_default()];
    let outcome = Outcome {
        worst: collector.worst(),
        io_log,
        targets: vec![object.clone()],
        total: collector.into_total(),
        span_ns: sum.span_ns,
        halt: crew.board.halted(),
        by_time: sum.by_time,
        counts: sum.counts,
        census,
        cpu: Some(summary::cpu(since(now.0, used.0), &others, ios)),
        driven: Driven {
            backend: "io_uring",
            direct: target.direct,
            registered: crew.registered,
            clock: stamps.check(),
        },
        notices,
    };
    outcome.summary(load, &outline)
}

fn wish(load: &Load) -> Wish {
    Wish {
        reads: load.spec.ops.names().any(|op| !op.is_write()),
        writes: load.spec.writes(),
        direct: load.spec.direct,
        create: load.may_create,
    }
}

/// CPU time of the process, and of the threads in it that are not the load's.
fn usage(context: &Context) -> ((Duration, Duration), (Duration, Duration)) {
    (sys::usage::process(), context.foreign_cpu.map_or_else(Default::default, |cpu| cpu()))
}

/// What to say about I/Os that failed, given how many did and whether they ended the load.
fn failures((failed, ended): (u64, bool)) -> Option<String> {
    let end = if ended { "; the target gave nothing else, so the load was ended" } else { "" };
    (failed > 0)
        .then(|| format!("{failed} I/Os failed; their kinds are counted per operation{end}"))
}

/// Starts a thread for each job, and the one that takes the census.
fn hire(
    load: &Load,
    outline: &Outline,
    target: &Target,
    context: &Context,
    stamps: &Stamps,
    object: &str,
    make: MakeFill,
) -> Result<(Crew, Vec<Reader>, Option<IoLog>), EngineError> {
    let shift = Shift::picking(SAMPLE, outline.content_blocks());
    let (length, holds_all) = outline.queued();
    let (samplers, taps): (Vec<_>, Vec<_>) =
        (0..outline.jobs).map(|_| sample::queue(length, holds_all, shift.clone())).unzip();
    let jobs = outline.make_jobs(load, samplers, make);
    let board = Arc::new(Board::new(outline.jobs));
    let (sender, words) = channel();
    let census = census::start(taps, shift)?;
    let header = Header { operations: outline.names.clone(), targets: vec![object.to_owned()] };
    let desk = Desk::open(&load.recording, outline.shape(load), outline.jobs, &header)?;
    let mut crew = Crew { board, threads: Vec::new(), words, census, registered: true };
    for (index, (job, recorder)) in jobs.into_iter().zip(desk.recorders).enumerate() {
        let file = target.file.try_clone().map_err(|e| {
            let help = "raise the limit of open files (ulimit -n)";
            EngineError::new(Kind::Environment, "The target cannot be opened again", help)
                .because(e)
        })?;
        let setting = Setting {
            index,
            board: crew.board.clone(),
            stamps: stamps.clone(),
            interrupt: context.interrupt.clone(),
            interval_ns: outline.interval_ns,
            duration_ns: outline.duration_ns,
        };
        let (depth, length, alignment) = (outline.depth, outline.block_bytes, target.alignment);
        let sender = sender.clone();
        let work = move || {
            let ready = |ring: Ring, job: Job| {
                let _ = sender.send(Word::Ready(ring.is_registered()));
                Worker::new(setting, ring, job, recorder, alignment).run()
            };
            let ended = Ring::new(file, depth, length).and_then(|ring| ready(ring, job));
            let _ = Sender::send(&sender, Word::Ended(ended));
        };
        let thread = std::thread::Builder::new().name(format!("job {index}")).spawn(work);
        crew.threads.push(thread.map_err(|e| {
            crew.board.halt(Halt::Errors);
            let help = "use fewer jobs, or raise the limit of threads (ulimit -u)";
            EngineError::new(Kind::Environment, "A worker cannot be started", help).because(e)
        })?);
    }
    Ok((crew, desk.readers, desk.log))
}

/// Gives rows and notices until all workers have ended, or until those that have not are given up.
fn watch(
    crew: &Crew,
    outline: &Outline,
    pace: Pace,
    context: &Context,
    collector: &mut Collector,
    notices: &mut Vec<String>,
    on: &mut dyn FnMut(Event),
) -> Result<Vec<Ended>, EngineError> {
    let (mut ended, mut failed) = (Vec::new(), Vec::new());
    let mut watch = Watch::new(pace);
    let look = LOOK.min(Duration::from_nanos(pace.interval_ns / 4)).max(Duration::from_millis(1));
    while ended.len() + failed.len() < crew.threads.len() {
        match crew.words.recv_timeout(look) {
            Ok(Word::Ended(Ok(end))) => ended.push(end),
            // The others write on until they have seen it: their ends are waited for all the same.
            Ok(Word::Ended(Err(error))) => {
                crew.board.halt(Halt::Errors);
                failed.push(error);
            }
            Ok(Word::Ready(_)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(lost()),
        }
        let level = context.interrupt.level();
        if level != Level::None {
            crew.board.halt(Halt::Interrupted);
        }
        let now_ns = context.clock.now().0;
        let rows = collector.rows()?;
        if !rows.is_empty() {
            let progress = outline.progress(now_ns - pace.start_ns, crew.board.bytes());
            on(Event::Intervals { rows, progress });
        }
        if let Some(notice) = watch.stalled(now_ns, crew.board.ended(), crew.board.in_flight()) {
            on(Event::Notice(notice.clone()));
            notices.push(notice);
        }
        if watch.is_lost(now_ns, crew.board.halted() != Halt::None, level) {
            let missing = crew.threads.len() - ended.len() - failed.len();
            notices.push(format!(
                "{missing} of {} workers did not come back from the kernel; what they did since their last interval is not counted",
                crew.threads.len()
            ));
            break;
        }
    }
    failed.pop().map_or(Ok(ended), Err)
}

/// What the census thread counted. When a worker is lost, its queue never closes: then nothing is known.
fn take_census(
    thread: JoinHandle<Taken>,
    missing: bool,
) -> Result<(reduce::Census, (Duration, Duration)), EngineError> {
    if missing {
        return Ok((reduce::Census::new(1), Default::default()));
    }
    let taken = thread.join().map_err(|_| lost())?;
    Ok((taken.census, taken.cpu))
}

/// How all workers together ended.
#[derive(Default)]
struct Sum {
    span_ns: Option<(u64, u64)>,
    by_time: bool,
    counts: Counts,
    short: u64,
    retried: u64,
    unfinished: usize,
    overflowed: u64,
}

impl Sum {
    fn of(ended: &[Ended]) -> Self {
        let mut sum = Self::default();
        for end in ended {
            sum.span_ns = match (sum.span_ns, end.span_ns) {
                (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                (one, other) => one.or(other),
            };
            sum.by_time |= end.by_time;
            sum.counts.add(end.counts);
            sum.short += end.short;
            sum.retried += end.retried;
            sum.unfinished += end.unfinished;
            sum.overflowed += u64::from(end.overflowed);
        }
        sum
    }

    fn notices(&self) -> Vec<String> {
        let said = |count: u64, text: &str| (count > 0).then(|| format!("{count} {text}"));
        [
            said(self.short, "transfers moved less than asked; their rest was submitted again"),
            said(
                self.retried,
                "times the kernel turned an I/O away (EAGAIN, EINTR); it was asked again",
            ),
            said(
                self.unfinished as u64,
                "I/Os never completed and were given up; they are not counted",
            ),
            said(self.overflowed, "completions were lost by the kernel (queue overflow)"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
