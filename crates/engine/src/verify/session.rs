//! The verification of one load: it opens the state file, makes the verifier, plans the pass after the load, and saves the state.
//!
//! Call `verifier` before the load and `ended` after it; `pass_after` returns the load that reads everything once, and `finish` puts the figures into
//! the summary and the state into its file.

use std::collections::BTreeMap;
use std::sync::Arc;

use results::model::{LoadSummary, OperationSummary, VerifyFigures};
use units::Bytes;
use units::show::grouped;
use workload::{LoadSpec, OpName, Ops, Range, Verify};

use super::carried::{CarriedTargets, TakenTargets};
use super::computed::Computed;
use super::expectations::Need;
use super::header::Header;
use super::known_contents::{BlockContents, KnownContents};
use super::refine::PastLoad;
use super::replay::{Replay, TargetLoad};
use super::state::{self, SavedState};
use super::table::Promises;
use super::target_facts::TargetFacts;
use super::verifier::Verifier;
use super::write_ahead;
use super::written_load::{self, WrittenLoad};
use crate::error::EngineError;
use crate::load::Load;
use crate::resolved_load::ResolvedLoad;

/// The largest read of the pass after a load, bytes.
const READ: u64 = 128 << 10;

/// Most wrong blocks that are described in sentences.
const IN_WORDS: usize = 5;

/// The verification of a load and of the pass after it, with everything that is passed on to the state file or to later loads.
#[derive(Default)]
pub(crate) struct Session {
    verifier: Option<Arc<Verifier>>,
    header: Header,
    /// The targets, where knowledge about them is carried from load to load.
    taken: Option<TakenTargets>,
    /// This load's part on each target, for its replay.
    target_loads: Vec<TargetLoad>,
    notices: Vec<String>,
}

/// Tells whether the reads of a load are checked while it runs.
pub(crate) fn checks(spec: &LoadSpec) -> bool {
    matches!(spec.verify, Verify::Read | Verify::Both)
}

fn changes(spec: &LoadSpec) -> bool {
    spec.ops.names().any(|op| op.changes())
}

fn checks_after(spec: &LoadSpec) -> bool {
    matches!(spec.verify, Verify::After | Verify::Both)
}

/// Tells whether `load` needs a verifier.
pub(crate) fn wanted(load: &Load) -> bool {
    let kept = load.verification.state.is_some() || load.verification.carried.is_some();
    load.spec.verify != Verify::Off || kept
}

impl Session {
    /// The verifier of `load`, made at the first call; `None` if the load is not to be verified.
    pub(crate) fn verifier(
        &mut self,
        load: &Load,
        facts: &[TargetFacts],
        resolved: &ResolvedLoad,
    ) -> Result<Option<Arc<Verifier>>, EngineError> {
        if !wanted(load) || facts.is_empty() {
            return Ok(None);
        }
        if let Some(verifier) = &self.verifier {
            return Ok(Some(Arc::clone(verifier)));
        }
        let unit = unit(&load.spec, &resolved.ranges);
        if unit.is_none() && load.spec.verify != Verify::Off {
            let text = "Blocks that I/Os cover in part are not verified: use block sizes, offset and alignment that are multiples of the content's block";
            self.notices.push(text.into());
        }
        let unit = unit.unwrap_or_else(|| load.spec.content.unit());
        self.target_loads = resolved.target_loads(load);
        let contents =
            resolved.contents.iter().map(|c| Arc::new(c.clone()) as Arc<dyn BlockContents>);
        let contents: Vec<_> = contents.collect();
        let verifier = match &load.verification.carried {
            Some(targets) => Arc::new(self.carried_verifier(load, targets, facts, unit, contents)?),
            None => self.saved_verifier(load, facts, unit, (contents, &resolved.ranges))?,
        };
        verifier.take_made();
        self.verifier = Some(Arc::clone(&verifier));
        Ok(Some(verifier))
    }

    /// Returns a verifier with what earlier loads recorded about this load's targets.
    fn carried_verifier(
        &mut self,
        load: &Load,
        targets: &CarriedTargets,
        facts: &[TargetFacts],
        unit: usize,
        contents: Vec<Arc<dyn BlockContents>>,
    ) -> Result<Verifier, EngineError> {
        let changes = changes(&load.spec);
        let (taken, tables) = targets.take(facts, (unit, changes), contents);
        let need = match changes {
            false => Need::Reads,
            true if self.follows(load, unit) => Need::OnePass,
            true => Need::Anything,
        };
        let tables = taken.ready(tables, facts, (load.verification.width, need))?;
        let verifier = Verifier::of(tables, taken.unit(), KnownContents::new(taken.contents()));
        self.taken = Some(taken);
        Ok(verifier)
    }

