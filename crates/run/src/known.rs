//! Known contents of a cell's targets, from stage to stage: what one load or layout wrote is what a later one verifies.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use engine::verify::{Carried, CarriedTargets};
use plan::{Aim, CellPlan, StagePlan};
use results::model::StageData;
use serde::{Deserialize, Serialize};

use crate::reach;

/// The known contents in one cell.
pub(crate) struct KnownInCell {
    carried: Carried,
    /// The stage from which on nothing is tracked, since no later stage verifies anything.
    end: usize,
    /// The layers that each layer shares bytes with; `None` where that is not known, so that each is taken to share them with all.
    share: Option<BTreeMap<String, BTreeSet<String>>>,
    /// The layer of each target that a load drove.
    layers: BTreeMap<String, String>,
    /// Targets that were written since the stack was brought to rest.
    unflushed: BTreeSet<String>,
    /// State files, which replace `carried` for a cell that continues on another machine.
    kept: Option<KeptFiles>,
}

/// State files, one for each set of targets that were driven together.
struct KeptFiles {
    folder: PathBuf,
    /// The number of the file of each set of targets, and whether another machine wrote it, where the targets were other devices.
    files_of: BTreeMap<Vec<String>, (usize, bool)>,
    /// The number of the next file.
    next: usize,
}

/// Returns a folder for this cell alone, usually in the machine's memory.
fn folder(run_tag: &str) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("fathom_{run_tag}_known_{}_{number}", std::process::id());
    std::env::temp_dir().join(name)
}

impl Drop for KeptFiles {
    fn drop(&mut self) {
        // The folder may never have been made.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl KeptFiles {
    fn path(&self, number: usize) -> PathBuf {
        self.folder.join(number.to_string())
    }

    /// Notes something in all files, and forgets those in which it cannot be noted.
    fn note(&mut self, note: impl Fn(&Path) -> io::Result<()>) {
        let Self { folder, files_of, .. } = self;
        files_of.retain(|_, (number, _)| note(&folder.join(number.to_string())).is_ok());
    }

    /// Forgets the sets that hold a target for which `meant` is true.
    fn forget(&mut self, meant: impl Fn(&str) -> bool) {
        let mut gone = Vec::new();
        self.files_of.retain(|names, (number, _)| {
            let goes = names.iter().any(|name| meant(name));
            gone.extend(goes.then_some(*number));
            !goes
        });
        // A file that cannot be removed does no harm: no set has its number any more.
        gone.into_iter().for_each(|number| drop(std::fs::remove_file(self.path(number))));
    }

    /// The file of a load's targets. If the load writes, other sets with one of the targets are forgotten.
    fn targets(&mut self, names: Vec<String>, writes: bool) -> KnownTargets {
        if writes {
            let others = self.files_of.keys().filter(|set| **set != names).flatten();
            let shared: BTreeSet<_> = others.filter(|name| names.contains(name)).cloned().collect();
            let known = self.files_of.remove(&names);
            self.forget(|name| shared.contains(name));
            self.files_of.extend(known.map(|known| (names.clone(), known)));
        }
        let (number, of_another) = *self.files_of.entry(names).or_insert_with(|| {
            self.next += 1;
            (self.next, false)
        });
        KnownTargets::Kept { state: self.path(number), of_another }
    }
}

/// Known contents of the targets of one load.
pub(crate) enum KnownTargets {
    /// In memory.
    Carried(CarriedTargets),
    /// In a state file; `of_another`: written on another machine.
    Kept {
        /// Its path.
        state: PathBuf,
        of_another: bool,
    },
}

/// The known contents of a cell as a value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownState {
    layers: BTreeMap<String, String>,
    unflushed: BTreeSet<String>,
    /// Sets of targets, each with its state file.
    files: Vec<(Vec<String>, Vec<u8>)>,
}

