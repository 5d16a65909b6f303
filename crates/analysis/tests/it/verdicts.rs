//! Comparisons and their verdicts.

use analysis::analyse;
use results::model::AskedMetric;
use stats::Verdict;
use units::Test;

#[test]
fn only_what_is_asked_gets_a_verdict_and_it_rests_on_the_corrected_p() {
    let analysis = analyse(&fixture::result());
    let answers: Vec<_> = analysis.comparisons.iter().filter(|c| c.is_asked_about()).collect();
    let metrics: Vec<_> = answers.iter().map(|c| c.metric.as_str()).collect();
    assert_eq!(
        metrics,
        ["iops", "latency_p99_ns", "cpu_per_io_us"],
        "in the order of the questions"
    );
    for comparison in &answers {
        assert_eq!(comparison.verdict, Some(Verdict::Worse), "{comparison:?}");
        assert!(comparison.p.unwrap() <= comparison.p_adjusted.unwrap());
        assert_eq!((comparison.base.as_str(), comparison.new.as_str()), ("plain", "vdo"));
    }
    assert!((answers[0].ratio.unwrap() - 0.38).abs() < 0.02);
    // Rates and CPU are paired and far beyond doubt; the tail comes last and is compared by ranks, so it takes nothing.
    assert_eq!(
        answers.iter().map(|c| c.test).collect::<Vec<_>>(),
        [Test::Paired, Test::Ranked, Test::Paired]
    );
    let (p, adjusted): (Vec<_>, Vec<_>) =
        answers.iter().map(|c| (c.p.unwrap(), c.p_adjusted.unwrap())).unzip();
    assert!((p[1] - 2.0 / 252.0).abs() < 1e-12 && adjusted[1] == p[1], "{p:?} {adjusted:?}");
    assert!((adjusted[0] / p[0] - 2.0).abs() < 1e-9 && adjusted[2] <= 3.0 * p[2]);
    for comparison in analysis.comparisons.iter().filter(|c| !c.is_asked_about()) {
        assert_eq!((comparison.verdict, comparison.p_adjusted), (None, None));
        assert!(comparison.p.is_some() && comparison.scope.as_layer().is_none(), "{comparison:?}");
    }
    assert!(analysis.comparisons.len() > 6);
}

#[test]
fn a_percentile_with_few_ios_beyond_it_gets_no_verdict_and_takes_no_power_from_the_others() {
    let mut result = fixture::result();
    let loads = result.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
    let loads = loads.flat_map(|record| &mut record.stages).filter_map(|stage| stage.load.as_mut());
    loads.flat_map(|load| load.operations.values_mut()).for_each(|operation| operation.ios = 999);
    let analysis = analyse(&result);
    let of = |metric: &str| analysis.comparisons.iter().find(|c| c.metric == metric).unwrap();
    let p99 = of("latency_p99_ns");
    assert_eq!(p99.verdict, Some(Verdict::Unclear));
    assert!(p99.method.contains("fewer than 10 I/Os"), "{}", p99.method);
    assert!(p99.ratio.is_some() && p99.p_adjusted.is_none());
    assert_eq!(of("iops").verdict, Some(Verdict::Worse));
}

