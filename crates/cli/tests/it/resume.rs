//! `--resume`, `--only` and `--scale`: runs of some cells, and runs that go on.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use results::Seal;
use results::model::CellState;

use crate::program::{command, expect, fathom_in, fresh, text};

fn run(out: &Path, more: &[&str]) -> i32 {
    let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--seed", "8"];
    let args = [&args[..], &["--out", text(out)], more].concat();
    fathom_in(&std::env::temp_dir(), &args).code.unwrap()
}

fn states(out: &Path) -> Vec<CellState> {
    results::open(out).unwrap().cells.iter().map(results::CellData::state).collect()
}

#[test]
fn a_run_goes_on_with_the_cells_that_did_not_end_well() {
    let (_dir, out) = fresh();
    assert_eq!(run(&out, &["--inject", "fail@1:3"]), 5);
    assert_eq!(states(&out)[..3], [CellState::Done, CellState::Failed, CellState::Done]);
    let before = results::open(&out).unwrap();
    let record = |set: &results::ResultSet, cell: usize| set.cells[cell].record.clone().unwrap();
    let resume = ["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--resume", text(&out)];
    let answer = fathom_in(&std::env::temp_dir(), &resume);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(answer.err.contains("3 of 4 cells ended well and are kept; 1 run"), "{}", answer.err);
    let after = results::open(&out).unwrap();
    assert_eq!(states(&out), [CellState::Done; 4]);
    assert_eq!((after.seal.clone(), after.incomplete.clone()), (Seal::Whole, None));
    assert_eq!(after.manifest.seed, before.manifest.seed);
    assert_eq!(after.manifest.run_id, before.manifest.run_id);
    assert_eq!((after.manifest.resumed.len(), after.manifest.resumed[0].kept), (1, 3));
    for cell in [0, 2, 3] {
        assert_eq!(record(&after, cell), record(&before, cell));
        assert_eq!(after.cells[cell].rows, before.cells[cell].rows);
    }
    // What the failed attempt wrote is not in the new one.
    let loads = |set: &results::ResultSet| record(set, 1).stages.len();
    assert!(loads(&after) > loads(&before) && after.cells[1].entry.reason.is_none());
    // There is nothing left to do, and nothing is done.
    expect(0, &resume);
    assert_eq!(record(&results::open(&out).unwrap(), 1), record(&after, 1));
}

