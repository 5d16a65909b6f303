//! One experiment run again and again.

use analysis::{TrendResult, TrendSeries, Trends, trends};
use results::Seal;
use stats::Trend;
use units::{Better, Seed};

/// Twenty-four results; those from the tenth on ran on another kernel, with `after` IOPS.
fn twenty_four(after: f64) -> Vec<TrendResult> {
    let result = |at: usize| {
        let level = if at < 9 { 7_600.0 } else { after };
        let mut set = fixture::with(5, level * (1.0 + 0.004 * (at % 3) as f64));
        set.manifest.started_utc = format!("2026-11-{:02}T08:00:00Z", at + 1);
        set.path = format!("result-{at}").into();
        set.manifest.run_id = format!("{at:08x}");
        let kernel = if at < 9 { "Linux 6.12.1" } else { "Linux 6.12.9" };
        let facts = set.manifest.guest.as_mut().unwrap_or(&mut set.manifest.host);
        facts.0.insert("kernel".into(), kernel.into());
        TrendResult::of(&set).unwrap()
    };
    // The order in which they are named does not matter.
    (0..24).rev().map(result).collect()
}

fn iops(all: &Trends) -> &TrendSeries {
    all.series.iter().find(|one| one.name.metric == "iops").unwrap()
}

#[test]
fn a_slower_kernel_is_found_between_the_results_on_either_side_of_it() {
    let all = trends(twenty_four(6_800.0), Seed(1));
    let series = iops(&all);
    assert_eq!((series.runs.len(), series.left_out), (24, 0));
    assert_eq!((series.name.variant.as_str(), series.name.over.as_deref()), ("vdo", Some("plain")));
    assert_eq!(series.better, Better::Higher);
    let Trend::Changes(changes) = &series.trend else { panic!("{:?}", series.trend) };
    let [change] = changes[..] else { panic!("{changes:?}") };
    assert_eq!(series.runs[change.at - 1].0.kernel.as_deref(), Some("Linux 6.12.1"));
    assert_eq!(series.runs[change.at].0.kernel.as_deref(), Some("Linux 6.12.9"));
    assert_eq!(series.runs[change.at].0.path.to_str(), Some("result-9"));
    assert!((change.by.exp() - 6_800.0 / 7_600.0).abs() < 0.01, "{change:?}");
}

#[test]
fn results_of_kernels_that_were_asked_for_are_one_series_and_say_what_their_cells_ran_on() {
    let result = |at: usize, kernel: &str| {
        let mut set = fixture::with(5, 7_600.0);
        set.manifest.started_utc = format!("2026-11-{:02}T08:00:00Z", at + 1);
        set.manifest.run_id = format!("{at:08x}");
        set.experiment_toml = Some(match kernel {
            "" => "name = \"x\"\n".into(),
            "7.3" => {
                let given = "# Given on the command line:\n[given]\n\"machine.kernel\" = \"7.3\"";
                format!("name = \"x\"\n\n{given}\n")
            }
            kernel => format!("name = \"x\"\n\n[set]\n\"machine.kernel\" = \"{kernel}\"\n"),
        });
        for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
            record.ran_on.0.insert("kernel".into(), format!("Linux {kernel}"));
        }
        TrendResult::of(&set).unwrap()
    };
    let all = trends(vec![result(0, ""), result(1, "6.1"), result(2, "7.3")], Seed(1));
    let kernels: Vec<_> = iops(&all).runs.iter().map(|(run, _)| run.kernel.as_deref()).collect();
    assert_eq!(kernels, [Some("Linux "), Some("Linux 6.1"), Some("Linux 7.3")]);
}

#[test]
fn equal_results_have_no_change_and_what_differs_by_less_than_matters_is_none() {
    for after in [7_600.0, 7_500.0] {
        let all = trends(twenty_four(after), Seed(1));
        let changes =
            |series: &TrendSeries| matches!(&series.trend, Trend::Changes(all) if !all.is_empty());
        assert!(!changes(iops(&all)), "{after}: {:?}", iops(&all).trend);
    }
}

#[test]
fn another_experiment_and_too_few_repeats_are_not_of_the_series() {
    let mut results = twenty_four(7_600.0);
    let mut other = fixture::with(5, 100.0);
    other.experiment_toml = Some("# asks something else".into());
    other.manifest.started_utc = "2026-12-01T08:00:00Z".into();
    other.manifest.run_id = "000000f0".into();
    results.push(TrendResult::of(&other).unwrap());
    let mut few = fixture::with(3, 100.0);
    few.manifest.run_id = "000000f1".into();
    few.manifest.started_utc = "2026-12-02T08:00:00Z".into();
    results.push(TrendResult::of(&few).unwrap());
    let all = trends(results, Seed(1));
    assert_eq!((iops(&all).runs.len(), iops(&all).left_out), (24, 1));
    let kinds = all.series.iter().filter(|one| one.name.metric == "iops").count();
    assert_eq!(kinds, 2);
    assert!(all.series.iter().any(|one| one.runs.len() == 1 && one.trend == Trend::TooFew));
}

