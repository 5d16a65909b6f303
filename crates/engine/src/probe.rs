//! `auto`: chooses how a target is driven by a short probe that only reads.
//!
//! Two questions. Does the target take I/O without blocking (`RWF_NOWAIT`)? Where it does not, io_uring hands every I/O to a
//! worker thread of the kernel, which costs more than calling it. And how many reads per second come by io_uring, how many
//! by plain calls from as many threads, at the depth asked for? Both run twice, in the order A B B A; the better run counts.
//!
//! The rule: plain calls win where the target blocks and they are not clearly slower ([`BLOCKING`]), or where they are
//! clearly faster ([`CLEARLY`]) and cost less CPU. Else io_uring, or libaio where the kernel gives no io_uring.

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
/// On a target that blocks, plain calls are taken from this share of io_uring's reads per second on.
const BLOCKING: f64 = 0.8;
/// On a target that does not block, from this share on.
const CLEARLY: f64 = 1.2;
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
    let blocks = blocking(targets, spec)?;
    let reads = reads(spec);
    let burst = |driver| burst(targets, &reads, driver, context);
    let queue = match burst(Driver::IoUring) {
        Ok(figure) => figure,
        // Without io_uring there may still be the older queue.
        Err(_) => burst(Driver::Libaio)?,
    };
    let driver =
        if queue.backend == Driver::IoUring.name() { Driver::IoUring } else { Driver::Libaio };
    if u64::from(spec.depth_ios()) * u64::from(spec.jobs) > MOST_THREADS {
        let reason = format!("plain calls would need more than {MOST_THREADS} threads");
        return Ok(Choice { driver, reason, figures: vec![queue] });
    }
    let calls = better(burst(Driver::Sync)?, burst(Driver::Sync)?);
    let queue = better(queue, burst(driver)?);
    Ok(choose(driver, queue, calls, blocks))
}

/// The rule, from what was measured.
fn choose(driver: Driver, mut queue: ProbeFigure, calls: ProbeFigure, blocks: bool) -> Choice {
    queue.note = if blocks { "RWF_NOWAIT is refused" } else { "RWF_NOWAIT is taken" }.into();
    let share = match (calls.iops, queue.iops) {
        (Some(calls), Some(queue)) if queue > 0.0 => calls / queue,
        _ => 0.0,
    };
    let least = if blocks { BLOCKING } else { CLEARLY };
    // On a busy machine the threads of plain calls get more of the CPU, and look faster: they must be cheaper, too.
    let dearer = !blocks && calls.cpu_per_io_us >= queue.cpu_per_io_us;
    let how = if blocks { "blocks (RWF_NOWAIT is refused)" } else { "does not block" };
    let reason = format!(
        "auto: the target {how}, and plain calls read {share:.2} times what {} does; from {least} on{} they are taken",
        queue.backend,
        if blocks { "" } else { ", if they cost less CPU," }
    );
    let driver = if share >= least && !dearer { Driver::Sync } else { driver };
    Choice { driver, reason, figures: vec![queue, calls] }
}

fn better(a: ProbeFigure, b: ProbeFigure) -> ProbeFigure {
    if b.iops > a.iops { b } else { a }
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

/// Whether some target refuses to be read without blocking.
fn blocking(targets: &[Aim], spec: &LoadSpec) -> Result<bool, EngineError> {
    let mut buffers = Buffers::new(1, 4096)?;
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
        if read < 0 && calls::errno() == libc::EOPNOTSUPP {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(driver: Driver, iops: f64, cpu: f64) -> ProbeFigure {
        let backend = driver.name().into();
        let (iops, cpu_per_io_us) = (Some(iops), Some(cpu));
        ProbeFigure { backend, iops, cpu_per_io_us, ..ProbeFigure::default() }
    }

    #[test]
    fn plain_calls_win_where_the_target_blocks_or_they_are_clearly_faster() {
        for (blocks, calls, cpu, wins) in [
            (true, 79.0, 0.5, false),
            (true, 80.0, 1.5, true),
            (false, 119.0, 0.5, false),
            (false, 120.0, 0.5, true),
            (false, 300.0, 1.5, false),
        ] {
            let queue = figure(Driver::IoUring, 100.0, 1.0);
            let calls = figure(Driver::Sync, calls, cpu);
            let choice = choose(Driver::IoUring, queue, calls, blocks);
            assert_eq!(choice.driver == Driver::Sync, wins, "{choice:?}");
            assert_eq!(choice.figures.len(), 2);
        }
        let nothing = ProbeFigure::default();
        assert_eq!(choose(Driver::Libaio, nothing.clone(), nothing, true).driver, Driver::Libaio);
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
