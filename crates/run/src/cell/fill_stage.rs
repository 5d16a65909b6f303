//! The stage of a fill, on the stack of a cell.

use layers::ROUND_END;
use plan::FillPlan;
use results::model::LoadSummary;

use super::Running;
use crate::error::{Cause, StageError};
use crate::figures;
use crate::fill::FillStage;
use crate::loader::Loader;
use crate::state::Criteria;
use crate::stop::Stop;
use crate::turn::{LoadId, Round};
use crate::watch::CellSamplers;

/// The fill of a real cell.
pub(super) struct OnStack<'a, 'r> {
    pub cell: &'a mut Running<'r>,
    /// Position of the stage in the plan.
    pub stage: usize,
    pub fill: &'a FillPlan,
    pub loader: &'a mut dyn Loader,
    pub watch: &'a mut CellSamplers,
    pub criteria: &'a mut Criteria,
}

impl FillStage for OnStack<'_, '_> {
    fn now(&self) -> u64 {
        self.cell.scene.clock.now().0
    }

    fn round(&mut self, round: Round) -> Result<LoadSummary, Cause> {
        let turn = LoadId { stage: self.stage, round: Some(round) };
        let (scene, plan) = (self.cell.scene, self.cell.plan);
        let done = self.loader.load(scene, plan, turn, self.cell.executor, self.watch);
        let stage = plan.stages[self.stage].name.clone();
        done.map_err(|source| StageError { stage, source }.into())
    }

    fn read(&mut self) -> Option<f64> {
        self.watch.mark(self.cell.executor, ROUND_END);
        let samples = self.watch.marked();
        self.criteria.read(self.cell.plan, &samples);
        self.watch.forget_rounds(self.criteria.since_ns());
        figures::reached(self.cell.plan, &self.fill.layer, &self.fill.metric, &samples)
    }

    fn settle(&mut self) -> Result<(), Stop> {
        self.cell.steps(&self.cell.plan.settle)
    }

    fn in_state(&self) -> bool {
        self.criteria.are_met()
    }

    fn is_simulated(&self) -> bool {
        self.cell.scene.clock.is_simulated()
    }
}
