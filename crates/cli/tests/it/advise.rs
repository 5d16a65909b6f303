//! `fathom advise`, as a user runs it: on what Fathom records itself, and on files that are no use.

use std::fs;
use std::path::Path;

use crate::program::{expect, json, text};

/// Insists on the exit code, on phrases of the error, and on nothing being answered.
fn refused(code: i32, args: &[&str], phrases: &[&str]) {
    let answer = expect(code, &[&["advise"], args].concat());
    assert_eq!(answer.out, "", "an error belongs on standard error");
    for phrase in phrases.iter().chain(&["help:"]) {
        assert!(answer.err.contains(phrase), "'{phrase}' is not in:\n{}", answer.err);
    }
}

/// Records a modelled disk under a load, and returns the file.
fn recorded(dir: &Path, name: &str, ops: &str) -> String {
    let trace = dir.join(name);
    let size = ["--size", "256M", "--duration", "30s", "--depth", "8"];
    expect(
        0,
        &[&["disk", "bench", "ssd", "--ops", ops, "--trace", text(&trace)], &size[..]].concat(),
    );
    text(&trace).to_owned()
}

#[test]
fn advice_says_what_was_recorded_what_pays_and_what_it_cannot_know() {
    let dir = tempfile::tempdir().unwrap();
    let trace = recorded(dir.path(), "mixed.trace", "randread=70,randwrite=28,flush=2");
    let shown = json(&["trace", "show", &trace, "--json"]);
    let all = json(&["advise", &trace, "--json", "--price", "ssd=0.1/GiB"]);
    assert_eq!((&all["schema"], &all["files"][0]["kind"]), (&1.into(), &"disk_trace".into()));
    assert_eq!(all["files"][0]["ios"], shown["requests"]);
    let ios = |op: &str| all["ios"][op]["ios"].as_u64().unwrap();
    assert_eq!(ios("read") + ios("write") + ios("flush"), shown["requests"].as_u64().unwrap());
    let cache = &all["cache"];
    assert_eq!((&cache["sample_rate"], &cache["decided_by"]), (&1.0.into(), &"reads".into()));
    let hits = |point: &serde_json::Value| point["reads_percent"].as_f64().unwrap();
    let points = cache["points"].as_array().unwrap();
    assert!(points.iter().map(hits).is_sorted(), "{cache}");
    // All of 256 MiB is touched, uniformly: half of it hits half of what all of it hits.
    let [.., half, whole] = &points[..] else { panic!("{cache}") };
    assert_eq!(whole["bytes"], 268_435_456.0);
    assert!((hits(half) / hits(whole) - 0.5).abs() < 0.03, "{cache}");
    assert_eq!(cache["verdict"], "only_whole");
    let price = all["prices"][0]["price"].as_f64().unwrap();
    assert!(
        (price - cache["stops_paying_bytes"].as_f64().unwrap() * 0.1 / 1_073_741_824.0).abs()
            < 1e-9
    );
    assert_eq!(
        (&all["vdo"]["cache_mib"], all["vdo"]["logical_bytes"].as_u64()),
        (&128.into(), Some(256 << 20))
    );
    let text = expect(0, &["advise", &trace, "--chunk", "1M", "--price", "ssd=0.1/GiB"]).out;
    for phrase in [
        "to ssd, a disk like ssd",
        "chunks of 1 MiB",
        "holds nearly all",
        "VDO:",
        "fathom estimate",
        "ten minutes",
        "ssd",
    ] {
        assert!(text.contains(phrase), "'{phrase}' is not in:\n{text}");
    }
}

#[test]
fn a_load_that_was_logged_is_advised_on_as_its_log_says() {
    let dir = tempfile::tempdir().unwrap();
    let (target, log) = (dir.path().join("t.img"), dir.path().join("t.iolog"));
    let load = ["load", text(&target), "--size", "64M", "--ops", "randread=60,randwrite=40"];
    let more = ["--pattern", "zipf:1.2", "--duration", "300ms", "--io-log", text(&log)];
    expect(0, &[&load[..], &more].concat());
    let all = json(&["advise", text(&log), "--json"]);
    let file = &all["files"][0];
    assert_eq!((&file["kind"], &file["cut"]), (&"io_log".into(), &false.into()));
    assert!(file["ios"].as_u64().unwrap() > 10 && all["ios"]["write"]["ios"].as_u64().unwrap() > 0);
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 60]).unwrap();
    let cut = expect(5, &["advise", text(&log)]);
    assert!(cut.err.contains("was cut off") && cut.out.contains("VDO:"), "{}", cut.err);
}

