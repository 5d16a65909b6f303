//! The page as text: what stands in it, and what must not.

use std::collections::BTreeSet;

use results::model::{Accelerator, CellState, Row};

use crate::given;

#[test]
fn the_parts_come_in_the_order_a_reader_needs_them() {
    let mut set = fixture::result();
    set.manifest.accelerator = Accelerator::Tcg;
    set.manifest.lab = Some(serde_json::json!({"qemu_version": "QEMU emulator version 7"}));
    let page = given::page(&set);
    let parts = [
        "<h1 id=\"r0-verdict\">vdo saves 75\u{a0}% of the space and does 0.38 times the random writes of plain",
        "<li>With “vdo”, randwrite ran at 0.38× the IOPS of “plain”",
        "<b>Simulated. </b>",
        "<p class=\"trust\">Read with care: emulated CPU",
        "<div class=\"tile\">",
        "<h2 id=\"r0-answer\">",
        "Throughput of randwrite",
        "<details class=\"part findings\" id=\"r0-findings\">",
        "<h2 id=\"r0-figures\">",
        "Figures that only vdo has",
        "Throughput of the intervals",
        "<details class=\"part\" id=\"r0-load\">",
        "<details class=\"part\" id=\"r0-stacks\">",
        "<details class=\"part\" id=\"r0-layers\">",
        "CPU of each thread",
        "<details class=\"part\" id=\"r0-content\">",
        "<details class=\"part\" id=\"r0-run\">",
        "<details class=\"part\" id=\"r0-machine\">",
        "<details class=\"part\" id=\"r0-qemu\">",
        "QEMU emulator version 7",
        "<details class=\"part\" id=\"r0-cells\">",
        "lvcreate --type vdo",
        "<details class=\"part\" id=\"r0-cost\">",
        "<details class=\"part\" id=\"r0-glossary\">",
    ];
    let mut rest = page.as_str();
    for part in parts {
        rest =
            rest.split_once(part).unwrap_or_else(|| panic!("'{part}' is missing or too early")).1;
    }
}

#[test]
fn the_page_asks_no_other_machine_for_anything_and_is_small() {
    let page = given::page(&fixture::result());
    for outside in ["http://", "https://", "src=\"", "@import", "url("] {
        let svg = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!svg.contains(outside), "the page refers to {outside}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.len() < 1_000_000, "{} B", page.len());
}

#[test]
fn content_of_one_run_says_how_far_its_sample_may_be_off() {
    let of = |repeats| {
        let page = given::page(&fixture::with(repeats, 8000.0));
        let content = page.split_once("Content: asked and achieved").unwrap().1;
        content.split_once("</table>").unwrap().0.to_owned()
    };
    // The fixture's standard error is 0.3 points.
    assert!(of(1).contains("±\u{a0}0.59\u{a0}points"));
    let several = of(5);
    assert!(!several.contains('±') && several.contains("[49.9\u{a0}%, 49.9\u{a0}%]"), "{several}");
}

#[test]
fn the_packers_interval_is_that_of_sixteen_parts() {
    let mut set = fixture::with(1, 8000.0);
    for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        for load in record.stages.iter_mut().filter_map(|stage| stage.load.as_mut()) {
            let Some(achieved) = load.achieved.as_mut() else { continue };
            achieved.packer_saving_percent = Some(40.0);
            achieved.packer_saving_error_points = Some(1.0);
            achieved.lz4_saving_error_points = Some(1.0);
        }
    }
    let page = given::page(&set);
    let content = page.split_once("Content: asked and achieved").unwrap().1;
    let (lz4, packer) = content.split_once("VDO's packer").unwrap();
    assert!(lz4.contains("±\u{a0}2\u{a0}points"), "1.96 times the standard error: {lz4}");
    // Student's t for 15 degrees of freedom, two-sided 95 %: 2.131.
    assert!(packer.contains("±\u{a0}2.1\u{a0}points"), "{packer}");
}

