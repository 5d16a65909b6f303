//! The backend in virtual time: the same operations, content and census, with a model instead of the target.
//!
//! An I/O waits for the first free server of the model and occupies it for its service time: a base that depends on the direction, a part that
//! depends on the size, and a random spread drawn from the seed. The seed determines everything.

mod device;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use reduce::Census;
use results::iolog::Header;
use results::model::{CpuFigures, LoadSummary};
use sys::interrupt::Level;
use units::Nanos;

use crate::backend::Verb;
use crate::by_job::JobTallies;
use crate::choice::{Choice, Driver};
use crate::ended::{Depth, Ended, Sum};
use crate::error::EngineError;
use crate::event::{Event, Started};
use crate::job::{Job, MakeFill, Next, NextIo};
use crate::load::{Context, Load, SimModel, TargetSpec};
use crate::load_status::StopReason;
use crate::pace::Pace;
use crate::ramp::Ramp;
use crate::real;
use crate::record::{LogSender, SteadyDetector, Worst, start_log};
use crate::resolved_load::ResolvedLoad;
use crate::sample::{self, Counts, SampleReceiver, SharedSampling};
use crate::summary::{Driven, Outcome};
use crate::tally::Shape;
use device::{Device, SimIo};

/// I/Os between two checks for an interrupt and for sampled blocks.
const IOS_BETWEEN_CHECKS: u64 = 1_024;

/// An event in the model, ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SimEvent {
    at_ns: u64,
    /// Number in the order of creation, which breaks ties.
    number: u64,
    job: usize,
    /// The I/O that ends; `None` when the job only wants to check again whether it may go on.
    io: Option<SimIo>,
}

struct Simulation<'a> {
    context: &'a Context<'a>,
    pace: Pace,
    batch: usize,
    jobs: Vec<Job>,
    /// Free slots of each job.
    free: Vec<Vec<usize>>,
    receivers: Vec<SampleReceiver>,
    common: SharedSampling,
    census: Census,
    /// I/Os between two polls of the queues, so few that no queue gets half full between them.
    look_after: u64,
    devices: Vec<Device>,
    events: BinaryHeap<Reverse<SimEvent>>,
    /// The next I/O of each job, when it is meant to start later.
    reserved: Vec<Option<Next>>,
    /// Time at which each job checks again whether it may go on.
    asks_at_ns: Vec<u64>,
    buffer: Vec<u8>,
    depth: Vec<Depth>,
    in_flight: Vec<usize>,
    /// The sender to which each job logs its I/Os; empty if no log is kept.
    logs: Vec<LogSender>,
    /// Tells for each job whether it has begun all of its I/Os.
    done: Vec<bool>,
    made: u64,
    submitted: u64,
    halt: StopReason,
    by_time: bool,
}

impl<'a> Simulation<'a> {
    fn new(
        load: &Load,
        models: &[&SimModel],
        resolved: &ResolvedLoad,
        context: &'a Context<'a>,
        pace: Pace,
        make: MakeFill,
    ) -> Self {
        let jobs = resolved.jobs;
        let common = resolved.sampling();
        let capacities = resolved.capacities();
        let (samplers, receivers): (Vec<_>, Vec<_>) =
            (0..jobs).map(|_| sample::queues(capacities, common.clone())).unzip();
        // A quarter of the smaller queue.
        let queued = capacities.names.places.min(capacities.blocks.places) * resolved.unit;
        let random = |at| load.seed_of(at).derive("simulated target").generator();
        Self {
            context,
            pace,
            batch: resolved.batch.min(resolved.depth),
            jobs: resolved.make_jobs(load, samplers, make),
            free: (0..jobs).map(|_| (0..resolved.depth).rev().collect()).collect(),
            receivers,
            census: resolved.census(&common),
            look_after: (queued / 4 / resolved.block_bytes).clamp(1, IOS_BETWEEN_CHECKS as usize)
                as u64,
            common,
            devices: models.iter().enumerate().map(|(at, m)| Device::new(m, random(at))).collect(),
            events: BinaryHeap::new(),
            reserved: vec![None; jobs],
            asks_at_ns: vec![0; jobs],
            buffer: vec![0; resolved.block_bytes],
            depth: vec![Depth::new(pace.start_ns); jobs],
            in_flight: vec![0; jobs],
            logs: Vec::new(),
            done: vec![false; jobs],
            made: 0,
            submitted: 0,
            halt: StopReason::None,
            by_time: false,
        }
    }
}