    /// A verifier that knows what is in the state file, if there is one; `contents` are those of the load.
    fn saved_verifier(
        &mut self,
        load: &Load,
        facts: &[TargetFacts],
        unit: usize,
        (contents, ranges): (Vec<Arc<dyn BlockContents>>, &[Range]),
    ) -> Result<Arc<Verifier>, EngineError> {
        self.header = Header::of(load, unit, facts, ranges);
        let saved = match &load.verification.state {
            Some(path) => SavedState::open(path, &self.header, load.verification.state_of_another)?,
            None => None,
        };
        let earlier = saved.iter().flat_map(|saved| saved.known_contents.iter().cloned());
        let known_contents = KnownContents::new(contents.into_iter().chain(earlier).collect());
        let width = load.verification.width;
        let computed = self.computed(load, facts, unit, saved.as_ref());
        let verifier = Arc::new(match computed {
            Some(computed) => Verifier::computed(computed, unit, width, known_contents),
            None => {
                let targets: Vec<_> = facts.iter().map(|g| (g.size.0, g.promises)).collect();
                let make = if changes(&load.spec) { Verifier::new } else { Verifier::still };
                make(&targets, unit, width, known_contents)?
            }
        });
        if let Some(saved) = saved {
            self.notices.extend(saved.notices(&self.header));
            self.header.take_earlier(&saved.header);
            if !changes(&load.spec) {
                // The contents of another target were only compared, not written: the state still belongs to the target that it was for.
                self.header.identities.clone_from(&saved.header.identities);
            }
            if let Some(path) = &load.verification.state {
                saved.restore(&verifier, path)?;
            }
        }
        if let Some(path) = load.verification.state.as_ref().filter(|_| changes(&load.spec)) {
            // Done before the first write: a load that is killed must not leave a state that no longer holds.
            write_ahead::record_begin(path, &self.header, ranges)?;
        }
        Ok(verifier)
    }

    /// Tells whether this load's counts determine everything that it writes, and it writes no block more than once.
    fn follows(&self, load: &Load, unit: usize) -> bool {
        let once = |target_load: &TargetLoad| {
            written_load::follows(&target_load.spec, unit) && WrittenLoad::is_one_pass(target_load)
        };
        Replay::of(load.seed, self.target_loads.clone()).is_some()
            && self.target_loads.iter().all(once)
    }

    /// The computed contents of each target, if all earlier writes can be inverted and this load changes no block more than once; `None` where a
    /// table is needed.
    fn computed(
        &self,
        load: &Load,
        facts: &[TargetFacts],
        unit: usize,
        saved: Option<&SavedState>,
    ) -> Option<Vec<(Promises, Computed)>> {
        if changes(&load.spec) {
            if !self.follows(load, unit) {
                return None;
            }
        } else if saved.is_none() {
            return None;
        }
        let written_loads = match saved {
            Some(saved) => saved.written_loads()?,
            None => facts.iter().map(|_| Default::default()).collect(),
        };
        let known = |(target, (earlier, others)): (&TargetFacts, _)| {
            let blocks = target.size.0 / unit as u64;
            (target.promises, Computed::new((blocks, unit), earlier, others))
        };
        Some(facts.iter().zip(written_loads).map(known).collect())
    }

    /// Notes that the load itself has ended; what follows is the pass after it.
    pub(crate) fn ended(&mut self, load: &Load) {
        let Some(verifier) = &self.verifier else { return };
        let made = verifier.take_made();
        for (target_load, made) in self.target_loads.iter_mut().zip(made) {
            target_load.made = made;
        }
        if !changes(&load.spec) {
            return;
        }
        let replay = Replay::of(load.seed, std::mem::take(&mut self.target_loads));
        if let Some(replay) = &replay {
            for (target, (area, target_load)) in
                verifier.targets.iter().zip(replay.target_loads()).enumerate()
            {
                if let Some(known) = area.table.expectations.as_computed()
                    && let Some(written_load) = WrittenLoad::of(replay, target, target_load)
                {
                    known.ended(written_load);
                }
            }
        }
        match &mut self.taken {
            Some(taken) => {
                let unit = verifier.unit() as u64;
                let sizes = verifier.targets.iter().map(|area| area.table.expectations.len());
                taken.wrote(replay, &sizes.map(|blocks| blocks as u64 * unit).collect::<Vec<_>>());
            }
            None => self.header.add_replay(replay),
        }
    }

    /// All loads that are known to have written to the targets, for identifying wrong blocks.
    fn past(&self) -> Vec<PastLoad> {
        if let Some(taken) = &self.taken {
            return taken.past();
        }
        let past = |replay: &Replay| PastLoad {
            targets: (0..replay.target_loads().len() as u32).map(Some).collect(),
            replay: Arc::new(replay.clone()),
        };
        self.header.replays.iter().flatten().map(past).collect()
    }

