//! Options that would change nothing where they stand: refused, or said.

use std::fs;

use crate::program::{expect, fathom_in, fresh, text};

#[test]
fn options_that_have_no_effect_where_they_stand_are_refused() {
    let (dir, result) = fresh();
    let tree = text(dir.path());
    fs::write(dir.path().join("data"), [7; 8192]).unwrap();
    let file = dir.path().join("data");
    let file = text(&file);
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--out", text(&result)]);
    let sizing = ["estimate", "--size", "1T", "--saving", "50%"];
    let refused: &[(&[&str], &str)] = &[
        (&["estimate", "--saving", "60%", tree], "--saving"),
        (&[&sizing[..], &["--exact"]].concat(), "--exact"),
        (&[&sizing[..], &["--memory", "2G"]].concat(), "--memory"),
        (&[&sizing[..], &["--forgotten", "2G"]].concat(), "--forgotten"),
        (&["estimate", "--format", "qcow2", tree], "is a directory"),
        (&["estimate", "--format", "qcow2", file, tree], "is a directory"),
        (&["estimate", "--format", "raw", tree], "is a directory"),
        (&["estimate", "--one-file-system=no", file], "no directory"),
        (&["explain", "--json"], "EXPERIMENT"),
        (&["explain", "--repeat", "3"], "EXPERIMENT"),
        (&["doctor", "--all"], "SUBJECT"),
        (&["doctor", "--rules", "--prove", "pool_full"], "--rules"),
        (&["doctor", "--rules", "--scale", "lab"], "--rules"),
        (&["doctor", "vdo-vs-plain", "--all"], "--all is for results"),
        (&["doctor", text(&result), "--scale", "lab"], "--scale is for experiments"),
        (&["run", "vdo-vs-plain", "--simulate", "--device", "data=/dev/none"], "--simulate"),
    ];
    for (args, message) in refused {
        let err = expect(2, args).err;
        assert!(err.contains(message), "{args:?}: '{message}' is not in\n{err}");
    }
    for args in [
        &["estimate", "--format", "raw", file, tree][..],
        &["estimate", "--one-file-system=no", tree],
    ] {
        expect(0, args);
    }
}

#[test]
fn a_log_of_ios_has_no_options_of_results() {
    let dir = tempfile::tempdir().unwrap();
    let load = ["load", "null", "--size", "1M", "--ios", "4", "--io-log", "ios"];
    assert_eq!(fathom_in(dir.path(), &load).code, Some(0));
    for option in ["--json", "--all", "--strict", "--fail-on=worse"] {
        let answer = fathom_in(dir.path(), &["show", "ios", option]);
        let name = option.split('=').next().unwrap();
        assert_eq!((answer.code, answer.out.as_str()), (Some(2), ""), "{option}: {}", answer.err);
        assert!(answer.err.contains(name) && answer.err.contains("log of I/Os"), "{}", answer.err);
    }
    assert_eq!(fathom_in(dir.path(), &["show", "ios", "--csv"]).code, Some(0));
}

#[test]
fn a_load_says_which_of_its_options_change_nothing() {
    for (more, message) in [
        ("--ops randwrite=100 --dedupe-window 5", "--dedupe-window changes nothing"),
        ("--ops randwrite=100 --popularity zipf:1.1", "--popularity changes nothing"),
        ("--ops randread=100 --dedupe 50%", "this load writes nothing"),
        ("--ops randread=100 --sync fsync:1", "--sync changes nothing"),
        ("--ops randwrite=100 --verify-bytes 1", "--verify-bytes changes nothing"),
    ] {
        let load = ["load", "null", "--size", "1M", "--ios", "4"];
        let words: Vec<&str> = more.split_whitespace().collect();
        let err = expect(0, &[&load[..], &words].concat()).err;
        assert!(err.contains(message), "{more}: '{message}' is not in\n{err}");
    }
    let load =
        ["load", "null", "--size", "1M", "--ios", "4", "--ops", "randwrite=100", "--sync", "fua"];
    let err = expect(0, &[&load[..], &["--dedupe", "50%", "--dedupe-window", "5"]].concat()).err;
    assert!(!err.contains("changes nothing"), "{err}");
}

#[test]
fn what_is_wrong_with_a_load_is_told_in_options_and_in_words_that_can_be_typed() {
    let load = ["load", "null", "--size", "1M", "--passes", "1"];
    let err = expect(2, &load).err;
    assert!(
        err.contains("the pattern random") && err.contains("set --pattern permutation"),
        "{err}"
    );
}
