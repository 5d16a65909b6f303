//! The ageing that a stage asks for: a file system is measured, aged, and measured again.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use engine::tree::{AgeingBounds, AgeingEnd, AgeingGround, OwnFiles, ReadRate};
use host::{Executor, Look, Place};
use plan::{AgeingPlan, CellPlan};
use results::model::{Age, AgeingFigures};
use sys::interrupt::Level;
use units::Nanos;

use crate::error::{Cause, StageError};
use crate::scene::CellContext;
use crate::stop::Stop;

/// The outcome of an ageing.
#[derive(Default)]
pub(crate) struct AgeingOutcome {
    pub figures: Option<AgeingFigures>,
    /// The reason why the cell cannot go on after it, if so.
    pub stop: Option<Stop>,
}

/// Ages the file system that stage `stage` works on, in a separate directory, and gives the figures; in virtual time it does nothing.
pub(crate) fn run(
    scene: &CellContext,
    plan: &CellPlan,
    (stage, ageing): (usize, &AgeingPlan),
    executor: &mut Executor,
) -> AgeingOutcome {
    if scene.clock.is_simulated() {
        return AgeingOutcome::default();
    }
    let planned = &plan.stages[stage];
    let limit = planned.deadline.and_then(|deadline| {
        Instant::now().checked_add(Duration::from_nanos(deadline.0)).map(|until| (until, deadline))
    });
    let (until, deadline) = limit.unzip();
    let bounds = AgeingBounds { interrupt: scene.interrupt, until };
    let mut measure_checked = || {
        let what = format!("age in stage {}", planned.name);
        executor.intact(&what)?;
        let place = executor.place(planned.target.offer.path())?;
        let seed = plan.seed.derive(&format!("stage {}", planned.name));
        let figures = Work { plan: ageing, bounds, deadline }.measure(&place, seed)?;
        executor.intact(&what)?;
        Ok(figures)
    };
    let done =
        measure_checked().map_err(|source| StageError { stage: planned.name.clone(), source });
    let stop = match scene.interrupt.level() {
        Level::None => done.as_ref().err().map(|error| Stop::Failed(crate::chain(error))),
        _ => Some(Stop::Interrupted),
    };
    AgeingOutcome { figures: done.ok(), stop }
}

/// An ageing in progress.
struct Work<'a> {
    plan: &'a AgeingPlan,
    bounds: AgeingBounds<'a>,
    deadline: Option<Nanos>,
}

/// The rounds that were done, and the rule that ended them.
struct Rounds {
    done: u64,
    ended_by: &'static str,
}

impl Work<'_> {
    /// Measures the age, ages the file system, fills it and measures again.
    fn measure(&self, place: &Place, seed: units::Seed) -> Result<AgeingFigures, Cause> {
        let around = File::open(&place.way);
        let around = around.map_err(|error| format!("{}: {error}", place.name.display()))?;
        let before = self.age((&around, &place.name))?;
        drop(around);
        let around = (place.name.as_path(), place.way.as_path());
        let ground = AgeingGround::make(around, place.meant.as_ref(), &self.plan.folder)?;
        let files = |part: &str| {
            let content = (&self.plan.content, seed.derive(part));
            OwnFiles::begin((&ground, part), content, self.bounds)
        };
        let mut grown = files("grown")?;
        let size = self.plan.file_bytes().0.max(1);
        let sample = (self.plan.read.0 / size).clamp(1, self.plan.files);
        let fresh = grown.fresh(sample, size)?;
        let fresh_bytes = grown.written();
        self.check_deadline()?;
        let rounds = self.rounds(&mut grown)?;
        if self.plan.thin_out {
            grown.thin_out()?;
        }
        let (mut fillers, mut filled_percent) = (None, None);
        if let Some(percent) = self.plan.fill_percent {
            let mut fill_files = files("fill")?;
            fill_files.fill(percent, self.plan.fill_file.0)?;
            filled_percent = Some(fill_files.used_percent()?);
            fillers = Some(fill_files);
        }
        self.check_deadline()?;
        let read = |files: &mut OwnFiles| {
            let read = files.read(self.plan.read.0)?;
            Ok::<_, Cause>(read.and_then(ReadRate::bytes_per_s))
        };
        let aged_read_bytes_per_s = read(&mut grown)?;
        let filler_read_bytes_per_s = fillers.as_mut().map(read).transpose()?.flatten();
        self.check_deadline()?;
        // The reads of the fresh files are comparable only if the grown ones have reached the same size.
        let reached_full_size = rounds.ended_by != "full" && rounds.done == self.plan.all_rounds();
        let filled = fillers.as_ref().map_or(0, OwnFiles::written);
        Ok(AgeingFigures {
            ended_by: rounds.ended_by.to_owned(),
            rounds: rounds.done,
            written_bytes: grown.written() - fresh_bytes + filled,
            before,
            grown: self.age_of(&grown)?,
            fillers: fillers.as_ref().map(|files| self.age_of(files)).transpose()?,
            filled_percent,
            fresh_read_bytes_per_s: fresh
                .filter(|_| reached_full_size)
                .and_then(ReadRate::bytes_per_s),
            aged_read_bytes_per_s,
            filler_read_bytes_per_s,
        })
    }

    /// Lets the files grow, round by round, until a limit of the plan is reached; returns the rounds and the limit.
    fn rounds(&self, grown: &mut OwnFiles) -> Result<Rounds, Cause> {
        let (plan, before) = (self.plan, grown.written());
        let begun = Instant::now();
        for done in 1..=plan.rounds {
            let ended = grown.round(plan.files, plan.append.0)?;
            self.check_deadline()?;
            let aged_enough = match plan.runs_per_file {
                Some(most) => self.age_of(grown)?.files.runs_per_file.is_some_and(|n| n >= most),
                None => false,
            };
            let bytes = || plan.bytes.is_some_and(|most| grown.written() - before >= most.0);
            let time =
                || plan.duration.is_some_and(|most| begun.elapsed().as_nanos() >= most.0.into());
            let ended_by = match ended {
                Some(AgeingEnd::Interrupted | AgeingEnd::Late) => "interrupt",
                Some(AgeingEnd::Full) => "full",
                None if aged_enough => "runs_per_file",
                None if bytes() => "bytes",
                None if time() => "duration",
                None => continue,
            };
            return Ok(Rounds { done, ended_by });
        }
        Ok(Rounds { done: plan.rounds, ended_by: "rounds" })
    }

    fn age_of(&self, files: &OwnFiles) -> Result<Age, Cause> {
        let (directory, name) = files.directory()?;
        self.age((&directory, name))
    }

    fn age(&self, directory: (&File, &Path)) -> Result<Age, Cause> {
        let most = self.bounds.until.map(|until| until.saturating_duration_since(Instant::now()));
        let interrupt = self.bounds.interrupt;
        let mut look = Look { sync: true, most, interrupt, progress: &mut |_| {} };
        Ok(host::age_of(directory, &mut look)?)
    }

    fn check_deadline(&self) -> Result<(), Cause> {
        let late = self.bounds.until.is_some_and(|until| Instant::now() >= until);
        match self.deadline.filter(|_| late) {
            None => Ok(()),
            Some(deadline) => Err(format!(
                "it was not done within its deadline of {deadline}: give it more time, or less to do"
            )
            .into()),
        }
    }
}
