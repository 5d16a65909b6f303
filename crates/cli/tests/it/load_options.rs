//! The options of `fathom load`: the commands of the manual, logs, several targets, bad input, and fuzzed arguments.

use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use proptest::prelude::*;
use serde_json::Value;

use crate::program::{command, expect, fathom_in, fresh, text};

/// The summary of a load on nothing for some time, with more options.
fn on_null(duration: &str, more: &[&str]) -> Value {
    let common = ["load", "null", "--size", "16G", "--ops", "randread=100", "--block-size", "4k"];
    let rest = ["--depth", "128", "--interval", "100ms", "--json", "--duration", duration];
    let answer = expect(0, &[&common[..], &rest, more].concat());
    serde_json::from_str(answer.out.lines().last().unwrap()).unwrap()
}

#[test]
fn a_load_on_nothing_runs_with_every_pattern_and_says_how_it_was_driven() {
    for pattern in [
        &[][..],
        &["--pattern", "zipf:1.2"],
        &["--pattern", "normal:5%"],
        &["--pattern", "permutation"],
        &["--pattern", "pareto:0.2"],
        &["--pattern", "sequential"],
        &["--pattern", "zipf:0.9", "--hot", "contiguous"],
    ] {
        let summary = on_null("300ms", pattern);
        let read = &summary["operations"]["randread"];
        assert!(read["ios"].as_u64().unwrap() > 1_000, "{pattern:?}: {summary}");
        assert!(read["latency_p99_ns"].as_u64().unwrap() > 0);
        assert_eq!(summary["engine"]["backend"], "null");
        assert_eq!(summary["ended_by"], "duration");
        let worst = summary["worst"].as_array().unwrap();
        assert_eq!(worst.len(), 10);
        assert!(worst[0]["latency_ns"].as_u64() >= worst[9]["latency_ns"].as_u64());
    }
}

#[test]
fn every_backend_can_be_asked_for_and_auto_says_what_it_chose() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for backend in ["io_uring", "libaio", "sync", "auto"] {
        let args = ["load", "x", "--size", "16M", "--ops", "randread=100", "--ios", "2000"];
        let answer =
            fathom_in(dir.path(), &[&args[..], &["--backend", backend, "--json"]].concat());
        assert_eq!(answer.code, Some(0), "{backend}: {}", answer.err);
        let summary: Value = serde_json::from_str(answer.out.lines().last().unwrap()).unwrap();
        let engine = &summary["engine"];
        if backend == "auto" {
            assert!(!engine["chosen"].as_str().unwrap().is_empty(), "{engine}");
        } else {
            assert_eq!(engine["backend"], backend);
        }
        assert_eq!(summary["operations"]["randread"]["ios"], 2000);
        assert_eq!(summary["ended_by"], "ios");
    }
}

#[test]
fn the_logs_of_a_load_open_in_other_tools_and_agree_with_its_summary() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let load = "load a=75 b=25 --size 8M --ops randread=50,randwrite=50 --ios 4000 --split-latency \
                --interval 50ms --latency-log l.hlog --io-log l.ios --json";
    let args: Vec<&str> = load.split_whitespace().collect();
    let answer = fathom_in(dir.path(), &args);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let summary: Value = serde_json::from_str(answer.out.lines().last().unwrap()).unwrap();
    let ios = |op: &str| summary["operations"][op]["ios"].as_u64().unwrap();
    assert_eq!(ios("randread") + ios("randwrite"), 4000);
    for part in ["submission", "completion"] {
        assert!(summary["operations"]["randread"][part]["p50_ns"].as_u64().is_some(), "{part}");
    }
    let on = |target: usize, op: &str| {
        summary["targets"][target]["operations"][op]["ios"].as_u64().unwrap()
    };
    assert_eq!(on(0, "randread") + on(1, "randread"), ios("randread"));
    let first = on(0, "randread") + on(0, "randwrite");
    assert!((2_950..=3_050).contains(&first), "{first} of 4000 I/Os went to a share of 75 %");

    let log = std::fs::read(dir.path().join("l.hlog")).unwrap();
    let mut counted = 0;
    for entry in IntervalLogIterator::new(&log) {
        if let LogEntry::Interval(line) = entry.unwrap() {
            assert!(["randread", "randwrite"].contains(&line.tag().unwrap().as_str()));
            let bytes = base64(line.encoded_histogram());
            let histogram: hdrhistogram::Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            counted += histogram.len();
        }
    }
    assert_eq!(counted, 4000);

    let shown = fathom_in(dir.path(), &["show", "l.ios"]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let mut lines = shown.out.lines();
    assert!(lines.next().unwrap().starts_with("start_ns,latency_ns,operation,offset_bytes"));
    let rows: Vec<Vec<&str>> = lines.map(|l| l.split(',').collect()).collect();
    assert_eq!(rows.len(), 4000);
    assert_eq!(rows.iter().filter(|r| r[6] == "a").count() as u64, first);
    assert!(rows.iter().all(|r| r[4] == "4096" && r[7] == "0"));
}

