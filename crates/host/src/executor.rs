//! Executes steps, remembers the undo that each step owes, and does it in reverse order however the run ends.

mod actions;
mod attribute;
mod command;
mod conditions;
mod environment;
mod intact;
mod measured;
mod owed;
mod state;
mod undo;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use layers::probe::Source;
use layers::step::{Action, Condition, Mark, Step};
use layers::{Parsed, Writes};
use results::TranscriptEntry;
use results::model::{AskedContent, StepRecord};
use sys::causes::chain;
use sys::clock::Clock;
use sys::identity::Identity;
use sys::interrupt::{Interrupt, Level};
use sys::meant::Meant;
use units::Nanos;

use crate::names::{self, Names};
use crate::{Machine, Removal, StepError};
use conditions::{holds, is_gone, seen};
pub use owed::Owed;
pub use state::ExecutorState;

/// Executes steps on one machine.
pub struct Executor {
    machine: Box<dyn Machine>,
    clock: Clock,
    interrupt: Interrupt,
    names: Names,
    /// Names that were bound since the last line of the transcript.
    unsaid: Names,
    facts: BTreeMap<String, String>,
    owed: Vec<Owed>,
    transcript: Vec<TranscriptEntry>,
    /// Settings of the environment that could not be put back.
    unrestored: Vec<String>,
}

/// A path on the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name, for results and messages.
    pub name: PathBuf,
    /// The path to open, which bypasses whatever is mounted at the name now.
    pub way: PathBuf,
    /// The thing that has to be opened, where that is known: a file of the file system that was mounted there and is held, or the
    /// device that the stack was built with.
    pub meant: Option<Meant>,
}

/// The purpose of an action, and the bounds within which it is done.
struct ActionContext<'a> {
    about: &'a str,
    step: Option<usize>,
    part: Option<usize>,
    deadline_s: u64,
    interrupt: Interrupt,
    undo: bool,
}

impl Executor {
    /// An executor on `machine`; waits end when `interrupt` asks for anything.
    pub fn new(machine: impl Machine + 'static, clock: &Clock, interrupt: &Interrupt) -> Self {
        Self {
            machine: Box::new(machine),
            clock: clock.clone(),
            interrupt: interrupt.clone(),
            names: Names::new(),
            unsaid: Names::new(),
            facts: BTreeMap::new(),
            owed: Vec::new(),
            transcript: Vec::new(),
            unrestored: Vec::new(),
        }
    }

    /// Binds a placeholder: with the name `device.data`, `{device.data}` stands for `value` from now on.
    pub fn bind(&mut self, name: &str, value: &str) {
        self.names.insert(name.to_owned(), value.to_owned());
        self.unsaid.insert(name.to_owned(), value.to_owned());
    }

    /// Forgets all names that are bound.
    pub fn forget_names(&mut self) {
        self.names.clear();
    }

    /// Returns the facts that steps found out, by name (`vdo.instance`).
    pub fn facts(&self) -> &BTreeMap<String, String> {
        &self.facts
    }

    /// `text` with its placeholders replaced.
    ///
    /// # Errors
    /// When one of them is not bound.
    pub fn resolve(&self, text: &str) -> Result<String, StepError> {
        names::resolve(&self.names, text)
    }

    /// `text` with its placeholders replaced, as a path, and the way to open it until the next step.
    ///
    /// # Errors
    /// When one of them is not bound.
    pub fn place(&self, text: &str) -> Result<Place, StepError> {
        let name = PathBuf::from(self.resolve(text)?);
        let (way, meant) = self.machine.way(&name);
        Ok(Place { name, way, meant })
    }

    /// `source` with its placeholders replaced.
    ///
    /// # Errors
    /// When one of them is not bound.
    pub fn resolve_source(&self, source: &Source) -> Result<Source, StepError> {
        names::resolve_source(&self.names, source)
    }

