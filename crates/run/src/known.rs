//! Known contents of a cell's targets, from stage to stage: what one load or layout wrote is what a later one verifies.

use std::collections::{BTreeMap, BTreeSet};

use engine::verify::{Carried, CarriedTargets};
use experiment::{Aim, CellPlan, StagePlan};
use results::model::StageData;

use crate::reach;

/// The known contents in one cell.
pub(crate) struct KnownInCell {
    carried: Carried,
    /// Stages before this one are followed: no later one verifies anything.
    end: usize,
    /// The layers that each shares bytes with; `None` where that is not known: then each shares them with all.
    share: Option<BTreeMap<String, BTreeSet<String>>>,
    /// The layer of each target that a load drove.
    layers: BTreeMap<String, String>,
    /// Targets that were written since the stack was brought to rest.
    unflushed: BTreeSet<String>,
}

impl KnownInCell {
    /// Nothing is known yet of `cell`, of the run with this tag.
    pub(crate) fn new(cell: &CellPlan, run_tag: &str) -> Self {
        let verifies = |stage: &StagePlan| stage.driven().is_some_and(|spec| spec.is_verified());
        let end = cell.stages.iter().rposition(verifies).map_or(0, |last| last + 1);
        let share = if end > 0 { reach::share_bytes(cell, run_tag) } else { None };
        Self {
            carried: Carried::default(),
            end,
            share,
            layers: BTreeMap::new(),
            unflushed: BTreeSet::new(),
        }
    }

    /// The targets of a load of stage number `stage`, which drives `aims`; `None` where nobody will ask what it wrote.
    pub(crate) fn targets(
        &mut self,
        (number, stage): (usize, &StagePlan),
        aims: &[Aim],
    ) -> Option<CarriedTargets> {
        let spec = stage.driven()?;
        if number >= self.end || !(spec.writes() || spec.is_verified()) {
            return None;
        }
        // Nothing stands on what a load drives, so that it changes no other target.
        let mut names = Vec::new();
        for aim in aims {
            for (path, _) in aim.paths() {
                self.layers.insert(path.clone(), aim.target.name.clone());
                names.push(path);
            }
        }
        if spec.writes() {
            self.unflushed.extend(names.iter().cloned());
        }
        Some(self.carried.targets(names))
    }

    /// The stack was brought to rest: what was written is in stable storage.
    pub(crate) fn settled(&mut self) {
        self.unflushed.clear();
    }

    /// Something else than a load works on the target of `stage`. What brings data of its own may write anywhere there; but the files of a
    /// layout are Fathom's own: who else writes to them spoils them. An action may lose what was not flushed.
    pub(crate) fn worked_on(&self, stage: &StagePlan) {
        let own = stage.target.name.as_str();
        let files = stage.target.offer.is_directory();
        if matches!(stage.traits.data, StageData::Foreign | StageData::Unknown) {
            self.forget(own, |name| !files || self.layers.get(name).is_none_or(|l| l != own));
        }
        if stage.loses {
            self.forget(own, |name| self.unflushed.contains(name));
        }
    }

    /// Forgets the targets that share bytes with the layer `written`, as far as they are `meant`.
    fn forget(&self, written: &str, meant: impl Fn(&str) -> bool) {
        let shares = |layer: &String| {
            let all = self.share.as_ref().and_then(|share| share.get(written));
            all.is_none_or(|all| all.contains(layer))
        };
        self.carried.forget(|name| self.layers.get(name).is_none_or(shares) && meant(name));
    }
}

#[cfg(test)]
mod tests;
