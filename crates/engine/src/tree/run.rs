//! A load of a file tree from its first directory to its summary.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use content::{Contents, Part};
use results::model::{
    EngineFacts, EquilibriumFacts, LoadSummary, Population, TreeFacts, counted_operations,
};
use sys::interrupt::Level;
use sys::stamps::Stamps;
use tree::{Stream, TreeOp};
use units::Bytes;

use crate::collect::Collector;
use crate::error::{EngineError, ErrorKind};
use crate::event::{Event, Progress, Started};
use crate::interval_recorder::{self, IntervalReader};
use crate::load::Context;
use crate::load_status::{LoadStatus, StopReason};
use crate::meter::{Meter, since, usage};
use crate::pace::Pace;
use crate::stall_detector::StallDetector;
use crate::stood_still;
use crate::summary;
use crate::tally::Shape;
use crate::tree::calls::Calls;
use crate::tree::ends::{UNSETTLED, ended_by, lost, unsettled};
use crate::tree::leaves::Leaves;
use crate::tree::load::TreeLoad;
use crate::tree::ours::MadeNames;
use crate::tree::place::Root;
use crate::tree::rest::{Rest, foretold};
use crate::tree::worker::{Ended, Limits, Worker};
use crate::tree::writer::Writer;

/// Time between two checks of the workers.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time between two comparisons of directories with their paths, nanoseconds.
const COMPARE_NS: u64 = 1_000_000_000;

/// Runs `load` to its end and returns its summary; passes rows and notices to `on` while the load runs.
///
/// # Errors
/// Fails if the load cannot be run as asked for, the directory cannot be used, or the machine lacks what is needed. Later failures are counted.
pub fn run(
    load: &TreeLoad,
    context: &Context,
    on: &mut dyn FnMut(Event),
) -> Result<LoadSummary, EngineError> {
    let usage_error =
        |message: String, help: &str| EngineError::new(ErrorKind::Usage, message, help);
    load.spec.validate().map_err(|error| usage_error(error.message, error.help))?;
    let equilibrium = foretold(&load.spec);
    let never = tree::Equilibrium::predict(&load.spec).never();
    if let Some(never) = never.filter(|_| load.stop.equilibrium) {
        let message = format!("This load never comes to rest: {}", never.why());
        return Err(usage_error(message, never.remedy()));
    }
    let contents = Contents::new(
        &load.content,
        load.seed,
        Part { generator: 0, jobs: load.spec.workers, blocks: 0 },
    )
    .map_err(|error| {
        let help = error.help();
        EngineError::new(ErrorKind::Usage, "The content cannot be written", help).because(error)
    })?;
    let available = sys::memory::available();
    check_memory(load.spec.files, available)?;
    let root = Root::enter((&load.directory, &load.way), load.into_existing)?;
    let (layout, target) = (load.spec.layout(), Bytes(root.bytes()));
    let shape = (layout, load.spec.levels, load.spec.dirs);
    let leaves = Arc::new(Leaves::make(root, shape, context.interrupt)?);
    let stamps = Stamps::of(context.clock);
    let parts = Parts { load, contents, leaves, stamps, operations: load.spec.operations() };
    let ready = parts.start()?;
    if context.interrupt.level() != Level::None {
        // Directories may be missing, so no operation could work in them.
        ready.status.halt(StopReason::Interrupted);
    }
    let backend = "sync".to_owned();
    on(Event::Started(Started { target, backend, direct: false }));
    let used = usage(context);
    let pace = Pace {
        start_ns: parts.stamps.now_ns(),
        interval_ns: load.interval.0,
        duration_ns: load.stop.duration.map(|duration| duration.0),
    };
    let mut running = ready.begin(&parts, pace);
    let ended = running.watch(&parts, context, &equilibrium, on)?;
    let cpu_now = usage(context);
    let mut summary = running.sum_up(&parts, &ended, equilibrium, on)?;
    let foreign = [since(cpu_now.1, used.1)];
    summary.cpu = Some(summary::cpu(since(cpu_now.0, used.0), &foreign, 0));
    summary::share_cpu(&mut summary);
    Ok(summary)
}