    /// The pass after `load` that reads all of its range once; `None` if it is not asked for.
    pub(crate) fn pass_after(&self, load: &Load) -> Option<Load> {
        let unit = self.verifier.as_ref()?.unit() as u64;
        if !checks_after(&load.spec) {
            return None;
        }
        // A size given as a share is a different number of whole blocks on each target, so such a pass reads single blocks.
        let range = load.spec.size.map_or(unit, |size| size.bytes().map_or(unit, |size| size.0));
        let block =
            if range.is_multiple_of(READ) && READ.is_multiple_of(unit) { READ } else { unit };
        let spec = LoadSpec {
            ops: Ops::only(OpName::Read),
            block_size: Bytes(block).into(),
            jobs: load.spec.jobs,
            depth: load.spec.depth.min(32),
            offset: load.spec.offset,
            size: load.spec.size,
            passes: Some(1),
            content: load.spec.content.clone(),
            direct: load.spec.direct,
            backend: load.spec.backend,
            verify: Verify::Read,
            ..LoadSpec::default()
        };
        Some(Load {
            spec,
            may_create: None,
            recording: crate::Recording::default(),
            ..load.clone()
        })
    }

    /// Puts what was found into `summary`, and what is known now into the state file, or passes it on to later loads. If nothing was checked although
    /// it should have been, or the state cannot be written, the summary says so; what was measured stays valid.
    pub(crate) fn finish(mut self, load: &Load, summary: &mut LoadSummary) {
        summary.notices.append(&mut self.notices);
        let Some(verifier) = self.verifier.take() else { return };
        if load.spec.verify != Verify::Off {
            verifier.refine(&self.past());
            let mut found = verifier.total();
            let names: Vec<_> = load.targets.iter().map(|aim| aim.target.name()).collect();
            found.first =
                found.wrong.iter().take(IN_WORDS).map(|wrong| wrong.sentence(&names)).collect();
            if found.checked == 0 && summary.ended_by != "interrupted" {
                summary.lacks(nothing_checked(&found));
            }
            if checks(&load.spec) {
                let failed = unread(&summary.operations);
                failed.into_iter().for_each(|text| summary.lacks(text));
            }
            summary.verify = Some(found);
        }
        if let Some(path) = &load.verification.state
            && let Err(error) = state::save(path, &self.header, &verifier)
        {
            let stays = if changes(&load.spec) {
                "the file there says that this load did not end, so that what it wrote is not verified later"
            } else {
                "the previous state file stays"
            };
            summary.lacks(format!("{}; {stays}; {}", sys::causes::chain(&error), error.help()));
        }
        if let Some(taken) = self.taken {
            taken.give_back(verifier);
        }
    }
}

/// Returns the notice about failed reads, whose blocks were not verified.
pub(crate) fn unread(operations: &BTreeMap<String, OperationSummary>) -> Option<String> {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, operation) in operations.iter().filter(|(name, _)| name.ends_with("read")) {
        for (kind, count) in &operation.errors {
            *kinds.entry(kind).or_default() += count;
        }
    }
    let failed: u64 = kinds.values().sum();
    let list: Vec<_> =
        kinds.iter().map(|(kind, n)| format!("{kind} {} times", grouped(*n))).collect();
    (failed > 0).then(|| {
        let list = list.join(", ");
        format!(
            "{} reads failed ({list}): the blocks that they were to read were not verified",
            grouped(failed)
        )
    })
}

/// Returns the notice about a load that should have checked blocks but checked none.
fn nothing_checked(found: &VerifyFigures) -> String {
    let why = match found.read {
        0 => "no whole block was read".to_owned(),
        read if read == found.unsure => {
            format!("all {} blocks that were read changed too often", grouped(read))
        }
        read if read == found.untouched => {
            format!("nobody had written any of the {} blocks that were read", grouped(read))
        }
        read if read == found.discarded => {
            format!(
                "all {} blocks that were read had been discarded, and what a device returns for these is not known",
                grouped(read)
            )
        }
        read => {
            let read = grouped(read);
            format!("for none of the {read} blocks that were read is the expected content known")
        }
    };
    format!(
        "Nothing was verified: {why}; only what was written before is checked: by this load, by an earlier stage of its cell, or by an earlier load with the same --verify-state"
    )
}

/// Bytes that are verified together; `None` if I/Os are not aligned to the content's blocks.
fn unit(spec: &LoadSpec, ranges: &[Range]) -> Option<usize> {
    let unit = spec.content.unit() as u64;
    let mut sizes: Vec<u64> = spec
        .ops
        .names()
        .flat_map(|op| spec.block_size_of(op).sizes().map(|size| size.0).collect::<Vec<_>>())
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let starts = |unit: u64| ranges.iter().all(|range| range.start.is_multiple_of(unit));
    if sizes.iter().all(|size| size.is_multiple_of(unit)) && starts(unit) {
        return Some(unit as usize);
    }
    match *sizes {
        [size] if unit.is_multiple_of(size) && starts(size) => Some(size as usize),
        _ => None,
    }
}
