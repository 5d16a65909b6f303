//! A result on a terminal.

use report::terminal::text;

use crate::given;

#[test]
fn the_summary_says_verdict_figures_and_findings_within_the_width() {
    let view = given::view(&fixture::result());
    for (width, part) in [
        (120, "[0.371, 0.395]"),
        (150, "worse, adjusted p < 0.0001"),
        (96, "± 2 %"),
        (60, "0.382×"),
        (40, "0.382×"),
    ] {
        let text = text(&view, width, false);
        for part in
            ["0.38", "randwrite", "  IOPS", "worse", "5+5", "  space saved", "simulated", part]
        {
            assert!(text.contains(part), "'{part}' is missing from\n{text}");
        }
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width, "{widest} of {width}\n{text}");
    }
    let text = text(&view, 100, false);
    assert!(!text.contains('\u{1b}'), "colour that nobody asked for");
}

#[test]
fn ends_that_differ_are_both_told_and_no_figure_is_plus_or_minus_itself() {
    let mut view = given::view(&fixture::result());
    let row = view.figures.iter_mut().find(|row| row.metric == "latency_p99_ns").unwrap();
    let shown = |view: &report::view::View, width: usize| {
        let text = text(view, width, false);
        text.lines()
            .find(|line| line.contains("p99 latency") && line.contains("ms"))
            .unwrap()
            .to_owned()
    };
    let figure =
        report::view::Figure { median: 16.5e6, low: Some(3.3e6), high: Some(37.8e6), n: 5 };
    row.values[0] = Some(figure);
    for width in [150, 180] {
        let line = shown(&view, width);
        assert!(line.contains("[3.3 ms, 37.8 ms]") && !line.contains("129"), "{width}: {line}");
    }
    let row = view.figures.iter_mut().find(|row| row.metric == "latency_p99_ns").unwrap();
    row.values[0] = Some(report::view::Figure { low: Some(16e6), high: Some(16.7e6), ..figure });
    let line = shown(&view, 150);
    assert!(line.contains("−3/+1.2 %") || line.contains("[16 ms, 16.7 ms]"), "{line}");
}

#[test]
fn what_one_side_lacks_stands_apart() {
    let text = text(&given::view(&fixture::result()), 100, false);
    let table = text.split_once("only vdo").unwrap();
    assert!(table.0.contains("IOPS") && !table.0.contains("space saved"), "{text}");
    assert!(table.1.contains("space saved") && !table.1.contains('–'), "{text}");
}

#[test]
fn colour_changes_nothing_but_colour() {
    let view = given::view(&fixture::result());
    let (plain, coloured) = (text(&view, 90, false), text(&view, 90, true));
    assert_ne!(plain, coloured);
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        bare.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    bare.push_str(rest);
    assert_eq!(bare, plain);
}

#[test]
fn names_of_others_cannot_send_codes_to_the_terminal() {
    let text = text(&given::view(&given::hostile()), 200, false);
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn long_tables_have_what_is_asked_and_the_main_figures_unless_all_are_wanted() {
    let mut view = given::view(&fixture::result());
    let whole = report::terminal::full_text(&view, 100, false);
    assert_eq!(whole, text(&view, 100, false), "few are all shown");
    let rows = view.figures.clone();
    for stage in 1..10 {
        view.figures.extend(rows.iter().cloned().map(|mut row| {
            row.scope.stage = Some(format!("stage {stage}"));
            row
        }));
    }
    let few = text(&view, 100, false);
    assert!(few.contains("IOPS") && !few.contains("median latency"), "{few}");
    let left_out = few.lines().find(|line| line.contains("more figures of each variant")).unwrap();
    assert!(left_out.ends_with("fathom show RESULT --all"), "{left_out}");
    assert!(report::terminal::full_text(&view, 100, false).contains("median latency"));
}

#[test]
fn what_the_base_alone_has_stands_once_whatever_many_others_lack_it() {
    let mut set = fixture::with(2, 6_000.0);
    let lost = set.manifest.plan.variants[1].clone();
    set.manifest.plan.variants.push(results::model::VariantFacts { name: "lost".into(), ..lost });
    let mut view = given::view(&set);
    let short = text(&view, 100, false);
    assert_eq!(short.matches("only plain").count(), 0, "vdo has the same: {short}");
    let rows = view.figures.iter_mut().filter(|row| row.label == "p99 latency");
    rows.for_each(|row| row.values[1] = None);
    let short = text(&view, 100, false);
    assert_eq!(short.matches("only plain").count(), 1, "{short}");
}

#[test]
fn where_nothing_that_was_asked_is_there_the_summary_says_so_and_does_not_end_with_a_colon() {
    let mut set = fixture::with(1, 6_000.0);
    set.manifest.accelerator = results::model::Accelerator::Tcg;
    for cell in set.cells.iter_mut().filter(|cell| cell.entry.variant == "plain") {
        (cell.entry.state, cell.record) = (results::model::CellState::Pending, None);
    }
    set.manifest.plan.questions = vec![results::model::AskedMetric {
        metric: "hit_percent".into(),
        stage: None,
        operation: None,
        layer: None,
        threshold: 0.03,
    }];
    set.cells.iter_mut().filter_map(|c| c.record.as_mut()).for_each(|r| r.layers.clear());
    for stage in set.cells.iter_mut().filter_map(|c| c.record.as_mut()).flat_map(|r| &mut r.stages)
    {
        stage.layers.clear();
    }
    let summary = text(&given::view(&set), 200, false);
    let first = summary.split("\n\n").next().unwrap();
    assert!(
        first.ends_with("The questions have no answer: no run has a figure that is asked about."),
        "{summary}"
    );
}

#[test]
fn where_nothing_is_asked_nothing_is_said_of_questions() {
    let mut set = fixture::with(1, 6_000.0);
    set.manifest.plan.questions.clear();
    for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        record.stages.iter_mut().for_each(|stage| stage.load = None);
        record.layers.clear();
    }
    set.manifest.plan.variants.truncate(1);
    let told = text(&given::view(&set), 200, false);
    assert!(told.contains("No question is asked, and no load has a figure"), "{told}");
    assert!(!told.contains("The questions have no answer"), "{told}");
}