impl Simulation<'_> {
    /// Submits the I/Os that `job` may start at `now_ns`, unless the load is over.
    fn refill(&mut self, job: usize, now_ns: u64) {
        if self.free[job].len() < self.batch && self.in_flight[job] > 0 {
            return;
        }
        if self.reserved[job].is_some_and(|next| next.intended_ns > now_ns) {
            return;
        }
        let before = self.in_flight[job];
        while let Some(&slot) = self.free[job].last() {
            if self.halt != StopReason::None {
                break;
            }
            if now_ns >= self.pace.deadline_ns() {
                self.by_time = true;
                break;
            }
            match self.reserved[job].take().map_or_else(|| self.jobs[job].next(now_ns), NextIo::Io)
            {
                NextIo::Io(next) if next.intended_ns > now_ns => {
                    self.reserved[job] = Some(next);
                    self.happens(next.intended_ns, job, None);
                    break;
                }
                NextIo::Io(next) => {
                    self.free[job].pop();
                    self.submit(job, slot, next, now_ns);
                }
                NextIo::NotBefore(at_ns) => {
                    if self.asks_at_ns[job] != at_ns {
                        self.asks_at_ns[job] = at_ns;
                        self.happens(at_ns, job, None);
                    }
                    break;
                }
                NextIo::Over => {
                    self.done[job] = true;
                    break;
                }
            }
        }
        let (now, fresh) = (self.in_flight[job], self.in_flight[job] - before);
        self.depth[job].submitting(now_ns, fresh, now);
    }

    fn submit(&mut self, job: usize, slot: usize, next: Next, now_ns: u64) {
        let Next { operation, transfer, intended_ns } = next;
        self.jobs[job].prepare(slot, &transfer, &mut self.buffer, None);
        let end_ns = self.devices[usize::from(transfer.target)].serve(&next, now_ns);
        let io = SimIo {
            start_ns: now_ns,
            intended_ns: if intended_ns == 0 { now_ns } else { intended_ns },
            operation,
            target: transfer.target,
            slot,
            bytes: transfer.length,
            offset: transfer.offset,
            writes: transfer.verb == Verb::Write,
        };
        self.happens(end_ns, job, Some(io));
        self.in_flight[job] += 1;
        self.submitted += 1;
        if self.submitted.is_multiple_of(self.look_after) {
            self.feed_census();
        }
    }

    fn happens(&mut self, at_ns: u64, job: usize, io: Option<SimIo>) {
        self.events.push(Reverse(SimEvent { at_ns, number: self.made, job, io }));
        self.made += 1;
    }

    /// Ends an I/O of `job` at `now_ns`.
    fn ends(&mut self, job: usize, io: &SimIo, now_ns: u64) {
        if let Some(surface) = &self.devices[usize::from(io.target)].model.surface
            && io.writes
        {
            surface.write(io.offset, io.bytes);
        }
        self.depth[job].reaped(now_ns, 1, self.in_flight[job]);
        self.in_flight[job] -= 1;
        self.jobs[job].gate.ended(now_ns);
        self.free[job].push(io.slot);
    }

    /// Returns how long each job was at work in a load that ended at `end_ns`, nanoseconds.
    fn worked_ns(&self, end_ns: u64) -> Vec<u64> {
        // As on real targets: a job with more to do was at work until its time was over or the load was stopped.
        let over_ns = |done| if done { 0 } else { end_ns.min(self.pace.deadline_ns()) };
        let last_ns = self.depth.iter().zip(&self.done);
        let last_ns = last_ns.map(|(depth, &done)| depth.since_ns().max(over_ns(done)));
        last_ns.map(|ns| ns.min(end_ns).saturating_sub(self.pace.start_ns)).collect()
    }

    /// Tells whether nothing is in flight.
    fn is_idle(&self) -> bool {
        self.in_flight.iter().all(|&ios| ios == 0)
    }

    fn feed_census(&mut self) {
        sample::feed_census(&mut self.receivers, &mut self.census, &self.common);
        if self.context.interrupt.level() != Level::None {
            self.halt = StopReason::Interrupted;
        }
    }

    /// Counts an I/O of a job that ended at `at_ns`, in the figures and in the log.
    fn count(&mut self, tally: &mut JobTallies, (job, io): (usize, &SimIo), at_ns: u64) {
        let completion = io.completion(at_ns);
        tally.completed(job, &completion);
        if let Some(log) = self.logs.get_mut(job) {
            log.put_patiently(&completion);
        }
        if tally.all.worst.concerns(completion.latency_ns()) {
            tally.all.worst.add(&completion, job as u16);
        }
    }

    /// Advances the clock, which others read too, to `to_ns`.
    fn pass(&mut self, to_ns: u64) {
        let now_ns = self.context.clock.now().0;
        let wait = Nanos(to_ns.saturating_sub(now_ns));
        if self.context.clock.sleep(wait, self.context.interrupt) != Level::None {
            self.halt = StopReason::Interrupted;
            // I/Os in flight still end, and time goes on until then.
            self.context.clock.advance(Nanos(to_ns.saturating_sub(self.context.clock.now().0)));
        }
    }
}

