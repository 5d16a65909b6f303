//! Conditions that the method must meet in simulations, in addition to those on verdicts: changes within a run, steady states, effects of factors.

use stats::factorial::{Factor, effects};
use stats::simulated_looks;
use stats::simulated_tails::Tails;
use stats::simulation::{Factorial, Series};
use stats::{Course, LEAST_RESULTS, SteadyRule, Trend, Verdict, course, trend};
use units::{Better, Seed};

use crate::verdicts::{ENOUGH, Met, slack};

/// One figure of simulated series or experiments, with the bound on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Acceptance {
    /// The simulation, and the quantity that is counted in it.
    pub what: String,
    /// The result: a share, or a level.
    pub found: f64,
    /// The bound that was wanted before it was measured.
    pub wanted: Bound,
    /// The value that is reached where the wanted bound is missed, and the reason.
    pub limit: Option<(f64, &'static str)>,
    /// Number of simulations behind the result; 0 where these are so many that the bound counts as it stands.
    pub times: u32,
}

/// The bound on a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// The figure may be at most this.
    Most(f64),
    /// The figure must be at least this.
    Least(f64),
}

impl Acceptance {
    /// Returns the allowance for chance that is added to a bound.
    fn slack(&self, bound: f64) -> f64 {
        if self.times == 0 { 0.0 } else { slack(bound, self.times) }
    }

    /// Compares the result with the bound, and with the known limit.
    pub fn met(&self) -> Met {
        let within = |bound: f64| match self.wanted {
            Bound::Most(_) => self.found <= bound + self.slack(bound),
            Bound::Least(_) => self.found >= bound - self.slack(bound),
        };
        let (Bound::Most(bound) | Bound::Least(bound)) = self.wanted;
        match self.limit {
            _ if within(bound) => Met::Wanted,
            Some((limit, _)) if within(limit) => Met::Limit,
            _ => Met::Missed,
        }
    }
}

/// Measures all conditions, each from a quarter of `experiments` simulations: a series takes longer than an experiment.
pub fn acceptances(experiments: u32, seed: Seed) -> Vec<Acceptance> {
    let times = experiments.div_ceil(4);
    let mut all = steps(times, seed);
    all.extend(steady(times, seed));
    all.extend(factors(times, seed));
    // Each is a series that is tested again after every result.
    let few = times.div_ceil(2);
    let by_chance = |times: u32| if experiments >= ENOUGH { 0 } else { times };
    all.extend(tails(times, seed));
    let counted = |one: Acceptance, times: u32| Acceptance { times: by_chance(times), ..one };
    let mut all: Vec<_> = all.into_iter().map(|one| counted(one, times)).collect();
    all.extend(trends(few, seed).into_iter().map(|one| counted(one, few)));
    all
}

fn accepted(what: &str, found: f64, wanted: Bound) -> Acceptance {
    Acceptance { what: what.to_owned(), found, wanted, limit: None, times: 0 }
}

/// Returns the share of series for which `so` holds.
fn share(series: Series, times: u32, seed: Seed, so: impl Fn(&[f64]) -> bool) -> f64 {
    let mut rng = seed.generator();
    let count = (0..times).filter(|_| so(&series.draw(&mut rng))).count();
    count as f64 / f64::from(times)
}

