//! Figures are medians over the runs that ended well, of what was measured.

use analysis::{Of, Scope, analyse};
use results::model::{CellState, Row};
use results::read::ResultSet;

fn loads(result: &mut ResultSet) -> impl Iterator<Item = &mut results::model::LoadSummary> {
    result.cells.iter_mut().filter_map(|c| c.record.as_mut()).flat_map(|record| {
        record.stages.iter_mut().filter(|s| s.measured).filter_map(|s| s.load.as_mut())
    })
}

#[test]
fn a_figure_is_the_median_of_its_runs_and_keeps_their_values() {
    let result = fixture::result();
    let analysis = analyse(&result);
    let vdo = &analysis.variants[1];
    assert_eq!((vdo.name.as_str(), vdo.repeats, vdo.failed), ("vdo", 5, 0));
    let mut iops: Vec<f64> = result
        .cells_of("vdo")
        .map(|cell| {
            let load = cell.record.as_ref().unwrap().stages[1].load.as_ref().unwrap();
            load.operations["randwrite"].ios as f64 / (load.duration_ns as f64 / 1e9)
        })
        .collect();
    let values = vdo.values_of(&Scope::operation("randwrite"), "iops").unwrap();
    assert_eq!(values.numbers(), iops);
    assert_eq!(values.points.iter().map(|p| p.repeat).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    iops.sort_by(f64::total_cmp);
    let figure = vdo.of(&Scope::operation("randwrite"))["iops"];
    assert_eq!((figure.median, figure.n), (Some(iops[2]), 5));
    assert!(figure.low.unwrap() >= iops[0] && figure.high.unwrap() <= iops[4]);
    assert!(vdo.of(&Scope::operation("write")).is_empty(), "allocation is not measured");
    assert_eq!(vdo.of(&Scope::layer("vdo"))["saving_percent"].median, Some(75.0));
    assert_eq!(vdo.asked[&None].duplicate_percent, Some(50.0));
    assert_eq!(vdo.achieved(None)["duplicate_percent"].median, Some(49.9));
}

#[test]
fn cells_that_did_not_end_well_do_not_count_and_are_counted_apart() {
    let mut result = fixture::result();
    for (place, state) in [(1, CellState::Failed), (2, CellState::Running)] {
        result.cells[place].record.as_mut().unwrap().state = state;
        result.cells[place].entry.state = state;
    }
    result.cells[5].record = None;
    result.cells[9].record = None;
    result.cells[9].entry.state = CellState::Pending;
    let analysis = analyse(&result);
    let [plain, vdo] = &analysis.variants[..] else { panic!("two variants") };
    let lost = |name: &str| {
        let places: Vec<usize> =
            [1, 2, 5].into_iter().filter(|&i| result.cells[i].entry.variant == name).collect();
        places.len()
    };
    assert_eq!((plain.failed, vdo.failed), (lost("plain"), lost("vdo")));
    assert_eq!(plain.repeats + vdo.repeats, 6);
    assert_eq!(vdo.of(&Scope::operation("randwrite"))["iops"].n, vdo.repeats);
}

#[test]
fn what_is_not_known_is_no_figure_and_never_zero() {
    let mut result = fixture::with(2, 7_600.0);
    for load in loads(&mut result) {
        load.cpu = None;
        load.operations.get_mut("randwrite").unwrap().latency = None;
    }
    let vdo = result.cells[1].record.as_mut().unwrap().layers.get_mut("vdo").unwrap();
    vdo.insert("saving_percent".into(), None);
    let analysis = analyse(&result);
    let vdo = &analysis.variants[1];
    assert_eq!(vdo.of(&Scope::operation("randwrite"))["cpu_per_io_us"].median, None);
    assert_eq!(vdo.of(&Scope::operation("randwrite"))["latency_p99_ns"].median, None);
    assert_eq!(vdo.of(&Scope::layer("vdo"))["saving_percent"].n, 1);
    let of_latency = || analysis.comparisons.iter().filter(|c| c.metric.starts_with("latency"));
    assert!(of_latency().count() == 1 && of_latency().all(|c| c.unmeasured()));
}

/// The fixture with a second measured stage, `again`, of a third of the speed in every cell.
fn two_stages(repeats: u32) -> ResultSet {
    let mut result = fixture::with(repeats, 7_600.0);
    for variant in &mut result.manifest.plan.variants {
        let mut again = variant.stages[1].clone();
        again.name = "again".into();
        variant.stages.push(again);
    }
    for record in result.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        let mut again = record.stages[1].clone();
        (again.index, again.name) = (2, "again".into());
        again.load.as_mut().unwrap().duration_ns *= 3;
        for (stage, hits) in [(&mut record.stages[1], 10.0), (&mut again, 90.0)] {
            let figures = [("hit_percent".to_owned(), Some(hits))].into();
            stage.layers.insert("vdo".into(), figures);
        }
        record.stages.push(again);
    }
    result
}

