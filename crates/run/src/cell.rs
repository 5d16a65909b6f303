//! One cell: a fresh stack, its stages, and the stack taken down again on every path.

use std::collections::BTreeMap;

use host::{Executor, StepError};
use layers::step::Step;
use layers::{ALLOCATED, Offer, SETTLED, STAGE_END, STAGE_SETTLED, STAGE_START};
use plan::{CellPlan, StagePlan};
use results::model::{
    AgeingFigures, CellRecord, CellState, CommandFigures, FillFigures, LoadSummary, Row, SampleRow,
    StageEdge, StageRecord, StateFigures,
};
use sys::interrupt::Level;

use crate::Event;
use crate::figures;
use crate::inject::InjectedFault;
use crate::loader::Loader;
use crate::message::Message;
use crate::metered::Metered;
use crate::scene::CellContext;
use crate::stop::Stop;
use crate::suspended::{Halt, StageEnd};
use crate::watch::CellSamplers;

mod fill_stage;
mod suspend;
mod tasks;

pub(crate) use suspend::continue_cell;

/// Figures of what a stage did, and the reason why the cell stops after it, if it does.
#[derive(Default)]
struct StageOutcome {
    load: Option<LoadSummary>,
    command: Option<CommandFigures>,
    fill: Option<FillFigures>,
    ageing: Option<AgeingFigures>,
    state: Option<StateFigures>,
    stop: Option<Stop>,
    /// The first step that is left to the machine that boots now.
    rebooting: Option<usize>,
}

impl StageOutcome {
    fn stopped(stop: Stop) -> Self {
        Self { stop: Some(stop), ..Self::default() }
    }
}

/// A cell while it runs.
struct Running<'a> {
    scene: &'a CellContext<'a>,
    plan: &'a CellPlan,
    executor: &'a mut Executor,
    record: CellRecord,
    /// Steps, waits and stages begun so far: what injections count.
    position: usize,
    samples: Vec<SampleRow>,
    metered: Metered,
    /// Stages whose figures are final: those that ended on another machine.
    final_stages: usize,
}

/// Runs one cell; its record has been handed in when this returns.
pub(crate) fn run(
    scene: &CellContext,
    plan: &CellPlan,
    executor: &mut Executor,
    loader: &mut dyn Loader,
) -> CellState {
    loader.begin(plan);
    let mut running = Running::begin(scene, plan, executor);
    let outcome = running.raise().and_then(|()| running.measure(loader, None));
    running.end(outcome, loader)
}

/// Raises a cell's stack, lets `work` do what it wants with the target, and takes the stack down.
pub(crate) fn with_raised_stack(
    scene: &CellContext,
    plan: &CellPlan,
    executor: &mut Executor,
    work: impl FnOnce(&str),
) -> CellState {
    let mut running = Running::begin(scene, plan, executor);
    let outcome = running.raise().and_then(|()| running.steps(&plan.ready)).and_then(|()| {
        work(&running.resolve(plan.target.offer.path())?);
        Ok(())
    });
    running.finish(outcome)
}

impl<'a> Running<'a> {
    fn begin(scene: &'a CellContext, plan: &'a CellPlan, executor: &'a mut Executor) -> Self {
        let folder = results::cell_folder(plan.index, &plan.variant, plan.repeat);
        scene.recorder.open_cell(&folder);
        scene.recorder.event(Event::CellStarted {
            cell: plan.index,
            of: scene.cell_count,
            variant: plan.variant.clone(),
            repeat: plan.repeat,
        });
        let record = CellRecord {
            run_id: Some(scene.run_tag.to_owned()),
            index: plan.index,
            variant: plan.variant.clone(),
            repeat: plan.repeat,
            seed: plan.seed,
            state: CellState::Running,
            reason: None,
            start_ns: scene.clock.now().0,
            end_ns: None,
            steps: Vec::new(),
            stages: Vec::new(),
            layers: BTreeMap::new(),
            facts: BTreeMap::new(),
            leftovers: None,
            notices: Vec::new(),
            ran_on: scene.machine.clone(),
            machine: None,
        };
        scene.recorder.record(&record);
        tracing::info!(cell = plan.index, variant = %plan.variant, repeat = plan.repeat, "cell");
        Self {
            metered: Metered::begin(scene.clock),
            scene,
            plan,
            executor,
            record,
            position: 0,
            samples: Vec::new(),
            final_stages: 0,
        }
    }

