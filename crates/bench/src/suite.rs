//! A whole comparison: every case, its short round, its interleaved repeats.

use std::time::{Duration, Instant};

use stats::Figure;
use sys::interrupt::{Interrupt, Level};

use crate::case::Case;
use crate::contest::{Contestant, Programs, Sample, Who};
use crate::fio::candidates;
use crate::goal;
use crate::outcome::{CaseOutcome, Outcome, Ratio, SCHEMA, Side, Tried};
use crate::proportion::proportions;
use crate::repeats::{order, ratio};
use crate::target::{Kind, Target};
use crate::{BenchError, child};

/// A fio may be the cheapest only when it reaches this share of the fastest one's IOPS: idling is cheap too.
const CHEAP_BUT_FAST: f64 = 0.8;
/// The same where others take the CPU away, so that IOPS say little.
const CHEAP_WHILE_DISTURBED: f64 = 0.3;
/// How often the start of a contestant of the repeats is measured; the least counts.
const STARTS: usize = 3;
/// About how long a program takes to start and to end, milliseconds.
const START: u64 = 90;
/// Fathom's ways in the short round: `auto` and each backend.
const OURS: u64 = 4;
/// Who takes part in the repeats: ours and two of fio's.
const CONTESTANTS: u64 = 3;

/// How long and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pace {
    /// Milliseconds of a run in the short round.
    pub short: u64,
    /// Milliseconds of a run that counts.
    pub run: u64,
    /// Repeats.
    pub repeats: usize,
    /// How often a disturbed run is repeated at most.
    pub patience: u32,
}

impl Pace {
    /// Some three minutes in all.
    pub const QUICK: Self = Self { short: 250, run: 700, repeats: 3, patience: 0 };
    /// For a guest, perhaps an emulated one: starting a program takes a second of CPU there, and must not drown the load.
    pub const LAB: Self = Self { short: 1500, run: 4000, repeats: 4, patience: 0 };
    /// What the figures need: less than half an hour in all.
    pub const FULL: Self = Self { short: 400, run: 1200, repeats: 5, patience: 1 };

    /// About how long one case takes on a quiet machine.
    pub fn estimate(self, case: &Case) -> Duration {
        let null = case.target == "null";
        let ways = candidates(case.depth, null).len() as u64 + if null { 0 } else { OURS };
        let short = ways * (self.short + 2 * START);
        let long = CONTESTANTS * (self.repeats as u64 * (self.run + START) + STARTS as u64 * START);
        Duration::from_millis(short + long)
    }
}

/// What a comparison tells while it runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// A case begins.
    Case {
        /// Its name.
        name: String,
        /// Its place, from 1.
        index: usize,
        /// How many there are.
        of: usize,
        /// About how long the rest takes.
        left: Duration,
    },
    /// A run of a case is over.
    Run {
        /// Who ran.
        name: String,
        /// What it did.
        sample: &'a Sample,
    },
    /// A case is done.
    Done(&'a CaseOutcome),
    /// Something a person should know.
    Note(String),
}

/// What is compared, and how.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The programs.
    pub programs: Programs,
    /// The targets that the cases name.
    pub targets: Vec<Target>,
    /// What is compared.
    pub cases: Vec<Case>,
    /// How long and how often.
    pub pace: Pace,
    /// Fathom's backends that are tried beside `auto` in the short round.
    pub backends: Vec<String>,
    /// What was left out before it began, and why.
    pub left_out: Vec<String>,
}

impl Suite {
    /// Writes every made target once, so that reads find data.
    pub fn fill(&self, interrupt: &Interrupt) -> Result<(), BenchError> {
        let mut made = self.targets.iter().filter(|t| t.made && t.kind != Kind::Null);
        made.try_for_each(|t| child::run(&self.programs.fathom.fill(t), interrupt).map(drop))
    }

