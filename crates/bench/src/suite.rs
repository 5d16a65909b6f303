//! A whole comparison: every case, its short round, its interleaved repeats.

use std::time::{Duration, Instant};

use sys::interrupt::{Interrupt, Level};

use crate::case::Case;
use crate::contest::{Contestant, ContestantKind, Programs, Sample};
use crate::fio::candidates;
use crate::floor;
use crate::goal_verdicts::{auto, chosen, finalists, judge, side};
use crate::outcome::{CaseOutcome, Outcome, SCHEMA, TrialRun};
use crate::proportion::proportions;
use crate::repeats::order;
use crate::target::{Target, TargetKind};
use crate::{BenchError, child};

/// Number of times that the start of a contestant of the repeats is measured; the least counts.
const STARTS: usize = 3;
/// About how long a program takes to start and to end, milliseconds.
const START: u64 = 90;
/// Fathom's ways in the short round: `auto` and each backend.
const OURS: u64 = 4;
/// Number of contestants in the repeats of every case: ours and two of fio's.
const CONTESTANTS: u64 = 3;

/// Lengths and number of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pace {
    /// Milliseconds of a run in the short round.
    pub short: u64,
    /// Milliseconds of a run that counts.
    pub run: u64,
    /// Repeats.
    pub repeats: usize,
    /// Most times that a disturbed run is repeated.
    pub patience: u32,
}

impl Pace {
    /// The quick pace: some three minutes in all.
    pub const QUICK: Self = Self { short: 250, run: 700, repeats: 3, patience: 0 };
    /// The pace for a guest, perhaps an emulated one: starting a program takes a second of CPU there, which must not outweigh the load.
    pub const LAB: Self = Self { short: 1500, run: 4000, repeats: 4, patience: 0 };
    /// The pace that the figures need: less than half an hour in all.
    pub const FULL: Self = Self { short: 350, run: 1100, repeats: 5, patience: 1 };

    /// About how long one case takes on a quiet machine.
    pub fn estimate(self, case: &Case, target: &Target) -> Duration {
        let null = target.kind == TargetKind::Null;
        let ways = candidates(case.depth, null).len() as u64 + if null { 0 } else { OURS };
        let short = ways * (self.short + 2 * START);
        let contestants = CONTESTANTS + u64::from(case.has_floor(target));
        let long = contestants * (self.repeats as u64 * (self.run + START) + STARTS as u64 * START);
        Duration::from_millis(short + long)
    }
}

/// An event that a comparison reports while it runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// A case begins.
    Case {
        /// Its name.
        name: String,
        /// Its place, from 1.
        index: usize,
        /// Number of cases.
        of: usize,
        /// About how long the rest takes.
        left: Duration,
    },
    /// A run of a case is over.
    Run {
        /// The contestant.
        name: String,
        /// Its figures.
        sample: &'a Sample,
    },
    /// A case is done.
    Done(&'a CaseOutcome),
    /// Something a person should know.
    Note(String),
}

/// The contents of a comparison: programs, targets, cases, and the pace.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The programs.
    pub programs: Programs,
    /// The targets that the cases name.
    pub targets: Vec<Target>,
    /// The cases to compare.
    pub cases: Vec<Case>,
    /// Lengths and number of the runs.
    pub pace: Pace,
    /// Fathom's backends that are tried in addition to `auto` in the short round.
    pub backends: Vec<String>,
    /// The parts that were left out before it began, each with the reason.
    pub left_out: Vec<String>,
}

impl Suite {
    /// Writes every made target once, so that reads find data.
    pub fn fill(&self, interrupt: &Interrupt) -> Result<(), BenchError> {
        let mut made = self.targets.iter().filter(|t| t.made && t.kind != TargetKind::Null);
        made.try_for_each(|t| child::run(&self.programs.fathom.fill(t), interrupt).map(drop))
    }

    /// Runs all cases. A case that fails is reported and left out; an interrupt ends it with what there is.
    pub fn run(&self, interrupt: &Interrupt, on_event: &mut dyn FnMut(Event)) -> Outcome {
        let mut outcome = Outcome {
            schema: SCHEMA,
            programs: self.programs.clone(),
            machine: machine(),
            targets: self.targets.clone(),
            left_out: self.left_out.clone(),
            cases: Vec::new(),
            failed: Vec::new(),
            verified: None,
            proportions: Vec::new(),
            interrupted: false,
        };
        let (start, mut estimated) = (Instant::now(), Duration::ZERO);
        let total: Duration = self.cases.iter().map(|case| self.estimate(case)).sum();
        for (index, case) in self.cases.iter().enumerate() {
            // The rest is expected to exceed its estimate as much as the cases so far did.
            let pace = start.elapsed().as_secs_f64().max(0.1) / estimated.as_secs_f64().max(0.1);
            let factor = if index == 0 { 1.0 } else { pace };
            let left = (total - estimated).mul_f64(factor);
            on_event(Event::Case {
                name: case.name(),
                index: index + 1,
                of: self.cases.len(),
                left,
            });
            estimated += self.estimate(case);
            match self.case(case, interrupt, on_event) {
                Ok(done) => {
                    on_event(Event::Done(&done));
                    outcome.cases.push(done);
                }
                Err(_) if interrupt.level() != Level::None => break,
                Err(error) => {
                    let text = format!("{}: {error}", case.name());
                    on_event(Event::Note(text.clone()));
                    outcome.failed.push(text);
                }
            }
        }
        outcome.interrupted = interrupt.level() != Level::None;
        outcome.proportions = proportions(&outcome.cases);
        outcome
    }

