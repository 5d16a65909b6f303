//! Remains of a killed run on this machine, and their removal.
//!
//! First, things with the run's tag that stand on the stack are removed, then the steps that the transcript shows as begun are undone in reverse,
//! with the undo actions that the layers of this program give, and last, other things with the tag are removed by actions for their kind. Things
//! without the tag are left alone, except a device under a layer while something of the run stands on it, and settings of the kernel that still
//! have the value that the run wrote.

mod begun;
mod ground;
mod stranger;

use std::collections::{BTreeMap, BTreeSet};

use host::{Executor, Machine, Owed, Removal};
use layers::probe::Source;
use layers::step::Action;
use plan::{CellPlan, Plan};
use results::TranscriptEntry;
use results::model::{Accelerator, CellState, DeviceFacts};
use results::read::ResultSet;
use results::sink::Sink;
use results::transcript::CLEANED;
use results::writer::append_transcript;
use sys::clock::Clock;
use sys::interrupt::Interrupt;

use crate::RunError;
use begun::Begun;

/// Time limit for the removal of a thing that no layer names, seconds.
const DEADLINE_S: u64 = 60;
/// The first words for a setting with a value of the run.
const VALUE: &str = "value of the run in";
/// Number of passes over the remains: each removes the things that nothing stands on any more.
const ROUNDS: usize = 3;

/// Place where the run that left something was executed: on a host, in a guest, or nowhere since it was simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPlace {
    /// On the host itself.
    Host,
    /// In a virtual machine, which is gone with all that was in it.
    Lab,
    /// Nowhere: it was simulated.
    Nowhere,
}

/// Remains of a run, and the steps that take them down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remains {
    /// Existing things that carry the run's tag.
    pub found: Vec<String>,
    /// Commands that take them down, in this order.
    pub commands: Vec<String>,
    /// Undo actions of begun steps on things without the tag, which are not carried out.
    pub left_alone: Vec<String>,
    /// Devices that the run wrote to and that could not be looked at, with the reason: its marks may still be on them. Also those that carry
    /// things of the run, though the run did not begin on them.
    pub unseen: Vec<String>,
}

/// The search for what a run left, and its removal.
pub struct Cleaning {
    executor: Executor,
    tag: String,
    /// Undos of begun steps, with the names that they had in their cells.
    pending_undos: Vec<(usize, Owed)>,
    left_alone: Vec<String>,
    /// Attributes of the kernel that the run changed, with the values that it wrote.
    attributes: BTreeMap<String, (Source, String)>,
    /// The devices that the run was started on, by role.
    devices: BTreeMap<String, DeviceFacts>,
    /// Nodes of the run's devices, by their names in braces, as the last line says that names them: those of a cell without a line too.
    nodes: BTreeMap<String, String>,
    unseen: BTreeSet<String>,
    /// Devices that carry things of the run, though it did not begin on them, each with the reason.
    strangers: Vec<String>,
    /// Present nodes of the run's devices, by role; each is looked for once.
    moved: BTreeMap<String, Option<String>>,
}

/// Returns the place where the run of `result` was executed.
pub fn run_place(result: &ResultSet) -> RunPlace {
    match (result.manifest.simulated, result.manifest.accelerator) {
        (true, _) => RunPlace::Nowhere,
        (_, Accelerator::None) => RunPlace::Host,
        _ => RunPlace::Lab,
    }
}

