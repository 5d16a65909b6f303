//! `fathom doctor DEVICE --watch` and `--metrics`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::loop_device::{LoopDevice, loop_device};
use crate::program::{command, expect, fresh, json, skip, text};

/// A loop device, or a line that says why the test is skipped.
fn device(name: &str) -> Option<LoopDevice> {
    let made = loop_device(64 << 20);
    if made.is_none() {
        skip(name, "no loop device can be made here");
    }
    made
}

/// The part of a document that is about the device.
fn of_device<'a>(document: &'a Value, device: &LoopDevice) -> &'a Value {
    let id = device.path.trim_start_matches("/dev/");
    let all = document["watch"]["devices"].as_array().unwrap();
    all.iter().find(|seen| seen["id"] == id).unwrap_or_else(|| panic!("no {id} in {document}"))
}

#[test]
fn a_load_beside_is_seen_and_a_device_without_io_has_no_latency() {
    let Some(device) = device("a_load_beside_is_seen") else { return };
    let idle = json(&["doctor", &device.path, "--watch", "1s", "--json"]);
    let quiet = of_device(&idle, &device);
    for field in ["read_latency_mean_ns", "write_latency_mean_ns"] {
        assert_eq!(quiet["whole"][field], Value::Null, "{quiet}");
    }
    assert_eq!(quiet["whole"]["writes_per_s"], 0.0);
    let answer = expect(0, &["doctor", &device.path, "--watch", "1s"]);
    assert!(answer.out.contains("no I/O") && answer.err.contains("watching for 1 s"), "{answer:?}");
    let args = ["load", &device.path, "--ops", "randwrite", "--duration", "8s", "--limit", "500/s"];
    let mut load = command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let seen = json(&["doctor", &device.path, "--watch", "4s", "--json"]);
    assert!(load.wait().unwrap().success());
    let busy = &of_device(&seen, &device);
    let whole = &busy["whole"];
    let rate = whole["writes_per_s"].as_f64().unwrap();
    assert!((350.0..650.0).contains(&rate), "{whole}");
    let bytes = whole["written_bytes_per_s"].as_f64().unwrap();
    assert!((bytes / rate - 4096.0).abs() < 1.0, "{whole}");
    assert!(whole["write_latency_mean_ns"].as_f64().unwrap() > 0.0, "{whole}");
    assert_eq!(whole["read_latency_mean_ns"], Value::Null, "nothing was read");
    assert_eq!(busy["intervals"].as_array().unwrap().len(), 4);
    assert_eq!(seen["watch"]["ended_by"], "time");
    assert!(seen["findings"].as_array().unwrap().iter().any(|f| f["rule"] == "looked_at"));
}

#[test]
fn a_device_that_is_detached_meanwhile_ends_the_watch_with_what_was_seen() {
    let Some(mut device) = device("a_device_that_is_detached_meanwhile") else { return };
    let begun = Instant::now();
    let watch = command(&["doctor", &device.path, "--watch", "60s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    device.detach();
    let output = watch.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(5), "{out}");
    assert!(begun.elapsed() < Duration::from_secs(30), "it went on without its device");
    assert!(out.contains("until the device went away") && out.contains("went away: "), "{out}");
}

#[test]
fn an_interrupt_ends_a_watch_with_what_was_seen() {
    let Some(device) = device("an_interrupt_ends_a_watch") else { return };
    let watch = command(&["doctor", &device.path, "--watch", "1h", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(10));
    let pid = rustix::process::Pid::from_child(&watch);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = watch.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen["watch"]["ended_by"], "interrupted");
    assert_eq!(seen["watch"]["every_s"], 6.0, "600 looks at most");
    assert_eq!(of_device(&seen, &device)["intervals"].as_array().unwrap().len(), 1, "{seen}");
}

/// Runs the program in a mount namespace with tracefs in it; nothing where that cannot be.
fn with_tracefs(args: &[&str]) -> Option<Command> {
    const MOUNT: &str = "mount -t tracefs none /sys/kernel/tracing";
    let tried = Command::new("unshare").args(["-m", "sh", "-c", MOUNT]).status();
    tried.is_ok_and(|status| status.success()).then(|| {
        let mut command = Command::new("unshare");
        let script = format!("{MOUNT} && exec \"$0\" \"$@\"");
        command.args(["-m", "sh", "-c", &script, crate::PROGRAM]).args(args);
        command.stdin(Stdio::null()).env("NO_COLOR", "1");
        command
    })
}

#[test]
fn latency_of_a_device_is_measured_meanwhile_and_what_a_killed_watch_left_is_removed() {
    const NAME: &str = "latency_of_a_device_is_measured_meanwhile";
    let Some(device) = device(NAME) else { return };
    let watched = |length| ["doctor", &*device.path, "--watch", length, "--latency", "--json"];
    let Some(mut watch) = with_tracefs(&watched("1h")) else {
        skip(NAME, "tracefs cannot be mounted in a namespace of the test's own");
        return;
    };
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("watching for")));
    let load = ["load", &*device.path, "--ops", "randwrite", "--ios", "1500", "--limit", "500/s"];
    expect(0, &load);
    let pid = rustix::process::Pid::from_child(&watch);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = watch.wait_with_output().unwrap();
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    let latency = &seen["watch"]["latency"];
    let rung = &latency["rungs"][0];
    assert_eq!((&rung["by"], &rung["lost"]), (&"requests".into(), &0.into()), "{latency}");
    assert_eq!(rung["write"]["ios"], 1500, "{latency}");
    // The disk under the file may be slower, as others use it too.
    assert_ne!(latency["made"].is_object(), latency["why_not"].is_string(), "{latency}");
    assert!(rung["all"]["p99_ns"].as_f64() >= rung["all"]["p50_ns"].as_f64(), "{latency}");
    // A kill leaves the trace instance.
    let mut killed = with_tracefs(&watched("1h")).unwrap();
    let mut killed = killed.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut messages = BufReader::new(killed.stderr.take().unwrap()).lines();
    assert!(messages.any(|line| line.unwrap().contains("watching for")));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let clean = |args: &[&str]| {
        let output = with_tracefs(args).unwrap().output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let name = format!("fathom_doctor_{}.1", killed.id());
    assert!(clean(&["clean"]).contains(&name), "{name}");
    assert!(clean(&["clean", "--yes"]).contains("all of it is removed"));
    assert!(!clean(&["clean"]).contains(&name));
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let (_dir, out) = fresh();
    for args in [
        &["doctor", "/", "--watch", "0s"][..],
        &["doctor", "/", "--watch", "25h"],
        &["doctor", "--watch", "5s"],
        &["doctor", "vdo-vs-plain", "--watch", "5s"],
        &["doctor", text(&out), "--metrics"],
        &["doctor", "report.tar.xz", "--watch", "5s"],
        &["doctor", "/", "--watch", "5s", "--metrics"],
        &["doctor", "/", "--metrics", "--json"],
        &["doctor", "/", "--latency"],
    ] {
        expect(2, args);
    }
}

