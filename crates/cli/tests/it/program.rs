//! The built program, as a user runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Result of a call of the program.
#[derive(Debug)]
pub struct Answer {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The program with arguments, without a terminal and without colours.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.args(args).stdin(Stdio::null()).env("NO_COLOR", "1");
    command
}

/// Message of a guest's kernel when the emulated CPU lost its flags: twice in some hundred guests.
const EMULATOR_CRASH: &str = "Kernel panic - not syncing: Fatal exception in interrupt";

/// Runs `fathom` in `dir`.
pub fn fathom_in(dir: &Path, args: &[&str]) -> Answer {
    let run = || answer(&command(args).current_dir(dir).output().unwrap());
    let first = run();
    let starts_guests =
        matches!(args.first(), Some(&("lab" | "catalogue"))) || args.contains(&"--lab");
    if !starts_guests || !(first.err.contains(EMULATOR_CRASH) || first.out.contains(EMULATOR_CRASH))
    {
        return first;
    }
    // A crash that comes again is ours.
    eprintln!("RETRIED fathom {args:?}: a guest crashed: {EMULATOR_CRASH}");
    let out = args.iter().position(|arg| *arg == "--out").and_then(|at| args.get(at + 1));
    if let Some(out) = out.filter(|_| args[0] != "catalogue") {
        let _ = std::fs::remove_dir_all(dir.join(out));
    }
    run()
}

/// Runs `fathom` and insists on its exit code.
pub fn expect(code: i32, args: &[&str]) -> Answer {
    let answer = fathom_in(&std::env::temp_dir(), args);
    assert_eq!(answer.code, Some(code), "fathom {args:?}\n{}\n{}", answer.out, answer.err);
    answer
}

fn answer(output: &Output) -> Answer {
    Answer {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The one JSON value that `fathom` answered with.
pub fn json(args: &[&str]) -> serde_json::Value {
    let answer = expect(0, args);
    serde_json::from_str(&answer.out).unwrap_or_else(|e| panic!("{e}: {}", answer.out))
}

/// Interrupts a load after so many seconds, and gives the last line that it printed: its summary.
pub fn interrupted(dir: &Path, args: &[&str], seconds: u64) -> serde_json::Value {
    let child = command(args)
        .current_dir(dir)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(seconds));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let last = String::from_utf8(output.stdout).unwrap().lines().last().unwrap().to_owned();
    let summary: serde_json::Value = serde_json::from_str(&last).unwrap();
    assert_eq!(summary["ended_by"], "interrupted");
    summary
}

/// A path as text.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A fresh directory and a path in it that does not exist yet.
pub fn fresh() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("result");
    (dir, out)
}

/// Says that a test cannot run here; such tests count as skipped.
pub fn skip(name: &str, reason: &str) {
    println!("SKIP {name}: {reason}");
}

/// Waits for this test's turn in the lab, one at a time since two cores are few. Returns `None`, and prints a SKIP line, where QEMU is
/// not installed or `make check` leaves guests out.
pub fn ready(name: &str) -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    if std::env::var_os("FATHOM_TEST_LAB").is_some_and(|value| value == "no") {
        skip(name, "FATHOM_TEST_LAB=no leaves out tests that start a guest");
        return None;
    }
    let there = Command::new("qemu-system-x86_64").arg("--version").output().is_ok();
    if !there {
        skip(name, "qemu-system-x86_64 is not installed");
        return None;
    }
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}
