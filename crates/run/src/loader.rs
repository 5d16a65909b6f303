//! The drivers of a stage's load: the engine on the real target, or its twin in virtual time.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use engine::{Alike, Choice, Context, Event as LoadEvent, Load, TargetSpec};
use host::{Executor, Place};
use results::model::LoadSummary;
use sys::meant::Meant;

use crate::copier;
use crate::crash_timer::CrashTimer;
use crate::error::Cause;
use crate::known::{KnownInCell, KnownState, KnownTargets};
use crate::message::{Chosen, Message};
use crate::scene::CellContext;
use crate::tree_load;
use crate::turn::{LoadId, LoadSpan, aims, hand_in, io_log, load_of};
use crate::watch::CellSamplers;
use plan::{Aim, CellPlan, Plan, StagePlan, Task};
use units::Bytes;
use units::show::grouped;

/// Drives the load of one stage; the error says why it could not run at all.
pub(crate) trait Loader {
    fn load(
        &mut self,
        scene: &CellContext,
        plan: &CellPlan,
        turn: LoadId,
        executor: &mut Executor,
        watch: &mut CellSamplers,
    ) -> Result<LoadSummary, Cause>;

    /// Begins a cell, and forgets what is known of earlier stacks.
    fn begin(&mut self, _cell: &CellPlan) {}

    /// Notes that the stack was brought to rest.
    fn note_flushed(&mut self) {}

    /// Notes that something other than a load works on the target of a stage.
    fn worked_on(&mut self, _stage: &StagePlan) {}

    /// Returns what is known of the targets, for another machine.
    fn known(&mut self) -> KnownState {
        KnownState::default()
    }

    /// Takes over what another machine knew of the targets.
    fn take_over(&mut self, _known: KnownState) {}

    /// Makes the machine crash during the next load; in virtual time the load runs to its end.
    fn crash_next(&mut self, _timer: CrashTimer) {}

    /// Makes another writer overwrite the next load's target; simulated targets hold no data that could be overwritten.
    fn spoil_next(&mut self) {}
}

/// Drives loads on real targets, with the engine.
pub(crate) struct Real<'a> {
    plan: &'a Plan,
    /// Choices of how loads with `backend = "auto"` are driven, by what [`alike`] calls the loads: made once, for all variants and repeats.
    choices: BTreeMap<String, Choice>,
    /// Tells whether the next load's target is to be overwritten by another writer.
    spoil: bool,
    /// The crash that comes during the next load.
    crash: Option<CrashTimer>,
    /// The known contents of the targets of this cell.
    known: Option<KnownInCell>,
}

impl<'a> Real<'a> {
    /// Creates the driver of the loads of `plan`; `choices` were made before, for example by an earlier guest.
    pub fn new(plan: &'a Plan, choices: BTreeMap<String, Choice>) -> Self {
        Self { plan, choices, spoil: false, crash: None, known: None }
    }

    /// Returns how `load` of `stage` is driven, and the choice to report if it was made just now.
    fn choice(
        &mut self,
        stage: &StagePlan,
        load: &Load,
    ) -> Result<(Choice, Option<Chosen>), Cause> {
        let untimed = |alike| engine::untimed(load, &alike);
        let Some(loads) = alike(stage) else { return Ok((untimed(Alike::default())?, None)) };
        if let Some(choice) = self.choices.get(loads) {
            return Ok((choice.clone(), None));
        }
        let choice = untimed(all_alike(self.plan, loads))?;
        self.choices.insert(loads.to_owned(), choice.clone());
        Ok((choice.clone(), Some(Chosen { loads: loads.to_owned(), choice })))
    }
}

/// Returns the name of the group of loads that must have the same driver as that of `stage`, so that their figures can be compared: those of all
/// variants, of all points of a sweep and of all measured stages, with or without the page cache. The stages that only prepare form separate groups.
/// `None` where the experiment names the driver.
fn alike(stage: &StagePlan) -> Option<&'static str> {
    let spec = stage.driven().filter(|spec| spec.is_auto())?;
    Some(match (stage.measured, spec.direct) {
        (true, true) => "measured",
        (true, false) => "measured, through the page cache",
        (false, true) => "preparing",
        (false, false) => "preparing, through the page cache",
    })
}

/// Returns all loads of `plan` in the group `loads`. Their targets do not exist yet, so the choice rests on properties of the kinds of the layers,
/// and not on which cell runs first.
fn all_alike<'p>(plan: &'p Plan, loads: &str) -> Alike<'p> {
    let stages = plan.cells.iter().flat_map(|cell| &cell.stages);
    let refuses = |kind: &str| layers::kind(kind).is_some_and(|kind| kind.refuses_nowait);
    let mut layers = plan.cells.iter().flat_map(|cell| &cell.stack);
    Alike {
        specs: stages
            .filter(|stage| alike(stage) == Some(loads))
            .filter_map(StagePlan::driven)
            .collect(),
        blocks: layers.any(|layer| refuses(&layer.kind)),
    }
}

