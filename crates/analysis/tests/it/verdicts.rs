//! Comparisons and their verdicts.

use analysis::analyse;
use results::fixture;
use results::model::AskedMetric;
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
}