/// Decodes base64 text.
fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|&c| c != b'=').map(digit).collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let word = (0..4).fold(0u32, |w, i| w << 6 | u32::from(*four.get(i).unwrap_or(&0)));
        word.to_be_bytes().into_iter().skip(1).take(four.len() - 1)
    });
    bytes.collect()
}

#[test]
fn a_load_ends_when_it_has_settled_and_says_so_when_it_never_did() {
    let settled = on_null("60s", &["--steady", "iops:90%:500ms"]);
    assert_eq!(settled["ended_by"], "steady", "{settled}");
    assert!(settled["steady"]["settled_ns"].as_u64().unwrap() >= 500_000_000);
    let never = on_null("900ms", &["--steady", "iops:0.000001%:500ms"]);
    assert_eq!(never["ended_by"], "duration");
    assert_eq!(never["steady"]["settled_ns"], Value::Null);
    assert!(never["notices"].to_string().contains("never settled"), "{never}");
}

#[test]
fn what_was_not_judged_not_measured_or_not_reached_is_said_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let refused = fathom_in(
        dir.path(),
        &["load", "null", "--size", "1G", "--steady", "iops:5%:60s", "--duration", "1s"],
    );
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("before one window is over") && refused.err.contains("help:"));
    // One that ends by its amount may end before its window.
    let ended = |code: i32, more: &[&str]| {
        let args = ["load", "x", "--size", "1M", "--json", "--ops", "randwrite=100"];
        let answer = fathom_in(dir.path(), &[&args[..], more].concat());
        assert_eq!(answer.code, Some(code), "{}", answer.err);
        let last: Value = serde_json::from_str(answer.out.lines().last().unwrap()).unwrap();
        std::fs::remove_file(dir.path().join("x")).unwrap();
        last["notices"].to_string()
    };
    let load = |more: &[&str]| ended(0, more);
    let early = load(&["--passes", "1", "--pattern", "permutation", "--steady", "iops:5%:60s"]);
    assert!(early.contains("of the 60 intervals") && !early.contains("drift"), "{early}");
    let ramp = ended(5, &["--passes", "1", "--pattern", "permutation", "--ramp", "60s"]);
    assert!(ramp.contains("Nothing was measured") && ramp.contains("its ramp of"), "{ramp}");
    let tail = load(&["--passes", "1", "--pattern", "permutation", "--block-size", "48k"]);
    assert!(
        tail.contains("The last 16 KiB of 1 MiB of ") && tail.contains("never reached"),
        "{tail}"
    );
    let none = load(&["--passes", "1", "--pattern", "permutation"]);
    assert!(!none.contains("never reached") && !none.contains("Nothing"), "{none}");
}

