//! Comparisons and the sentence made of them.

use analysis::{analyse, verdict_sentence};
use results::fixture;
use results::model::{Accelerator, AskedMetric, CellState};
use stats::Verdict;

#[test]
fn only_what_is_asked_gets_a_verdict_and_it_rests_on_the_corrected_p() {
    let analysis = analyse(&fixture::result());
    let asked: Vec<_> = analysis.comparisons.iter().filter(|c| c.asked()).collect();
    let metrics: Vec<_> = asked.iter().map(|c| c.metric.as_str()).collect();
    assert_eq!(
        metrics,
        ["iops", "latency_p99_ns", "cpu_per_io_us"],
        "in the order of the questions"
    );
    for comparison in &asked {
        assert_eq!(comparison.verdict, Some(Verdict::Worse), "{comparison:?}");
        assert!((comparison.p.unwrap() - 2.0 / 252.0).abs() < 1e-12);
        assert!((comparison.p_adjusted.unwrap() - 6.0 / 252.0).abs() < 1e-12);
        assert_eq!((comparison.base.as_str(), comparison.new.as_str()), ("plain", "vdo"));
    }
    assert!((asked[0].ratio.unwrap() - 0.38).abs() < 0.02);
    for comparison in analysis.comparisons.iter().filter(|c| !c.asked()) {
        assert_eq!((comparison.verdict, comparison.p_adjusted), (None, None));
        assert!(comparison.p.is_some() && comparison.scope.as_layer().is_none(), "{comparison:?}");
    }
    assert!(analysis.comparisons.len() > 6);
}

#[test]
fn two_new_variants_share_one_correction() {
    let mut result = fixture::result();
    let mut third = result.manifest.plan.variants[1].clone();
    third.name = "vdo again".into();
    result.manifest.plan.variants.push(third);
    let mut cells: Vec<_> = result.cells_of("vdo").cloned().collect();
    cells.iter_mut().for_each(|cell| cell.entry.variant = "vdo again".into());
    result.cells.extend(cells);
    let analysis = analyse(&result);
    let asked: Vec<_> = analysis.comparisons.iter().filter(|c| c.asked()).collect();
    assert_eq!(asked.len(), 6);
    assert!(asked.iter().all(|c| (c.p_adjusted.unwrap() - 12.0 / 252.0).abs() < 1e-12));
    let sentence = verdict_sentence(&analysis);
    assert!(sentence.contains("vdo wrote at") && sentence.contains("vdo again wrote at"));
}

#[test]
fn a_seventh_question_gets_no_verdict() {
    let mut result = fixture::result();
    let ids = ["iops", "throughput_bytes_per_s", "latency_mean_ns", "latency_min_ns"];
    let more = ["latency_p50_ns", "latency_p99_ns", "latency_p999_ns"];
    result.manifest.plan.questions = ids
        .into_iter()
        .chain(more)
        .map(|id| AskedMetric {
            metric: id.into(),
            stage: None,
            operation: None,
            layer: None,
            threshold: 0.03,
        })
        .collect();
    let analysis = analyse(&result);
    let verdict = |id: &str| analysis.comparisons.iter().find(|c| c.metric == id).unwrap().verdict;
    assert_eq!(analysis.comparisons.iter().filter(|c| c.verdict.is_some()).count(), 6);
    assert_eq!(verdict("latency_p999_ns"), None);
}

#[test]
fn three_runs_a_side_decide_nothing() {
    let analysis = analyse(&fixture::with(3, 7_600.0));
    let asked: Vec<_> = analysis.comparisons.iter().filter(|c| c.asked()).collect();
    assert!(asked.iter().all(|c| c.verdict == Some(Verdict::Unclear)));
    assert!(asked[0].repeats_that_would_decide.is_some());
    let sentence = verdict_sentence(&analysis);
    assert!(
        sentence
            .contains("(unclear, adjusted p = 0.3, about 5 runs a side would decide, 3 + 3 runs)"),
        "{sentence}"
    );
    assert!(sentence.contains(" of plain, range [0."), "{sentence}");
}

#[test]
fn a_bound_at_the_border_is_told_from_the_border() {
    let mut analysis = analyse(&fixture::result());
    analysis.comparisons[0].low = Some(1.026);
    analysis.comparisons[0].high = Some(1.2);
    let sentence = verdict_sentence(&analysis);
    assert!(sentence.contains("[1.026, 1.2]"), "{sentence}");
}

#[test]
fn the_sentence_says_what_differs_how_much_and_how_surely() {
    let mut result = fixture::result();
    result.manifest.simulated = false;
    let sentence = verdict_sentence(&analyse(&result));
    let start = "vdo wrote at 0.39 x the IOPS of plain [0.374, 0.391] (";
    assert!(sentence.starts_with(start), "{sentence}");
    assert!(
        sentence.contains("(worse, adjusted p = 0.024, 5 + 5 runs), had 2.6 x the"),
        "{sentence}"
    );
    let end = "and stored 100 data blocks for every 400 written (75.0 % saved).";
    assert!(sentence.ends_with(end), "{sentence}");
}

#[test]
fn the_sentence_begins_with_what_takes_from_it() {
    let mut result = fixture::result();
    result.manifest.accelerator = Accelerator::Tcg;
    result.incomplete = Some("the run was killed".into());
    let sentence = verdict_sentence(&analyse(&result));
    assert!(sentence.starts_with(
        "Simulated: no figure here was measured. Incomplete: the run was killed. On an emulated CPU, \
         where ratios count and absolute speed does not: vdo wrote"
    ));
}

#[test]
fn equal_runs_are_the_same_within_the_threshold() {
    let mut result = fixture::result();
    let copies: Vec<_> = result.cells_of("plain").cloned().collect();
    for (cell, copy) in result.cells.iter_mut().filter(|c| c.entry.variant == "vdo").zip(copies) {
        cell.record = copy.record;
    }
    let analysis = analyse(&result);
    // The made-up CPU time per I/O has no spread at all, so its interval is the point 1.
    let cpu = analysis.comparisons.iter().find(|c| c.metric == "cpu_per_io_us").unwrap();
    assert_eq!(cpu.verdict, Some(Verdict::Same));
    let sentence = verdict_sentence(&analysis);
    assert!(
        sentence.contains("had 1 x the CPU per I/O of plain (randwrite) [1, 1] (same within 3 %"),
        "{sentence}"
    );
}

#[test]
fn a_single_variant_tells_its_own_figures_and_no_cell_tells_nothing() {
    let mut result = fixture::result();
    result.manifest.simulated = false;
    result.manifest.plan.variants.truncate(1);
    let analysis = analyse(&result);
    assert_eq!(analysis.comparisons, []);
    let sentence = verdict_sentence(&analysis);
    assert!(
        sentence.starts_with("plain wrote at 1") && sentence.ends_with("IOPS (median of 5 runs)."),
        "{sentence}"
    );
    for cell in &mut result.cells {
        cell.record.as_mut().unwrap().state = CellState::Failed;
    }
    assert_eq!(verdict_sentence(&analyse(&result)), "No cell ended well, so there are no figures.");
}
