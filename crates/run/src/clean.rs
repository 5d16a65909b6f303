//! Remains of a killed run on this machine, and taking them down.
//!
//! Steps that the transcript shows as begun are undone in reverse, with the undo actions that the layers of this program give; things that carry
//! the run's tag and are still there are then removed by their own kind. Nothing without the tag is touched, except a device under a layer, and
//! that only while something of the run stands on it.

use std::collections::{BTreeMap, BTreeSet};

use host::{Executor, Machine, Removal};
use layers::probe::Source;
use layers::step::{Action, Step};
use layers::{Offer, Place};
use plan::{CellPlan, Plan};
use results::TranscriptEntry;
use results::model::{Accelerator, DeviceFacts};
use results::read::{CellData, ResultSet};
use results::sink::Sink;
use results::transcript::CLEANED;
use results::writer::append_transcript;
use sys::clock::Clock;
use sys::interrupt::Interrupt;

use crate::RunError;

/// Time limit of one undo of a thing that no layer names, seconds.
const DEADLINE_S: u64 = 60;
/// Number of passes over what is left: each removes what nothing stands on any more.
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
    /// Things that carry the run's tag and are there.
    pub found: Vec<String>,
    /// Commands that take them down, in this order.
    pub commands: Vec<String>,
    /// Undo actions of begun steps that are about something without the tag: they are not carried out.
    pub left_alone: Vec<String>,
    /// Devices that the run wrote to and that could not be looked at, with the reason: its marks may still be on them.
    pub unseen: Vec<String>,
}

/// One step of a cell that is still to be undone.
#[derive(Clone)]
struct Owed {
    cell: usize,
    about: String,
    actions: Vec<Action>,
    deadline_s: u64,
}

/// Looks for what a run left, and takes it down.
pub struct Cleaning {
    executor: Executor,
    tag: String,
    owed: Vec<Owed>,
    left_alone: Vec<String>,
    /// Attributes of the kernel that the run changed, with what it wrote.
    attributes: BTreeMap<String, (Source, String)>,
    /// The devices that the run began on, by role.
    devices: BTreeMap<String, DeviceFacts>,
    unseen: BTreeSet<String>,
    /// Nodes that devices of the run have by now, by role; each is looked for once.
    moved: BTreeMap<String, Option<String>>,
}

/// Returns where the run of `result` made what it made.
pub fn run_place(result: &ResultSet) -> RunPlace {
    match (result.manifest.simulated, result.manifest.accelerator) {
        (true, _) => RunPlace::Nowhere,
        (_, Accelerator::None) => RunPlace::Host,
        _ => RunPlace::Lab,
    }
}

