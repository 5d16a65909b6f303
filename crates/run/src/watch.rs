//! The samplers of a cell, real or in virtual time, behind one interface: every sample goes into the result, and those that figures need
//! are kept in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host::{Executor, Samplers, StepError, TickedSamplers};
use layers::step::Step;
use layers::{Readings, STAGE_END, STAGE_SETTLED};
use plan::CellPlan;
use results::model::{Row, SampleRow, StepRecord};
use sys::clock::Clock;

use crate::recorder::Recorder;
use crate::scene::CellContext;

/// Samples of one cell on their way into the result.
#[derive(Clone)]
struct Stream {
    recorder: Recorder,
    readings: Arc<Mutex<Readings>>,
}

impl Stream {
    fn take(&self, sample: SampleRow) {
        self.recorder.row(&Row::Sample(sample.clone()));
        self.readings().take(sample);
    }

    fn readings(&self) -> MutexGuard<'_, Readings> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The samplers of a cell.
pub(crate) struct CellSamplers {
    samplers: Kind,
    stream: Stream,
    /// The end of the current stage's figures, if they ended before the stage itself.
    ended: Option<EndedEarly>,
}

/// The end of a stage's figures before the stage itself: what its load wrote is still read back.
pub(crate) struct EndedEarly {
    pub at_ns: u64,
    /// The steps that brought the stack to rest at that time; it is at rest unless one of them failed.
    pub settling: Vec<StepRecord>,
}

enum Kind {
    /// A thread that reads the machine.
    Threaded(Samplers),
    /// Samplers that are read when the virtual clock moves.
    Ticked(TickedSamplers),
}

impl Kind {
    /// Ends them; returns the rows that say what is missing.
    fn stop(self) -> Vec<SampleRow> {
        match self {
            Self::Threaded(samplers) => samplers.stop(),
            Self::Ticked(_) => Vec::new(),
        }
    }
}

impl CellSamplers {
    pub(crate) fn start(
        scene: &CellContext,
        plan: &CellPlan,
        executor: &Executor,
    ) -> Result<Self, StepError> {
        let followed = plan.stack.iter().flat_map(|layer| {
            let kind = layers::kind(&layer.kind).into_iter();
            kind.flat_map(|kind| kind.followed).map(|field| (layer.name.as_str(), field))
        });
        let readings = Arc::new(Mutex::new(Readings::following(followed)));
        let stream = Stream { recorder: scene.recorder.clone(), readings };
        Self::streaming(stream, scene, plan, executor)
    }

    /// Restarts the samplers, because names that probes were resolved with have other values now.
    pub(crate) fn restart(
        &mut self,
        scene: &CellContext,
        plan: &CellPlan,
        executor: &Executor,
    ) -> Result<(), StepError> {
        let renewed = Self::streaming(self.stream.clone(), scene, plan, executor)?;
        let before = std::mem::replace(self, renewed);
        for row in before.samplers.stop() {
            self.stream.take(row);
        }
        Ok(())
    }

    fn streaming(
        stream: Stream,
        scene: &CellContext,
        plan: &CellPlan,
        executor: &Executor,
    ) -> Result<Self, StepError> {
        let samplers = if scene.clock.is_simulated() {
            TickedSamplers::new(&plan.probes, executor, scene.clock).map(Kind::Ticked)
        } else {
            let to = stream.clone();
            Samplers::start(&plan.probes, executor, scene.clock, move |sample| to.take(sample))
                .map(Kind::Threaded)
        };
        Ok(Self { samplers: samplers?, stream, ended: None })
    }

    /// Returns the reason if only marks are read; `None` where the samplers run.
    pub(crate) fn trouble(&self) -> Option<String> {
        match &self.samplers {
            Kind::Threaded(samplers) => samplers.trouble(),
            Kind::Ticked(_) => None,
        }
    }

    /// Reads every source now, under `mark`.
    pub(crate) fn mark(&mut self, executor: &mut Executor, mark: &str) {
        let rows = match &mut self.samplers {
            Kind::Threaded(samplers) => samplers.mark(mark),
            Kind::Ticked(samplers) => samplers.mark(executor, mark),
        };
        rows.into_iter().for_each(|row| self.stream.take(row));
    }

    /// Reads every quick source now, under a mark that does not begin or end a stage.
    pub(crate) fn look(&mut self, executor: &mut Executor, mark: &str) {
        let rows = match &mut self.samplers {
            Kind::Threaded(samplers) => samplers.look(mark),
            Kind::Ticked(samplers) => samplers.look(executor, mark),
        };
        rows.into_iter().for_each(|row| self.stream.take(row));
    }

    /// Ends the figures of the current stage: its layers are read now and, if the stage ends with `settle`, again when they have come to rest.
    pub(crate) fn end_early(
        &mut self,
        clock: &Clock,
        settle: Option<&[Step]>,
        executor: &mut Executor,
    ) {
        self.mark(executor, STAGE_END);
        // The reading at the end belongs to the stage; the reading at rest comes after it.
        let at_ns = clock.now().0;
        let mut settling = Vec::new();
        if let Some(steps) = settle {
            let all = steps.iter().all(|step| {
                let (record, outcome) = executor.step(step);
                settling.push(record);
                outcome.is_ok()
            });
            if all {
                self.mark(executor, STAGE_SETTLED);
            }
        }
        self.ended = Some(EndedEarly { at_ns, settling });
    }

    /// Returns the end of the last stage's figures, if it was before the end of the stage itself.
    pub(crate) fn take_ended(&mut self) -> Option<EndedEarly> {
        self.ended.take()
    }

    /// Readings at marks so far, without rounds that were forgotten.
    pub(crate) fn marked(&self) -> Vec<SampleRow> {
        self.stream.readings().marked().to_vec()
    }

    /// Forgets the ends of rounds that are not needed any more; the current round began at `since_ns`.
    pub(crate) fn forget_rounds(&self, since_ns: u64) {
        self.stream.readings().forget_rounds(since_ns);
    }

    /// The number of readings that are kept.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.stream.readings().count()
    }

    /// In virtual time: reads what has become due.
    pub(crate) fn tick(&mut self, executor: &mut Executor) {
        if let Kind::Ticked(samplers) = &mut self.samplers {
            samplers.tick(executor).into_iter().for_each(|row| self.stream.take(row));
        }
    }

    /// CPU time of the samplers so far, which is not the load's.
    pub(crate) fn cpu_meter(&self) -> Box<dyn Fn() -> (Duration, Duration) + Send + Sync> {
        match &self.samplers {
            Kind::Threaded(samplers) => Box::new(samplers.cpu_meter()),
            Kind::Ticked(_) => Box::new(|| (Duration::ZERO, Duration::ZERO)),
        }
    }

    /// Ends the samplers; returns the samples that were kept in order of time, and a sentence about missing ones.
    pub(crate) fn stop(self) -> (Vec<SampleRow>, Option<String>) {
        let missing = self.samplers.stop();
        let missed = missing.iter().filter_map(|row| {
            let (mark, error) = (row.mark.as_deref()?, row.error.as_deref()?);
            Some(format!("{} has no reading '{mark}': {error}", row.source))
        });
        let missed: Vec<_> = missed.collect();
        missing.into_iter().for_each(|row| self.stream.take(row));
        let samples = std::mem::take(&mut *self.stream.readings()).into_rows();
        (samples, (!missed.is_empty()).then(|| missed.join("; ")))
    }
}