#[test]
fn no_ratio_is_made_to_a_count_or_a_rate_of_nearly_nothing() {
    let mut result = fixture::result();
    for cell in &mut result.cells {
        let vdo = cell.entry.variant == "vdo";
        let record = cell.record.as_mut().unwrap();
        for stage in record.stages.iter_mut().filter(|stage| stage.measured) {
            let flushes = if vdo { 16_602.0 } else { 1.0 };
            let data = stage.layers.entry("data".to_owned()).or_default();
            data.insert("device_flushes".to_owned(), Some(flushes));
            data.insert(
                "device_write_size_bytes".to_owned(),
                Some(if vdo { 4096.0 } else { 2048.0 }),
            );
            let operations = stage.load.iter_mut().flat_map(|load| load.operations.values_mut());
            operations.filter(|_| !vdo).for_each(|operation| operation.ios = 9);
        }
    }
    let analysis = analyse(&result);
    let of = |metric: &str| analysis.comparisons.iter().find(|c| c.metric == metric).unwrap();
    for metric in ["device_flushes", "iops"] {
        let c = of(metric);
        assert_eq!((c.ratio, c.low, c.high), (None, None, None), "{c:?}");
        assert!(c.difference.is_some() && c.method.contains("nearly nothing"), "{}", c.method);
    }
    let size = of("device_write_size_bytes");
    assert!(
        size.ratio.is_some_and(|ratio| (ratio - 2.0).abs() < 1e-9),
        "small by nature: {size:?}"
    );
    assert_eq!(of("device_flushes").difference.map(|of| of.value), Some(16_601.0));
    assert_eq!(
        of("iops").verdict,
        Some(Verdict::Better),
        "thousands of I/Os against 9 are not chance"
    );
    assert!(of("latency_p50_ns").ratio.is_some());
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
    let answers: Vec<_> = analysis.comparisons.iter().filter(|c| c.is_asked_about()).collect();
    assert_eq!(answers.len(), 6);
    // The two tails are the last of six claims.
    let tails: Vec<_> = answers.iter().filter(|c| c.test == Test::Ranked).collect();
    assert_eq!(tails.len(), 2);
    assert!(tails.iter().all(|c| (c.p_adjusted.unwrap() - 4.0 / 252.0).abs() < 1e-12));
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
fn four_runs_a_side_decide_nothing() {
    let analysis = analyse(&fixture::with(4, 7_600.0));
    let answers: Vec<_> = analysis.comparisons.iter().filter(|c| c.is_asked_about()).collect();
    assert!(answers.iter().all(|c| c.verdict == Some(Verdict::Unclear)));
    assert!(answers.iter().all(|c| c.repeats_that_would_decide.is_none()));
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

#[test]
fn a_repeat_with_a_failed_cell_is_left_out_of_both_sides_and_told() {
    let mut result = fixture::with(6, 7_600.0);
    let failed = result.cells.iter_mut().find(|c| c.entry.variant == "vdo" && c.entry.repeat == 2);
    failed.unwrap().record.as_mut().unwrap().state = results::model::CellState::Failed;
    let whole = analyse(&fixture::with(6, 7_600.0));
    let analysis = analyse(&result);
    assert_eq!((whole.comparisons[0].n, whole.comparisons[0].dropped), (6, 0));
    for comparison in analysis.comparisons.iter().filter(|c| c.is_asked_about()) {
        assert_eq!((comparison.n, comparison.dropped), (5, 1), "{comparison:?}");
        assert_eq!(comparison.verdict, Some(Verdict::Worse));
    }
}

#[test]
fn failed_operations_on_one_side_alone_are_a_difference_with_a_verdict() {
    let mut result = fixture::result();
    result.manifest.plan.questions[0].metric = "errors".into();
    for (place, cell) in result.cells.iter_mut().filter(|c| c.entry.variant == "vdo").enumerate() {
        let stages = &mut cell.record.as_mut().unwrap().stages;
        let load = stages.iter_mut().find(|s| s.measured).unwrap().load.as_mut().unwrap();
        let operation = load.operations.get_mut("randwrite").unwrap();
        operation.errors.insert("EIO".into(), 18 + place as u64);
    }
    let analysis = analyse(&result);
    let errors = analysis.comparisons.iter().find(|c| c.metric == "errors").unwrap();
    assert_eq!((errors.ratio, errors.verdict), (None, Some(Verdict::Worse)));
    assert_eq!(errors.difference.unwrap().value, 20.0);
}

/// The made-up result as a run of as many repeats as are needed, looked at after five and eight.
fn sequential(repeats: u32) -> results::ResultSet {
    let mut result = fixture::with(repeats, 7_600.0);
    let planned = results::model::SequentialFacts { looks: vec![5, 8, 12], time: None };
    result.manifest.plan.sequential = Some(planned);
    result
}

#[test]
fn a_run_of_as_many_repeats_as_are_needed_is_judged_by_the_border_of_its_looks() {
    let answers = |repeats: u32| -> Vec<_> {
        let analysis = analyse(&sequential(repeats));
        analysis
            .comparisons
            .into_iter()
            .filter(analysis::MetricComparison::is_asked_about)
            .collect()
    };
    let five = answers(5);
    let decided: Vec<_> = five.iter().map(|c| (c.metric.as_str(), c.decided_after)).collect();
    // With three questions five repeats have no interval by ranks: the tail is decided later.
    let expected = [("iops", Some(5)), ("latency_p99_ns", None), ("cpu_per_io_us", Some(5))];
    assert_eq!(decided, expected);
    assert_eq!(five[1].verdict, Some(Verdict::Unclear));
    let iops = &five[0];
    assert!((iops.p_adjusted.unwrap() / iops.p.unwrap() - 3.0 * 0.05 / 0.0135).abs() < 1e-6);
    assert!(iops.method.contains("divided among 3 claims; decided after 5"), "{}", iops.method);
    let eight = answers(8);
    let after: Vec<_> = eight.iter().map(|c| c.decided_after).collect();
    assert_eq!(after, [Some(5), Some(8), Some(5)]);
    assert!(eight.iter().all(|c| c.verdict == Some(Verdict::Worse) && c.n == 8));
    // What nobody asks about is compared as ever.
    let analysis = analyse(&sequential(5));
    let others = analysis.comparisons.iter().filter(|c| !c.is_asked_about());
    assert!(others.into_iter().all(|c| !c.method.contains("sequential")));
}

#[test]
fn a_figure_that_the_command_of_one_variant_alone_printed_is_unclear_and_not_silent() {
    let mut result = fixture::with_picked_figures(5);
    let lacking = result.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo");
    for record in lacking.filter_map(|cell| cell.record.as_mut()) {
        for command in record.stages.iter_mut().filter_map(|stage| stage.command.as_mut()) {
            command.figures = [("others".to_owned(), 1.0)].into();
        }
    }
    let analysis = analyse(&result);
    let files = analysis.comparisons.iter().find(|c| c.metric == "files").unwrap();
    assert_eq!((files.verdict, files.ratio, files.n), (Some(Verdict::Unclear), None, 0));
    assert_eq!(files.method, "only plain has values");
    // Layers that only one side has are not compared.
    let both = analyse(&fixture::result());
    assert!(both.comparisons.iter().all(|c| !c.method.starts_with("only ")));
}

#[test]
fn runs_that_stand_apart_keep_a_tail_unclear_and_are_named_by_their_cells() {
    let mut result = fixture::with(12, 20_000.0);
    let mut cells = Vec::new();
    for cell in &mut result.cells {
        let slow = cell.entry.variant == "vdo" && [3, 7, 10].contains(&cell.entry.repeat);
        if slow {
            cells.push((cell.entry.repeat, cell.entry.index + 1));
        }
        let stages = cell.record.iter_mut().flat_map(|record| &mut record.stages);
        for load in stages.filter_map(|stage| stage.load.as_mut()) {
            for operation in load.operations.values_mut() {
                let Some(latency) = &mut operation.latency else { continue };
                latency.p99_ns = if slow { 50_000_000 } else { 5_000_000 };
            }
        }
    }
    let analysis = analyse(&result);
    let p99 = |c: &&analysis::MetricComparison| c.metric == "latency_p99_ns" && c.is_asked_about();
    let p99 = analysis.comparisons.iter().find(p99).unwrap();
    assert_eq!(p99.verdict, Some(Verdict::Unclear), "{p99:?}");
    let named: Vec<_> = p99.apart.iter().map(|run| (run.repeat, run.cell)).collect();
    assert_eq!(named, cells);
    assert!(p99.apart.iter().all(|run| run.variant == "vdo"));
}

/// The result with `change` made to every measured operation.
fn changed(change: impl Fn(&mut results::model::OperationSummary)) -> results::ResultSet {
    let mut result = fixture::result();
    let loads = result.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
    let loads = loads.flat_map(|record| &mut record.stages).filter_map(|stage| stage.load.as_mut());
    loads.flat_map(|load| load.operations.values_mut()).for_each(change);
    result
}

fn asking(metric: &str, operation: Option<&str>) -> AskedMetric {
    let mut question = fixture::result().manifest.plan.questions[0].clone();
    (question.metric, question.operation) = (metric.to_owned(), operation.map(str::to_owned));
    question
}

#[test]
fn where_no_io_ran_nothing_was_measured_and_no_word_is_given_but_unclear() {
    let mut result = changed(|operation| {
        (operation.ios, operation.bytes, operation.latency) = (0, 0, None);
        operation.histogram = None;
    });
    let ids = ["iops", "throughput_bytes_per_s", "errors", "latency_p50_ns"];
    result.manifest.plan.questions = ids.iter().map(|id| asking(id, None)).collect();
    let analysis = analyse(&result);
    for id in ids {
        let of: Vec<_> = analysis.comparisons.iter().filter(|c| c.metric == id).collect();
        let [one] = of[..] else { panic!("{id}: {of:?}") };
        assert_eq!((one.verdict, one.n), (Some(Verdict::Unclear), 0), "{one:?}");
        assert!(one.unmeasured() && one.method.starts_with("not measured"), "{one:?}");
        let figure = analysis.variants[0].figure(&one.scope, id).unwrap();
        assert_eq!((figure.median, figure.n), (None, 0), "{id}");
    }
}

#[test]
fn that_no_io_failed_is_the_same_only_of_ios_that_were_tried() {
    let mut result = fixture::result();
    result.manifest.plan.questions = vec![asking("errors", None)];
    assert_eq!(analyse(&result).comparisons[0].verdict, Some(Verdict::Same));
    let mut failed = changed(|operation| {
        operation.ios = 0;
        operation.errors = [("EIO".to_owned(), 5)].into();
    });
    failed.manifest.plan.questions = vec![asking("errors", None), asking("iops", None)];
    let words: Vec<_> =
        analyse(&failed).comparisons.iter().take(2).map(|c| (c.n, c.verdict.unwrap())).collect();
    assert_eq!(words, [(5, Verdict::Unclear), (5, Verdict::Unclear)]);
}

#[test]
fn a_rate_of_few_ios_is_not_called_the_same() {
    let mut result = changed(|operation| (operation.ios, operation.bytes) = (1, 4096));
    let ids = ["iops", "throughput_bytes_per_s"];
    result.manifest.plan.questions = ids.iter().map(|id| asking(id, None)).collect();
    let analysis = analyse(&result);
    for id in ids {
        let one = analysis.comparisons.iter().find(|c| c.metric == id).unwrap();
        assert_eq!(one.verdict, Some(Verdict::Unclear), "{one:?}");
        assert!(one.few_beyond && one.method.contains("fewer than 10 I/Os"), "{}", one.method);
    }
}

#[test]
fn what_is_asked_and_no_run_has_is_asked_and_not_answered() {
    let mut result = fixture::result();
    result.manifest.plan.questions =
        vec![asking("iops", None), asking("iops", Some("randread")), asking("elapsed_s", None)];
    let analysis = analyse(&result);
    let answers: Vec<_> = analysis.comparisons.iter().filter(|c| c.is_asked_about()).collect();
    let found: Vec<_> =
        answers.iter().map(|c| (c.metric.as_str(), c.scope.name(), c.unmeasured())).collect();
    let expected = [
        ("iops", "randwrite".to_owned(), false),
        ("iops", "randread".to_owned(), true),
        ("elapsed_s", "command".to_owned(), true),
    ];
    assert_eq!(found, expected);
    assert!(answers[1..].iter().all(|c| c.verdict == Some(Verdict::Unclear)), "{answers:?}");
    let across = analysis::across(&result, &result);
    let lacks = across.rows.iter().filter(|row| row.comparison.unmeasured());
    assert_eq!(lacks.count(), 4, "two questions of two variants");
}

#[test]
fn medians_beside_a_ratio_are_of_the_runs_that_are_compared() {
    let (old, mut new) = (fixture::with(9, 7_600.0), fixture::with(12, 7_600.0));
    // Repeats that the other result does not have.
    for cell in new.cells.iter_mut().filter(|cell| cell.entry.repeat > 9) {
        let record = cell.record.as_mut().unwrap();
        let loads = record.stages.iter_mut().filter_map(|stage| stage.load.as_mut());
        loads.for_each(|load| load.duration_ns *= 100);
    }
    let alone = analysis::across(&old, &fixture::with(9, 7_600.0));
    let across = analysis::across(&old, &new);
    let iops = |across: &analysis::Across| {
        let mut rows = across.rows.iter().filter(|row| row.comparison.metric == "iops");
        let row = rows.next().unwrap();
        (row.old.median, row.new.median, row.runs.1)
    };
    let (old, median, runs) = iops(&across);
    assert_eq!((old, median), (iops(&alone).0, iops(&alone).1));
    assert_eq!((runs, across.rows[0].new.n), (12, 9));
}

#[test]
fn what_moves_no_bytes_has_no_throughput() {
    let result = changed(|operation| operation.bytes = 0);
    let analysis = analyse(&result);
    let scope = analysis::Scope::operation("randwrite");
    let of = |id: &str| analysis.variants[0].figure(&scope, id).unwrap().median;
    assert!(of("iops").is_some() && of("throughput_bytes_per_s").is_none());
}
