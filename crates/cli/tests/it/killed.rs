//! Results that `kill -9` cut off: readable, and saying themselves that they are incomplete.

use std::process::Stdio;
use std::time::Duration;

use crate::program::{command, expect, fathom_in, fresh, text};

/// Checks what every reader does with a result that was cut off.
pub fn check_cut_off(out: &std::path::Path) {
    let shown = fathom_in(&std::env::temp_dir(), &["show", text(out)]);
    assert_eq!(shown.code, Some(5), "{}", shown.err);
    assert!(shown.out.contains("incomplete"), "{}", shown.out);
    let page = out.with_extension("html");
    expect(5, &["report", text(out), "-o", text(&page)]);
    expect(5, &["doctor", text(out)]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("incomplete"), "the page does not say that the result is incomplete");
}

/// Tells whether a result says that it was written to its end, as it does when the program is killed on its way out. If so, checks that all ten
/// cells are there.
fn has_ended(out: &std::path::Path) -> bool {
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    if manifest["ended_utc"].is_null() {
        return false;
    }
    let cells = std::fs::read_dir(out.join("cells")).unwrap();
    let whole = cells.filter(|cell| cell.as_ref().unwrap().path().join("cell.json").exists());
    assert_eq!(whole.count(), 10, "it says that it has ended, and cells are missing");
    true
}

#[test]
fn a_result_killed_at_fifty_random_moments_is_readable_and_says_that_it_is_incomplete() {
    // Ten cells of about eight virtual seconds, slowed down to some seconds in all.
    let mut moment = units::Seed(0x5eed).generator();
    let mut cut = 0;
    for _ in 0..50 {
        let (_dir, out) = fresh();
        let mut child =
            command(&["run", "vdo-vs-plain", "--simulate", "--pace", "0.01", "--out", text(&out)])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
        while !out.join("manifest.json").exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(moment.below(1_200_000)));
        child.kill().unwrap();
        if child.wait().unwrap().success() || has_ended(&out) {
            continue;
        }
        cut += 1;
        check_cut_off(&out);
    }
    assert!(cut >= 25, "only {cut} of 50 runs were cut off; the others had ended already");
}

#[test]
fn a_run_that_still_goes_on_says_so_first_and_gives_no_verdict() {
    let (_dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--out", text(&out), "--seed", "1"]);
    let decided = expect(0, &["show", text(&out)]).out;
    assert!(decided.contains("worse") && !decided.contains("Still running"), "{decided}");
    // The last cell runs, and the run that writes it holds the result.
    let manifest = out.join("manifest.json");
    let mut document: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    let last = document["cells"].as_array().unwrap().len() - 1;
    document["cells"][last]["state"] = "running".into();
    let cell = document["cells"][last].clone();
    for key in ["ended_utc", "outcome"] {
        document[key] = serde_json::Value::Null;
    }
    std::fs::write(&manifest, document.to_string()).unwrap();
    let record = out.join("cells").join(cell["folder"].as_str().unwrap()).join("cell.json");
    std::fs::remove_file(record).unwrap();
    std::fs::remove_file(out.join("SHA256SUMS")).unwrap();
    let writer = results::sink::DirSink::reopen(&out).unwrap();
    let shown = expect(5, &["show", text(&out)]);
    let began = document["started_utc"].as_str().unwrap();
    let all = last + 1;
    assert!(
        shown.out.starts_with(&format!("Still running: cell {all} of {all} is running (")),
        "{}",
        shown.out
    );
    assert!(shown.out.contains(began), "{}", shown.out);
    let first = shown.out.split("\n\n").next().unwrap();
    assert!(!first.contains("worse") && !first.contains("better"), "{first}");
    let found: serde_json::Value =
        serde_json::from_str(&expect(5, &["show", text(&out), "--json"]).out).unwrap();
    assert!(found["going_on"].as_str().unwrap().starts_with("cell "), "{found}");
    let mut verdicts = found["comparisons"].as_array().unwrap().iter().map(|c| &c["verdict"]);
    assert!(verdicts.all(|v| v.is_null() || v == "unclear"), "{:#}", found["comparisons"]);
    drop(writer);
    let cut = expect(5, &["show", text(&out)]).out;
    assert!(!cut.contains("Still running") && cut.contains("was killed"), "{cut}");
}