    fn raise(&mut self) -> Result<(), Stop> {
        for (number, step) in self.plan.up.iter().enumerate() {
            let done = self.step(Some(number), step);
            // The steps' devices are held from here on, also where a step failed and the stack is taken down.
            let held = self.executor.hold(&self.plan.up, &[]).map_err(|error| stopped(&error));
            done.and(held)?;
        }
        self.hold()
    }

    /// Holds every device that the stack was built with, so that nothing else is written to if its name is reused.
    fn hold(&mut self) -> Result<(), Stop> {
        let offers = self.plan.stages.iter().flat_map(StagePlan::offers);
        let names: Vec<_> = offers.chain([&self.plan.target.offer]).map(Offer::path).collect();
        self.executor.hold(&self.plan.up, &names).map_err(|error| stopped(&error))
    }

    /// Does steps of the layers, after which their devices may have other numbers, and names may have other values.
    fn change(&mut self, steps: &[Step]) -> Result<(), Stop> {
        if steps.is_empty() {
            return Ok(());
        }
        self.executor.intact("change the stack").map_err(|error| stopped(&error))?;
        self.executor.release();
        let done = self.steps(steps);
        let held = self.hold();
        done.and(held)
    }

    /// Runs all stages, or those from `halt` on; returns the place where another machine continues, if one has to.
    fn measure(
        &mut self,
        loader: &mut dyn Loader,
        halt: Option<Halt>,
    ) -> Result<Option<Halt>, Stop> {
        let mut watch =
            CellSamplers::start(self.scene, self.plan, self.executor).map_err(|e| stopped(&e))?;
        self.notice(watch.trouble());
        self.executor.note_environment(false);
        let outcome = self.stages(loader, &mut watch, halt);
        // A command of a stage may have changed them.
        self.executor.note_environment(true);
        let (samples, missing) = watch.stop();
        self.samples = samples;
        self.notice(missing);
        outcome
    }

    /// Shows people a notice about the cell, and keeps it in the record.
    fn notice(&mut self, text: Option<String>) {
        if let Some(text) = text {
            let event = Event::Notice { cell: Some(self.plan.index), text: text.clone() };
            self.scene.recorder.event(event);
            self.record.notices.push(text);
        }
    }

    /// All stages. Figures of layers are growth between the marks `allocated` and `settled`.
    fn stages(
        &mut self,
        loader: &mut dyn Loader,
        watch: &mut CellSamplers,
        halt: Option<Halt>,
    ) -> Result<Option<Halt>, Stop> {
        let plan = self.plan;
        if halt.is_none() {
            self.steps(&plan.ready)?;
        }
        let first_measured = plan.stages.iter().position(|s| s.measured).unwrap_or(0);
        let first = halt.map_or(0, |halt| halt.stage);
        for (index, stage) in plan.stages.iter().enumerate().skip(first) {
            let begun = halt.filter(|halt| halt.stage == index);
            if index == first_measured && begun.is_none() {
                self.settle(watch, ALLOCATED)?;
                loader.note_flushed();
            }
            let is_read = match self.stage(index, stage, begun, loader, watch)? {
                StageEnd::Over { is_read } => is_read,
                StageEnd::Rebooting(halt) => return Ok(Some(halt)),
            };
            if stage.settle {
                match is_read {
                    true => self.steps(&plan.settle)?,
                    false => self.settle(watch, STAGE_SETTLED)?,
                }
                loader.note_flushed();
            }
        }
        self.settle(watch, SETTLED).map(|()| None)
    }

    /// Brings the stack to rest and reads every layer under `mark`.
    fn settle(&mut self, watch: &mut CellSamplers, mark: &str) -> Result<(), Stop> {
        self.steps(&self.plan.settle)?;
        watch.mark(self.executor, mark);
        Ok(())
    }

