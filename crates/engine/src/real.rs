//! The load on real targets: opens them, sets workers up, watches them, gathers what they did.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use results::model::{DepthFigures, LoadSummary};
use sys::stamps::Stamps;

use crate::backend::{Files, TargetFile};
use crate::board::Halt;
use crate::choice::{Choice, Driver};
use crate::collect::Collector;
use crate::crew::{Crew, Plan};
use crate::ended::{Ended, Sum};
use crate::error::{EngineError, Kind};
use crate::event::{Event, Started};
use crate::job::MakeFill;
use crate::load::{Context, Load, TargetSpec};
use crate::meter::{Cpu, since, usage};
use crate::outline::Outline;
use crate::pace::Pace;
use crate::place::Place;
use crate::probe;
use crate::record::{IoLog, Settling};
use crate::summary::{self, Driven, Outcome};
use crate::target::{Target, Wish};
use crate::verify::{self, Promises, Session};

/// What the targets of a load turned out to be.
struct Ground {
    files: Files,
    outline: Outline,
    alignments: Vec<u64>,
    /// What verification has to know of each.
    verified: Vec<verify::Ground>,
    /// Whether the page cache is passed by everywhere.
    direct: bool,
    /// Where io_uring may write the rest of a short write to the wrong place.
    ring_misplaces: Vec<PathBuf>,
    notices: Vec<String>,
}

impl Ground {
    fn open(load: &Load) -> Result<Self, EngineError> {
        let (mut files, mut facts, mut notices) = (Vec::new(), Vec::new(), Vec::new());
        let (mut direct, mut verified, mut ring_misplaces) = (true, Vec::new(), Vec::new());
        for aim in &load.targets {
            match &aim.target {
                TargetSpec::Path(path) => {
                    let target = Target::open(path, wish(load))?;
                    facts.push((target.size, target.alignment));
                    // Holes in files read as zeros; a device that promises it does not say so.
                    let promises = Promises { discard_zeroes: !target.block, fresh: target.fresh };
                    verified.push(verify::Ground { size: target.size, promises });
                    files.push(TargetFile { file: target.file, block: target.block });
                    direct &= target.direct;
                    if target.ring_misplaces && load.spec.writes() {
                        ring_misplaces.push(path.clone());
                    }
                    notices.extend(target.notices);
                }
                TargetSpec::Null { bytes } => {
                    facts.push((*bytes, 1));
                    direct = false;
                }
                TargetSpec::Simulated(_) => return Err(mixed()),
            }
        }
        if !files.is_empty() && files.len() < load.targets.len() {
            return Err(mixed());
        }
        let outline = Outline::of(load, &facts)?;
        let alignments = facts.iter().map(|f| f.1).collect();
        let files = Files::new(files);
        Ok(Self { files, outline, alignments, verified, direct, ring_misplaces, notices })
    }
}

pub(crate) fn mixed() -> EngineError {
    EngineError::new(
        Kind::Usage,
        "Targets of different kinds cannot share one load",
        "give paths only, or `null` alone",
    )
}

/// Runs `load` on devices and files, or on none, driven as was chosen before, or as a probe finds now.
pub(crate) fn run(
    load: &Load,
    context: &Context,
    on: &mut dyn FnMut(Event),
    make: MakeFill,
    session: &mut Session,
) -> Result<LoadSummary, EngineError> {
    let ground = Ground::open(load)?;
    let Ground { files, outline, alignments, verified, direct, ring_misplaces, mut notices } =
        ground;
    let verifier = session.verifier(load, &verified, &outline)?;
    let place = Place::of(load.spec.cpus.as_ref())?;
    let choice = match &load.choice {
        Some(choice) => choice.clone(),
        None => probe::probe(&load.targets, &load.spec, context)?,
    };
    let stamps = Stamps::of(context.clock);
    let files = Arc::new(files);
    let driver = choice.driver;
    let plan = Plan {
        load,
        outline: &outline,
        driver,
        place: place.as_ref(),
        files: &files,
        alignments: &alignments,
        context,
        stamps: &stamps,
        verifier: verifier.as_ref(),
    };
    let (mut crew, readers, log) = Crew::hire(&plan, make)?;
    crew.muster()?;
    if driver == Driver::IoUring && !crew.registered {
        notices.push(
            "Buffers could not be registered with io_uring: each I/O costs more CPU (raise ulimit -l)".into(),
        );
    }
    if driver == Driver::IoUring {
        notices.extend(ring_misplaces.iter().map(|path| misplaced(path)));
    }
    notices.iter().for_each(|n| on(Event::Notice(n.clone())));
    let used = usage(context);
    let begin_ns = stamps.now_ns();
    let start_ns = begin_ns + outline.ramp_ns;
    let pace =
        Pace { start_ns, interval_ns: outline.interval_ns, duration_ns: outline.duration_ns };
    let shape = outline.shape(load);
    let mut collector = Collector::new(readers, pace, outline.stage, outline.names.clone(), shape);
    on(Event::Started(Started {
        target: outline.bytes(),
        backend: driver.name().into(),
        direct,
        start_ns: begin_ns,
    }));
    crew.begin(begin_ns);
    let mut settling = Settling::of(&load.spec);
    let ended = crew.watch(&plan, pace, &mut collector, &mut notices, &mut settling, on)?;
    let over = Over { plan: &plan, crew, collector, log, settling, choice, direct, used, start_ns };
    over.sum_up(&ended, notices, on)
}