#[test]
fn a_killed_run_goes_on() {
    let (_dir, out) = fresh();
    let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "2"];
    let mut child =
        command(&[&args[..], &["--seed", "8", "--pace", "0.05", "--out", text(&out)]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    let done = || out.join("manifest.json").exists() && states(&out)[0] == CellState::Done;
    while !done() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let live = fathom_in(&std::env::temp_dir(), &[&args[..], &["--resume", text(&out)]].concat());
    assert_eq!(live.code, Some(2), "{}", live.err);
    assert!(live.err.contains("still goes on") && live.err.contains("help:"), "{}", live.err);
    child.kill().unwrap();
    child.wait().unwrap();
    let first = std::fs::read(out.join("cells/00-plain-r1/rows.log")).unwrap();
    expect(0, &[&args[..], &["--resume", text(&out)]].concat());
    assert_eq!(states(&out), [CellState::Done; 4]);
    assert_eq!(results::open(&out).unwrap().seal, Seal::Whole);
    assert_eq!(std::fs::read(out.join("cells/00-plain-r1/rows.log")).unwrap(), first);
}

/// A part of a cell, and how it is lost from the cell's folder.
type Loss = (&'static str, fn(&Path));

#[test]
fn a_done_cell_that_lost_a_part_is_run_again() {
    let lose: [Loss; 7] = [
        ("its record", |cell| std::fs::remove_file(cell.join("cell.json")).unwrap()),
        ("half of its record", |cell| {
            let record = std::fs::read(cell.join("cell.json")).unwrap();
            std::fs::write(cell.join("cell.json"), &record[..record.len() / 2]).unwrap();
        }),
        ("its folder", |cell| std::fs::remove_dir_all(cell).unwrap()),
        ("some figures of a layer", |cell| {
            edit(&cell.join("cell.json"), |cell| {
                let stages = cell["stages"].as_array_mut().unwrap();
                let layers = stages.iter_mut().rev().find_map(|stage| {
                    let layers = stage["layers"].as_object_mut()?;
                    layers.values_mut().find(|figures| figures.as_object().unwrap().len() > 1)
                });
                let figures = layers.unwrap().as_object_mut().unwrap();
                let first = figures.keys().next().unwrap().clone();
                figures.remove(&first);
            });
        }),
        ("a stage", |cell| {
            edit(&cell.join("cell.json"), |cell| {
                cell["stages"].as_array_mut().unwrap().pop();
            });
        }),
        ("the figures of a layer", |cell| {
            edit(&cell.join("cell.json"), |cell| cell["layers"] = serde_json::json!({}));
        }),
        ("all rows", |cell| std::fs::write(cell.join("rows.log"), "").unwrap()),
    ];
    for (what, lose) in lose {
        let (_dir, out) = fresh();
        assert_eq!(run(&out, &["--inject", "fail@1:3"]), 5);
        // A run that was killed leaves no list of checksums, and a machine that went down may have lost what was not synced.
        std::fs::remove_file(out.join("SHA256SUMS")).unwrap();
        let before = results::open(&out).unwrap();
        lose(&out.join("cells").join(&before.cells[0].entry.folder));
        let resume = ["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--resume", text(&out)];
        let answer = fathom_in(&std::env::temp_dir(), &resume);
        assert_eq!(answer.code, Some(0), "{what}: {}", answer.err);
        assert!(
            answer.err.contains("2 of 4 cells ended well and are kept; 2 run"),
            "{}",
            answer.err
        );
        let after = results::open(&out).unwrap();
        assert_eq!((after.seal.clone(), after.incomplete.clone()), (Seal::Whole, None), "{what}");
    }
}

fn edit(path: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let mut value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, serde_json::to_vec(&value).unwrap()).unwrap();
}

#[test]
fn another_plan_does_not_go_on_with_a_result() {
    let (dir, out) = fresh();
    assert_eq!(run(&out, &["--inject", "fail@1:3"]), 5);
    let shipped = experiment::shipped("vdo-vs-plain").unwrap().text;
    let other = dir.path().join("vdo-vs-plain.toml");
    std::fs::write(&other, format!("{shipped}# changed\n")).unwrap();
    for (experiment, more, message) in [
        (text(&other), &["--repeat", "2"][..], "the experiment file was another one"),
        ("vdo-vs-plain", &["--repeat", "3"], "the number of repeats was 2, and now it is 3"),
        ("vdo-vs-plain", &[], "the number of repeats was 2, and now it is 5"),
        ("vdo-vs-plain", &["--repeat", "2", "--seed", "9"], "the seed was"),
        (
            "vdo-vs-plain",
            &["--repeat", "2", "--only", "vdo"],
            "variants was plain; vdo, and now it is vdo",
        ),
    ] {
        let args = ["run", experiment, "--simulate", "--resume", text(&out)];
        let answer = fathom_in(&std::env::temp_dir(), &[&args[..], more].concat());
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(
            answer.err.contains(message) && answer.err.contains("help:"),
            "{message}: {}",
            answer.err
        );
    }
    // Nothing was touched.
    assert_eq!(results::open(&out).unwrap().seal, Seal::Whole);
    let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--resume"];
    std::fs::write(out.join("cells/00-plain-r1/cell.json"), "{}").unwrap();
    let answer = fathom_in(&std::env::temp_dir(), &[&args[..], &[text(&out)]].concat());
    assert_eq!(answer.code, Some(5), "{}", answer.err);
    assert!(answer.err.contains("cell.json was changed"), "{}", answer.err);
    let nowhere = fathom_in(&std::env::temp_dir(), &[&args[..], &["/nowhere"]].concat());
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.err);
    let both = [&args[..], &[text(&out), "--out", "x"]].concat();
    assert_eq!(fathom_in(&std::env::temp_dir(), &both).code, Some(2));
}

