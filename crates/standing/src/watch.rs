//! A stack watched for some time: what its devices, layers and threads did in that time.

use std::collections::BTreeMap;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use layers::place_of;
use layers::standing::{Node, StandingStack};
use layers::watched::{FULL_CPU, IoGrowth, ThreadUse, Watched};
use sys::interrupt::{Interrupt, Level};
use units::Basis;

use crate::looks::{DeviceLook, Look, Numbers, ThreadLook, looks};
use crate::owners::{Owner, owner_of, owners};
use crate::recorded::{Recorded, Top};

/// Largest number of intervals that are kept.
const MAX_INTERVALS: u32 = 600;
/// The shortest time between two looks.
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// The longest time that a look may be late; after that the watch ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// The course of a watch.
#[derive(Debug, Clone, PartialEq)]
pub struct Watch {
    /// Time from one look to the next, seconds.
    pub every_s: f64,
    /// Time from the first look to the last one, seconds.
    pub seconds: f64,
    /// The reason why it ended.
    pub ended: Ended,
    /// Tells whether threads of the kernel could be seen.
    pub sees_threads: bool,
}

/// The reason why a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Its time was over.
    Time,
    /// Somebody asked for it.
    Interrupted,
    /// The device that was asked about went away, or all of them.
    Gone,
    /// Something did not answer.
    Silent,
}

/// Progress of a watch.
#[derive(Debug, Clone, PartialEq)]
pub struct Watching {
    /// Time since the first look, seconds.
    pub at_s: f64,
    /// The part of the time that is over, 0 to 1.
    pub fraction: f64,
    /// Growth of the counters of the device that was asked about, since the look before.
    pub io: Option<IoGrowth>,
}

