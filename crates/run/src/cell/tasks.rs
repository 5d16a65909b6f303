//! Tasks of the stages of a cell, and the check that a layer has reached the state that its stage is for.

use layers::ROUND_END;
use layers::step::{Action, Step};
use plan::{CommandPlan, FillPlan, Otherwise, StagePlan, Task};
use units::Nanos;

use super::fill_stage::OnStack;
use super::{Running, StageOutcome, stopped};
use crate::Event;
use crate::ageing::{self, AgeingOutcome};
use crate::command::{self, CommandOutcome};
use crate::error::StageError;
use crate::fill;
use crate::loader::Loader;
use crate::state::{self, Criteria};
use crate::stop::{self, Stop, judge};
use crate::turn::{self, LoadId};
use crate::watch::CellSamplers;

impl Running<'_> {
    /// Does the task of the stage, from its step number `first` on.
    pub(super) fn task(
        &mut self,
        (index, stage, first): (usize, &StagePlan, usize),
        loader: &mut dyn Loader,
        watch: &mut CellSamplers,
    ) -> Result<StageOutcome, Stop> {
        match &stage.task {
            Task::Steps(steps) => {
                loader.worked_on(stage);
                self.stage_steps((steps, first), watch)
            }
            Task::Command(planned) => {
                loader.worked_on(stage);
                self.command(stage, planned)
            }
            Task::Age(planned) => {
                loader.worked_on(stage);
                let done = ageing::run(self.scene, self.plan, (index, planned), self.executor);
                let AgeingOutcome { figures, stop } = done;
                Ok(StageOutcome { ageing: figures, stop, ..StageOutcome::default() })
            }
            Task::Fill(planned) => Ok(self.fill(index, planned, loader, watch)),
            Task::Load(_) | Task::Tree(_) | Task::Copy(_) => {
                let turn = LoadId { stage: index, round: None };
                let done = loader.load(self.scene, self.plan, turn, self.executor, watch);
                let failed = |source| {
                    let error = StageError { stage: stage.name.clone(), source };
                    Stop::Failed(crate::chain(&error))
                };
                let load = done.map_err(failed)?;
                let unlike = || turn::late(stage, &load).or_else(|| stop::gaps(stage, &load));
                let stop = judge(&load).or_else(|| unlike().map(Stop::Failed));
                Ok(StageOutcome { stop, load: Some(load), ..StageOutcome::default() })
            }
        }
    }

    /// Does the steps of a stage. If they bound names, the samplers are restarted with the new values.
    fn stage_steps(
        &mut self,
        (steps, first): (&[Step], usize),
        watch: &mut CellSamplers,
    ) -> Result<StageOutcome, Stop> {
        let left = steps.get(first..).unwrap_or_default();
        let boot = left.iter().position(|step| matches!(step.action, Action::Reboot { .. }));
        if let Some(boot) = boot.filter(|_| self.scene.suspends) {
            self.before_boot(&left[..boot])?;
            let rebooting = Some(first + boot + 1);
            return Ok(StageOutcome { rebooting, ..StageOutcome::default() });
        }
        self.change(left)?;
        let renews =
            |step: &Step| matches!(step.action, Action::Bind { .. } | Action::Reboot { .. });
        if steps.iter().any(renews) {
            let renewed = watch.restart(self.scene, self.plan, self.executor);
            renewed.map_err(|error| stopped(&error))?;
        }
        Ok(StageOutcome::default())
    }

    fn command(&mut self, stage: &StagePlan, planned: &CommandPlan) -> Result<StageOutcome, Stop> {
        let target = self.resolve(stage.target.offer.path())?;
        let CommandOutcome { figures, stop, notice } =
            command::run(stage, planned, &target, self.executor);
        self.hand_in_transcript();
        self.notice(command::killed(stage, &figures));
        self.notice(notice.filter(|_| stop.is_none()));
        Ok(StageOutcome { command: Some(figures), stop, ..StageOutcome::default() })
    }

    fn fill(
        &mut self,
        index: usize,
        planned: &FillPlan,
        loader: &mut dyn Loader,
        watch: &mut CellSamplers,
    ) -> StageOutcome {
        let plan = self.plan;
        let stage = &plan.stages[index];
        let deadline = stage.deadline.unwrap_or(Nanos(u64::MAX));
        let mut criteria = Criteria::of(stage.state.as_ref());
        let mut ground = OnStack {
            cell: self,
            stage: index,
            fill: planned,
            loader,
            watch,
            criteria: &mut criteria,
        };
        let (figures, stop) = fill::until(planned, deadline, &mut ground);
        // Only shown, not noted: the record has the figures, and nothing is wrong.
        if let Some(text) = fill::proof(&stage.name, &figures, self.scene.clock.is_simulated()) {
            self.scene.recorder.event(Event::Notice { cell: Some(self.plan.index), text });
        }
        StageOutcome {
            fill: Some(figures),
            state: criteria.figures(),
            stop,
            ..StageOutcome::default()
        }
    }

    /// Checks that the layer has reached the state that the stage is for; a fill has read the criteria already.
    pub(super) fn state(
        &mut self,
        stage: &StagePlan,
        done: StageOutcome,
        watch: &mut CellSamplers,
    ) -> Result<StageOutcome, Stop> {
        let Some(plan) = &stage.state else { return Ok(done) };
        let interrupted = matches!(done.stop, Some(Stop::Interrupted));
        if interrupted || self.scene.clock.is_simulated() {
            // An interrupted stage is not checked, and a simulated layer only repeats recorded readings, which prove nothing.
            return Ok(StageOutcome { state: None, ..done });
        }
        if matches!(done.stop, Some(Stop::Failed(_))) {
            return Ok(done);
        }
        let figures = match done.state {
            Some(figures) => figures,
            None => {
                self.steps(&self.plan.settle)?;
                watch.mark(self.executor, ROUND_END);
                let mut criteria = Criteria::of(Some(plan));
                criteria.read(self.plan, &watch.marked());
                criteria.figures().unwrap_or_default()
            }
        };
        let text = state::sentence(&stage.name, &figures);
        let state = Some(figures);
        if state.as_ref().is_some_and(|figures| figures.reached) {
            self.scene.recorder.event(Event::Notice { cell: Some(self.plan.index), text });
            return Ok(StageOutcome { state, ..done });
        }
        match plan.otherwise {
            Otherwise::Fail => {
                let stop = Some(Stop::NotReached(text));
                Ok(StageOutcome { state, stop, ..done })
            }
            Otherwise::Warn => {
                self.notice(Some(text));
                Ok(StageOutcome { state, stop: None, ..done })
            }
        }
    }
}
