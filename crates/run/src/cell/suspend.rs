//! A cell between two machines: it stops where its machine boots anew, becomes a value, and goes on from that value on another one.

use experiment::{CellPlan, Task};
use host::Executor;
use layers::step::Step;
use results::model::{CellState, StepRecord};

use super::{Running, stopped};
use crate::figures;
use crate::loader::Loader;
use crate::message::Message;
use crate::metered::Metered;
use crate::scene::CellContext;
use crate::stop::Stop;
use crate::suspended::{Halt, SuspendedCell};

/// Goes on with a cell on this machine, whose clock goes on, too; its record has been handed in when this returns.
pub(crate) fn go_on(
    scene: &CellContext,
    plan: &CellPlan,
    executor: &mut Executor,
    loader: &mut dyn Loader,
    from: SuspendedCell,
) -> CellState {
    loader.begin(plan);
    let SuspendedCell {
        at_ns, halt, position, executor: before, mut record, machines, known, ..
    } = from;
    loader.take_up(known);
    executor.take_up(before);
    scene.recorder.open_cell(&results::cell_folder(plan.index, &plan.variant, plan.repeat));
    let steps = plan.stages.get(halt.stage).map(|stage| &stage.task);
    if let Some(Task::Steps(steps)) = steps
        && let Some(boot) = halt.step.checked_sub(1).and_then(|before| steps.get(before))
    {
        record.steps.push(StepRecord {
            about: boot.about.clone(),
            command: boot.action.show(),
            undo: false,
            start_ns: at_ns,
            duration_ns: scene.clock.now().0.saturating_sub(at_ns),
            error: None,
        });
    }
    let mut running = Running {
        metered: Metered::go_on(scene.clock, machines),
        scene,
        plan,
        executor,
        position,
        samples: Vec::new(),
        final_stages: record.stages.len(),
        record,
    };
    let outcome = running.measure(loader, Some(halt));
    running.end(outcome, loader)
}

impl Running<'_> {
    /// Ends the cell, or hands it over to another machine.
    pub(super) fn end(
        self,
        outcome: Result<Option<Halt>, Stop>,
        loader: &mut dyn Loader,
    ) -> CellState {
        match outcome {
            Ok(Some(halt)) => self.suspend(halt, loader),
            Ok(None) => self.finish(Ok(())),
            Err(stop) => self.finish(Err(stop)),
        }
    }

    /// Does the steps before the machine boots, after which its devices are nobody's.
    pub(super) fn before_boot(&mut self, steps: &[Step]) -> Result<(), Stop> {
        self.executor.intact("take the stack down").map_err(|error| stopped(&error))?;
        self.executor.release();
        self.steps(steps)?;
        self.position += 1;
        Ok(())
    }

    /// Makes the cell a value and hands it over. Counters begin anew on the next machine, so that the figures of the stages that have
    /// ended are final, and a window that a boot cuts has none.
    fn suspend(mut self, halt: Halt, loader: &mut dyn Loader) -> CellState {
        figures::of_stages(self.plan, &self.samples, &mut self.record.stages, self.final_stages);
        self.scene.recorder.record(&self.record);
        let suspended = SuspendedCell {
            cell: self.plan.index,
            at_ns: self.scene.clock.now().0,
            halt,
            position: self.position,
            machines: self.metered.read(self.scene.clock),
            executor: self.executor.state(),
            record: self.record,
            known: loader.known(),
        };
        tracing::info!(cell = suspended.cell, stage = halt.stage, "the cell goes on elsewhere");
        self.scene.recorder.send(Message::Suspended(Box::new(suspended)));
        CellState::Running
    }
}