/// Most bytes that the records of one name take, where there are hard links, soft links and directories.
const BOOKED: u64 = 17;

/// Refuses a tree whose records would not fit into the available memory.
fn check_memory(files: u64, available: Option<Bytes>) -> Result<(), EngineError> {
    let needed = Bytes(files * BOOKED);
    let Some(available) = available.filter(|available| needed > *available) else { return Ok(()) };
    let message =
        format!("{files} names need up to {needed} of memory, and {available} are available");
    Err(EngineError::new(ErrorKind::Environment, message, "take fewer names"))
}

/// Everything that workers are set up from.
struct Parts<'a> {
    load: &'a TreeLoad,
    contents: Contents,
    leaves: Arc<Leaves>,
    stamps: Stamps,
    operations: Vec<TreeOp>,
}

/// Workers that wait for the common start.
struct Ready {
    status: Arc<LoadStatus>,
    threads: Vec<JoinHandle<()>>,
    ends: Receiver<Ended>,
    readers: Vec<IntervalReader>,
}

/// Running workers.
struct Running {
    status: Arc<LoadStatus>,
    threads: Vec<JoinHandle<()>>,
    ends: Receiver<Ended>,
    collector: Collector,
    pace: Pace,
    /// The times in which the program itself did not run, nanoseconds.
    stood_still_ns: Vec<u64>,
    notices: Vec<String>,
    /// Those of the notices that say what is incomplete.
    incomplete: Vec<String>,
}

impl Parts<'_> {
    fn shape(&self) -> Shape {
        Shape {
            operations: self.operations.len(),
            targets: 1,
            jobs: self.load.spec.workers as usize,
            outcomes: true,
            ..Shape::default()
        }
    }

    /// Starts all workers, which wait for the common start.
    fn start(&self) -> Result<Ready, EngineError> {
        let TreeLoad { spec, seed, stop, interval, .. } = self.load;
        let status = Arc::new(LoadStatus::new(spec.workers as usize, None));
        let place = |op| self.operations.iter().position(|known| *known == op).unwrap_or_default();
        let places = TreeOp::ALL.map(place);
        let names = self.names();
        let counted: Vec<_> = counted_operations(names.iter()).collect();
        let costly: Vec<_> = names.iter().map(|name| counted.contains(&name)).collect();
        let (sender, ends) = channel();
        let (mut threads, mut readers) = (Vec::new(), Vec::new());
        for number in 0..spec.workers {
            let stream = Stream::new(spec, *seed, number)
                .map_err(|error| EngineError::new(ErrorKind::Usage, error.message, error.help))?;
            let (recorder, reader) = interval_recorder::pair(self.shape());
            readers.push(reader);
            let writer = Writer::new(self.contents.source(number), self.stamps.clone());
            let made = MadeNames::new(number, spec.workers, spec.names_of(number));
            let worker = Worker {
                index: number as usize,
                limits: Limits {
                    interval_ns: interval.0,
                    duration_ns: stop.duration.map(|duration| duration.0),
                    operations: self.load.operations_of(number).unwrap_or(u64::MAX),
                    at_rest: stop.equilibrium,
                },
                status: status.clone(),
                stamps: self.stamps.clone(),
                stream,
                calls: Calls::new(self.leaves.clone(), writer, made),
                recorder,
                places,
                costly: costly.clone().into(),
                rest: Rest::new(spec, number),
            };
            let sender = sender.clone();
            let work = move || {
                let _ = sender.send(worker.run());
            };
            let thread = std::thread::Builder::new().name(format!("tree {number}")).spawn(work);
            threads.push(thread.map_err(|error| {
                status.halt(StopReason::Errors);
                let help = "use fewer jobs, or raise the limit of threads (ulimit -u)";
                EngineError::new(ErrorKind::Environment, "A worker cannot be started", help)
                    .because(error)
            })?);
        }
        Ok(Ready { status, threads, ends, readers })
    }

    fn names(&self) -> Vec<String> {
        self.operations.iter().map(ToString::to_string).collect()
    }
}