impl Cleaning {
    /// Reads what was begun and not undone.
    pub fn of(result: &ResultSet, machine: impl Machine + 'static) -> Result<Self, RunError> {
        let tag = result.manifest.run_id.clone();
        // Anything shorter would be part of other names.
        if tag.len() != 8 || !tag.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(RunError::Plan(format!("'{tag}' is no tag of a run").into()));
        }
        let executor = Executor::new(machine, &Clock::real(), &Interrupt::new());
        let mut cleaning = Self {
            executor,
            tag,
            owed: Vec::new(),
            left_alone: Vec::new(),
            attributes: BTreeMap::new(),
            devices: result.manifest.devices.clone(),
            unseen: BTreeSet::new(),
            moved: BTreeMap::new(),
        };
        // Another version's plan may not be readable: what carries the tag is found all the same.
        let plan: Option<Plan> = serde_json::from_value(result.manifest.plan_document.clone()).ok();
        let cells: &[CellPlan] = plan.as_ref().map_or(&[], |plan| &plan.cells);
        for (data, planned) in result.cells.iter().zip(cells).rev() {
            cleaning.take_over(result, data, planned);
        }
        Ok(cleaning)
    }

    /// Takes over what one cell owes, the last step first.
    fn take_over(&mut self, result: &ResultSet, data: &CellData, planned: &CellPlan) {
        let cell = planned.index;
        let steps = steps(planned, &self.tag);
        let lines: Vec<_> =
            result.transcript.iter().filter(|line| line.cell == Some(cell)).collect();
        // A cell that ran again after a resume: what an earlier attempt undid is not undone of this one.
        let begins = |pair: &[&TranscriptEntry]| pair[0].undo && !pair[1].undo;
        let last = lines.windows(2).rposition(begins).map_or(0, |at| at + 1);
        let lines = || lines[last..].iter().copied();
        let mut begun = 0;
        for line in lines().filter(|line| !line.undo) {
            let Some(step) = steps.get(begun).filter(|step| step.about == line.about) else {
                continue;
            };
            let read =
                |said: &str| said.split_once(" = ").map(|(n, v)| (n.to_owned(), v.to_owned()));
            let mut bound = bindings(&step.action.show(), &line.action);
            if let Action::Bind { .. } = step.action {
                bound.extend(line.stdout.lines().filter_map(read));
            }
            for (name, value) in bound {
                self.executor.bind(&name, &value);
            }
            begun += 1;
        }
        // The step that a kill hit is not in the transcript.
        begun += usize::from(begun > 0 && !data.state().ended());
        let steps = &steps[..begun.min(steps.len())];
        // What was undone is in the transcript under the names of then.
        let undone = lines().filter(|line| line.undo && line.error.is_none());
        let undone: BTreeSet<&str> = undone.map(|line| line.action.as_str()).collect();
        let left_of = |step: &Step| -> Vec<Action> {
            let left = |action: &&Action| !undone.contains(self.shown(action).as_str());
            step.undo.iter().filter(left).cloned().collect()
        };
        let left: Vec<_> = steps.iter().map(left_of).collect();
        self.follow_renamed();
        for step in steps {
            if let Action::Mount { device, .. } = &step.action
                && let Ok(device) = self.executor.resolve(device)
            {
                self.executor.owns(&device);
            }
        }
        self.owe(cell, steps.iter().zip(left));
    }

    /// Owes what is left of the undo of begun steps, the last one first.
    fn owe<'s>(
        &mut self,
        cell: usize,
        steps: impl DoubleEndedIterator<Item = (&'s Step, Vec<Action>)> + ExactSizeIterator,
    ) {
        for (step, left) in steps.rev() {
            // What the step made carries the run's mark: so all of its undo is about that.
            let marked = left.iter().any(|action| self.marked(action).is_some());
            let (ours, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|action| {
                marked || self.is_ours(action) || self.restores(&step.action, action)
            });
            // Without the mark there is nothing to be wiped, on the device that the run wrote to.
            let unseen: Vec<_> = others.iter().filter_map(|action| self.unseen(action)).collect();
            self.unseen.extend(unseen);
            // An attribute that has another value by now was changed since, or is gone.
            let noted = |action: &&Action| {
                !matches!(
                    action,
                    Action::Wipe { .. }
                        | Action::Write { .. }
                        | Action::Set { .. }
                        | Action::Wait { .. }
                )
            };
            let others = others.iter().filter(noted);
            let others: Vec<_> = others.map(|action| self.shown(action)).collect();
            self.left_alone.extend(others);
            let owed: Vec<_> = self.owed.iter().flat_map(|owed| &owed.actions).cloned().collect();
            let actions: Vec<_> =
                ours.into_iter().filter(|action| !owed.contains(action)).collect();
            if !actions.is_empty() {
                let (about, deadline_s) = (step.about.clone(), step.deadline_s);
                self.owed.push(Owed { cell, about, actions, deadline_s });
            }
        }
    }

    /// Binds each device of the run that has another node by now, as after the machine started again, to that node. One that is nowhere keeps its
    /// node.
    fn follow_renamed(&mut self) {
        for (role, facts) in &self.devices {
            let (name, known) = (format!("device.{role}"), crate::resume::identity(facts));
            let known = known.zip(self.executor.resolve(&format!("{{{name}}}")).ok());
            let Some((known, node)) = known else { continue };
            let is_it = |node: &String| {
                let now = self.executor.identity(node).ok().flatten();
                now.is_some_and(|now| known.difference(&now).is_none())
            };
            let moved = self.moved.entry(role.clone());
            let moved = moved.or_insert_with(|| match is_it(&node) {
                true => None,
                false => sys::block::nodes().into_iter().find(is_it),
            });
            if let Some(found) = moved {
                self.executor.bind(&name, found);
            }
        }
    }

    fn shown(&self, action: &Action) -> String {
        let shown = action.show();
        self.executor.resolve(&shown).unwrap_or(shown)
    }

    /// The device that an action wipes, where that carries the run's mark.
    fn marked(&mut self, action: &Action) -> Option<String> {
        let Action::Wipe { device, mark: Some(mark) } = action else { return None };
        let device = self.executor.resolve(device).ok()?;
        self.executor.carries(&device, mark).then_some(device)
    }

    /// Returns why a device that an action wipes, or whose settings it puts back, could not be looked at: it is not there, or is another one
    /// than the run began on.
    fn unseen(&self, action: &Action) -> Option<String> {
        let (Action::Wipe { device, mark: Some(_) } | Action::Set { device: Some(device), .. }) =
            action
        else {
            return None;
        };
        let role = device.strip_prefix("{device.").and_then(|rest| rest.strip_suffix('}'))?;
        let node = self.executor.resolve(device).ok();
        let node = node.unwrap_or_else(|| format!("the device of role '{role}'"));
        let now = match self.executor.identity(&node) {
            Err(error) => return Some(format!("{node}: {error}")),
            Ok(now) => now?,
        };
        let known = self.devices.get(role).and_then(crate::resume::identity)?;
        known.difference(&now).map(|why| format!("{node}: {why}"))
    }

    /// Objects that carry the run's tag or mark and are there.
    fn found(&mut self) -> Vec<String> {
        let mut found = self.executor.leftovers(&self.tag);
        let owed: Vec<_> = self.owed.iter().flat_map(|owed| &owed.actions).cloned().collect();
        let marked = owed.iter().filter_map(|action| self.marked(action));
        for device in marked.collect::<BTreeSet<_>>() {
            found.push(format!("signature of the run on {device}"));
        }
        for (shown, (of, value)) in &self.attributes {
            if self.executor.has_value(of, value) {
                found.push(format!("value of the run in {shown}"));
            }
        }
        found
    }

    /// Tells whether an action touches only what carries the tag, or a device on which something of the run stands.
    fn is_ours(&mut self, action: &Action) -> bool {
        let tag = self.tag.clone();
        let ours = |text: &str| layers::is_of_run(text, &tag);
        match action {
            Action::RemoveNodes { nodes } => nodes.iter().all(|node| ours(node)),
            Action::Unmount { directory, .. } => ours(directory),
            Action::Wipe { device, .. } => {
                self.executor.resolve(device).is_ok_and(|device| ours(&device))
            }
            Action::Untrace { instance } => ours(instance),
            Action::Write { .. } | Action::Wait { .. } => {
                let shown = self.shown(action);
                // What the kernel named is the run's while its identity is.
                let left = self.executor.leftovers(&tag);
                ours(&shown) || left.iter().any(|thing| names(&shown, last_word(thing)))
            }
            Action::Command { argv, .. } => {
                let words: Option<Vec<_>> =
                    argv.iter().map(|word| self.executor.resolve(word).ok()).collect();
                let Some(words) = words else { return false };
                let executor = &mut self.executor;
                let mut objects =
                    words.iter().skip(1).filter(|word| word.contains(['/', '_'])).peekable();
                objects.peek().is_some()
                    && objects.all(|word| ours(word) || executor.bears(word, &tag))
            }
            _ => false,
        }
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
        let ours = self.executor.has_value(&of, &value);
        if ours {
            self.attributes.insert(of.show(), (of, value));
        }
        ours
    }

    /// Returns what is there, and what takes it down.
    pub fn remains(&mut self) -> Remains {
        let found = self.found();
        let (above, below) = self.removals();
        let layers = self.due(&found);
        let layers = layers.iter().flat_map(|owed| &owed.actions).map(|action| self.shown(action));
        let shown =
            |removal: &Removal| removal.actions.iter().map(Action::show).collect::<Vec<_>>();
        let mut commands: Vec<_> = above.iter().flat_map(shown).collect();
        commands.extend(layers);
        for removal in below {
            if !commands.iter().any(|command| names(command, &removal.name)) {
                commands.extend(shown(&removal));
            }
        }
        // What several steps would undo is shown once.
        let mut once = BTreeSet::new();
        commands.retain(|command| once.insert(command.clone()));
        let unseen = self.unseen.iter().cloned().collect();
        Remains { found, commands, left_alone: self.left_alone.clone(), unseen }
    }

    /// The owed undos whose objects are among `found`, those of devices under them included.
    fn due(&self, found: &[String]) -> Vec<Owed> {
        let there = |action: &&Action| {
            let shown = self.shown(action);
            let found = found.iter().map(|thing| last_word(thing));
            !layers::is_of_run(&shown, &self.tag)
                || found.into_iter().any(|name| names(&shown, name))
        };
        let due = |owed: &Owed| Owed {
            actions: owed.actions.iter().filter(there).cloned().collect(),
            ..owed.clone()
        };
        if found.is_empty() { Vec::new() } else { self.owed.iter().map(due).collect() }
    }

    /// Returns what goes before the layers, and what after them.
    fn removals(&mut self) -> (Vec<Removal>, Vec<Removal>) {
        self.executor.removals(&self.tag).into_iter().partition(|removal| removal.above)
    }

    /// Takes everything down, writes what was done into the transcript of the result, and gives what is still there.
    pub fn take_down(&mut self, sink: &mut dyn Sink) -> Result<Vec<String>, RunError> {
        let (above, _) = self.removals();
        self.remove(&above, sink)?;
        let found = self.found();
        for owed in self.due(&found) {
            self.executor.owe(&owed.about, &owed.actions, owed.deadline_s);
            self.executor.undo_all();
            self.write(Some(owed.cell), sink)?;
        }
        for _ in 0..ROUNDS {
            let (above, below) = self.removals();
            // Under what is still mounted nothing can go.
            if !above.is_empty() || below.is_empty() {
                break;
            }
            self.remove(&below, sink)?;
        }
        let left = self.found();
        let error = (!left.is_empty()).then(|| format!("still there: {}", left.join(", ")));
        let (about, action) = (CLEANED.to_owned(), "fathom clean".to_owned());
        append_transcript(
            sink,
            &TranscriptEntry { about, action, undo: true, error, ..Default::default() },
        )?;
        Ok(left)
    }

    /// Files that keep directories of the run from being removed: they were written there while nothing was mounted.
    pub fn in_directories(&mut self) -> Vec<String> {
        self.executor.in_directories(&self.tag)
    }

    fn remove(&mut self, removals: &[Removal], sink: &mut dyn Sink) -> Result<(), RunError> {
        for removal in removals {
            self.executor.owe(&removal.what, &removal.actions, DEADLINE_S);
            self.executor.undo_all();
            self.write(None, sink)?;
        }
        Ok(())
    }

    fn write(&mut self, cell: Option<usize>, sink: &mut dyn Sink) -> Result<(), RunError> {
        for mut line in self.executor.take_transcript() {
            line.cell = cell;
            append_transcript(sink, &line)?;
        }
        Ok(())
    }
}

