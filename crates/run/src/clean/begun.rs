//! Steps of a cell that had begun when its run ended, and what of their undo was not done, as the transcript tells.

use std::collections::{BTreeMap, BTreeSet};

use host::Executor;
use layers::step::{Action, Step};
use layers::{Offer, Place};
use plan::CellPlan;
use results::TranscriptEntry;
use results::read::{CellData, ResultSet};

/// A step that had begun, or one that left no line in the transcript and may have begun.
pub(super) struct Begun {
    /// Tells whether it had begun.
    pub(super) is_sure: bool,
    /// Its number in the plan of the cell; `None` where the transcript has no numbers of this program's steps.
    pub(super) number: Option<usize>,
    pub(super) step: Step,
    /// Actions of its undo that were not done, each with its number in the undo.
    pub(super) remaining: Vec<(usize, Action)>,
    /// Wipes that were done, after which lines of a later attempt may be lost: the mark tells.
    pub(super) done: Vec<(usize, Action)>,
}

impl Begun {
    /// Reads the steps that one cell began, in their order, and gives the executor their names and no others.
    pub(super) fn of(
        result: &ResultSet,
        data: &CellData,
        planned: &CellPlan,
        executor: &mut Executor,
    ) -> Vec<Self> {
        let cell = Some(planned.index);
        let lines: Vec<_> = result.transcript.iter().filter(|line| line.cell == cell).collect();
        // A cell that ran again after a resume has the lines of earlier attempts too: only those of the last attempt count.
        let begins = |pair: &[&TranscriptEntry]| pair[0].undo && !pair[1].undo;
        let lines = &lines[lines.windows(2).rposition(begins).map_or(0, |at| at + 1)..];
        let steps = steps(planned, &result.manifest.run_id);
        executor.forget_names();
        // Before there were numbers, lines had none.
        let is_of_before = !lines.is_empty() && lines.iter().all(|line| line.step.is_none());
        match numbers(&steps, planned).filter(|_| !is_of_before) {
            Some(numbers) => {
                let steps = numbers.into_iter().zip(steps);
                by_number((steps, planned.up.len()), lines, data.state().is_final(), executor)
            }
            None => by_text(steps, lines, data.state().is_final(), executor),
        }
    }
}

/// Returns the numbers that `steps` have in the plan of the cell; `None` if one is not in it, as in a plan of another version.
pub(super) fn numbers(steps: &[Step], planned: &CellPlan) -> Option<Vec<usize>> {
    let mut up = planned.up.iter().enumerate();
    steps.iter().map(|step| Some(up.find(|(_, planned)| *planned == step)?.0)).collect()
}

/// Finds begun steps, and what was undone of them, by their numbers.
fn by_number(
    (steps, all): (impl Iterator<Item = (usize, Step)>, usize),
    lines: &[&TranscriptEntry],
    ended: bool,
    executor: &mut Executor,
) -> Vec<Begun> {
    for (name, value) in lines.iter().flat_map(|line| &line.bound) {
        // An attempt that went on after a kill found the values that the killed one had set.
        let is_known = executor.resolve(&format!("{{{name}}}")).is_ok();
        if !(name.starts_with("before.") && is_known) {
            executor.bind(name, value);
        }
    }
    // A step with an undo in the transcript had begun, even if a kill kept the line of the step itself from being written.
    let mut begun: BTreeSet<usize> =
        lines.iter().filter_map(|line| line.step.filter(|&step| step < all)).collect();
    // Steps are executed in order: those before the last had begun, even if their lines are lost. The step that a kill hit has no line.
    let last = begun.last().copied();
    begun.extend(last.into_iter().flat_map(|last| 0..last));
    let hit = last.map(|last| last + 1);
    begun.extend(hit.filter(|_| !ended && !lines.iter().any(|line| line.undo)));
    let undone = lines.iter().filter(|line| line.undo && line.error.is_none());
    let undone: BTreeSet<_> = undone.filter_map(|line| line.step.zip(line.part)).collect();
    let with_remaining = |(number, step): (usize, Step)| {
        let parts = step.undo.iter().cloned().enumerate();
        // The transcript may be cut: whatever carries the run's mark was made by it.
        let marks = |action: &Action| !ended && is_marked(action);
        let parts = parts.filter(|(_, action)| begun.contains(&number) || marks(action));
        let (done, remaining): (Vec<_>, Vec<_>) =
            parts.partition(|(part, _)| undone.contains(&(number, *part)));
        let done = done.into_iter().filter(|(_, action)| marks(action)).collect();
        Begun { is_sure: begun.contains(&number), number: Some(number), step, remaining, done }
    };
    steps.map(with_remaining).collect()
}

