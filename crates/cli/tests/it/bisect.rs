//! `fathom bisect` on simulated stacks: what it names, how it ends, how it goes on, and what it refuses.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::program::{Answer, command, expect, fathom_in, fresh, text};

/// An experiment of `n` variants, v1 to vn, of which those from `first` on have a slower stack.
fn list(dir: &Path, n: usize, slow: impl Fn(usize) -> bool) -> PathBuf {
    let mut file = String::from(
        "name = \"list\"\nabout = \"a list\"\nrepeat = 5\n[devices.data]\nsize = \"7G\"\n\
         [[stage]]\ndo = \"load\"\nname = \"w\"\nmeasure = true\nops = { randwrite = 100 }\nduration = \"2s\"\n",
    );
    for at in 1..=n {
        let layer = if slow(at) {
            "layer = \"vdo\"\non = \"data\"\nlogical_size = \"1G\""
        } else {
            "layer = \"linear\"\non = \"data\"\nsize = \"1G\""
        };
        file += &format!("[[variant]]\nname = \"v{at}\"\n[[variant.stack]]\n{layer}\n");
    }
    let path = dir.join("list.toml");
    std::fs::write(&path, file).unwrap();
    path
}

/// The options of a simulated bisection of v1 to v8.
fn hunt<'a>(file: &'a Path, out: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let known = ["bisect", text(file), "--metric", "iops", "--simulate", "--seed", "7"];
    [&known[..], &["--out", text(out)], more].concat()
}

const ENDS: [&str; 4] = ["--good", "v1", "--bad", "v8"];

fn document(answer: &Answer) -> serde_json::Value {
    serde_json::from_str(&answer.out).unwrap_or_else(|e| panic!("{e}: {}", answer.out))
}

#[test]
fn the_first_slow_variant_is_named_with_every_measurement() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 8, |at| at >= 6);
    let answer = expect(0, &hunt(&file, &out, &ENDS));
    assert!(answer.out.contains("v6 is the first that is bad"), "{}", answer.out);
    for said in ["v5", "not measured", "03-v4-1", "the good end beside itself: good"] {
        assert!(answer.out.contains(said), "{said}: {}", answer.out);
    }
    assert!(answer.err.contains("8 candidates, about 5 measurements"), "{}", answer.err);
    // The same command has nothing left to do, and says the same.
    let again = fathom_in(dir.path(), &hunt(&file, &out, &[&ENDS[..], &["--json"]].concat()));
    assert_eq!(again.code, Some(0), "{}", again.err);
    let told = document(&again);
    assert_eq!((told["outcome"].as_str(), told["named"][0].as_str()), (Some("named"), Some("v6")));
    let candidates = told["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 8);
    let word = |at: usize| candidates[at - 1]["step"]["word"].as_str();
    assert_eq!((word(4), word(5), word(6)), (Some("good"), Some("good"), Some("bad")));
    assert_eq!(word(2), None);
    let pairs = candidates[3]["step"]["pairs"].as_array().unwrap();
    assert!(pairs.len() >= 5 && pairs.iter().all(|pair| pair[0].as_f64().unwrap() > 0.0));
    // Each is a result like any other.
    let result = candidates[3]["step"]["results"][0].as_str().unwrap();
    expect(0, &["show", result]);
}

#[test]
fn the_mend_is_named_where_it_is_hunted() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 8, |at| at < 4);
    let ends = ["--good", "v8", "--bad", "v1", "--fixed"];
    let answer = expect(0, &hunt(&file, &out, &ends));
    assert!(answer.out.contains("v4 is the first that is good again"), "{}", answer.out);
}

#[test]
fn ends_that_do_not_differ_have_an_exit_code_of_their_own() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 4, |_| false);
    let answer = expect(7, &hunt(&file, &out, &["--good", "v1", "--bad", "v4"]));
    assert!(answer.out.contains("nothing to bisect"), "{}", answer.out);
    let (dir, out) = fresh();
    let file = list(dir.path(), 4, |at| at < 3);
    let answer = expect(7, &hunt(&file, &out, &["--good", "v1", "--bad", "v4"]));
    assert!(answer.out.contains("better than the good one"), "{}", answer.out);
}

