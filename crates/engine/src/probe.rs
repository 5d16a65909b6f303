//! `auto`: chooses how a target is driven by a short probe that only reads.
//!
//! Two questions. Does the target take I/O without blocking (`RWF_NOWAIT`)? Where it does not, io_uring hands every I/O to a
//! worker thread of the kernel, which costs more than calling it. And how many reads per second come by each way, at the
//! depth asked for, and for how much CPU time of the whole process, io_uring's kernel workers included? Each way runs twice,
//! in the order A B C C B A; of two bursts the higher rate and the lower cost count. CPU time weighs in because a busy machine
//! bends it least: many threads win time from their neighbours there, and only look faster.
//!
//! * The target blocks: of the ways that cost about as little as the cheapest ([`NOISE`]; one that is slower than half the fastest
//!   is none) those that are about as fast as the fastest of them, and of these the cheapest. libaio is tried too, at
//!   depth and past the page cache: it submits without a worker thread, and one thread then does for all I/Os.
//! * It does not, at depth 1: plain calls or a queue, whichever costs less CPU, unless it is slower by more than noise.
//! * It does not, at more: io_uring, unless plain calls are far faster ([`FAR`]) in both of their bursts and cost no more CPU.
//!   Many threads that were fast once need not stay so: on CPUs that others want they wait for each other.
//!
//! Where the kernel gives no io_uring, libaio takes its place; also where io_uring may write to the wrong place (on FUSE).

use std::os::fd::AsRawFd;

use results::model::ProbeFigure;
use units::{Bytes, Nanos, Seed};
use workload::{Backend, BlockSize, LoadSpec, OpName, Ops};

use crate::backend::{Buffers, calls};
use crate::choice::{Choice, Driver};
use crate::error::EngineError;
use crate::job;
use crate::load::{Aim, Context, Load, TargetSpec};
use crate::real;
use crate::record::Recording;
use crate::target::{Target, Wish};
use crate::verify::Session;

/// How long one burst of reads lasts.
const BURST: Nanos = Nanos(60_000_000);
/// Rates that differ by less than this factor say nothing.
const NOISE: f64 = 0.8;
/// A way that reads slower than this share of the fastest is none, however cheap it is.
const SLOW: f64 = 0.5;
/// How many times as fast plain calls must be at depth, where nothing speaks against a queue.
const FAR: f64 = 1.5;
/// More threads than this are not tried.
const MOST_THREADS: u64 = 1_024;

/// Chooses how `spec` is driven on `targets`: what it asks for, or for `auto` what a probe finds that only reads. Nothing is
/// written and nothing made. All variants of one experiment should share one choice ([`Load::choice`]).
///
/// Fails when a target cannot be opened or read.
pub fn probe(targets: &[Aim], spec: &LoadSpec, context: &Context) -> Result<Choice, EngineError> {
    if targets.iter().any(|aim| matches!(aim.target, TargetSpec::Simulated(_))) {
        return Ok(Choice::given(Driver::Sim, "the target is simulated"));
    }
    if targets.iter().any(|aim| matches!(aim.target, TargetSpec::Null { .. })) {
        return Ok(Choice::given(Driver::Null, "there is no target"));
    }
    match spec.backend {
        Backend::IoUring => Ok(Choice::given(Driver::IoUring, "asked for")),
        Backend::Libaio => Ok(Choice::given(Driver::Libaio, "asked for")),
        Backend::Sync => Ok(Choice::given(Driver::Sync, "asked for")),
        Backend::Auto => measure(targets, spec, context),
    }
}

