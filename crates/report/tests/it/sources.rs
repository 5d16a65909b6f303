//! The page that compares the figures of sources with those found here.

use report::sources::{MARK, markdown};
use results::model::{
    Bound, ExpectedFigure, FigureName, Grounds, MachineFacts, MachineLoad, ReportedFacts,
    ReportedSpread, ReportedValue,
};

use crate::given;

/// A result that expects these of its vdo variant's IOPS.
fn expecting(repeats: u32, expected: &[(Bound, Option<&str>)]) -> report::view::View {
    let mut set = fixture::with(repeats, 6_000.0);
    let figure = |metric: &str, variant: &str| FigureName {
        metric: metric.into(),
        stage: None,
        operation: Some("randwrite".into()),
        layer: None,
        variant: variant.into(),
    };
    set.manifest.plan.expectations = expected
        .iter()
        .map(|(bound, source)| ExpectedFigure {
            of: Some(figure("iops", "plain")),
            source: source.map(str::to_owned),
            ..ExpectedFigure::new(figure("iops", "vdo"), *bound)
        })
        .collect();
    given::view(&set)
}

#[test]
fn every_expectation_stands_beside_what_was_found_and_its_source() {
    let near = Bound::Near { value: 0.2, by: 0.01 };
    let all = [
        (Bound::Below(0.9), Some("1.13 | 67.3 MB/s\n<b>")),
        (Bound::Above(0.9), None),
        (near, Some("section 5.3")),
    ];
    let page = markdown(&[expecting(5, &all)]);
    assert!(page.starts_with(MARK), "{page}");
    let rows: Vec<&str> = page.lines().filter(|line| line.contains("randwrite")).collect();
    assert_eq!(rows.len(), 3, "{page}");
    assert!(rows[0].contains("IOPS of randwrite, vdo over plain | below 0.9"), "{}", rows[0]);
    assert!(
        rows[0].contains("5 repeats | as the source found | 1.13 \\| 67.3 MB/s"),
        "{}",
        rows[0]
    );
    assert!(!page.contains("<b>"), "{page}");
    assert!(rows[1].ends_with("| differs | – |"), "{}", rows[1]);
    assert!(rows[2].contains("0.19× to 0.21×") || rows[2].contains("0.19 to 0.21"), "{}", rows[2]);
    assert!(page.contains("simulated: no figure is real"), "{page}");
}

#[test]
fn scale_kernel_and_disturbed_cells_are_told_of_each_run() {
    let mut set = fixture::with(1, 6_000.0);
    let page_of = |set: &results::ResultSet| markdown(&[given::view(set)]);
    let unwatched = page_of(&set);
    assert!(unwatched.contains("* disturbed cells: not looked at\n"), "{unwatched}");
    let quiet = MachineLoad { others_percent: Some(0.3), ..MachineLoad::default() };
    set.cells[1].record.as_mut().unwrap().machine = Some(quiet);
    let half = page_of(&set);
    assert!(half.contains("* disturbed cells: none; 1 not looked at\n"), "{half}");
    set.cells[0].record.as_mut().unwrap().machine = Some(quiet);
    let page = page_of(&set);
    assert!(page.contains("* scale: none: as the file has it\n"), "{page}");
    assert!(page.contains("* disturbed cells: none\n"), "{page}");
    assert!(page.contains("* a repeat took: "), "{page}");
    let host = set.manifest.host.0["kernel"].clone();
    assert!(page.contains(&format!("* kernel: {host}\n")), "{page}");
    set.manifest.plan.scale = Some("full".into());
    set.cells[0].entry.disturbed_percent = Some(34.0);
    let guest = [("kernel".to_owned(), "Linux of the guest".to_owned())];
    set.manifest.guest = Some(MachineFacts(guest.into()));
    let page = page_of(&set);
    assert!(page.contains("* scale: full\n"), "{page}");
    assert!(page.contains("* disturbed cells: 1 of 2\n"), "{page}");
    assert!(page.contains("* kernel: Linux of the guest\n"), "{page}");
}

