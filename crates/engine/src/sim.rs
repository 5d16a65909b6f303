//! The backend in virtual time: the same operations, content and census, a model in place of the target.
//!
//! An I/O waits for the first of the model's servers that is free and keeps it for its service time: a base by
//! direction, a part by size, a spread drawn from the seed. Everything follows from the seed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use reduce::Census;
use results::model::{CpuFigures, LoadSummary};
use sys::interrupt::Level;
use units::{Nanos, SplitMix64};

use crate::board::Halt;
use crate::census::SAMPLE;
use crate::error::EngineError;
use crate::event::{Event, Started};
use crate::job::{Job, MakeFill, Next};
use crate::load::{Context, Load, SimModel};
use crate::outline::Outline;
use crate::pace::Pace;
use crate::record::{Completion, Worst};
use crate::sample::{self, Counts, Shift, Tap};
use crate::summary::{Driven, Outcome};
use crate::tally::{Shape, Tally};

/// I/Os between two looks at the interrupt and at the blocks that were sampled.
const LOOK: u64 = 1_024;

/// One I/O in the model, ordered by when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Flight {
    end_ns: u64,
    /// Breaks ties in the order of submission.
    number: u64,
    job: usize,
    start_ns: u64,
    operation: usize,
    offset: u64,
    bytes: u32,
}

impl Flight {
    fn completion(&self) -> Completion {
        Completion {
            operation: self.operation,
            offset: self.offset,
            length: self.bytes,
            intended_ns: self.start_ns,
            submit_ns: self.start_ns,
            submitted_ns: self.start_ns,
            reaped_ns: self.end_ns,
            ..Completion::default()
        }
    }
}

struct Device {
    model: SimModel,
    /// When each server is free, nanoseconds.
    free_ns: BinaryHeap<Reverse<u64>>,
    random: SplitMix64,
}

impl Device {
    fn new(model: &SimModel, random: SplitMix64) -> Self {
        let free_ns = (0..model.channels.max(1)).map(|_| Reverse(0)).collect();
        Self { model: model.clone(), free_ns, random }
    }

    /// When an I/O that is submitted at `now_ns` ends.
    fn serve(&mut self, next: &Next, now_ns: u64) -> u64 {
        let base = if next.transfer.write { self.model.write } else { self.model.read };
        let blocks = f64::from(next.transfer.length) / reduce::BLOCK as f64;
        let mean = base.0 as f64 + blocks * self.model.per_block.0 as f64;
        let spread = self.model.jitter.clamp(0.0, 1.0) * (2.0 * self.random.unit() - 1.0);
        let service = ((mean * (1.0 + spread)) as u64).max(1);
        let free_ns = self.free_ns.pop().map_or(0, |Reverse(ns)| ns);
        let end_ns = free_ns.max(now_ns) + service;
        self.free_ns.push(Reverse(end_ns));
        end_ns
    }
}

struct Simulation<'a> {
    context: &'a Context<'a>,
    pace: Pace,
    jobs: Vec<Job>,
    taps: Vec<Tap>,
    shift: Shift,
    census: Census,
    device: Device,
    flights: BinaryHeap<Reverse<Flight>>,
    buffer: Vec<u8>,
    submitted: u64,
    halt: Halt,
    by_time: bool,
}

impl Simulation<'_> {
    /// Submits the next I/O of `job` at `now_ns`, if there is one and the load is not over.
    fn submit(&mut self, job: usize, now_ns: u64) {
        if self.halt != Halt::None {
            return;
        }
        if now_ns >= self.pace.deadline_ns() {
            self.by_time = true;
            return;
        }
        let Some(next) = self.jobs[job].next() else { return };
        if next.transfer.write {
            self.jobs[job].fill(&mut self.buffer[..next.transfer.length as usize]);
        }
        let end_ns = self.device.serve(&next, now_ns);
        self.flights.push(Reverse(Flight {
            end_ns,
            number: self.submitted,
            job,
            start_ns: now_ns,
            operation: next.operation,
            offset: next.transfer.offset,
            bytes: next.transfer.length,
        }));
        self.submitted += 1;
        if self.submitted.is_multiple_of(LOOK) {
            self.look();
        }
    }

    fn look(&mut self) {
        for tap in &mut self.taps {
            self.census.tighten_to(self.shift.get());
            tap.drain(|block| self.census.add(block));
            self.shift.raise(self.census.shift());
        }
        if self.context.interrupt.level() != Level::None {
            self.halt = Halt::Interrupted;
        }
    }

    /// Moves the clock, which others read too, to `to_ns`.
    fn pass(&mut self, to_ns: u64) {
        let now_ns = self.context.clock.now().0;
        let wait = Nanos(to_ns.saturating_sub(now_ns));
        if self.context.clock.sleep(wait, self.context.interrupt) != Level::None {
            self.halt = Halt::Interrupted;
            // What was submitted still ends, and time with it.
            self.context.clock.advance(Nanos(to_ns.saturating_sub(self.context.clock.now().0)));
        }
    }
}