#[test]
fn a_spread_of_a_few_runs_is_called_a_range_and_not_an_interval_of_95_percent() {
    let markup = |repeats| {
        let page = given::page(&fixture::with(repeats, 7_600.0));
        page.split_once("<dl class=\"terms\">").unwrap().0.to_owned()
    };
    let (three, five) = (markup(3), markup(5));
    assert!(
        three.contains("Each figure is the median over the repeats, its range below it"),
        "{three}"
    );
    // The ratio's is Student's, which is right of three too; by ranks three have none.
    assert!(three.contains("95\u{a0}%\u{a0}interval [0.366,\u{a0}0.406]"), "{three}");
    assert!(
        five.contains("95\u{a0}%\u{a0}interval [0.371,\u{a0}0.395]")
            && !five.contains("range\u{a0}of")
    );
}

#[test]
fn the_adjusted_p_stands_beside_the_verdict_and_what_is_the_same_says_within_what() {
    let mut set = fixture::result();
    let page = given::page(&set);
    let figures = page.split_once("-figures\">").unwrap().1;
    let row = figures.split_once("<tr class=\"asked\">").unwrap().1.split_once("</tr>").unwrap().0;
    assert!(row.contains("p &lt; 0.0001, adjusted p &lt; 0.0001, paired"), "{row}");
    let copies: Vec<_> = set.cells_of("plain").cloned().collect();
    for (cell, copy) in set.cells.iter_mut().filter(|c| c.entry.variant == "vdo").zip(copies) {
        cell.record = copy.record;
    }
    let page = given::page(&set);
    let headline = page.split_once("<h1 id=\"r0-verdict\">").unwrap().1;
    let (headline, also) = headline.split_once("</h1>").unwrap();
    assert!(headline.starts_with("vdo does as many random writes as plain"), "{headline}");
    assert!(also.contains("the same CPU of the load per I/O (within 3 %)"), "{}", &also[..300]);
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let page = given::page(&given::hostile());
    assert!(!page.contains("<img"), "markup from a name");
    assert!(!page.contains("<script>alert"), "a script from a name");
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    let charts = given::charts(&page);
    let name = charts[0]["series"][0]["name"].as_str().unwrap();
    assert!(name.starts_with("</script><script>alert(1)"), "{name}");
}

#[test]
fn every_chart_has_a_drawing_a_table_and_a_line_that_says_how_to_read_it() {
    let page = given::page(&fixture::result());
    let figures: Vec<_> = page.split("<figure class=\"chart\">").skip(1).collect();
    // A box and a cell have no value at a moment that a cursor could read off.
    let read = figures.iter().filter(|figure| figure.contains(" data-chart=")).count();
    assert_eq!(read, given::charts(&page).len());
    assert!(figures.len() > read);
    for figure in figures {
        let figure = figure.split_once("</figure>").unwrap().0;
        assert!(
            figure.contains("<table>") && figure.contains("<path class=\"across\""),
            "{figure}"
        );
        let reading = figure.split_once("<p class=\"reading\">").unwrap().1;
        assert!(reading.split_once("</p>").unwrap().0.len() > 40, "{reading}");
    }
}

#[test]
fn a_result_that_was_cut_off_says_so_and_shows_what_there_is() {
    let mut set = fixture::result();
    set.incomplete = Some("the run was killed".to_owned());
    for cell in set.cells.iter_mut().skip(4) {
        cell.record = None;
        cell.entry.state = CellState::Running;
        cell.rows.truncate(cell.rows.len() / 2);
    }
    let page = given::page(&set);
    assert!(page.contains("<b>Incomplete. </b>") && page.contains("the run was killed"));
    assert!(page.contains("cut off"));
    assert!(page.contains("Throughput of randwrite"));
}

#[test]
fn a_result_without_any_cell_is_a_page_too() {
    let mut set = fixture::result();
    for cell in &mut set.cells {
        cell.record = None;
        cell.entry.state = CellState::Pending;
        cell.rows.clear();
    }
    let page = given::page(&set);
    assert!(page.contains("No cell ended well, so there are no figures."));
    assert!(given::charts(&page).is_empty());
    // The script holds any letters.
    let markup = page.split_once("<script>").unwrap().0;
    assert!(!markup.contains("NaN") && !markup.contains(">inf"));
}

