//! Results as files that other programs read.

use std::fs;
use std::process::Command;

use crate::program::{expect, fathom_in, fresh, json, text};

#[test]
fn a_result_is_exported_whole_or_not_at_all_and_never_over_anything() {
    let (dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--out", text(&out)]);
    for (format, name) in [
        ("csv", "operations.csv"),
        ("jsonl", "samples.jsonl"),
        ("parquet", "intervals.parquet"),
        ("hlog", "plain-r1.hlog"),
        ("fio-json", "plain-r1.json"),
    ] {
        let to = dir.path().join(format);
        let document =
            json(&["export", text(&out), "--to", text(&to), "--format", format, "--json"]);
        let files = document["files"].as_array().unwrap();
        assert!(
            files.iter().any(|file| file["name"].as_str().unwrap().ends_with(name)),
            "{format}: {document}"
        );
        for file in files {
            let found = fs::metadata(to.join(file["name"].as_str().unwrap())).unwrap();
            assert_eq!(file["bytes"], found.len());
            assert!(file["rows"].as_u64().unwrap() > 0, "{file}");
        }
        let again = fathom_in(dir.path(), &["export", text(&out), "--to", format]);
        assert_eq!(again.code, Some(4), "{}", again.err);
        assert!(again.err.contains("--to"), "{}", again.err);
    }
    let packed = dir.path().join("r.fathom");
    expect(0, &["pack", text(&out), "-o", text(&packed)]);
    expect(0, &["export", text(&packed), "--to", text(&dir.path().join("of-packed"))]);
    let same = |name: &str| fs::read(dir.path().join(name).join("samples.csv")).unwrap();
    assert_eq!(same("csv"), same("of-packed"));
    let nowhere = fathom_in(dir.path(), &["export", text(&out), "--to", "no/where"]);
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.err);
    let foreign = fathom_in(dir.path(), &["export", "csv", "--to", "x"]);
    assert_eq!(foreign.code, Some(5), "{}", foreign.err);
    let left = fs::read_dir(dir.path()).unwrap().flatten();
    assert!(
        left.map(|one| one.file_name()).all(|name| !text(name.as_ref()).starts_with(".fathom"))
    );
}

#[test]
fn what_is_missing_from_a_result_is_said_and_the_rest_is_exported() {
    let (dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--out", text(&out)]);
    let cells = fs::read_dir(out.join("cells")).unwrap().flatten();
    let last = cells.map(|cell| cell.path()).max().unwrap();
    fs::remove_file(last.join("cell.json")).unwrap();
    let answer = fathom_in(dir.path(), &["export", text(&out), "--to", "tables"]);
    assert_eq!(answer.code, Some(5), "{}", answer.err);
    assert!(answer.err.contains("incomplete"), "{}", answer.err);
    let runs = fs::read_to_string(dir.path().join("tables/runs.csv")).unwrap();
    assert!(runs.trim_end().ends_with("false"), "{runs}");
}

#[test]
fn the_program_that_comes_with_fio_reads_what_is_exported_for_it() {
    let (dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--out", text(&out)]);
    let to = dir.path().join("fio");
    expect(0, &["export", text(&out), "--to", text(&to), "--format", "fio-json"]);
    let files = fs::read_dir(&to).unwrap().map(|file| file.unwrap().path());
    let file = files.into_iter().find(|file| text(file).ends_with("plain-r1.json")).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let table = dir.path().join("plain.csv");
    let read = Command::new("fio_jsonplus_clat2csv").args([&file, &table]).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let table = fs::read_to_string(dir.path().join("plain_job0.csv")).unwrap();
    let names: Vec<_> = table.lines().next().unwrap().split(", ").collect();
    let side = if value["jobs"][0]["write"]["total_ios"] == 0 { "read" } else { "write" };
    let name = format!("{side}_clat_ns_cumulative");
    let column = names.iter().position(|one| *one == name).unwrap();
    let counts = table.lines().skip(1).filter_map(|line| line.split(", ").nth(column));
    let counted: u64 = counts.filter_map(|count| count.trim().parse().ok()).max().unwrap();
    assert_eq!(value["jobs"][0][side]["total_ios"], counted);
}

#[test]
fn a_result_and_a_comparison_are_told_as_markdown_and_as_csv() {
    let (dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "5", "--out", text(&out)]);
    let other = dir.path().join("other");
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "5", "--out", text(&other)]);
    let summary = expect(0, &["show", text(&out), "--markdown"]).out;
    for word in
        ["## vdo-vs-plain", "**vdo saves ", "| figure | plain, 95 % interval |", "▼ worse |"]
    {
        assert!(summary.contains(word), "{word}: {summary}");
    }
    assert!(!summary.contains("\n\n\n"), "{summary}");
    let all = expect(0, &["show", text(&out), "--markdown", "--all"]).out;
    assert!(all.lines().count() > summary.lines().count());
    let compared = expect(0, &["compare", text(&out), text(&other), "--markdown"]).out;
    assert!(compared.starts_with("| variant | figure | first | second |"), "{compared}");
    let csv = expect(0, &["compare", text(&out), text(&other), "--csv"]).out;
    let comparisons = json(&["compare", text(&out), text(&other), "--json"]);
    let rows = comparisons["comparisons"].as_array().unwrap().len();
    assert_eq!(csv.lines().count(), rows + 1, "{csv}");
    assert!(csv.starts_with("variant,metric,stage,operation,layer,unit,asked,"), "{csv}");
}