impl Ready {
    fn begin(self, parts: &Parts, pace: Pace) -> Running {
        let Self { status, threads, ends, readers } = self;
        let collector =
            Collector::new(readers, pace, parts.load.stage, parts.names(), parts.shape());
        status.begin(pace.start_ns);
        threads.iter().for_each(|thread| thread.thread().unpark());
        Running {
            status,
            threads,
            ends,
            collector,
            pace,
            stood_still_ns: Vec::new(),
            notices: Vec::new(),
            incomplete: Vec::new(),
        }
    }
}

impl Running {
    fn notice(&mut self, text: String, on: &mut dyn FnMut(Event)) {
        on(Event::Notice(text.clone()));
        self.notices.push(text);
    }

    /// Reports and keeps a notice that something is incomplete.
    fn lacks(&mut self, text: String, on: &mut dyn FnMut(Event)) {
        self.incomplete.push(text.clone());
        self.notice(text, on);
    }

    /// Reports rows and notices until all workers have ended, or the remaining ones are given up.
    fn watch(
        &mut self,
        parts: &Parts,
        context: &Context,
        equilibrium: &EquilibriumFacts,
        on: &mut dyn FnMut(Event),
    ) -> Result<Vec<Ended>, EngineError> {
        let stop = parts.load.stop;
        let waited = equilibrium.predicted_operations.filter(|_| stop.equilibrium);
        let total = stop.ios.into_iter().chain(waited).min();
        let quarter = Duration::from_nanos(self.pace.interval_ns / 4);
        let look = POLL_INTERVAL.min(quarter).max(Duration::from_millis(1));
        let (mut ended, mut stalls) = (Vec::new(), StallDetector::new(self.pace));
        let mut meter = Meter::new(context);
        let (mut compared_ns, mut next) = (self.pace.start_ns, 0);
        while ended.len() < self.threads.len() {
            let asleep_ns = parts.stamps.now_ns();
            let end = self.ends.recv_timeout(look);
            if let Some(still) =
                stood_still::paused_during(look, (asleep_ns, parts.stamps.now_ns()))
            {
                stalls.stood_still(still);
                self.stood_still_ns.push(stood_still::nanos(still));
                self.notice(stood_still::notice(still), on);
            }
            match end {
                Ok(end) => ended.push(end),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(crate::workers::lost()),
            }
            let level = context.interrupt.level();
            if level != Level::None {
                self.status.halt(StopReason::Interrupted);
            }
            let now_ns = parts.stamps.now_ns();
            let done = self.status.ended();
            let rows = self.collector.rows()?;
            if !rows.all.is_empty() {
                let elapsed_ns = now_ns.saturating_sub(self.pace.start_ns);
                let mut progress = Progress::of(elapsed_ns, self.pace.duration_ns, done, total);
                progress.cpu_per_io_us = meter.per_io_us(self.status.costly());
                progress.tree = Some(self.status.population());
                on(Event::Intervals { rows: rows.all, jobs: rows.jobs, progress });
            }
            if now_ns >= compared_ns + COMPARE_NS {
                compared_ns = now_ns;
                if let Some(path) = parts.leaves.moved(&mut next)
                    && self.status.halted() == StopReason::None
                {
                    self.status.halt(StopReason::Errors);
                    self.notice(format!("{path} is not where it was made: the load was ended"), on);
                }
            }
            let notice = stalls.stalled(now_ns, done, self.status.in_flight());
            notice.into_iter().for_each(|notice| self.notice(notice, on));
            let (missing, halted) = (self.threads.len() - ended.len(), self.status.halted());
            if missing > 0 && stalls.is_lost(now_ns, halted != StopReason::None, level) {
                self.lacks(lost(missing, self.threads.len()), on);
                break;
            }
        }
        Ok(ended)
    }

