//! `fathom disk` and `fathom trace`, as a user runs them.

use std::fs;

use crate::program::{expect, fathom_in, json, text};

/// Insists on the exit code, on phrases of the error and on nothing being answered.
fn refused(code: i32, args: &[&str], phrases: &[&str]) {
    let answer = expect(code, args);
    assert_eq!(answer.out, "", "an error belongs on standard error");
    for phrase in phrases.iter().chain(&["help:"]) {
        assert!(answer.err.contains(phrase), "'{phrase}' is not in:\n{}", answer.err);
    }
}

#[test]
fn models_are_listed_and_shown_with_what_they_reach_and_what_is_published() {
    let list = expect(0, &["disk", "list"]).out;
    for name in ["hdd", "ssd", "nvme", "memory"] {
        assert!(list.contains(name), "{list}");
    }
    let page = expect(0, &["disk", "show", "hdd,rpm=5400"]).out;
    for phrase in ["rpm", "5400 (of hdd: 7200)", "randread 4k", "Seagate Exos 2X18", "stretched"] {
        assert!(page.contains(phrase), "'{phrase}' is not in:\n{page}");
    }
    let shown = json(&["disk", "show", "nvme", "--json"]);
    assert_eq!((&shown["schema"], &shown["name"]), (&1.into(), &"nvme".into()));
    assert!(shown["reached"].as_array().unwrap().len() > 5);
    assert!(expect(0, &["disk", "show", "memory"]).out.contains("no model"));
}

#[test]
fn a_load_in_model_time_gives_the_same_figures_every_time() {
    let args = ["disk", "bench", "hdd", "--ops", "randread=100", "--depth", "1,8,32", "--json"];
    let first = json(&args);
    assert_eq!(first, json(&args));
    let iops: Vec<f64> =
        (0..3).map(|i| first["rows"][i]["figures"]["iops"].as_f64().unwrap()).collect();
    assert!(iops.is_sorted() && (80.0..90.0).contains(&iops[0]), "{iops:?}");
    let page = expect(0, &args[..7]).out;
    assert!(page.contains("in model time") && page.contains("IOPS"), "{page}");
}

#[test]
fn a_trace_is_written_shown_and_replayed_against_other_disks() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("mixed.trace");
    let mix = ["--ops", "randread=50,randwrite=45,flush=5", "--duration", "20s"];
    let bench = [&["disk", "bench", "hdd", "--depth", "4"], &mix[..], &["--trace", text(&trace)]];
    expect(0, &bench.concat());
    let shown = json(&["trace", "show", text(&trace), "--json"]);
    let requests = shown["requests"].as_u64().unwrap();
    assert!(requests > 500 && shown["dropped"] == 0, "{shown}");
    let csv = expect(0, &["trace", "show", text(&trace), "--csv"]).out;
    assert_eq!(csv.lines().count() as u64, requests + 1);
    let args = ["disk", "replay", text(&trace), "--like", "hdd", "--like", "nvme", "--json"];
    let replayed = json(&args);
    let outcome = |i: usize| &replayed["outcomes"][i]["outcome"];
    assert_eq!(outcome(0), outcome(1), "its own disk does what it did");
    let p50 = |i: usize| outcome(i)["latencies"][0]["p50_ns"].as_u64().unwrap();
    assert!(p50(2) * 10 < p50(1));
    assert!(expect(0, &args[..5]).out.contains("as recorded: hdd"));
    // Written again, and never over something else.
    expect(0, &bench.concat());
    fs::write(&trace, "precious").unwrap();
    let answer = expect(4, &bench.concat());
    assert!(answer.err.contains("trace of a disk"), "{}", answer.err);
    assert_eq!(fs::read(&trace).unwrap(), b"precious");
}

#[test]
fn disks_that_there_are_not_are_refused_with_what_there_is() {
    refused(2, &["disk", "show", "floppy"], &["'floppy'", "hdd, ssd, nvme, memory"]);
    refused(2, &["disk", "bench", "hdd,rpm=60"], &["like.rpm", "'60'", "from 3600 to 15000"]);
    refused(2, &["disk", "bench", "hdd,dies=4"], &["like.dies", "no such parameter", "rpm"]);
    refused(2, &["disk", "bench", "hdd,stroke=2"], &["like.stroke", "stretched"]);
    refused(2, &["disk", "show", "ssd", "--size", "1k"], &["--size", "64 MiB"]);
    let answer = expect(2, &["disk", "bench", "hdd,rpm"]);
    assert!(answer.err.contains("'rpm' is not a parameter with its value"), "{}", answer.err);
}

