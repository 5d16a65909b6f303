//! `fathom trace show` of files of any origin, as a user runs it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{expect, json, text};

/// Writes a log as fio does with `--write_iolog`: 1 MiB read in order in 16 s, 64 writes far apart, one trim.
fn replay_log(dir: &Path) -> String {
    let mut log = "fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n".to_owned();
    for step in 0..256u64 {
        writeln!(log, "{} /dev/x read {} 4096", step * 62_500, step * 4096).unwrap();
        if step % 4 == 0 {
            let far = (1 << 30) - 16384 - step * (1 << 20);
            writeln!(log, "{} /dev/x write {far} 16384", step * 62_500 + 1).unwrap();
        }
    }
    writeln!(log, "16000000 /dev/x trim 0 1048576\n16000000 /dev/x close").unwrap();
    let file = dir.join("x.iolog");
    fs::write(&file, log).unwrap();
    text(&file).to_owned()
}

fn of<'a>(all: &'a Value, op: &str) -> &'a Value {
    all["ios"].as_array().unwrap().iter().find(|one| one["op"] == op).unwrap()
}

#[test]
fn a_log_of_fio_is_shown_with_its_runs_seeks_and_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let log = replay_log(dir.path());
    let all = json(&["trace", "show", &log, "--json"]);
    assert_eq!((&all["schema"], &all["files"][0]["kind"]), (&1.into(), &"fio_io_log".into()));
    assert_eq!((&all["seconds"], &of(&all, "read")["ios"]), (&16.0.into(), &256.into()));
    let runs = &of(&all, "read")["runs"];
    assert_eq!((&runs["runs"], &runs["in_1mib_percent"]), (&1.into(), &100.0.into()));
    assert_eq!(of(&all, "write")["runs"]["in_64kib_percent"], 0.0);
    assert_eq!(
        (&all["seeks"]["seeks"], &of(&all, "discard")["bytes"]),
        (&128.into(), &(1 << 20).into())
    );
    let cells = &all["picture"]["cells"];
    for (op, bytes) in [("read", 1u64 << 20), ("write", 1 << 20), ("discard", 1 << 20)] {
        let cells = cells[op].as_array().unwrap().iter();
        assert_eq!(cells.map(|cell| cell[2].as_u64().unwrap()).sum::<u64>(), bytes, "{op}");
    }
    let grown = all["growth"].as_array().unwrap().last().unwrap()["bytes"].as_f64().unwrap();
    assert_eq!((grown, all["reuse"][0]["again_percent"].as_f64()), ((2 << 20) as f64, Some(0.0)));
    let shown = expect(0, &["trace", "show", &log]);
    for phrase in [
        "321 I/Os to /dev/x in 16 s",
        "fio's I/O log",
        "Sequential runs:",
        "Seeks:",
        "Touched:",
        "reads:",
        "writes:",
        "discards:",
        "1 GiB │",
        "█",
    ] {
        assert!(shown.out.contains(phrase), "'{phrase}' is not in:\n{}", shown.out);
    }
    let csv = expect(0, &["trace", "show", &log, "--csv"]).out;
    assert!(csv.starts_with("at_ns,op,offset_bytes,length_bytes\n0,read,0,4096\n"), "{csv}");
    assert_eq!(csv.lines().count(), 322);
}

#[test]
fn a_modelled_disks_trace_keeps_its_facts_and_gets_the_figures() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("m.trace");
    let bench = ["disk", "bench", "ssd", "--ops", "randread=70,randwrite=30", "--size", "256M"];
    expect(0, &[&bench[..], &["--duration", "1s", "--trace", text(&trace)]].concat());
    let all = json(&["trace", "show", text(&trace), "--json"]);
    assert_eq!((&all["files"][0]["kind"], &all["dropped"]), (&"disk_trace".into(), &0.into()));
    let ios = |op: &str| of(&all, op)["ios"].as_u64().unwrap();
    assert_eq!(ios("read") + ios("write"), all["requests"].as_u64().unwrap());
    assert!(all["outcome"]["latencies"][0]["p50_ns"].as_u64().unwrap() > 0, "{all}");
    let shown = expect(0, &["trace", "show", text(&trace)]).out;
    assert!(shown.contains("latencies of the model") && shown.contains("Seeks:"), "{shown}");
    // A disk that was only flushed has no addresses, and is shown nevertheless.
    let bench = ["disk", "bench", "ssd", "--ops", "flush=100", "--duration", "1s", "--trace"];
    expect(0, &[&bench[..], &[text(&trace)]].concat());
    let flushed = expect(0, &["trace", "show", text(&trace)]).out;
    assert!(flushed.contains("flush") && !flushed.contains("Seeks:"), "{flushed}");
}

