//! Benches that are stopped: what they made is gone.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::program::{command, skip, text};

/// Stops `child` by `signal` when `ready` says so, with all of its group where a terminal would; insists that it ends soon, with the exit
/// code of an interrupt.
fn stop(mut child: Child, signal: Signal, ready: impl Fn(u32) -> bool) -> u32 {
    let (pid, start) = (child.id(), Instant::now());
    while !ready(pid) {
        assert!(child.try_wait().unwrap().is_none(), "it has ended by itself");
        assert!(start.elapsed() < Duration::from_secs(60), "it never came so far");
        std::thread::sleep(Duration::from_millis(5));
    }
    match signal {
        Signal::INT => rustix::process::kill_process_group(Pid::from_child(&child), signal),
        _ => rustix::process::kill_process(Pid::from_child(&child), signal),
    }
    .unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(130), "{signal:?}");
    pid
}

fn start(args: &[&str]) -> Child {
    command(args).process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn entries(dir: &Path) -> Vec<String> {
    let all = std::fs::read_dir(dir).into_iter().flatten().flatten();
    all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Files of the bench with that process number in `dir`.
fn made(dir: &Path, pid: u32) -> Vec<String> {
    let start = format!("fathom-bench-{pid}-");
    entries(dir).into_iter().filter(|name| name.starts_with(&start)).collect()
}

/// The zram devices of exactly that size.
fn zrams(bytes: u64) -> usize {
    let size = |name: &String| {
        let path = format!("/sys/block/{name}/disksize");
        std::fs::read_to_string(path).is_ok_and(|text| text.trim() == bytes.to_string())
    };
    entries(Path::new("/sys/block")).iter().filter(|n| n.starts_with("zram") && size(n)).count()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_stopped_bench_engine_takes_its_devices_and_files_away() {
    let name = "a_stopped_bench_engine_takes_its_devices_and_files_away";
    let fio = Command::new("fio").arg("--version").output();
    if !is_root() {
        return skip(name, "needs root");
    }
    if !fio.is_ok_and(|output| output.status.success()) {
        return skip(name, "fio is not installed");
    }
    let memory = Path::new("/dev/shm");
    // Sizes that nobody else asks for.
    for (signal, size) in [(Signal::INT, 17_825_792_u64), (Signal::TERM, 18_874_368)] {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (out, bytes) = (dir.path().join("out"), size.to_string());
        let args = ["engine", "--quick", "--only", "loop,zram,file,tmpfs", "--size", &bytes];
        let child = start(&[&args[..], &["--dir", text(dir.path()), "--out", text(&out)]].concat());
        // Three files there: its loop device's, and two more while it fills them.
        let pid = stop(child, signal, |pid| made(memory, pid).len() >= 2);
        assert_eq!(made(memory, pid), [""; 0]);
        assert_eq!(entries(dir.path()), [""; 0], "{signal:?}");
        assert_eq!(zrams(size), 0, "{signal:?}");
        let loops = Command::new("losetup").arg("--list").output().unwrap().stdout;
        let loops = String::from_utf8_lossy(&loops).into_owned();
        assert!(!loops.contains(&format!("fathom-bench-{pid}-")), "{loops}");
    }
}

#[test]
fn a_stopped_bench_content_leaves_no_file() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let child = start(&["content", "--accuracy", "--dir", text(dir.path())]);
    stop(child, Signal::INT, |_| {
        let folders = entries(dir.path());
        folders.iter().any(|name| !entries(&dir.path().join(name)).is_empty())
    });
    assert_eq!(entries(dir.path()), [""; 0]);
    // The speeds make nothing, and stop all the same.
    let begun = Instant::now();
    let child = start(&["content", "--repeat", "1000"]);
    stop(child, Signal::TERM, |_| begun.elapsed() > Duration::from_secs(1));
}

#[test]
fn a_stopped_bench_estimate_takes_its_tree_away() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for (signal, later) in [(Signal::INT, 0), (Signal::TERM, 1500)] {
        let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        let args = ["estimate", "--size", "128M", "--repeat", "50", "--tree", tree];
        let child = start(&[&args[..], &["--dir", text(dir.path())]].concat());
        // While the tree is made, and while it is measured.
        let begun = Instant::now();
        let ready = |_| !entries(dir.path()).is_empty() && begun.elapsed().as_millis() >= later;
        stop(child, signal, ready);
        assert_eq!(entries(dir.path()), [""; 0], "{signal:?}");
    }
}

#[test]
fn a_bench_estimate_that_is_stopped_later_tells_what_it_measured() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let messages = tempfile::NamedTempFile::new().unwrap();
    let answer = tempfile::NamedTempFile::new().unwrap();
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let args = ["estimate", "--size", "8M", "--repeat", "1000", "--tree", tree, "--json"];
    let child = command(&[&args[..], &["--dir", text(dir.path())]].concat())
        .process_group(0)
        .stdout(answer.reopen().unwrap())
        .stderr(messages.reopen().unwrap())
        .spawn()
        .unwrap();
    let has = |words: &str| std::fs::read_to_string(messages.path()).unwrap().contains(words);
    stop(child, Signal::INT, |_| has("repeat 2 of 1000, GB/s: estimate "));
    assert!(has("interrupted: what follows rests on "));
    let found = std::fs::read_to_string(answer.path()).unwrap();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["interrupted"], true);
    for contestant in found["contestants"].as_array().unwrap() {
        let repeats = contestant["cpu_s"].as_array().unwrap().len();
        assert!((2..1000).contains(&repeats), "{contestant}");
    }
    assert_eq!(entries(dir.path()), [""; 0]);
}