    /// An action of teardown with its placeholders replaced.
    ///
    /// # Errors
    /// When one of them is not bound.
    pub fn resolve_action(&self, action: &Action) -> Result<Action, StepError> {
        names::resolve_action(&self.names, action)
    }

    /// The text of a source whose names are resolved, from the machine that steps are executed on.
    ///
    /// # Errors
    /// When the machine cannot read it.
    pub fn read(&mut self, source: &Source) -> io::Result<String> {
        self.machine.read(source)
    }

    /// Tells a simulated machine what a load wrote to the layer called `target`; a real machine needs no telling.
    pub fn wrote(&mut self, target: &str, writes: &Writes, content: &AskedContent) {
        self.machine.wrote(target, writes, content);
    }

    /// Tells a simulated machine that something wrote to it, and that it is unknown what.
    pub fn lost_track(&mut self) {
        self.machine.lost_track();
    }

    /// Everything that was executed since the last call.
    pub fn take_transcript(&mut self) -> Vec<TranscriptEntry> {
        std::mem::take(&mut self.transcript)
    }

    /// Returns what is still there of the run with this tag.
    pub fn leftovers(&mut self, tag: &str) -> Vec<String> {
        let mut left = self.machine.leftovers(tag);
        left.extend(self.unrestored.iter().cloned());
        left
    }

    /// Returns the removals of all that is still there of the run with this tag, in the order in which to do them.
    pub fn removals(&mut self, tag: &str) -> Vec<Removal> {
        self.machine.removals(tag)
    }

    /// Returns files in directories in which that run mounted something: they were written while nothing was mounted there, and keep the directories
    /// from being removed.
    pub fn in_directories(&mut self, tag: &str) -> Vec<String> {
        self.machine.in_directories(tag)
    }

    /// Tells whether something of the run with this tag stands on a device.
    pub fn bears(&mut self, device: &str, tag: &str) -> bool {
        self.machine.bears(device, tag)
    }

    /// Returns the block devices that carry something of the run with this tag.
    pub fn bearers(&mut self, tag: &str) -> Vec<String> {
        self.machine.bearers(tag)
    }

    /// Tells whether a device has a mark.
    pub fn carries(&mut self, device: &str, mark: &Mark) -> bool {
        self.machine.carries(device, mark)
    }

    /// Returns the identity of a block device; `None` on a machine that has no real ones.
    ///
    /// # Errors
    /// When it is not there, or cannot be examined.
    pub fn identity(&self, device: &str) -> io::Result<Option<Identity>> {
        self.machine.identity(device)
    }

    /// Tells whether another run, or a load, has claimed a device.
    pub fn is_claimed(&self, device: &str) -> bool {
        self.machine.is_claimed(device)
    }

    /// Tells the machine that a device is one of the run's.
    pub fn owns(&mut self, device: &str) {
        self.machine.owns(device);
    }

    /// Takes over the undo of what another process began; what is owed last is undone first.
    pub fn take_over_undo(&mut self, owed: Owed) {
        self.owed.push(owed);
    }

    /// Executes one step, as [`Self::numbered`] does, that is none of those that raise the stack of a cell.
    pub fn step(&mut self, step: &Step) -> (StepRecord, Result<(), StepError>) {
        self.numbered(None, step)
    }

    /// Executes one step, which has this number among those that raise the stack of a cell. Its undo is owed from the moment it begins: what
    /// fails half-way is undone too.
    pub fn numbered(
        &mut self,
        number: Option<usize>,
        step: &Step,
    ) -> (StepRecord, Result<(), StepError>) {
        let context = ActionContext {
            about: &step.about,
            step: number,
            part: None,
            deadline_s: step.deadline_s,
            interrupt: self.interrupt.clone(),
            undo: false,
        };
        if self.interrupt.level() != Level::None {
            let error = StepError::Interrupted { about: step.about.clone() };
            return (
                self.record(&context, &step.action, self.clock.now(), Some(&error)),
                Err(error),
            );
        }
        if !step.undo.is_empty() {
            self.owed.push(Owed::all_of(number, step));
        }
        let start = self.clock.now();
        let outcome = self.act(&context, &step.action);
        (self.record(&context, &step.action, start, outcome.as_ref().err()), outcome)
    }

