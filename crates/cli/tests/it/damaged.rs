//! Every reader of a result × every way in which it is not as its run left it. Each form is sealed again: the files alone have to show it.

use std::fs;
use std::path::Path;

use results::frames;
use results::model::Row;
use serde_json::Value;

use crate::program::{Answer, expect, fathom_in, text};

/// The part of a damaged result that readers keep.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    /// Nothing: it is refused.
    Nothing,
    /// All that is beyond doubt, and exit code 5.
    Changed,
    /// All that is there; what is missing is reported, and exit code 5.
    Incomplete,
}

/// A form of damage: its name, the function that does it to a result, what readers keep, and a part of the message.
type Form = (&'static str, fn(&Path, &Path), Kept, &'static str);

const FORMS: &[Form] = &[
    ("a copied folder", copied, Kept::Changed, "cells/03-"),
    ("swapped folders", swapped, Kept::Changed, "cell.json is of cell"),
    ("folders swapped in the manifest", swapped_names, Kept::Changed, "cell.json is of cell"),
    ("variants swapped in the manifest", swapped_variants, Kept::Changed, "cell.json is of cell"),
    ("the cell of another run", of_another_run, Kept::Changed, "cell.json is of run "),
    ("rows of another cell", other_rows, Kept::Changed, "rows.log is of another cell"),
    ("another seed in a cell", other_seed, Kept::Changed, "cell.json is of another seed"),
    ("another seed in the manifest", other_seed_of_all, Kept::Changed, "is of another seed"),
    ("each repeat the first", all_first, Kept::Nothing, "two cells are repeat 1 of '"),
    ("one folder twice", folder_twice, Kept::Nothing, "two cells are in the folder"),
    ("a folder elsewhere", elsewhere, Kept::Nothing, "which cannot be a folder of a result"),
    ("a cell left out", left_out, Kept::Nothing, "stands in the place of cell"),
    ("an unknown variant", unknown, Kept::Nothing, "belongs to variant 'nobody'"),
    ("a repeat beyond the plan", beyond, Kept::Nothing, "is repeat 9 of 5"),
    ("the last cells left out", last_left_out, Kept::Incomplete, "2 cells of the plan are not in"),
    ("a missing folder", missing, Kept::Incomplete, "1 without a readable record"),
    (
        "the measured stage gone",
        no_measured,
        Kept::Incomplete,
        "cell.json has no stage 'random-write'",
    ),
    ("the first stage gone", no_first, Kept::Incomplete, "cell.json has no stage 'allocate"),
    ("the load of a stage gone", no_load, Kept::Incomplete, "has no figures of its load"),
    (
        "no figures of a stage's layers",
        no_stage_layers,
        Kept::Incomplete,
        "cell.json has no figures of data",
    ),
    ("no rows", no_rows, Kept::Incomplete, "does not tell where stage"),
    ("empty rows", empty_rows, Kept::Incomplete, "does not tell where stage"),
    ("no intervals", no_intervals, Kept::Incomplete, "has no intervals of stage 'random-write'"),
    ("no samples", no_samples, Kept::Incomplete, "has no samples of"),
    ("no layers", no_layers, Kept::Incomplete, "cell.json has no figures of"),
    ("no steps", no_steps, Kept::Incomplete, "cell.json has no steps"),
    ("no leftovers", no_leftovers, Kept::Incomplete, "no answer to what teardown left"),
    ("no machine", no_machine, Kept::Incomplete, "cell.json has no load of the machine"),
    ("no facts", no_machine, Kept::Incomplete, "cell.json has no facts"),
    ("no transcript", no_transcript, Kept::Incomplete, "transcript.jsonl has no line of it"),
    ("no experiment", no_experiment, Kept::Incomplete, "there is no experiment"),
    ("a stage twice", stage_twice, Kept::Changed, "that its plan does not have, or twice"),
    ("a stage of another name", other_stage, Kept::Changed, "a stage 'other' that its plan"),
    ("a stage that is not measured", unmeasured, Kept::Changed, "that its plan does not have"),
    ("a cell cut off", cut_off, Kept::Incomplete, "1 cut off while running"),
];

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = json_of(path);
    change(&mut value);
    fs::write(path, serde_json::to_vec(&value).unwrap()).unwrap();
}

