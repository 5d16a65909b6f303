//! The page as text: what stands in it, and what must not.

use std::collections::BTreeSet;

use results::model::{Accelerator, CellState};

use crate::given;

#[test]
fn the_parts_come_in_the_order_a_reader_needs_them() {
    let mut set = results::fixture::result();
    set.manifest.accelerator = Accelerator::Tcg;
    let page = given::page(&set);
    let parts = [
        "<h1 id=\"r0-verdict\">With vdo, randwrite ran at 0.39× the IOPS of plain",
        "<b>Simulated. </b>",
        "<b>Emulated CPU. </b>",
        "<h2 id=\"r0-findings\">",
        "<h2 id=\"r0-run\">",
        "<h2 id=\"r0-stacks\">",
        "<h2 id=\"r0-figures\">",
        "Throughput of the intervals",
        "<h2 id=\"r0-load\">",
        "<h2 id=\"r0-layers\">",
        "CPU of each thread",
        "<h2 id=\"r0-content\">",
        "<h2 id=\"r0-cost\">",
        "<h2 id=\"r0-cells\">",
        "lvcreate --type vdo",
        "<h2 id=\"r0-glossary\">",
    ];
    let mut rest = page.as_str();
    for part in parts {
        rest =
            rest.split_once(part).unwrap_or_else(|| panic!("'{part}' is missing or too early")).1;
    }
}

#[test]
fn the_page_asks_no_other_machine_for_anything_and_is_small() {
    let page = given::page(&results::fixture::result());
    // What the packed library holds is not markup.
    let (before, library) = page.split_once("<script id=\"plotly\"").unwrap();
    let after = library.split_once("</script>").unwrap().1;
    for text in [before, after] {
        for outside in ["http://", "https://", "src=\"", "@import", "url("] {
            let svg = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!svg.contains(outside), "the page refers to {outside}");
        }
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.len() < 3_000_000, "{} B", page.len());
}

#[test]
fn content_of_one_run_says_how_far_its_sample_may_be_off() {
    let of = |repeats| {
        let page = given::page(&results::fixture::with(repeats, 8000.0));
        let content = page.split_once("Content: asked and achieved").unwrap().1;
        content.split_once("</table>").unwrap().0.to_owned()
    };
    // The fixture's standard error is 0.3 points.
    assert!(of(1).contains("± 0.59 points"));
    let several = of(5);
    assert!(!several.contains('±') && several.contains("[49.9 %, 49.9 %]"), "{several}");
}

#[test]
fn the_packers_interval_is_that_of_sixteen_parts() {
    let mut set = results::fixture::with(1, 8000.0);
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
    assert!(lz4.contains("± 2 points"), "1.96 times the standard error: {lz4}");
    // Student's t for 15 degrees of freedom, two-sided 95 %: 2.131.
    assert!(packer.contains("± 2.1 points"), "{packer}");
}

#[test]
fn a_spread_of_a_few_runs_is_called_a_range_and_not_an_interval_of_95_percent() {
    let markup = |repeats| {
        let page = given::page(&results::fixture::with(repeats, 7_600.0));
        page.split_once("<dl class=\"terms\">").unwrap().0.to_owned()
    };
    let (three, five) = (markup(3), markup(5));
    assert!(three.contains("range of 3 repeats\u{a0}[0."), "{three}");
    let before_glossary = three.split_once("-glossary\">Glossary</h2>").unwrap().0;
    assert!(!before_glossary.contains("95 % interval"), "of three runs");
    assert!(five.contains("95 % interval\u{a0}[0.374, 0.391]") && !five.contains("range of"));
}

#[test]
fn the_adjusted_p_stands_beside_the_verdict_and_what_is_the_same_says_within_what() {
    let mut set = results::fixture::result();
    let page = given::page(&set);
    let figures = page.split_once("-figures\">").unwrap().1;
    let row = figures.split_once("<tr class=\"asked\">").unwrap().1.split_once("</tr>").unwrap().0;
    assert!(row.contains("<td>0.0079</td>") && row.contains("adjusted p 0.024"), "{row}");
    let copies: Vec<_> = set.cells_of("plain").cloned().collect();
    for (cell, copy) in set.cells.iter_mut().filter(|c| c.entry.variant == "vdo").zip(copies) {
        cell.record = copy.record;
    }
    let page = given::page(&set);
    let headline = page.split_once("<h1 id=\"r0-verdict\">").unwrap().1;
    assert!(headline.contains("the same CPU per I/O (within 3 %)"), "{}", &headline[..300]);
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
fn every_chart_has_a_table_a_sketch_and_a_line_that_says_how_to_read_it() {
    let page = given::page(&results::fixture::result());
    let figures: Vec<_> = page.split("<figure class=\"chart\">").skip(1).collect();
    assert_eq!(figures.len(), given::charts(&page).len());
    for figure in figures {
        let figure = figure.split_once("</figure>").unwrap().0;
        assert!(figure.contains("<table>") && figure.contains("<svg class=\"sketch\""), "{figure}");
        let reading = figure.split_once("<p class=\"reading\">").unwrap().1;
        assert!(reading.split_once("</p>").unwrap().0.len() > 40, "{reading}");
    }
}

#[test]
fn a_result_that_was_cut_off_says_so_and_shows_what_there_is() {
    let mut set = results::fixture::result();
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
    let mut set = results::fixture::result();
    for cell in &mut set.cells {
        cell.record = None;
        cell.entry.state = CellState::Pending;
        cell.rows.clear();
    }
    let page = given::page(&set);
    assert!(page.contains("No cell ended, so there are no figures yet."));
    assert!(given::charts(&page).is_empty());
    // The packed library holds any letters.
    let markup = page.split_once("<script id=\"plotly\"").unwrap().0;
    assert!(!markup.contains("NaN") && !markup.contains(">inf"));
}

#[test]
fn what_is_missing_is_a_dash_and_never_0() {
    let view = given::view(&results::fixture::result());
    let saved = view.figures.iter().find(|row| row.metric == "saving_percent").unwrap();
    assert!(saved.values[0].is_none() && saved.values[1].is_some());
    let page = report::html::page(&[view]);
    let row = page.split_once(">space saved</th>").unwrap().1;
    assert!(row.starts_with("<td>–</td>"), "{}", &row[..60]);
}

#[test]
fn several_results_share_a_page_without_sharing_an_id() {
    let set = results::fixture::result();
    let page = report::html::page(&[given::view(&set), given::view(&set)]);
    let ids: Vec<_> = page.split(" id=\"").skip(1).filter_map(|t| t.split('"').next()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert!(ids.contains(&"r1-verdict"));
    assert_eq!(page.matches("<script id=\"plotly\"").count(), 1);
}

#[test]
fn several_results_begin_with_a_table_of_what_each_found() {
    let (found, mut none) = (results::fixture::result(), results::fixture::result());
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
    assert!(table.contains("No cell ended, so there are no figures yet."), "{table}");
}

#[test]
fn what_no_run_decides_is_said_once() {
    let page = given::page(&results::fixture::with(1, 7_600.0));
    let headline =
        page.split_once("<h1 id=\"r0-verdict\">").unwrap().1.split_once("</h1>").unwrap().0;
    assert!(headline.ends_with("Verdict: unclear."), "{headline}");
    assert_eq!(headline.matches("unclear").count(), 1, "{headline}");
}