    /// Runs all cases. A case that fails is told and left out; an interrupt ends it with what is there.
    pub fn run(&self, interrupt: &Interrupt, on: &mut dyn FnMut(Event)) -> Outcome {
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
        let total: Duration = self.cases.iter().map(|case| self.pace.estimate(case)).sum();
        for (index, case) in self.cases.iter().enumerate() {
            // What the cases so far took beyond their estimate, the rest will take too.
            let pace = start.elapsed().as_secs_f64().max(0.1) / estimated.as_secs_f64().max(0.1);
            let factor = if index == 0 { 1.0 } else { pace };
            let left = (total - estimated).mul_f64(factor);
            on(Event::Case { name: case.name(), index: index + 1, of: self.cases.len(), left });
            estimated += self.pace.estimate(case);
            match self.case(case, interrupt, on) {
                Ok(done) => {
                    on(Event::Done(&done));
                    outcome.cases.push(done);
                }
                Err(_) if interrupt.level() != Level::None => break,
                Err(error) => {
                    let text = format!("{}: {error}", case.name());
                    on(Event::Note(text.clone()));
                    outcome.failed.push(text);
                }
            }
        }
        outcome.interrupted = interrupt.level() != Level::None;
        outcome.proportions = proportions(&outcome.cases);
        outcome
    }

    fn case(
        &self,
        case: &Case,
        interrupt: &Interrupt,
        on: &mut dyn FnMut(Event),
    ) -> Result<CaseOutcome, BenchError> {
        let missing = || BenchError::NoProgram(format!("target {}", case.target));
        let target = self.targets.iter().find(|t| t.name == case.target).ok_or_else(missing)?;
        let tried = self.short_round(case, target, interrupt, on)?;
        let contestant =
            |who: &Who| Contestant::new(&self.programs, who, target, case, self.pace.run);
        let fio = finalists(&tried).into_iter().map(|who| contestant(&who));
        // `auto` chose in the short round, as it chooses once for an experiment: its probe is no part of the runs.
        let mut ours = contestant(&chosen(&tried));
        ours.who = auto();
        let mut contestants: Vec<_> = std::iter::once(ours).chain(fio).collect();
        for contestant in &mut contestants {
            contestant.measure_start(STARTS, interrupt)?;
        }
        let mut samples = vec![Vec::new(); contestants.len()];
        for repeat in 0..self.pace.repeats {
            for place in order(contestants.len(), repeat) {
                let sample = contestants[place].run(self.pace.patience, interrupt)?;
                on(Event::Run { name: contestants[place].who.name(), sample: &sample });
                samples[place].push(sample);
            }
        }
        let sides =
            contestants.iter().zip(samples).map(|(one, samples)| side(one, samples)).collect();
        judge(case, target, tried, sides)
    }

    /// Every way of driving once, briefly. Some may fail (an engine that this fio or kernel lacks); they are kept with
    /// their reason.
    fn short_round(
        &self,
        case: &Case,
        target: &Target,
        interrupt: &Interrupt,
        on: &mut dyn FnMut(Event),
    ) -> Result<Vec<Tried>, BenchError> {
        let fio = candidates(case.depth, target.kind == Kind::Null).into_iter().map(Who::Fio);
        let ours = self.backends.iter().map(|backend| Who::Fathom(backend.clone()));
        let ours = std::iter::once(auto()).chain(ours).filter(|_| target.kind != Kind::Null);
        let mut tried = Vec::new();
        for who in fio.chain(ours) {
            let mut one = Contestant::new(&self.programs, &who, target, case, self.pace.short);
            let run = one.measure_start(1, interrupt).and_then(|()| one.run(0, interrupt));
            if let Err(BenchError::Interrupted) = run {
                return Err(BenchError::Interrupted);
            }
            if let Ok(sample) = &run {
                on(Event::Run { name: who.name(), sample });
            }
            let (name, line) = (who.name(), one.line.to_string());
            let error = run.as_ref().err().map(ToString::to_string);
            tried.push(Tried { who, name, line, sample: run.ok(), error });
        }
        Ok(tried)
    }
}

fn auto() -> Who {
    Who::Fathom("auto".into())
}

/// Fathom with the backend that `auto` chose in the short round.
fn chosen(tried: &[Tried]) -> Who {
    let mine = tried.iter().find(|one| one.who == auto()).and_then(|one| one.sample.as_ref());
    mine.and_then(|sample| sample.said.backend.clone()).map_or_else(auto, Who::Fathom)
}