fn models(load: &Load) -> Result<Vec<&SimModel>, EngineError> {
    let mut models = Vec::new();
    for aim in &load.targets {
        match &aim.target {
            TargetSpec::Simulated(model) => models.push(model),
            _ => return Err(real::mixed()),
        }
    }
    Ok(models)
}

/// Runs `load`, whose targets are models.
pub(crate) fn run(
    load: &Load,
    context: &Context,
    on: &mut dyn FnMut(Event),
    make: MakeFill,
) -> Result<LoadSummary, EngineError> {
    let models = models(load)?;
    let sizes: Vec<_> = models.iter().map(|model| (model.bytes, 512)).collect();
    let resolved = ResolvedLoad::of(load, &sizes)?;
    let begin_ns = context.clock.now().0;
    let pace = Pace {
        start_ns: begin_ns + resolved.ramp_ns,
        interval_ns: resolved.interval_ns,
        duration_ns: resolved.duration_ns,
    };
    let mut simulation = Simulation::new(load, &models, &resolved, context, pace, make);
    let header = Header { operations: resolved.names.clone(), targets: resolved.targets.clone() };
    let target = load.recording.io_log.as_ref();
    let log = target.map(|target| start_log(target, &header, (resolved.jobs, 1))).transpose()?;
    let log = log.map(|(senders, log)| {
        simulation.logs = senders;
        log
    });
    on(Event::Started(Started {
        target: resolved.bytes(),
        backend: Driver::Sim.name().into(),
        // A model has no page cache; this only repeats whether one was asked for.
        direct: load.spec.direct,
    }));
    let shape = resolved.shape(load);
    let mut steady_detector = SteadyDetector::of(&load.spec);
    let (total, end_ns) =
        drive(&mut simulation, &resolved, shape, begin_ns, &mut steady_detector, on)?;
    simulation.feed_census();
    let mut counts = Counts::default();
    simulation.jobs.iter_mut().for_each(|job| counts.add(job.take_counts()));
    let ended: Vec<_> =
        simulation.depth.iter().map(|&depth| Ended { depth, ..Ended::default() }).collect();
    let sum = Sum::of(&ended);
    let (submitted_per_call, reaped_per_call) = sum.per_call();
    let duration_ns = end_ns.saturating_sub(pace.start_ns);
    let outcome = Outcome {
        worst: Worst::of_all(shape.worst, std::iter::once(&total.all.worst)),
        io_log: log.map(|log| log.finish().0),
        steady: steady_detector.as_ref().map(SteadyDetector::facts),
        targets: resolved.targets.clone(),
        are_files: Vec::new(),
        total,
        worked_ns: simulation.worked_ns(end_ns),
        duration_ns,
        halt: simulation.halt,
        by_time: simulation.by_time,
        counts,
        census: simulation.census,
        cpu: None::<CpuFigures>,
        driven: Driven {
            choice: Choice::given(Driver::Sim, "the target is simulated"),
            direct: load.spec.direct,
            registered: false,
            clock: None,
            in_flight: (simulation.submitted > 0)
                .then(|| sum.in_flight(resolved.jobs, duration_ns)),
            submitted_per_call,
            reaped_per_call,
            cpus: None,
        },
        notices: steady_detector.as_ref().and_then(SteadyDetector::notice).into_iter().collect(),
    };
    outcome.summary(load, &resolved)
}