#[test]
fn only_the_named_variants_run_and_unknown_names_are_told_with_those_there_are() {
    let (_dir, out) = fresh();
    assert_eq!(run(&out, &["--only", "vdo"]), 0);
    assert_eq!(states(&out).len(), 2);
    for command in [
        &["explain", "vdo-vs-plain"][..],
        &["lab", "run", "vdo-vs-plain"],
        &["run", "vdo-vs-plain", "--simulate"],
    ] {
        for (option, value, message) in [
            ("--only", "vod", "There are: plain; vdo"),
            ("--scale", "lap", "did you mean 'lab'? There are: lab, full"),
        ] {
            let answer = fathom_in(&std::env::temp_dir(), &[command, &[option, value]].concat());
            assert_eq!(answer.code, Some(2), "{}", answer.err);
            assert!(answer.err.contains(value) && answer.err.contains(message), "{}", answer.err);
        }
    }
}

#[test]
fn explain_shows_factors_the_time_of_each_cell_and_what_a_scale_sets() {
    let explain = |more: &[&str]| {
        let args = [&["explain", "dedupe-cost"][..], more].concat();
        fathom_in(&std::env::temp_dir(), &args).out
    };
    let lab = explain(&["--repeat", "1"]);
    for phrase in [
        "18 cells",
        "factor  dedupe: off, on",
        "factor  duplicates: 0%, 25%, 50%, 75%",
        "order   1 x, drawn anew each time: dedupe off, compression off, duplicates 0%; ",
        "variant dedupe on, compression in vain, duplicates 0%, about 1",
        "as the first variant's",
    ] {
        assert!(lab.contains(phrase), "{phrase}\n{lab}");
    }
    let full = explain(&["--scale", "full"]);
    assert!(full.contains("scale   full sets\n        device.data.size = \"24G\""), "{full}");
}

#[test]
fn a_usual_scale_that_the_experiment_does_not_have_is_told_and_it_runs_as_its_file_has_it() {
    let note = "note: vdo-full has no scale 'full' of its own: sizes are those of its file";
    let explain = |more: &[&str]| {
        fathom_in(&std::env::temp_dir(), &[&["explain", "vdo-full"][..], more].concat())
    };
    let (plain, full) = (explain(&[]), explain(&["--scale", "full"]));
    assert!(full.err.contains(note) && full.code == Some(0), "{}", full.err);
    let cells = |out: &str| out.lines().nth(1).map(str::to_owned);
    assert_eq!(cells(&plain.out), cells(&full.out), "cells and time");
    assert!(!plain.err.contains("scale"), "{}", plain.err);
}

#[test]
fn what_is_expected_of_a_variant_that_did_not_run_is_not_met_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let shipped = experiment::shipped("vdo-vs-plain").unwrap().text;
    let expect = "\n[[expect]]\nmetric = \"iops\"\noperation = \"randwrite\"\nbelow = 1\nof = { variant = \"plain\" }\n\
        [[expect]]\nmetric = \"iops\"\noperation = \"randwrite\"\nabove = 1\n\
        [[reported]]\nwhat = \"a table\"\nunit = \"1/s\"\nmetric = \"iops\"\noperation = \"randwrite\"\n\
        values = [{ value = 3 }, { value = 1, variant = \"vdo\" }]\n";
    let file = dir.path().join("vdo-vs-plain.toml");
    std::fs::write(&file, format!("{shipped}{expect}")).unwrap();
    for (only, outcomes, ran) in [
        (&[][..], ["met", "met"], [true, true]),
        (&["--only", "vdo"], ["not run", "met"], [false, true]),
        (&["--only", "plain"], ["not run", "not run"], [true, false]),
    ] {
        let out = dir.path().join(only.last().unwrap_or(&"all"));
        let args = ["run", text(&file), "--simulate", "--repeat", "2", "--out", text(&out)];
        let strict = fathom_in(dir.path(), &[&args[..], only, &["--strict"]].concat());
        let code = i32::from(outcomes.contains(&"not run"));
        assert_eq!(strict.code, Some(code), "{only:?}: {}\n{}", strict.out, strict.err);
        let shown = fathom_in(dir.path(), &["show", text(&out), "--json", "--strict"]);
        assert_eq!(shown.code, Some(code), "{only:?}");
        let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
        for at in 0..2 {
            assert_eq!(shown["expectations"][at]["outcome"], outcomes[at], "{only:?}: {shown}");
            assert_eq!(shown["expectations"][at]["variant"], "vdo");
            assert_eq!(shown["reported"][0]["values"][at]["ran"], ran[at], "{only:?}");
        }
        assert_eq!(shown["reported"][0]["values"][0]["variant"], "plain");
    }
}
