//! `fathom trend`: results of one experiment, one after another.

use crate::program::{expect, fathom_in, fresh, json, text};

#[test]
fn few_results_are_listed_and_said_to_be_too_few() {
    let (dir, first) = fresh();
    let second = dir.path().join("second");
    for (out, seed) in [(&first, "1"), (&second, "2")] {
        let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "5", "--seed", seed];
        expect(0, &[&args[..], &["--out", text(out)]].concat());
    }
    // Both are in the directory.
    let said = expect(0, &["trend", text(dir.path())]).out;
    assert!(said.contains("IOPS of randwrite, vdo over plain: 2 results"), "{said}");
    assert!(said.contains("too few to say anything: 20 are needed, 18 more"), "{said}");
    assert!(said.contains("simulated, where no figure is real"), "{said}");
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
    let said = expect(0, &["trend", text(dir.path())]).out;
    let why = "short: nothing that it asks rests on 5 repeats or more";
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(why), "{said}");
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
    let said = expect(0, &["compare", text(&first), text(&second)]).out;
    assert!(!said.contains("What else differs"), "{said}");
    let block = said.split_once("IOPS of randwrite\n").unwrap().1;
    let mut lines = block.lines().skip(1);
    for variant in ["plain", "vdo"] {
        let line = lines.next().unwrap();
        assert!(line.trim_start().starts_with(variant) && line.contains("5 + 5 runs"), "{line}");
        // Simulated twins of one experiment do the same.
        assert!(line.contains("1×") || line.contains("0.99") || line.contains("1.0"), "{line}");
    }
    let all = json(&["compare", text(&first), text(&second), "--json"]);
    let rows = all["comparisons"].as_array().unwrap();
    let own = |row: &&serde_json::Value| row["metric"] == "iops" && row["variant"] == "vdo";
    let row = rows.iter().find(own).unwrap();
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
