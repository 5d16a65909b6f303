//! `fathom doctor`: rules, plans, results, and what real VDO makes them say.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::ready;
use crate::program::{expect, fresh, json, text};

/// The ids of findings.
fn ids(findings: &Value) -> Vec<&str> {
    findings.as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect()
}

/// An experiment file with these stages on a VDO volume.
fn experiment(dir: &Path, settings: &str, stages: &str) -> PathBuf {
    let path = dir.join("made.toml");
    let text = format!(
        r#"
name = "made"
about = "Made to be looked at"
repeat = 1
[devices.data]
size = "7G"
[[stack]]
layer = "vdo"
on = "data"
logical_size = "1G"
{settings}
{stages}
"#
    );
    std::fs::write(&path, text).unwrap();
    path
}

const FLUSHED: &str = r#"
[[stage]]
do = "load"
name = "flushed"
measure = true
ops = { randwrite = 100 }
pattern = "permutation"
bytes = "4M"
sync = "fsync"
content = { dedupe = "0%", compress = "2.5x" }
[[question]]
metric = "iops"
stage = "flushed"
operation = "randwrite"
"#;

const DEEP: &str = r#"
[[stage]]
do = "load"
name = "deep"
measure = true
ops = { randwrite = 100 }
pattern = "permutation"
bytes = "64M"
jobs = 2
depth = 1536
content = { dedupe = "0%", compress = "2.5x", zero = "30%" }
[[question]]
metric = "iops"
operation = "randwrite"
stage = "deep"
"#;

#[test]
fn every_rule_is_listed_with_what_it_reads_and_where_it_comes_from() {
    let rules = json(&["doctor", "--rules", "--json"]);
    let rules = rules.as_array().unwrap();
    assert!(rules.len() > 50, "{}", rules.len());
    let misses = rules.iter().find(|rule| rule["id"] == "block_map_misses").unwrap();
    assert_eq!((&misses["layer"], &misses["when"]), (&"vdo".into(), &"after".into()));
    assert_eq!(misses["threshold"]["text"], "above 5 %");
    let shown = expect(0, &["doctor", "--rules"]).out;
    assert!(shown.contains("vdo, before a run") && shown.contains("thesis 5.3"), "{shown}");
}

#[test]
fn a_plan_is_looked_at_before_it_runs_by_name_and_by_file() {
    let shown = expect(0, &["doctor", "vdo-vs-plain"]).out;
    assert!(shown.starts_with("Nothing found"), "{shown}");
    let (dir, _) = fresh();
    let path = experiment(dir.path(), "", &[FLUSHED, DEEP].concat());
    let found = json(&["doctor", text(&path), "--json"]);
    let ids = ids(&found);
    for rule in ["no_allocate", "content_doubtful", "depth_beyond_pool"] {
        assert!(ids.contains(&rule), "{found:#}");
    }
    let deep = found.as_array().unwrap().iter().find(|f| f["rule"] == "depth_beyond_pool").unwrap();
    assert_eq!(deep["figures"][0]["value"], 3072.0);
    assert_eq!(deep["figures"][0]["threshold"], 2048.0);
}

#[test]
fn what_is_neither_result_nor_experiment_is_told_apart() {
    let near = expect(2, &["doctor", "vdo-vs-plan"]).err;
    assert!(near.contains("did you mean 'vdo-vs-plain'"), "{near}");
    let lost = expect(2, &["doctor", "lost.toml"]).err;
    assert!(lost.contains("Cannot read experiment file lost.toml"), "{lost}");
    let (dir, out) = fresh();
    let none = expect(2, &["doctor", text(&out)]).err;
    assert!(none.contains("There is no result at"), "{none}");
    let path = experiment(dir.path(), "", DEEP);
    let early = expect(2, &["doctor", text(&path), "--prove"]).err;
    assert!(early.contains("only what a result shows can be proved"), "{early}");
}