/// Processes all events in order; returns the figures and the time at which the load ended.
fn drive(
    simulation: &mut Simulation,
    resolved: &ResolvedLoad,
    shape: Shape,
    begin_ns: u64,
    steady_detector: &mut Option<SteadyDetector>,
    on: &mut dyn FnMut(Event),
) -> Result<(JobTallies, u64), EngineError> {
    let pace = simulation.pace;
    let mut total = JobTallies::new(shape);
    let mut tally = JobTallies::new(shape);
    let (mut interval, mut edge_ns, mut end_ns) = (0, pace.edge_ns(0), pace.start_ns);
    let mut bytes = 0;
    let mut ramp = Ramp::new(resolved.ramp_ns, pace.start_ns);
    let mut close = |tally: &mut JobTallies, interval, end, bytes, on: &mut dyn FnMut(Event)| {
        let (start_ns, end_ns) = pace.span_ns(interval, end);
        let rows = tally.all.rows(resolved.stage, &resolved.names, start_ns, end_ns)?;
        let jobs = tally.job_rows(resolved.stage, &resolved.names, (start_ns, end_ns))?;
        total.merge(tally);
        tally.clear();
        // An interval that was cut off cannot show that the load has settled.
        let settled = end.is_none()
            && steady_detector
                .as_mut()
                .is_some_and(|steady_detector| steady_detector.add_rows(&rows, pace.start_ns));
        let progress = resolved.progress(end_ns - pace.start_ns, bytes);
        on(Event::Intervals { rows, jobs, progress });
        Ok::<bool, EngineError>(settled)
    };
    for job in 0..simulation.jobs.len() {
        simulation.jobs[job].gate.begin(begin_ns);
        simulation.refill(job, begin_ns);
    }
    'events: while let Some(Reverse(SimEvent { at_ns, job, io, .. })) = simulation.events.pop() {
        if ramp.ends(at_ns) {
            simulation.pass(pace.start_ns);
            on(Event::RampOver);
        }
        // I/Os that end just at the edge count for the interval before it, so that no row begins where the load ends.
        while at_ns > edge_ns {
            simulation.pass(edge_ns);
            if close(&mut tally, interval, None, bytes, on)? && simulation.halt == StopReason::None
            {
                simulation.halt = StopReason::Steady;
            }
            if simulation.halt != StopReason::None && simulation.is_idle() {
                // Stopped while the load only waits for a time: it ends now, not with its last I/O.
                end_ns = end_ns.max(edge_ns);
                interval += 1;
                break 'events;
            }
            interval += 1;
            edge_ns = pace.edge_ns(interval);
        }
        let Some(io) = io else {
            simulation.refill(job, at_ns);
            continue;
        };
        simulation.ends(job, &io, at_ns);
        end_ns = end_ns.max(at_ns);
        bytes += u64::from(io.bytes);
        if at_ns >= pace.start_ns {
            simulation.count(&mut tally, (job, &io), at_ns);
        }
        simulation.refill(job, at_ns);
    }
    if simulation.by_time {
        end_ns = end_ns.max(pace.deadline_ns());
    }
    // A pause or a cap may have lasted beyond the last I/O.
    while end_ns > pace.edge_ns(interval) {
        simulation.pass(pace.edge_ns(interval));
        close(&mut tally, interval, None, bytes, on)?;
        interval += 1;
    }
    simulation.pass(end_ns);
    if end_ns > pace.span_ns(interval, None).0 {
        close(&mut tally, interval, Some(end_ns), bytes, on)?;
    }
    total.all.worst = tally.all.worst;
    Ok((total, end_ns))
}
