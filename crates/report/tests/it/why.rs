//! Why something changed, where the page has the cause; and words for threads.

use report::view::View;
use results::model::{CommandFigures, Finding, Row, StageFacts, TimeRange};
use results::read::ResultSet;
use stats::Verdict;

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
        let bytes = of(2_400.0 * 4096.0, 16_800.0 * 4096.0);
        let disk = [("device_reads", of(2_400.0, 16_800.0)), ("device_read_bytes", bytes)];
        record.layers.insert("data".into(), disk.map(|(id, value)| (id.to_owned(), value)).into());
        if let Some(counters) = record.layers.get_mut("vdo") {
            counters.insert("dedupe_advice_valid".into(), Some(8_000.0));
            counters.insert("dedupe_advice_stale".into(), Some(400.0));
        }
    }
    set
}

#[test]
fn why_is_answered_with_what_was_counted_in_plain_words_and_the_layers_word_behind() {
    let view = given::view(&copies());
    let why = view.why.as_ref().expect("the page has the cause");
    assert_eq!(why.title, "Why vdo takes 4.7 times as long as plain");
    let first = &why.causes[0];
    let sentence = "7 times the reads reached the disk; half of the bytes read are VDO comparing duplicates with what it has stored.";
    assert_eq!(first.text, sentence);
    assert_eq!(
        first.counters,
        "reads: vdo 16,800, plain 2,400; stored blocks read to compare: 8,400"
    );
    assert!(why.causes.len() <= 3, "{why:?}");
    let page = report::html::page(std::slice::from_ref(&view));
    assert!(page.contains(sentence) && page.contains("(reads: vdo 16,800"), "on the page");
    let terminal = report::terminal::text(&view, 200, false);
    assert!(terminal.contains(&format!("{}:\n  {sentence}\n", why.title)), "{terminal}");
    assert!(terminal.contains("Counted, not proved"), "{terminal}");
    assert_eq!(report::json::json(&view)["why"]["causes"][0]["text"], sentence);
}

/// The view with these findings alone.
fn with_findings(set: &ResultSet, findings: &[Finding]) -> View {
    report::view::view(set, &analysis::analyse(set), findings)
}

/// The texts of the reasons; none where there is no reason.
fn causes(view: &View) -> Vec<&str> {
    view.why.iter().flat_map(|why| &why.causes).map(|cause| cause.text.as_str()).collect()
}

#[test]
fn a_part_that_is_more_than_the_bytes_that_moved_is_no_part() {
    let mut set = copies();
    let records = set.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
    for counters in records.filter_map(|record| record.layers.get_mut("vdo")) {
        counters.insert("dedupe_advice_valid".into(), Some(80_000.0));
    }
    let view = given::view(&set);
    assert_eq!(causes(&view)[0], "7 times the reads reached the disk.");
}

#[test]
fn what_comes_by_time_is_no_reason_of_fewer_ios() {
    let with = |of_vdo: f64| {
        let mut set = fixture::result();
        set.manifest.plan.questions.truncate(1);
        for cell in &mut set.cells {
            let record = cell.record.as_mut().unwrap();
            let vdo = cell.entry.variant == "vdo";
            for stage in record.stages.iter_mut().filter(|stage| stage.measured) {
                let load = stage.load.as_mut().unwrap();
                if vdo {
                    load.operations.values_mut().for_each(|operation| operation.ios /= 10);
                }
            }
            let flushes = Some(if vdo { of_vdo } else { 60_000.0 });
            record.layers.insert("data".into(), [("device_flushes".to_owned(), flushes)].into());
        }
        let view = with_findings(&set, &[]);
        causes(&view).iter().map(|&text| text.to_owned()).collect::<Vec<_>>()
    };
    let of_flushes = |texts: &[String]| texts.iter().any(|text| text.contains("flushes"));
    assert!(!of_flushes(&with(60_000.0)), "{:?}", with(60_000.0));
    assert!(of_flushes(&with(90_000.0)), "{:?}", with(90_000.0));
}