#[test]
fn only_a_rule_that_found_something_can_be_put_to_the_test() {
    let (dir, out) = fresh();
    let path = experiment(dir.path(), "", &["[[stage]]\ndo = \"allocate\"", DEEP].concat());
    expect(0, &["run", text(&path), "--simulate", "--out", text(&out)]);
    let unknown = expect(2, &["doctor", text(&out), "--prove", "no_such", "--lab"]).err;
    assert!(unknown.contains("There is no rule 'no_such'"), "{unknown}");
    let silent = expect(2, &["doctor", text(&out), "--prove", "cache_small", "--lab"]).err;
    assert!(silent.contains("Rule 'cache_small' found nothing"), "{silent}");
}

/// One boot provokes rules on the real layer: nothing allocated, a flush for each write, more in flight than VDO takes, and zeros.
#[test]
fn real_vdo_makes_rules_fire() {
    let Some(_turn) = ready("real_vdo_makes_rules_fire") else { return };
    let (dir, out) = fresh();
    let path = experiment(dir.path(), "", &[FLUSHED, DEEP].concat());
    expect(0, &["lab", "run", text(&path), "--out", text(&out)]);
    let found = json(&["doctor", text(&out), "--json"]);
    let ids = ids(&found);
    for rule in ["map_unallocated", "flush_rate", "packer_idle", "pool_full", "saving_of_zeros"] {
        assert!(ids.contains(&rule), "{rule}: {found:#}");
    }
    let finding =
        |rule: &str| found.as_array().unwrap().iter().find(|f| f["rule"] == rule).unwrap();
    let figure = |rule: &str| finding(rule)["figures"][0]["value"].as_f64().unwrap();
    let rate = figure("flush_rate");
    assert!((rate - 100.0).abs() < 5.0, "one fsync a write: {rate}");
    // How much is still packed hangs on how fast the guest is; most is not.
    assert!(figure("packer_idle") < 30.0, "{:#}", finding("packer_idle"));
    assert_eq!(finding("packer_idle")["changes"][0]["key"], "flushed.sync");
    let range = &finding("packer_idle")["range"];
    assert!(range["end_ns"].as_u64() > range["start_ns"].as_u64(), "{range}");
    a_suspicion_is_put_to_the_test_and_confirmed_twice_or_refuted(dir.path(), &out);
}

/// On simulated layers each flush takes its time, and more in flight than are served gives nothing.
fn a_suspicion_is_put_to_the_test_and_confirmed_twice_or_refuted(dir: &Path, out: &Path) {
    let homeless = expect(2, &["doctor", text(out), "--prove", "packer_idle"]).err;
    assert!(homeless.contains("help: add --lab"), "{homeless}");
    let plain = expect(0, &["doctor", text(out)]).out;
    let phrase =
        "  in the [[variant]] of the experiment that is to have it:\n    set.\"flushed.sync\" = ";
    assert!(plain.contains(phrase), "{plain}");
    let proof = |rule: &str| {
        let proofs = dir.join(rule);
        let args = ["--prove", rule, "--simulate", "--json", "--out", text(&proofs)];
        let answer = expect(0, &[&["doctor", text(out)], &args[..]].concat());
        let first = answer.err.lines().next().unwrap_or_default();
        assert!(first.contains("1 limit to prove, in 10 cells: about "), "{}", answer.err);
        let found: Value = serde_json::from_str(&answer.out).unwrap();
        let all = found.as_array().unwrap();
        all.iter().find(|finding| finding["rule"] == rule).unwrap()["proof"].clone()
    };
    let (fewer, less) = (proof("packer_idle"), proof("pool_full"));
    assert_eq!((&fewer["outcome"], &less["outcome"]), (&"confirmed".into(), &"refuted".into()));
    let rounds = |proof: &Value| proof["rounds"].as_array().unwrap().clone();
    assert_eq!((rounds(&fewer).len(), rounds(&less).len()), (2, 1), "{fewer:#} {less:#}");
    assert_ne!(fewer["rounds"][0]["seed"], fewer["rounds"][1]["seed"]);
    assert_eq!(fewer["rounds"][0]["repeats"], 5);
    let tried = results::open(&dir.join("packer_idle/packer_idle-1")).unwrap();
    assert_eq!(tried.manifest.plan.variants.len(), 2);
    assert_ne!(tried.manifest.seed, results::open(out).unwrap().manifest.seed);
}
