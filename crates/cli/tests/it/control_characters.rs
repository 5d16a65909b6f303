//! Names and paths that a terminal would obey: they are shown escaped, wherever they are mentioned.

use std::fs;
use std::path::Path;

use crate::program::{Answer, fathom_in, text};

/// Clears the screen, turns the text round, and forges a line.
const HOSTILE: &str = "x\u{1b}[2J\u{9b}31m\u{202e}\u{7}\nhelp: forged";
const SHOWN: &str = "x\\x1b[2J\\u{9b}31m\\u{202e}\\x07\\nhelp: forged";

/// Insists that nothing of `answer` is obeyed, and that no line was forged; gives all of it.
fn harmless(words: &[&str], answer: &Answer) -> String {
    let all = format!("{}{}", answer.out, answer.err);
    assert!(!all.contains(|c| c != '\n' && units::is_obeyed(c)), "{words:?}: {all:?}");
    assert!(!all.lines().any(|line| line.starts_with("help: forged")), "{words:?}: {all}");
    all
}

/// Runs `fathom` in `dir`, and checks its exit code, and that the hostile name is shown escaped.
fn run_harmless(dir: &Path, code: i32, words: &[&str]) -> String {
    let answer = fathom_in(dir, words);
    let all = harmless(words, &answer);
    assert_eq!(answer.code, Some(code), "{words:?}: {all}");
    assert!(all.contains(SHOWN), "{words:?}: {all}");
    all
}

/// An experiment that says hostile things of itself.
fn experiment() -> String {
    let shipped = experiment::shipped("vdo-vs-plain").unwrap().text;
    let about = shipped.lines().find(|line| line.starts_with("about = ")).unwrap();
    let hostile = serde_json::to_string(HOSTILE).unwrap().replace('\u{9b}', "\\u009b");
    shipped.replacen(about, &format!("about = {}", hostile.replace('\u{202e}', "\\u202e")), 1)
}

#[test]
fn a_load_tells_of_its_targets_and_logs_in_characters_that_can_be_shown() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let load = ["load", HOSTILE, "other", "--size", "1M", "--ops", "write=100", "--ios", "20"];
    let all =
        run_harmless(dir.path(), 0, &[&load[..], &["--io-log", &format!("log{HOSTILE}")]].concat());
    assert!(all.matches(SHOWN).count() >= 3, "start, target and log: {all}");
    // For programs the name stays what it is.
    let answer = fathom_in(dir.path(), &["load", HOSTILE, "other", "--ios", "20", "--json"]);
    let summary: serde_json::Value =
        serde_json::from_str(answer.out.lines().last().unwrap()).unwrap();
    assert_eq!(summary["targets"][0]["target"], HOSTILE);
}

#[test]
fn errors_tell_of_paths_and_of_what_was_typed_in_characters_that_can_be_shown() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let typed = format!("--{HOSTILE}");
    run_harmless(dir.path(), 2, &["estimate", HOSTILE]);
    run_harmless(dir.path(), 2, &["age", HOSTILE]);
    run_harmless(dir.path(), 2, &["show", HOSTILE]);
    run_harmless(dir.path(), 2, &["report", HOSTILE, "-o", "page.html"]);
    run_harmless(dir.path(), 2, &["report", "x", "-o", &format!("no/{HOSTILE}")]);
    run_harmless(dir.path(), 2, &["explain", HOSTILE]);
    run_harmless(dir.path(), 2, &["load", HOSTILE]);
    run_harmless(dir.path(), 2, &["load", "y", "--size", "1M", &typed]);
    run_harmless(dir.path(), 2, &["load", "y", "--size", HOSTILE]);
    run_harmless(dir.path(), 2, &["load", "y", "--backend", HOSTILE]);
    run_harmless(dir.path(), 2, &[HOSTILE]);
}

#[test]
fn an_experiment_and_its_result_tell_of_themselves_in_characters_that_can_be_shown() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("hostile.toml");
    fs::write(&file, experiment()).unwrap();
    run_harmless(dir.path(), 0, &["explain", text(&file)]);
    let answer = fathom_in(dir.path(), &["explain", text(&file), "--json"]);
    let explained: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(explained["about"], HOSTILE);
    let out = format!("result{HOSTILE}");
    let run = ["run", text(&file), "--simulate", "--repeat", "1", "--out", &out];
    run_harmless(dir.path(), 0, &run);
    run_harmless(dir.path(), 4, &run);
    for words in [&["show", &out][..], &["doctor", &out]] {
        harmless(words, &fathom_in(dir.path(), words));
    }
    run_harmless(dir.path(), 0, &["report", &out, "-o", &format!("page{HOSTILE}.html")]);
    // A mistake in a file of that name, on a line that holds more of it.
    let bad = dir.path().join(format!("{HOSTILE}.toml"));
    fs::write(&bad, experiment().replacen("repeat = 5", "reapeat = 5 # \u{202e}\u{9b}2J", 1))
        .unwrap();
    let all = run_harmless(dir.path(), 2, &["explain", text(&bad)]);
    assert!(all.contains("reapeat") && all.contains("did you mean 'repeat'"), "{all}");
}