#[test]
fn what_is_missing_is_a_dash_and_never_0() {
    let view = given::view(&fixture::result());
    let saved = view.figures.iter().find(|row| row.metric == "saving_percent").unwrap();
    assert!(saved.values[0].is_none() && saved.values[1].is_some());
    let page = report::html::page(&[view]);
    // A bar of nothing would look as one of 0.
    let tile = page.split_once("<span>space saved since allocation<").unwrap().1;
    let tile = tile.split_once("<nav").unwrap().0.split("<div class=\"tile\">").next().unwrap();
    assert!(tile.contains("<span>vdo</span>") && !tile.contains("<span>plain</span>"), "{tile}");
    let row = page.split_once(">space saved since allocation</th>").unwrap().1;
    assert!(row.starts_with("<td>75 %"), "{}", &row[..60]);
}

#[test]
fn what_one_side_lacks_makes_no_columns_of_dashes() {
    let page = given::page(&fixture::result());
    let figures = page.split_once("<h2 id=\"r0-figures\">").unwrap().1;
    let figures = figures.split_once("Throughput of the intervals").unwrap().0;
    assert!(!figures.contains('–'), "{figures}");
    let only = figures.split_once("<h3>Figures that only vdo has</h3>").unwrap().1;
    let head = only.split_once("</thead>").unwrap().0;
    assert!(head.contains("vdo") && !head.contains("plain"), "{head}");
    assert!(only.contains("Layer vdo") && !only.contains("Operation randwrite"));
}

#[test]
fn a_variant_of_which_no_content_is_known_has_no_rows_of_dashes() {
    let mut set = fixture::result();
    for cell in set.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo") {
        cell.record = None;
        cell.entry.state = CellState::Running;
    }
    let page = given::page(&set);
    let content = page.split_once("Content: asked and achieved").unwrap().1;
    let table = content.split_once("</table>").unwrap().0;
    assert!(table.contains("plain</td>") && !table.contains("vdo</td>"), "{table}");
}

#[test]
fn raw_words_of_qemu_stand_behind_why() {
    let raw = "QEMU: qemu-system-x86_64: kvm.c:3183: Assertion `ret == cpu->nmsrs' failed.";
    let mut set = fixture::result();
    set.manifest.accelerator = Accelerator::Tcg;
    let reason = format!("/dev/kvm opens, but a probe boot failed: the guest crashed: {raw}");
    set.manifest.accelerator_reason = Some(reason);
    set.manifest.lab = Some(serde_json::json!({"qemu_version": "QEMU emulator version 7"}));
    let cell = &mut set.cells[1];
    cell.entry.state = CellState::Failed;
    let record = cell.record.as_mut().unwrap();
    (record.state, record.reason) = (CellState::Failed, Some(format!("the guest crashed: {raw}")));
    let view = given::view(&set);
    let page = report::html::page(std::slice::from_ref(&view));
    let shown = page.split_once("id=\"r0-qemu\"").unwrap().0;
    let mut pieces = shown.split("Assertion");
    let mut before = pieces.next().unwrap();
    let mut met = 0;
    for piece in pieces {
        assert!(before.rfind("<details class=\"why\">") > before.rfind("</details>"), "{before}");
        (before, met) = (piece, met + 1);
    }
    assert!(met >= 2, "findings: {met}");
    let text = report::terminal::text(&view, 100, false);
    assert!(!text.contains("Assertion") && text.contains("the guest crashed"), "{text}");
    let json = report::json::json(&view).to_string();
    assert!(json.contains("Assertion"), "who wants the words has them");
}

#[test]
fn the_areas_of_a_stack_share_their_moments_and_have_no_holes() {
    let mut set = fixture::with(1, 7_600.0);
    let vdo = set.cells.iter_mut().find(|cell| cell.entry.variant == "vdo").unwrap();
    let mut place = 0;
    for row in &mut vdo.rows {
        let Row::Sample(sample) = row else { continue };
        if sample.source == "vdo.threads" {
            // One thread is seen now and then only.
            place += 1;
            if place % 5 == 3 {
                sample.fields.remove("journalQ");
            }
        }
    }
    let page = given::page(&set);
    let charts = given::charts(&page);
    let threads = charts.iter().find(|c| c["shape"] == "stacked").unwrap();
    let series = threads["series"].as_array().unwrap();
    assert!(series.len() >= 4);
    for one in series {
        assert_eq!(one["x"], series[0]["x"], "{}", one["name"]);
        let y = one["y"].as_array().unwrap();
        let first = y.iter().position(|y| !y.is_null()).unwrap();
        let last = y.iter().rposition(|y| !y.is_null()).unwrap();
        assert!(y[first..=last].iter().all(|y| !y.is_null()), "{one}");
    }
}