#[test]
fn bad_input_is_refused_with_the_option_the_allowed_words_and_nothing_left_behind() {
    for (more, message) in [
        ("--depth 0", &["depth"][..]),
        ("--depth many", &["--depth"]),
        ("--block-size 1000", &["--block-size 1000", "512"]),
        ("--block-size 4k..x", &["--block-size"]),
        ("--offset 1000", &["offset", "512"]),
        ("--pattern zigzag", &["--pattern", "zipf", "permutation"]),
        ("--pattern zipf:0", &["zipf"]),
        ("--pattern zipf:-1", &["zipf"]),
        ("--backend uring", &["--backend", "io_uring", "libaio", "sync", "auto"]),
        ("--rate 0/s", &["rate"]),
        ("--rate fast", &["--rate", "5000/s"]),
        ("--arrival burst", &["--arrival", "poisson", "fixed"]),
        ("--share half", &["--share", "split", "shared", "own"]),
        ("--sync sometimes", &["--sync", "fdatasync"]),
        ("--steady soon", &["--steady", "iops:5%:60s"]),
        ("--verify never", &["--verify", "read", "after"]),
        ("--dedupe-scope dead", &["--dedupe-scope", "written", "live"]),
        ("--compress hard", &["--compress"]),
        ("--worst 99999999", &["--worst"]),
        ("--ops randwrite=90", &["100"]),
        ("--ops trim=100", &["--ops", "discard"]),
        ("--io-log no/such/place", &["no/such/place"]),
        ("--latency-log no/such/place", &["no/such/place"]),
        ("--no-such-option", &["--no-such-option"]),
        ("--ops randread=100 --vdo-saving 99%", &["92.8%"]),
        ("--ops randread=100 --content-profile none", &["none", "estimate --profile"]),
        ("--offset -1", &["'-1'", "--offset", "without a minus"]),
        ("--offset=-1", &["-1", "--offset"]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let words: Vec<&str> = more.split_whitespace().collect();
        let answer = fathom_in(dir.path(), &[&["load", "x", "--size", "1M"][..], &words].concat());
        assert_eq!(answer.code, Some(2), "{more}: {}", answer.err);
        for word in message {
            assert!(answer.err.contains(word), "{more}: '{word}' is not in:\n{}", answer.err);
        }
        assert_eq!(answer.out, "");
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().collect();
        assert!(left.is_empty(), "{more} left {left:?}");
    }
    for (args, message) in [
        (&["load"][..], "TARGET"),
        (&["load", "null"], "--size"),
        (&["load", "x"], "--size"),
        (&["load", "/dev/none"], "lsblk"),
        (&["load", "a=60", "b", "--size", "1M"], "share"),
        (&["load", "null", "a", "--size", "1M"], "null"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let answer = fathom_in(dir.path(), args);
        assert_eq!(answer.code, Some(2), "{args:?}: {}", answer.err);
        assert!(answer.err.contains(message), "{args:?}: {}", answer.err);
    }
}

#[test]
fn a_log_never_replaces_a_target_or_anything_that_is_no_such_log() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("thesis.txt"), "precious").unwrap();
    let load = |more: &[&str]| {
        let args = ["load", "null", "--size", "1M", "--ios", "10"];
        fathom_in(dir.path(), &[&args[..], more].concat())
    };
    for option in ["--io-log", "--latency-log"] {
        let answer = load(&[option, "thesis.txt"]);
        assert_eq!(answer.code, Some(4), "{}", answer.err);
        assert!(answer.err.contains(option) && answer.err.contains("thesis.txt"));
        assert_eq!(std::fs::read(dir.path().join("thesis.txt")).unwrap(), b"precious");
        let same = fathom_in(
            dir.path(),
            &["load", "thesis.txt", "--ops", "randread=100", option, "./thesis.txt"],
        );
        assert_eq!(same.code, Some(4), "{}", same.err);
        // Its own log is written anew.
        assert_eq!(load(&[option, "log"]).code, Some(0));
        assert_eq!(load(&[option, "log"]).code, Some(0));
        std::fs::remove_file(dir.path().join("log")).unwrap();
    }
}

#[test]
fn help_is_grouped_and_shows_every_option_with_examples() {
    let help = expect(0, &["load", "--help"]).out;
    for part in [
        "Operations and places",
        "Depth and pace",
        "Start and end",
        "Content of what is written",
        "Verification",
        "Recording",
        "--vdo-saving",
        "Examples:",
    ] {
        assert!(help.contains(part), "{part} is not in:\n{help}");
    }
}

/// Options that can be given.
const OPTIONS: &[&str] = &[
    "--ops",
    "--each",
    "--pattern",
    "--hot",
    "--block-size",
    "--align",
    "--size",
    "--offset",
    "--sync",
    "--jobs",
    "--share",
    "--depth",
    "--depth-unit",
    "--batch",
    "--think",
    "--rate",
    "--arrival",
    "--limit",
    "--backend",
    "--ramp",
    "--duration",
    "--bytes",
    "--ios",
    "--passes",
    "--steady",
    "--max-errors",
    "--dedupe",
    "--dedupe-scope",
    "--dedupe-distance",
    "--dedupe-window",
    "--popularity",
    "--compress",
    "--vdo-saving",
    "--zero",
    "--content-block",
    "--misaligned",
    "--texture",
    "--verify",
    "--interval",
    "--worst",
    "--seed",
    "--last-block",
    "--buffered",
    "--json",
    "--split-latency",
];