#[test]
fn what_is_expected_at_another_scale_says_why_and_threads_are_told_where_they_are_asked_about() {
    let mut set = fixture::with(1, 6_000.0);
    let without = markdown(&[given::view(&set)]);
    assert!(!without.contains("The busiest thread of each kind"), "{without}");
    let figure = FigureName {
        metric: "busiest_thread_percent".into(),
        stage: None,
        operation: None,
        layer: Some("vdo".into()),
        variant: "vdo".into(),
    };
    set.manifest.plan.expectations = vec![ExpectedFigure {
        scale: Some("full".into()),
        because: Some("two CPUs show nothing".into()),
        ..ExpectedFigure::new(figure, Bound::Above(50.0))
    }];
    let page = markdown(&[given::view(&set)]);
    let why = "cannot be said: expected at scale full alone: two CPUs show nothing";
    assert!(page.contains(why), "{page}");
    assert!(given::page(&set).contains(", at scale full: two CPUs show nothing"));
    assert!(page.contains("The busiest thread of each kind"), "{page}");
    let row =
        page.lines().find(|line| line.starts_with("| keeps the journal (journalQ) |")).unwrap();
    assert!(row.contains('%'), "{row}");
}

#[test]
fn why_an_experiment_ran_once_is_said_where_the_catalogue_chose_it() {
    let page = |repeats, command: &[&str]| {
        let mut set = fixture::with(repeats, 6_000.0);
        set.manifest.command = command.iter().map(|&word| word.to_owned()).collect();
        markdown(&[given::view(&set)])
    };
    let chosen = ["fathom", "catalogue", "all", "--out", "there"];
    let why = "* repeats of each variant: 1, since a repeat takes more than three minutes";
    assert!(page(1, &chosen).contains(why));
    assert!(page(5, &chosen).contains("* repeats of each variant: 5\n"));
    let once = page(1, &[&chosen[..], &["--repeat", "1"]].concat());
    assert!(once.contains("* repeats of each variant: 1\n"), "{once}");
}

#[test]
fn a_table_of_several_metrics_names_each_and_shows_it_in_its_own_unit() {
    let mut set = fixture::with(1, 6_000.0);
    let value = |metric: &str, value| ReportedValue {
        figure: FigureName {
            metric: metric.into(),
            stage: None,
            operation: None,
            layer: Some("vdo".into()),
            variant: "vdo".into(),
        },
        value,
        spread: None,
    };
    set.manifest.plan.reported = vec![ReportedFacts {
        what: "figure 5.5".into(),
        unit: "%".into(),
        here: None,
        values: vec![value("saving_percent", 50.0), value("data_blocks_used", 25.0)],
    }];
    let page = markdown(&[given::view(&set)]);
    assert!(page.contains("\nfigure 5.5:\n"), "no metric is that of the table: {page}");
    let row = |name: &str| page.lines().find(|line| line.starts_with(&format!("| {name} |")));
    let has = |name, parts: [&str; 2]| {
        row(name).is_some_and(|row| parts.iter().all(|part| row.contains(part)))
    };
    assert!(has("space saved", ["| 50 | – |", " % |"]), "{page}");
    assert!(has("data blocks", ["| 25 | 0.5× |", "| 65,536 |"]), "{page}");
}

#[test]
fn one_run_is_said_to_be_one_and_a_result_that_expects_nothing_says_so() {
    let page = markdown(&[expecting(1, &[(Bound::Below(0.9), None)]), expecting(1, &[])]);
    assert!(page.contains(", one run | as the source found | – |"), "{page}");
    assert!(page.contains("It expects nothing"), "{page}");
    assert_eq!(page.matches("\n## ").count(), 2, "{page}");
}

#[test]
fn only_what_a_document_states_is_as_the_source_found() {
    let figure = FigureName {
        metric: "iops".into(),
        stage: None,
        operation: Some("randwrite".into()),
        layer: None,
        variant: "vdo".into(),
    };
    let mut set = fixture::with(1, 6_000.0);
    let expected = Grounds::ALL.map(|grounds| ExpectedFigure {
        source: Some(format!("what the {} says", grounds.word())),
        grounds,
        ..ExpectedFigure::new(figure.clone(), Bound::Above(1.0))
    });
    set.manifest.plan.expectations = expected.into();
    let page = markdown(&[given::view(&set)]);
    assert_eq!(page.matches("as the source found").count(), 1, "{page}");
    assert!(page.contains("| as the source found | what the document says |"), "{page}");
    let other =
        "| as concluded | A conclusion, which no document states: what the conclusion says |";
    assert!(page.contains(other), "{page}");
    let shown = given::page(&set);
    assert!(shown.contains("The model is built to do so: what the model says"), "{shown}");
}

