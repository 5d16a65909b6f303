//! `fathom trend`: results of one experiment, one after another.

use std::io::Write;
use std::process::Stdio;

use crate::program::{command, expect, fathom_in, fresh, json, text};

#[test]
fn few_results_are_listed_and_said_to_be_too_few() {
    let (dir, first) = fresh();
    let second = dir.path().join("second");
    for (out, seed) in [(&first, "1"), (&second, "2")] {
        let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "5", "--seed", seed];
        expect(0, &[&args[..], &["--out", text(out)]].concat());
    }
    // Both are in the directory.
    let output = expect(0, &["trend", text(dir.path())]).out;
    assert!(output.contains("IOPS of randwrite, vdo over plain: 2 results"), "{output}");
    assert!(output.contains("too few to say anything: 20 are needed, 18 more"), "{output}");
    assert!(output.contains("simulated, where no figure is real"), "{output}");
    let all = json(&["trend", text(&first), text(&second), "--json"]);
    let series = &all["series"][0];
    assert_eq!(
        (&series["outcome"], &series["more_results_needed"]),
        (&"too_few".into(), &18.into())
    );
    assert!(series["machine"].as_str().unwrap().starts_with("simulated"), "{series}");
    assert_eq!(series["results"].as_array().unwrap().len(), 2);
    assert!(series["results"][0]["value"].as_f64().unwrap() > 0.0);
    let none = fathom_in(dir.path(), &["trend", "nowhere"]);
    assert_eq!(none.code, Some(2), "{}", none.err);
    // One of too few repeats is named, not passed over.
    let short = dir.path().join("short");
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "3", "--out", text(&short)]);
    let output = expect(0, &["trend", text(dir.path())]).out;
    let why = "short: nothing that it asks rests on 5 repeats or more";
    assert!(output.split_whitespace().collect::<Vec<_>>().join(" ").contains(why), "{output}");
    let help = expect(0, &["trend", "--help"]).out;
    assert!(help.contains("twenty results") && help.contains("last hundred"), "{help}");
    let word = fathom_in(dir.path(), &["trend", text(&first), "--fail-on", "slower"]);
    assert_eq!(word.code, Some(2), "{}", word.err);
}

#[test]
fn two_results_are_held_against_each_other_and_what_else_differs_is_named() {
    let (dir, first) = fresh();
    let second = dir.path().join("second");
    let run = |out: &std::path::Path, seed: &str, more: &[&str]| {
        let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "5", "--seed", seed];
        expect(0, &[&args[..], more, &["--out", text(out)]].concat());
    };
    run(&first, "1", &[]);
    run(&second, "2", &[]);
    let output = expect(0, &["compare", text(&first), text(&second)]).out;
    assert!(!output.contains("What else differs"), "{output}");
    let block = output.split_once("IOPS of randwrite\n").unwrap().1;
    // What a line has no room for stands below it.
    let mut lines = block.lines().skip(1).filter(|line| line.contains(" + "));
    for variant in ["plain", "vdo"] {
        let line = lines.next().unwrap();
        assert!(line.trim_start().starts_with(variant) && line.contains("5 + 5 runs"), "{line}");
        // Simulated twins of one experiment do the same.
        assert!(line.contains("1×") || line.contains("0.99") || line.contains("1.0"), "{line}");
    }
    let all = json(&["compare", text(&first), text(&second), "--json"]);
    let rows = all["comparisons"].as_array().unwrap();
    let is_iops = |row: &&serde_json::Value| row["metric"] == "iops" && row["variant"] == "vdo";
    let row = rows.iter().find(is_iops).unwrap();
    let ratio = row["new"].as_f64().unwrap() / row["base"].as_f64().unwrap();
    assert!((row["ratio"].as_f64().unwrap() / ratio - 1.0).abs() < 0.05, "{row}");
    assert_eq!((&row["n_base"], &row["n_new"]), (&5.into(), &5.into()));
    assert!(
        row["method"].as_str().unwrap().starts_with("ranked"),
        "runs of two results are no pairs: {row}"
    );
    assert!(rows.len() > 20 && rows.iter().any(|row| row["asked"] == false));
    let same = ["compare", text(&first), text(&second), "--fail-on", "same"];
    assert_eq!(fathom_in(dir.path(), &same).code, Some(1));
    let one = fathom_in(dir.path(), &["compare", text(&first), text(&first)]);
    assert_eq!(one.code, Some(2), "{}", one.err);
    std::fs::write(second.join("cells/00-plain-r1/cell.json"), "{}").unwrap();
    let changed = fathom_in(dir.path(), &["compare", text(&first), text(&second)]);
    assert_eq!(changed.code, Some(5), "{}", changed.err);
    assert!(changed.err.contains("was changed"), "{}", changed.err);
}