    fn record(
        &self,
        context: &ActionContext,
        action: &Action,
        start: Nanos,
        error: Option<&StepError>,
    ) -> StepRecord {
        let shown = action.show();
        let record = StepRecord {
            about: context.about.to_owned(),
            command: self.resolve(&shown).unwrap_or(shown),
            undo: context.undo,
            start_ns: start.0,
            duration_ns: self.clock.now().0.saturating_sub(start.0),
            error: error.map(|error| chain(error)),
        };
        let StepRecord { about, command, duration_ns, error, .. } = &record;
        tracing::debug!(about, command, us = duration_ns / 1000, ?error, "step");
        record
    }

    /// Does one action and writes it into the transcript. It fails before it begins where a device or mount has been replaced. An undo is only
    /// checked against the devices that it names, so that all else is still taken down.
    fn act(&mut self, context: &ActionContext, action: &Action) -> Result<(), StepError> {
        self.look_before(context, action)?;
        if let Action::Command { argv, removes } = action {
            let argv = argv.iter().map(|word| self.resolve(word)).collect::<Result<Vec<_>, _>>()?;
            return self.command(context, &argv, removes.is_some());
        }
        let at = self.clock.now();
        let outcome = match action {
            Action::Command { .. } => Ok(String::new()),
            Action::Discard { device } => self.resolve(device).and_then(|device| {
                let done = self.machine.discard(&device);
                done.map(Option::unwrap_or_default).map_err(|e| failed(context, action, e))
            }),
            Action::Wipe { device, mark } => self.resolve(device).and_then(|device| {
                let done = self.machine.wipe(&device, mark.as_ref());
                done.map(|()| String::new()).map_err(|e| failed(context, action, e))
            }),
            Action::Flush { device } => self.resolve(device).and_then(|device| {
                let done = self.machine.flush(&device);
                done.map(|()| String::new()).map_err(|e| failed(context, action, e))
            }),
            Action::Sync => silent(self.machine.sync()).map_err(|e| failed(context, action, e)),
            Action::Pause { ms } => {
                match self.clock.sleep(Nanos(ms * 1_000_000), &context.interrupt) {
                    Level::None => Ok(String::new()),
                    _ => Err(StepError::Interrupted { about: context.about.to_owned() }),
                }
            }
            Action::RemoveNodes { nodes } => self
                .machine
                .remove_nodes(nodes)
                .map(|removed| removed.join("\n"))
                .map_err(|e| failed(context, action, e)),
            Action::Write { path, value, reads, may_be_gone } => {
                match self.write(path, value, reads.as_deref()) {
                    Err(error) if *may_be_gone && is_gone(&error) => Ok("it is gone".to_owned()),
                    written => written.map_err(|e| failed(context, action, e)),
                }
            }
            Action::Set { setting, device, value } => self
                .set((setting, device.as_deref()), value, context.undo)
                .map_err(|e| failed(context, action, e)),
            Action::Mount { .. } | Action::Unmount { .. } => {
                silent(self.mount(action)).map_err(|e| failed(context, action, e))
            }
            Action::Start { name, argv } => {
                silent(self.start(name, argv)).map_err(|e| failed(context, action, e))
            }
            Action::Stop { name } => {
                silent(self.machine.stop(name)).map_err(|e| failed(context, action, e))
            }
            Action::Trace { .. } | Action::Untrace { .. } => {
                self.trace(action).map_err(|e| failed(context, action, e))
            }
            Action::Reboot { .. } => {
                silent(self.machine.reboot()).map_err(|e| failed(context, action, e))
            }
            Action::Wait { source, parser, until, every_ms } => {
                self.wait(context, source, parser, until, Nanos(every_ms * 1_000_000))
            }
            Action::Bind { source, parser, prefix } => self.learn(context, source, parser, prefix),
        };
        let shown = action.show();
        let entry = TranscriptEntry {
            action: self.resolve(&shown).unwrap_or(shown),
            stdout: outcome.as_ref().map_or_else(|_| String::new(), Clone::clone),
            error: outcome.as_ref().err().map(|error| chain(error)),
            ..self.entry(context, at)
        };
        self.transcript.push(entry);
        outcome.map(drop)
    }

