//! `fathom load` on real files and devices.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::loop_device::loop_device;
use crate::program::{Answer, command, expect, fathom_in, interrupted, skip};

/// A directory on the disk that is built on: /tmp may be memory, which knows no O_DIRECT.
fn room() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Every line that a load printed for programs.
fn lines(answer: &Answer) -> Vec<Value> {
    let parsed = answer.out.lines().map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().unwrap_or_else(|e| panic!("{e}: {}", answer.out))
}

/// The keys that `docs/json.md` promises for the summary of a load.
fn promised() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split_once("<!-- keys of load: begin -->").unwrap().1;
    let table = table.split_once("<!-- keys of load: end -->").unwrap().0;
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split_once('`').unwrap().0.to_owned()).collect()
}

/// The keys of the same depth that a summary has.
fn written(summary: &Value) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for (key, value) in summary.as_object().unwrap() {
        keys.insert(key.clone());
        match (key.as_str(), value) {
            ("operations", Value::Object(operations)) => {
                for operation in operations.values().flat_map(|o| o.as_object().unwrap().keys()) {
                    keys.insert(format!("operations.<operation>.{operation}"));
                }
            }
            ("content" | "cpu", Value::Object(parts)) => {
                keys.extend(parts.keys().map(|part| format!("{key}.{part}")));
            }
            _ => {}
        }
    }
    keys
}

#[test]
fn the_load_of_the_manual_writes_what_was_asked_and_says_so_in_json() {
    let dir = room();
    let args = [
        "load",
        "FILE",
        "--size",
        "1G",
        "--ops",
        "randwrite=100",
        "--block-size",
        "4k",
        "--depth",
        "32",
        "--duration",
        "5s",
        "--dedupe",
        "50%",
        "--compress",
        "2.5x",
        "--json",
    ];
    let answer = fathom_in(dir.path(), &args);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let lines = lines(&answer);
    let intervals = lines.iter().filter(|line| line["event"] == "interval").count();
    assert!((4..=7).contains(&intervals), "{intervals} intervals in 5 s");
    let summary = lines.last().unwrap();
    assert_eq!(summary["event"], "summary");
    assert_eq!(summary["ended_by"], "duration");
    let achieved = &summary["content"]["achieved"];
    for (key, wanted, tolerance) in [
        ("duplicate_percent", 50.0, 1.0),
        ("lz4_saving_percent", 60.0, 0.1),
        ("zero_percent", 0.0, 0.0),
    ] {
        let found = achieved[key].as_f64().unwrap();
        assert!((found - wanted).abs() <= tolerance, "{key} {found}");
    }
    assert!(summary["operations"]["randwrite"]["ios"].as_u64().unwrap() > 0);
    assert_eq!(promised(), written(summary));
}

#[test]
fn the_same_seed_writes_the_same_bytes_and_a_fresh_one_others() {
    let dir = room();
    let write = |name: &str, seed: &[&str]| {
        let args = ["load", name, "--size", "4M", "--ops", "write=100", "--passes", "1"];
        let answer = fathom_in(dir.path(), &[&args, seed].concat());
        assert_eq!(answer.code, Some(0), "{}", answer.err);
        std::fs::read(dir.path().join(name)).unwrap()
    };
    let first = write("a", &["--seed", "7"]);
    assert!(first == write("b", &["--seed", "7"]));
    assert!(first != write("c", &[]));
    assert!(write("c", &[]) != write("d", &[]), "a file that fathom made may be written again");
}

#[test]
fn a_mix_on_a_loop_device_keeps_its_shares() {
    let Some(disk) = loop_device(256 << 20) else {
        return skip("a_mix_on_a_loop_device", "no loop device can be made (needs root)");
    };
    let args =
        ["load", &disk.path, "--ops", "randread=70,randwrite=30", "--bytes", "64M", "--json"];
    let answer = expect(0, &args);
    let all = lines(&answer);
    let ios = |op: &str| all.last().unwrap()["operations"][op]["ios"].as_f64().unwrap();
    assert_eq!(ios("randread") + ios("randwrite"), 16_384.0);
    assert!((ios("randread") / 16_384.0 - 0.7).abs() < 0.01, "{}", ios("randread"));
}

#[test]
fn ctrl_c_ends_a_load_cleanly_and_keeps_what_was_measured() {
    let dir = room();
    let args =
        ["load", "x", "--size", "64M", "--ops", "randwrite=100", "--duration", "60s", "--json"];
    let summary = interrupted(dir.path(), &args, 3);
    assert!(summary["operations"]["randwrite"]["ios"].as_u64().unwrap() > 0);
}

#[test]
fn compression_that_no_packer_can_use_is_warned_of() {
    let dir = room();
    let args =
        ["load", "x", "--size", "1M", "--ops", "write=100", "--passes", "1", "--compress", "2x"];
    let answer = fathom_in(dir.path(), &args);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(answer.err.contains("warning:") && answer.err.contains("2048"), "{}", answer.err);
}

#[test]
fn a_load_that_makes_no_sense_is_refused_with_the_option_and_the_remedy() {
    for (args, message) in [
        (["--ops", "randwrite=90"], "100"),
        (["--depth", "0"], "depth"),
        (["--block-size", "1000"], "--block-size 1000 B"),
        (["--dedupe", "150%"], "150%"),
        (["--pattern", "zigzag"], "zigzag"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let answer = fathom_in(dir.path(), &[&["load", "x", "--size", "1M"][..], &args].concat());
        assert_eq!(answer.code, Some(2), "{args:?}: {}", answer.err);
        assert!(answer.err.contains(message), "{args:?}: {}", answer.err);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "{args:?} left something");
    }
}

#[test]
fn how_long_the_program_itself_was_stopped_is_told_and_is_no_stall_of_the_target() {
    let arguments = ["load", "null", "--size", "1G", "--ops", "randread=100", "--rate", "100/s"];
    let child = command(&[&arguments[..], &["--duration", "6s", "--json"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    std::thread::sleep(Duration::from_secs(2));
    signal("-STOP");
    std::thread::sleep(Duration::from_millis(2500));
    signal("-CONT");
    let output = child.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let summary: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let notices = summary["notices"].to_string();
    assert!(notices.contains("Fathom itself did not run for 2."), "{notices}");
    let still = summary["stood_still_ns"][0].as_u64().unwrap_or_default();
    assert!((2_000_000_000..4_000_000_000).contains(&still), "{still}");
    assert!(!notices.contains("stalls"), "{notices}");
}