/// Thirty nightly values of two series; the first one steps down at night 18, and one of its values is missing.
fn nightly() -> String {
    let mut text = "night,IOPS,backlog\n".to_owned();
    for night in 1..=30 {
        let noise = f64::from(night * 7919 % 13) / 13.0 - 0.5;
        let level = if night < 18 { 1000.0 } else { 900.0 };
        let iops = if night == 5 { String::new() } else { (level + 4.0 * noise).to_string() };
        text.push_str(&format!("n{night:02},{iops},{}\n", 2.0 * noise));
    }
    text
}

#[test]
fn series_of_others_are_tested_as_results_are() {
    let (dir, _) = fresh();
    let file = dir.path().join("nightly.csv");
    std::fs::write(&file, nightly()).unwrap();
    let output = expect(0, &["trend", "--csv", text(&file)]).out;
    assert!(output.contains("IOPS: 29 values (line 6 has none)"), "{output}");
    assert!(output.contains("differs: falls by 10 % between n17 and n18"), "{output}");
    assert!(output.contains("backlog: 30 values") && output.contains("stays as it is"), "{output}");
    let all = json(&["trend", "--csv", text(&file), "--json", "--better", "higher"]);
    let [iops, backlog] = &all["series"].as_array().unwrap()[..] else { panic!("{all}") };
    assert_eq!((&all["label"], &iops["name"]), (&"night".into(), &"IOPS".into()));
    assert_eq!((&iops["outcome"], &backlog["outcome"]), (&"changed".into(), &"level".into()));
    let change = &iops["changes"][0];
    assert_eq!((&change["first_after"], &change["verdict"]), (&"n18".into(), &"worse".into()));
    assert!((change["percent"].as_f64().unwrap() + 10.0).abs() < 0.5, "{change}");
    assert_eq!(iops["missing_lines"], serde_json::json!([6]));
    let gate = ["trend", "--csv", text(&file), "--better", "higher", "--fail-on", "worse"];
    expect(1, &gate);
    // A difference below the threshold is not reported as a change.
    let quiet = expect(0, &["trend", "--csv", text(&file), "--threshold", "20%"]).out;
    assert!(!quiet.contains("falls"), "{quiet}");
}

#[test]
fn standard_input_is_read_and_what_is_no_series_is_refused_with_its_line() {
    let (dir, _) = fresh();
    let mut trend = command(&["trend", "--csv", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    trend.stdin.take().unwrap().write_all(b"3\n2\n1\n").unwrap();
    let output = trend.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("standard input") && out.contains("20 are needed, 17 more"), "{out}");
    let cases: [(&str, &[u8], &str); 5] = [
        ("empty.csv", b"", "it holds no values"),
        ("head.csv", b"day,x\n", "it holds no values"),
        ("bad.csv", b"day,x\na,1\nb,fast\n", "line 3: 'fast' is no finite number"),
        ("latin.csv", b"day,x\na,1\nb\xe9,2\n", "line 3 is not UTF-8"),
        ("binary.csv", b"\0\0", "it is not text"),
    ];
    for (name, bytes, message) in cases {
        std::fs::write(dir.path().join(name), bytes).unwrap();
        let answer = fathom_in(dir.path(), &["trend", "--csv", name]);
        assert_eq!(answer.code, Some(5), "{name}: {}", answer.err);
        assert!(answer.err.contains(message) && answer.err.contains("help:"), "{}", answer.err);
    }
    for (args, message) in [
        (&["trend", "--csv", "none.csv"][..], "cannot be read"),
        (&["trend", "--csv", "."], "a directory"),
        (&["trend", "--csv", "/dev/zero"], "a character device"),
        (&["trend", "--csv", "head.csv", "results"], "cannot be used with"),
        (&["trend", "results", "--threshold", "3%"], "cannot be used with"),
    ] {
        let answer = fathom_in(dir.path(), args);
        assert_eq!(answer.code, Some(2), "{args:?}: {}", answer.err);
        assert!(answer.err.contains(message), "{args:?}: {}", answer.err);
    }
}
