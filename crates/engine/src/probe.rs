//! `auto`: chooses how a target is driven by a short probe that only reads.
//!
//! It answers two questions. Does the target accept I/O without blocking (`RWF_NOWAIT`)? If not, io_uring passes each I/O to a kernel worker thread,
//! which costs more than a plain call. And how many reads per second does each driver reach at the depth asked for, and for how much CPU time of the
//! process, kernel workers included? Each driver runs two bursts, in the order A B C C B A; the higher rate and the lower cost count. CPU time is
//! taken into account because a busy machine disturbs it least: many threads only look faster because they take CPU time from other programs.
//!
//! * At depth 1: plain calls, since they need one system call where a queue needs two; a queue only if both of its bursts were faster, beyond noise,
//!   than any burst of plain calls. At this depth the result depends on the CPU on which the scheduler wakes the thread that waits for each I/O:
//!   reads may be three times as fast in one case as in the other, and two bursts of one driver may both be lucky.
//! * At greater depth on a target that blocks: candidates are the drivers that cost about as little as the cheapest ([`rule::NOISE`]) and reach at
//!   least half the rate of the fastest. Among those that are about as fast as the fastest candidate, the cheapest wins. libaio is tried too, past
//!   the page cache: it submits without a worker thread, so that one thread is enough for all I/Os.
//! * At greater depth on a target that does not block: io_uring, unless plain calls are far faster ([`rule::FAR`]) in both of their bursts and cost
//!   no more CPU. Many threads that were fast once need not stay so: on CPUs that are used by others, too, they wait for each other.
//!
//! Libaio takes the place of io_uring if the kernel offers no io_uring, or if io_uring may write to the wrong place (on FUSE).
//!
//! Nothing is probed if reads would not show how the load itself will behave: for loads that write, and for files with parts that were never written,
//! since reads of these end in memory and never reach a device. The choice then rests on what is known without a probe ([`rule::unprobed`]).

mod rule;

use std::os::fd::AsRawFd;

use results::model::ProbeFigure;
use units::{Bytes, Nanos, Seed};
use workload::{Backend, BlockSize, LoadSpec, OpName, Ops};

use crate::backend::{Aio, Buffers, Files, Ring, calls};
use crate::choice::{Choice, Driver};
use crate::error::EngineError;
use crate::job;
use crate::load::{Aim, Context, Load, TargetSpec};
use crate::probe::rule::{UnprobedFacts, Way, choose, unprobed};
use crate::real;
use crate::record::Recording;
use crate::target::{Access, Target};
use crate::verify::Session;

/// Length of one burst of reads.
const BURST: Nanos = Nanos(60_000_000);
/// Most threads that plain calls are tried with.
const MOST_THREADS: u64 = 1_024;

/// Chooses how `spec` is driven on `targets`: as it asks, or for `auto` by a probe. The probe only reads; nothing is written or created. All variants
/// of one experiment should share one choice ([`Load::choice`]).
///
/// Fails when a target cannot be opened or read.
pub fn probe(targets: &[Aim], spec: &LoadSpec, context: &Context) -> Result<Choice, EngineError> {
    choice(targets, spec, || measure(targets, spec, context))
}

/// Loads that are to be driven alike, and what is known about their targets before any of these exists.
#[derive(Debug, Clone, Default)]
pub struct Alike<'a> {
    /// The loads.
    pub specs: Vec<&'a LoadSpec>,
    /// Tells whether some target of theirs cannot be used without blocking.
    pub blocks: bool,
}

/// Chooses the driver of `load` and of all loads in `alike` without timing reads: an experiment must not warm the cache that it measures.
/// Each target of `load` is asked once whether it takes I/O without blocking; the deepest load decides whether a queue is needed.
///
/// Makes the files that the load may make. Fails when a target cannot be opened or read.
pub fn untimed(load: &Load, alike: &Alike) -> Result<Choice, EngineError> {
    let why = "reads before a stage would change what is measured";
    let Load { targets, spec, may_create, .. } = load;
    let mut specs = alike.specs.clone();
    specs.push(spec);
    choice(targets, spec, || {
        let writes = specs.iter().any(|spec| spec.writes());
        let mut nature = nature(targets, spec, writes, *may_create)?;
        nature.blocks |= alike.blocks;
        Ok(by_nature(&nature, (&specs, alike.blocks), why))
    })
}

/// The choice where the targets need not be looked at; otherwise the result of `auto`.
fn choice(
    targets: &[Aim],
    spec: &LoadSpec,
    auto: impl FnOnce() -> Result<Choice, EngineError>,
) -> Result<Choice, EngineError> {
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
        Backend::Auto => auto(),
    }
}

/// The choice for loads that share a driver where reads would show nothing, for the reason `why`. `known` tells whether one of the loads is known to
/// block.
fn by_nature(nature: &TargetTraits, (specs, known): (&[&LoadSpec], bool), why: &str) -> Choice {
    let deepest = specs.iter().map(|spec| spec.depth_ios()).max();
    let facts = UnprobedFacts {
        blocks: nature.blocks,
        known,
        direct: nature.direct,
        depth: deepest.unwrap_or(1),
        several: specs.iter().any(|spec| spec.depth_ios() != specs[0].depth_ios()),
        threads: specs.iter().all(|spec| threads(spec) <= MOST_THREADS),
        ring: !nature.ring_misplaces && Ring::new(Files::new(Vec::new()), 1, 4096).is_ok(),
        aio: Aio::new(Files::new(Vec::new()), 1, 4096).is_ok(),
    };
    with_misplaced_note(nature.ring_misplaces, unprobed(why, &facts))
}