#[test]
fn several_results_share_a_page_without_sharing_an_id() {
    let set = fixture::result();
    let page = report::html::page(&[given::view(&set), given::view(&set)]);
    let ids: Vec<_> = page.split(" id=\"").skip(1).filter_map(|t| t.split('"').next()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert!(ids.contains(&"r1-verdict"));
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn several_results_begin_with_a_table_of_what_each_found() {
    let (found, mut none) = (fixture::result(), fixture::result());
    for cell in &mut none.cells {
        (cell.record, cell.entry.state) = (None, CellState::Pending);
        cell.rows.clear();
    }
    let views = [given::view(&found), given::view(&none)];
    let page = report::html::page(&views);
    let table = page.split_once("<table>").unwrap().1.split_once("</table>").unwrap().0;
    let ratio = views[0].figures.iter().find(|row| row.asked).unwrap().comparisons[1].as_ref();
    let ratio = format!("{}×", units::show::significant(ratio.unwrap().ratio.unwrap(), 3));
    assert!(table.contains("<a href=\"#r0\">") && table.contains(&ratio), "{ratio} not in {table}");
    assert!(table.contains("No cell ended well, so there are no figures."), "{table}");
}

#[test]
fn what_no_run_decides_is_said_once() {
    let page = given::page(&fixture::with(1, 7_600.0));
    let headline =
        page.split_once("<h1 id=\"r0-verdict\">").unwrap().1.split_once("</h1>").unwrap().0;
    assert!(headline.ends_with("; one run of each decides nothing."), "{headline}");
    let also = page.split_once("<ul class=\"also\">").unwrap().1.split_once("</ul>").unwrap().0;
    assert!(also.contains("Verdict: unclear.") && also.matches("unclear").count() == 1, "{also}");
}

#[test]
fn the_pictures_that_an_experiment_asks_for_come_first_and_once() {
    let mut set = fixture::result();
    set.manifest.plan.pictures = given::pictures();
    let view = given::view(&set);
    assert_eq!(view.answers.len(), 9, "{:?}", view.answers);
    assert_eq!(
        view.answers[..2],
        ["iops-random-write-randwrite", "throughput-random-write-randwrite"]
    );
    let page = report::html::page(std::slice::from_ref(&view));
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(place("The answer in pictures") < place("I/Os per second of randwrite over time"));
    assert!(
        place("How long I/Os took: latency percentiles of randwrite") < place("id=\"r0-figures\"")
    );
    for id in &view.answers {
        assert_eq!(page.matches(&format!("data-chart=\"r0-{id}\"")).count(), 1, "{id}");
    }
    // There is a bar for each percentile and variant.
    let bars = page.split_once("data-chart=\"r0-bars-latency-random-write-randwrite\"").unwrap().1;
    let drawing = bars.split_once("<details>").unwrap().0;
    let all = drawing.split("class=\"bar\"").skip(1).flat_map(|path| path.split_once("</path>"));
    assert_eq!(all.map(|(path, _)| path.matches('M').count()).sum::<usize>(), 4, "{drawing}");
    assert!(drawing.contains("50 %") && drawing.contains("99 %"), "{drawing}");
}

#[test]
fn a_picture_that_this_version_cannot_draw_leaves_the_usual_one() {
    let mut set = fixture::result();
    let usual = given::view(&set).answers;
    set.manifest.plan.pictures = vec![given::picture(results::model::Show::Unknown)];
    assert_eq!(given::view(&set).answers, usual);
    assert_eq!(usual.len(), 1);
}

#[test]
fn a_step_within_the_runs_is_told_and_marked_in_the_chart_over_time() {
    let set = fixture::with_a_step(5);
    let view = given::view(&set);
    let [course] = &view.courses[..] else { panic!("{:?}", view.courses) };
    let text = course.text.as_deref().unwrap();
    assert!(
        text.starts_with("vdo: falls from 15.7 MiB/s to 9.43 MiB/s after 30 s, 472 MiB"),
        "{text}"
    );
    let page = given::page(&set);
    assert!(page.contains(text) && page.contains("stroke-dasharray"), "told and drawn");
    let charts = given::charts(&page);
    let of = |id: &str| charts.iter().find(|chart| chart["id"] == id).unwrap();
    let marks = &of("throughput-random-write-randwrite")["marks"];
    assert_eq!((&marks[0]["label"], &marks[0]["variant"]), (&"step".into(), &1.into()));
    assert!(of("p99-random-write-randwrite")["marks"].is_null());
    let terminal = report::terminal::text(&view, 200, false);
    assert!(terminal.contains(&format!("randwrite, {text}")), "{terminal}");
}

#[test]
fn effects_of_factors_stand_on_the_page_and_the_terminal_with_what_they_rest_on() {
    let set = fixture::crossed(5);
    let page = given::page(&set);
    for text in [
        "What each factor does",
        "dedupe from off to on",
        "Two together",
        "dedupe from off to on, and then depth from 2 to 4",
        "5 repeats; spread of a cell",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let terminal = report::terminal::text(&given::view(&set), 160, false);
    assert!(terminal.contains("Effects on IOPS of randwrite:"), "{terminal}");
    assert!(
        terminal.contains("  worse   ") && terminal.contains("depth from 1 to 2"),
        "{terminal}"
    );
    assert!(!given::page(&fixture::result()).contains("What each factor does"));
    // Of one run each nothing was tested.
    assert!(page.contains("p, adjusted"));
    assert!(!given::page(&fixture::crossed(1)).contains("p, adjusted"));
}

#[test]
fn a_strip_says_what_is_marked_in_it_and_what_is_not() {
    let reading = |disturbed: usize| {
        let mut set = fixture::result();
        for cell in &mut set.cells[..disturbed] {
            let load =
                results::model::MachineLoad { others_percent: Some(48.0), ..Default::default() };
            cell.record.as_mut().unwrap().machine = Some(load);
        }
        let page = given::page(&set);
        let strip = page.split("IOPS of randwrite, cell by cell").nth(1).unwrap();
        strip.split("</figure>").next().unwrap().to_owned()
    };
    let marks = |text: &str| text.contains("A broken line marks a cell");
    assert!(!marks(&reading(0)) && marks(&reading(1)) && !marks(&reading(10)));
    assert!(reading(10).contains("disturbed all of them"));
}

#[test]
fn a_disturbed_cell_is_marked_in_the_strip_of_repeats_and_in_the_table_of_cells() {
    let mut set = fixture::result();
    let load = results::model::MachineLoad { others_percent: Some(48.0), ..Default::default() };
    set.cells[3].record.as_mut().unwrap().machine = Some(load);
    let page = given::page(&set);
    assert!(page.contains("IOPS of randwrite, cell by cell"));
    assert!(page.contains("others took 48 % of the CPUs"), "in the table of cells");
    assert!(page.contains("disturbed 1 of 10 cells (10 %)"), "the finding");
    let charts = given::charts(&page);
    let strip = charts.iter().find(|chart| chart["id"] == "strip-iops-randwrite").unwrap();
    assert_eq!(
        (&strip["marks"][0]["x"], &strip["marks"][0]["label"]),
        (&4.0.into(), &"disturbed".into())
    );
    assert!(strip["marks"][1].is_null());
    let points = strip["series"][0]["y"].as_array().unwrap();
    assert_eq!(points.iter().filter(|y| !y.is_null()).count(), 5);
}

#[test]
fn figures_rest_on_the_cells_that_ended_only_where_some_did_not() {
    let mut set = fixture::with(2, 6_000.0);
    set.incomplete = Some("nothing was verified".into());
    assert!(!given::page(&set).contains("cells that ended"), "all ended");
    (set.cells[0].entry.state, set.cells[0].record) = (results::model::CellState::Running, None);
    assert!(given::page(&set).contains("Figures rest on the cells that ended."));
}