#[test]
fn a_run_counts_once_and_what_is_not_whole_in_no_series() {
    let mut results = twenty_four(7_600.0);
    results.extend(twenty_four(6_800.0));
    let all = trends(results, Seed(1));
    assert_eq!((iops(&all).runs.len(), all.left_out.len()), (24, 24));
    let first = &all.left_out[0];
    assert!(first.why.contains("same run as result-"), "{first:?}");
    let mut set = fixture::result();
    set.incomplete = Some("2 of 10 cells give no figures".into());
    assert!(TrendResult::of(&set).unwrap_err().why.contains("2 of 10 cells"));
    set.seal = Seal::Broken(vec!["manifest.json was changed".into()]);
    assert!(TrendResult::of(&set).unwrap_err().why.contains("manifest.json was changed"));
}

#[test]
fn a_start_that_cannot_be_has_no_place_in_a_series_and_others_are_ordered_by_time() {
    let at = |started: &str| {
        let mut set = fixture::with(5, 7_600.0);
        set.manifest.started_utc = started.into();
        set.manifest.run_id = started.into();
        set.path = started.into();
        TrendResult::of(&set)
    };
    for (started, why) in [
        ("garbage", "its started_utc 'garbage' is no time"),
        ("", "is no time"),
        ("2026-13-01T08:00:00Z", "is no time"),
        ("1970-01-01T00:00:09Z", "the clock was wrong"),
        ("2024-12-31T23:59:59Z", "the clock was wrong"),
    ] {
        let left_out = at(started).unwrap_err();
        assert!(left_out.why.contains(why), "{left_out:?}");
    }
    let (late, early) = ("2026-11-02T00:30:00Z", "2026-11-02T01:00:00+02:00");
    let all = trends(vec![at(late).unwrap(), at(early).unwrap()], Seed(1));
    let paths = iops(&all).runs.iter().map(|(run, _)| run.path.to_str().unwrap());
    assert_eq!(paths.collect::<Vec<_>>(), [early, late]);
}

#[test]
fn a_result_without_a_seal_counts_and_is_known_as_one() {
    let sealed = |seal| {
        let mut set = fixture::with(5, 7_600.0);
        set.seal = seal;
        let all = trends(vec![TrendResult::of(&set).unwrap()], Seed(1));
        iops(&all).runs[0].0.sealed
    };
    assert!(sealed(Seal::Whole) && !sealed(Seal::None));
}

#[test]
fn the_threshold_is_the_question_s_with_one_variant_and_with_several() {
    for variants in [1, 2] {
        // By 10 %, which does not matter here.
        let results = (0..16).map(|at| {
            let level = if at < 9 { 7_600.0 } else { 6_800.0 };
            let mut set = fixture::with(5, level * (1.0 + 0.004 * f64::from(at % 3)));
            set.manifest.started_utc = format!("2026-11-{:02}T08:00:00Z", at + 1);
            set.manifest.run_id = format!("{at:08x}");
            let plan = &mut set.manifest.plan;
            plan.questions.iter_mut().for_each(|question| question.threshold = 0.25);
            plan.variants.drain(..2 - variants);
            TrendResult::of(&set).unwrap()
        });
        let all = trends(results.collect(), Seed(1));
        let series = iops(&all);
        assert_eq!((series.threshold, series.name.over.is_some()), (0.25, variants == 2));
        let has_changes = matches!(&series.trend, Trend::Changes(changes) if !changes.is_empty());
        assert!(!has_changes, "{variants}: {:?}", series.trend);
    }
}

#[test]
fn a_figure_that_was_0_for_a_while_is_in_its_series_and_its_change_is_found() {
    use results::model::CellState;
    let result = |at: usize| {
        let mut set = fixture::with(5, 7_600.0);
        set.manifest.started_utc = format!("2026-11-{:02}T08:00:00Z", at + 1);
        set.path = format!("result-{at}").into();
        set.manifest.run_id = format!("{at:08x}");
        let question = &mut set.manifest.plan.questions[0];
        (question.metric, question.operation) = ("errors".into(), Some("randwrite".into()));
        for cell in set.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo") {
            let record = cell.record.as_mut().filter(|record| record.state == CellState::Done);
            let loads = record.into_iter().flat_map(|record| &mut record.stages);
            for load in loads.filter_map(|stage| stage.load.as_mut()) {
                for operation in load.operations.values_mut() {
                    operation.errors.clear();
                    if at >= 9 {
                        operation.errors.insert("EIO".into(), 503);
                    }
                }
            }
        }
        TrendResult::of(&set).unwrap()
    };
    let all = trends((0..24).map(result).collect(), Seed(1));
    let series = all.series.iter().find(|one| one.name.metric == "errors").unwrap();
    assert_eq!((series.runs.len(), series.left_out, series.better), (24, 0, Better::Lower));
    assert!(!series.is_relative() && series.name.over.is_none());
    let Trend::Changes(changes) = &series.trend else { panic!("{:?}", series.trend) };
    let [change] = changes[..] else { panic!("{changes:?}") };
    assert!(change.at == 9 && change.by > 500.0, "{change:?}");
}

#[test]
fn a_percentile_of_few_ios_is_no_series() {
    let series = |ios: u64| {
        let mut set = fixture::with(5, 7_600.0);
        let records = set.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
        let loads = records.flat_map(|record| &mut record.stages);
        let loads = loads.filter_map(|stage| stage.load.as_mut());
        loads.flat_map(|load| load.operations.values_mut()).for_each(|one| one.ios = ios);
        let all = trends(vec![TrendResult::of(&set).unwrap()], Seed(1));
        all.series.iter().filter(|one| one.name.metric == "latency_p99_ns").count()
    };
    assert_eq!((series(999), series(1000)), (0, 1));
}
