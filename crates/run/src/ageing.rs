//! The ageing that a stage asks for: a file system measured, made old, and measured again.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engine::tree::{AgeingEnd, OwnFiles};
use experiment::{AgeingPlan, CellPlan};
use host::{Executor, Look, Place};
use results::model::{Age, AgeingFigures};
use sys::interrupt::{Interrupt, Level};
use sys::meant::Meant;

use crate::scene::CellContext;
use crate::stop::Stop;

/// The outcome of an ageing.
#[derive(Default)]
pub(crate) struct AgeingOutcome {
    pub figures: Option<AgeingFigures>,
    /// The reason why the cell cannot go on after it, if so.
    pub stop: Option<Stop>,
}

/// Makes the file system old in which stage `stage` lies, in a directory of its own, and gives its figures; in virtual time it does nothing.
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
    let deadline = planned.deadline.map(|deadline| Duration::from_nanos(deadline.0));
    let intact = |executor: &mut Executor| {
        let done = executor.intact(&format!("age in stage {}", planned.name));
        done.map_err(|error| crate::chain(&error))
    };
    let done = intact(executor).and_then(|()| {
        executor.place(planned.target.offer.path()).map_err(|error| crate::chain(&error))
    });
    let seed = plan.seed.derive(&format!("stage {}", planned.name));
    let done = done.and_then(|place| {
        Work { plan: ageing, interrupt: scene.interrupt, begun: Instant::now(), deadline }
            .all(&place, seed)
    });
    let done = done.and_then(|figures| intact(executor).map(|()| figures));
    let stop = match &done {
        _ if scene.interrupt.level() != Level::None => Some(Stop::Interrupted),
        Ok(_) => None,
        Err(reason) => Some(Stop::Failed(format!("stage {}: {reason}", planned.name))),
    };
    AgeingOutcome { figures: done.ok(), stop }
}

/// An ageing while it is done.
struct Work<'a> {
    plan: &'a AgeingPlan,
    interrupt: &'a Interrupt,
    begun: Instant,
    deadline: Option<Duration>,
}

/// The rounds that were done, and the rule that ended them.
struct Rounds {
    done: u64,
    ended_by: &'static str,
}

impl Work<'_> {
    fn all(&self, place: &Place, seed: units::Seed) -> Result<AgeingFigures, String> {
        let before = self.age(&place.way)?;
        let (name, way) = own_directory(place, &self.plan.folder)?;
        let files = |part: &str| {
            let (name, way) = (name.join(part), way.join(part));
            let made = std::fs::create_dir(&way);
            made.map_err(|error| format!("{} cannot be made: {error}", name.display()))?;
            let content = (&self.plan.content, seed.derive(part));
            OwnFiles::begin((&name, &way), content, self.interrupt).map_err(|e| crate::chain(&e))
        };
        let chain = |error: engine::EngineError| crate::chain(&error);
        let mut grown = files("grown")?;
        let size = self.plan.file_bytes().0.max(1);
        let sample = (self.plan.read.0 / size).clamp(1, self.plan.files);
        let fresh = grown.fresh(sample, size).map_err(chain)?;
        let fresh_bytes = grown.written();
        let rounds = self.rounds(&mut grown, &way.join("grown"))?;
        if self.plan.thin_out {
            grown.thin_out().map_err(chain)?;
        }
        let mut fillers = None;
        if let Some(percent) = self.plan.fill_percent {
            let mut own = files("fill")?;
            own.fill(percent, self.plan.fill_file.0).map_err(chain)?;
            fillers = Some(own);
        }
        self.check_deadline()?;
        let read = |own: &mut OwnFiles| {
            let read = own.read(self.plan.read.0).map_err(chain)?;
            Ok::<_, String>(read.and_then(engine::tree::ReadRate::bytes_per_s))
        };
        let aged_read_bytes_per_s = read(&mut grown)?;
        let filler_read_bytes_per_s = fillers.as_mut().map(read).transpose()?.flatten();
        let filled = fillers.as_ref().map_or(0, OwnFiles::written);
        Ok(AgeingFigures {
            ended_by: rounds.ended_by.to_owned(),
            rounds: rounds.done,
            written_bytes: grown.written() - fresh_bytes + filled,
            before,
            grown: self.age(&way.join("grown"))?,
            fillers: fillers.map(|_| self.age(&way.join("fill"))).transpose()?,
            fresh_read_bytes_per_s: fresh.and_then(engine::tree::ReadRate::bytes_per_s),
            aged_read_bytes_per_s,
            filler_read_bytes_per_s,
        })
    }

    /// Lets files grow until a rule ends it.
    fn rounds(&self, grown: &mut OwnFiles, way: &Path) -> Result<Rounds, String> {
        let (plan, before) = (self.plan, grown.written());
        let begun = Instant::now();
        for done in 1..=plan.rounds {
            let ended = grown.round(plan.files, plan.append.0).map_err(|e| crate::chain(&e))?;
            self.check_deadline()?;
            let runs = || plan.runs_per_file.is_some_and(|most| self.runs(way) >= most);
            let bytes = || plan.bytes.is_some_and(|most| grown.written() - before >= most.0);
            let time =
                || plan.duration.is_some_and(|most| begun.elapsed().as_nanos() >= most.0.into());
            let ended_by = match ended {
                Some(AgeingEnd::Interrupted) => "interrupt",
                Some(AgeingEnd::Full) => "full",
                None if runs() => "runs_per_file",
                None if bytes() => "bytes",
                None if time() => "duration",
                None => continue,
            };
            return Ok(Rounds { done, ended_by });
        }
        Ok(Rounds { done: plan.rounds, ended_by: "rounds" })
    }

    /// Runs of a file on average; 0 where they are not known.
    fn runs(&self, way: &Path) -> f64 {
        self.age(way).ok().and_then(|age| age.files.runs_per_file).unwrap_or(0.0)
    }

    fn age(&self, way: &Path) -> Result<Age, String> {
        let mut look =
            Look { sync: true, most: None, interrupt: self.interrupt, progress: &mut |_| {} };
        host::age(way, &mut look).map_err(|error| crate::chain(&error))
    }

    fn check_deadline(&self) -> Result<(), String> {
        match self.deadline.filter(|deadline| self.begun.elapsed() > *deadline) {
            None => Ok(()),
            Some(_) => Err("it did not end by its deadline".to_owned()),
        }
    }
}

/// Makes the directory of a stage, and gives its name and the path to open.
fn own_directory(place: &Place, folder: &str) -> Result<(PathBuf, PathBuf), String> {
    let Place { name, way, meant } = place;
    let (directory, below) = (name.join(folder), way.join(folder));
    let failed = |error| format!("{} cannot be made: {error}", directory.display());
    let found = std::fs::metadata(way).map_err(failed)?;
    if matches!(meant, Some(Meant::FileOn(on)) if found.dev() != *on) {
        return Err(format!(
            "{} leads out of the file system of the stack; nothing is written there",
            directory.display()
        ));
    }
    std::fs::create_dir(&below).map_err(failed)?;
    Ok((directory, below))
}
