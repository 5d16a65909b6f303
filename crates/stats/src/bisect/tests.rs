//! Bisections of simulated lists, whose truth is known.

use units::{Seed, SplitMix64};

use super::*;
use crate::bootstrap::standard_normal;

/// A machine that measures candidates: how far cells spread, how it drifts, what is wrong with the candidates.
struct Machine {
    rng: SplitMix64,
    /// Standard deviation of a cell's logarithm.
    spread: f64,
    /// The share of its speed that it loses in 100 cells.
    drift: f64,
    /// Standard deviation of the logarithm of its speed from one measurement to the next: neighbours come and go.
    sessions: f64,
    /// Each candidate's speed; `None` for one that cannot run.
    speeds: Vec<Option<f64>>,
    cells: u32,
    session: f64,
}

impl Machine {
    fn new(seed: u64, speeds: impl IntoIterator<Item = f64>) -> Self {
        Self {
            rng: Seed(seed).generator(),
            spread: 0.05,
            drift: 0.0,
            sessions: 0.2,
            speeds: speeds.into_iter().map(Some).collect(),
            cells: 0,
            session: 1.0,
        }
    }

    /// Makes `n` candidates; those from `first` on are slower by `loss`.
    fn slower_from(seed: u64, n: usize, first: usize, loss: f64) -> Self {
        Self::new(seed, (0..n).map(|place| if place < first { 1.0 } else { 1.0 - loss }))
    }

    fn cell(&mut self, place: usize) -> Option<f64> {
        self.cells += 1;
        let noise = (self.spread * standard_normal(&mut self.rng)).exp();
        let drifted = 1.0 - self.drift * f64::from(self.cells) / 100.0;
        Some(1000.0 * self.session * self.speeds[place]? * drifted.max(0.1) * noise)
    }

    fn pair(&mut self, place: usize) -> Pair {
        let good_first = self.rng.below(2) == 0;
        let (good, new) = if good_first {
            let good = self.cell(0);
            (good, self.cell(place))
        } else {
            let new = self.cell(place);
            (self.cell(0), new)
        };
        Some((good?, new?))
    }

    fn bisect(&mut self, bisection: &mut Bisection) -> Outcome {
        loop {
            let (beside, pairs) = match bisection.next() {
                Next::Measure { beside, pairs } => (beside, pairs),
                Next::Ended(outcome) => return outcome,
            };
            assert!(pairs > 0, "{bisection:?}");
            let place = match beside {
                Beside::BadEnd => bisection.candidates - 1,
                Beside::Itself => 0,
                Beside::Candidate(place) => place,
            };
            self.session = (self.sessions * standard_normal(&mut self.rng)).exp();
            let measured: Vec<_> = (0..pairs).map(|_| self.pair(place)).collect();
            bisection.add(beside, measured);
            // Nothing but what is stored is needed to go on.
            let stored = serde_json::to_string(bisection).unwrap();
            *bisection = serde_json::from_str(&stored).unwrap();
        }
    }
}

const RULES: Rules = Rules { better: Better::Higher, threshold: 0.03, most: 27 };

fn bisect(machine: &mut Machine) -> Outcome {
    machine.bisect(&mut Bisection::new(machine.speeds.len(), false, RULES))
}

#[test]
fn a_made_regression_is_named_in_all_of_twenty_lists_of_sixteen() {
    let mut cells = 0;
    for seed in 0..20 {
        let first = 1 + seed as usize % 15;
        let mut machine = Machine::slower_from(seed, 16, first, 0.2);
        assert_eq!(bisect(&mut machine), Outcome::Named(first), "seed {seed}");
        cells += machine.cells;
    }
    assert!(cells < 20 * 120, "{cells} cells");
}

