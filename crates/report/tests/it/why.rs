//! Why something changed, where the page has the cause; and words for threads.

use results::model::{CommandFigures, Row};
use results::read::ResultSet;

use crate::given;

/// A copy that takes 4.7 times as long on VDO, with 7 times the reads, half of them to compare duplicates.
fn copies() -> ResultSet {
    let mut set = fixture::result();
    let plan = &mut set.manifest.plan;
    plan.questions.truncate(1);
    plan.questions[0].metric = "elapsed_with_sync_s".into();
    plan.questions[0].operation = None;
    for cell in &mut set.cells {
        let vdo = cell.entry.variant == "vdo";
        let record = cell.record.as_mut().unwrap();
        let of = |plain: f64, other: f64| Some(if vdo { other } else { plain });
        for stage in record.stages.iter_mut().filter(|stage| stage.measured) {
            stage.load = None;
            stage.kind = "command".into();
            stage.command = Some(CommandFigures {
                elapsed_with_sync_s: of(5.7, 26.8),
                ..CommandFigures::default()
            });
        }
        let disk = [("device_reads".to_owned(), of(2_400.0, 16_800.0))];
        record.layers.insert("data".into(), disk.into());
        if let Some(own) = record.layers.get_mut("vdo") {
            own.insert("dedupe_advice_valid".into(), Some(8_000.0));
            own.insert("dedupe_advice_stale".into(), Some(400.0));
        }
    }
    set
}

#[test]
fn why_is_answered_with_what_was_counted_in_plain_words_and_the_layers_word_behind() {
    let view = given::view(&copies());
    let why = view.why.as_ref().expect("the page has the cause");
    assert_eq!(why.of, "Why vdo takes 4.7 times as long as plain");
    let first = &why.causes[0];
    let said = "7 times the reads reached the disk; half of them are VDO comparing duplicates with what it has stored.";
    assert_eq!(first.text, said);
    assert_eq!(first.counters, "reads: vdo 16,800, plain 2,400; advice: 8,400");
    assert!(why.causes.len() <= 3, "{why:?}");
    let page = report::html::page(std::slice::from_ref(&view));
    assert!(page.contains(said) && page.contains("(reads: vdo 16,800"), "on the page");
    let terminal = report::terminal::text(&view, 200, false);
    assert!(terminal.contains(&format!("{}:\n  {said}\n", why.of)), "{terminal}");
    assert_eq!(report::json::json(&view)["why"]["causes"][0]["text"], said);
}

#[test]
fn nothing_is_said_of_why_where_nothing_was_counted_or_nothing_changed() {
    let mut set = copies();
    for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        record.layers.clear();
    }
    set.cells.iter_mut().for_each(|cell| cell.rows.clear());
    assert_eq!(given::view(&set).why, None, "no counter, no cause");
    let mut alike = copies();
    for stage in
        alike.cells.iter_mut().filter_map(|c| c.record.as_mut()).flat_map(|r| &mut r.stages)
    {
        if let Some(command) = &mut stage.command {
            command.elapsed_with_sync_s = Some(5.0);
        }
    }
    assert_eq!(given::view(&alike).why, None, "nothing changed");
}

#[test]
fn a_thread_is_told_by_its_work_wherever_it_is_shown() {
    let page = given::page(&fixture::result());
    let table = page.split_once("CPU of each thread</h3>").unwrap().1;
    let table = table.split_once("</table>").unwrap().0;
    assert!(table.contains("hashes and compresses (cpuQ0)"), "{table}");
    assert!(!table.contains(">cpuQ0"), "a bare name: {table}");
    let charts = given::charts(&page);
    let stacked = charts.iter().find(|chart| chart["shape"] == "stacked").unwrap();
    for series in stacked["series"].as_array().unwrap() {
        let name = series["name"].as_str().unwrap();
        assert!(name.ends_with(')') || name.ends_with("others"), "{name}");
    }
    let view = given::view(&given::two_operations());
    let mut threads = view.findings.iter().filter(|finding| finding.rule == "thread_busy");
    let message = &threads.next().unwrap().message;
    assert_eq!(message, "VDO's thread that hashes and compresses (cpuQ0) was busy.");
}

#[test]
fn the_axis_of_what_is_in_flight_reaches_the_most_that_a_finding_speaks_of() {
    let mut set = fixture::with(1, 7_600.0);
    for row in set.cells.iter_mut().flat_map(|cell| &mut cell.rows) {
        if let Row::Sample(sample) = row
            && sample.source == "vdo.stats"
        {
            let now = sample.at_ns as f64 / 1e9;
            sample.fields.insert("currentVIOsInProgress".into(), Some(200.0 + now));
            sample.fields.insert("maxVIOs".into(), Some(2048.0));
        }
    }
    let view = given::view(&set);
    let chart = view.charts.iter().find(|chart| chart.id == "1-vdo-in-flight").unwrap();
    assert_eq!(chart.y_range().unwrap().1, 2048.0);
}

#[test]
fn a_moment_that_is_told_lies_within_its_chart() {
    let view = given::view(&fixture::with_a_step(5));
    let chart = view.charts.iter().find(|chart| chart.id.starts_with("throughput-")).unwrap();
    let mut marks = report::view::marks(&view, chart);
    let (low, high) = chart.x_range(&marks).unwrap();
    assert!(marks.iter().all(|mark| (low..=high).contains(&mark.x)));
    marks[0].high = Some(high + 30.0);
    assert_eq!(chart.x_range(&marks).unwrap().1, high + 30.0, "the axis reaches what is told");
}

#[test]
fn a_chart_in_which_something_moved_at_a_moment_alone_is_left_out() {
    let mut set = fixture::result();
    let mut reads = 0.0;
    for row in set.cells.iter_mut().flat_map(|cell| &mut cell.rows) {
        if let Row::Sample(sample) = row
            && sample.source == "machine.diskstats"
        {
            // All of one read comes before the second sample.
            reads = if reads == 0.0 { 1.0 } else { 4096.0 };
            sample.fields.insert("data.read_bytes".into(), Some(reads));
        }
    }
    let view = given::view(&set);
    let title = |chart: &&report::view::Chart| chart.title.starts_with("Bytes read");
    assert_eq!(view.charts.iter().filter(title).count(), 0);
}

#[test]
fn what_is_not_asked_first_is_folded_and_the_answer_is_not() {
    let page = given::page(&fixture::result());
    let open = |page: &str| {
        let mut depth = 0_usize;
        let mut text = String::new();
        for piece in page.split('<') {
            if piece.starts_with("details") {
                depth += 1;
            }
            if depth == 0 {
                text.push('<');
                text.push_str(piece);
            }
            if piece.starts_with("/details>") {
                depth -= 1;
            }
        }
        text
    };
    let open = open(&page);
    for seen in [
        "<h1",
        "class=\"tile\"",
        "id=\"r0-findings\"",
        "The answer in a picture",
        "Throughput of randwrite",
        "id=\"r0-figures\"",
    ] {
        assert!(open.contains(seen), "{seen} is folded");
    }
    assert_eq!(open.matches("<figure").count(), 1, "charts beside the answer");
    assert!(open.matches("<tr").count() < 60, "{} rows", open.matches("<tr").count());
}