    /// Reports the last rows, and makes the summary.
    fn sum_up(
        mut self,
        parts: &Parts,
        ended: &[Ended],
        equilibrium: EquilibriumFacts,
        on: &mut dyn FnMut(Event),
    ) -> Result<LoadSummary, EngineError> {
        let (load, start_ns) = (parts.load, self.pace.start_ns);
        let is_whole = ended.len() == self.threads.len();
        let last_ns = if is_whole { None } else { Some(parts.stamps.now_ns()) };
        let moments = ended.iter().filter_map(|end| end.at_ns).chain(last_ns);
        let end_ns = moments.max().unwrap_or(start_ns).max(start_ns);
        let duration_ns = end_ns - start_ns;
        let rows = self.collector.last_rows(end_ns)?;
        let mut progress = Progress::of(duration_ns, Some(duration_ns), 0, None);
        let sum = |of: fn(&Ended) -> u64| ended.iter().map(of).sum();
        let population = Population { files: sum(|end| end.files), bytes: sum(|end| end.bytes) };
        progress.tree = is_whole.then_some(population);
        on(Event::Intervals { rows: rows.all, jobs: rows.jobs, progress });
        if let Some(merged) = self.collector.notice() {
            self.notice(merged, on);
        }
        let failed = self.collector.total().errors();
        if failed > 0 {
            let text = format!(
                "{failed} operations failed as they should not have; their kinds are counted per operation"
            );
            self.notice(text, on);
        }
        let ended_by = ended_by(ended, self.status.halted(), is_whole);
        if ended_by == UNSETTLED {
            self.lacks(unsettled(&equilibrium), on);
        }
        if is_whole {
            self.threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        let names = parts.names();
        let worked = |worker| {
            let end = ended.iter().find(|end| end.worker == worker).and_then(|end| end.at_ns);
            end.unwrap_or(end_ns).saturating_sub(start_ns)
        };
        let worked_ns: Vec<_> = (0..load.spec.workers as usize).map(worked).collect();
        let total = self.collector.into_total();
        let writes = load.spec.ops.weights().any(|(op, weight)| weight > 0.0 && op.writes());
        let check = parts.stamps.check();
        Ok(LoadSummary {
            duration_ns,
            ended_by: ended_by.to_owned(),
            operations: total.all.summaries(&names, duration_ns)?,
            jobs: total.summaries(&names, &worked_ns)?,
            asked: writes.then(|| summary::asked_content(&load.content)),
            engine: EngineFacts {
                backend: "sync".to_owned(),
                jobs: load.spec.workers,
                depth: 1,
                clock: check.as_ref().map_or("virtual", |check| check.source.name()).to_owned(),
                clock_check: check.as_ref().map(summary::clock_facts),
                ..EngineFacts::default()
            },
            tree: is_whole.then(|| facts(parts, ended, equilibrium)),
            stood_still_ns: self.stood_still_ns,
            notices: self.notices,
            incomplete: self.incomplete,
            ..LoadSummary::empty(load.seed)
        })
    }
}

/// The tree at the end, according to the records of all workers.
fn facts(parts: &Parts, ended: &[Ended], equilibrium: EquilibriumFacts) -> TreeFacts {
    let sum = |of: fn(&Ended) -> u64| ended.iter().map(of).sum::<u64>();
    let seen = |at: usize| ended.iter().map(|end| end.at_rest[at]).sum();
    TreeFacts {
        files: sum(|end| end.files),
        directories: parts.leaves.made() + sum(|end| end.directories),
        bytes: sum(|end| end.bytes),
        equilibrium: EquilibriumFacts {
            files_at_rest_after: seen(0),
            bytes_at_rest_after: seen(1),
            ..equilibrium
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_whose_books_do_not_fit_into_memory_are_refused_before_anything_is_made() {
        let had = Some(Bytes(1 << 30));
        let error = check_memory(1_000_000_000, had).unwrap_err();
        assert!(error.kind() == ErrorKind::Environment && error.to_string().contains("1 GiB"));
        assert!(check_memory(60_000_000, had).is_ok() && check_memory(u64::MAX / 17, None).is_ok());
    }
}
