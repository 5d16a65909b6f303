//! Decisions from a case's runs: which contestants take part in the repeats, and how ours compares with fio and with the calls alone.

use stats::Figure;

use crate::BenchError;
use crate::case::Case;
use crate::contest::{Contestant, ContestantKind, Sample};
use crate::floor::{PLAIN, RING};
use crate::goal::{self, Goal};
use crate::outcome::{CaseOutcome, Floor, Ratio, Side, TrialRun};
use crate::repeats::ratio;
use crate::target::Target;

/// Only fio runs with at least this share of the fastest run's IOPS compete on CPU cost: idling is cheap too.
const CHEAP_BUT_FAST: f64 = 0.8;
/// The same where other programs use the CPU, so that IOPS mean little.
const CHEAP_WHILE_DISTURBED: f64 = 0.3;

/// Fathom with the backend that it chooses itself.
pub(crate) fn auto() -> ContestantKind {
    ContestantKind::Fathom("auto".into())
}

/// Fathom with the backend that `auto` chose in the short round.
pub(crate) fn chosen(tried: &[TrialRun]) -> ContestantKind {
    let mine = tried.iter().find(|one| one.who == auto()).and_then(|one| one.sample.as_ref());
    mine.and_then(|sample| sample.reported.backend.clone())
        .map_or_else(auto, ContestantKind::Fathom)
}

/// Returns the fastest fio, and the cheapest of those that are nearly as fast; the next fastest where both are the same.
///
/// Both go into the repeats, so that neither luck in the short round nor the criterion for the best fio favours us.
pub(crate) fn finalists(tried: &[TrialRun]) -> Vec<ContestantKind> {
    let fio = tried.iter().filter(|one| matches!(one.who, ContestantKind::Fio(_)));
    let mut done: Vec<_> = fio.filter_map(|one| Some((&one.who, one.sample.as_ref()?))).collect();
    done.sort_by(|a, b| b.1.reported.iops.total_cmp(&a.1.reported.iops));
    let Some(&(fastest, first)) = done.first() else { return Vec::new() };
    let quiet = done.iter().all(|(_, sample)| !sample.disturbed());
    let share = if quiet { CHEAP_BUT_FAST } else { CHEAP_WHILE_DISTURBED };
    let near = done
        .iter()
        .filter(|(_, s)| s.is_meaningful() && s.reported.iops >= share * first.reported.iops);
    let cheapest = near.min_by(|a, b| a.1.cpu_per_io_us.total_cmp(&b.1.cpu_per_io_us));
    let second = cheapest.map(|(who, _)| *who).filter(|who| *who != fastest);
    let second = second.or_else(|| done.get(1).map(|(who, _)| *who));
    [Some(fastest), second].into_iter().flatten().cloned().collect()
}

/// A contestant with all its runs.
pub(crate) fn side(one: &Contestant, samples: Vec<Sample>) -> Side {
    let figure =
        |get: fn(&Sample) -> f64| stats::figure(&samples.iter().map(get).collect::<Vec<_>>());
    let backend = samples.iter().find_map(|sample| sample.reported.backend.as_deref());
    let name = match (&one.who, backend) {
        (ContestantKind::Floor, Some(backend)) => format!("{} {backend}", one.who.name()),
        _ => one.who.name(),
    };
    Side {
        who: one.who.clone(),
        name,
        line: one.line.to_string(),
        start_s: one.start_s,
        iops: figure(|s| s.reported.iops),
        cpu_per_io_us: figure(|s| s.cpu_per_io_us),
        system_per_io_us: figure(|s| s.system_per_io_us),
        samples,
    }
}

