//! Expectations are compared with the figures of one variant, or with the ratio of two within each repeat.

use analysis::{ExpectationOutcome, analyse};
use results::model::{Bound, CellState, ExpectedFigure, FigureName};

fn figure(variant: &str, metric: &str) -> FigureName {
    FigureName {
        metric: metric.into(),
        stage: None,
        operation: None,
        layer: None,
        variant: variant.into(),
    }
}

fn outcome(repeats: u32, bound: Bound, of: Option<FigureName>) -> ExpectationOutcome {
    let mut result = fixture::with(repeats, 7_600.0);
    let figure = figure("vdo", if of.is_some() { "iops" } else { "saving_percent" });
    result.manifest.plan.expectations =
        vec![ExpectedFigure { of, ..ExpectedFigure::new(figure, bound) }];
    analyse(&result).expectations[0].outcome
}

#[test]
fn a_figure_is_met_missed_or_not_there() {
    let near = |value| Bound::Near { value, by: 1.0 };
    assert_eq!(outcome(5, near(75.0), None), ExpectationOutcome::Met);
    assert_eq!(outcome(5, near(60.0), None), ExpectationOutcome::Missed);
    assert_eq!(outcome(1, Bound::Above(74.0), None), ExpectationOutcome::Met);
    assert_eq!(outcome(1, Bound::Below(74.0), None), ExpectationOutcome::Missed);
    let nothing = Some(figure("plain", "saving_percent"));
    assert_eq!(outcome(5, Bound::Above(0.0), nothing), ExpectationOutcome::Unknown);
}

#[test]
fn what_did_not_run_is_told_from_what_has_no_figure() {
    let not_run = ExpectationOutcome::NotRun;
    let nobody = || figure("nobody", "iops");
    assert_eq!(outcome(5, Bound::Above(0.0), Some(nobody())), not_run);
    let mut result = fixture::result();
    result.manifest.plan.expectations = vec![ExpectedFigure::new(nobody(), Bound::Above(0.0))];
    assert_eq!(analyse(&result).expectations[0].outcome, not_run);
    // A variant whose cells never began did not run; one whose cells failed did.
    for (state, outcome) in
        [(CellState::Pending, not_run), (CellState::Failed, ExpectationOutcome::Unknown)]
    {
        for cell in result.cells.iter_mut().filter(|cell| cell.entry.variant == "plain") {
            (cell.entry.state, cell.record) = (state, None);
        }
        result.manifest.plan.expectations = vec![ExpectedFigure {
            of: Some(figure("plain", "iops")),
            ..ExpectedFigure::new(figure("vdo", "iops"), Bound::Above(0.0))
        }];
        assert_eq!(analyse(&result).expectations[0].outcome, outcome);
    }
}

#[test]
fn nothing_over_nothing_has_no_ratio_and_says_so() {
    let mut result = fixture::with_picked_figures(5);
    for record in result.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        for command in record.stages.iter_mut().filter_map(|stage| stage.command.as_mut()) {
            command.figures.insert("files".into(), 0.0);
        }
    }
    let near = Bound::Near { value: 1.0, by: 0.1 };
    let files = |variant: &str| figure(variant, "files");
    result.manifest.plan.expectations = vec![ExpectedFigure {
        of: Some(files("plain")),
        ..ExpectedFigure::new(files("vdo"), near)
    }];
    let analysis = analyse(&result);
    let held = &analysis.expectations[0];
    assert_eq!((held.outcome, held.found, held.n), (ExpectationOutcome::NoRatio, None, 0));
    let compared = analysis.comparisons.iter().find(|c| c.metric == "files").unwrap();
    assert_eq!((compared.ratio, compared.difference.unwrap().value), (None, 0.0));
}

#[test]
fn a_ratio_is_taken_within_each_repeat() {
    let plain = || Some(figure("plain", "iops"));
    assert_eq!(outcome(5, Bound::Below(1.0), plain()), ExpectationOutcome::Met);
    assert_eq!(outcome(5, Bound::Above(1.0), plain()), ExpectationOutcome::Missed);
    let itself = Some(figure("vdo", "iops"));
    assert_eq!(outcome(5, Bound::Near { value: 1.0, by: 1e-9 }, itself), ExpectationOutcome::Met);
}

