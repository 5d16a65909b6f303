//! Points of a sweep, levels of factors and many variants: one table instead of many.

use report::view::{Of, View};
use results::model::{LayerFigures, SweepFacts};
use results::read::ResultSet;

use crate::given;

/// The figures of a page: from their heading to the next part.
fn figures(page: &str) -> &str {
    let from = page.split_once("id=\"r0-figures\"").unwrap().1;
    from.split_once("id=\"r0-load\"").map_or(from, |parts| parts.0)
}

fn texts(view: &View) -> (String, String) {
    (report::terminal::text(view, 100, false), report::html::page(std::slice::from_ref(view)))
}

#[test]
fn a_sweep_is_one_table_of_points_by_variants_on_the_terminal_and_the_page() {
    let view = given::view(&given::swept());
    let (terminal, page) = texts(&view);
    let start = terminal.lines().position(|l| l == "IOPS of randwrite in random-write").unwrap();
    let table: Vec<&str> = terminal.lines().skip(start + 1).take(3).collect();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(table[0]), ["depth", "plain", "vdo"]);
    for (line, depth) in table[1..].iter().zip(["32", "1"]) {
        let cells = words(line);
        assert!(
            cells[0] == depth && cells[1].ends_with("/s") && cells[3..] == ["0.382×", "▼"],
            "{line}"
        );
    }
    // No point has rows of its own in addition.
    assert!(!terminal.contains("randwrite in random-write depth="), "{terminal}");
    assert!(!figures(&page).contains("Operation randwrite"), "rows of points");
    assert_eq!(figures(&page).matches("IOPS of randwrite in random-write</h3>").count(), 1);
    assert!(!page.contains("<div class=\"tile\"><h3><span>IOPS"), "a card for each point");
}

#[test]
fn a_sweep_by_bytes_in_flight_says_whether_to_split_on_the_terminal_and_the_page() {
    let view = given::view(&given::split());
    let (terminal, page) = texts(&view);
    for text in [&terminal, &page] {
        assert!(text.contains("Split or merge"), "{text}");
        for variant in ["plain", "vdo"] {
            let answer =
                format!("{variant}: split 128 KiB: 128 KiB as 32 of 4 KiB come at 3 times [");
            assert!(text.contains(&answer), "{answer}: {text}");
        }
    }
    // Without bytes in flight nothing is answered.
    let (terminal, page) = texts(&given::view(&given::swept()));
    assert!(!terminal.contains("Split or merge") && !page.contains("Split or merge"));
}

/// The made-up result with three amounts in flight at three depths.
fn amounts(variants: usize) -> ResultSet {
    let mut set = given::variants(variants);
    set.manifest.simulated = false;
    let points: Vec<(&str, &str)> = ["32k", "128k", "512k"]
        .into_iter()
        .flat_map(|amount| ["1", "8", "64"].map(|depth| (amount, depth)))
        .collect();
    let name = |(amount, depth): &(&str, &str)| format!("read depth={depth} outstanding={amount}");
    for variant in &mut set.manifest.plan.variants {
        let stage = variant.stages.remove(1);
        let made = points.iter().map(|point| {
            let pairs = [("outstanding", point.0), ("depth", point.1)];
            let point = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
            (point, stage.clone())
        });
        let named = points.iter().map(name).zip(made).map(|(name, (point, mut stage))| {
            stage.sweep = Some(SweepFacts { stage: "read".into(), point });
            stage.name = name;
            stage
        });
        variant.stages.extend(named);
    }
    for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        let stage = record.stages.remove(1);
        record.stages.extend(points.iter().enumerate().map(|(at, point)| {
            let mut record = stage.clone();
            (record.index, record.name) = (1 + at, name(point));
            record
        }));
    }
    set
}