/// Threads that plain calls need.
fn threads(spec: &LoadSpec) -> u64 {
    u64::from(spec.depth_ios()) * u64::from(spec.jobs)
}

fn measure(targets: &[Aim], spec: &LoadSpec, context: &Context) -> Result<Choice, EngineError> {
    let nature = nature(targets, spec, spec.writes(), None)?;
    let TargetTraits { blocks, ring_misplaces, holes, .. } = nature;
    let (depth, threads) = (spec.depth_ios(), threads(spec));
    let no_probe = match (spec.writes(), holes) {
        (true, _) => Some("the load writes, and a probe only reads"),
        (false, true) => {
            Some("parts of the range were never written, and reads of those reach no device")
        }
        (false, false) => None,
    };
    if let Some(why) = no_probe {
        return Ok(by_nature(&nature, (&[spec], false), why));
    }
    let reads = reads(spec);
    let burst = |driver| burst(targets, &reads, driver, context);
    let ring = if ring_misplaces { None } else { burst(Driver::IoUring).ok() };
    let (queue, first) = match ring {
        Some(figure) => (Driver::IoUring, figure),
        // Without io_uring there may still be libaio, the older queue.
        None => (Driver::Libaio, burst(Driver::Libaio)?),
    };
    let mut ways = vec![Way::of(queue, first)];
    if threads <= MOST_THREADS {
        ways.push(Way::of(Driver::Sync, burst(Driver::Sync)?));
    }
    // Through the page cache libaio is not a real queue: each call does its I/Os one after the other.
    if blocks && depth > 1 && spec.direct && queue == Driver::IoUring {
        // If the kernel does not offer libaio, it is left out.
        ways.extend(burst(Driver::Libaio).ok().map(|figure| Way::of(Driver::Libaio, figure)));
    }
    if ways.len() == 1 {
        let reason = format!("plain calls would need more than {MOST_THREADS} threads");
        let figures = ways.into_iter().map(|way| way.figure).collect();
        return Ok(with_misplaced_note(ring_misplaces, Choice { driver: queue, reason, figures }));
    }
    for way in ways.iter_mut().rev() {
        way.again(burst(way.driver)?);
    }
    Ok(with_misplaced_note(ring_misplaces, choose(ways, blocks, depth)))
}

/// Adds to the choice's reason that io_uring was left out, if it `misplaces` writes.
fn with_misplaced_note(misplaces: bool, mut choice: Choice) -> Choice {
    if misplaces {
        choice
            .reason
            .push_str("; not io_uring, whose short direct writes on FUSE go to the wrong place");
    }
    choice
}

/// The load of a probe: reads at random over the range of `spec`, at its depth, in its largest size.
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
    let parts: (job::MakeFill, real::Choose) = (&job::content, &probe);
    let summary = real::run(&load, context, &mut |_| {}, parts, &mut Session::default())?;
    let read = summary.operations.values().next();
    Ok(ProbeFigure {
        backend: driver.name().into(),
        ios: read.map_or(0, |op| op.ios),
        iops: read.and_then(|op| op.iops),
        cpu_per_io_us: summary.cpu.and_then(|cpu| cpu.per_io_us),
        note: String::new(),
    })
}

/// Properties of all targets together that decide which drivers are possible.
struct TargetTraits {
    /// Tells whether some target cannot be read without blocking.
    blocks: bool,
    /// Tells whether the load writes and io_uring may put some of its writes in the wrong place ([`Target::ring_misplaces`]).
    ring_misplaces: bool,
    /// Tells whether the page cache is bypassed on all targets.
    direct: bool,
    /// Tells whether some file has parts in the load's range that were never written.
    holes: bool,
}

fn nature(
    targets: &[Aim],
    spec: &LoadSpec,
    writes: bool,
    create: Option<Bytes>,
) -> Result<TargetTraits, EngineError> {
    let mut nature =
        TargetTraits { blocks: false, ring_misplaces: false, direct: true, holes: false };
    let mut buffers = Buffers::new(1, 4096)?;
    for aim in targets {
        let access = Access { reads: false, writes: false, direct: spec.direct, create };
        let Some(target) = Target::of_spec(&aim.target, access)? else { continue };
        let memory = buffers.slot(0);
        let part = libc::iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: memory.len() };
        let range = spec.range_in(target.size.0);
        let at = range.0 as libc::off_t;
        // SAFETY: the kernel writes at most the slot's bytes, which are borrowed here.
        let read = unsafe {
            libc::preadv2(target.file.as_raw_fd(), &raw const part, 1, at, libc::RWF_NOWAIT)
        };
        nature.blocks |= read < 0 && calls::errno() == libc::EOPNOTSUPP;
        nature.ring_misplaces |= target.ring_misplaces && writes;
        nature.direct &= target.direct;
        nature.holes |= target.has_hole(range);
    }
    Ok(nature)
}

#[cfg(test)]
mod tests {
    use super::*;

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