/// The fastest fio, and the cheapest of those that are nearly as fast; the next fastest when they are one.
///
/// Both go into the repeats, so that neither a lucky short round nor a choice of what counts as best favours us.
fn finalists(tried: &[Tried]) -> Vec<Who> {
    let fio = tried.iter().filter(|one| matches!(one.who, Who::Fio(_)));
    let mut done: Vec<_> = fio.filter_map(|one| Some((&one.who, one.sample.as_ref()?))).collect();
    done.sort_by(|a, b| b.1.said.iops.total_cmp(&a.1.said.iops));
    let Some(&(fastest, first)) = done.first() else { return Vec::new() };
    let quiet = done.iter().all(|(_, sample)| !sample.disturbed());
    let share = if quiet { CHEAP_BUT_FAST } else { CHEAP_WHILE_DISTURBED };
    let near = done.iter().filter(|(_, s)| s.tells() && s.said.iops >= share * first.said.iops);
    let cheapest = near.min_by(|a, b| a.1.cpu_per_io_us.total_cmp(&b.1.cpu_per_io_us));
    let second = cheapest.map(|(who, _)| *who).filter(|who| *who != fastest);
    let second = second.or_else(|| done.get(1).map(|(who, _)| *who));
    [Some(fastest), second].into_iter().flatten().cloned().collect()
}

fn side(one: &Contestant, samples: Vec<Sample>) -> Side {
    let figure =
        |get: fn(&Sample) -> f64| stats::figure(&samples.iter().map(get).collect::<Vec<_>>());
    Side {
        who: one.who.clone(),
        name: one.who.name(),
        line: one.line.to_string(),
        start_s: one.start_s,
        iops: figure(|s| s.said.iops),
        cpu_per_io_us: figure(|s| s.cpu_per_io_us),
        system_per_io_us: figure(|s| s.system_per_io_us),
        samples,
    }
}