/// Values, sensible ones and others.
const VALUES: &[&str] = &[
    "randread=100",
    "randwrite=50,randread=50",
    "read",
    "zipf:1.2",
    "zipf:0",
    "normal:5%",
    "strided:3",
    "strided:0",
    "zones:50/50",
    "4k",
    "0",
    "512",
    "1",
    "-1",
    "18446744073709551615",
    "99999999999999999999",
    "4k=50,64k=50",
    "4k..64k",
    "1T",
    "1ms",
    "1ms:8",
    "0s",
    "5000/s",
    "100M/s",
    "poisson",
    "auto",
    "libaio",
    "iops:5%:60s",
    "50%",
    "100%",
    "1e308",
    "nan",
    "2.5x",
    "live",
    "recent",
    "1..100=30",
    "both",
    "fdatasync:32",
    "4096",
    "x=y",
    "",
    "=",
    ",",
    "é",
    "write.block_size=64k",
    "0.0000001",
];

/// Words that stand in arguments.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(OPTIONS).prop_map(str::to_owned),
        4 => prop::sample::select(VALUES).prop_map(str::to_owned),
        1 => "[ -~]{0,12}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Nothing is run: the target is not there and may not be made, whatever the options say.
    #[test]
    fn no_arguments_make_the_program_panic_and_wrong_ones_are_named(
        words in prop::collection::vec(word(), 0..8),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut args = vec!["load", "no/such/directory/x"];
        args.extend(words.iter().filter(|w| !w.contains('\0')).map(String::as_str));
        let output = command(&args).current_dir(dir.path()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        let help = args.iter().any(|w| ["-h", "--help"].contains(w));
        prop_assert!(output.status.code() == Some(2) || help, "{args:?}: {:?} {err}", output.status);
        prop_assert!(!err.contains("panicked"), "{args:?}: {err}");
        prop_assert!(err.contains("error:") || help, "{args:?}: {err}");
        prop_assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none(), "{args:?}");
    }
}

#[test]
fn an_empty_file_is_made_as_large_as_it_is_to_be() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(dir.path().join("x"), "").unwrap();
    let load = ["load", "x", "--ops", "randwrite=100", "--ios", "100"];
    let answer = fathom_in(dir.path(), &load);
    assert_eq!(answer.code, Some(3), "{}", answer.err);
    assert!(answer.err.contains("--size"), "{}", answer.err);
    let answer = fathom_in(dir.path(), &[&load[..], &["--size", "4M"]].concat());
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert_eq!(std::fs::metadata(dir.path().join("x")).unwrap().len(), 4 << 20);
}

#[test]
fn the_summary_fits_a_terminal_of_40_columns() {
    let load = "load null null --size 1G --ops randread=70,randwrite=30 --dedupe 50% --duration 200ms --rate 5000/s \
                --seed 1";
    let mut command = command(&load.split_whitespace().collect::<Vec<_>>());
    let output = command.env("COLUMNS", "40").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["randwrite", "I/Os ", "p99.9 ", "errors none", "ended by duration"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let wide: Vec<_> = text.lines().filter(|line| line.chars().count() > 40).collect();
    assert!(wide.is_empty(), "{wide:#?}\n{text}");
}

#[test]
fn who_writes_a_word_of_fio_is_told_what_it_is_here() {
    for (typed, here) in [
        ("--iodepth=4", "--depth 32"),
        ("--numjobs=2", "--jobs 4"),
        ("--bs=4k", "--block-size 4k"),
        ("--rw=randwrite", "--ops "),
        ("--runtime=60", "--duration 60s"),
        ("--direct=1", "--buffered"),
        ("--ops=randrw", "randread=50,randwrite=50"),
    ] {
        let answer = expect(2, &["load", "null", "--size", "1G", typed]);
        assert!(answer.err.contains(here), "{typed}: {}", answer.err);
    }
    let (dir, file) = fresh();
    std::fs::create_dir_all(dir.path()).unwrap();
    let words = "rw = \"randwrite\"\niodepth = 4\nnumjobs = 2\nbs = \"4k\"\nruntime = \"5s\"\nioengine = \"libaio\"\n";
    let plan = "name = \"x\"\nabout = \"words of fio\"\n[devices.data]\nsize = \"1G\"\n[[variant]]\nname = \"plain\"\n\
                [[variant.stack]]\nlayer = \"linear\"\non = \"data\"\n[[stage]]\ndo = \"load\"\nname = \"w\"\nmeasure = true\n";
    std::fs::write(&file, format!("{plan}{words}")).unwrap();
    let answer = expect(2, &["explain", text(&file)]);
    for here in ["ops = ", "depth = 32", "jobs = 4", "block_size = ", "duration = ", "backend = "] {
        assert!(answer.err.contains(&format!("is here {here}")), "{here}: {}", answer.err);
    }
}
