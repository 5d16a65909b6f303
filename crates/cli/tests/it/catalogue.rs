//! `fathom catalogue`; one experiment of it runs in a guest.

use crate::lab::shipped_result;
use crate::program::{expect, fresh, json, text};

#[test]
fn without_names_every_shipped_experiment_is_listed_with_its_cells_and_time() {
    let listed = expect(0, &["catalogue"]).out;
    let document = json(&["catalogue", "--json"]);
    let entries = document["experiments"].as_array().unwrap();
    assert_eq!(entries.len(), experiment::SHIPPED.len());
    for (entry, shipped) in entries.iter().zip(experiment::SHIPPED) {
        assert_eq!(entry["name"], shipped.name);
        assert!(listed.contains(shipped.name), "{listed}");
        assert!(listed.contains(entry["about"].as_str().unwrap()), "{listed}");
        let cells =
            entry["repeat"].as_u64().unwrap() * entry["variants"].as_array().unwrap().len() as u64;
        assert_eq!(entry["cells"].as_u64(), Some(cells));
        assert!(entry["about_ns"].as_u64() > Some(0));
    }
    assert!(listed.contains("All take about"), "{listed}");
    let once = json(&["catalogue", "--repeat", "1", "--json"]);
    assert_eq!(once["experiments"][0]["repeat"], 1);
}

#[test]
fn without_a_number_what_takes_at_most_three_minutes_a_repeat_runs_five_times_and_the_rest_once() {
    let repeats = |options: &[&str]| {
        let document = json(&[&["catalogue", "--json"], options].concat());
        let entries = document["experiments"].as_array().unwrap().iter();
        let known = |entry: &serde_json::Value| {
            let about = entry["about_ns"].as_u64().unwrap();
            (entry["repeat"].as_u64().unwrap(), about)
        };
        entries.map(known).collect::<Vec<_>>()
    };
    let (ruled, once) = (repeats(&[]), repeats(&["--repeat", "1"]));
    for ((repeat, _), (_, about)) in ruled.iter().zip(&once) {
        assert_eq!(*repeat, if *about <= 180_000_000_000 { 5 } else { 1 }, "{about}");
    }
    let both = [1, 5].map(|wanted| ruled.iter().any(|(repeat, _)| *repeat == wanted));
    assert_eq!(both, [true, true], "{ruled:?}");
}

#[test]
fn as_many_repeats_as_are_needed_are_taken_where_they_can_be_decided_and_elsewhere_the_own_number()
{
    let document = json(&["catalogue", "--repeat", "auto:12", "--json"]);
    let entries = document["experiments"].as_array().unwrap();
    let repeat = |name: &str| {
        let found = entries.iter().find(|entry| entry["name"] == name).unwrap();
        found["repeat"].as_u64().unwrap()
    };
    assert_eq!(
        (repeat("vdo-vs-plain"), repeat("dedupe-cost")),
        (12, 5),
        "factors have a fixed number"
    );
    let listed = expect(0, &["catalogue", "--repeat", "auto"]).out;
    assert!(listed.contains("auto, at most 27"), "{listed}");
    let few = expect(2, &["catalogue", "vdo-vs-plain", "--repeat", "auto:4", "--out", "x"]);
    assert!(
        few.err.contains("fewer repeats than the 5") && few.err.contains("help:"),
        "{}",
        few.err
    );
    expect(2, &["catalogue", "--repeat", "0"]);
}

#[test]
fn the_file_of_a_shipped_experiment_can_be_had_to_change_it() {
    for shipped in experiment::SHIPPED {
        assert_eq!(
            expect(0, &["catalogue", shipped.name, "--print"]).out.trim_end(),
            shipped.text.trim_end()
        );
    }
    assert!(expect(2, &["catalogue", "all", "--print"]).err.contains("takes one experiment"));
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_runs() {
    let (_dir, out) = fresh();
    let strange = expect(2, &["catalogue", "vdo-vs-plian", "--out", text(&out)]);
    assert!(strange.err.contains("did you mean 'vdo-vs-plain'"), "{}", strange.err);
    let nowhere = expect(2, &["catalogue", "all"]);
    assert!(nowhere.err.contains("--out DIR"), "{}", nowhere.err);
    expect(2, &["catalogue", "--out", text(&out)]);
    let scale = expect(2, &["catalogue", "vdo-vs-plain", "--scale", "huge", "--out", text(&out)]);
    assert!(scale.err.contains("huge"), "{}", scale.err);
    assert!(!out.exists(), "nothing was made");
}

#[test]
fn a_result_of_something_else_is_neither_kept_nor_replaced_and_the_table_is_written() {
    let (_dir, out) = fresh();
    let there = out.join("vdo-vs-plain");
    std::fs::create_dir_all(&out).unwrap();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--out", text(&there)]);
    let once = ["catalogue", "vdo-vs-plain", "--out", text(&out), "--repeat"];
    let other = expect(5, &[&once[..], &["2"]].concat());
    assert!(other.err.contains("repeat = 1, and 2 is asked for"), "{}", other.err);
    let simulated = expect(5, &[&once[..], &["1"]].concat());
    assert!(simulated.err.contains("a simulation"), "{}", simulated.err);
    assert!(simulated.err.contains("vdo-vs-plain: failed"), "{}", simulated.err);
    let table = std::fs::read_to_string(out.join("sources.md")).unwrap();
    assert!(table.contains("## vdo-vs-plain"), "{table}");
    assert!(out.join("index.html").is_file() && there.join("manifest.json").is_file());
    std::fs::write(out.join("sources.md"), "notes of mine").unwrap();
    let mine = expect(4, &[&once[..], &["1"]].concat());
    assert!(mine.err.contains("sources.md"), "{}", mine.err);
}

#[test]
fn what_ran_in_a_guest_is_in_both_pages_and_not_run_again() {
    let Some(result) = shipped_result() else { return };
    let out = result.parent().unwrap();
    let page = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let (sources, index) = (page("sources.md"), page("index.html"));
    assert!(sources.contains("## vdo-vs-plain") && sources.contains("repeats of each variant: 1"));
    assert!(index.contains("vdo-vs-plain"));
    let manifest = || std::fs::read(result.join("manifest.json")).unwrap();
    let before = manifest();
    let again = expect(0, &["catalogue", "vdo-vs-plain", "--repeat", "1", "--out", text(out)]);
    assert!(again.err.contains("vdo-vs-plain: complete already, kept"), "{}", again.err);
    assert_eq!(before, manifest());
}