    fn target(&self, case: &Case) -> Option<&Target> {
        self.targets.iter().find(|target| target.name == case.target)
    }

    fn estimate(&self, case: &Case) -> Duration {
        self.target(case).map_or(Duration::ZERO, |target| self.pace.estimate(case, target))
    }

    fn case(
        &self,
        case: &Case,
        interrupt: &Interrupt,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<CaseOutcome, BenchError> {
        let missing = || BenchError::NoProgram(format!("target {}", case.target));
        let target = self.target(case).ok_or_else(missing)?;
        let tried = self.short_round(case, target, interrupt, on_event)?;
        let contestant = |who: &ContestantKind| {
            Contestant::new(&self.programs, who, target, case, self.pace.run)
        };
        let fio = finalists(&tried).into_iter().map(|who| contestant(&who));
        // `auto` chose in the short round, as it chooses once for an experiment: its probe does not count as part of the runs.
        let choice = chosen(&tried);
        let mut ours = contestant(&choice);
        ours.who = auto();
        let calls = match &choice {
            ContestantKind::Fathom(backend) if case.has_floor(target) => floor::backend_of(backend),
            _ => None,
        };
        let floor = calls
            .map(|backend| Contestant::floor(&self.programs, backend, target, case, self.pace.run));
        let mut contestants: Vec<_> = std::iter::once(ours).chain(fio).chain(floor).collect();
        for contestant in &mut contestants {
            contestant.measure_start(STARTS, interrupt)?;
        }
        let mut samples = vec![Vec::new(); contestants.len()];
        for repeat in 0..self.pace.repeats {
            for place in order(contestants.len(), repeat) {
                let sample = contestants[place].run(self.pace.patience, interrupt)?;
                on_event(Event::Run { name: contestants[place].who.name(), sample: &sample });
                samples[place].push(sample);
            }
        }
        let sides =
            contestants.iter().zip(samples).map(|(one, samples)| side(one, samples)).collect();
        judge(case, target, tried, sides)
    }

    /// Tries every way of driving once, briefly. Some may fail (an engine that this fio or kernel lacks); they are kept with their reason.
    fn short_round(
        &self,
        case: &Case,
        target: &Target,
        interrupt: &Interrupt,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Vec<TrialRun>, BenchError> {
        let fio = candidates(case.depth, target.kind == TargetKind::Null)
            .into_iter()
            .map(ContestantKind::Fio);
        let ours = self.backends.iter().map(|backend| ContestantKind::Fathom(backend.clone()));
        let ours = std::iter::once(auto()).chain(ours).filter(|_| target.kind != TargetKind::Null);
        let mut tried = Vec::new();
        for who in fio.chain(ours) {
            let mut one = Contestant::new(&self.programs, &who, target, case, self.pace.short);
            let run = one.measure_start(1, interrupt).and_then(|()| one.run(0, interrupt));
            if let Err(BenchError::Interrupted) = run {
                return Err(BenchError::Interrupted);
            }
            if let Ok(sample) = &run {
                on_event(Event::Run { name: who.name(), sample });
            }
            let (name, line) = (who.name(), one.line.to_string());
            let error = run.as_ref().err().map(ToString::to_string);
            tried.push(TrialRun { who, name, line, sample: run.ok(), error });
        }
        Ok(tried)
    }
}

fn machine() -> String {
    let uname = rustix::system::uname();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let model = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("", |rest| rest.trim_start_matches([' ', '\t', ':']));
    format!("Linux {}, {cpus} CPUs, {model}", uname.release().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_comparison_takes_minutes_and_a_full_one_less_than_half_an_hour() {
        let of = |name: &str| Target { name: name.into(), made: true, ..Target::example() };
        let mut targets = vec![Target::null()];
        targets.extend(["loop", "zram", "file", "tmpfs"].map(of));
        for target in &mut targets {
            target.later = ["loop", "file"].contains(&target.name.as_str());
        }
        let takes = |pace: Pace, quick| -> Duration {
            let of =
                |case: &Case| targets.iter().find(|target| target.name == case.target).unwrap();
            let cases = crate::case::cases(&targets, quick, &[]);
            cases.iter().map(|case| pace.estimate(case, of(case))).sum()
        };
        assert!(
            takes(Pace::QUICK, true) < Duration::from_secs(240),
            "{:?}",
            takes(Pace::QUICK, true)
        );
        assert!(
            takes(Pace::FULL, false) < Duration::from_secs(1600),
            "{:?}",
            takes(Pace::FULL, false)
        );
    }
}