/// Overwrites the first 32 MiB of `target` with bytes that no load writes.
#[cfg(feature = "faults")]
fn spoil(target: &Path) -> Result<(), Cause> {
    let mut file = std::fs::File::options().write(true).open(target)?;
    let written = std::io::Write::write_all(&mut file, &vec![0xA5; 32 << 20]);
    let spoilt = written.and_then(|()| file.sync_all());
    spoilt.map_err(|error| format!("cannot spoil {}: {error}", target.display()).into())
}

#[cfg(not(feature = "faults"))]
fn spoil(_: &Path) -> Result<(), Cause> {
    Err("only test builds spoil a target".into())
}

impl Loader for Real<'_> {
    fn begin(&mut self, cell: &CellPlan) {
        self.known = Some(KnownInCell::new(cell, &self.plan.run_tag));
    }

    fn note_flushed(&mut self) {
        self.known.iter_mut().for_each(KnownInCell::note_flushed);
    }

    fn worked_on(&mut self, stage: &StagePlan) {
        self.known.iter_mut().for_each(|known| known.worked_on(stage));
    }

    fn known(&mut self) -> KnownState {
        self.known.as_ref().map(KnownInCell::state).unwrap_or_default()
    }

    fn take_over(&mut self, known: KnownState) {
        self.known.iter_mut().for_each(|in_cell| in_cell.take_over(known.clone()));
    }

    fn load(
        &mut self,
        scene: &CellContext,
        plan: &CellPlan,
        turn: LoadId,
        executor: &mut Executor,
        watch: &mut CellSamplers,
    ) -> Result<LoadSummary, Cause> {
        let planned = &plan.stages[turn.stage];
        let intact =
            |executor: &mut Executor| executor.intact(&format!("drive stage {}", planned.name));
        intact(executor)?;
        if let Task::Copy(copy) = &planned.task {
            let target = planned.target.offer.path();
            let places = [executor.place(&copy.from)?, executor.place(target)?];
            self.worked_on(planned);
            let copied = copier::copy(scene, plan.index, planned, copy, &places)?;
            return Ok(intact(executor).map(|()| copied)?);
        }
        if let Task::Tree(tree) = &planned.task {
            self.worked_on(planned);
            let done = tree_load::drive(scene, plan, turn, tree, (executor, watch))?;
            return Ok(intact(executor).map(|()| done)?);
        }
        let mut load = load_of(plan, turn);
        let aims = aims(planned, turn);
        for aim in &aims {
            aim_at(aim, executor, &mut load)?;
        }
        let known = self.known.as_mut();
        match known.and_then(|known| known.targets((turn.stage, planned), &aims)) {
            Some(KnownTargets::Carried(targets)) => load.verification.carried = Some(targets),
            Some(KnownTargets::Kept { state, of_another }) => {
                load.verification.state = Some(state);
                load.verification.state_of_another = of_another;
            }
            None => {}
        }
        let foreign = watch.cpu_meter();
        let (clock, interrupt) = (scene.clock, scene.interrupt);
        let context = Context { clock, interrupt, foreign_cpu: Some(&*foreign) };
        let (choice, chosen) = self.choice(planned, &load)?;
        if let Some(chosen) = chosen {
            scene.recorder.send(Message::Chosen(chosen));
        }
        load.choice = Some(choice);
        load.recording.io_log = io_log(scene, plan, turn);
        let (spoiling, mut spoilt) = (std::mem::take(&mut self.spoil), Ok(()));
        let first = load.targets.first().and_then(|aim| aim.target.path());
        let first = first.map(|(_, way)| way.to_owned()).unwrap_or_default();
        let mut span = LoadSpan::of(&load, turn);
        let (mut crash, mut armed) = (self.crash.take(), None);
        let known = self.known.as_ref();
        let summary = engine::run(&load, &context, &mut |event| {
            // Intervals come during the load, the last ones when it is over but not yet read back.
            if spoiling && matches!(event, LoadEvent::Intervals { .. }) {
                spoilt = spoil(&first);
            }
            if matches!(event, LoadEvent::Started(_)) {
                let known = known.map(KnownInCell::later);
                let known = move || known.map(|known| known()).unwrap_or_default();
                armed = crash.take().map(|crash| crash.start(known));
            }
            span.read_at(&event, executor, watch);
            if matches!(event, LoadEvent::ReadingBack(share) if share == 0.0) {
                let settle = planned.settle.then_some(&plan.settle[..]);
                watch.end_early(scene.clock, settle, executor);
            }
            hand_in(scene, plan, turn, &event);
        })?;
        drop(armed);
        span.end(executor, watch);
        intact(executor)?;
        spoilt.map(|()| summary)
    }

    fn crash_next(&mut self, timer: CrashTimer) {
        self.crash = Some(timer);
    }

    fn spoil_next(&mut self) {
        self.spoil = true;
    }
}