#[test]
fn of_lists_of_equals_none_is_named_in_more_than_one_of_twenty() {
    let named = (0..400).filter(|seed| {
        let outcome = bisect(&mut Machine::slower_from(*seed, 16, 16, 0.0));
        matches!(outcome, Outcome::Named(_) | Outcome::OneOf(_))
    });
    assert!(named.count() <= 20);
}

#[test]
fn a_machine_that_slows_down_over_the_list_misleads_none() {
    for seed in 0..20 {
        let first = 1 + seed as usize % 15;
        let mut machine = Machine::slower_from(seed, 16, first, 0.2);
        machine.drift = 0.1;
        assert_eq!(bisect(&mut machine), Outcome::Named(first), "seed {seed}");
        let mut equals = Machine::slower_from(seed, 16, 16, 0.0);
        equals.drift = 0.1;
        let outcome = bisect(&mut equals);
        assert!(!matches!(outcome, Outcome::Named(_) | Outcome::OneOf(_)), "{seed}: {outcome:?}");
    }
}

#[test]
fn a_drift_alone_would_mislead_who_measures_each_candidate_alone() {
    // A check of the checks above: without the good end next to each candidate, this machine's drift looks like a slower candidate.
    let mut machine = Machine::slower_from(3, 16, 16, 0.0);
    (machine.drift, machine.sessions, machine.spread) = (0.3, 0.0, 0.01);
    let mut alone = |place| (0..10).map(|_| machine.cell(place).unwrap()).sum::<f64>();
    let (good, later) = (alone(0), alone(15));
    assert!(later < 0.98 * good, "{good} {later}");
}

#[test]
fn a_step_on_the_border_itself_errs_in_no_more_than_five_of_a_hundred() {
    let count = |place: f64| {
        let mut rng = Seed(7).generator();
        let mut bad = [0; 3];
        for _ in 0..2_000 {
            let mut pairs: Vec<Pair> = Vec::new();
            while RULES.read(&pairs, 0.1).word == Decision::Open {
                let more = RULES.missing(pairs.len());
                let pair = |_| Some((1.0, (-place - 0.07 * standard_normal(&mut rng)).exp()));
                pairs.extend((0..more).map(pair));
            }
            match RULES.read(&pairs, 0.1).word {
                Decision::Good => bad[0] += 1,
                Decision::Bad => bad[1] += 1,
                _ => bad[2] += 1,
            }
        }
        bad
    };
    let [good, bad, _] = count(0.1);
    assert!(good + bad <= 100, "{good} good, {bad} bad of 2000");
    // If a candidate equals one of the ends, hardly any step errs, and nearly all are decided.
    let [_, bad, unclear] = count(0.0);
    assert!(bad <= 2 && unclear <= 20, "{bad} bad, {unclear} unclear");
    let [good, _, unclear] = count(0.2);
    assert!(good <= 2 && unclear <= 20, "{good} good, {unclear} unclear");
}

#[test]
fn the_mend_is_named_where_it_is_hunted() {
    for (seed, first_bad) in [(1, 1), (2, 9), (3, 15)] {
        let mut machine = Machine::slower_from(seed, 16, first_bad, 0.3);
        let mut bisection = Bisection::new(16, true, RULES);
        // Counted from the good end: the last good one is the first that is mended.
        assert_eq!(machine.bisect(&mut bisection), Outcome::Named(first_bad - 1));
    }
}

#[test]
fn what_cannot_run_is_passed_over_as_git_does_and_named_with_its_neighbours() {
    let mut machine = Machine::slower_from(1, 9, 6, 0.3);
    machine.speeds[4] = None;
    assert_eq!(bisect(&mut machine), Outcome::Named(6));
    let mut machine = Machine::slower_from(1, 9, 6, 0.3);
    (machine.speeds[5], machine.speeds[4]) = (None, None);
    assert_eq!(bisect(&mut machine), Outcome::OneOf(4..7));
    let mut machine = Machine::slower_from(1, 9, 6, 0.3);
    (machine.speeds[5], machine.speeds[4]) = (None, None);
    let mut mend = Bisection::new(9, true, RULES);
    assert_eq!(machine.bisect(&mut mend), Outcome::OneOf(3..6));
}

