//! The whole program on simulated twins, in virtual time, without root.

use crate::program::{expect, fathom_in, fresh, json, text};

#[test]
fn a_simulated_run_ends_complete_and_says_what_it_is() {
    let (_dir, out) = fresh();
    let answer =
        expect(0, &["run", "vdo-vs-plain", "--simulate", "--seed", "7", "--out", text(&out)]);
    assert!(answer.out.contains("simulated"), "{}", answer.out);
    let shown = json(&["show", text(&out), "--json"]);
    assert_eq!(shown["experiment"], "vdo-vs-plain");
    assert_eq!(shown["accelerator"], "none");
    assert_eq!(shown["complete"], true);
    let variants = shown["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 2);
    for variant in variants {
        assert_eq!(variant["repeats"], 5);
        let iops = &variant["operations"]["randwrite"]["iops"];
        assert!(iops["low"].as_f64() <= iops["median"].as_f64(), "{iops}");
        assert_eq!(iops["n"], 5);
    }
    // 262,144 blocks, half of them duplicates, two compressed ones in a block.
    let vdo = &variants[1]["layers"]["vdo"];
    let used = vdo["data_blocks_used"]["median"].as_f64().unwrap();
    assert!((used / 65_536.0 - 1.0).abs() < 0.02, "{used}");
    let findings = shown["findings"].to_string();
    assert!(findings.contains("simulated"), "{findings}");
}

#[test]
fn a_simulated_run_that_overwrites_shows_no_figure_that_cannot_be() {
    let (dir, out) = fresh();
    let path = dir.path().join("over.toml");
    for (pattern, end, most) in
        [("permutation", "passes = 5", 262_144.0), ("zipf:1.1", "bytes = \"2G\"", 262_000.0)]
    {
        let shipped = experiment::shipped("vdo-vs-plain").unwrap().text;
        let over = shipped.replace("permutation", pattern).replace("passes = 1", end);
        std::fs::write(&path, over).unwrap();
        let _ = std::fs::remove_dir_all(&out);
        expect(0, &["run", text(&path), "--simulate", "--repeat", "1", "--out", text(&out)]);
        let shown = json(&["show", text(&out), "--json"]);
        let vdo = &shown["variants"][1]["layers"]["vdo"];
        let figure = |id: &str| vdo[id]["median"].as_f64().unwrap();
        assert!((figure("saving_percent") - 75.0).abs() < 1.0, "{pattern}: {vdo:#}");
        assert!(figure("logical_blocks_used") <= most, "{pattern}: {vdo:#}");
    }
}

#[test]
fn a_simulated_run_goes_through_no_page_cache() {
    let (_dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--out", text(&out)]);
    let findings = json(&["doctor", text(&out), "--json"]).to_string();
    assert!(!findings.contains("page_cache"), "{findings}");
}

/// An experiment on a bare device with a load at this pace.
fn paced(pace: &str) -> String {
    format!(
        "name = \"paced\"\nabout = \"x\"\nrepeat = 2\n[devices.data]\nsize = \"1G\"\n[[stack]]\nlayer = \"linear\"\non = \"data\"\n\
         [[stage]]\ndo = \"load\"\nname = \"rare\"\nmeasure = true\nops = {{ randread = 100 }}\nduration = \"2s\"\n{pace}\n"
    )
}

#[test]
fn a_run_whose_load_measured_nothing_says_so_with_the_exit_code_of_such_a_load() {
    let (dir, out) = fresh();
    let path = dir.path().join("paced.toml");
    std::fs::write(&path, paced("rate = \"0.001/s\"\narrival = \"poisson\"")).unwrap();
    let run = ["run", text(&path), "--simulate", "--seed", "1", "--json", "--out", text(&out)];
    let answer = expect(5, &run);
    let phrase = "Nothing was measured by stage 'rare' of variant 'default', repeat 1, 2";
    assert!(answer.err.replace('\n', " ").contains(phrase), "{}", answer.err);
    let ended = answer.out.lines().last().unwrap_or_default();
    assert!(ended.contains("\"exit_code\":5"), "{ended}");
    std::fs::remove_dir_all(&out).unwrap();
    std::fs::write(&path, paced("rate = \"100/s\"")).unwrap();
    expect(0, &run);
}

#[test]
fn a_pace_at_which_nothing_could_be_measured_is_refused_at_its_key() {
    let (dir, _) = fresh();
    let path = dir.path().join("paced.toml");
    for pace in ["think = \"2s\"", "rate = \"0.4/s\"", "limit = \"0.1/s\""] {
        std::fs::write(&path, paced(&format!("ramp = \"1s\"\n{pace}"))).unwrap();
        let answer = expect(2, &["explain", text(&path)]);
        assert!(answer.err.contains(":16:1") && answer.err.contains(pace), "{}", answer.err);
        assert!(answer.err.contains("make duration longer"), "{}", answer.err);
    }
}

#[test]
fn a_mistake_of_the_command_line_is_told_as_its_option() {
    let set = ["explain", "vdo-vs-plain", "--set", "vdo.nokey=3"];
    let answer = expect(2, &set);
    assert!(answer.err.contains("--> --set vdo.nokey=3"), "{}", answer.err);
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let run = |seed: &str| {
        let (_dir, out) = fresh();
        expect(
            0,
            &[
                "run",
                "vdo-vs-plain",
                "--simulate",
                "--repeat",
                "1",
                "--seed",
                seed,
                "--out",
                text(&out),
            ],
        );
        json(&["show", text(&out), "--json"])["variants"].clone()
    };
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}

/// A seed that draws the plain disk first and VDO second.
const PLAIN_FIRST: &str = "8";

/// Steps, waits and stages of a cell of the larger stack; beyond these an injection never comes.
fn positions() -> usize {
    let (_dir, out) = fresh();
    let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--seed", PLAIN_FIRST];
    expect(0, &[&args[..], &["--out", text(&out)]].concat());
    let result = results::open(&out).unwrap();
    let record = result.cells[1].record.as_ref().unwrap();
    record.steps.iter().filter(|s| !s.undo).count() + record.stages.len()
}

#[test]
fn a_run_that_fails_or_is_interrupted_at_any_step_leaves_nothing_behind() {
    let positions = positions();
    assert!(positions > 8, "{positions}");
    for (fault, code, state) in [("fail", 5, "failed"), ("interrupt", 130, "interrupted")] {
        for position in 0..positions {
            let (_dir, out) = fresh();
            let fault = format!("{fault}@1:{position}");
            let args = [
                "run",
                "vdo-vs-plain",
                "--simulate",
                "--repeat",
                "1",
                "--seed",
                PLAIN_FIRST,
                "--inject",
                &fault,
                "--out",
                text(&out),
            ];
            expect(code, &args);
            let result = results::open(&out).unwrap();
            let record = result.cells[1].record.as_ref().unwrap();
            assert_eq!(format!("{:?}", record.state).to_lowercase(), state, "{fault}");
            assert_eq!(record.leftovers, Some(Vec::new()), "{fault}");
            assert_eq!(format!("{:?}", result.cells[0].state()), "Done", "{fault}");
        }
    }
}

#[test]
fn explain_prints_the_commands_that_a_run_executes_and_touches_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let explained = fathom_in(dir.path(), &["explain", "vdo-vs-plain", "--json"]);
    assert_eq!(explained.code, Some(0), "{}", explained.err);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    let explained: serde_json::Value = serde_json::from_str(&explained.out).unwrap();
    let (_dir, out) = fresh();
    let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--seed", PLAIN_FIRST];
    expect(0, &[&args[..], &["--out", text(&out)]].concat());
    let record = results::open(&out).unwrap().cells[1].record.clone().unwrap();
    let executed: Vec<_> = record.steps.iter().filter(|s| !s.undo).map(|s| &s.command).collect();
    let program = |line: &str| line.split(' ').next().unwrap().to_owned();
    for (planned, executed) in
        explained["variants"][1]["up"].as_array().unwrap().iter().zip(&executed)
    {
        assert_eq!(program(planned.as_str().unwrap()), program(executed));
    }
}

#[test]
fn a_run_is_sealed_when_it_ends_and_a_changed_digit_is_said_by_everyone() {
    let (dir, out) = fresh();
    let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--seed", PLAIN_FIRST];
    expect(0, &[&args[..], &["--out", text(&out)]].concat());
    assert_eq!(json(&["show", text(&out), "--json"])["seal"], "whole");
    let cell = out.join("cells/00-plain-r1/cell.json");
    let record = std::fs::read_to_string(&cell).unwrap();
    let at = record.rfind("\"p99_ns\": ").unwrap() + 10;
    let digit = if &record[at..=at] == "9" { "8" } else { "9" };
    std::fs::write(&cell, format!("{}{digit}{}", &record[..at], &record[at + 1..])).unwrap();
    let phrase = "cells/00-plain-r1/cell.json was changed";
    let shown = expect(5, &["show", text(&out)]).out;
    assert!(
        shown.starts_with("Not as the run left it: cells/00-plain-r1/cell.json was"),
        "{shown}"
    );
    let findings = expect(5, &["doctor", text(&out)]).out;
    assert!(findings.contains(phrase) && findings.contains("by its own histogram"), "{findings}");
    let page = dir.path().join("page.html");
    expect(5, &["report", text(&out), "-o", text(&page)]);
    assert!(std::fs::read_to_string(&page).unwrap().contains(phrase));
    std::fs::remove_file(out.join("SHA256SUMS")).unwrap();
    assert!(expect(0, &["show", text(&out)]).out.contains("not sealed"));
}

#[test]
fn a_run_for_programs_tells_its_events_line_by_line_and_how_it_ended() {
    let (_dir, out) = fresh();
    let args =
        ["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--json", "--out", text(&out)];
    let answer = expect(0, &args);
    let lines: Vec<serde_json::Value> =
        answer.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    assert_eq!((count("cell_started"), count("cell_ended")), (2, 2));
    assert!(count("progress") > 4 && count("step") > 8);
    let last = lines.last().unwrap();
    assert_eq!((&last["event"], &last["outcome"]), (&"ended".into(), &"complete".into()));
    assert_eq!(last["result"], text(&out));
    assert!(answer.err.contains("IOPS"), "people read the table on standard error");
}

#[test]
fn a_missed_expectation_and_a_verdict_that_was_named_end_with_1_where_that_is_asked() {
    let (dir, out) = fresh();
    let path = dir.path().join("gates.toml");
    let shipped = experiment::shipped("vdo-vs-plain").unwrap().text;
    let missed = "\n[[expect]]\nmetric = \"iops\"\noperation = \"randwrite\"\nabove = 1e12\n";
    std::fs::write(&path, format!("{shipped}{missed}")).unwrap();
    let run = ["run", text(&path), "--simulate", "--seed", "7", "--out", text(&out)];
    expect(1, &[&run[..], &["--strict"]].concat());
    let shown = json(&["show", text(&out), "--json"]);
    let verdict = shown["comparisons"][0]["verdict"].as_str().unwrap().to_owned();
    let words = ["better", "worse", "same", "unclear"];
    let others = words.into_iter().filter(|word| *word != verdict).collect::<Vec<_>>();
    expect(0, &["show", text(&out)]);
    expect(1, &["show", text(&out), "--strict"]);
    expect(1, &["show", text(&out), "--fail-on", &format!("{},{verdict}", others[0])]);
    let all: Vec<_> = shown["comparisons"].as_array().unwrap().iter().collect();
    let alike = all.iter().all(|c| c["verdict"].is_null() || c["verdict"] == *verdict);
    let code = i32::from(!alike);
    expect(code, &["show", text(&out), "--fail-on", &others.join(",")]);
    let wrong = expect(2, &["show", text(&out), "--fail-on", "bad"]);
    assert!(
        wrong.err.contains("there are: better, worse, same, differs, unclear"),
        "{}",
        wrong.err
    );
}