/// A series: the name of its sample, and its labels as they are written.
type Key = (String, String);

/// Reads a text of OpenMetrics 1.0, and panics if it is not one.
fn parsed(text: &str) -> BTreeMap<Key, f64> {
    let body = text.strip_suffix("# EOF\n").expect("the end is # EOF and a newline");
    let mut samples = BTreeMap::new();
    let (mut families, mut family) = (BTreeSet::new(), (String::new(), String::new()));
    let mut described = BTreeSet::new();
    for line in body.lines() {
        if let Some(about) = line.strip_prefix("# ") {
            let mut words = about.splitn(3, ' ');
            let [what, name, value] = [(); 3].map(|()| words.next().unwrap().to_owned());
            assert!(described.insert((what.clone(), name.clone())), "twice: {line}");
            match what.as_str() {
                "TYPE" => {
                    assert!(["counter", "gauge", "unknown"].contains(&value.as_str()), "{line}");
                    assert!(families.insert(name.clone()), "a family in two places: {line}");
                    family = (name, value);
                }
                "UNIT" => {
                    assert!(family.0 == name && name.ends_with(&format!("_{value}")), "{line}");
                }
                "HELP" => assert!(family.0 == name && !value.is_empty(), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (name, rest) = line.split_once('{').expect(line);
        let end = if family.1 == "counter" { "_total" } else { "" };
        assert_eq!(name, format!("{}{end}", family.0), "{line}");
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(name.chars().all(legal) && !name.starts_with(|c: char| c.is_ascii_digit()));
        let (labels, value) = rest.rsplit_once("} ").expect(line);
        labels_of(labels);
        let value: f64 = value.parse().expect(line);
        assert!(value.is_finite() && (family.1 != "counter" || value >= 0.0), "{line}");
        let key = (name.to_owned(), labels.to_owned());
        assert!(samples.insert(key, value).is_none(), "a series twice: {line}");
    }
    samples
}

/// Reads labels, and panics if the text is not made of labels.
fn labels_of(text: &str) -> BTreeMap<String, String> {
    let (mut all, mut rest) = (BTreeMap::new(), text);
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").expect(text);
        let (mut unescaped, mut escape, mut end) = (String::new(), false, None);
        for (at, c) in value.char_indices() {
            match (escape, c) {
                (false, '\\') => escape = true,
                (false, '"') => {
                    end = Some(at);
                    break;
                }
                (true, 'n') => (unescaped, escape) = (unescaped + "\n", false),
                (true, c) => {
                    assert!(['"', '\\'].contains(&c), "{text}");
                    unescaped.push(c);
                    escape = false;
                }
                (false, c) => unescaped.push(c),
            }
        }
        assert!(all.insert(name.to_owned(), unescaped).is_none(), "a label twice: {text}");
        rest = &value[end.expect(text) + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    all
}

#[test]
fn metrics_are_what_a_parser_of_openmetrics_takes_and_grow_with_a_load() {
    let Some(device) = device("metrics_are_what_a_parser_takes") else { return };
    let id = device.path.trim_start_matches("/dev/");
    let read = || parsed(&expect(0, &["doctor", &device.path, "--metrics"]).out);
    let written = |samples: &BTreeMap<Key, f64>| {
        let labels = format!("device=\"{id}\",layer=\"loop\"");
        samples[&("fathom_device_written_bytes_total".to_owned(), labels)]
    };
    let before = read();
    expect(0, &["load", &device.path, "--ops", "write", "--bytes", "1M"]);
    let after = read();
    assert_eq!(written(&after) - written(&before), 1048576.0);
    let sizes = after.keys().filter(|(name, _)| name == "fathom_device_size_bytes");
    assert!(sizes.count() >= 1);
    assert!(after.keys().any(|(name, _)| name == "fathom_doctor_not_read"));
    let escaped = labels_of("a=\"x\\\"y\\\\z\\n\",b=\"\"");
    assert_eq!((escaped["a"].as_str(), escaped["b"].as_str()), ("x\"y\\z\n", ""));
}