#[test]
fn loads_that_cannot_be_are_refused() {
    let bench = |args: &[&'static str]| [&["disk", "bench", "hdd"], args].concat();
    refused(2, &bench(&["--ops", "randread=90"]), &["sum to 90"]);
    refused(2, &bench(&["--ops", "writezeroes=100"]), &["writezeroes", "randdiscard"]);
    refused(2, &bench(&["--block-size", "1000"]), &["--block-size", "512"]);
    refused(2, &bench(&["--duration", "2h"]), &["an hour"]);
    let answer = expect(2, &bench(&["--depth", "0"]));
    assert!(answer.err.contains("--depth"), "{}", answer.err);
}

#[test]
fn what_is_no_trace_is_told_apart_from_what_is_not_there_and_from_one_that_was_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.trace");
    refused(2, &["trace", "show", text(&trace)], &["cannot read", "t.trace"]);
    fs::write(&trace, "something else, and long enough").unwrap();
    refused(5, &["trace", "show", text(&trace)], &["no trace that is known"]);
    refused(5, &["disk", "replay", text(&trace), "--like", "hdd"], &["not a trace of a disk"]);
    refused(3, &["trace", "show", text(dir.path())], &["directory"]);
    fs::remove_file(&trace).unwrap();
    expect(0, &["disk", "bench", "nvme", "--duration", "1s", "--trace", text(&trace)]);
    let whole = fs::read(&trace).unwrap();
    fs::write(&trace, &whole[..whole.len() - 100]).unwrap();
    let answer = fathom_in(dir.path(), &["trace", "show", "t.trace"]);
    assert_eq!(answer.code, Some(5));
    assert!(answer.err.contains("cut off") && answer.out.contains("nvme"), "{}", answer.err);
    let mut damaged = whole;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&trace, damaged).unwrap();
    refused(5, &["trace", "show", text(&trace)], &["is damaged after"]);
}

/// An experiment that asks more of a modelled disk than its model: limits, larger logical blocks, not rotational.
const ASKED: &str = r#"
name = "asked"
about = "A disk of which more is asked"
repeat = 1
[devices.data]
size = "1G"
like = "hdd"
limit = { read_iops = 120, throughput = "100M/s" }
logical_block = 4096
rotational = false
[[stack]]
layer = "linear"
on = "data"
[[stage]]
do = "load"
measure = true
ops = { randread = 100 }
duration = "1s"
"#;

#[test]
fn what_is_asked_of_a_disk_is_explained_and_has_no_effect_on_devices_of_the_host() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("asked.toml");
    fs::write(&file, ASKED).unwrap();
    let explained = expect(0, &["explain", text(&file)]).out;
    let described =
        "like hdd, limit 120 reads/s, 100 MiB/s, logical_block 4 KiB, rotational false;";
    assert!(explained.contains(described), "{explained}");
    let out = dir.path().join("result");
    let answer = expect(0, &["run", text(&file), "--simulate", "--out", text(&out)]);
    assert!(
        answer.err.contains("have no effect: like, limit, logical_block, rotational;"),
        "{}",
        answer.err
    );
    let manifest = fs::read_to_string(out.join("manifest.json")).unwrap();
    assert!(!manifest.contains("logical_block"), "{manifest}");
    fs::write(&file, ASKED.replace("4096", "1000")).unwrap();
    refused(
        2,
        &["explain", text(&file)],
        &["logical_block", "1000", "512 or 4096", "asked.toml:9"],
    );
}

#[test]
fn modelled_disks_are_not_kept_and_the_wish_to_is_refused_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("asked.toml");
    fs::write(&file, ASKED).unwrap();
    let disks = dir.path().join("disks");
    refused(2, &["lab", "run", text(&file), "--keep-disks", text(&disks)], &["in memory", "data"]);
    assert!(!disks.exists());
}