impl Cleaning {
    /// Reads from a result which steps were begun and not undone.
    pub fn of(result: &ResultSet, machine: impl Machine + 'static) -> Result<Self, RunError> {
        let tag = result.manifest.run_id.clone();
        // Anything shorter would be part of other names.
        if tag.len() != 8 || !tag.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(RunError::Plan(format!("'{tag}' is not the tag of a run").into()));
        }
        let executor = Executor::new(machine, &Clock::real(), &Interrupt::new());
        let mut cleaning = Self {
            executor,
            tag,
            pending_undos: Vec::new(),
            left_alone: Vec::new(),
            attributes: BTreeMap::new(),
            devices: result.manifest.devices.clone(),
            nodes: begun::nodes(&result.transcript),
            unseen: BTreeSet::new(),
            strangers: Vec::new(),
            moved: BTreeMap::new(),
        };
        // The plan of another version may not be readable; things that carry the tag are found without it.
        let plan: Option<Plan> = serde_json::from_value(result.manifest.plan_document.clone()).ok();
        if plan.is_none() {
            let what = "manifest.json: its plan could not be read; marks of the run on devices, and settings that it changed, were not looked for";
            cleaning.unseen.insert(what.into());
        }
        let cells: &[CellPlan] = plan.as_ref().map_or(&[], |plan| &plan.cells);
        // What lines tell of comes first, in its order; what may have been made without a line stands below all of it.
        for is_sure in [true, false] {
            for (data, planned) in result.cells.iter().zip(cells).rev() {
                let begun = Begun::of(result, data, planned, &mut cleaning.executor);
                if !is_sure && data.state() == CellState::Running {
                    cleaning.doubt(&begun);
                }
                cleaning.take_over(planned, begun, is_sure);
            }
        }
        if result.lost_lines > 0 {
            cleaning.unseen.insert(format!(
                "transcript.jsonl: {} of its lines could not be read; settings of the kernel that the run changed may not be put back",
                result.lost_lines
            ));
        }
        cleaning.hold_devices()?;
        cleaning.find_strangers();
        Ok(cleaning)
    }

    /// Adds the steps that one cell still has to undo, the last step first: those that had begun (`is_sure`), or those that left no line.
    fn take_over(&mut self, planned: &CellPlan, begun: Vec<Begun>, is_sure: bool) {
        self.follow_renamed();
        for Begun { step, .. } in &begun {
            if let Action::Mount { device, .. } = &step.action
                && let Ok(device) = self.executor.resolve(device)
                && !self.is_other(&device)
            {
                self.executor.owns(&device);
            }
        }
        for begun in begun.into_iter().rev().filter(|begun| begun.is_sure == is_sure) {
            self.plan_undo(planned.index, begun);
        }
    }

    /// Names settings that have the value of the run, though no line tells that it set them: the value of before is in no line either.
    fn doubt(&mut self, begun: &[Begun]) {
        self.follow_renamed();
        for Begun { step, .. } in begun.iter().filter(|begun| !begun.is_sure) {
            let Action::Set { setting, device, value } = &step.action else { continue };
            let of = Source::Environment { setting: setting.clone(), device: device.clone() };
            if let Ok(of) = self.executor.resolve_source(&of)
                && self.executor.has_value(&of, value)
            {
                self.unseen.insert(format!(
                    "{}: it has the value that the run sets, and no line of the transcript tells the value of before",
                    of.show()
                ));
            }
        }
    }

    /// Plans the undo actions of a begun step that have not been carried out.
    fn plan_undo(&mut self, cell: usize, Begun { number, step, remaining, done, .. }: Begun) {
        let again = done.into_iter().filter(|(_, action)| self.marked(action).is_some());
        let again: Vec<_> = again.collect();
        let remaining: Vec<_> = remaining.into_iter().chain(again).collect();
        // If the step's result carries the run's mark, all of its undo is the run's.
        let marked = remaining.iter().any(|(_, action)| self.marked(action).is_some());
        let (ours, others): (Vec<_>, Vec<_>) = remaining.into_iter().partition(|(_, action)| {
            marked || self.is_ours(action) || self.restores(&step.action, action)
        });
        // A device without the mark needs no wipe. A device that cannot be examined is reported: it may carry the mark.
        let unseen: Vec<_> = others.iter().filter_map(|(_, action)| self.unseen(action)).collect();
        self.unseen.extend(unseen);
        // Left out: an attribute that no longer has the run's value was changed by somebody else, or is gone.
        let noted = |action: &Action| {
            !matches!(
                action,
                Action::Wipe { .. }
                    | Action::Write { .. }
                    | Action::Set { .. }
                    | Action::Wait { .. }
            )
        };
        let others = others.iter().filter(|(_, action)| noted(action));
        let others: Vec<_> = others.map(|(_, action)| self.shown(action)).collect();
        self.left_alone.extend(others);
        // Cells create things with the same names, so an undo that another cell already has is not repeated.
        let of_others = self.pending_undos.iter().filter(|(other, _)| *other != cell);
        let planned: Vec<_> =
            of_others.flat_map(|(_, pending)| &pending.actions).cloned().collect();
        let is_planned = |action: &Action| planned.iter().any(|(_, planned)| planned == action);
        // The names are resolved now, because another cell may bind them to other things.
        let mut actions = Vec::new();
        for (part, action) in ours {
            match self.executor.resolve_action(&action) {
                Ok(action) if is_planned(&action) => {}
                Ok(action) => actions.push((part, action)),
                Err(error) => drop(self.unseen.insert(format!("{}: {error}", action.show()))),
            }
        }
        if !actions.is_empty() {
            self.pending_undos.push((cell, Owed { actions, ..Owed::all_of(number, &step) }));
        }
    }

    fn shown(&self, action: &Action) -> String {
        let shown = action.show();
        self.executor.resolve(&shown).unwrap_or(shown)
    }

    /// The device that an action wipes, if it carries the run's mark, no other run has claimed it, and it is no other device, such as a copy of the
    /// one that the run began on.
    fn marked(&mut self, action: &Action) -> Option<String> {
        let Action::Wipe { device, mark: Some(mark) } = action else { return None };
        let device = self.executor.resolve(device).ok()?;
        let free = !self.is_other(&device) && !self.executor.is_claimed(&device);
        (free && self.executor.carries(&device, mark)).then_some(device)
    }

    /// Existing objects that carry the run's tag or mark.
    fn found(&mut self) -> Vec<String> {
        let mut found = self.executor.leftovers(&self.tag);
        let pending = self.pending_undos.iter().flat_map(|(_, pending)| &pending.actions);
        let pending: Vec<_> = pending.map(|(_, action)| action.clone()).collect();
        let marked = pending.iter().filter_map(|action| self.marked(action));
        for device in marked.collect::<BTreeSet<_>>() {
            found.push(format!("signature of the run on {device}"));
        }
        for (shown, (of, value)) in &self.attributes {
            if self.executor.has_value(of, value) {
                found.push(format!("{VALUE} {shown}"));
            }
        }
        found
    }

    /// Tells whether an action touches only what carries the tag, or a device on which something of the run stands.
    fn is_ours(&mut self, action: &Action) -> bool {
        let Ok(action) = self.executor.resolve_action(action) else { return false };
        let (objects, tag, executor) = (action.objects(), &self.tag, &mut self.executor);
        let mut is_ours = |object: &str| match action {
            Action::Command { .. } => executor.bears(object, tag),
            // A thing with a name of the kernel's choice belongs to the run if it is among the things that carry the tag.
            Action::Write { .. } | Action::Wait { .. } => {
                executor.leftovers(tag).iter().any(|thing| is_of(object, last_word(thing)))
            }
            _ => false,
        };
        !objects.is_empty()
            && objects.iter().all(|object| layers::is_of_run(object, tag) || is_ours(object))
    }

    /// Tells whether `undo` gives an attribute or a setting back its value from before `action`, whose value is still there.
    fn restores(&mut self, action: &Action, undo: &Action) -> bool {
        let resolve = |text: &str| self.executor.resolve(text).ok();
        let (of, value) = match (action, undo) {
            (Action::Write { path, value, reads, .. }, Action::Write { path: same, .. })
                if resolve(same) == resolve(path) =>
            {
                let path = resolve(path).map(|path| Source::File { path });
                (path, resolve(reads.as_ref().unwrap_or(value)))
            }
            (
                Action::Set { setting, device, value },
                Action::Set { setting: back, device: same, .. },
            ) if device == same && (back == setting || resets(setting, back)) => {
                if self.unseen(undo).is_some() {
                    return false;
                }
                let source =
                    Source::Environment { setting: setting.clone(), device: device.clone() };
                (self.executor.resolve_source(&source).ok(), Some(value.clone()))
            }
            _ => return false,
        };
        let Some((of, value)) = of.zip(value) else { return false };
        // Nothing has to be put back where the run wrote the value that was there.
        let (Action::Write { value: before, .. } | Action::Set { value: before, .. }) = undo else {
            return false;
        };
        if resolve(before).is_some_and(|before| before == value) {
            return false;
        }
        let ours = self.executor.has_value(&of, &value);
        if ours {
            self.attributes.insert(of.show(), (of, value));
        }
        ours
    }

    /// Returns what is still there, and the commands that take it down.
    pub fn remains(&mut self) -> Remains {
        let found = self.found();
        let (above, below) = self.removals();
        let due = self.due(&found);
        let due: Vec<_> = due.iter().flat_map(|(_, pending)| &pending.actions).collect();
        let objects: Vec<_> = due.iter().flat_map(|(_, action)| action.objects()).collect();
        let shown =
            |removal: &Removal| removal.actions.iter().map(Action::show).collect::<Vec<_>>();
        let unseen = self.not_looked_at();
        if !self.strangers.is_empty() {
            return Remains {
                found,
                unseen,
                left_alone: self.left_alone.clone(),
                ..Remains::default()
            };
        }
        let mut commands: Vec<_> = above.iter().flat_map(shown).collect();
        commands.extend(due.iter().map(|(_, action)| action.show()));
        let below = below.iter().filter(|b| !objects.iter().any(|object| is_of(object, &b.name)));
        commands.extend(below.flat_map(shown));
        // An undo that several steps have in common is shown once.
        let mut once = BTreeSet::new();
        commands.retain(|command| once.insert(command.clone()));
        Remains { found, commands, left_alone: self.left_alone.clone(), unseen }
    }

    /// The undos still to be done whose objects are among `found`, including those of devices under them.
    fn due(&self, found: &[String]) -> Vec<(usize, Owed)> {
        let there = |object: &&str| {
            let mut names = found.iter().map(|thing| last_word(thing));
            !layers::is_of_run(object, &self.tag) || names.any(|name| is_of(object, name))
        };
        let is_due = |(_, action): &&(usize, Action)| {
            let objects = action.objects();
            objects.is_empty() || objects.iter().any(there)
        };
        let due = |(cell, pending): &(usize, Owed)| {
            let actions = pending.actions.iter().filter(is_due).cloned().collect();
            (*cell, Owed { actions, ..pending.clone() })
        };
        if found.is_empty() { Vec::new() } else { self.pending_undos.iter().map(due).collect() }
    }

    /// Returns the things to remove before the layers, and those to remove after them.
    fn removals(&mut self) -> (Vec<Removal>, Vec<Removal>) {
        self.executor.removals(&self.tag).into_iter().partition(|removal| removal.above)
    }

    /// Writes into the transcript that cleaning begins.
    ///
    /// # Errors
    /// When it cannot be written; then nothing may be taken down, since the transcript would not tell it.
    pub fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), RunError> {
        let (about, action) = ("begin to clean".to_owned(), "fathom clean".to_owned());
        let line = TranscriptEntry { about, action, undo: true, ..Default::default() };
        Ok(append_transcript(sink, &line)?)
    }

    /// Returns settings that still have a value of the killed run.
    pub fn values_left(&mut self) -> Vec<String> {
        let found = self.found().into_iter();
        found.filter(|thing| thing.starts_with(VALUE)).collect()
    }

    /// Takes everything down, writes what was done into the transcript of the result, and gives what is still there. Nothing is taken down while
    /// another device carries things of the run.
    pub fn take_down(&mut self, sink: &mut dyn Sink) -> Result<Vec<String>, RunError> {
        if !self.strangers.is_empty() {
            return Ok(self.found());
        }
        let there = self.wiped_nodes();
        let (above, _) = self.removals();
        self.remove(&above, sink)?;
        // Where lines are lost, things with the tag are found to stand on what is to be undone only when they have gone.
        for _ in 0..2 {
            let found = self.found();
            for (cell, pending) in self.due(&found) {
                self.executor.take_over_undo(pending);
                self.executor.undo_all();
                self.write(Some(cell), sink)?;
            }
            self.remove_below(sink)?;
            if self.found().is_empty() {
                break;
            }
        }
        // A loop device may go with the mount that was on it, before it is wiped.
        let gone = there.into_iter().filter(|node| !self.is_of_run(node));
        let gone: Vec<_> = gone.collect();
        self.unseen.extend(
            gone.into_iter().map(|node| format!("{node}: it went when the rest was taken down")),
        );
        let left = self.found();
        let error = (!left.is_empty()).then(|| format!("still there: {}", left.join(", ")));
        let (about, action) = (CLEANED.to_owned(), "fathom clean".to_owned());
        append_transcript(
            sink,
            &TranscriptEntry { about, action, undo: true, error, ..Default::default() },
        )?;
        Ok(left)
    }

    /// Removes things with the tag on which nothing stands any more, in rounds.
    fn remove_below(&mut self, sink: &mut dyn Sink) -> Result<(), RunError> {
        for _ in 0..ROUNDS {
            let (above, below) = self.removals();
            // Nothing can be removed below a file system that is still mounted.
            if !above.is_empty() || below.is_empty() {
                break;
            }
            self.remove(&below, sink)?;
        }
        Ok(())
    }

    /// Devices that were not cleaned, with the reason.
    pub fn not_looked_at(&self) -> Vec<String> {
        self.unseen.iter().chain(&self.strangers).cloned().collect()
    }

    /// Files that keep directories of the run from being removed: they were written there while nothing was mounted.
    pub fn in_directories(&mut self) -> Vec<String> {
        self.executor.in_directories(&self.tag)
    }

    fn remove(&mut self, removals: &[Removal], sink: &mut dyn Sink) -> Result<(), RunError> {
        for removal in removals {
            let (about, undo) = (removal.what.clone(), removal.actions.clone());
            let actions = undo.into_iter().enumerate().collect();
            self.executor.take_over_undo(Owed {
                about,
                step: None,
                actions,
                deadline_s: DEADLINE_S,
            });
            self.executor.undo_all();
            self.write(None, sink)?;
        }
        Ok(())
    }

    fn write(&mut self, cell: Option<usize>, sink: &mut dyn Sink) -> Result<(), RunError> {
        for mut line in self.executor.take_transcript() {
            // Names that other cells bound do not apply to this one.
            (line.cell, line.bound) = (cell, BTreeMap::new());
            append_transcript(sink, &line)?;
        }
        Ok(())
    }
}

/// Tells whether a change of one setting resets the other.
fn resets(setting: &str, other: &str) -> bool {
    layers::environment::setting(setting).is_some_and(|known| known.resets.contains(&other))
}

/// The name of something that is left, without its kind, which comes first.
fn last_word(thing: &str) -> &str {
    thing.rsplit(' ').next().unwrap_or(thing)
}

/// Tells whether an action's object is the thing of this name, something in it, or a path through it.
fn is_of(object: &str, name: &str) -> bool {
    object.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        || object.split('/').any(|part| part == name)
}

#[cfg(test)]
mod tests;