#[test]
fn a_limit_is_a_reason_where_the_base_has_not_the_same() {
    let busy = |subject: &str, percent: f64| Finding {
        rule: "device_busy".into(),
        subject: Some(subject.into()),
        message: "The disk was busy.".into(),
        explains_percent: Some(percent),
        ..Finding::default()
    };
    let set = copies();
    let is_cause = |findings: &[Finding]| {
        causes(&with_findings(&set, findings)).contains(&"The disk was busy.")
    };
    assert!(is_cause(&[busy("vdo: data", 100.0)]));
    assert!(is_cause(&[busy("vdo: data", 100.0), busy("plain: data", 60.0)]));
    assert!(!is_cause(&[busy("vdo: data", 100.0), busy("plain: data", 97.0)]));
}

#[test]
fn a_limit_of_another_stage_is_no_reason() {
    let mut set = copies();
    for variant in &mut set.manifest.plan.variants {
        let again = StageFacts { name: "copy-2".into(), ..variant.stages[1].clone() };
        variant.stages.push(again);
    }
    for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        let mut again = record.stages[1].clone();
        (again.index, again.name) = (2, "copy-2".into());
        let start_ns = again.end_ns.unwrap();
        (again.start_ns, again.end_ns) = (start_ns, Some(start_ns + 1_000_000_000));
        // Nothing changed in the stage before.
        record.stages[1].command.as_mut().unwrap().elapsed_with_sync_s = Some(5.0);
        record.stages.push(again);
    }
    let cell = set.cells_of("vdo").next().unwrap();
    let (index, stages) = (cell.entry.index, cell.record.as_ref().unwrap().stages.clone());
    let is_cause = |stage: usize| {
        let (start_ns, end_ns) = (stages[stage].start_ns, stages[stage].end_ns.unwrap());
        let finding = Finding {
            subject: Some("vdo".into()),
            message: "A thread was busy.".into(),
            explains_percent: Some(95.0),
            range: Some(TimeRange { cell: index, start_ns, end_ns }),
            ..Finding::default()
        };
        let view = with_findings(&set, &[finding]);
        causes(&view).contains(&"A thread was busy.")
    };
    assert!(is_cause(2) && !is_cause(1));
}

#[test]
fn what_is_not_decided_has_no_reason() {
    let mut set = copies();
    let repeats = |set: &ResultSet| set.cells_of("vdo").count() as f64;
    let all = repeats(&set);
    for cell in set.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo") {
        let by = if f64::from(cell.entry.repeat) > all / 2.0 { 0.2 } else { 3.0 };
        let stages = cell.record.iter_mut().flat_map(|record| &mut record.stages);
        for command in stages.filter_map(|stage| stage.command.as_mut()) {
            command.elapsed_with_sync_s = command.elapsed_with_sync_s.map(|time| time * by);
        }
    }
    let view = given::view(&set);
    let compared = view.figures.iter().find(|row| row.asked).unwrap().comparisons[1].as_ref();
    let open = compared.unwrap();
    assert!(open.ratio.unwrap() > 1.1 && open.verdict == Some(Verdict::Unclear), "{open:?}");
    assert_eq!(view.why, None);
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
fn a_level_that_was_more_than_nothing_for_a_moment_alone_is_shown() {
    let mut set = fixture::result();
    let mut seen = 0;
    for row in set.cells.iter_mut().flat_map(|cell| &mut cell.rows) {
        if let Row::Sample(sample) = row
            && sample.source == "vdo.stats"
        {
            seen += 1;
            let level = if seen == 3 { 2048.0 } else { 0.0 };
            sample.fields.insert("currentVIOsInProgress".into(), Some(level));
            sample.fields.remove("maxVIOs");
        }
    }
    let view = given::view(&set);
    assert!(view.charts.iter().any(|chart| chart.id == "1-vdo-in-flight"));
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
        "The answer in a picture",
        "Throughput of randwrite",
        "id=\"r0-figures\"",
    ] {
        assert!(open.contains(seen), "{seen} is folded");
    }
    assert_eq!(open.matches("<figure").count(), 1, "charts beside the answer");
    assert!(open.matches("<tr").count() < 60, "{} rows", open.matches("<tr").count());
}
