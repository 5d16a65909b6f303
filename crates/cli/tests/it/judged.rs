//! Gates, expectations and bisections judge what they can, and say where there is nothing to judge.

use std::path::{Path, PathBuf};

use crate::program::{expect, fathom_in, fresh, json, text};

/// An experiment of three variants that differ in depth; `more` follows its stage of so many I/Os.
fn three(dir: &Path, ios: u32, more: &str) -> PathBuf {
    let file = format!(
        "name = \"three\"\nabout = \"three depths\"\nrepeat = 5\n[devices.data]\nsize = \"7G\"\n\
         [[stack]]\nlayer = \"linear\"\non = \"data\"\nsize = \"1G\"\n\
         [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nset.\"r.depth\" = 2\n[[variant]]\nname = \"c\"\nset.\"r.depth\" = 3\n\
         [[stage]]\ndo = \"load\"\nname = \"r\"\nmeasure = true\nops = {{ randwrite = 100 }}\nios = {ios}\n{more}"
    );
    let path = dir.join("three.toml");
    std::fs::write(&path, file).unwrap();
    path
}

const ASKED: &str = "[[question]]\nmetric = \"iops\"\noperation = \"randwrite\"\n";

#[test]
fn gates_that_have_nothing_to_judge_are_refused_as_compare_refuses_them() {
    let (dir, out) = fresh();
    let file = three(dir.path(), 2000, ASKED);
    let run = ["run", text(&file), "--simulate", "--out", text(&out), "--only", "b"];
    let gates = ["--strict", "--fail-on", "worse,unclear"];
    let phrase = "--fail-on has nothing to judge";
    let alone = expect(5, &[&run[..], &gates].concat());
    assert!(alone.err.contains(phrase), "{}", alone.err);
    assert!(alone.out.contains("IOPS"), "what was measured is shown: {}", alone.out);
    assert!(expect(5, &["show", text(&out), "--fail-on", "worse"]).err.contains(phrase));
    // That what is asked is there is a thing to judge.
    expect(0, &["show", text(&out), "--strict"]);
    expect(0, &["show", text(&out)]);
    let nothing = three(dir.path(), 2000, "");
    let out = dir.path().join("nothing");
    let strict = ["run", text(&nothing), "--simulate", "--strict", "--out", text(&out)];
    assert!(expect(5, &strict).err.contains("--strict has nothing to judge"));
    let expected = three(dir.path(), 2000, "[[expect]]\nmetric = \"iops\"\nabove = 1\n");
    let out = dir.path().join("expected");
    expect(
        0,
        &[
            "run",
            text(&expected),
            "--simulate",
            "--strict",
            "--fail-on",
            "worse",
            "--out",
            text(&out),
        ],
    );
    expect(5, &["show", text(&out), "--fail-on", "worse"]);
}

#[test]
fn a_variant_that_only_one_of_two_results_has_passes_no_gate() {
    let (dir, whole) = fresh();
    let file = three(dir.path(), 2000, ASKED);
    let part = dir.path().join("part");
    let run = ["run", text(&file), "--simulate", "--out"];
    expect(0, &[&run[..], &[text(&whole)]].concat());
    expect(0, &[&run[..], &[text(&part), "--only", "a"]].concat());
    let compare = ["compare", text(&whole), text(&part)];
    expect(0, &compare);
    let gated = expect(5, &[&compare[..], &["--fail-on", "worse"]].concat());
    assert!(gated.err.contains("has b, c: --fail-on judged nothing of it"), "{}", gated.err);
}

#[test]
fn another_base_than_the_first_of_the_file_is_told() {
    let (dir, out) = fresh();
    let file = three(dir.path(), 2000, ASKED);
    let run = ["run", text(&file), "--simulate", "--repeat", "1"];
    let why = "b, since a, the first variant of the file, is left out";
    let notes = |only: &[&str], out: &Path| {
        let answer = expect(0, &[&run[..], only, &["--out", text(out)]].concat());
        let shown = expect(0, &["show", text(out)]).out;
        let page = dir.path().join("page.html");
        expect(0, &["report", text(out), "-o", text(&page)]);
        let page = std::fs::read_to_string(page).unwrap();
        let shown = shown.contains(&format!("Compared with {why}."));
        [answer.err.contains(&format!("compared with {why}")), shown, page.contains(why)]
    };
    assert_eq!(notes(&["--only", "b", "--only", "c"], &out), [true; 3]);
    for (place, only) in [&[][..], &["--only", "a,c"], &["--only", "c"]].into_iter().enumerate() {
        assert_eq!(notes(only, &dir.path().join(place.to_string())), [false; 3], "{only:?}");
    }
}

#[test]
fn a_percentile_of_twenty_ios_meets_no_expectation_and_bisects_nothing() {
    let (dir, out) = fresh();
    let expect_of = |metric: &str, bound: &str| {
        format!("[[expect]]\nmetric = \"{metric}\"\noperation = \"randwrite\"\n{bound}\n")
    };
    let all = [
        expect_of("latency_p999_ns", "below = 1e18"),
        expect_of("latency_p99_ns", "above = 1e-9\nof = { variant = \"a\" }"),
        expect_of("errors", "below = 1"),
    ];
    let file = three(dir.path(), 20, &all.concat());
    let run = ["run", text(&file), "--simulate", "--out", text(&out)];
    let answer = expect(1, &[&run[..], &["--strict"]].concat());
    let words = answer.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("unclear p99.9 latency of randwrite, c: expected below"), "{words}");
    let why = "a run did 20 I/Os, and fewer than 10 of them lie beyond this percentile";
    assert!(words.contains(why), "{words}");
    let shown = json(&["show", text(&out), "--json"]);
    let held = |at: usize| {
        let held = &shown["expectations"][at];
        (held["outcome"].as_str().unwrap(), held["few_ios"].as_u64())
    };
    assert_eq!([held(0), held(1)], [("unclear", Some(20)); 2]);
    assert_eq!(held(2), ("met", None));
    let hunt = dir.path().join("hunt");
    let bisect = ["bisect", text(&file), "--metric", "latency_p99_ns", "--simulate", "--good", "a"];
    let hunted =
        fathom_in(dir.path(), &[&bisect[..], &["--bad", "c", "--out", text(&hunt)]].concat());
    assert_eq!(hunted.code, Some(5), "{}", hunted.err);
    assert!(hunted.err.contains("rests on too few I/Os: a run did 20"), "{}", hunted.err);
}