/// The steps that raise the stack of a cell, as this program's layers say it: the plan in a result names layers and settings, and no
/// command of it is executed.
fn steps(planned: &CellPlan, tag: &str) -> Vec<Step> {
    let inputs = planned.stack.iter().flat_map(|layer| layer.inputs.values().map(Offer::path));
    let devices: BTreeSet<&str> = inputs.filter(|path| path.starts_with("{device.")).collect();
    let mut steps = layers::set_up(&planned.environment);
    steps.extend(devices.into_iter().map(layers::fresh));
    for layer in &planned.stack {
        let at = Place { name: &layer.name, run_tag: tag, inputs: &layer.inputs };
        let parsed = layers::kind(&layer.kind).and_then(|kind| (kind.parse)(&layer.settings).ok());
        // A layer that this program does not know: what it made is found by the tag.
        let raised = parsed.and_then(|parsed| parsed.raise(&at).ok());
        steps.extend(raised.into_iter().flat_map(|raised| raised.up));
    }
    steps
}

/// Tells whether a change of one setting sets the other anew.
fn resets(setting: &str, other: &str) -> bool {
    layers::environment::setting(setting).is_some_and(|known| known.resets.contains(&other))
}

/// The name of something that is left, which its kind stands before.
fn last_word(thing: &str) -> &str {
    thing.rsplit(' ').next().unwrap_or(thing)
}

/// Tells whether a command names `object`, something in it, or a path through it.
fn names(command: &str, object: &str) -> bool {
    let of = |word: &str| {
        word.strip_prefix(object).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            || word.split('/').any(|part| part == object)
    };
    command.split(' ').any(of)
}

/// Returns what the placeholders in `template` stand for in `text`, where the words around them are the same.
fn bindings(template: &str, text: &str) -> BTreeMap<String, String> {
    let (template, text) = (template.split(' '), text.split(' '));
    let whole = |word: &str| Some(word.strip_prefix('{')?.strip_suffix('}')?.to_owned());
    template.zip(text).filter_map(|(word, value)| Some((whole(word)?, value.to_owned()))).collect()
}

#[cfg(test)]
mod tests;
