//! The load on real targets: opens them, sets workers up, watches them, and sums up what they did.

use std::io;
use std::sync::Arc;

use results::model::{DepthFigures, LoadSummary};
use sys::identity::Identity;
use sys::stamps::Stamps;
use workload::LoadSpec;

use crate::backend::{Files, TargetFile};
use crate::choice::{Choice, Driver};
use crate::collect::Collector;
use crate::cpu_affinity::CpuAffinity;
use crate::ended::{self, Ended, Sum};
use crate::error::{EngineError, ErrorKind};
use crate::event::{Event, Started};
use crate::job::MakeFill;
use crate::load::{Aim, Context, Load, TargetSpec};
use crate::load_status::StopReason;
use crate::meter::{Cpu, since, usage};
use crate::pace::Pace;
use crate::page_cache::{self, Then};
use crate::record::{IoLog, SteadyDetector};
use crate::resolved_load::ResolvedLoad;
use crate::summary::{self, Driven, Outcome};
use crate::target::{Access, Target};
use crate::verify::{self, Promises, Session};
use crate::workers::{WorkerSetup, Workers};

/// The open targets of a load, with the facts found out about them.
struct OpenedTargets {
    files: Files,
    resolved: ResolvedLoad,
    alignments: Vec<u64>,
    /// The facts about each target that verification needs.
    verified: Vec<verify::TargetFacts>,
    /// Tells whether the page cache is bypassed on all of them.
    direct: bool,
    /// Names of the targets on which io_uring may write the rest of a short write to the wrong place.
    ring_misplaces: Vec<String>,
    notices: Vec<String>,
}

impl OpenedTargets {
    fn open(load: &Load) -> Result<Self, EngineError> {
        let (mut files, mut facts, mut notices) = (Vec::new(), Vec::new(), Vec::new());
        let (mut direct, mut verified, mut ring_misplaces) = (true, Vec::new(), Vec::new());
        for aim in &load.targets {
            let Some(target) = Target::of_spec(&aim.target, access(load))? else {
                let TargetSpec::Null { bytes } = &aim.target else { return Err(mixed()) };
                facts.push((*bytes, 1));
                direct = false;
                continue;
            };
            facts.push((target.size, target.alignment));
            // Holes in files read as zeros; a device does not report it even if its discarded blocks read as zeros.
            let promises = Promises { discard_zeroes: !target.block, fresh: target.fresh };
            let identity =
                Identity::of(&target.file).map_err(|e| unidentified(&aim.target.name(), e))?;
            verified.push(verify::TargetFacts { size: target.size, promises, identity });
            direct &= target.direct;
            if target.ring_misplaces && load.spec.writes() {
                ring_misplaces.push(aim.target.name());
            }
            let reads = access(load).reads;
            if reads && target.has_hole(load.spec.range_in(target.size.0)) {
                notices.push(unwritten(&aim.target.name()));
            }
            notices.extend(target.notices);
            let Target { file, block, made, .. } = target;
            files.push(TargetFile { file, block, made });
        }
        if !files.is_empty() && files.len() < load.targets.len() {
            return Err(mixed());
        }
        let resolved = ResolvedLoad::of(load, &facts)?;
        let alignments = facts.iter().map(|f| f.1).collect();
        let files = Files::new(files);
        Ok(Self { files, resolved, alignments, verified, direct, ring_misplaces, notices })
    }
}

fn unidentified(target: &str, source: io::Error) -> EngineError {
    let message = format!("The identity of {target} cannot be read");
    EngineError::new(ErrorKind::Target, message, "see the cause below").because(source)
}

pub(crate) fn mixed() -> EngineError {
    EngineError::new(
        ErrorKind::Usage,
        "Targets of different kinds cannot share one load",
        "give paths only, or `null` alone",
    )
}

/// Chooses how targets are driven, where that was not chosen before.
pub(crate) type Choose<'a> = &'a dyn Fn(&[Aim], &LoadSpec, &Context) -> Result<Choice, EngineError>;