impl KnownInCell {
    /// Begins with nothing known, for `cell` of the run with this tag.
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
            kept: cell.stages.iter().any(StagePlan::reboots).then(|| KeptFiles {
                folder: folder(run_tag),
                files_of: BTreeMap::new(),
                next: 0,
            }),
        }
    }

    /// Returns the known contents as a value.
    pub(crate) fn state(&self) -> KnownState {
        self.later()()
    }

    /// Returns a function that makes the value later, with the contents that the files have by then.
    pub(crate) fn later(&self) -> impl FnOnce() -> KnownState + Send + 'static + use<> {
        let path = |(names, (number, _)): (&Vec<String>, &(usize, bool))| {
            Some((names.clone(), self.kept.as_ref()?.path(*number)))
        };
        let paths: Vec<_> =
            self.kept.iter().flat_map(|kept| &kept.files_of).filter_map(path).collect();
        let (layers, unflushed) = (self.layers.clone(), self.unflushed.clone());
        move || {
            let file = |(names, path)| Some((names, std::fs::read(path).ok()?));
            KnownState { layers, unflushed, files: paths.into_iter().filter_map(file).collect() }
        }
    }

    /// Takes over what another machine knew.
    pub(crate) fn take_over(&mut self, known: KnownState) {
        self.layers.extend(known.layers);
        self.unflushed.extend(known.unflushed);
        let Some(kept) = &mut self.kept else { return };
        for (names, bytes) in known.files {
            kept.next += 1;
            let there = std::fs::create_dir_all(&kept.folder);
            // If the file cannot be written, nothing is known of these targets; the load that should verify them says so.
            if there.and_then(|()| std::fs::write(kept.path(kept.next), bytes)).is_ok() {
                kept.files_of.insert(names, (kept.next, true));
            }
        }
    }

    /// The targets of a load that drives `aims` in a stage; `None` where no later stage will ask what it wrote.
    pub(crate) fn targets(
        &mut self,
        (number, stage): (usize, &StagePlan),
        aims: &[Aim],
    ) -> Option<KnownTargets> {
        let spec = stage.driven()?;
        if number >= self.end || !(spec.writes() || spec.is_verified()) {
            return None;
        }
        // A load drives the top of the stack, so it changes no other target.
        let mut names = Vec::new();
        for aim in aims {
            for (path, _) in aim.paths() {
                self.layers.insert(path.clone(), aim.target.name.clone());
                names.push(path);
            }
        }
        if spec.writes() && !spec.is_each_write_durable() {
            self.unflushed.extend(names.iter().cloned());
        }
        let Some(kept) = &mut self.kept else {
            return Some(KnownTargets::Carried(self.carried.targets(names)));
        };
        std::fs::create_dir_all(&kept.folder).ok()?;
        Some(kept.targets(names, spec.writes()))
    }

    /// The stack was brought to rest: what was written is in stable storage.
    pub(crate) fn note_flushed(&mut self) {
        self.unflushed.clear();
        if let Some(kept) = &mut self.kept {
            kept.note(engine::verify::note_flushed);
        }
    }

    /// Notes that something other than a load works on the target of `stage`. If it writes other data, nothing on the target is known any more,
    /// except the files of a layout, which nobody but Fathom should write. An action may lose what was not flushed.
    pub(crate) fn worked_on(&mut self, stage: &StagePlan) {
        let target = stage.target.name.as_str();
        let files = stage.target.offer.is_directory();
        if matches!(stage.traits.data, StageData::Foreign | StageData::Unknown) {
            self.forget(target, |_, layer| !files || layer != target);
        }
        if stage.loses {
            match &mut self.kept {
                // A state file knows which places were written since.
                Some(kept) => kept.note(engine::verify::note_lost),
                None => {
                    let unflushed = self.unflushed.clone();
                    self.forget(target, |name, _| unflushed.contains(name));
                }
            }
        }
    }

    /// Forgets the targets that share bytes with the layer `written` and for whose name and layer `meant` is true.
    fn forget(&mut self, written: &str, meant: impl Fn(&str, &str) -> bool) {
        let all = self.share.as_ref().and_then(|share| share.get(written));
        let shares = |layer: &String| all.is_none_or(|all| all.contains(layer));
        let is_gone = |name: &str| {
            self.layers.get(name).is_none_or(|layer| shares(layer) && meant(name, layer))
        };
        self.carried.forget(is_gone);
        if let Some(kept) = &mut self.kept {
            kept.forget(is_gone);
        }
    }
}

#[cfg(test)]
mod tests;