fn steps(times: u32, seed: Seed) -> Vec<Acceptance> {
    let at = |values: &[f64]| match course(values) {
        Some(Course::Step(step)) => Some(step),
        _ => None,
    };
    let flat = Series { values: 60, spread: 0.05, carry: 0.0, change: None };
    let half = |carry: f64, level: f64| Series { carry, change: Some((30, level)), ..flat };
    let found = |series: Series| share(series, times, seed, |v| at(v).is_some());
    let fifth = half(0.0, 0.8);
    let near = |v: &[f64]| at(v).is_some_and(|step| step.at.abs_diff(30) <= 1);
    let held = |v: &[f64]| at(v).is_some_and(|step| step.low <= 30 && 30 <= step.high);
    let mut all: Vec<Acceptance> = [(0.0, 0.01), (0.5, 0.01), (0.8, 0.08)]
        .map(|(carry, most)| {
            let what = format!("no step, correlation {carry}: a step is found");
            accepted(&what, found(Series { carry, ..flat }), Bound::Most(most))
        })
        .into();
    all.extend([
        accepted("a drop of 20 %: it is found", found(fifth), Bound::Least(0.97)),
        accepted(
            "within one interval of where it is",
            share(fifth, times, seed, near),
            Bound::Least(0.9),
        ),
        accepted(
            "its place is in the 95 % interval",
            share(fifth, times, seed, held),
            Bound::Least(0.93),
        ),
        accepted(
            "a drop of 10 %, correlation 0.3: it is found",
            found(half(0.3, 0.9)),
            Bound::Least(0.85),
        ),
    ]);
    all
}

fn steady(times: u32, seed: Seed) -> Vec<Acceptance> {
    let rule = SteadyRule { window: 60, slope_percent: 5.0, spread_percent: 10.0 };
    let noise = Series { values: 600, spread: 0.09, carry: 0.3, change: None };
    let soon = |v: &[f64]| rule.settled_after(v).is_some_and(|after| after <= 85);
    // Decays from 2 to 1 with this time constant: returns how far the window in which it settled lay above the end.
    let above = |time: f64| {
        let level = |at: usize| 1.0 + (-(at as f64) / time).exp();
        let mut rng = seed.generator();
        let over = (0..times).filter_map(|_| {
            let noise = noise.draw(&mut rng);
            let values: Vec<f64> = noise.iter().enumerate().map(|(at, v)| v * level(at)).collect();
            let end = rule.settled_after(&values)?;
            Some((end - rule.window..end).map(level).sum::<f64>() / rule.window as f64 - 1.0)
        });
        over.collect::<stats::Sorted>().median().unwrap_or(f64::NAN)
    };
    vec![
        accepted(
            "steady 5%:60s, flat, spread 9 %, correlation 0.3: settled within 85 s",
            share(noise, times, seed, soon),
            Bound::Least(0.95),
        ),
        accepted(
            "decay from 2 to 1 in 20 s: settled above the end by",
            above(20.0),
            Bound::Most(0.03),
        ),
        Acceptance {
            limit: Some((
                0.115,
                "a line over a minute of such values wavers by 4.5 %: a decay that is slower than the window looks alike, so the drift is reported",
            )),
            ..accepted("in 60 s", above(60.0), Bound::Most(0.11))
        },
    ]
}

fn factors(times: u32, seed: Seed) -> Vec<Acceptance> {
    let shapes = [Factor { levels: 2, ordered: false }; 3];
    let share = |simulated: Factorial, so: &dyn Fn(&[Verdict]) -> bool| {
        let mut rng = seed.generator();
        let count = (0..times).filter(|_| {
            let Some(mut all) = effects(&shapes, &simulated.draw(3, &mut rng), 0.03) else {
                return false;
            };
            stats::judge_together(&mut [], &mut [(&mut all, Better::Higher)]);
            so(&all.effects.iter().map(|effect| effect.verdict).collect::<Vec<_>>())
        });
        count.count() as f64 / f64::from(times)
    };
    let one = Factorial { spread: 0.02, blocks: 0.05, ratios: [1.1, 1.0, 1.0], all: 1.0 };
    let border = Factorial { ratios: [1.03; 3], all: 1.03, ..one };
    let found = share(one, &|verdicts| verdicts.first() == Some(&Verdict::Better));
    let any = share(border, &|verdicts| verdicts.iter().any(|v| *v != Verdict::Unclear));
    let looked = simulated_looks::any_false_verdict(border, times, seed);
    vec![
        accepted(
            "three factors in three repeats, spread 2 %: an effect of 1.10 is found",
            found,
            Bound::Least(0.99),
        ),
        accepted("all six effects at 1.03: any verdict", any, Bound::Most(0.055)),
        accepted(
            "the same and seven comparisons, looked at while repeats come in: any false verdict",
            looked,
            Bound::Most(0.055),
        ),
    ]
}