#[test]
fn several_measured_stages_have_figures_of_their_own() {
    let result = two_stages(5);
    let analysis = analyse(&result);
    let first = analysis.stages[0].clone();
    assert_eq!(analysis.stages[1], "again");
    let of = |stage: &str, of: Of| Scope { stage: Some(stage.to_owned()), of };
    let operation = || Of::Operation("randwrite".into());
    let plain = &analysis.variants[0];
    let iops = |stage: &str| plain.of(&of(stage, operation()))["iops"].median.unwrap();
    assert!((iops(&first) / iops("again") - 3.0).abs() < 1e-9);
    assert!(plain.of(&Scope::operation("randwrite")).is_empty(), "no figure covers both");
    let hits = |stage: &str| plain.of(&of(stage, Of::Layer("vdo".into())))["hit_percent"].median;
    assert_eq!((hits(&first), hits("again")), (Some(10.0), Some(90.0)));
    assert_eq!(plain.achieved(Some("again"))["duplicate_percent"].median, Some(49.9));
    let answers: Vec<_> = analysis.comparisons.iter().filter(|c| c.is_asked_about()).collect();
    assert_eq!(answers.len(), 6, "each question of each stage");
}

#[test]
fn a_question_that_names_a_stage_is_of_that_one_alone() {
    let mut result = two_stages(5);
    for question in &mut result.manifest.plan.questions {
        question.stage = Some("again".into());
    }
    let analysis = analyse(&result);
    let answers: Vec<_> = analysis.comparisons.iter().filter(|c| c.is_asked_about()).collect();
    assert_eq!(answers.len(), 3);
    assert!(answers.iter().all(|c| c.scope.stage.as_deref() == Some("again")));
}

#[test]
fn a_result_without_figures_of_stages_keeps_those_of_its_cells() {
    let mut result = two_stages(1);
    for record in result.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        record.stages.iter_mut().for_each(|stage| stage.layers.clear());
    }
    let vdo = &analyse(&result).variants[1];
    assert_eq!(vdo.of(&Scope::layer("vdo"))["saving_percent"].median, Some(75.0));
}

#[test]
fn cpu_time_belongs_to_the_operation_only_when_it_is_alone() {
    let mut result = fixture::with(2, 7_600.0);
    result.manifest.plan.questions.iter_mut().for_each(|question| question.operation = None);
    assert!(
        analyse(&result).variants[0]
            .of(&Scope::operation("randwrite"))
            .contains_key("cpu_per_io_us")
    );
    for load in loads(&mut result) {
        let other = load.operations["randwrite"].clone();
        load.operations.insert("randread".into(), other);
    }
    let analysis = analyse(&result);
    assert!(!analysis.variants[0].of(&Scope::operation("randwrite")).contains_key("cpu_per_io_us"));
    let cpu: Vec<_> = analysis.comparisons.iter().filter(|c| c.metric == "cpu_per_io_us").collect();
    assert_eq!(cpu.len(), 1);
    assert_eq!(cpu[0].scope, Of::Load.in_only_stage());
}

#[test]
fn a_flush_is_no_io_that_cpu_time_is_shared_out_over_and_moves_no_figure_to_another_scope() {
    let mut result = fixture::with(2, 7_600.0);
    let plain = analyse(&result);
    let vdo = |analysis: &analysis::Analysis| {
        let cpu = analysis.comparisons.iter().filter(|c| c.metric == "cpu_per_io_us");
        cpu.map(|c| (c.scope.clone(), c.ratio)).collect::<Vec<_>>()
    };
    // The new side flushes after each write, and does nothing else otherwise.
    for cell in result.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo") {
        let load = cell.record.as_mut().unwrap().stages[1].load.as_mut().unwrap();
        let mut flush = load.operations["randwrite"].clone();
        flush.bytes = 0;
        load.operations.insert("flush".into(), flush);
    }
    let flushed = analyse(&result);
    assert_eq!(vdo(&flushed), vdo(&plain));
    assert_eq!(vdo(&flushed)[0].0, Scope::operation("randwrite"));
}

