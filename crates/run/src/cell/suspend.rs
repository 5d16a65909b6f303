//! A cell between two machines: it stops where its machine reboots, becomes a value, and continues from that value on another machine.

use std::time::Duration;

use host::Executor;
use layers::step::{Action, MachineEnd, Step};
use plan::CellPlan;
use results::model::{CellState, StageEdge, StageRecord, StepRecord};

use super::{Running, stopped};
use crate::crash_timer::CrashTimer;
use crate::figures;
use crate::inject::InjectedFault;
use crate::known::KnownState;
use crate::loader::Loader;
use crate::message::Message;
use crate::metered::Metered;
use crate::scene::CellContext;
use crate::stop::Stop;
use crate::suspended::{Halt, SuspendedCell};
use crate::watch::CellSamplers;

/// The range of a load's duration in which a crash comes, as fractions.
const EARLIEST: f64 = 0.1;
const LATEST: f64 = 0.9;

/// Continues a cell and its clock on this machine; the cell's record has been sent when this returns.
pub(crate) fn continue_cell(
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
    loader.take_over(known);
    let halted = plan.stages.get(halt.stage);
    // The machine that crashed during a load could not record what the crash stage worked on.
    if let Some(crash) = halted.filter(|stage| stage.cuts_load) {
        loader.worked_on(crash);
    }
    executor.continue_from(before);
    scene.recorder.open_cell(&results::cell_folder(plan.index, &plan.variant, plan.repeat));
    if let Some(boot) = halt.boot(plan) {
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
        metered: Metered::continue_with(scene.clock, machines),
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

    /// Releases the devices, then carries out the steps before the machine reboots.
    pub(super) fn before_boot(&mut self, steps: &[Step]) -> Result<(), Stop> {
        self.executor.intact("take the stack down").map_err(|error| stopped(&error))?;
        self.executor.release();
        self.steps(steps)?;
        self.position += 1;
        Ok(())
    }

    /// Makes the cell a value and hands it over. Counters start at 0 on the next machine, so the figures of the stages that have ended are final,
    /// and a window that a reboot interrupts has no figures.
    fn suspend(mut self, halt: Halt, loader: &mut dyn Loader) -> CellState {
        figures::of_stages(self.plan, &self.samples, &mut self.record.stages, self.final_stages);
        self.scene.recorder.record(&self.record);
        let after = self.ends_by(halt);
        let suspended = SuspendedCell {
            after,
            cell: self.plan.index,
            at_ns: self.scene.clock.now().0,
            halt,
            position: self.position,
            machines: self.metered.read(self.scene.clock),
            executor: self.executor.state(),
            record: self.record,
            known: loader.known(),
        };
        tracing::info!(
            cell = suspended.cell,
            stage = halt.stage,
            "the cell continues on another machine"
        );
        self.scene.recorder.send(Message::Suspended(Box::new(suspended)));
        if after.is_sudden() {
            // A sudden end: nothing is finished here, and the host kills this machine.
            (self.scene.inject_fault)(InjectedFault::Hang);
        }
        CellState::Running
    }

    /// Returns the timer that ends this machine at a random moment of stage `index`, a load that began at `start_ns`, if the next stage asks for it.
    pub(super) fn crash_within(
        &self,
        (index, start_ns): (usize, u64),
        watch: &CellSamplers,
    ) -> Option<CrashTimer> {
        let (stage, crash) = (self.plan.stages.get(index)?, self.plan.stages.get(index + 1)?);
        let duration = stage.load()?.duration.filter(|_| crash.cuts_load && self.scene.suspends)?;
        let steps = crash.task.steps();
        let boot = steps.iter().position(|step| matches!(step.action, Action::Reboot { .. }))?;
        let halt = Halt { stage: index + 1, step: boot + 1, start_ns: 0 };
        let share = self.plan.seed.derive(&format!("crash {}", crash.name)).generator().unit();
        let mut record = self.record.clone();
        // Counters start at 0 on the next machine, so the figures so far are final.
        figures::of_stages(self.plan, &watch.marked(), &mut record.stages, self.final_stages);
        let error = Some(format!("it was not finished: stage '{}' cut it off", crash.name));
        record.stages.push(StageRecord { error, ..stage.begun(index, start_ns) });
        let cell = SuspendedCell {
            after: self.ends_by(halt),
            cell: self.plan.index,
            at_ns: 0,
            halt,
            position: self.position + 1,
            machines: self.metered.read(self.scene.clock),
            executor: self.executor.state(),
            record,
            known: KnownState::default(),
        };
        let edge = StageEdge {
            stage: index + 1,
            name: crash.name.clone(),
            measured: crash.measured,
            ended: false,
            at_ns: 0,
        };
        Some(CrashTimer {
            moment: Duration::from_nanos(duration.0)
                .mul_f64(EARLIEST + share * (LATEST - EARLIEST)),
            cell: Box::new(cell),
            edge,
            recorder: self.scene.recorder.clone(),
            clock: self.scene.clock.clone(),
        })
    }

    /// Returns how this machine ends before a cell continues at `halt`, as the step before `halt` says.
    fn ends_by(&self, halt: Halt) -> MachineEnd {
        match halt.boot(self.plan).map(|step| &step.action) {
            Some(Action::Reboot { after }) => *after,
            _ => MachineEnd::default(),
        }
    }
}