    /// Begins a stage; returns its start, and the reason if it is to be reported as failed although it works.
    fn begin_stage(
        &mut self,
        index: usize,
        stage: &StagePlan,
        loader: &mut dyn Loader,
        watch: &mut CellSamplers,
    ) -> Result<(u64, Option<String>), Stop> {
        self.change(&stage.before)?;
        if self.due() == Some(InjectedFault::Spoil) {
            loader.spoil_next();
        }
        let injected = self.injected()?;
        self.scene.recorder.event(Event::StageStarted {
            cell: self.plan.index,
            name: stage.name.clone(),
            measured: stage.measured,
        });
        tracing::info!(cell = self.plan.index, stage = %stage.name, "stage");
        let start_ns = self.edge(index, stage, None);
        watch.mark(self.executor, STAGE_START);
        Ok((start_ns, injected))
    }

    /// Runs a stage, or what is left of one that has begun.
    fn stage(
        &mut self,
        index: usize,
        stage: &StagePlan,
        begun: Option<Halt>,
        loader: &mut dyn Loader,
        watch: &mut CellSamplers,
    ) -> Result<StageEnd, Stop> {
        let (start_ns, injected) = match begun {
            Some(halt) => (halt.start_ns, None),
            None => self.begin_stage(index, stage, loader, watch)?,
        };
        if let Some(timer) = self.crash_within((index, start_ns), watch) {
            loader.crash_next(timer);
        }
        let first = begun.map_or(0, |halt| halt.step);
        let outcome = self.task((index, stage, first), loader, watch);
        if let Ok(StageOutcome { rebooting: Some(step), .. }) = outcome {
            return Ok(StageEnd::Rebooting(Halt { stage: index, step, start_ns }));
        }
        let outcome = outcome.and_then(|done| self.state(stage, done, watch));
        let early = watch.take_ended();
        let is_read = early.is_some();
        let end_ns = match early {
            Some(early) => {
                self.record.steps.extend(early.settling);
                early.at_ns
            }
            None => {
                watch.mark(self.executor, STAGE_END);
                self.scene.clock.now().0
            }
        };
        self.edge(index, stage, Some(end_ns));
        let StageOutcome { load, command, fill, ageing, state, stop, .. } =
            outcome.unwrap_or_else(StageOutcome::stopped);
        let stop = stop.or(injected.map(Stop::Failed));
        let error = match &stop {
            Some(Stop::Failed(reason) | Stop::NotReached(reason)) => Some(reason.clone()),
            _ => None,
        };
        let end_ns = Some(end_ns);
        let begun = stage.begun(index, start_ns);
        self.record.stages.push(StageRecord {
            end_ns,
            load,
            command,
            fill,
            ageing,
            state,
            error,
            ..begun
        });
        self.scene.recorder.record(&self.record);
        stop.map_or(Ok(StageEnd::Over { is_read }), Err)
    }