/// Finds the same in a result without step numbers, or whose steps are not those of this program: begun steps by the order of their purposes,
/// undone actions by their texts.
fn by_text(
    mut steps: Vec<Step>,
    lines: &[&TranscriptEntry],
    ended: bool,
    executor: &mut Executor,
) -> Vec<Begun> {
    let mut begun = 0;
    for line in lines.iter().filter(|line| !line.undo) {
        let Some(step) = steps.get(begun).filter(|step| step.about == line.about) else {
            continue;
        };
        let mut bound = bindings(&step.action.show(), &line.action);
        if let Action::Bind { .. } = step.action {
            let read =
                |line: &str| Some(line.split_once(" = ")?).map(|(n, v)| (n.into(), v.into()));
            bound.extend(line.stdout.lines().filter_map(read));
        }
        bound.iter().for_each(|(name, value)| executor.bind(name, value));
        begun += 1;
    }
    // The step that a kill hit is not in the transcript.
    let rest = steps.split_off(steps.len().min(begun + usize::from(begun > 0 && !ended)));
    // The transcript has undone actions with the names that were bound at that time.
    let undone = lines.iter().filter(|line| line.undo && line.error.is_none());
    let undone: BTreeSet<&str> = undone.map(|line| line.action.as_str()).collect();
    let is_left = |action: &Action| {
        let shown = action.show();
        !undone.contains(executor.resolve(&shown).unwrap_or(shown).as_str())
    };
    let with_remaining = |step: Step| {
        let parts = step.undo.iter().cloned().enumerate();
        Begun {
            is_sure: true,
            number: None,
            remaining: parts.filter(|(_, action)| is_left(action)).collect(),
            done: Vec::new(),
            step,
        }
    };
    let may_be = |step: Step| {
        let parts = step.undo.iter().cloned().enumerate();
        let remaining = parts.filter(|(_, action)| !ended && is_marked(action)).collect();
        Begun { is_sure: false, number: None, remaining, done: Vec::new(), step }
    };
    steps.into_iter().map(with_remaining).chain(rest.into_iter().map(may_be)).collect()
}

/// Tells whether an action wipes a device that carries a mark of the run.
fn is_marked(action: &Action) -> bool {
    matches!(action, Action::Wipe { mark: Some(_), .. })
}

/// The steps that raise the stack of a cell, as this program's layers say it: the plan in a result names layers and settings, and no
/// command of it is executed.
pub(super) fn steps(planned: &CellPlan, tag: &str) -> Vec<Step> {
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

/// Returns what the placeholders in `template` stand for in `text`, where the words around them are the same.
fn bindings(template: &str, text: &str) -> BTreeMap<String, String> {
    let (template, text) = (template.split(' '), text.split(' '));
    let whole = |word: &str| Some(word.strip_prefix('{')?.strip_suffix('}')?.to_owned());
    template.zip(text).filter_map(|(word, value)| Some((whole(word)?, value.to_owned()))).collect()
}

/// Returns the nodes of devices that the lines of a transcript tell, by the names that devices have in braces; later lines come before earlier ones.
pub(super) fn nodes(lines: &[TranscriptEntry]) -> BTreeMap<String, String> {
    let bound = lines.iter().flat_map(|line| &line.bound);
    let of_devices = bound.filter(|(name, _)| name.starts_with("device."));
    of_devices.map(|(name, node)| (name.clone(), node.clone())).collect()
}
