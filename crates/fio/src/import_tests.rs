use std::path::PathBuf;

use serde_json::{Value, json};

use crate::import::{FioRun, read_json};
use crate::imported::result;

/// Makes fio's figures of a job that did I/Os for some milliseconds.
fn side(ios: u64, runtime: u64) -> Value {
    let percentile = json!({"50.000000": 100, "99.000000": 900, "99.900000": 950});
    let latency =
        json!({"min": 10, "max": 1000, "mean": 120.5, "N": ios, "percentile": percentile});
    json!({"total_ios": ios, "io_bytes": ios * 4096, "runtime": runtime, "clat_ns": latency, "lat_ns": {"min": 1, "max": 2, "mean": 1.5, "N": ios}})
}

fn job(name: &str, group: u64, (ios, runtime): (u64, u64)) -> Value {
    json!({"jobname": name, "groupid": group, "error": 0, "elapsed": 1, "usr_cpu": 1.0, "sys_cpu": 2.0,
        "job options": {"rw": "randread"}, "read": side(ios, runtime), "write": side(0, 0), "trim": side(0, 0)})
}

fn document(ms: u64, jobs: &[Value]) -> Value {
    json!({"fio version": "fio-3.33", "timestamp_ms": 1_700_000_000_000 + ms, "global options": {}, "jobs": jobs})
}

fn plain() -> Value {
    document(5000, &[job("a", 0, (1000, 4000))])
}

fn read(value: &Value) -> Result<FioRun, String> {
    read_json(&value.to_string())
}

#[test]
fn figures_are_those_that_fio_tells() {
    let run = read(&plain()).unwrap();
    let own = &run.groups[0].operations["randread"];
    assert_eq!((own.ios, own.bytes, run.groups[0].duration_ns), (1000, 4_096_000, 4_000_000_000));
    assert_eq!(own.latency.unwrap().p999_ns, 950);
    assert!(run.groups[0].notices.is_empty(), "{:?}", run.groups[0].notices);
}

#[test]
fn output_in_other_units_is_refused_by_its_version() {
    for version in ["fio-2.21", "fio-2.1.13", "fio-2.99", "fio-1.60", "3.33", ""] {
        let mut value = plain();
        value["fio version"] = version.into();
        let refused = read(&value).unwrap_err();
        assert!(refused.contains("run fio 3 or later with --output-format=json+"), "{refused}");
    }
    for version in ["fio-3.0", "fio-3.42-12-gabc", "fio-10.1", "fathom-0.1.0"] {
        let mut value = plain();
        value["fio version"] = version.into();
        read(&value).unwrap();
    }
}

#[test]
fn what_is_missing_is_told_and_never_taken_for_nothing() {
    let broken: [(&str, Value); 11] = [
        ("/jobs/0/read/total_ios", json!("1000")),
        ("/jobs/0/read/total_ios", json!(-1)),
        ("/jobs/0/read/io_bytes", json!(1.5)),
        ("/jobs/0/read/runtime", Value::Null),
        ("/jobs/0/write", Value::Null),
        ("/jobs/0/groupid", Value::Null),
        ("/jobs/0/error", Value::Null),
        ("/jobs/0/usr_cpu", Value::Null),
        ("/jobs/0/jobname", Value::Null),
        ("/timestamp_ms", Value::Null),
        ("/jobs/0/read/clat_ns/bins", json!({"100": "many"})),
    ];
    for (place, wrong) in broken {
        let mut value = plain();
        match value.pointer_mut(place) {
            Some(found) => *found = wrong,
            None => value["jobs"][0]["read"]["clat_ns"]["bins"] = wrong,
        }
        assert!(read(&value).is_err(), "{place}");
    }
    let mut mixed = plain();
    mixed["jobs"][0]["mixed"] = mixed["jobs"][0]["read"].take();
    assert!(read(&mixed).unwrap_err().contains("run it without unified_rw_reporting"));
    // Without a latency there are other figures, and it is said why.
    let percentiles = "/jobs/0/read/clat_ns/percentile";
    for (place, wrong, told) in [
        (percentiles, json!({"50.000000": 100, "99.000000": 900}), "no percentile 99.900000"),
        (percentiles, Value::Null, "no percentile 50.000000 of clat_ns"),
        ("/jobs/0/read/clat_ns/mean", Value::Null, "no mean"),
        ("/jobs/0/read/clat_ns/N", json!(0), "run it without gtod_reduce"),
        ("/jobs/0/read/runtime", json!(0), "no rate"),
    ] {
        let mut value = plain();
        *value.pointer_mut(place).unwrap() = wrong;
        let run = read(&value).unwrap();
        assert_eq!(run.groups[0].operations["randread"].ios, 1000, "{told}");
        let notices = &run.groups[0].notices;
        assert!(notices.len() == 1 && notices[0].contains(told), "{told}: {notices:?}");
        let load = run.groups[0].load(units::Seed(1));
        assert!(load.notices.contains(&notices[0]), "{told}: {:?}", load.notices);
    }
    let mut synced = plain();
    synced["jobs"][0]["sync"] = json!({"total_ios": 7});
    assert!(read(&synced).unwrap().groups[0].notices[0].contains("7 syncs"));
    let two = document(5000, &[job("a", 0, (10, 4000)), job("b", 0, (20, 4000))]);
    let run = read(&two).unwrap();
    assert_eq!(run.groups[0].operations["randread"].ios, 30);
    assert!(run.groups[0].notices[0].contains("json+"), "{:?}", run.groups[0].notices);
    let idle = document(5000, &[job("a", 0, (10, 4000)), job("b", 1, (0, 0))]);
    assert!(read(&idle).unwrap().groups[1].notices[0].contains("'b' did no I/O"));
}