fn measure(targets: &[Aim], spec: &LoadSpec, context: &Context) -> Result<Choice, EngineError> {
    let Nature { blocks, ring_misplaces } = nature(targets, spec)?;
    let depth = spec.depth_ios();
    let reads = reads(spec);
    let burst = |driver| burst(targets, &reads, driver, context);
    let ring = if ring_misplaces { None } else { burst(Driver::IoUring).ok() };
    let (queue, first) = match ring {
        Some(figure) => (Driver::IoUring, figure),
        // Without io_uring there may still be the older queue.
        None => (Driver::Libaio, burst(Driver::Libaio)?),
    };
    let mut ways = vec![(queue, first)];
    let threads = u64::from(depth) * u64::from(spec.jobs);
    if threads <= MOST_THREADS {
        ways.push((Driver::Sync, burst(Driver::Sync)?));
    }
    // Through the page cache libaio is no queue: each call does its I/Os one after the other.
    if blocks && depth > 1 && spec.direct && queue == Driver::IoUring {
        // The kernel may give none: then it is not a way.
        ways.extend(burst(Driver::Libaio).ok().map(|figure| (Driver::Libaio, figure)));
    }
    if ways.len() == 1 {
        let reason = format!("plain calls would need more than {MOST_THREADS} threads");
        let figures = ways.into_iter().map(|(_, figure)| figure).collect();
        return Ok(told_of(ring_misplaces, Choice { driver: queue, reason, figures }));
    }
    let mut slower = None;
    for (driver, figure) in ways.iter_mut().rev() {
        let (first, second) = (std::mem::take(figure), burst(*driver)?);
        if *driver == Driver::Sync {
            slower = first.iops.zip(second.iops).map(|(a, b)| a.min(b));
        }
        *figure = better(first, second);
    }
    Ok(told_of(ring_misplaces, choose(ways, slower, blocks, depth)))
}

/// The same choice; where io_uring `misplaces` writes, says that it was none of the ways for that.
fn told_of(misplaces: bool, mut choice: Choice) -> Choice {
    if misplaces {
        choice
            .reason
            .push_str("; not io_uring, whose short direct writes on FUSE go to the wrong place");
    }
    choice
}

/// The rule, from what each way did at `depth`; the first of `ways` is a queue, the second may be plain calls, whose slower
/// burst read `slower` times a second.
fn choose(
    mut ways: Vec<(Driver, ProbeFigure)>,
    slower: Option<f64>,
    blocks: bool,
    depth: u32,
) -> Choice {
    let note = if blocks { "RWF_NOWAIT is refused" } else { "RWF_NOWAIT is taken" };
    ways[0].1.note = note.into();
    let (driver, rule) = if blocks {
        (cheapest(&ways), "blocks (RWF_NOWAIT is refused): the fastest of the cheap ways")
    } else {
        let of = |get: fn(&ProbeFigure) -> Option<f64>| {
            let figure = ways.iter().find(|way| way.0 == Driver::Sync).and_then(|way| get(&way.1));
            figure.zip(get(&ways[0].1)).filter(|&(_, b)| b > 0.0).map(|(a, b)| a / b)
        };
        // Without figures nothing speaks for plain calls.
        let speed = of(|figure| figure.iops).unwrap_or(0.0);
        let cheaper = of(|figure| figure.cpu_per_io_us).unwrap_or(f64::INFINITY) <= 1.0;
        let (plain, rule) = if depth == 1 {
            let least = if cheaper { NOISE } else { 1.0 / NOISE };
            (speed >= least, "does not block, depth 1: the cheaper way, if it is not slower")
        } else {
            let rule =
                "does not block: a queue, if plain calls are not far faster at the same cost";
            let both = slower.zip(ways[0].1.iops).is_some_and(|(calls, queue)| calls > FAR * queue);
            (speed > FAR && both && cheaper, rule)
        };
        (if plain { Driver::Sync } else { ways[0].0 }, rule)
    };
    let figures: Vec<_> = ways.into_iter().map(|(_, figure)| figure).collect();
    let told: Vec<_> = figures.iter().map(told).collect();
    let reason = format!("auto: the target {rule}; {}", told.join(", "));
    Choice { driver, reason, figures }
}

/// Of the ways that do not cost much more than the cheapest and are about as fast as the fastest of these, the cheapest. Rates
/// alone do not decide: on a busy machine the kernel's many workers win time from their neighbours.
fn cheapest(ways: &[(Driver, ProbeFigure)]) -> Driver {
    let iops = |way: &(Driver, ProbeFigure)| way.1.iops.unwrap_or(0.0);
    let cost = |way: &(Driver, ProbeFigure)| way.1.cpu_per_io_us.unwrap_or(f64::INFINITY);
    let mut rest: Vec<_> = ways.iter().collect();
    let most = rest.iter().map(|way| iops(way)).fold(0.0, f64::max);
    rest.retain(|way| iops(way) >= SLOW * most);
    let least = rest.iter().map(|way| cost(way)).fold(f64::INFINITY, f64::min);
    rest.retain(|way| cost(way) <= least / NOISE);
    let most = rest.iter().map(|way| iops(way)).fold(0.0, f64::max);
    rest.retain(|way| iops(way) >= NOISE * most);
    rest.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).map_or(ways[0].0, |way| way.0)
}

