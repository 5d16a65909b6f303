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
    json!({"jobname": name, "groupid": group, "error": 0, "elapsed": 9, "job_runtime": runtime, "usr_cpu": 1.0, "sys_cpu": 2.0,
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
    let reads = &run.groups[0].operations["randread"];
    assert_eq!(
        (reads.ios, reads.bytes, run.groups[0].duration_ns),
        (1000, 4_096_000, 4_000_000_000)
    );
    assert_eq!(reads.latency.unwrap().p999_ns, 950);
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
    let broken: [(&str, Value); 12] = [
        ("/jobs/0/job_runtime", Value::Null),
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
    // Without a latency there are other figures, and a notice says why.
    let percentiles = "/jobs/0/read/clat_ns/percentile";
    for (place, wrong, phrase) in [
        (percentiles, json!({"50.000000": 100, "99.000000": 900}), "no percentile 99.900000"),
        (percentiles, Value::Null, "no percentile 50.000000 of clat_ns"),
        ("/jobs/0/read/clat_ns/mean", Value::Null, "no mean"),
        ("/jobs/0/read/clat_ns/N", json!(0), "run it without gtod_reduce"),
        ("/jobs/0/read/runtime", json!(0), "no rate"),
    ] {
        let mut value = plain();
        *value.pointer_mut(place).unwrap() = wrong;
        let run = read(&value).unwrap();
        assert_eq!(run.groups[0].operations["randread"].ios, 1000, "{phrase}");
        let notices = &run.groups[0].notices;
        assert!(notices.len() == 1 && notices[0].contains(phrase), "{phrase}: {notices:?}");
        let load = run.groups[0].load(units::Seed(1));
        assert!(load.notices.contains(&notices[0]), "{phrase}: {:?}", load.notices);
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
        assert!(refused.contains("give each run a separate file"), "{refused}");
    }
    // The states of a run of a second, as fio 3.33 told them.
    let second = |ms: u64, ran: u64| {
        let mut second_job = job("a", 0, (ran * 10, ran));
        second_job["elapsed"] = ms.div_ceil(1000).into();
        document(ms, &[second_job])
    };
    let merged = read_json(&text(&[second(910, 897), second(1032, 1001)])).unwrap();
    assert_eq!(merged.groups[0].operations["randread"].ios, 10_010);
    // A second run of the same kind, which began when the first was over.
    assert!(read_json(&text(&[second(910, 300), second(1932, 1001)])).is_err());
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
    // Groups of one name are separate stages.
    let jobs = vec![job("a", 0, (10, 4000)), job("a", 1, (20, 4000)), job("a-2", 2, (30, 10))];
    let run = read(&document(9000, &jobs)).unwrap();
    let names: Vec<_> = run.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["a", "a-2", "a-2-2"]);
}

#[test]
fn cpu_time_is_that_of_all_jobs_told_together() {
    // Measured with fio 3.33: three jobs under group_reporting, 1 s each.
    let mut value = plain();
    value["jobs"][0]["job_runtime"] = 12_000.into();
    let load = read(&value).unwrap().groups[0].load(units::Seed(1));
    let cpu = load.cpu.unwrap();
    assert!((cpu.user_s - 0.12).abs() < 1e-9 && (cpu.system_s - 0.24).abs() < 1e-9, "{cpu:?}");
    assert!((cpu.per_io_us.unwrap() - 360.0).abs() < 1e-6, "{cpu:?}");
}

#[test]
fn failed_ios_are_counted_and_are_in_no_rate() {
    let failed = |sent: u64, good: u64, options: Value| {
        let mut value = document(5000, &[job("a", 0, (sent, 4000))]);
        let changed = &mut value["jobs"][0];
        changed["read"]["io_bytes"] = (good * 4096).into();
        for key in ["clat_ns", "lat_ns"] {
            changed["read"][key]["N"] = good.into();
        }
        for (key, value) in options.as_object().unwrap() {
            changed[key] = value.clone();
        }
        value
    };
    let going_on = json!({"error": 5, "total_err": 4096, "first_error": 5});
    let stopped = json!({"error": 28});
    for (value, ios, errors) in [
        (failed(8192, 4096, going_on.clone()), 4096, ("error 5", 4096)),
        (failed(8, 7, stopped.clone()), 7, ("error 28", 1)),
        (failed(1, 0, stopped.clone()), 0, ("error 28", 1)),
        // Where nothing was verified, the device says so of its own data.
        (
            failed(10, 10, json!({"error": 84, "total_err": 3, "first_error": 84})),
            10,
            ("error 84", 3),
        ),
    ] {
        let load = read(&value).unwrap().groups[0].load(units::Seed(1));
        let reads = &load.operations["randread"];
        assert_eq!((reads.ios, reads.errors[errors.0]), (ios, errors.1), "{reads:?}");
        assert_eq!(reads.iops, Some(ios as f64 / 4.0));
    }
    // Without latencies the count of errors tells.
    let mut reduced = failed(8192, 4096, going_on);
    for key in ["clat_ns", "lat_ns"] {
        reduced["jobs"][0]["read"][key]["N"] = 0.into();
    }
    assert_eq!(read(&reduced).unwrap().groups[0].operations["randread"].ios, 4096);
    reduced["jobs"][0]["write"] = reduced["jobs"][0]["read"].clone();
    assert!(read(&reduced).unwrap_err().contains("run it without gtod_reduce"));
    // After a ramp fio counts latencies of I/Os that it had sent before: those completed.
    let ramp = read(&failed(4167, 4198, json!({}))).unwrap();
    let reads = &ramp.groups[0].operations["randread"];
    assert!(reads.ios == 4198 && reads.errors.is_empty(), "{reads:?}");
}

#[test]
fn a_run_whose_verification_failed_is_a_repeat_that_failed_and_gives_no_figures() {
    let run = |ms: u64, more: Value| {
        let mut value = document(ms, &[job("look", 0, (245, 400))]);
        value["jobs"][0]["job options"] = json!({"rw": "read", "verify": "crc32c"});
        for (key, told) in more.as_object().unwrap() {
            value["jobs"][0][key] = told.clone();
        }
        ("fio".to_owned(), PathBuf::from(format!("{ms}.json")), read(&value).unwrap())
    };
    let stopped = run(5000, json!({"error": 84}));
    let went_on = run(7000, json!({"error": 0, "total_err": 3, "first_error": 84}));
    let device = run(8000, json!({"error": 5}));
    let good = run(9000, json!({}));
    let said = "verification failed in [look]: wrong data (error 84 of fio)";
    for (run, failure) in [(&stopped, Some(said)), (&went_on, Some(said)), (&device, None)] {
        assert_eq!(run.2.failure().as_deref(), failure);
        let errors = run.2.groups[0].operations.values().map(|own| own.errors.len()).sum::<usize>();
        assert_eq!(errors, usize::from(failure.is_none()), "such I/Os succeeded");
    }
    let made = result(vec![stopped, went_on, device, good], vec![]).unwrap();
    let done: Vec<_> = made.cells.iter().map(results::CellData::done).collect();
    assert_eq!(done, [false, false, true, true]);
    assert_eq!(made.cells[0].reason(), Some(said));
    assert_eq!(made.manifest.outcome.as_deref(), Some("incomplete"));
    let stage = &made.cells[0].record.as_ref().unwrap().stages[0];
    assert_eq!(stage.error.as_deref(), Some("verification failed: wrong data"));
    // In a phase of its own after the writes it is known too, also in one of several jobs.
    let mut value = document(5000, &[job("w", 0, (8192, 31)), job("v", 0, (8192, 31))]);
    value["jobs"][1]["job options"] = json!({"rw": "randwrite", "verify": "md5"});
    value["jobs"][1]["write"] = side(8192, 57);
    value["jobs"][1]["error"] = 84.into();
    assert!(read(&value).unwrap().failure().is_some());
}

#[test]
fn reads_of_verify_are_no_part_of_a_load_that_writes() {
    let with = |rw: &str, more: Value| {
        let mut value = document(5000, &[job("a", 0, (8192, 31))]);
        let changed = &mut value["jobs"][0];
        changed["write"] = side(8192, 57);
        changed["job options"] = json!({"rw": rw, "verify": "crc32c"});
        for (key, option) in more.as_object().unwrap() {
            changed["job options"][key] = option.clone();
        }
        value
    };
    let load = read(&with("randwrite", json!({}))).unwrap().groups[0].load(units::Seed(1));
    assert_eq!(load.operations.keys().collect::<Vec<_>>(), ["randwrite"]);
    assert_eq!(load.operations["randwrite"].iops, Some(8192.0 / 0.057));
    assert!(load.cpu.is_none() && load.notices.iter().any(|text| text.contains("its verify")));
    assert!(read(&with("randrw", json!({}))).unwrap_err().contains("do_verify=0"));
    for (rw, more) in [("randrw", json!({"do_verify": "0"})), ("randrw", json!({"verify": "0"}))] {
        let load = read(&with(rw, more)).unwrap().groups[0].load(units::Seed(1));
        assert_eq!(load.operations.len(), 2);
        // Each side has its own time.
        assert_eq!(load.operations["randread"].iops, Some(8192.0 / 0.031));
        assert!(load.notices.iter().any(|text| text.contains("took place for 31ms of 57ms")));
    }
}

#[test]
fn jobs_of_a_group_that_did_not_run_at_once_are_refused() {
    let two = |groups: [u64; 2], one: Value, other: Value| {
        let mut value =
            document(9000, &[job("a", groups[0], (10, 4000)), job("b", groups[1], (10, 4000))]);
        for (place, options) in [one, other].into_iter().enumerate() {
            value["jobs"][place]["job options"] = options;
        }
        value
    };
    let none = || json!({"rw": "randread"});
    let later = || json!({"rw": "randread", "startdelay": "2"});
    for (value, phrase) in [
        (two([0, 0], none(), later()), "its jobs a, b did not run at once, by startdelay"),
        (two([0, 0], none(), json!({"wait_for": "a"})), "by wait_for"),
        (two([0, 0], json!({"startdelay": "1-5"}), json!({"startdelay": "1-5"})), "by startdelay"),
        (two([0, 1], none(), json!({"new_group": "1"})), "new_group makes groups"),
    ] {
        let refused = read(&value).unwrap_err();
        assert!(refused.contains(phrase), "{phrase}: {refused}");
    }
    for value in [
        two([0, 0], none(), none()),
        two([0, 0], later(), later()),
        two([0, 1], none(), later()),
        two([0, 1], none(), json!({"new_group": "1", "stonewall": "1"})),
    ] {
        read(&value).unwrap();
    }
    // Groups that ran within the time of one.
    let mut quick = two([0, 1], none(), none());
    for place in 0..2 {
        quick["jobs"][place]["elapsed"] = 5.into();
    }
    assert!(read(&quick).unwrap_err().contains("ran for 8000 ms, all of them within 5000 ms"));
    // From 3.36 on fio tells when each job began.
    let mut begun = two([0, 0], none(), none());
    for (place, at) in [(0, 7_000_u64), (1, 9_000)] {
        begun["jobs"][place]["job_start"] = at.into();
    }
    assert!(read(&begun).unwrap_err().contains("the times at which they began"));
}

#[test]
fn options_are_kept_and_repeats_with_others_are_refused() {
    let run = |ms: u64, options: Value| {
        let mut value = document(ms, &[job("a", 0, (1000, 4000))]);
        value["jobs"][0]["job options"] = options;
        read(&value).unwrap()
    };
    let named = |name: &str, file: &str, run: FioRun| (name.to_owned(), PathBuf::from(file), run);
    let plain = || json!({"rw": "randread", "bs": "4096", "runtime": "60", "filename": "/dev/x", "name": "a"});
    for other in [
        json!({"rw": "randread", "bs": "8k", "runtime": "60"}),
        json!({"rw": "randread", "runtime": "60", "iodepth": "32"}),
        json!({"rw": "randread", "runtime": "60", "numjobs": "2"}),
        json!({"rw": "randread", "runtime": "60", "ioengine": "libaio"}),
        json!({"rw": "randread", "runtime": "60", "size": "1g"}),
        json!({"rw": "randread"}),
    ] {
        let both =
            vec![named("p", "A", run(5000, plain())), named("p", "B", run(9999, other.clone()))];
        let refused = result(both, vec![]).unwrap_err();
        assert!(refused.starts_with("B is not a repeat of A"), "{refused}");
        let apart = vec![named("p", "A", run(5000, plain())), named("q", "B", run(9999, other))];
        result(apart, vec![]).unwrap();
    }
    // The same in other words, on another file.
    let same = json!({"readwrite": "randread", "blocksize": "4k", "timeout": "1m", "filename": "/dev/y", "numjobs": "1", "write_bw_log": "b"});
    let made = vec![
        named("p", "A", run(5000, plain())),
        named("p", "B", run(9999, same)),
        named("q", "C", run(15_000, json!({"rw": "randread", "bs": "8k"}))),
    ];
    let made = result(made, vec![]).unwrap();
    let kept = |place: usize| made.manifest.plan.variants[place].stack[0].settings.clone();
    assert_eq!(kept(0).get("runtime").map(String::as_str), Some("1m"));
    assert_eq!((kept(0)["bs"].as_str(), kept(1)["bs"].as_str()), ("4k", "8k"));
    assert_eq!((kept(0)["iodepth"].as_str(), kept(1).get("runtime")), ("1", None));
}

#[test]
fn jobs_at_once_with_other_options_keep_those_of_all() {
    let mut value = document(5000, &[job("a", 0, (10, 4000)), job("b", 0, (20, 4000))]);
    value["jobs"][0]["job options"] = json!({"rw": "randread", "iodepth": "32"});
    value["jobs"][1]["job options"] = json!({"rw": "randread", "bs": "8k"});
    let run = read(&value).unwrap();
    let options = &run.groups[0].options;
    assert_eq!(options["iodepth"], "32 + 1");
    assert_eq!((options["bs"].as_str(), options["rw"].as_str()), ("4k + 8k", "randread"));
    assert_eq!(run.groups[0].load(units::Seed(1)).engine.depth, 32);
}