#[test]
fn the_columns_of_a_source_stand_beside_those_of_the_same_quantity_and_another_quantity_is_said() {
    let mut set = fixture::with(1, 6_000.0);
    let figure = FigureName {
        metric: "io_bandwidth_p50_bytes_per_s".into(),
        stage: None,
        operation: Some("randwrite".into()),
        layer: None,
        variant: "vdo".into(),
    };
    let records = set.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
    for load in
        records.flat_map(|record| &mut record.stages).filter_map(|stage| stage.load.as_mut())
    {
        load.operations.values_mut().for_each(|operation| operation.io_bytes = Some(4096));
    }
    let spread = ReportedSpread { q1: 116.82, q3: 229.1, min: 6.99, max: 953.87, std_dev: 89.0 };
    set.manifest.plan.reported = vec![ReportedFacts {
        what: "table 5.1".into(),
        unit: "MB/s".into(),
        here: Some("I/Os of 4 KiB".into()),
        values: vec![ReportedValue { figure, value: 166.24, spread: Some(spread) }],
    }];
    let page = markdown(&[given::view(&set)]);
    assert!(page.contains("The quantity measured here differs: I/Os of 4 KiB."), "{page}");
    let row = |whose: &str| {
        page.lines()
            .find(|line| line.starts_with(&format!("| vdo | {whose} |")))
            .unwrap()
            .to_owned()
    };
    let source = "| vdo | source | 166.24 MB/s | 116.82 MB/s | 229.1 MB/s | 6.99 MB/s | 953.87 MB/s | 89 MB/s |";
    assert_eq!(row("source"), source);
    assert_eq!(row("here").matches("iB/s").count(), 6, "{page}");
    let shown = given::page(&set);
    assert!(
        shown.contains("116.82 MB/s") && shown.contains("measured here differs: I/Os of 4 KiB")
    );
}

#[test]
fn a_place_at_which_nothing_turns_is_told_as_such_with_the_runs_that_were_looked_at() {
    let mut set = fixture::with(5, 4_000.0);
    let figure = FigureName {
        metric: "turn_bytes".into(),
        stage: None,
        operation: Some("randwrite".into()),
        layer: None,
        variant: "vdo".into(),
    };
    set.manifest.plan.expectations = vec![ExpectedFigure {
        source: Some("figure 5.3".into()),
        ..ExpectedFigure::new(figure, Bound::Below(1e9))
    }];
    let page_of = |set: &results::ResultSet| markdown(&[given::view(set)]);
    let page = page_of(&set);
    let row = page.lines().find(|line| line.contains("throughput turns")).unwrap();
    assert!(row.contains("throughput does not turn, 5 repeats | differs"), "{row}");
    set.cells = fixture::with_a_step(5).cells;
    let page = page_of(&set);
    let row = page.lines().find(|line| line.contains("throughput turns")).unwrap();
    assert!(row.contains("MiB") && row.contains("as the source found"), "{row}");
}

#[test]
fn an_expectation_of_too_few_ios_says_so_wherever_it_stands() {
    let mut set = fixture::result();
    let records = set.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
    let loads = records.flat_map(|record| &mut record.stages).filter_map(|s| s.load.as_mut());
    loads.flat_map(|load| load.operations.values_mut()).for_each(|operation| operation.ios = 20);
    let figure = FigureName {
        metric: "latency_p999_ns".into(),
        stage: None,
        operation: Some("randwrite".into()),
        layer: None,
        variant: "vdo".into(),
    };
    set.manifest.plan.expectations = vec![ExpectedFigure::new(figure, Bound::Below(1e18))];
    let view = given::view(&set);
    let why = "a run did 20 I/Os, and fewer than 10 of them lie beyond this percentile";
    let terminal = report::terminal::text(&view, 200, false);
    assert!(terminal.contains("unclear  p99.9 latency of randwrite, vdo"), "{terminal}");
    let json = report::json::json(&view);
    let held = &json["expectations"][0];
    assert_eq!((&held["outcome"], &held["few_ios"]), (&"unclear".into(), &20.into()));
    let sources = markdown(std::slice::from_ref(&view));
    assert!(sources.contains(&format!("cannot be said: {why}")), "{sources}");
    let page = report::html::page(&[view]);
    assert!(page.contains(&format!("Not judged: {why}")), "{page}");
    assert!(terminal.contains(why), "{terminal}");
}