#[test]
fn a_sweep_by_bytes_in_flight_is_a_map_of_each_variant_with_what_was_not_measured_left_empty() {
    let mut set = amounts(2);
    // No run did anything at this point.
    let gone = "read depth=64 outstanding=512k";
    for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        record.stages.retain(|stage| stage.name != gone);
    }
    let view = given::view(&set);
    assert!(view.charts.iter().all(|chart| !chart.id.starts_with("curve-")), "the map says more");
    let [map] = &view.maps[..] else { panic!("{:?}", view.maps) };
    assert!(map.in_flight && map.title.ends_with(" of randwrite in read"), "{}", map.title);
    let (_, page) = texts(&view);
    let part = page.split_once("id=\"r0-map-0\"").unwrap().1;
    let part = part.split_once("id=\"r0-findings\"").unwrap().0;
    assert_eq!(part.matches("class=\"map\"").count(), 2, "a map for each variant");
    assert_eq!(part.matches("class=\"cell").count(), 2 * 8, "no cell for what was not measured");
    assert_eq!(part.matches("class=\"flight\"").count(), 2);
    assert!(part.contains("in flight") && part.contains(">512k<"), "{part}");
    assert!(part.contains("<summary>Table</summary>") && !part.contains("NaN"), "{part}");
}

#[test]
fn a_sweep_of_two_keys_has_a_chart_for_each_level_of_the_other_and_what_lies_far_apart_a_logarithmic_axis()
 {
    let mut set = amounts(4);
    let plain = |name: &str| name.replace("outstanding", "block_size");
    for stage in set.manifest.plan.variants.iter_mut().flat_map(|variant| &mut variant.stages) {
        stage.name = plain(&stage.name);
        if let Some(sweep) = &mut stage.sweep {
            let size = sweep.point.remove("outstanding").unwrap();
            sweep.point.insert("block_size".into(), size);
        }
    }
    for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        record.stages.iter_mut().for_each(|stage| stage.name = plain(&stage.name));
    }
    let view = given::view(&set);
    let curves: Vec<_> =
        view.charts.iter().filter(|c| c.id.starts_with("curve-iops-randwrite")).collect();
    let titles: Vec<_> = curves.iter().map(|curve| &*curve.title).collect();
    let of = |size| format!("IOPS of randwrite in read by depth, block size {size} KiB");
    assert_eq!(titles, [of(32), of(128), of(512)]);
    for curve in &curves {
        let variants: Vec<_> = curve.series.iter().map(|line| line.variant).collect();
        assert_eq!(
            variants,
            [Some(0), Some(1), Some(2), Some(3)],
            "a line for each, in its colour"
        );
    }
    let (_, page) = texts(&view);
    assert!(curves.iter().all(|curve| page.contains(&curve.title)));
    let headline = view.headline.unwrap();
    assert!(headline.contains("block size") && !headline.contains('_'), "{headline}");
}

#[test]
fn a_sweep_of_one_variant_has_its_figures_side_by_side() {
    let mut alone = given::swept();
    alone.manifest.plan.variants.truncate(1);
    alone.cells.retain(|cell| cell.entry.variant == "plain");
    let (terminal, _) = texts(&given::view(&alone));
    let head = terminal.lines().find(|line| line.starts_with("depth")).unwrap();
    assert!(head.contains("IOPS") && head.contains("p99 latency"), "{terminal}");
}

#[test]
fn factors_are_one_table_of_levels_against_levels() {
    let view = given::view(&fixture::crossed(5));
    let (terminal, page) = texts(&view);
    let start = terminal.lines().position(|line| line == "IOPS of randwrite by depth").unwrap();
    let table: Vec<Vec<&str>> =
        terminal.lines().skip(start + 1).take(3).map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(table[0], ["dedupe", "1", "2", "4"]);
    assert!(table[1][0] == "off" && table[1][2].ends_with("/s"), "{terminal}");
    assert!(table[2][0] == "on" && table[2].len() == 10, "{terminal}");
    assert!(!terminal.contains("only dedupe"), "a table for each pair: {terminal}");
    assert_eq!(
        figures(&page).matches(">over dedupe off, depth 1").count(),
        0,
        "a table for each pair"
    );
}

