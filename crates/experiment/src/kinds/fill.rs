//! `do = "fill"`: a load that goes on until a figure of a layer has been reached.

mod goal;

use results::model::StageData;
use toml::Spanned;
use units::{Bytes, Key, Nanos, key};
use workload::{LoadSpec, OpName, Ops, Pattern, Verify};

use crate::kinds::layout;
use crate::kinds::targets::{self, WrittenTarget};
use crate::stages::{KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Places, Table};
use crate::written::load;
use goal::{Goal, ROUND};
use plan::{Aim, FillPlan, Rounds, StagePlan, Task};

pub(crate) const KIND: StageKind = StageKind {
    facts: KindFacts {
        instead: Some("the load that follows"),
        ..KindFacts::new("fill", "A fill", WorksOn::Rounds, StageData::Rounds)
    },
    read: |table, around| Ok(Box::new(Fill::read(table, around.file)?)),
};

const BY: Key = key(
    "by",
    "keys of a load, without a key that ends it; by default it writes in order",
    "{ ops = { randread = 100 }, depth = 8 }",
);
/// Parts of the range that a load in order fills, one in each round.
const PARTS: u64 = 64;
/// The smallest part, bytes.
const SMALLEST_PART: u64 = 16 << 20;
/// Default block size of writes in order.
const USUAL_BLOCK: Bytes = Bytes(Bytes::MIB);

/// A fill as written.
#[derive(Clone)]
pub(crate) struct Fill {
    goal: Goal,
    /// The load of one round.
    by: LoadSpec,
    /// Byte ranges of the keys of the load, if they are written.
    places: Option<Places>,
}

impl Fill {
    /// Default time limit of a fill.
    const USUAL_DEADLINE: Nanos = Nanos::from_secs(30 * 60);
    /// Time of a fill that an estimate assumes, since nobody knows it beforehand.
    const ASSUMED: Nanos = Nanos::from_secs(60);

    /// Reads the keys that are left.
    fn read(mut table: Table, file: &str) -> Result<Self, Diagnostic> {
        let goal = Goal::read(&mut table)?;
        let by = table.table(&BY, "The load of a fill")?;
        let at = table.at();
        table.finish()?;
        let Some(by) = by else {
            if goal.is_level() {
                return Ok(Self { goal, by: in_order(), places: None });
            }
            let message = format!("A fill has no key '{}', which it needs", BY.name);
            return Err(Diagnostic::at(at, message, format!("add it: {}", BY.help(BY.name))));
        };
        let places = by.places();
        let by = load_of(by, &places, file)?;
        Ok(Self { goal, by, places: Some(places) })
    }

    /// Reads the load of a fill, if one is written; [`Fill::until`] sets its goal.
    pub(crate) fn read_by(table: &mut Table, file: &str) -> Result<Option<Self>, Diagnostic> {
        let Some(by) = table.table(&BY, "The load of a state")? else { return Ok(None) };
        let places = by.places();
        let by = load_of(by, &places, file)?;
        Ok(Some(Self { goal: Goal::open_ended(), by, places: Some(places) }))
    }

    /// The load that a kind of layer declares for a state, as TOML.
    pub(crate) fn of_state(load: &str, state: &Spanned<String>) -> Result<Self, Diagnostic> {
        let by = toml::from_str(load).map_err(|error| {
            let message = format!("The load of the state '{}' cannot be read", state.get_ref());
            Diagnostic::at(state.span(), message, error.to_string())
        })?;
        Ok(Self { goal: Goal::open_ended(), by, places: None })
    }

    /// Sets the goal: a value of a layer's metric.
    pub(crate) fn until(self, layer: &str, metric: &str, at_least: f64) -> Self {
        let (layer, metric) = (layer.to_owned(), metric.to_owned());
        Self { goal: Goal::Value { layer, metric, at_least }, ..self }
    }

    /// Returns the places of the load's keys, or, where no load is written, those of the keys of the `stage`.
    fn places<'a>(&'a self, stage: &'a Places) -> &'a Places {
        self.places.as_ref().unwrap_or(stage)
    }

    /// Plans the fill on this stack, with its targets.
    fn on_stack(
        &self,
        stage: &StageHead,
        on: &Planner,
    ) -> Result<(FillPlan, Vec<Aim>), Diagnostic> {
        let stack = &on.stack;
        let reached = self.goal.plan(stage, stack)?;
        let directory = matches!(targets::of(stage, stack)?.offer, layers::Offer::Directory { .. });
        let (aims, rounds) = if directory && !matches!(stage.target, WrittenTarget::Files(..)) {
            let target = targets::directory(stage, stack)?;
            let size = part(target.offer.bytes(), &self.by);
            if !sequential(&self.by) || !self.by.ops.names().all(OpName::is_write) {
                return Err(self.disordered(stage, &reached.layer));
            }
            (vec![layout::one_file(stage, target, size)?], Rounds::Files(size))
        } else {
            let aims = on.aims(stage)?;
            let rounds = match (&aims[..], sequential(&self.by)) {
                (_, false) => Rounds::Time(ROUND),
                ([aim], true) if aim.files.is_none() => parts(aim.bytes(), &self.by),
                (_, true) => {
                    let message = "A fill in order has one block device, and this one has several targets or files";
                    let help = "add pattern = \"permutation\" or \"random\" to by";
                    return Err(Diagnostic::at(
                        self.places(&stage.places).at("ops"),
                        message,
                        help,
                    ));
                }
            };
            (aims, rounds)
        };
        // A round goes on where the one before ended, so its range is in bytes.
        let by = match (&rounds, &aims[..]) {
            (Rounds::Parts { .. }, [aim]) => self.by.clone().in_bytes(aim.bytes()),
            _ => self.by.clone(),
        };
        Ok((FillPlan { by: Box::new(by), rounds, ..reached }, aims))
    }