/// A state of a run of job a and then b, which began at 0.
fn state(ms: u64) -> Value {
    let (first, second) = (ms.min(4000), ms.saturating_sub(4000));
    let jobs = [("a", first), ("b", second)].into_iter().zip(0..);
    let jobs = jobs.map(|((name, ms), group)| {
        let mut job = job(name, group, (ms * 10, ms));
        job["elapsed"] = (first + second).div_ceil(1000).into();
        job
    });
    document(ms, &jobs.collect::<Vec<_>>())
}

#[test]
fn of_the_states_of_a_run_the_last_counts_and_several_runs_are_refused() {
    let text = |all: &[Value]| {
        let all: Vec<_> =
            all.iter().map(|one| format!("{one:#}\nfio: a line of its own\n")).collect();
        format!("fio: a line before\n{}", all.join(""))
    };
    let run = read_json(&text(&[state(2001), state(4003), state(6002), state(6100)])).unwrap();
    let ios = |at: usize| run.groups[at].operations["randread"].ios;
    assert_eq!((ios(0), ios(1), run.ended_ms), (40_000, 21_000, 1_700_000_006_100));
    // A second run, later; the same figures; one with fewer I/Os; one with other options; and one before.
    let mut later = state(6000);
    later["timestamp_ms"] = (1_700_000_000_000_u64 + 13_000).into();
    let mut more = later.clone();
    more["jobs"][0]["read"]["total_ios"] = 90_000.into();
    let mut options = state(6100);
    options["global options"]["bs"] = "8k".into();
    let mut named = state(6100);
    named["jobs"][1]["jobname"] = "c".into();
    let short = |ms: u64| document(ms, &[job("a", 0, (1000, 300))]);
    let quick = [short(400), short(900)];
    for all in [
        [state(6000), later],
        [state(6000), more],
        [state(6000), options],
        [state(6000), named],
        [state(6100), state(2000)],
        [state(2000), plain()],
        quick,
    ] {
        let refused = read_json(&text(&all)).unwrap_err();
        assert!(refused.contains("give each run a file of its own"), "{refused}");
    }
    // From 3.36 on fio says when each job began.
    let begun = |mut value: Value, at: u64| {
        value["jobs"][0]["job_start"] = at.into();
        value
    };
    let same = [begun(short(400), 7), begun(short(900), 7)];
    assert_eq!(read_json(&text(&same)).unwrap().ended_ms, 1_700_000_000_900);
    assert!(read_json(&text(&[begun(short(400), 7), begun(short(900), 8)])).is_err());
    // A state that was cut off is not left out.
    let cut = format!("{}\n{{\"fio version\": \"fio", plain());
    assert!(read_json(&cut).unwrap_err().contains("ends or breaks"));
}

#[test]
fn a_run_is_taken_once_whatever_it_is_called() {
    let run = |ms| {
        let jobs = vec![job("a", 0, (1000, 4000))];
        read(&document(ms, &jobs)).unwrap()
    };
    let named = |name: &str, file: &str, ms| (name.to_owned(), PathBuf::from(file), run(ms));
    let made = result(vec![named("a", "1", 5000), named("a", "2", 9001)], vec![]).unwrap();
    assert_eq!(made.manifest.cells.len(), 2);
    for (one, other) in [("a", "a"), ("a", "b")] {
        let twice = vec![named(one, "f1", 5000), named("a", "f2", 9001), named(other, "f3", 5000)];
        let refused = result(twice, vec![]).unwrap_err();
        assert!(refused.starts_with("f3 holds the run of f1"), "{refused}");
    }
    // Groups of one name are stages of their own.
    let jobs = vec![job("a", 0, (10, 4000)), job("a", 1, (20, 4000)), job("a-2", 2, (30, 10))];
    let run = read(&document(9000, &jobs)).unwrap();
    let names: Vec<_> = run.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["a", "a-2", "a-2-2"]);
}