/// A figure in words.
fn told(figure: &ProbeFigure) -> String {
    let number = |n: Option<f64>, places: usize| {
        n.map_or_else(|| "no".to_owned(), |n| format!("{n:.places$}"))
    };
    let (iops, cost) = (number(figure.iops, 0), number(figure.cpu_per_io_us, 2));
    format!("{} {iops} IOPS at {cost} us", figure.backend)
}

/// What two bursts say: each figure from the one that was disturbed less.
fn better(a: ProbeFigure, b: ProbeFigure) -> ProbeFigure {
    let cpu_per_io_us = match (a.cpu_per_io_us, b.cpu_per_io_us) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    ProbeFigure { cpu_per_io_us, ..if b.iops > a.iops { b } else { a } }
}

/// Reads at random over the range of `spec`, at its depth, in its largest size.
fn reads(spec: &LoadSpec) -> LoadSpec {
    let size = spec.largest_io().0.max(4096);
    LoadSpec {
        ops: Ops::only(OpName::Randread),
        block_size: BlockSize::from(Bytes(size)),
        depth: spec.depth_ios(),
        jobs: 1,
        offset: spec.offset,
        size: spec.size,
        direct: spec.direct,
        cpus: spec.cpus.clone(),
        duration: Some(BURST),
        ..LoadSpec::default()
    }
}

/// One burst of reads.
fn burst(
    targets: &[Aim],
    reads: &LoadSpec,
    driver: Driver,
    context: &Context,
) -> Result<ProbeFigure, EngineError> {
    let load = Load {
        targets: targets.to_vec(),
        recording: Recording { worst: 0, ..Recording::default() },
        choice: Some(Choice::given(driver, "probe")),
        ..Load::new(reads.clone(), Seed(1))
    };
    let summary = real::run(&load, context, &mut |_| {}, &job::content, &mut Session::default())?;
    let read = summary.operations.values().next();
    Ok(ProbeFigure {
        backend: driver.name().into(),
        ios: read.map_or(0, |op| op.ios),
        iops: read.and_then(|op| op.iops),
        cpu_per_io_us: summary.cpu.and_then(|cpu| cpu.per_io_us),
        note: String::new(),
    })
}

/// What the targets are like.
#[derive(Default)]
struct Nature {
    /// Some target refuses to be read without blocking.
    blocks: bool,
    /// There are writes, and io_uring may put some of them in the wrong place ([`Target::ring_misplaces`]).
    ring_misplaces: bool,
}