/// Watches the devices of a stack for `length`, and gives its nodes what was seen. `on` is called after each look; `stop` ends the watch early.
pub fn watch(
    (read, top): (&Recorded, &Top),
    stack: &mut StandingStack,
    length: Duration,
    stop: &Interrupt,
    on: &mut dyn FnMut(&Watching),
) -> Watch {
    let every = MIN_PAUSE.max(length / MAX_INTERVALS);
    let steps = (length.as_secs_f64() / every.as_secs_f64()).round().max(1.0);
    let device = asked_device(stack, top);
    let mut seen = Seen { owners: owners(read, stack), ..Seen::default() };
    let looks = looks(read, stack, every, steps as u32 + 1);
    let mut last = Instant::now();
    let ended = loop {
        if stop.level() != Level::None {
            break Ended::Interrupted;
        }
        match looks.recv_timeout(Duration::from_millis(50)) {
            Ok(look) => {
                last = Instant::now();
                seen.take(look);
                let io = device.as_ref().and_then(|id| seen.devices.get(id)?.rows.last().cloned());
                let fraction = (seen.at_s / length.as_secs_f64()).min(1.0);
                on(&Watching { at_s: seen.at_s, fraction, io });
                if seen.is_over(device.as_deref()) {
                    break Ended::Gone;
                }
            }
            Err(RecvTimeoutError::Disconnected) => break Ended::Time,
            Err(RecvTimeoutError::Timeout) if last.elapsed() > every + PATIENCE => {
                break Ended::Silent;
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    let sees_threads = !seen.threads.is_empty();
    let watch = Watch { every_s: every.as_secs_f64(), seconds: seen.at_s, ended, sees_threads };
    seen.give(stack);
    watch
}

/// The device that was asked about.
fn asked_device(stack: &StandingStack, top: &Top) -> Option<String> {
    match top {
        Top::Device(name) => Some(name.clone()),
        Top::Mount(directory) => Some(stack.node(directory)?.on.first()?.1.clone()),
        Top::All => None,
    }
}

/// All that was seen until now.
#[derive(Default)]
struct Seen {
    owners: Vec<Owner>,
    at_s: f64,
    devices: BTreeMap<String, Course>,
    /// Every thread of the kernel at the last look.
    threads: BTreeMap<String, ThreadLook>,
    /// CPU time of the stack's threads, by node and number.
    uses: BTreeMap<(String, String), Use>,
}

/// The course of one device so far.
#[derive(Default)]
struct Course {
    first: DeviceLook,
    last: DeviceLook,
    rows: Vec<IoGrowth>,
    gone: Option<(f64, String)>,
}

/// The CPU use of one thread so far.
#[derive(Default)]
struct Use {
    name: String,
    cpu_s: f64,
    most: f64,
    full_s: f64,
}

impl Seen {
    fn take(&mut self, look: Look) {
        for (id, found) in look.devices {
            match (found, self.devices.get_mut(&id)) {
                (Ok(found), Some(course)) => course.take(found),
                (Ok(found), None) => {
                    let course = Course { first: found.clone(), last: found, ..Course::default() };
                    self.devices.insert(id, course);
                }
                (Err(why), Some(course)) => course.gone = Some((look.at_s, why)),
                (Err(why), None) => {
                    let course = Course { gone: Some((look.at_s, why)), ..Course::default() };
                    self.devices.insert(id, course);
                }
            }
        }
        let seconds = look.at_s - self.at_s;
        // At the first look there are no earlier times to compare with.
        if !self.threads.is_empty() && seconds > 0.0 {
            look.threads.iter().for_each(|(id, thread)| self.use_of(id, thread, seconds));
        }
        (self.at_s, self.threads) = (look.at_s, look.threads);
    }

    /// Adds the CPU time that a thread took since the last look to the time of its node.
    fn use_of(&mut self, id: &str, thread: &ThreadLook, seconds: f64) {
        // A thread that began after the last look has used all of its CPU time since then.
        let before = self.threads.get(id).map_or(0.0, |before| before.cpu_s);
        let took = thread.cpu_s - before;
        let owner = owner_of(&self.owners, &thread.name).filter(|_| took > 0.0);
        let Some(node) = owner.map(str::to_owned) else { return };
        let usage = self.uses.entry((node, id.to_owned())).or_default();
        usage.name.clone_from(&thread.name);
        usage.cpu_s += took;
        usage.most = usage.most.max(took / seconds);
        if took / seconds >= FULL_CPU {
            usage.full_s += seconds;
        }
    }

    /// Tells whether there is nothing to watch any more.
    fn is_over(&self, chosen: Option<&str>) -> bool {
        let gone = |id: &str| self.devices.get(id).is_some_and(|course| course.gone.is_some());
        chosen.is_some_and(gone) || self.devices.values().all(|course| course.gone.is_some())
    }

    fn give(mut self, stack: &mut StandingStack) {
        for node in &mut stack.nodes {
            let Some(course) = self.devices.remove(&node.id) else { continue };
            let uses = self.uses.iter().filter(|((id, _), _)| *id == node.id);
            let mut threads: Vec<ThreadUse> = uses
                .map(|((_, id), used)| ThreadUse {
                    name: used.name.clone(),
                    id: id.clone(),
                    cpu_percent: 100.0 * used.cpu_s / self.at_s,
                    most_percent: 100.0 * used.most,
                    full_percent: 100.0 * used.full_s / self.at_s,
                })
                .collect();
            threads.sort_by(|a, b| b.cpu_percent.total_cmp(&a.cpu_percent));
            node.watched = Some(course.watched(node, threads));
        }
    }
}

impl Course {
    fn take(&mut self, look: DeviceLook) {
        self.rows.push(growth(&self.last, &look));
        self.last = look;
    }

    fn watched(self, node: &Node, threads: Vec<ThreadUse>) -> Watched {
        let known = layers::kind(&node.kind);
        let grows = |field: &str| {
            let mut counters = known.iter().flat_map(|kind| kind.counters());
            counters.any(|c| place_of(c).1 == field && c.basis != Basis::Level)
        };
        let (first, last) = (&self.first.own_numbers, &self.last.own_numbers);
        let (counted, levels): (Numbers, Numbers) =
            last.clone().into_iter().partition(|(field, _)| grows(field));
        let grown = counted.into_iter().map(|(field, value)| {
            let before = first.get(&field).copied().flatten();
            (field, grew(before, value))
        });
        Watched {
            seconds: self.last.at_s - self.first.at_s,
            io: growth(&self.first, &self.last),
            rows: self.rows,
            grown: grown.collect(),
            levels,
            threads,
            gone: self.gone,
        }
    }
}

/// Growth of a block device's counters between two looks; I/Os under way are a level.
fn growth(first: &DeviceLook, last: &DeviceLook) -> IoGrowth {
    let counters = last.io.iter().filter(|(name, _)| *name != "in_flight");
    let grown = counters.map(|(name, value)| {
        let before = first.io.get(name).copied().flatten();
        (name.clone(), grew(before, *value))
    });
    IoGrowth { from_s: first.at_s, to_s: last.at_s, grown: grown.collect() }
}

/// Growth of a counter; `None` where it was reset.
fn grew(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    Some(after? - before?).filter(|grew| *grew >= 0.0)
}

#[cfg(test)]
mod tests;