#[test]
fn where_one_variant_has_several_operations_cpu_time_is_of_the_load_for_all() {
    let mut result = fixture::with(2, 7_600.0);
    result.manifest.plan.questions.iter_mut().for_each(|question| question.operation = None);
    for cell in result.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo") {
        let load = cell.record.as_mut().unwrap().stages[1].load.as_mut().unwrap();
        let other = load.operations["randwrite"].clone();
        load.operations.insert("randread".into(), other);
    }
    let analysis = analyse(&result);
    for variant in &analysis.variants {
        let cpu = variant.values.iter().filter(|values| values.metric == "cpu_per_io_us");
        let scopes: Vec<_> = cpu.map(|values| values.scope.clone()).collect();
        assert_eq!(scopes, [Of::Load.in_only_stage()], "{}", variant.name);
    }
    assert!(analysis.comparisons.iter().any(|c| c.scope == Of::Load.in_only_stage()));
}

#[test]
fn the_thesis_table_is_of_the_intervals_of_measured_stages() {
    let result = fixture::with(3, 7_600.0);
    let analysis = analyse(&result);
    let vdo = &analysis.variants[1];
    assert_eq!(vdo.within_run.keys().collect::<Vec<_>>(), [&Scope::operation("randwrite")]);
    let cell = result.cells_of("vdo").next().unwrap();
    let mut rates: Vec<f64> = Vec::new();
    for row in &cell.rows {
        if let Row::Interval(row) = row
            && row.operation == "randwrite"
            && row.end_ns - row.start_ns > 500_000_000
        {
            rates.push(row.bytes as f64 * 1e9 / (row.end_ns - row.start_ns) as f64);
        }
    }
    rates.sort_by(f64::total_cmp);
    let run = &vdo.within_run[&Scope::operation("randwrite")][0];
    assert_eq!((run.repeat, run.spread.n), (1, rates.len()));
    assert!((run.spread.min / rates[0] - 1.0).abs() < 1e-12);
    assert!(run.effective_n >= 1.0 && run.effective_n <= rates.len() as f64);
    let mut medians: Vec<f64> = vdo.within_run[&Scope::operation("randwrite")]
        .iter()
        .map(|run| run.spread.median)
        .collect();
    medians.sort_by(f64::total_cmp);
    assert_eq!(vdo.interval_throughput[&Scope::operation("randwrite")].spread.median, medians[1]);
}

/// Sets the throughput of every whole interval of a cell.
fn run_at(rows: &mut [Row], bytes_per_s: f64) {
    for row in rows {
        if let Row::Interval(row) = row {
            row.bytes = (bytes_per_s * (row.end_ns - row.start_ns) as f64 / 1e9) as u64;
        }
    }
}

#[test]
fn throughput_of_the_intervals_is_the_median_over_runs_in_whatever_order_they_ran() {
    let mut result = fixture::with(3, 7_600.0);
    let vdo = result.cells.iter_mut().filter(|c| c.entry.variant == "vdo");
    for (cell, rate) in vdo.zip([1e6, 9e6, 5e6]) {
        run_at(&mut cell.rows, rate);
    }
    let spread =
        analyse(&result).variants[1].interval_throughput[&Scope::operation("randwrite")].spread;
    for figure in [spread.median, spread.q1, spread.q3] {
        assert!((figure / 5e6 - 1.0).abs() < 1e-3, "{figure}");
    }
}

#[test]
fn runs_of_unlike_lengths_are_told_by_the_fewest_and_the_most_intervals() {
    let mut result = fixture::with(2, 7_600.0);
    let cell = result.cells.iter_mut().find(|cell| cell.entry.variant == "vdo").unwrap();
    let mut kept = 0;
    cell.rows.retain(|row| {
        let is_write = matches!(row, Row::Interval(row) if row.operation == "randwrite");
        kept += usize::from(is_write);
        !is_write || kept <= 5
    });
    let analysis = analyse(&result);
    let scope = Scope::operation("randwrite");
    let runs = analysis.variants[1].within_run[&scope].iter().map(|run| run.spread.n);
    let (least, most) = analysis.variants[1].interval_throughput[&scope].counts;
    assert_eq!((least, most), (runs.clone().min().unwrap(), runs.max().unwrap()));
    assert!(least < most, "{least} {most}");
}