/// Runs `load` on devices and files, or on none, with the driver that was chosen before or that `choose` finds now.
pub(crate) fn run(
    load: &Load,
    context: &Context,
    on: &mut dyn FnMut(Event),
    (make, choose): (MakeFill, Choose),
    session: &mut Session,
) -> Result<LoadSummary, EngineError> {
    let opened = OpenedTargets::open(load)?;
    let OpenedTargets { files, resolved, alignments, verified, direct, .. } = opened;
    let (ring_misplaces, mut notices) = (opened.ring_misplaces, opened.notices);
    let verifier = session.verifier(load, &verified, &resolved)?;
    let affinity = CpuAffinity::of(load.spec.cpus.as_ref())?;
    let choice = match &load.choice {
        Some(choice) => choice.clone(),
        None => choose(&load.targets, &load.spec, context)?,
    };
    let stamps = Stamps::of(context.clock);
    let files = Arc::new(files);
    // The reads that are checked have to come from the target itself.
    let not_flushed = match verify::checks(&load.spec) {
        true => page_cache::bring_down(&files, &resolved.targets, Then::Drop, context.interrupt),
        false => Vec::new(),
    };
    let driver = choice.driver;
    let setup = WorkerSetup {
        load,
        resolved: &resolved,
        driver,
        affinity: affinity.as_ref(),
        files: &files,
        alignments: &alignments,
        context,
        stamps: &stamps,
        verifier: verifier.as_ref(),
    };
    let (mut workers, readers, log) = Workers::spawn(&setup, make)?;
    workers.wait_ready()?;
    if driver == Driver::IoUring && !workers.registered {
        notices.push(
            "Buffers could not be registered with io_uring: each I/O costs more CPU (raise ulimit -l)".into(),
        );
    }
    if driver == Driver::IoUring {
        notices.extend(ring_misplaces.iter().map(|path| misplaced(path)));
    }
    if driver == Driver::Libaio && !direct {
        notices.extend(in_turn(load.spec.depth_ios()));
    }
    notices.iter().for_each(|n| on(Event::Notice(n.clone())));
    // A receiver may take time over this event, which must not count as the load's.
    on(Event::Started(Started { target: resolved.bytes(), backend: driver.name().into(), direct }));
    let used = usage(context);
    let begin_ns = stamps.now_ns();
    let start_ns = begin_ns + resolved.ramp_ns;
    let pace =
        Pace { start_ns, interval_ns: resolved.interval_ns, duration_ns: resolved.duration_ns };
    let shape = resolved.shape(load);
    let mut collector =
        Collector::new(readers, pace, resolved.stage, resolved.names.clone(), shape);
    workers.begin(begin_ns);
    let mut steady_detector = SteadyDetector::of(&load.spec);
    let ended =
        workers.watch(&setup, pace, &mut collector, &mut notices, &mut steady_detector, on)?;
    let over = Over {
        setup: &setup,
        workers,
        collector,
        log,
        steady_detector,
        choice,
        direct,
        used,
        start_ns,
        not_flushed,
    };
    over.sum_up(&ended, notices, on)
}

/// The notice that libaio does not keep the depth: it does I/Os through the page cache while they are submitted (`aio_read` and `aio_write` of the
/// kernel).
fn in_turn(depth: u32) -> Option<String> {
    (depth > 1).then(|| {
        format!(
            "libaio does I/Os through the page cache one after the other, so that a depth of {depth} has no effect: io_uring and sync keep as many in flight (--backend, or backend of the load)"
        )
    })
}

/// A load that has ended, before it is summed up.
struct Over<'a> {
    setup: &'a WorkerSetup<'a>,
    workers: Workers,
    collector: Collector,
    log: Option<IoLog>,
    steady_detector: Option<SteadyDetector>,
    choice: Choice,
    direct: bool,
    /// CPU time when it began.
    used: (Cpu, Cpu),
    start_ns: u64,
    /// The flushes of its targets that failed, in sentences.
    not_flushed: Vec<String>,
}