/// Holds ours against the fastest fio in IOPS and against the cheapest in CPU time.
fn judge(
    case: &Case,
    target: &Target,
    tried: Vec<Tried>,
    sides: Vec<Side>,
) -> Result<CaseOutcome, BenchError> {
    let (ours, theirs) = match sides.split_first() {
        Some((ours, theirs)) if !theirs.is_empty() => (ours, theirs),
        _ => {
            let why = tried.iter().find_map(|one| one.error.clone()).unwrap_or_default();
            return Err(BenchError::Output { line: "fio".into(), why });
        }
    };
    let median = |figure: &Figure| figure.median.unwrap_or(f64::NAN);
    let most = theirs.iter().max_by(|a, b| median(&a.iops).total_cmp(&median(&b.iops)));
    let fastest = most.unwrap_or(&theirs[0]);
    let quiet = sides.iter().flat_map(|side| &side.samples).all(|sample| !sample.disturbed());
    let share = if quiet { CHEAP_BUT_FAST } else { CHEAP_WHILE_DISTURBED };
    let quick = |side: &&Side| median(&side.iops) >= share * median(&fastest.iops);
    let cheapest = |get: fn(&Side) -> &Figure| {
        let least = theirs.iter().filter(quick);
        least.min_by(|a, b| median(get(a)).total_cmp(&median(get(b)))).unwrap_or(fastest)
    };
    let values = |side: &Side, get: fn(&Sample) -> f64| -> Vec<_> {
        side.samples.iter().map(|sample| sample.tells().then(|| get(sample))).collect()
    };
    let against = |peer: &Side, get: fn(&Sample) -> f64, goal: Option<goal::Goal>| {
        let ratio = ratio(&values(ours, get), &values(peer, get));
        let word = goal.map(|goal| goal.judge(&ratio));
        Ratio { against: peer.name.clone(), ratio, goal, word }
    };
    let (cpu, iops) = goal::goals(case, target);
    let samples = sides.iter().flat_map(|side| &side.samples);
    let disturbed = samples.clone().filter(|sample| sample.disturbed()).count();
    Ok(CaseOutcome {
        name: case.name(),
        cpu: against(cheapest(|s| &s.cpu_per_io_us), |s| s.cpu_per_io_us, Some(cpu)),
        system: against(cheapest(|s| &s.system_per_io_us), |s| s.system_per_io_us, None),
        iops: against(fastest, |s| s.said.iops, iops),
        disturbed: (disturbed, samples.count()),
        case: case.clone(),
        tried,
        sides,
    })
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
    use crate::Said;
    use crate::cpu::Used;
    use crate::fio::{Candidate, Engine};

    fn sample(iops: f64, cpu_per_io_us: f64, foreign_share: f64) -> Sample {
        let said = Said { ios: 1000, iops, ..Said::default() };
        let (used, system_per_io_us) = (Used::default(), cpu_per_io_us);
        Sample { said, used, cpu_per_io_us, system_per_io_us, foreign_share, again: 0 }
    }

    fn tried(engine: Engine, sample: Option<Sample>) -> Tried {
        let who = Who::Fio(Candidate { engine, batch: 1, whole: false });
        Tried { name: who.name(), who, line: String::new(), sample, error: None }
    }

    fn engines(tried: &[Tried]) -> Vec<Engine> {
        let finalists = finalists(tried).into_iter();
        finalists.map(|who| if let Who::Fio(c) = who { c.engine } else { Engine::Null }).collect()
    }

    #[test]
    fn the_fastest_and_the_cheapest_fio_go_into_the_repeats() {
        let mut all = vec![
            tried(Engine::IoUring, Some(sample(100.0, 3.0, 0.0))),
            tried(Engine::Libaio, Some(sample(90.0, 2.0, 0.0))),
            tried(Engine::Psync, Some(sample(50.0, 1.0, 0.0))),
            tried(Engine::Pvsync2, None),
        ];
        assert_eq!(
            engines(&all),
            [Engine::IoUring, Engine::Libaio],
            "half the IOPS is not as good"
        );
        all[2].sample = Some(sample(50.0, 1.0, 0.9));
        assert_eq!(
            engines(&all),
            [Engine::IoUring, Engine::Psync],
            "IOPS say little when disturbed"
        );
        all[0].sample = Some(sample(100.0, 0.5, 0.0));
        all[2].sample = None;
        assert_eq!(
            engines(&all),
            [Engine::IoUring, Engine::Libaio],
            "the next fastest where both are one"
        );
        assert!(engines(&all[3..]).is_empty());
    }

    #[test]
    fn the_repeats_run_what_auto_chose_and_auto_itself_where_it_said_nothing() {
        let one = |who: Who, backend: Option<&str>| {
            let mut sample = sample(100.0, 1.0, 0.0);
            sample.said.backend = backend.map(str::to_owned);
            Tried { name: who.name(), who, line: String::new(), sample: Some(sample), error: None }
        };
        let sync = one(Who::Fathom("io_uring".into()), Some("io_uring"));
        let all = [sync.clone(), one(auto(), Some("libaio"))];
        assert_eq!(chosen(&all), Who::Fathom("libaio".into()));
        assert_eq!(chosen(&[sync, one(auto(), None)]), auto());
        assert_eq!(chosen(&[]), auto());
    }

    #[test]
    fn a_quick_comparison_takes_minutes_and_a_full_one_less_than_half_an_hour() {
        let of = |name: &str| Target { name: name.into(), made: true, ..Target::example() };
        let mut targets = vec![Target::null()];
        targets.extend(["loop", "zram", "file", "tmpfs"].map(of));
        let takes = |pace: Pace, quick| -> Duration {
            crate::case::cases(&targets, quick, &[]).iter().map(|case| pace.estimate(case)).sum()
        };
        assert!(
            takes(Pace::QUICK, true) < Duration::from_secs(210),
            "{:?}",
            takes(Pace::QUICK, true)
        );
        assert!(
            takes(Pace::FULL, false) < Duration::from_secs(1400),
            "{:?}",
            takes(Pace::FULL, false)
        );
    }

    #[test]
    fn cpu_is_held_against_the_cheapest_and_iops_against_the_fastest() {
        let side = |who: Who, iops, cpu| {
            let samples = vec![sample(iops, cpu, 0.0); 4];
            Side {
                name: who.name(),
                who,
                line: String::new(),
                start_s: 0.0,
                iops: stats::figure(&[iops; 4]),
                cpu_per_io_us: stats::figure(&[cpu; 4]),
                system_per_io_us: stats::figure(&[cpu; 4]),
                samples,
            }
        };
        let fio = |engine| Who::Fio(Candidate { engine, batch: 1, whole: false });
        let sides = vec![
            side(Who::Fathom("auto".into()), 100.0, 1.0),
            side(fio(Engine::IoUring), 100.0, 4.0),
            side(fio(Engine::Libaio), 90.0, 2.0),
        ];
        let target = Target::example();
        let (access, mix) = (crate::case::Access::Uniform, crate::case::Mix::Reads);
        let case = Case { target: target.name.clone(), access, mix, depth: 32 };
        let outcome = judge(&case, &target, Vec::new(), sides).unwrap();
        assert_eq!((outcome.cpu.ratio.median, outcome.iops.ratio.median), (Some(0.5), Some(1.0)));
        assert_eq!(
            (outcome.cpu.word, outcome.iops.word),
            (Some(goal::Word::Reached), Some(goal::Word::Reached))
        );
        assert!(judge(&case, &target, Vec::new(), Vec::new()).is_err());
    }
}