#[test]
fn an_interval_is_short_by_the_median_length_and_not_by_that_in_the_middle_of_the_list() {
    let mut result = fixture::with(1, 7_600.0);
    let rows = &mut result.cells[0].rows;
    let whole = rows.iter().filter(|r| matches!(r, Row::Interval(i) if i.operation == "randwrite"));
    let whole = whole.count() - 1;
    // The middle one of the list lasts a tenth of what all others last.
    let mut place = 0;
    for row in rows.iter_mut() {
        if let Row::Interval(row) = row
            && row.operation == "randwrite"
        {
            if place == whole / 2 {
                row.end_ns = row.start_ns + (row.end_ns - row.start_ns) / 10;
            }
            place += 1;
        }
    }
    let spread = analyse(&result).variants[0].within_run[&Scope::operation("randwrite")][0].spread;
    assert!(spread.n < whole + 1, "{} of {}", spread.n, whole + 1);
}

#[test]
fn what_a_command_prints_is_a_figure_with_a_verdict() {
    let analysis = analyse(&fixture::with_picked_figures(5));
    let scope = Of::Command.in_only_stage();
    let vdo = &analysis.variants[1];
    let files = vdo.figure(&scope, "files").unwrap();
    assert_eq!((files.median, files.n), (Some(2006.0), 5));
    assert!(files.low.unwrap() < 2006.0 && files.high.unwrap() > 2006.0);
    // What was to be picked and never printed is there without a value.
    assert_eq!(vdo.figure(&scope, "folders").unwrap().median, None);
    let found = analysis.comparisons.iter().find(|c| c.metric == "files").unwrap();
    assert_eq!(found.ratio, Some(2.0));
    assert_eq!(found.verdict, Some(stats::Verdict::Worse), "less of it is better");
    let folders = analysis.comparisons.iter().find(|c| c.metric == "folders").unwrap();
    assert!(folders.unmeasured() && folders.verdict == Some(stats::Verdict::Unclear));
}

#[test]
fn a_load_of_a_tree_has_figures_of_its_outcomes_per_operation_and_of_the_tree_as_a_whole() {
    let mut result = fixture::with(2, 7_600.0);
    let known = |result: &ResultSet, scope: &Scope, metric: &str| {
        analyse(result).variants[0].of(scope).get(metric).and_then(|figure| figure.median)
    };
    assert_eq!(known(&result, &Of::Load.in_only_stage(), "tree_files"), None);
    assert_eq!(known(&result, &Scope::operation("randwrite"), "attempted_per_s"), None);
    for load in loads(&mut result) {
        let mut create = load.operations.remove("randwrite").unwrap();
        (create.ios, create.attempted, create.skipped) = (600, Some(1000), Some(7));
        create.expected_errors = Some([("EEXIST".to_owned(), 390)].into());
        let fsync =
            results::model::OperationSummary { attempted: Some(50), ios: 50, ..create.clone() };
        load.operations = [("create".to_owned(), create), ("fsync".to_owned(), fsync)].into();
        load.duration_ns = 10_000_000_000;
        let equilibrium = results::model::EquilibriumFacts::default();
        load.tree = Some(results::model::TreeFacts {
            files: 600,
            directories: 3,
            bytes: 4096,
            equilibrium,
        });
    }
    let create = Scope::operation("create");
    assert_eq!(known(&result, &create, "iops"), Some(60.0));
    assert_eq!(known(&result, &create, "attempted_per_s"), Some(100.0));
    assert_eq!(known(&result, &create, "expected_errors"), Some(390.0));
    assert_eq!(known(&result, &create, "skipped"), Some(7.0));
    for scope in [Of::Load.in_only_stage(), create] {
        assert_eq!(known(&result, &scope, "operations_per_s"), Some(60.0), "fsync apart");
        assert_eq!(known(&result, &scope, "tree_files"), Some(600.0));
        assert_eq!(known(&result, &scope, "tree_bytes"), Some(4096.0));
    }
    let of_load = analyse(&result);
    let mut compared = of_load.comparisons.iter().map(|c| c.metric.as_str());
    assert!(compared.any(|metric| metric == "operations_per_s"));
}