#[test]
fn a_bisection_that_was_killed_goes_on_with_the_same_command_and_no_other() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 8, |at| at >= 6);
    let slowed = hunt(&file, &out, &[&ENDS[..], &["--pace", "0.01"]].concat());
    let mut child = command(&slowed).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // In the midst of a result of the second measurement.
    let began = Instant::now();
    while !out.join("02-itself-1/cells").exists() {
        assert!(began.elapsed() < Duration::from_secs(120), "the second measurement never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    let other = fathom_in(dir.path(), &hunt(&file, &out, &["--good", "v2", "--bad", "v8"]));
    assert_eq!(other.code, Some(2), "{}", other.err);
    assert!(other.err.contains("a bisection of another list"), "{}", other.err);
    let answer = expect(0, &hunt(&file, &out, &ENDS));
    assert!(answer.err.contains("1 results of an earlier call are kept"), "{}", answer.err);
    assert!(answer.out.contains("v6 is the first that is bad"), "{}", answer.out);
    let ends = std::fs::read_dir(&out).unwrap().flatten();
    let ends = ends.filter(|e| e.file_name().to_string_lossy().starts_with("01-ends"));
    assert_eq!(ends.count(), 1, "what was measured is kept");
}

#[test]
fn an_interrupt_ends_it_with_what_is_known() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 8, |at| at >= 6);
    let slowed = hunt(&file, &out, &[&ENDS[..], &["--pace", "0.01", "--json"]].concat());
    let child = command(&slowed).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !out.join("02-itself-1/cells").exists() {
        assert!(began.elapsed() < Duration::from_secs(120), "the second measurement never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["outcome"], &told["ends"]["word"]), (&"open".into(), &"bad".into()));
    expect(0, &hunt(&file, &out, &ENDS));
}

#[test]
fn what_cannot_be_bisected_is_refused_with_a_remedy_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let file = list(dir.path(), 8, |at| at >= 6);
    let file = text(&file);
    let simulated = ["bisect", file, "--simulate", "--out", "nowhere"];
    let iops = |more: &[&'static str]| [&simulated[..], &["--metric", "iops"], more].concat();
    for (args, phrases) in [
        (
            iops(&["--good", "v0", "--bad", "v8"]),
            &["The list has no 'v0'", "There are: v1; v2"][..],
        ),
        (iops(&["--good", "v1", "--bad", "v1"]), &["both name 'v1'"]),
        (iops(&["--good", "v8", "--bad", "v1"]), &["stands before", "--fixed"]),
        (
            iops(&["--good", "v1", "--bad", "v8", "--fixed"]),
            &["stands before", "leave --fixed out"],
        ),
        (iops(&["--good", "v1", "--bad", "v8", "--repeat", "1"]), &["5..=27"]),
        (iops(&["--good", "v1", "--bad", "v8", "--stage", "x"]), &["'x'"]),
        (iops(&["--good", "v1", "--bad", "v8", "--only", "v9"]), &["no variant 'v9'"]),
        (iops(&["--good", "v1"]), &["--bad"]),
        (
            [&simulated[..], &["--metric", "iopss"], &ENDS].concat(),
            &["iopss", "did you mean 'iops'"],
        ),
        (
            [&["bisect", file, "--metric", "iops"], &ENDS[..]].concat(),
            &["Nothing says where to measure", "--lab"],
        ),
        (
            [&["bisect", file, "--metric", "iops", "--kernels", "6.12"], &ENDS[..]].concat(),
            &["--kernels names one kernel"],
        ),
    ] {
        let answer = fathom_in(dir.path(), &args);
        assert_eq!(answer.code, Some(2), "{args:?}: {}", answer.err);
        for phrase in phrases {
            assert!(answer.err.contains(phrase), "{args:?}: '{phrase}' is not in {}", answer.err);
        }
        assert!(!dir.path().join("nowhere").exists(), "{args:?}");
    }
    // A directory of something else stays as it is.
    std::fs::create_dir(dir.path().join("other")).unwrap();
    std::fs::write(dir.path().join("other/notes"), "mine").unwrap();
    let other = ["bisect", file, "--simulate", "--metric", "iops", "--out", "other"];
    let answer = fathom_in(dir.path(), &[&other[..], &ENDS].concat());
    assert_eq!(answer.code, Some(4), "{}", answer.err);
}

#[test]
fn a_step_answers_git_with_its_exit_code_and_no_error_is_taken_for_a_bad_commit() {
    let dir = tempfile::tempdir().unwrap();
    let file = list(dir.path(), 4, |at| at >= 3);
    let file = text(&file);
    let step = |candidate: &str, more: &[&str]| {
        let known = ["bisect", "step", file, "--metric", "iops", "--simulate", "--good", "v1"];
        let args = [&known[..], &["--candidate", candidate, "--out", "steps"], more].concat();
        fathom_in(dir.path(), &args)
    };
    let code = |answer: Answer, code: i32| {
        assert_eq!(answer.code, Some(code), "{}\n{}", answer.out, answer.err);
        answer
    };
    code(step("v2", &["--worse-by", "15%"]), 0);
    let bad = code(step("v4", &["--worse-by", "15%", "--json"]), 1);
    assert_eq!(document(&bad)["word"], "bad");
    assert!(
        dir.path().join("steps/step-001-1").is_dir()
            && dir.path().join("steps/step-002-1").is_dir()
    );
    code(step("v9", &["--worse-by", "15%"]), 128);
    code(step("v1", &["--worse-by", "15%"]), 128);
    code(step("v2", &["--worse-by", "100%"]), 128);
    code(step("v2", &["--worse-by", "much"]), 128);
    code(step("v2", &[]), 128);
    code(step("v2", &["--worse-by", "15%", "--out"]), 128);
    assert_eq!(fathom_in(dir.path(), &["bisect", "step", "--help"]).code, Some(0));
}
