//! The page of a real result of the lab: in a real browser, and against the rows it was made from.

use std::path::Path;

use results::model::{IntervalRow, Row, SampleRow};
use serde_json::Value;

use crate::lab::shipped_result;
use crate::program::{expect, text};

#[path = "../../../report/tests/it/chromium.rs"]
mod chromium;

/// The page of the shipped experiment, and all charts that it carries.
fn page() -> Option<(&'static Path, String, Vec<Value>)> {
    let out = shipped_result()?;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("page.html");
    expect(0, &["report", text(out), "-o", text(&file)]);
    let page = std::fs::read_to_string(file).unwrap();
    let block = page.split("<script class=\"charts\"").nth(1).unwrap();
    let json = block.split_once('>').unwrap().1.split_once("</script>").unwrap().0;
    let charts = serde_json::from_str(json).unwrap();
    Some((out, page, charts))
}

#[test]
fn the_page_of_a_real_result_opens_without_a_word_on_the_console() {
    let Some((_, page, charts)) = page() else { return };
    chromium::check_page("the_page_of_a_real_result", &page, charts.len());
    let trust = page.split_once("<p class=\"trust").unwrap().1.split_once("</p>").unwrap().0;
    assert!(trust.contains("emulated CPU") || !page.contains("tcg"), "{trust}");
}

/// Rows of the cell of a variant, from the bytes on the disk.
fn rows(out: &Path, variant: &str) -> Vec<Row> {
    let folders = std::fs::read_dir(out.join("cells")).unwrap().map(|e| e.unwrap().path());
    let name =
        |path: &Path| path.file_name().unwrap().to_string_lossy().contains(&format!("-{variant}-"));
    let folder = folders.filter(|path| name(path)).min().unwrap();
    results::frames::read(&std::fs::read(folder.join("rows.log")).unwrap()[..]).unwrap().0
}

/// Start of the measured stage, nanoseconds.
fn start(rows: &[Row]) -> u64 {
    rows.iter()
        .find_map(|row| match row {
            Row::Stage(edge) if edge.measured && !edge.ended => Some(edge.at_ns),
            _ => None,
        })
        .unwrap()
}

fn intervals(rows: &[Row]) -> Vec<&IntervalRow> {
    let of_writes = rows.iter().filter_map(|row| match row {
        Row::Interval(interval) if interval.operation == "randwrite" => Some(interval),
        _ => None,
    });
    of_writes.collect()
}

fn samples<'a>(rows: &'a [Row], source: &str) -> Vec<&'a SampleRow> {
    let start = start(rows);
    let measured = rows.iter().filter_map(|row| match row {
        Row::Sample(sample) if sample.source == source && sample.at_ns >= start => Some(sample),
        _ => None,
    });
    measured.collect()
}

/// The value of a chart's series of the only repeat at `x`.
fn shown(charts: &[Value], id: &str, name: &str, x: f64) -> f64 {
    let chart = charts.iter().find(|c| c["id"].as_str().unwrap().contains(id));
    let chart = chart.unwrap_or_else(|| panic!("no chart {id}"));
    let all = chart["series"].as_array().unwrap();
    let series =
        all.iter().find(|s| s["name"] == name && (s["repeat"] == 1 || s["repeat"].is_null()));
    let series = series.unwrap_or_else(|| panic!("{id} has no series {name}"));
    let xs = series["x"].as_array().unwrap();
    let at = xs.iter().position(|n| (n.as_f64().unwrap() - x).abs() < 1e-5);
    series["y"][at.unwrap_or_else(|| panic!("{id} has no point at {x}"))].as_f64().unwrap()
}

fn same(shown: f64, computed: f64, what: &str) {
    let apart = (shown - computed).abs() / computed.abs().max(1e-9);
    assert!(apart < 1e-6, "{what}: the page shows {shown}, the rows say {computed}");
}

#[test]
fn figures_of_the_page_equal_what_the_rows_of_the_real_run_say() {
    let Some((out, _, charts)) = page() else { return };
    for variant in ["plain", "vdo"] {
        let rows = rows(out, variant);
        let third = intervals(&rows)[2];
        let x = (third.end_ns - start(&rows)) as f64 / 1e9;
        let rate = third.bytes as f64 / ((third.end_ns - third.start_ns) as f64 / 1e9);
        same(shown(&charts, "throughput-random-write", variant, x), rate, "throughput");
        let p99 = third.latency.unwrap().p99_ns as f64;
        same(shown(&charts, "p99-random-write", variant, x), p99, "p99");
    }
    let rows = rows(out, "vdo");
    let stats =
        samples(&rows, "vdo.stats").into_iter().filter(|s| s.mark.is_none()).nth(3).unwrap();
    let x = (stats.at_ns - start(&rows)) as f64 / 1e9;
    let field = |name: &str| stats.fields[name].unwrap();
    same(shown(&charts, "vdo-space", "data", x), field("dataBlocksUsed"), "data blocks");
    let packed = field("packer.compressedBlocksWritten");
    same(shown(&charts, "vdo-compression", "shared blocks (packed)", x), packed, "packed blocks");
}
