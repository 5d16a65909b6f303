//! Known contents of targets, carried from load to load within one process: separately for each target, under a name that it keeps.
//!
//! A state file does the same across restarts, for one set of targets.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::computed::Computed;
use super::expectations::Need;
use super::expected_blocks::Width;
use super::known_contents::BlockContents;
use super::refine::PastLoad;
use super::replay::Replay;
use super::table::Table;
use super::target_facts::TargetFacts;
use super::verifier::{TargetTable, Verifier};
use super::written_load::{KEPT, covers_all};
use crate::error::EngineError;

/// The known contents of all targets, as earlier loads left them.
#[derive(Debug, Clone, Default)]
pub struct Carried(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    targets: BTreeMap<String, KnownTarget>,
    /// Number of loads that have ended.
    loads: u64,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_set().entries(self.targets.keys()).finish()
    }
}

impl Carried {
    /// Forgets the targets that something other than a load may have written.
    pub fn forget(&self, written: impl Fn(&str) -> bool) {
        self.state().targets.retain(|name, _| !written(name));
    }

    /// Returns the targets of a load by their names, in the load's order.
    pub fn targets(&self, names: Vec<String>) -> CarriedTargets {
        CarriedTargets { carried: self.clone(), names }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The targets of one load among the carried ones.
#[derive(Debug, Clone)]
pub struct CarriedTargets {
    carried: Carried,
    names: Vec<String>,
}

/// The known contents of one target while no load drives it.
struct KnownTarget {
    unit: usize,
    table: Table,
    written: Vec<WrittenOnce>,
}

/// The writes of one load to one target.
struct WrittenOnce {
    /// Number of the load, in the order of loads.
    number: u64,
    contents: Arc<dyn BlockContents>,
    /// The load, and the index of this target among its targets; `None` where it cannot be replayed.
    replay: Option<(Arc<Replay>, usize)>,
}

/// The targets of a running load. If it never gives them back, nothing is known about them any more.
pub(crate) struct TakenTargets {
    targets: CarriedTargets,
    unit: usize,
    /// For each target, the writes of loads to it, the earliest first.
    written: Vec<Vec<WrittenOnce>>,
    /// For each target, the contents of this load.
    contents_now: Vec<Arc<dyn BlockContents>>,
}

impl CarriedTargets {
    /// Takes the targets, described by `facts`, for a load with the contents `contents_now`, which `changes` them or not; also returns the table of each
    /// target about which something is known. A load that changes targets works on blocks of `unit` bytes, another one on the blocks of the loads
    /// before it.
    pub(crate) fn take(
        &self,
        facts: &[TargetFacts],
        (unit, changes): (usize, bool),
        contents_now: Vec<Arc<dyn BlockContents>>,
    ) -> (TakenTargets, Vec<Option<Table>>) {
        let mut state = self.carried.state();
        let known: Vec<_> = self.names.iter().map(|name| state.targets.remove(name)).collect();
        let before = known.iter().flatten().map(|target| target.unit).next();
        let unit = before.filter(|_| !changes).unwrap_or(unit);
        // A file that was just created is not the one that was known.
        let same = |(known, facts): (Option<KnownTarget>, &TargetFacts)| {
            known.filter(|known| known.unit == unit && !facts.promises.fresh)
        };
        let known = known.into_iter().zip(facts).map(same);
        let parts = known.map(|known| known.map(|known| (known.table, known.written)).unzip());
        let (tables, written): (Vec<_>, Vec<_>) = parts.unzip();
        let written = written.into_iter().map(Option::unwrap_or_default).collect();
        (TakenTargets { targets: self.clone(), unit, written, contents_now }, tables)
    }
}

impl TakenTargets {
    /// Bytes that are verified together.
    pub(crate) fn unit(&self) -> usize {
        self.unit
    }

    /// Contents of this load, followed by those of the loads before it.
    pub(crate) fn contents(&self) -> Vec<Arc<dyn BlockContents>> {
        let earlier = self.written.iter().flatten().map(|written| &written.contents);
        self.contents_now.iter().chain(earlier).cloned().collect()
    }

    /// The tables of the targets as a load needs them; new ones where nothing is known.
    pub(crate) fn ready(
        &self,
        tables: Vec<Option<Table>>,
        facts: &[TargetFacts],
        (width, need): (Width, Need),
    ) -> Result<Vec<TargetTable>, EngineError> {
        let each = tables.into_iter().zip(facts).zip(&self.written);
        let table = |((table, facts), written): ((Option<Table>, &TargetFacts), &Vec<_>)| {
            let blocks = facts.size.0 / self.unit as u64;
            let table = match (table, need) {
                (Some(table), _) => table.for_next_load(blocks, need, written.len())?,
                (None, Need::Reads) => Table::still(width, blocks, facts.promises)?,
                (None, Need::Anything) => Table::new(width, blocks, facts.promises)?,
                (None, Need::OnePass) => {
                    let nothing = Computed::new((blocks, self.unit), Vec::new(), HashMap::new());
                    Table::computed(width, facts.promises, nothing)
                }
            };
            Ok(TargetTable { table })
        };
        each.map(table).collect()
    }

    /// Notes that this load has written the targets, which have these sizes; `replay` repeats its writes, where that is possible.
    pub(crate) fn wrote(&mut self, replay: Option<Replay>, sizes: &[u64]) {
        let replay = replay.map(Arc::new);
        let mut state = self.targets.carried.state();
        state.loads += 1;
        let unit = self.unit as u64;
        for (place, (written, contents)) in
            self.written.iter_mut().zip(&self.contents_now).enumerate()
        {
            let replay = replay.clone().map(|replay| (replay, place));
            let (number, contents) = (state.loads, Arc::clone(contents));
            written.push(WrittenOnce { number, contents, replay });
            // Drops the loads before one that overwrote everything, except the last few: after a lost write their data may still be there.
            let all = |one: &WrittenOnce| {
                let replayed = one.replay.as_ref();
                let load = replayed.and_then(|(replay, place)| replay.target_loads().get(*place));
                load.zip(sizes.get(place)).is_some_and(|(load, &size)| covers_all(load, size, unit))
            };
            let last = written.iter().rposition(all).unwrap_or(0);
            written.drain(..last.saturating_sub(KEPT));
        }
    }

    /// All loads that wrote to the targets, the earliest first; empty where one of them cannot be replayed.
    pub(crate) fn past(&self) -> Vec<PastLoad> {
        let mut past: BTreeMap<u64, PastLoad> = BTreeMap::new();
        for (now, written) in (0..).zip(&self.written) {
            for one in written {
                let Some((replay, place)) = &one.replay else { return Vec::new() };
                let load = past.entry(one.number).or_insert_with(|| PastLoad {
                    targets: vec![None; replay.target_loads().len()],
                    replay: Arc::clone(replay),
                });
                load.targets[*place] = Some(now);
            }
        }
        past.into_values().collect()
    }

    /// Gives the targets back. An I/O that never ended may still do so; then nothing is known about the targets any more.
    pub(crate) fn give_back(self, verifier: Arc<Verifier>) {
        let Some(verifier) = Arc::into_inner(verifier) else { return };
        let mut state = self.targets.carried.state();
        let each = self.targets.names.into_iter().zip(verifier.targets).zip(self.written);
        for ((name, TargetTable { table }), written) in each {
            state.targets.insert(name, KnownTarget { unit: self.unit, table, written });
        }
    }
}