/// Compares ours with the fastest fio in IOPS, with the cheapest in CPU time, and with the calls alone where they ran.
pub(crate) fn judge(
    case: &Case,
    target: &Target,
    tried: Vec<TrialRun>,
    sides: Vec<Side>,
) -> Result<CaseOutcome, BenchError> {
    let ours = sides.iter().find(|side| matches!(side.who, ContestantKind::Fathom(_)));
    let theirs: Vec<_> =
        sides.iter().filter(|side| matches!(side.who, ContestantKind::Fio(_))).collect();
    let (Some(ours), Some(&first)) = (ours, theirs.first()) else {
        let why = tried.iter().find_map(|one| one.error.clone()).unwrap_or_default();
        return Err(BenchError::Output { line: "fio".into(), why });
    };
    let median = |figure: &Figure| figure.median.unwrap_or(f64::NAN);
    let most = theirs.iter().copied().max_by(|a, b| median(&a.iops).total_cmp(&median(&b.iops)));
    let fastest = most.unwrap_or(first);
    let quiet = sides.iter().flat_map(|side| &side.samples).all(|sample| !sample.disturbed());
    let share = if quiet { CHEAP_BUT_FAST } else { CHEAP_WHILE_DISTURBED };
    let quick = |side: &&Side| median(&side.iops) >= share * median(&fastest.iops);
    let cheapest = |get: fn(&Side) -> &Figure| {
        let least = theirs.iter().copied().filter(quick);
        least.min_by(|a, b| median(get(a)).total_cmp(&median(get(b)))).unwrap_or(fastest)
    };
    let (goal, iops) = goal::goals(case, target);
    let cheap = cheapest(|side| &side.cpu_per_io_us);
    let mut cpu = held(ours, cheap, |sample| sample.cpu_per_io_us, Some(goal));
    let floor = sides.iter().find(|side| side.who == ContestantKind::Floor).map(|floor| Floor {
        calls: floor.backend().unwrap_or(PLAIN).to_owned(),
        ours: held(ours, floor, |sample| sample.cpu_per_io_us, None),
        fio: held(floor, cheap, |sample| sample.cpu_per_io_us, None),
    });
    if let (Some(floor), Some(word)) = (&floor, &mut cpu.word)
        && is_limit(&floor.calls, target)
    {
        *word = goal.above_floor(*word, &floor.ours.ratio, &floor.fio.ratio);
    }
    let samples = sides.iter().flat_map(|side| &side.samples);
    let disturbed = samples.clone().filter(|sample| sample.disturbed()).count();
    Ok(CaseOutcome {
        name: case.name(),
        cpu,
        system: held(ours, cheapest(|s| &s.system_per_io_us), |s| s.system_per_io_us, None),
        iops: held(ours, fastest, |s| s.reported.iops, iops),
        floor,
        disturbed: (disturbed, samples.count()),
        case: case.clone(),
        tried,
        sides,
    })
}

/// Tells whether these calls alone are the least that driving `target` with its depth kept can cost. Plain calls are, if the I/O is done within
/// them; a ring is, if the I/O is done later, since each thread of plain calls would then sleep and be woken.
fn is_limit(calls: &str, target: &Target) -> bool {
    calls == if target.later { RING } else { PLAIN }
}