    fn entry(&mut self, context: &ActionContext, at: Nanos) -> TranscriptEntry {
        TranscriptEntry {
            at_ns: at.0,
            step: context.step,
            part: context.part,
            bound: std::mem::take(&mut self.unsaid),
            about: context.about.to_owned(),
            undo: context.undo,
            duration_ns: self.clock.now().0.saturating_sub(at.0),
            ..TranscriptEntry::default()
        }
    }

    /// Reads until the condition holds; returns what was seen last.
    fn wait(
        &mut self,
        context: &ActionContext,
        source: &Source,
        parser: &str,
        until: &Condition,
        every: Nanos,
    ) -> Result<String, StepError> {
        let source = self.resolve_source(source)?;
        let end = self.clock.now().0.saturating_add(Nanos::from_secs(context.deadline_s).0);
        loop {
            if *until == Condition::Gone
                && self.machine.read(&source).is_err_and(|error| is_gone(&error))
            {
                return Ok(String::new());
            }
            // What cannot be read yet may be readable a moment later: it is reported at the deadline.
            let seen = match self.parsed(context, &source, parser) {
                _ if *until == Condition::Gone => seen(until, &Parsed::default()),
                Ok(parsed) if holds(until, &parsed) => return Ok(seen(until, &parsed)),
                Ok(parsed) => seen(until, &parsed),
                Err(error) => chain(&error),
            };
            if self.machine.grants(&source, until) {
                return Ok(format!("{until}: simulated, nothing was waited for"));
            }
            if self.clock.now().0 >= end {
                return Err(StepError::Deadline {
                    about: context.about.to_owned(),
                    action: format!("waiting until {until}"),
                    seconds: context.deadline_s,
                    last: format!(" (last seen: {seen})"),
                });
            }
            if self.clock.sleep(every, &context.interrupt) != Level::None {
                return Err(StepError::Interrupted { about: context.about.to_owned() });
            }
        }
    }

    /// Reads once and binds every text field, as placeholder and as fact.
    fn learn(
        &mut self,
        context: &ActionContext,
        source: &Source,
        parser: &str,
        prefix: &str,
    ) -> Result<String, StepError> {
        let source = self.resolve_source(source)?;
        let parsed = self.parsed(context, &source, parser)?;
        let mut lines = Vec::new();
        for (field, value) in parsed.texts {
            let name = format!("{prefix}.{field}");
            lines.push(format!("{name} = {value}"));
            self.bind(&name, &value);
            self.facts.insert(name, value);
        }
        Ok(lines.join("\n"))
    }

    fn parsed(
        &mut self,
        context: &ActionContext,
        source: &Source,
        parser: &str,
    ) -> Result<Parsed, StepError> {
        let text = self.machine.read(source).map_err(|error| StepError::Action {
            about: context.about.to_owned(),
            action: source.show(),
            source: error,
        })?;
        layers::parse(parser, &text).map_err(|error| StepError::Parse {
            about: context.about.to_owned(),
            from: source.show(),
            source: error,
        })
    }
}

/// Returns the outcome of an action that prints nothing, with an empty output.
fn silent(done: io::Result<()>) -> io::Result<String> {
    done.map(|()| String::new())
}

fn failed(context: &ActionContext, action: &Action, source: io::Error) -> StepError {
    StepError::Action { about: context.about.to_owned(), action: action.show(), source }
}
