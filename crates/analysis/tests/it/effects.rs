//! Effects of factors.

use analysis::{FactorEffects, analyse};
use results::read::ResultSet;
use stats::Verdict;

fn iops(result: &ResultSet) -> FactorEffects {
    analyse(result).effects.into_iter().find(|found| found.metric == "iops").unwrap()
}

fn verdicts(found: &FactorEffects) -> Vec<(String, Verdict)> {
    let name = |e: &analysis::FactorEffect| {
        let change = |c: &analysis::LevelChange| format!("{} {}-{}", c.factor, c.from, c.to);
        e.with.as_ref().map_or_else(|| change(&e.of), |w| change(&e.of) + ", " + &change(w))
    };
    found.effects.iter().map(|effect| (name(effect), effect.verdict)).collect()
}

#[test]
fn each_factor_and_each_two_have_effects_and_numbers_are_held_against_their_neighbours() {
    let found = iops(&fixture::crossed(12));
    let expected = [
        ("dedupe off-on", Verdict::Worse),
        ("depth 1-2", Verdict::Better),
        ("depth 2-4", Verdict::Better),
        ("dedupe off-on, depth 1-2", Verdict::Same),
        ("dedupe off-on, depth 2-4", Verdict::Worse),
    ];
    let expected: Vec<_> = expected.iter().map(|(name, v)| ((*name).to_owned(), *v)).collect();
    assert_eq!(verdicts(&found), expected, "{found:?}");
    assert_eq!((found.repeats, found.freedom), (12, 55));
    assert!(found.spread > 0.0, "{found:?}");
    // 0.6, and two thirds of that at the greatest depth: the geometric mean over the depths.
    let ratio = 0.6 * 1.5_f64.powf(-1.0 / 3.0);
    let dedupe = &found.effects[0];
    assert!(dedupe.low < ratio && ratio < dedupe.high, "{dedupe:?}");
    assert!(found.effects[4].low < 1.0 / 1.5 && 1.0 / 1.5 < found.effects[4].high);
}

#[test]
fn levels_of_which_combinations_were_left_out_take_no_part_and_are_named() {
    let mut result = fixture::crossed(3);
    let gone = "dedupe on, depth 4";
    result.manifest.plan.variants.retain(|variant| variant.name != gone);
    result.cells.retain(|cell| cell.entry.variant != gone);
    let found = iops(&result);
    assert_eq!(found.left_out, ["depth 4"]);
    assert_eq!(verdicts(&found).len(), 3);
    assert!(analyse(&fixture::result()).effects.is_empty(), "no factors");
}

#[test]
fn a_repeat_without_one_of_the_cells_is_left_out() {
    let mut result = fixture::crossed(3);
    result.cells[7].record = None;
    let found = iops(&result);
    assert_eq!((found.repeats, found.dropped), (2, 1));
}

#[test]
fn a_percentile_of_few_ios_has_no_effects() {
    let tail = |ios: u64| {
        let mut result = fixture::crossed(12);
        let questions = &mut result.manifest.plan.questions;
        questions[0].metric = "latency_p99_ns".into();
        let records = result.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
        let loads = records.flat_map(|record| &mut record.stages);
        let loads = loads.filter_map(|stage| stage.load.as_mut());
        loads.flat_map(|load| load.operations.values_mut()).for_each(|one| one.ios = ios);
        analyse(&result).effects.iter().filter(|found| found.metric == "latency_p99_ns").count()
    };
    assert!(tail(999) == 0 && tail(1000) > 0);
}

#[test]
fn effects_and_comparisons_are_one_family_of_claims() {
    let result = fixture::crossed(5);
    let found = analyse(&result);
    let answers = found.comparisons.iter().filter(|c| c.is_asked_about() && !c.few_beyond);
    let claims = answers.map(|c| (c.p.unwrap(), c.p_adjusted.unwrap()));
    let effects = found.effects.iter().flat_map(|all| &all.effects);
    let claims = claims.chain(effects.map(|e| (e.p, e.p_adjusted.unwrap())));
    let (p, adjusted): (Vec<f64>, Vec<f64>) = claims.unzip();
    assert_eq!(adjusted, stats::holm(&p));
    assert!(found.effects[0].method.contains("together"), "{}", found.effects[0].method);
    // A run that was looked at while it went on keeps its error for the looks.
    let mut looked = result;
    looked.manifest.plan.sequential =
        Some(results::model::SequentialFacts { looks: vec![5], time: None });
    let found = analyse(&looked);
    let effects: Vec<_> = found.effects.iter().flat_map(|all| &all.effects).collect();
    let answers: Vec<_> = found.comparisons.iter().filter(|c| c.decidable()).collect();
    let claims = effects.len() + answers.len();
    // A part of the error of each look for every claim, of either kind.
    let part = |p: f64| (p * claims as f64 * 0.05 / 0.0135).min(1.0);
    let as_part = |p: f64, adjusted: f64| (adjusted - part(p)).abs() < 1e-12;
    assert!(effects.iter().all(|e| as_part(e.p, e.p_adjusted.unwrap())), "{effects:?}");
    assert!(answers.iter().all(|c| as_part(c.p.unwrap(), c.p_adjusted.unwrap())), "{answers:?}");
    assert!(found.effects[0].method.contains("together"), "{}", found.effects[0].method);
}