fn edit_cells(at: &Path, change: impl FnOnce(&mut Vec<Value>)) {
    edit(&at.join("manifest.json"), |m| change(m["cells"].as_array_mut().unwrap()));
}

/// The folder of a cell.
fn folder(at: &Path, cell: usize) -> std::path::PathBuf {
    let manifest = json_of(&at.join("manifest.json"));
    at.join("cells").join(manifest["cells"][cell]["folder"].as_str().unwrap())
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn copied(at: &Path, _: &Path) {
    copy(&folder(at, 1), &folder(at, 3));
}

fn swapped(at: &Path, _: &Path) {
    fs::rename(folder(at, 2), at.join("aside")).unwrap();
    fs::rename(folder(at, 3), folder(at, 2)).unwrap();
    fs::rename(at.join("aside"), folder(at, 3)).unwrap();
}

fn swap_key(at: &Path, key: &str) {
    edit_cells(at, |cells| {
        let first = cells[2][key].take();
        cells[2][key] = cells[3][key].clone();
        cells[3][key] = first;
    });
}

fn swapped_names(at: &Path, _: &Path) {
    swap_key(at, "folder");
}

fn swapped_variants(at: &Path, _: &Path) {
    swap_key(at, "variant");
}

fn of_another_run(at: &Path, other: &Path) {
    copy(&folder(other, 4), &folder(at, 4));
}

fn other_rows(at: &Path, _: &Path) {
    fs::copy(folder(at, 4).join("rows.log"), folder(at, 6).join("rows.log")).unwrap();
}

fn other_seed(at: &Path, _: &Path) {
    edit(&folder(at, 5).join("cell.json"), |cell| cell["seed"] = "0x0000000000000007".into());
}

fn other_seed_of_all(at: &Path, _: &Path) {
    edit(&at.join("manifest.json"), |m| m["seed"] = "0x0000000000000008".into());
}

fn all_first(at: &Path, _: &Path) {
    edit_cells(at, |cells| cells.iter_mut().for_each(|cell| cell["repeat"] = 1.into()));
}

fn folder_twice(at: &Path, _: &Path) {
    edit_cells(at, |cells| cells[7]["folder"] = cells[6]["folder"].clone());
}

fn elsewhere(at: &Path, other: &Path) {
    let there = folder(other, 8);
    edit_cells(at, |cells| cells[8]["folder"] = text(&there).into());
}

fn left_out(at: &Path, _: &Path) {
    edit_cells(at, |cells| drop(cells.remove(4)));
}

fn unknown(at: &Path, _: &Path) {
    edit_cells(at, |cells| cells[4]["variant"] = "nobody".into());
}

fn beyond(at: &Path, _: &Path) {
    edit_cells(at, |cells| cells[4]["repeat"] = 9.into());
}

fn last_left_out(at: &Path, _: &Path) {
    edit_cells(at, |cells| cells.truncate(8));
}

fn missing(at: &Path, _: &Path) {
    fs::remove_dir_all(folder(at, 4)).unwrap();
}

fn cut_off(at: &Path, _: &Path) {
    edit_cells(at, |cells| cells[4]["state"] = "running".into());
    fs::remove_file(folder(at, 4).join("cell.json")).unwrap();
}

fn edit_cell(at: &Path, change: impl FnOnce(&mut Value)) {
    edit(&folder(at, 4).join("cell.json"), change);
}

/// The stages of each cell, the last of which is measured.
fn edit_stages(at: &Path, change: impl Fn(&mut Vec<Value>)) {
    for cell in [4, 5] {
        let path = folder(at, cell).join("cell.json");
        edit(&path, |cell| change(cell["stages"].as_array_mut().unwrap()));
    }
}

fn no_measured(at: &Path, _: &Path) {
    edit_stages(at, |stages| drop(stages.pop()));
}

fn no_first(at: &Path, _: &Path) {
    edit_stages(at, |stages| drop(stages.remove(0)));
}

fn edit_measured(at: &Path, change: impl Fn(&mut Value)) {
    edit_stages(at, |stages| change(stages.last_mut().unwrap()));
}

fn no_load(at: &Path, _: &Path) {
    edit_measured(at, |stage| stage["load"] = Value::Null);
}

fn no_stage_layers(at: &Path, _: &Path) {
    edit_measured(at, |stage| stage["layers"] = serde_json::json!({}));
}

fn other_stage(at: &Path, _: &Path) {
    edit_measured(at, |stage| stage["name"] = "other".into());
}

fn unmeasured(at: &Path, _: &Path) {
    edit_measured(at, |stage| stage["measured"] = false.into());
}

fn stage_twice(at: &Path, _: &Path) {
    edit_stages(at, |stages| stages.push(stages.last().unwrap().clone()));
}

fn no_rows(at: &Path, _: &Path) {
    fs::remove_file(folder(at, 4).join("rows.log")).unwrap();
}

fn empty_rows(at: &Path, _: &Path) {
    fs::write(folder(at, 4).join("rows.log"), "").unwrap();
}

fn keep_rows(at: &Path, kept: impl Fn(&Row) -> bool) {
    let path = folder(at, 4).join("rows.log");
    let (rows, _) = frames::read(&fs::read(&path).unwrap()[..]).unwrap();
    let rows = rows.iter().filter(|row| kept(row));
    fs::write(path, rows.flat_map(frames::encode).collect::<Vec<_>>()).unwrap();
}

fn no_intervals(at: &Path, _: &Path) {
    keep_rows(at, |row| !matches!(row, Row::Interval(_)));
}

fn no_samples(at: &Path, _: &Path) {
    keep_rows(at, |row| !matches!(row, Row::Sample(_)));
}

fn no_layers(at: &Path, _: &Path) {
    edit_cell(at, |cell| cell["layers"] = serde_json::json!({}));
}

fn no_steps(at: &Path, _: &Path) {
    edit_cell(at, |cell| cell["steps"] = serde_json::json!([]));
}

fn no_leftovers(at: &Path, _: &Path) {
    edit_cell(at, |cell| cell["leftovers"] = Value::Null);
}

/// Marks the simulated run as real: a real one would have facts of its machine.
fn no_machine(at: &Path, _: &Path) {
    edit(&at.join("manifest.json"), |manifest| manifest["simulated"] = false.into());
}

fn no_transcript(at: &Path, _: &Path) {
    fs::remove_file(at.join("transcript.jsonl")).unwrap();
}

fn no_experiment(at: &Path, _: &Path) {
    fs::remove_file(at.join("experiment.toml")).unwrap();
}

/// Checks that every reader keeps of a result what it should, and says what is wrong.
fn check(name: &str, at: &Path, kept: Kept, message: &str) {
    let dir = at.parent().unwrap();
    let page = dir.join("page.html");
    let readers: [&[&str]; 4] = [
        &["show", text(at)],
        &["show", text(at), "--strict", "--json"],
        &["report", text(at), "-o", text(&page)],
        &["doctor", text(at), "--all"],
    ];
    for args in readers {
        let Answer { code: found, out, err } = fathom_in(dir, args);
        assert_eq!(found, Some(5), "{name}: {args:?}\n{out}\n{err}");
        let page = || fs::read_to_string(&page).unwrap_or_default();
        let is_printed = [&out, &err].iter().any(|text| one_line(text).contains(message));
        assert!(
            is_printed || page().contains(message),
            "{name}: {args:?} does not say it\n{out}\n{err}"
        );
    }
    // No verdict rests on what is in doubt: there are fewer than five repeats.
    if kept == Kept::Changed && message != "transcript.jsonl was changed" {
        let shown = fathom_in(dir, &["show", text(at), "--json"]).out;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let verdicts = shown["comparisons"].as_array().unwrap().iter();
        let verdicts = verdicts.filter_map(|comparison| comparison["verdict"].as_str());
        assert!(verdicts.into_iter().all(|word| word == "unclear"), "{name}");
    }
    let trend = fathom_in(dir, &["trend", text(at)]);
    assert_eq!(trend.code, Some(5), "{name}: {}", trend.out);
    assert!(trend.err.contains(message), "{name}: {}", trend.err);
    if kept != Kept::Incomplete {
        let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "5", "--resume", text(at)];
        let resumed = fathom_in(dir, &args);
        assert_eq!(resumed.code, Some(5), "{name}: {}", resumed.err);
        assert!(resumed.err.contains(message), "{name}: {}", resumed.err);
    }
}