fn nature(targets: &[Aim], spec: &LoadSpec) -> Result<Nature, EngineError> {
    let (mut nature, mut buffers) = (Nature::default(), Buffers::new(1, 4096)?);
    for aim in targets {
        let TargetSpec::Path(path) = &aim.target else { continue };
        let wish = Wish { reads: false, writes: false, direct: spec.direct, create: None };
        let target = Target::open(path, wish)?;
        let memory = buffers.slot(0);
        let part = libc::iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: memory.len() };
        let at = spec.offset.unwrap_or_default().0 as libc::off_t;
        // SAFETY: the kernel writes at most the slot's bytes, which are borrowed here.
        let read = unsafe {
            libc::preadv2(target.file.as_raw_fd(), &raw const part, 1, at, libc::RWF_NOWAIT)
        };
        nature.blocks |= read < 0 && calls::errno() == libc::EOPNOTSUPP;
        nature.ring_misplaces |= target.ring_misplaces && spec.writes();
    }
    Ok(nature)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(driver: Driver, iops: f64, cpu: f64) -> ProbeFigure {
        let backend = driver.name().into();
        let (iops, cpu_per_io_us) = (Some(iops), Some(cpu));
        ProbeFigure { backend, iops, cpu_per_io_us, ..ProbeFigure::default() }
    }

    /// Whether plain calls are chosen that read `speed` times as fast as io_uring, for `cost` of its CPU.
    fn plain(depth: u32, blocks: bool, speed: f64, cost: f64) -> bool {
        let queue = (Driver::IoUring, figure(Driver::IoUring, 1000.0, 1.0));
        let calls = (Driver::Sync, figure(Driver::Sync, 1000.0 * speed, cost));
        let choice = choose(vec![queue, calls], Some(1000.0 * speed), blocks, depth);
        assert_eq!(choice.figures.len(), 2);
        let told = format!("sync {:.0} IOPS at {cost:.2} us", 1000.0 * speed);
        assert!(choice.reason.ends_with(&told), "{choice:?}");
        choice.driver == Driver::Sync
    }

    #[test]
    fn where_the_target_blocks_plain_calls_win_that_cost_no_more_and_are_about_as_fast() {
        for depth in [1, 32] {
            assert!(plain(depth, true, 0.81, 0.9) && plain(depth, true, 1.2, 0.99));
            assert!(!plain(depth, true, 0.79, 0.9) && !plain(depth, true, 1.2, 1.01));
            assert!(plain(depth, true, 1.3, 1.1), "a queue that is slower is no gain");
        }
    }

    #[test]
    fn where_the_target_blocks_a_queue_whose_workers_win_cpu_time_from_others_is_not_taken() {
        assert!(plain(32, true, 0.62, 0.7), "seen on tmpfs, on a machine with a load of 25");
        assert!(!plain(32, true, 0.49, 0.7), "too slow to be a way");
        assert!(!plain(32, true, 1.9, 1.3), "32 threads may win it as well");
    }

    #[test]
    fn where_the_target_blocks_the_older_queue_may_win_as_well() {
        let ways = |libaio: f64, cost: f64| {
            vec![
                (Driver::IoUring, figure(Driver::IoUring, 10.0, 30.0)),
                (Driver::Sync, figure(Driver::Sync, 100.0, 2.0)),
                (Driver::Libaio, figure(Driver::Libaio, libaio, cost)),
            ]
        };
        assert_eq!(choose(ways(90.0, 1.8), None, true, 32).driver, Driver::Libaio);
        assert_eq!(choose(ways(70.0, 1.8), None, true, 32).driver, Driver::Sync);
        assert_eq!(choose(ways(90.0, 2.1), None, true, 32).driver, Driver::Sync);
    }

    #[test]
    fn at_depth_more_threads_that_look_faster_and_cost_more_do_not_win() {
        assert!(!plain(32, false, 3.0, 2.03) && !plain(32, false, 1.49, 0.5));
        assert!(plain(32, false, 1.51, 0.9));
    }

    #[test]
    fn at_depth_threads_that_were_far_faster_only_once_do_not_win() {
        let way = |driver, iops| (driver, figure(driver, iops, 1.0));
        let ways = || vec![way(Driver::IoUring, 1000.0), way(Driver::Sync, 4000.0)];
        assert_eq!(choose(ways(), Some(400.0), false, 32).driver, Driver::IoUring);
        assert_eq!(choose(ways(), Some(1600.0), false, 32).driver, Driver::Sync);
    }

    #[test]
    fn at_depth_1_what_is_cheaper_wins_if_it_is_not_slower() {
        assert!(plain(1, false, 0.81, 0.9) && !plain(1, false, 0.79, 0.9));
        assert!(!plain(1, false, 1.24, 1.1) && plain(1, false, 1.26, 1.1));
    }

    #[test]
    fn of_two_bursts_each_figure_is_the_better_one_and_none_are_no_reason_for_calls() {
        let best = better(figure(Driver::Sync, 100.0, 2.0), figure(Driver::Sync, 90.0, 1.0));
        assert_eq!((best.iops, best.cpu_per_io_us), (Some(100.0), Some(1.0)));
        let nothing = || {
            let none = ProbeFigure::default;
            vec![(Driver::IoUring, none()), (Driver::Sync, none())]
        };
        for (blocks, depth) in [(true, 1), (true, 32), (false, 1), (false, 32)] {
            assert_eq!(choose(nothing(), None, blocks, depth).driver, Driver::IoUring);
        }
    }

    #[test]
    fn what_is_asked_for_is_not_probed() {
        let interrupt = sys::interrupt::Interrupt::new();
        let clock = sys::clock::Clock::real();
        let context = Context { clock: &clock, interrupt: &interrupt, foreign_cpu: None };
        let missing = TargetSpec::Path("/does/not/exist".into()).alone();
        for (backend, driver) in [
            (Backend::IoUring, Driver::IoUring),
            (Backend::Libaio, Driver::Libaio),
            (Backend::Sync, Driver::Sync),
        ] {
            let spec = LoadSpec { backend, ..LoadSpec::default() };
            assert_eq!(probe(&missing, &spec, &context).unwrap().driver, driver);
        }
        assert!(probe(&missing, &LoadSpec::default(), &context).is_err());
    }
}