    /// Marks the begin of a stage, which is now, or its end at `ended_ns`.
    fn edge(&self, index: usize, stage: &StagePlan, ended_ns: Option<u64>) -> u64 {
        let at_ns = ended_ns.unwrap_or_else(|| self.scene.clock.now().0);
        self.scene.recorder.row(&Row::Stage(StageEdge {
            stage: index,
            name: stage.name.clone(),
            measured: stage.measured,
            ended: ended_ns.is_some(),
            at_ns,
        }));
        at_ns
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Stop> {
        steps.iter().try_for_each(|step| self.step(None, step))
    }

    /// Does one step, which has this number among those that raise the stack.
    fn step(&mut self, number: Option<usize>, step: &Step) -> Result<(), Stop> {
        let injected = self.injected()?;
        self.scene.recorder.event(Event::Step {
            cell: self.plan.index,
            about: step.about.clone(),
            undo: false,
        });
        let (record, outcome) = self.executor.numbered(number, step);
        self.record.steps.push(record);
        self.hand_in_transcript();
        outcome.map_err(|error| stopped(&error))?;
        injected.map_or(Ok(()), |reason| Err(Stop::Failed(reason)))
    }

    /// The fault that is due at the next step.
    fn due(&self) -> Option<InjectedFault> {
        let here = (self.plan.index, self.position);
        self.scene.injections.iter().find(|i| (i.cell, i.step) == here).map(|i| i.fault)
    }

    /// Counts one step, and acts on an interrupt or a fault that is due here.
    fn injected(&mut self) -> Result<Option<String>, Stop> {
        let (here, due) = (self.position, self.due());
        self.position += 1;
        match due {
            Some(InjectedFault::Interrupt) => return Err(Stop::Interrupted),
            Some(fault @ (InjectedFault::Crash | InjectedFault::Hang)) => {
                (self.scene.inject_fault)(fault);
            }
            Some(InjectedFault::Fail) => return Ok(Some(format!("fault injected at step {here}"))),
            Some(InjectedFault::Spoil) | None => {}
        }
        if self.scene.interrupt.level() == Level::None { Ok(None) } else { Err(Stop::Interrupted) }
    }

    fn resolve(&self, text: &str) -> Result<String, Stop> {
        self.executor.resolve(text).map_err(|error| Stop::Failed(crate::chain(&error)))
    }

    fn hand_in_transcript(&mut self) {
        for mut line in self.executor.take_transcript() {
            line.cell = Some(self.plan.index);
            self.scene.recorder.transcript(&line);
        }
    }

    /// Takes the stack down, whatever happened, and hands the record in.
    fn finish(mut self, outcome: Result<(), Stop>) -> CellState {
        // Read while the layers' threads exist: the CPU time of ended threads cannot be distinguished from that of other work.
        self.record.machine = self.metered.read(self.scene.clock).map(|(load, _)| load);
        let left = self.tear_down();
        let (state, reason) = match outcome {
            Ok(()) if left.is_none() => (CellState::Done, None),
            Ok(()) => (CellState::Failed, None),
            Err(Stop::Failed(reason) | Stop::NotReached(reason)) => {
                (CellState::Failed, Some(reason))
            }
            Err(Stop::Interrupted) => (CellState::Interrupted, None),
        };
        let reasons = reason.into_iter().chain(left);
        let reason = reasons.reduce(|reason, left| format!("{reason}; and {left}"));
        self.record.layers = figures::of_cell(self.plan, &self.samples, &self.record);
        figures::of_stages(self.plan, &self.samples, &mut self.record.stages, self.final_stages);
        self.record.facts = self.executor.facts().clone();
        tracing::info!(cell = self.plan.index, ?state, ?reason, "the cell has ended");
        self.record.state = state;
        self.record.reason.clone_from(&reason);
        self.record.end_ns = Some(self.scene.clock.now().0);
        self.scene.recorder.record(&self.record);
        self.scene.recorder.event(Event::CellEnded { cell: self.plan.index, state, reason });
        state
    }

    /// Undoes every step that began; returns a sentence about what is left, if anything is.
    fn tear_down(&mut self) -> Option<String> {
        self.scene.recorder.event(Event::Step {
            cell: self.plan.index,
            about: "take the stack down".into(),
            undo: true,
        });
        let undone = self.executor.undo_all();
        for failed in undone.iter().filter_map(|step| step.error.as_ref()) {
            self.notice(Some(format!("teardown: {failed}")));
        }
        self.record.steps.extend(undone);
        self.hand_in_transcript();
        let left = self.executor.leftovers(self.scene.run_tag);
        self.record.leftovers = Some(left.clone());
        if left.is_empty() {
            return None;
        }
        self.scene.recorder.send(Message::LeftBehind(left.clone()));
        Some(format!("teardown left behind {}; remove it by hand", left.join(", ")))
    }
}

/// Returns why a cell stops after an error of a step.
fn stopped(error: &StepError) -> Stop {
    if error.interrupted() { Stop::Interrupted } else { Stop::Failed(crate::chain(error)) }
}

#[cfg(test)]
mod tests;