/// Adds an aim to a load. Files that are to be made get their folder here; they are made when they are opened.
fn aim_at(aim: &Aim, executor: &Executor, load: &mut Load) -> Result<(), Cause> {
    if let Some(files) = aim.files.as_ref().filter(|files| files.make) {
        let Place { name, way, meant } = executor.place(aim.target.offer.path())?;
        let (folder, named) = (way.join(&files.folder), name.join(&files.folder));
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{} cannot be made: {error}", named.display()))?;
        let made = std::fs::metadata(&folder)
            .map_err(|error| format!("{} cannot be examined: {error}", named.display()))?;
        if matches!(meant, Some(Meant::FileOn(on)) if made.dev() != on) {
            return Err(format!(
                "{} leads out of the file system of the stack; nothing is written there. Find out what put it there: a command of this \
                 experiment, or another program",
                named.display()
            )
            .into());
        }
        load.may_create = Some(files.size);
    }
    for (path, share) in aim.paths() {
        let Place { name, way, meant } = executor.place(&path)?;
        if let Some(files) = aim.files.as_ref().filter(|files| !files.make) {
            as_laid_out(&name, &way, files.size)?;
        }
        let target = TargetSpec::Through { name, way, meant };
        load.targets.push(engine::Aim { target, share });
    }
    Ok(())
}

/// Refuses a file whose size is not that of its layout: a load would drive other bytes than were asked for, and verification would skip the
/// missing ones.
fn as_laid_out(name: &Path, way: &Path, size: Bytes) -> Result<(), Cause> {
    let found = std::fs::metadata(way)
        .map_err(|error| format!("{} cannot be examined: {error}", name.display()))?;
    if found.len() == size.0 {
        return Ok(());
    }
    Err(format!(
        "{} has {} bytes, and its layout made it {} long. Find out what changed it: a command of this experiment, or another program",
        name.display(),
        grouped(found.len()),
        grouped(size.0)
    )
    .into())
}

#[cfg(test)]
mod tests {
    use engine::{Driver, TargetSpec};

    use super::*;
    use crate::{ExperimentSource, LAB, RunRequest};

    fn plan(name: &str) -> Plan {
        RunRequest::once().plan(&ExperimentSource::find(name).unwrap(), LAB).unwrap()
    }

    /// Returns how the measured loads of a variant are driven that runs first, on a target that does not block.
    fn chosen(plan: &Plan, variant: &str) -> Vec<(Driver, String)> {
        // Beside the test itself: on a disk, wherever programs are built.
        let test = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(test.parent().unwrap()).unwrap();
        let path = folder.path().join("target");
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        let mut real = Real::new(plan, BTreeMap::new());
        let cell = plan.cells.iter().find(|cell| cell.variant == variant).unwrap();
        let stages = cell.stages.iter().enumerate().filter(|(_, stage)| stage.measured);
        let choices = stages.map(|(stage, planned)| {
            let mut load = load_of(cell, LoadId { stage, round: None });
            load.targets = TargetSpec::Path(path.clone()).alone();
            let (choice, _) = real.choice(planned, &load).unwrap();
            (choice.driver, choice.reason)
        });
        choices.collect()
    }

    #[test]
    fn whichever_variant_runs_first_all_are_driven_as_the_layer_that_blocks_needs() {
        let plan = plan("vdo-vs-plain");
        let both = ["vdo", "plain"].map(|variant| chosen(&plan, variant));
        assert_eq!(both[0], both[1]);
        let (driver, reason) = &both[0][0];
        assert_eq!(*driver, Driver::Libaio, "{reason}");
        assert!(reason.contains("driven alike blocks"), "{reason}");
    }

    #[test]
    fn all_points_of_a_sweep_over_depth_are_driven_as_the_deepest_needs() {
        let plan = plan("disk-profiles");
        let chosen = chosen(&plan, "plain");
        assert!(chosen.len() > 2 && chosen.iter().all(|other| *other == chosen[0]), "{chosen:?}");
        assert_ne!(chosen[0].0, Driver::Sync, "{}", chosen[0].1);
        assert!(chosen[0].1.contains("for loads of depths up to"), "{}", chosen[0].1);
    }

    #[test]
    fn what_an_experiment_says_of_a_driver_is_no_choice_for_others() {
        let mut plan = plan("disk-profiles");
        let json = serde_json::to_string(&plan.cells[0]).unwrap();
        let changed = json.replacen("\"backend\":\"auto\"", "\"backend\":\"sync\"", 1);
        assert_ne!(json, changed);
        let variant = plan.cells[0].variant.clone();
        plan.cells[0] = serde_json::from_str(&changed).unwrap();
        let drivers: Vec<_> =
            chosen(&plan, &variant).into_iter().map(|(driver, _)| driver).collect();
        assert_eq!(drivers[0], Driver::Sync);
        assert!(drivers[1..].iter().all(|driver| *driver != Driver::Sync), "{drivers:?}");
    }
}