#[test]
fn a_logged_load_has_as_many_ios_as_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let (target, log) = (dir.path().join("t.img"), dir.path().join("t.iolog"));
    let load = ["load", text(&target), "--size", "16M", "--ops", "write=100", "--ios", "64"];
    expect(0, &[&load[..], &["--block-size", "64k", "--io-log", text(&log)]].concat());
    let all = json(&["trace", "show", text(&log), "--json"]);
    assert_eq!(
        (&of(&all, "write")["ios"], &all["files"][0]["kind"]),
        (&64.into(), &"io_log".into())
    );
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 60]).unwrap();
    let cut = expect(5, &["trace", "show", text(&log)]);
    assert!(cut.err.contains("was cut off") && cut.out.contains("I/Os"), "{}", cut.err);
}

#[test]
fn a_recording_without_times_is_put_in_order_by_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("v2.iolog");
    let lines = (0..50).map(|step| format!("/dev/x write {} 4096\n", step * 8192));
    fs::write(&file, format!("fio version 2 iolog\n{}", lines.collect::<String>())).unwrap();
    let all = json(&["trace", "show", text(&file), "--json"]);
    assert_eq!(
        (&all["seconds"], &all["over"], &all["span"]),
        (&Value::Null, &"ios".into(), &50.into())
    );
    let page = dir.path().join("page.html");
    let shown = expect(0, &["trace", "show", text(&file), "-o", text(&page)]).out;
    assert!(shown.contains("has no times"), "{shown}");
    let made = fs::read_to_string(&page).unwrap();
    assert!(made.contains("I/Os so far") && !made.contains("Seeks per second"), "{made}");
}

#[test]
fn what_is_no_recording_of_one_device_is_refused_as_advise_refuses_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        fs::write(dir.path().join(name), bytes).unwrap();
        text(&dir.path().join(name)).to_owned()
    };
    let log = replay_log(dir.path());
    let lat = file("a_lat.1.log", b"0, 5, 0, 4096, 8192, 0\n");
    let notes = file("notes.txt", b"Dear diary,\n1, 2, 3\n");
    let none = file("none", b"");
    let empty = file("e.blktrace.0", b"");
    let flush = file("flush.iolog", b"fio version 3 iolog\n5 /dev/x sync 0 0\n");
    let cases: [(i32, Vec<&str>, &str); 8] = [
        (2, vec![], "required"),
        (2, vec!["/nowhere/x.blktrace.0"], "cannot read /nowhere/x.blktrace.0"),
        (5, vec![&notes], "no trace that is known"),
        (5, vec![&none], "no trace that is known"),
        (5, vec![&empty], "no read and no write"),
        (5, vec![&flush], "flushes 1"),
        (2, vec![&log, &lat], "different kinds"),
        (2, vec![&log, &log], "are the same"),
    ];
    for (code, files, phrase) in cases {
        let answer = expect(code, &[&["trace", "show"], &files[..]].concat());
        assert_eq!(answer.out, "", "an error belongs on standard error");
        assert!(answer.err.contains(phrase), "'{phrase}' is not in:\n{}", answer.err);
    }
    let other =
        file("y.iolog", b"fio version 3 iolog\n5 /dev/y read 0 4096\n9 /dev/y read 0 512\n");
    let answer = expect(2, &["trace", "show", &log, &other]);
    assert!(answer.err.contains("/dev/x, /dev/y"), "{}", answer.err);
}

#[test]
fn a_page_has_pictures_on_common_axes_and_replaces_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let (log, page) = (replay_log(dir.path()), dir.path().join("trace.html"));
    expect(0, &["trace", "show", &log, "-o", text(&page)]);
    let made = fs::read_to_string(&page).unwrap();
    for phrase in [
        "<figcaption>Reads<",
        "<figcaption>Writes<",
        "<figcaption>Discards<",
        "class=\"rows\"",
        "Address on the device",
        "Seeks per second",
        "64K+",
        "Data touched so far",
        "1 GiB",
        "in order",
        "touched",
    ] {
        assert!(made.contains(phrase), "{phrase}");
    }
    assert!(!made.contains("NaN") && !made.contains("<script") && made.len() < 400_000);
    // The pictures span the same time and the same addresses.
    let ends: Vec<_> = made.match_indices("data-to=\"").map(|(at, _)| &made[at..at + 14]).collect();
    assert!(ends.len() >= 3 && ends[0] == ends[1] && ends[1] == ends[2], "{ends:?}");
    let before = fs::read(&log).unwrap();
    assert_eq!(expect(4, &["trace", "show", &log, "-o", &log]).out, "");
    assert_eq!(fs::read(&log).unwrap(), before);
}