#[test]
fn ends_that_cannot_run_are_no_list() {
    let mut machine = Machine::slower_from(1, 4, 2, 0.3);
    machine.speeds[3] = None;
    assert_eq!(bisect(&mut machine), Outcome::NoValues(Beside::BadEnd));
    let mut zero = Machine::new(1, [0.0; 4]);
    assert_eq!(bisect(&mut zero), Outcome::NoValues(Beside::BadEnd));
}

#[test]
fn ends_that_are_alike_the_other_way_round_or_too_near_are_refused() {
    let ends = |speed: f64, spread: f64| {
        let mut machine = Machine::new(5, [1.0, speed, speed]);
        machine.spread = spread;
        bisect(&mut machine)
    };
    assert_eq!(ends(1.0, 0.005), Outcome::Alike);
    assert_eq!(ends(0.98, 0.001), Outcome::Alike);
    assert_eq!(ends(1.3, 0.02), Outcome::Reversed);
    assert_eq!(ends(0.9, 0.6), Outcome::Overlap);
}

#[test]
fn a_machine_on_which_equals_differ_is_refused() {
    let ended = |itself: [f64; 2]| {
        let mut bisection = Bisection::new(3, false, RULES);
        bisection.add(
            Beside::BadEnd,
            [Some((100.0, 60.0)), Some((101.0, 60.0))].repeat(3)[..5].to_vec(),
        );
        let pair = |at: usize| Some((100.0, itself[at % 2]));
        bisection.add(Beside::Itself, (0..27).map(pair));
        bisection.next()
    };
    assert_eq!(ended([60.0, 61.0]), Next::Ended(Outcome::Unsteady));
    assert_eq!(ended([160.0, 161.0]), Next::Ended(Outcome::Unsteady));
    // It spreads so far that nobody can tell.
    assert_eq!(ended([30.0, 300.0]), Next::Ended(Outcome::Unsteady));
    let next = Next::Measure { beside: Beside::Candidate(1), pairs: 5 };
    assert_eq!(ended([99.0, 101.0]), next);
}

#[test]
fn a_figure_of_which_neither_side_is_good_is_bad_where_the_bad_end_lies() {
    for loss in [0.4, -0.6] {
        let mut machine = Machine::slower_from(2, 8, 5, loss);
        let rules = Rules { better: Better::Neither, ..RULES };
        let mut bisection = Bisection::new(8, false, rules);
        assert_eq!(machine.bisect(&mut bisection), Outcome::Named(5));
    }
}

#[test]
fn counts_that_never_change_are_decided_by_the_first_five_pairs() {
    let mut machine = Machine::slower_from(2, 16, 11, 0.1);
    (machine.spread, machine.sessions) = (0.0, 0.0);
    let mut bisection = Bisection::new(16, false, RULES);
    assert_eq!(machine.bisect(&mut bisection), Outcome::Named(11));
    assert_eq!(machine.cells, 10 * 6, "ends, A/A and four steps");
    assert!(bisection.steps.iter().all(|step| bisection.read(step.beside).after == Some(5)));
}

#[test]
fn a_step_that_lost_a_pair_waits_for_the_next_look() {
    let mut pairs: Vec<Pair> = vec![Some((100.0, 50.0)); 8];
    pairs[2] = None;
    assert_eq!(RULES.read(&pairs[..5], 0.1).word, Decision::Open);
    let all = RULES.read(&pairs, 0.1);
    assert_eq!((all.word, all.after, all.pairs), (Decision::Bad, Some(8), 7));
    // With fewer allowed than the next look it cannot be decided.
    let five = Rules { most: 5, ..RULES };
    assert_eq!(five.read(&pairs[..5], 0.1).word, Decision::Unclear);
}