/// Compares a figure of `one` with that of `other`, repeat by repeat. Runs that hardly did more than start are left out.
fn held(one: &Side, other: &Side, get: fn(&Sample) -> f64, goal: Option<Goal>) -> Ratio {
    let values = |side: &Side| -> Vec<_> {
        side.samples.iter().map(|sample| sample.is_meaningful().then(|| get(sample))).collect()
    };
    let ratio = ratio(&values(one), &values(other));
    Ratio { against: other.name.clone(), word: goal.map(|goal| goal.judge(&ratio)), ratio, goal }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReportedFigures;
    use crate::cpu::CpuUse;
    use crate::fio::{Candidate, Engine};
    use crate::goal::GoalVerdict;

    fn sample(iops: f64, cpu_per_io_us: f64, foreign_share: f64) -> Sample {
        let figures = ReportedFigures { ios: 1000, iops, ..ReportedFigures::default() };
        let (used, system_per_io_us) = (CpuUse::default(), cpu_per_io_us);
        Sample { reported: figures, used, cpu_per_io_us, system_per_io_us, foreign_share, again: 0 }
    }

    fn tried(engine: Engine, sample: Option<Sample>) -> TrialRun {
        let who = ContestantKind::Fio(Candidate { engine, batch: 1, whole: false });
        TrialRun { name: who.name(), who, line: String::new(), sample, error: None }
    }

    fn engines(tried: &[TrialRun]) -> Vec<Engine> {
        let finalists = finalists(tried).into_iter();
        finalists
            .map(|who| if let ContestantKind::Fio(c) = who { c.engine } else { Engine::Null })
            .collect()
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
            "IOPS mean little when disturbed"
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
        let one = |who: ContestantKind, backend: Option<&str>| {
            let mut sample = sample(100.0, 1.0, 0.0);
            sample.reported.backend = backend.map(str::to_owned);
            TrialRun {
                name: who.name(),
                who,
                line: String::new(),
                sample: Some(sample),
                error: None,
            }
        };
        let sync = one(ContestantKind::Fathom("io_uring".into()), Some("io_uring"));
        let all = [sync.clone(), one(auto(), Some("libaio"))];
        assert_eq!(chosen(&all), ContestantKind::Fathom("libaio".into()));
        assert_eq!(chosen(&[sync, one(auto(), None)]), auto());
        assert_eq!(chosen(&[]), auto());
    }

    fn one_side(who: ContestantKind, iops: f64, cpu: f64) -> Side {
        side_with(who, None, iops, cpu)
    }

    fn side_with(who: ContestantKind, backend: Option<&str>, iops: f64, cpu: f64) -> Side {
        let mut sample = sample(iops, cpu, 0.0);
        sample.reported.backend = backend.map(str::to_owned);
        let samples = vec![sample; 4];
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
    }

    /// Returns the outcome of a case whose runs took so much CPU time per I/O.
    fn outcome(ours: f64, floor: Option<(f64, &str)>, later: bool) -> CaseOutcome {
        let fio = |engine| ContestantKind::Fio(Candidate { engine, batch: 1, whole: false });
        let mut sides = vec![
            one_side(auto(), 100.0, ours),
            one_side(fio(Engine::IoUring), 100.0, 4.0),
            one_side(fio(Engine::Libaio), 90.0, 2.0),
        ];
        // The floor is faster than either fio, but does not compete as one.
        sides.extend(
            floor.map(|(cpu, calls)| side_with(ContestantKind::Floor, Some(calls), 300.0, cpu)),
        );
        let target = Target { later, ..Target::example() };
        judge(&Case::example(&target), &target, Vec::new(), sides).unwrap()
    }

    #[test]
    fn cpu_is_held_against_the_cheapest_and_iops_against_the_fastest() {
        let outcome = outcome(1.0, None, false);
        assert_eq!((outcome.cpu.ratio.median, outcome.iops.ratio.median), (Some(0.5), Some(1.0)));
        assert_eq!(
            (outcome.cpu.word, outcome.iops.word),
            (Some(GoalVerdict::Reached), Some(GoalVerdict::Reached))
        );
        assert_eq!(outcome.floor, None);
        let target = Target::example();
        assert!(judge(&Case::example(&target), &target, Vec::new(), Vec::new()).is_err());
    }

    #[test]
    fn a_goal_that_the_calls_alone_miss_is_said_to_be_beyond_them_and_never_reached() {
        let found = outcome(1.6, Some((1.5, PLAIN)), false);
        let floor = found.floor.unwrap();
        assert_eq!(floor.calls, PLAIN);
        assert_eq!(
            (floor.fio.ratio.median, floor.fio.against.as_str()),
            (Some(0.75), "fio libaio, batch 1")
        );
        assert!((floor.ours.ratio.median.unwrap() - 1.6 / 1.5).abs() < 1e-9);
        assert_eq!(
            (found.cpu.word, found.iops.against.as_str()),
            (Some(GoalVerdict::BeyondFloor), "fio io_uring, batch 1")
        );
        let word = |ours, floor, later| outcome(ours, Some((floor, PLAIN)), later).cpu.word;
        assert_eq!(
            word(1.6, 1.3, false),
            Some(GoalVerdict::NotReached),
            "plain calls would reach it"
        );
        assert_eq!(word(1.3, 1.5, false), Some(GoalVerdict::Reached), "what is reached is reached");
        assert_eq!(
            word(1.45, 1.5, false),
            Some(GoalVerdict::NotReached),
            "what is beaten is no floor"
        );
        assert_eq!(
            word(1.6, 1.5, true),
            Some(GoalVerdict::NotReached),
            "plain calls are no floor where they sleep"
        );
        let ring = |later| outcome(1.6, Some((1.5, RING)), later);
        assert_eq!(ring(true).cpu.word, Some(GoalVerdict::BeyondFloor));
        assert!(ring(true).verdict().unwrap().contains("io_uring"), "{:?}", ring(true).verdict());
        assert_eq!(
            ring(false).cpu.word,
            Some(GoalVerdict::NotReached),
            "a ring is none where it is punted"
        );
        assert_eq!(
            outcome(1.6, Some((1.5, "libaio")), false).cpu.word,
            Some(GoalVerdict::NotReached)
        );
    }
}