/// A load that has ended, and is to be summed up.
struct Over<'a> {
    plan: &'a Plan<'a>,
    crew: Crew,
    collector: Collector,
    log: Option<IoLog>,
    settling: Option<Settling>,
    choice: Choice,
    direct: bool,
    /// CPU time before it began.
    used: (Cpu, Cpu),
    start_ns: u64,
}

impl Over<'_> {
    /// Gives the last rows and notices, lets the crew go, and makes the summary.
    fn sum_up(
        self,
        ended: &[Ended],
        mut notices: Vec<String>,
        on: &mut dyn FnMut(Event),
    ) -> Result<LoadSummary, EngineError> {
        let Self { plan, crew, mut collector, settling, .. } = self;
        let Plan { load, outline, driver, context, stamps, .. } = *plan;
        let mut sum = Sum::of(ended);
        if ended.len() < crew.workers() {
            // Those that are still in the kernel have told no span: theirs lasts until now.
            let first_ns = sum.span_ns.map_or(self.start_ns, |(first, _)| first);
            sum.span_ns = Some((first_ns, stamps.now_ns().max(first_ns)));
        }
        let end_ns = sum.span_ns.map_or(self.start_ns, |(_, last)| last.max(self.start_ns));
        let rows = collector.last_rows(end_ns)?;
        let progress = outline.progress(end_ns - self.start_ns, crew.board.bytes());
        on(Event::Intervals { rows, progress });
        let (halt, seen) = (crew.board.halted(), crew.seen_in_flight);
        let unsettled = settling.as_ref().and_then(Settling::notice);
        let failed = failures(collector.total().errors(), halt);
        for notice in failed.into_iter().chain(sum.notices()).chain(unsettled) {
            on(Event::Notice(notice.clone()));
            notices.push(notice);
        }
        let registered = driver == Driver::IoUring && crew.registered;
        let (census, census_cpu) = crew.dismiss(ended.len(), sum.unfinished)?;
        let (now, ios) = (usage(context), collector.total().ios());
        let (io_log, log_cpu) = self.log.map(IoLog::finish).unzip();
        let others = [since(now.1, self.used.1), census_cpu, log_cpu.unwrap_or_default()];
        let (submitted_per_call, reaped_per_call) = sum.per_call();
        let outcome = Outcome {
            worst: collector.worst(),
            io_log,
            steady: settling.as_ref().map(Settling::facts),
            targets: outline.targets.clone(),
            total: collector.into_total(),
            span_ns: sum.span_ns,
            halt,
            by_time: sum.by_time,
            counts: sum.counts,
            census,
            cpu: Some(summary::cpu(since(now.0, self.used.0), &others, ios)),
            driven: Driven {
                choice: self.choice,
                direct: self.direct,
                registered,
                clock: stamps.check(),
                in_flight: sum.span_ns.map(|_| in_flight(&sum, outline.jobs, seen)),
                submitted_per_call,
                reaped_per_call,
                cpus: load.spec.cpus.as_ref().map(ToString::to_string),
            },
            notices,
        };
        outcome.summary(load, outline)
    }
}

/// What was in flight: threads that have one I/O each cannot know how many others there were, so what was `seen` counts too.
fn in_flight(sum: &Sum, jobs: usize, seen: u64) -> DepthFigures {
    let figures = sum.in_flight(jobs);
    DepthFigures { max: figures.max.max((seen / jobs as u64) as u32), ..figures }
}

fn wish(load: &Load) -> Wish {
    Wish {
        reads: load.spec.ops.names().any(|op| !op.is_write()),
        writes: load.spec.writes(),
        direct: load.spec.direct,
        create: load.may_create,
    }
}

/// What to say when io_uring was asked for where it may write to the wrong place.
fn misplaced(path: &Path) -> String {
    format!(
        "{} is on FUSE: if its server takes less of a direct write than asked, the kernel's io_uring writes the rest to the wrong \
         place and tells nobody; `libaio` and `sync` do not, nor does a load through the page cache",
        path.display()
    )
}

/// What to say about I/Os that failed.
fn failures(failed: u64, halt: Halt) -> Option<String> {
    let end = match halt {
        Halt::Errors => "; the target gave nothing else, so the load was ended",
        _ => "",
    };
    (failed > 0)
        .then(|| format!("{failed} I/Os failed; their kinds are counted per operation{end}"))
}