    /// Refuses a load that does not write new files in order: only such a load fills the file system that stands over `layer`.
    fn disordered(&self, stage: &StageHead, layer: &str) -> Diagnostic {
        let in_order = "by = { ops = { write = 100 } }";
        let Some(places) = &self.places else {
            let message = format!(
                "'{layer}' cannot be brought to this state through a file system: its usual load works at random, and new files are written in order"
            );
            let help = format!("put no file system over it, or write {in_order}");
            return Diagnostic::at(stage.places.at("is"), message, help);
        };
        let message =
            "A fill of a file system writes new files in order, and this load does something else";
        let help = format!(
            "leave 'by' out, or write {in_order}; for files that are there: files = \"...\""
        );
        Diagnostic::at(places.at("ops"), message, help)
    }
}

impl StageTask for Fill {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let (task, aims) = self.on_stack(stage, on)?;
        let by = StageHead { places: self.places(&stage.places).clone(), ..stage.clone() };
        let deadline = stage.deadline.unwrap_or(Self::USUAL_DEADLINE);
        let first = by.driving(&task.first_round(), aims)?;
        on.running.check_filled_parts(&task.layer, stage)?;
        Ok(vec![StagePlan {
            task: Task::Fill(task),
            ios: None,
            bytes: None,
            about: Self::ASSUMED.min(deadline),
            deadline: Some(deadline),
            ..first
        }])
    }

    fn loads_mut(&mut self) -> Vec<&mut LoadSpec> {
        vec![&mut self.by]
    }
}

/// Writes of all of the target, in order.
fn in_order() -> LoadSpec {
    LoadSpec {
        ops: Ops::only(OpName::Write),
        block_size: USUAL_BLOCK.into(),
        depth: 8,
        ..LoadSpec::default()
    }
}

/// Tells whether a load works in order, alone.
fn sequential(by: &LoadSpec) -> bool {
    let mut placed = by.ops.names().filter(|op| op.has_place()).peekable();
    placed.peek().is_some() && placed.all(|op| matches!(by.pattern_of(op), Pattern::Sequential))
}

/// One part of `bytes`, whole blocks of the load.
fn part(bytes: u64, by: &LoadSpec) -> Bytes {
    let block = by.largest_io().0.max(1);
    Bytes((bytes / PARTS).max(SMALLEST_PART).min(bytes.max(block)).div_ceil(block) * block)
}

/// The parts of a device of `bytes` that a load in order fills.
fn parts(bytes: u64, by: &LoadSpec) -> Rounds {
    let block = by.largest_io().0.max(1);
    let (start, size) = by.range_in(bytes);
    let room = bytes.saturating_sub(start);
    let range = size.map_or(room, |size| size.min(room)) / block * block;
    let part = part(range, by);
    let count = u32::try_from(range.div_ceil(part.0.max(1))).unwrap_or(u32::MAX);
    Rounds::Parts { bytes: part, count }
}

/// The load of one round.
fn load_of(mut table: Table, places: &Places, file: &str) -> Result<LoadSpec, Diagnostic> {
    table.is("The load of a fill");
    let mut spec: LoadSpec = table.read(LoadSpec::key)?;
    let ends = [
        ("duration", spec.duration.is_some()),
        ("bytes", spec.bytes.is_some()),
        ("ios", spec.ios.is_some()),
        ("passes", spec.passes.is_some()),
        ("steady", spec.steady.is_some()),
    ];
    if let Some((key, _)) = ends.into_iter().find(|(_, written)| *written) {
        let message = format!("The load of a fill has no '{key}': 'until' or 'to' ends it");
        let help = "remove it; 'deadline' of the fill bounds its time";
        return Err(Diagnostic::at(places.at(key), message, help));
    }
    let alien = [("ramp", spec.ramp.is_some()), ("verify", spec.verify != Verify::Off)];
    if let Some((key, _)) = alien.into_iter().find(|(_, written)| *written) {
        let message = format!("The load of a fill has no '{key}': nothing of it is measured");
        return Err(Diagnostic::at(places.at(key), message, "remove it"));
    }
    // Only if one job does all in order does a round continue where the one before ended; in other orders each would start at the beginning.
    let ordered = spec.ops.names().filter(|op| op.has_place()).find(|op| {
        use Pattern::{Interleaved, Sequential, Strided};
        matches!(spec.pattern_of(*op), Sequential | Interleaved { .. } | Strided { .. })
    });
    if let Some(op) = ordered.filter(|_| !sequential(&spec) || spec.jobs > 1) {
        let pattern = spec.pattern_of(op);
        let message = format!(
            "A fill cannot use '{op}' in the pattern {pattern} here: it works in rounds, and each would begin at the same place"
        );
        let help = "let one job do all in order (jobs = 1), or add pattern = \"permutation\" or \"random\"";
        let key = if spec.pattern.is_some() { "pattern" } else { "ops" };
        return Err(Diagnostic::at(places.at(key), message, help));
    }
    spec.duration = Some(ROUND);
    let mut spec = load::checked(spec, places, file)?;
    spec.duration = None;
    Ok(spec)
}
