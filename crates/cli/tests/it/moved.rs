//! A result whose directory others move, exchange or remove while a run writes into it.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use results::Seal;
use results::model::CellState;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::{Pid, Signal, kill_process};

use crate::program::{command, expect, fresh, text};

const RUN: [&str; 7] = ["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--seed", "8"];

/// A change to a result's directory (the first path); the second path is another result.
type Swap = fn(&Path, &Path);

/// Runs into `out`, and does `swap` once the first cell has begun; gives the exit code and the messages.
fn swapped(out: &Path, other: &Path, swap: Swap) -> (Option<i32>, String) {
    meanwhile(out, |_| swap(out, other))
}

/// Does the same, but `work` may also change the running process.
fn meanwhile(out: &Path, work: impl FnOnce(&Child)) -> (Option<i32>, String) {
    let args = [&RUN[..], &["--pace", "0.02", "--out", text(out)]].concat();
    let mut run = command(&args);
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while !out.join("cells").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    work(&run);
    let answer = run.wait_with_output().unwrap();
    (answer.status.code(), String::from_utf8_lossy(&answer.stderr).into_owned())
}

fn seal(at: &Path) -> Seal {
    results::open(at).unwrap().seal
}

#[test]
fn a_result_that_is_moved_is_whole_in_its_new_place_and_no_other_is_touched() {
    let swaps: [(&str, Swap); 2] = [
        ("moved", |out, _| std::fs::rename(out, out.with_extension("moved")).unwrap()),
        ("exchanged", |out, other| {
            renameat_with(CWD, out, CWD, other, RenameFlags::EXCHANGE).unwrap();
        }),
    ];
    for (case, swap) in swaps {
        let (dir, out) = fresh();
        let other = dir.path().join("other");
        expect(0, &[&RUN[..], &["--out", text(&other)]].concat());
        let theirs = results::open(&other).unwrap().manifest.run_id;
        let (code, messages) = swapped(&out, &other, swap);
        assert_eq!(code, Some(5), "{case}: {messages}");
        let (now, there): (PathBuf, PathBuf) = match case {
            "moved" => (out.with_extension("moved"), other),
            _ => (other, out.clone()),
        };
        assert!(
            messages.contains("was moved away") && messages.contains(text(&now)),
            "{case}: {messages}"
        );
        assert_eq!((seal(&now), seal(&there)), (Seal::Whole, Seal::Whole), "{case}");
        assert_eq!(results::open(&there).unwrap().manifest.run_id, theirs, "{case}");
        assert_eq!(results::open(&now).unwrap().incomplete, None, "{case}");
        assert!(case == "exchanged" || !out.exists(), "{case}: nothing is made anew");
    }
}

#[test]
fn a_run_whose_result_is_removed_stops_and_says_so() {
    let (_dir, out) = fresh();
    // While the directory is removed, the run may still write into it.
    let remove: Swap = |out, _| while std::fs::remove_dir_all(out).is_err() && out.exists() {};
    let (code, messages) = swapped(&out, &out, remove);
    assert_eq!(code, Some(5), "{messages}");
    assert!(messages.contains("was removed while the run wrote into it"), "{messages}");
    assert!(!out.exists(), "nothing is made anew");
}

#[test]
fn a_cell_whose_files_others_remove_during_the_run_has_failed() {
    let (_dir, out) = fresh();
    let (code, messages) = meanwhile(&out, |_| {
        let folders = || {
            let entries = std::fs::read_dir(out.join("cells")).unwrap();
            let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
            all.sort();
            all
        };
        while folders().len() < 2 {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::fs::remove_dir_all(&folders()[0]).unwrap();
    });
    assert_eq!(code, Some(5), "{messages}");
    assert!(
        messages.contains("was changed by another program") && messages.contains("cells/00-"),
        "{messages}"
    );
    let left = results::open(&out).unwrap();
    assert_eq!(left.cells[0].state(), CellState::Failed);
    assert!(left.cells[1..].iter().all(results::CellData::done), "the others are whole");
    assert_eq!(left.manifest.outcome.as_deref(), Some("incomplete"));
}

#[test]
fn an_interrupted_run_whose_result_was_moved_still_ends_as_interrupted() {
    let (_dir, out) = fresh();
    let now = out.with_extension("moved");
    let (code, messages) = meanwhile(&out, |run| {
        std::fs::rename(&out, &now).unwrap();
        kill_process(Pid::from_child(run), Signal::INT).unwrap();
    });
    assert_eq!(code, Some(130), "{messages}");
    assert!(messages.contains("was moved away") && messages.contains(text(&now)), "{messages}");
}