/// Runs `load` on `model`.
pub(crate) fn run(
    load: &Load,
    model: &SimModel,
    context: &Context,
    on: &mut dyn FnMut(Event),
    make: MakeFill,
) -> Result<LoadSummary, EngineError> {
    let outline = Outline::of(load, model.bytes, 512, "the simulated device")?;
    let jobs = outline.jobs;
    let shift = Shift::picking(SAMPLE, outline.content_blocks());
    let (length, holds_all) = outline.queued();
    let (samplers, taps): (Vec<_>, Vec<_>) =
        (0..jobs).map(|_| sample::queue(length, holds_all, shift.clone())).unzip();
    let pace = Pace {
        start_ns: context.clock.now().0,
        interval_ns: outline.interval_ns,
        duration_ns: outline.duration_ns,
    };
    let mut simulation = Simulation {
        context,
        pace,
        jobs: outline.make_jobs(load, samplers, make),
        taps,
        shift,
        census: Census::new(SAMPLE as usize),
        device: Device::new(model, load.seed.derive("simulated target").generator()),
        flights: BinaryHeap::new(),
        buffer: vec![0; outline.block_bytes],
        submitted: 0,
        halt: Halt::None,
        by_time: false,
    };
    on(Event::Started(Started {
        target: model.bytes,
        backend: "sim".into(),
        direct: false,
        start_ns: pace.start_ns,
    }));
    let shape = outline.shape(load);
    let (total, end_ns) = drive(&mut simulation, &outline, shape, on)?;
    simulation.look();
    simulation.census.tighten_to(simulation.shift.get());
    let mut counts = Counts::default();
    simulation.jobs.iter().for_each(|job| counts.add(job.counts()));
    let outcome = Outcome {
        worst: Worst::of_all(shape.worst, std::iter::once(&total.worst)),
        io_log: None,
        targets: vec!["the simulated device".into()],
        total,
        span_ns: (simulation.submitted > 0).then_some((pace.start_ns, end_ns)),
        halt: simulation.halt,
        by_time: simulation.by_time,
        counts,
        census: simulation.census,
        cpu: None::<CpuFigures>,
        driven: Driven {
            backend: "sim",
            direct: false,
            registered: false,
            clock: Default::default(),
        },
        notices: Vec::new(),
    };
    outcome.summary(load, &outline)
}

/// Lets all I/Os happen in order of their ends; gives what was done and when the last one ended.
fn drive(
    simulation: &mut Simulation,
    outline: &Outline,
    shape: Shape,
    on: &mut dyn FnMut(Event),
) -> Result<(Tally, u64), EngineError> {
    let pace = simulation.pace;
    let mut total = Tally::new(shape);
    let mut tally = Tally::new(shape);
    let (mut interval, mut edge_ns, mut end_ns) = (0, pace.edge_ns(0), pace.start_ns);
    let mut bytes = 0;
    let mut close = |tally: &mut Tally, interval, end, bytes| {
        let (start_ns, end_ns) = pace.span_ns(interval, end);
        let rows = tally.rows(outline.stage, &outline.names, start_ns, end_ns)?;
        total.merge(tally);
        tally.clear();
        on(Event::Intervals { rows, progress: outline.progress(end_ns - pace.start_ns, bytes) });
        Ok::<(), EngineError>(())
    };
    for job in (0..simulation.jobs.len()).cycle().take(simulation.jobs.len() * outline.depth) {
        simulation.submit(job, pace.start_ns);
    }
    while let Some(Reverse(flight)) = simulation.flights.pop() {
        while flight.end_ns >= edge_ns {
            simulation.pass(edge_ns);
            close(&mut tally, interval, None, bytes)?;
            interval += 1;
            edge_ns = pace.edge_ns(interval);
        }
        end_ns = flight.end_ns;
        tally.completed(&flight.completion());
        if tally.worst.concerns(end_ns - flight.start_ns) {
            tally.worst.add(&flight.completion(), flight.job as u16);
        }
        bytes += u64::from(flight.bytes);
        simulation.submit(flight.job, end_ns);
    }
    simulation.pass(end_ns);
    close(&mut tally, interval, Some(end_ns), bytes)?;
    total.worst = tally.worst;
    Ok((total, end_ns))
}