/// Text without the ends of its lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_not_as_the_run_left_it_passes_with_no_reader() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, other, at) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("c"));
    for out in [&whole, &other] {
        let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "5", "--seed", "7"];
        expect(0, &[&args[..], &["--out", text(out)]].concat());
    }
    for (name, damage, kept, message) in FORMS {
        copy(&whole, &at);
        damage(&at, &other);
        results::checksums::write(&at).unwrap();
        check(name, &at, *kept, message);
    }
    copy(&whole, &at);
    fs::write(at.join("transcript.jsonl"), "").unwrap();
    check("a broken seal", &at, Kept::Changed, "transcript.jsonl was changed");
}

#[test]
fn a_trend_names_what_it_leaves_out_and_goes_on_with_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let (first, copies) =
        (dir.path().join("first"), ["d1", "d2", "d3", "d4", "d5"].map(|n| dir.path().join(n)));
    let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "5", "--seed", "7"];
    expect(0, &[&args[..], &["--out", text(&first)]].concat());
    copies.iter().for_each(|at| copy(&first, at));
    fs::write(copies[1].join("transcript.jsonl"), "").unwrap();
    fs::write(copies[2].join("manifest.json"), "{").unwrap();
    fs::remove_file(copies[0].join("SHA256SUMS")).unwrap();
    edit(&copies[3].join("manifest.json"), |m| m["started_utc"] = "garbage".into());
    results::checksums::write(&copies[3]).unwrap();
    fs::remove_file(copies[4].join("manifest.json")).unwrap();
    let answer = expect(0, &["trend", text(dir.path())]);
    for phrase in [
        "d5: ",
        ": 1 result\n",
        "d1: whether its files were changed is not known",
        "d2: it was changed: transcript.jsonl",
        "d3: ",
        "is damaged",
        "d4: its started_utc 'garbage' is no time",
    ] {
        assert!(answer.out.contains(phrase), "{phrase}: {}", answer.out);
    }
    assert!(answer.out.contains("it belongs to the same run as"), "{}", answer.out);
    let all = crate::program::json(&["trend", text(dir.path()), "--json"]);
    assert_eq!(all["left_out"].as_array().unwrap().len(), 5, "{all}");
    assert_eq!(all["series"][0]["threshold"], 0.03);
    assert_eq!(all["series"][0]["results"][0]["sealed"], false);
}

#[test]
fn a_log_with_damage_in_its_middle_is_shown_without_it_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let load = ["load", "null", "--size", "1M", "--ios", "200", "--io-log", "ios"];
    assert_eq!(fathom_in(dir.path(), &load).code, Some(0));
    let path = dir.path().join("ios");
    let whole = fathom_in(dir.path(), &["show", "ios"]);
    assert_eq!((whole.code, whole.out.lines().count()), (Some(0), 201), "{}", whole.err);
    let mut bytes = std::fs::read(&path).unwrap();
    // Parts of two records, the first of which begins 101 records before the end (the last record closes the log).
    let begin = bytes.len() - 101 * 40;
    bytes[begin + 30..begin + 60].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let answer = fathom_in(dir.path(), &["show", "ios"]);
    assert_eq!((answer.code, answer.out.lines().count()), (Some(5), 199), "{}", answer.err);
    assert!(answer.err.contains("gone, are left out: 2"), "{}", answer.err);
    assert!(answer.out.lines().all(|line| whole.out.lines().any(|other| other == line)));
}