/// Outliers among the runs of a tail: with them no verdict is given, without them few are refused.
fn tails(times: u32, seed: Seed) -> Vec<Acceptance> {
    let mut all = Vec::new();
    for (runs, bad) in [(8, 1), (12, 3), (27, 9)] {
        let shares = Tails::Some(bad).shares(runs, times, seed);
        let what = format!("p99 ten times larger in {bad} of {runs} runs: same or better");
        all.push(accepted(&what, shares.given, Bound::Most(0.0)));
    }
    let fifth = Tails::OfNew(0.2).shares(12, times, seed);
    let what = "in every fifth run of one side, 12 runs: same or better although some came up";
    all.push(accepted(what, fifth.wrong, Bound::Most(0.0)));
    for (name, tails, most) in [
        ("normal", Tails::Normal, 0.002),
        ("skewed", Tails::Skewed, 0.02),
        ("heavy tails", Tails::HeavyTailed, 0.02),
    ] {
        for runs in [5, 12] {
            let what =
                format!("{name}, {runs} runs: a verdict is refused for runs that stand apart");
            all.push(accepted(&what, tails.shares(runs, times, seed).refused, Bound::Most(most)));
        }
    }
    for (runs, most) in [(8, 0.12), (12, 0.12), (27, 0.12)] {
        let what = format!("in every fifth run of both sides, {runs} runs: a verdict is refused");
        let shares = Tails::OfBoth(0.2).shares(runs, times, seed);
        all.push(accepted(&what, shares.refused, Bound::Most(most)));
    }
    all
}

/// A series of results that is tested again after each of them.
fn trends(times: u32, seed: Seed) -> Vec<Acceptance> {
    let mut rng = seed.derive("trends").generator();
    // Results with correlation `carry`; `change` is the number of results before a change and its size in standard deviations.
    let mut share = |carry: f64, change: Option<(usize, f64)>, results: usize| {
        let series = Series { values: results, spread: 1.0, carry, change: None };
        let level = |at: usize| change.map_or(0.0, |(from, by)| if at < from { 0.0 } else { by });
        let is_found = |_: &u32| {
            let noise = series.draw(&mut rng).into_iter().map(|value| (value / 100.0).ln());
            let all: Vec<f64> = noise.enumerate().map(|(at, one)| one + level(at)).collect();
            let changes = |n: usize| matches!(trend(&all[..n], 0.0, seed), Trend::Changes(all) if !all.is_empty());
            (change.map_or(LEAST_RESULTS, |(from, _)| from + 1)..=results).any(changes)
        };
        let count = (0..times).filter(is_found).count();
        count as f64 / f64::from(times.max(1))
    };
    let mut all = Vec::new();
    for carry in [0.0, 0.15, 0.25, 0.35, 0.5] {
        let what =
            format!("100 results of one level, correlation {carry}, tested after each: any change");
        all.push(Acceptance {
            limit: (carry > 0.3).then_some((
                0.08,
                "so few results hardly know how much they follow each other: more caution would hide real changes",
            )),
            ..accepted(&what, share(carry, None, 100), Bound::Most(0.055))
        });
    }
    for (before, deviations, after, least) in
        [(30, 3.0, 8, 0.8), (30, 4.0, 4, 0.8), (60, 2.0, 15, 0.8)]
    {
        let what = format!(
            "a change of {deviations} deviations after {before}: told within {after} results"
        );
        let change = Some((before, deviations));
        all.push(accepted(&what, share(0.0, change, before + after), Bound::Least(least)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_met_or_a_known_limit_in_a_short_form_too() {
        for one in acceptances(2_000, Seed(18)) {
            assert_ne!(one.met(), Met::Missed, "{one:?}");
        }
    }
}