#[test]
fn what_equals_a_bound_is_neither_above_nor_below_it() {
    let (met, missed) = (ExpectationOutcome::Met, ExpectationOutcome::Missed);
    for repeats in [1, 5] {
        let same = |bound| outcome(repeats, bound, Some(figure("vdo", "iops")));
        assert_eq!(same(Bound::Above(1.0)), missed);
        assert_eq!(same(Bound::Below(1.0)), missed);
        assert_eq!(same(Bound::Near { value: 0.75, by: 0.25 }), met, "the ends are near");
        assert_eq!(same(Bound::Near { value: 1.25, by: 0.25 }), met, "the ends are near");
    }
    // An interval that only touches the bound is not wholly on one side of it, and not within.
    let plain = || Some(figure("plain", "iops"));
    let mut result = fixture::result();
    result.manifest.plan.expectations = vec![ExpectedFigure {
        of: plain(),
        ..ExpectedFigure::new(figure("vdo", "iops"), Bound::Above(0.0))
    }];
    let held = analyse(&result).expectations.remove(0);
    let (low, high) = (held.low.unwrap(), held.high.unwrap());
    assert_eq!(outcome(5, Bound::Above(low), plain()), ExpectationOutcome::Unclear);
    assert_eq!(outcome(5, Bound::Above(high), plain()), missed);
    assert_eq!(outcome(5, Bound::Below(high), plain()), ExpectationOutcome::Unclear);
    assert_eq!(outcome(5, Bound::Below(low), plain()), missed);
}

#[test]
fn from_five_repeats_on_a_limit_inside_of_the_interval_decides_nothing() {
    let plain = || Some(figure("plain", "iops"));
    let mut result = fixture::result();
    result.manifest.plan.expectations = vec![ExpectedFigure {
        of: plain(),
        ..ExpectedFigure::new(figure("vdo", "iops"), Bound::Above(0.0))
    }];
    let analysis = analyse(&result);
    let held = analysis.expectations[0].clone();
    // The page has one figure for a ratio, wherever it stands.
    let compared = analysis.comparisons.iter().find(|c| c.metric == "iops").unwrap();
    assert_eq!((held.found, held.low, held.high), (compared.ratio, compared.low, compared.high));
    let inside = (held.low.unwrap() + held.high.unwrap()) / 2.0;
    assert_eq!(outcome(5, Bound::Above(inside), plain()), ExpectationOutcome::Unclear);
}

#[test]
fn a_figure_that_a_command_prints_can_be_expected_in_its_unit() {
    let mut result = fixture::with_picked_figures(5);
    let expected =
        |of, bound| ExpectedFigure { of, ..ExpectedFigure::new(figure("vdo", "files"), bound) };
    let ratio = expected(Some(figure("plain", "files")), Bound::Near { value: 2.0, by: 0.1 });
    result.manifest.plan.expectations = vec![expected(None, Bound::Above(2000.0)), ratio];
    let held = analyse(&result).expectations;
    let outcomes: Vec<_> = held.iter().map(|held| (held.outcome, held.unit)).collect();
    let met = ExpectationOutcome::Met;
    assert_eq!(outcomes, [(met, units::Unit::Bytes), (met, units::Unit::Ratio)]);
}

#[test]
fn what_rests_on_too_few_ios_of_a_run_is_neither_met_nor_missed() {
    let of = |ios: u64, metric: &str, bound: Bound, of: Option<&str>| {
        let mut result = fixture::result();
        for record in result.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
            let loads = record.stages.iter_mut().filter_map(|stage| stage.load.as_mut());
            for operation in loads.flat_map(|load| load.operations.values_mut()) {
                operation.ios = ios;
            }
        }
        let of = of.map(|variant| figure(variant, metric));
        result.manifest.plan.expectations =
            vec![ExpectedFigure { of, ..ExpectedFigure::new(figure("vdo", metric), bound) }];
        let held = analyse(&result).expectations.remove(0);
        (held.outcome, held.few_ios)
    };
    let few = |ios| (ExpectationOutcome::Unclear, Some(ios));
    let (met, missed) = ((ExpectationOutcome::Met, None), (ExpectationOutcome::Missed, None));
    let (above, below) = (Bound::Above(0.0), Bound::Below(0.0));
    for (metric, enough) in [("latency_p99_ns", 1000), ("latency_p999_ns", 10_000), ("iops", 10)] {
        for over in [None, Some("plain")] {
            assert_eq!(of(enough - 1, metric, above, over), few(enough - 1), "{metric} {over:?}");
            assert_eq!(of(enough - 1, metric, below, over), few(enough - 1), "{metric} {over:?}");
            assert_eq!(of(enough, metric, above, over), met, "{metric} {over:?}");
            assert_eq!(of(enough, metric, below, over), missed, "{metric} {over:?}");
        }
    }
    // Other figures are valid for any number of I/Os.
    assert_eq!(of(5, "latency_max_ns", above, None), met);
    assert_eq!(of(5, "saving_percent", above, None), met);
    // A figure that does not exist stays unknown, however many I/Os there are.
    let unknown = (ExpectationOutcome::Unknown, None);
    assert_eq!(of(5, "latency_p99_ns", above, Some("nobody")).0, ExpectationOutcome::NotRun);
    assert_eq!(of(5, "no_such", above, None), unknown);
}