#[test]
fn many_variants_without_factors_are_lines_of_one_table_and_no_figure_is_lost() {
    let view = given::view(&given::variants(7));
    let (terminal, page) = texts(&view);
    let vdo6: Vec<&str> = terminal.lines().filter(|line| line.starts_with("vdo 6")).collect();
    assert!(vdo6[0].contains("/s  0.38"), "{terminal}");
    let known = view.figures.iter().enumerate().filter(|(_, row)| row.known());
    for (index, row) in known {
        let shown = view.grids.iter().filter(|grid| grid.rows().any(|of| of == index)).count();
        assert_eq!(shown, 1, "{} of {}", row.label, row.scope.name());
    }
    assert!(figures(&page).contains("more tables of this kind"), "the others are folded");
    // The first screen has a line for each.
    let first = page.split_once("aria-label=\"What is asked\"").unwrap().1;
    let first = first.split_once("</table>").unwrap().0;
    assert!((2..7).all(|number| first.contains(&format!("vdo {number}"))), "{first}");
    assert_eq!(first.matches("0.38").count(), 6, "{first}");
}

#[test]
fn names_that_begin_alike_are_told_apart_on_a_narrow_terminal() {
    let mut set = given::variants(7);
    let long = "a very long name of a variant that begins as the others do ";
    for variant in &mut set.manifest.plan.variants {
        variant.name = format!("{long}{}", variant.name);
    }
    for cell in &mut set.cells {
        cell.entry.variant = format!("{long}{}", cell.entry.variant);
        cell.record.as_mut().unwrap().variant.clone_from(&cell.entry.variant);
    }
    let text = report::terminal::text(&given::view(&set), 80, false);
    for number in 2..7 {
        assert!(text.lines().any(|line| line == format!("{long}vdo {number}")), "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_cell_of_a_table_of_many_says_what_its_verdict_leaves_open() {
    let (_, page) = texts(&given::view(&given::variants(7)));
    assert!(figures(&page).contains("repeats decide nothing"), "unclear");
    let mut view = given::view(&given::variants(7));
    for c in view.figures.iter_mut().flat_map(|row| row.comparisons.iter_mut().flatten()) {
        c.statistics.verdict = c.is_asked_about().then_some(stats::Verdict::Same);
    }
    let (_, page) = texts(&view);
    assert!(
        figures(&page).contains("of runs may behave differently without having been seen"),
        "same"
    );
}

/// The made-up result in which both disks are counted, and the second variant's disk is bound under another role.
fn bound_elsewhere() -> ResultSet {
    let mut set = fixture::result();
    for layer in &mut set.manifest.plan.variants[1].stack {
        if layer.layer == "device" {
            layer.name = "flash".into();
        }
        layer.on.values_mut().for_each(|below| *below = "flash".into());
    }
    for cell in &mut set.cells {
        let (disk, writes) =
            if cell.entry.variant == "vdo" { ("flash", 300.0) } else { ("data", 100.0) };
        let figures: LayerFigures = [("device_writes".to_owned(), Some(writes))].into();
        cell.record.as_mut().unwrap().layers.insert(disk.into(), figures);
    }
    set
}

#[test]
fn a_disk_that_is_bound_under_another_role_is_held_against_the_one_at_its_place() {
    let view = given::view(&bound_elsewhere());
    let rows: Vec<_> = view.figures.iter().filter(|row| row.metric == "device_writes").collect();
    let [row] = rows[..] else { panic!("one row for the disk under the stack: {rows:?}") };
    assert_eq!(row.scope.of, Of::Layer("data".into()));
    let ratio = row.comparisons[1].as_ref().and_then(|compared| compared.ratio).unwrap();
    assert!((ratio - 3.0).abs() < 1e-9, "{ratio}");
    let (terminal, page) = texts(&view);
    assert!(terminal.contains("data (vdo: flash)"), "{terminal}");
    assert!(figures(&page).contains("Device data<span class=\"range\">vdo: flash</span>"));
    // Each variant's own figures have its own name.
    let json = report::json::json(&view);
    assert_eq!(json["variants"][1]["layers"]["flash"]["device_writes"]["median"], 300.0);
    assert!(json["variants"][1]["layers"]["data"].is_null());
    assert!(report::csv::csv(&view).contains("layer,flash,device_writes,count,vdo,300"));
}

#[test]
fn stacks_that_look_alike_are_one_drawing_and_what_differs_is_named() {
    let mut set = given::variants(4);
    let plan = &mut set.manifest.plan;
    plan.variants[2].stack[1].settings.insert("compression".into(), "off".into());
    plan.variants[3].stages[1].about.push_str(", dedupe 10%");
    let page = given::page(&set);
    let part = page.split_once("id=\"r0-stacks\"").unwrap().1;
    let part = part.split_once("id=\"r0-layers\"").unwrap().0;
    assert_eq!(part.matches("<svg").count(), 2, "plain's, and that of all others");
    let table = part.split_once("In what they differ").unwrap().1;
    for word in ["vdo compression", "<td class=\"text\">off</td>", "stage 2", "dedupe 10%"] {
        assert!(table.contains(word), "{word}: {table}");
    }
    assert!(!table.contains("block_map"), "what is the same in all: {table}");
    assert!(part.contains(">differs<"), "{part}");
    // Alike in all: no table.
    assert!(!given::page(&given::variants(4)).contains("In what they differ"));
}

#[test]
fn on_a_page_of_several_results_what_takes_from_one_stands_in_its_row() {
    let whole = given::view(&fixture::result());
    let (mut changed, mut incomplete) = (whole.clone(), whole.clone());
    changed.seal = "broken";
    incomplete.complete = false;
    incomplete.run.iter_mut().filter(|(name, _)| name == "run").for_each(|(_, id)| id.push('2'));
    let page = report::html::page(&[whole, changed, incomplete]).replace('\u{a0}', " ");
    let head = page.split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap().0;
    let rows: Vec<&str> = head.split("<a href=\"#r").skip(1).collect();
    assert_eq!(rows.len(), 3, "{head}");
    let marks = [">changed<", ">incomplete<", ">same run as 1<"];
    let found = |row: &str| marks.map(|text| row.contains(text));
    assert_eq!(found(rows[0]), [false; 3], "{}", rows[0]);
    assert_eq!(found(rows[1]), [true, false, true], "{}", rows[1]);
    assert_eq!(found(rows[2]), [false, true, false], "{}", rows[2]);
    assert!(
        rows.iter().all(|row| row.contains("20") && row.contains("range")),
        "when each began: {head}"
    );
}

#[test]
fn a_second_result_is_held_against_the_first_with_what_else_differs() {
    let old = fixture::with(12, 7_600.0);
    let mut new = fixture::with(12, 5_000.0);
    new.manifest.host.0.insert("kernel".into(), "Linux 7.3".into());
    new.manifest.guest = None;
    let found = analysis::across(&old, &new);
    let of = |variant: &str| {
        let is_iops = |row: &&analysis::AcrossRow| {
            row.comparison.new == variant && row.comparison.metric == "iops"
        };
        &found.rows.iter().find(is_iops).unwrap().comparison
    };
    assert_eq!(of("vdo").verdict, Some(stats::Verdict::Worse), "{:?}", of("vdo"));
    assert!((of("vdo").ratio.unwrap() - 5.0 / 7.6).abs() < 0.05);
    assert_eq!(of("plain").verdict, Some(stats::Verdict::Same), "{:?}", of("plain"));
    let text = report::across::text(&found, false, 200, false);
    assert!(text.starts_with("What else differs, and may be the reason: kernel ("), "{text}");
    assert!(text.contains(", then Linux 7.3)") && text.contains("worse"), "{text}");
    // Columns stand below each other.
    let block: Vec<&str> =
        text.split_once("IOPS of randwrite\n").unwrap().1.lines().take(3).collect();
    let at = block[0].find("95 % interval").unwrap();
    assert!(block[1..].iter().all(|line| line.chars().nth(at) == Some('[')), "{block:#?}");
    let document = report::across::json(&found, true);
    assert_eq!(document["differ"][0]["new"], "Linux 7.3");
    assert!(
        document["comparisons"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["n_new"] == 5 || row["n_new"].is_number())
    );
}

/// The table of all results on a page of these.
fn all_results(sets: &[ResultSet]) -> String {
    let views: Vec<View> = sets.iter().map(given::view).collect();
    let page = report::html::page(&views);
    let table = page.split_once("<b>Fathom</b>").unwrap().1;
    table.split_once("</header>").unwrap().0.to_owned()
}

#[test]
fn of_several_results_one_with_many_variants_has_its_headline_and_no_row_is_all_dashes() {
    let many = given::variants(14);
    let headline = given::view(&many).headline.unwrap();
    let table = all_results(&[fixture::with(5, 6_000.0), many.clone()]);
    assert!(table.contains(&headline), "{headline}: {table}");
    assert!(table.contains("over plain"), "the other result has its rows: {table}");
    assert!(table.matches("<tr").count() <= 5, "{table}");
    // A run without any figure says so in one row, and makes no column.
    let mut nothing = fixture::with(5, 6_000.0);
    nothing.cells.iter_mut().for_each(|cell| {
        (cell.entry.state, cell.record) = (results::model::CellState::Failed, None);
    });
    let table = all_results(&[nothing, many]);
    assert!(table.contains("there are no figures"), "{table}");
    assert!(!table.contains("<td>–</td>"), "{table}");
}

#[test]
fn results_of_different_experiments_are_a_line_each_with_their_headlines() {
    let one = fixture::with(5, 6_000.0);
    let mut other = fixture::with(1, 7_000.0);
    other.manifest.plan.experiment = "another".into();
    let table = all_results(&[one.clone(), other.clone()]);
    assert!(table.contains("2 results, each of an experiment of its own"), "{table}");
    for set in [&one, &other] {
        let view = given::view(set);
        assert!(table.contains(view.headline.unwrap().as_str()), "{table}");
        assert!(table.contains(view.trust.text.as_str()), "{table}");
    }
    assert_eq!(table.matches("<tr").count(), 3, "{table}");
    // Two of one experiment are compared by their rows.
    let three = all_results(&[one.clone(), other, one]);
    assert!(three.contains("3 results of 2 experiments"), "{three}");
    assert!(three.contains("over plain"), "{three}");
}

#[test]
fn what_is_left_to_say_of_two_results_stands_below_a_line_that_has_no_room_for_it() {
    let found = analysis::across(&fixture::with(5, 7_600.0), &fixture::with(1, 5_000.0));
    let text = report::across::text(&found, false, 80, false);
    assert!(text.contains("\n    4 runs left out: the other result lacks these repeats"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let wide = report::across::text(&found, false, 200, false);
    let beside = |line: &str| line.contains("1 + 1 runs") && line.contains("4 runs left out");
    assert!(wide.lines().any(beside), "{wide}");
}

#[test]
fn limits_of_one_rule_are_one_finding_with_their_range() {
    let mut view = given::view(&fixture::result());
    let limit = |number: u8| results::model::Finding {
        rule: "flush_time".into(),
        message: "The device below spent its time on flushes.".into(),
        remedy: "Put the journal on a device of its own.".into(),
        subject: Some(format!("set {number}")),
        explains_percent: Some(50.0 - f64::from(number)),
        ..results::model::Finding::default()
    };
    view.findings = (0..8).map(limit).collect();
    let page = report::html::page(&[view]);
    assert!(page.contains("Findings (1)") && page.contains(">1 finding<"), "not counted once");
    let part = page.split_once("id=\"r0-findings\"").unwrap().1;
    let part = part.split_once("id=\"r0-figures\"").unwrap().0;
    assert!(part.contains("Findings: 1 limit<"), "{part}");
    assert!(part.contains("43 to 50 %") && part.contains("set 0 and 7 more"), "{part}");
    assert_eq!(part.matches("What to do:").count(), 1, "{part}");
    assert!(part.contains("<b>set 7</b>: the same"), "{part}");
}

#[test]
fn content_that_is_the_same_of_all_is_told_once() {
    let content = |set: &results::ResultSet| {
        let page = given::page(set);
        let table = page.split_once("Content: asked and achieved").unwrap().1;
        table.split_once("</table>").unwrap().0.to_owned()
    };
    let two = content(&fixture::result());
    let rows = two.matches("<tr>").count();
    assert!(two.contains("plain, <i class=\"dot\"") && rows <= 7, "{two}");
    let many = content(&given::variants(8));
    assert!(many.contains("all 8 variants"), "{many}");
    assert_eq!(many.matches("<tr>").count(), rows, "{many}");
}
