//! A result whose directory others move, exchange or remove while a run writes into it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use results::Seal;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::program::{command, expect, fresh, text};

const RUN: [&str; 7] = ["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--seed", "8"];

/// Something that is done to a result's directory, beside another result.
type Swap = fn(&Path, &Path);

/// Runs into `out`, and does `swap` once the first cell has begun; gives the exit code and what was said.
fn swapped(out: &Path, other: &Path, swap: Swap) -> (Option<i32>, String) {
    let args = [&RUN[..], &["--pace", "0.02", "--out", text(out)]].concat();
    let mut run = command(&args);
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while !out.join("cells").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    swap(out, other);
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
        let (code, said) = swapped(&out, &other, swap);
        assert_eq!(code, Some(5), "{case}: {said}");
        let (now, there): (PathBuf, PathBuf) = match case {
            "moved" => (out.with_extension("moved"), other),
            _ => (other, out.clone()),
        };
        assert!(said.contains("was moved away") && said.contains(text(&now)), "{case}: {said}");
        assert_eq!((seal(&now), seal(&there)), (Seal::Whole, Seal::Whole), "{case}");
        assert_eq!(results::open(&there).unwrap().manifest.run_id, theirs, "{case}");
        assert_eq!(results::open(&now).unwrap().incomplete, None, "{case}");
        assert!(case == "exchanged" || !out.exists(), "{case}: nothing is made anew");
    }
}

#[test]
fn a_run_whose_result_is_removed_stops_and_says_so() {
    let (_dir, out) = fresh();
    // What the run writes meanwhile may be in the way.
    let remove: Swap = |out, _| while std::fs::remove_dir_all(out).is_err() && out.exists() {};
    let (code, said) = swapped(&out, &out, remove);
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("was removed while the run wrote into it"), "{said}");
    assert!(!out.exists(), "nothing is made anew");
}