impl Over<'_> {
    /// Gives the last rows and notices, joins the workers, and makes the summary.
    fn sum_up(
        self,
        ended: &[Ended],
        mut notices: Vec<String>,
        on: &mut dyn FnMut(Event),
    ) -> Result<LoadSummary, EngineError> {
        let Self { setup, workers, mut collector, steady_detector, .. } = self;
        let WorkerSetup { load, resolved, driver, context, stamps, .. } = *setup;
        let mut sum = Sum::of(ended);
        if ended.len() < workers.count() {
            // Workers that are still in the kernel have reported no span; they count as busy until now.
            let first_ns = sum.span_ns.map_or(self.start_ns, |(first, _)| first);
            sum.span_ns = Some((first_ns, stamps.now_ns().max(first_ns)));
        }
        let end_ns = sum.end_ns(self.start_ns);
        let rows = collector.last_rows(end_ns)?;
        let progress = resolved.progress(end_ns - self.start_ns, workers.status.bytes());
        on(Event::Intervals { rows: rows.all, jobs: rows.jobs, progress });
        let (halt, seen) = (workers.status.halted(), workers.seen_in_flight);
        let measured = collector.total().ios() + collector.total().errors();
        let ramp_ios = workers.status.ended().saturating_sub(measured);
        let unsettled = steady_detector.as_ref().and_then(SteadyDetector::notice);
        let failed = failures(collector.total().errors(), halt).into_iter();
        for notice in failed.chain(sum.notices()).chain(unsettled).chain(collector.notice()) {
            on(Event::Notice(notice.clone()));
            notices.push(notice);
        }
        let registered = driver == Driver::IoUring && workers.registered;
        // A target that hangs would hang the marking of its files as well.
        let is_whole = ended.len() == workers.count() && sum.unfinished == 0;
        let stood_still_ns = workers.stood_still_ns.clone();
        let (census, census_cpu) = workers.join(ended.len(), sum.unfinished)?;
        if is_whole {
            setup.files.mark_made();
        }
        let now = usage(context);
        let mut not_flushed = self.not_flushed;
        if is_whole && !self.direct && load.spec.writes() {
            let (files, names) = (setup.files, &resolved.targets);
            not_flushed.extend(page_cache::bring_down(files, names, Then::Keep, context.interrupt));
        }
        let (io_log, log_cpu) = self.log.map(IoLog::finish).unzip();
        let others = [since(now.1, self.used.1), census_cpu, log_cpu.unwrap_or_default()];
        let (submitted_per_call, reaped_per_call) = sum.per_call();
        let jobs_workers = (resolved.jobs, setup.workers_of_a_job());
        let outcome = Outcome {
            worst: collector.worst(),
            io_log,
            steady: steady_detector.as_ref().map(SteadyDetector::facts),
            targets: resolved.targets.clone(),
            worked_ns: ended::worked_ns(ended, jobs_workers, (self.start_ns, end_ns)),
            are_files: setup.files.are_files(),
            total: collector.into_total(),
            duration_ns: end_ns - self.start_ns,
            halt,
            by_time: sum.by_time,
            counts: sum.counts,
            census,
            cpu: Some(summary::cpu(since(now.0, self.used.0), &others, ramp_ios)),
            driven: Driven {
                choice: self.choice,
                direct: self.direct,
                registered,
                clock: stamps.check(),
                in_flight: sum.span_ns.map(|_| {
                    let figures = sum.in_flight(resolved.jobs, end_ns - self.start_ns);
                    with_seen(figures, resolved.jobs, seen)
                }),
                submitted_per_call,
                reaped_per_call,
                cpus: load.spec.cpus.as_ref().map(ToString::to_string),
            },
            notices,
        };
        let mut summary = outcome.summary(load, resolved)?;
        let own_flushes = page_cache::own_flushes(load, self.direct, &summary);
        not_flushed.into_iter().chain(own_flushes).for_each(|text| summary.lacks(text));
        Ok(LoadSummary { stood_still_ns, ..summary })
    }
}

/// Returns the figures of I/Os in flight. Threads with one I/O each do not know how many others there were, so what the collecting thread has `seen`
/// counts too.
fn with_seen(figures: DepthFigures, jobs: usize, seen: u64) -> DepthFigures {
    DepthFigures { max: figures.max.max((seen / jobs as u64) as u32), ..figures }
}

fn access(load: &Load) -> Access {
    Access {
        reads: load.spec.ops.names().any(|op| !op.is_write()),
        writes: load.spec.writes(),
        direct: load.spec.direct,
        create: load.may_create,
    }
}

/// Returns the notice for a file with parts in the load's range that were never written.
fn unwritten(path: &str) -> String {
    format!("{path} has parts that were never written: reads of them need no device")
}

/// Returns the notice for io_uring, when it was asked for, on a target where it may write to the wrong place.
fn misplaced(path: &str) -> String {
    format!(
        "{path} is on FUSE: if its server takes less of a direct write than asked, the kernel's io_uring writes the rest to the wrong \
         place and tells nobody; `libaio` and `sync` do not, nor does a load through the page cache"
    )
}

/// Returns the notice for I/Os that failed.
fn failures(failed: u64, halt: StopReason) -> Option<String> {
    let end = match halt {
        StopReason::Errors => "; the target gave nothing else, so the load was ended",
        _ => "",
    };
    (failed > 0)
        .then(|| format!("{failed} I/Os failed; their kinds are counted per operation{end}"))
}