#[test]
fn a_load_that_only_writes_is_told_of_its_writes() {
    let dir = tempfile::tempdir().unwrap();
    let trace = recorded(dir.path(), "writes.trace", "randwrite=100");
    let all = json(&["advise", &trace, "--json"]);
    assert_eq!(
        (&all["cache"]["decided_by"], &all["ios"]["read"]["ios"]),
        (&"writes".into(), &0.into())
    );
    let text = expect(0, &["advise", &trace]).out;
    assert!(text.contains("of the writes") && text.contains("nothing is saved"), "{text}");
    let flushes = recorded(dir.path(), "flushes.trace", "flush=100");
    refused(5, &[&flushes], &["no read and no write", "blktrace -d"]);
}

#[test]
fn what_is_no_trace_is_refused_with_what_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        fs::write(dir.path().join(name), bytes).unwrap();
        text(&dir.path().join(name)).to_owned()
    };
    assert_eq!(expect(2, &["advise"]).out, "");
    refused(2, &["/nowhere/x.blktrace.0"], &["cannot read /nowhere/x.blktrace.0"]);
    refused(3, &[text(dir.path())], &["a directory"]);
    refused(
        5,
        &[&file("notes.txt", b"Dear diary,\n1, 2, 3\n")],
        &["no trace that is known", "blktrace"],
    );
    refused(5, &[&file("none", b"")], &["no trace that is known"]);
    refused(5, &[&file("e.blktrace.0", b"")], &["no read and no write", "e.blktrace.0"]);
    refused(
        5,
        &[&file("j_lat.1.log", b"0, 5, 0, 4096, 0\n")],
        &["where its I/Os went", "log_offset=1"],
    );
    let logs = [
        file("a_lat.1.log", b"0, 5, 0, 4096, 8192, 0\n"),
        file("a_bw.1.log", b"0, 5, 0, 4096, 8192, 0\n"),
    ];
    refused(2, &[&logs[0], &logs[1]], &["bw, lat", "one kind"]);
    for (option, value, phrase) in
        [("--chunk", "5k", "whole blocks of 4 KiB"), ("--price", "cheap", "ssd=0.1/GiB")]
    {
        let answer = expect(2, &["advise", &logs[0], option, value]);
        assert!(answer.err.contains(phrase), "{}", answer.err);
    }
    let text = expect(0, &["advise", &logs[0]]).out;
    assert!(text.contains("does not pay") && text.contains("Neither pays"), "{text}");
    refused(2, &[&logs[0], &logs[0]], &["are the same", "name each file once"]);
}

#[test]
fn a_page_has_the_curve_and_its_prices_and_replaces_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let trace = recorded(dir.path(), "mixed.trace", "randread=70,randwrite=30");
    let page = dir.path().join("advice.html");
    expect(0, &["advise", &trace, "--price", "ssd=0.1/GiB", "-o", text(&page)]);
    let made = fs::read_to_string(&page).unwrap();
    for phrase in
        ["<svg class=\"wide\"", "holds nearly all", ">ssd<", "256 MiB", "Not known from this"]
    {
        assert!(made.contains(phrase), "{phrase}");
    }
    assert!(!made.contains("NaN") && !made.contains("<script"));
    let before = fs::read(&trace).unwrap();
    assert_eq!(expect(4, &["advise", &trace, "-o", &trace]).out, "");
    assert_eq!(fs::read(&trace).unwrap(), before);
}

#[test]
fn one_of_several_processors_is_read_and_the_others_are_missed() {
    let dir = tempfile::tempdir().unwrap();
    let record = |sector: u64| {
        let words =
            [0x6561_7407_u64 | 1 << 32, 5, sector, 4096 | 0x1_0001 << 32, 7 | (7 << 20) << 32, 0];
        words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
    };
    let paths = [0, 1].map(|cpu| dir.path().join(format!("x.blktrace.{cpu}")));
    paths.iter().zip([8, 800]).for_each(|(path, sector)| fs::write(path, record(sector)).unwrap());
    let one = expect(0, &["advise", text(&paths[0])]);
    assert!(
        one.err.contains("x.blktrace.1 belongs to the same recording")
            && one.out.contains("1 I/Os"),
        "{}",
        one.err
    );
    let both = expect(0, &["advise", text(&paths[0]), text(&paths[1])]);
    assert!(both.err.is_empty() && both.out.contains("2 I/Os"), "{}", both.err);
}
