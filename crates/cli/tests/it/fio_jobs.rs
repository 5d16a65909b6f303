//! Job files of fio, run as they are.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::program::{expect, fathom_in, fresh, json, text};

#[test]
fn a_job_file_of_fio_runs_as_it_is_and_lays_out_what_it_reads() {
    let (dir, _) = fresh();
    let job = "[global]\nioengine=libaio\ndirect=1\niodepth=8\nbs=4k\nsize=1m\nunlink=1\n[hot]\nnumjobs=2\nrw=randread\nrandom_distribution=zipf:1.2\nruntime=1\ntime_based=1\n[new]\nstonewall\nfilename=new\nrw=randwrite\nbuffer_compress_percentage=60\n";
    fs::write(dir.path().join("job.fio"), job).unwrap();
    let answer = fathom_in(dir.path(), &["fio", "job.fio"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    for word in [
        "hot.0.0 is written first",
        "hot.1.0 is written first",
        "[new], line 14:",
        "in fio: every block of fio's compresses alike: VDO's packer saves 50 %",
        "changes nothing: unlink",
        "zipf:1.2",
    ] {
        assert!(answer.err.contains(word), "{word}: {}", answer.err);
    }
    for name in ["hot.0.0", "hot.1.0", "new"] {
        assert_eq!(fs::metadata(dir.path().join(name)).unwrap().len(), 1 << 20, "{name}");
    }
    // What is there is read as it is, and nothing is laid out again; what holds data is not written to.
    fs::write(dir.path().join("new"), "a diary of years".repeat(100_000)).unwrap();
    let refused = fathom_in(dir.path(), &["fio", "job.fio", "--duration", "200ms"]);
    assert_eq!(refused.code, Some(4), "{}", refused.err);
    assert!(!refused.err.contains("written first"), "{}", refused.err);
    let done = fathom_in(
        dir.path(),
        &["fio", "job.fio", "--duration", "200ms", "--destroy-data", "--json"],
    );
    assert_eq!(done.code, Some(0), "{}", done.err);
    let last = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let summaries = done.out.lines().map(last).filter(|line| line["operations"].is_object());
    assert_eq!(summaries.count(), 2, "{}", done.out);
}

#[test]
fn a_dry_run_touches_nothing_and_its_stages_are_taken_by_an_experiment() {
    let (dir, out) = fresh();
    let job = dir.path().join("job.fio");
    fs::write(&job, "[a]\nsize=16m\nrw=randrw\nrwmixread=30\nbssplit=4k/70:16k/30\nruntime=1\ntime_based\ndirect=1\nbuffer_compress_percentage=60\ndedupe_percentage=20\n").unwrap();
    let document = json(&["fio", text(&job), "--dry-run", "--json"]);
    let load = &document["loads"][0];
    assert_eq!(load["targets"], serde_json::json!(["a.0.0"]));
    assert!(fs::read_dir(dir.path()).unwrap().count() <= 2, "the job file alone");
    let stage = load["stage"].as_str().unwrap();
    let text_of = format!(
        "name = \"of-fio\"\nabout = \"a job of fio\"\nrepeat = 1\n[devices.data]\nsize = \"64M\"\n[[variant]]\nname = \"plain\"\n[[variant.stack]]\nlayer = \"linear\"\non = \"data\"\n{stage}"
    );
    let experiment = dir.path().join("of-fio.toml");
    fs::write(&experiment, text_of).unwrap();
    expect(0, &["run", text(&experiment), "--simulate", "--out", text(&out)]);
    let human = expect(0, &["fio", text(&job), "--dry-run"]);
    for word in [
        "fathom load --backend sync",
        "content = { dedupe = \"20%\", compress = \"60%\" }",
        "  first: fathom load --ops write=100",
    ] {
        assert!(human.out.contains(word), "{word}: {}", human.out);
    }
}

#[test]
fn a_job_file_with_mistakes_runs_nothing_and_names_each_line() {
    let (dir, _) = fresh();
    let bad = "[a]\nsize=1m\nrw=write\nlatency_target=1ms\nbss=4k\n";
    fs::write(dir.path().join("bad.fio"), bad).unwrap();
    let answer = fathom_in(dir.path(), &["fio", "bad.fio"]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    for word in
        ["bad.fio cannot be done", "line 4: latency_target", "line 5: bss is not known: bs?"]
    {
        assert!(answer.err.lines().any(|line| line.contains(word)), "{word}: {}", answer.err);
    }
    assert!(!answer.err.contains("\\n"), "{}", answer.err);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_eq!(fathom_in(dir.path(), &["fio", "none.fio"]).code, Some(2));
    // A job file without mistakes is accepted by fio and by Fathom.
    fs::write(dir.path().join("good.fio"), "[a]\nsize=1m\nrw=write\n").unwrap();
    let mut checked = Command::new("fio");
    checked.args(["--parse-only", "good.fio"]).current_dir(dir.path());
    assert!(checked.output().unwrap().status.success());
    assert_eq!(fathom_in(dir.path(), &["fio", "good.fio", "--dry-run"]).code, Some(0));
    let mut piped = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["fio", "-", "--dry-run", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    piped.stdin.take().unwrap().write_all(b"[a]\nsize=1m\n").unwrap();
    assert!(piped.wait_with_output().unwrap().status.success());
}

#[test]
fn files_are_laid_out_whole_and_what_cannot_be_done_is_refused_before_anything_is_written() {
    let (dir, _) = fresh();
    let job = |name: &str, lines: &str| {
        fs::write(dir.path().join("job.fio"), format!("[a]\nfilename={name}\n{lines}\n")).unwrap();
    };
    for (name, lines, length) in [
        ("small", "filesize=30K", 32 << 10),
        ("odd", "size=1100k\nbs=64k", 1100 << 10),
        ("behind", "offset=1m\nsize=1m", 2 << 20),
        ("zones", "rw=randread\nsize=1m\nrandom_distribution=zoned:50/5:50/", 1 << 20),
        ("part", "rw=randread\nsize=1m\nfilesize=2m", 2 << 20),
        ("both", "rw=read\noffset=1m\nsize=1m\nfilesize=2m", 2 << 20),
    ] {
        job(name, lines);
        let answer = fathom_in(dir.path(), &["fio", "job.fio", "--json"]);
        assert_eq!(answer.code, Some(0), "{name}: {}", answer.err);
        let written = fs::read(dir.path().join(name)).unwrap();
        assert_eq!(written.len(), length, "{name}");
        assert!(written.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)), "{name}");
        let last = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let last =
            answer.out.lines().map(last).rfind(|line| line["operations"].is_object()).unwrap();
        let bytes =
            last["operations"].as_object().unwrap().values().next().unwrap()["bytes"].as_u64();
        let read = match name {
            "small" => 28 << 10,
            "odd" => 1088 << 10,
            _ => 1 << 20,
        };
        assert_eq!(bytes, Some(read), "{name}");
    }
    // What is there and too short is neither written to nor read.
    fs::write(dir.path().join("mine"), "x".repeat(4096)).unwrap();
    job("mine", "size=1m");
    let answer = fathom_in(dir.path(), &["fio", "job.fio", "--destroy-data"]);
    assert_eq!(answer.code, Some(4), "{}", answer.err);
    assert!(answer.err.contains("mine holds 4"), "{}", answer.err);
    assert_eq!(fs::metadata(dir.path().join("mine")).unwrap().len(), 4096);
    for lines in [
        "rw=randread\nsize=1m\nrandom_distribution=zipf:0",
        "size=2k",
        "size=1m\noffset=1000\ndirect=1",
        "rw=randread\nnorandommap\nsize=1000k\nbs=64k",
    ] {
        job("none", lines);
        for more in [&["--dry-run"][..], &[]] {
            let answer = fathom_in(dir.path(), &[&["fio", "job.fio"], more].concat());
            assert_eq!(answer.code, Some(2), "{lines}: {}", answer.err);
            assert!(answer.err.contains("[a], line 1, cannot be done here"), "{}", answer.err);
        }
        assert!(!dir.path().join("none").exists(), "{lines}");
    }
}

#[test]
fn what_a_later_job_is_refused_for_is_told_before_the_first_one_writes() {
    let (dir, _) = fresh();
    let both =
        "[global]\nfilename=f\n[a]\nrw=write\nsize=1m\n[b]\nstonewall\nrw=randread\nsize=2m\n";
    let theirs =
        "[global]\nsize=1m\n[a]\nfilename=f\nrw=write\n[b]\nstonewall\nfilename=mine\nrw=write\n";
    let nowhere =
        "[a]\nfilename=f\nrw=write\nsize=1m\n[b]\nstonewall\nfilename=g\nruntime=1\ntime_based\n";
    fs::write(dir.path().join("mine"), "a diary of years".repeat(100_000)).unwrap();
    for (job, code, message) in [
        (both, 4, "f holds 1 MiB, and 2 MiB of it are to be read"),
        (theirs, 4, "mine"),
        (nowhere, 2, "[b], line 5, cannot be done here: g holds nothing"),
    ] {
        fs::write(dir.path().join("job.fio"), job).unwrap();
        for more in [&["--dry-run"][..], &[]] {
            let answer = fathom_in(dir.path(), &[&["fio", "job.fio"], more].concat());
            assert_eq!(answer.code, Some(code), "{more:?}: {}", answer.err);
            assert!(answer.err.contains(message), "{more:?}: {}", answer.err);
            assert!(!dir.path().join("f").exists(), "{job}");
        }
    }
    // What the first one leaves is enough for the second one.
    fs::write(dir.path().join("job.fio"), both.replace("size=2m", "size=1m")).unwrap();
    for more in [&["--dry-run"][..], &[]] {
        let answer = fathom_in(dir.path(), &[&["fio", "job.fio"], more].concat());
        assert_eq!(answer.code, Some(0), "{}", answer.err);
    }
}

#[test]
fn a_name_of_a_job_file_is_a_path_and_nothing_else() {
    let (dir, _) = fresh();
    for name in ["x", "y"] {
        fs::write(dir.path().join(name), "a diary of years".repeat(100_000)).unwrap();
    }
    let job = |line: &str| {
        fs::write(dir.path().join("job.fio"), format!("[a]\n{line}\nsize=1m\nrw=write\n")).unwrap();
        fathom_in(dir.path(), &["fio", "job.fio", "--destroy-data"])
    };
    let foreign = job("filename=x=50:y=50");
    assert_eq!(foreign.code, Some(2), "{}", foreign.err);
    assert!(foreign.err.contains("line 2: filename=x=50:y=50"), "{}", foreign.err);
    for name in ["x", "y"] {
        assert!(fs::read(dir.path().join(name)).unwrap().starts_with(b"a diary"), "{name}");
    }
    let file = job("filename=null");
    assert_eq!(file.code, Some(0), "{}", file.err);
    assert_eq!(fs::metadata(dir.path().join("null")).unwrap().len(), 1 << 20);
}

/// Runs fio on nothing and returns the file of what it said.
fn of_fio(dir: &std::path::Path, name: &str, words: &[&str]) -> String {
    let file = dir.join(name);
    let done = Command::new("fio")
        .args([
            "--ioengine=null",
            "--size=64m",
            "--bs=4k",
            "--name=a",
            "--rw=randrw",
            "--output-format=json+",
        ])
        .arg(format!("--output={}", file.display()))
        .args(words)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    text(&file).to_owned()
}

#[test]
fn a_load_that_was_exported_as_fio_tells_it_is_read_back_as_it_was_driven() {
    let Some(disk) = crate::loop_device::loop_device(512 << 20) else {
        println!("SKIP a_load_that_was_exported: no loop device can be made here: needs root");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let experiment = "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"512M\"\n[[stack]]\nlayer = \"xfs\"\non = \"data\"\n\
        [[stage]]\ndo = \"layout\"\nname = \"f\"\nfiles = 1\nsize = \"16M\"\n\
        [[stage]]\ndo = \"load\"\nfiles = \"f\"\nmeasure = true\nops = { randwrite = 100 }\njobs = 2\ndepth = 3\nbackend = \"libaio\"\n\
        ramp = \"1s\"\nduration = \"2s\"\n";
    fs::write(dir.path().join("x.toml"), experiment).unwrap();
    let run = |words: &str| {
        let done = fathom_in(dir.path(), &words.split(' ').collect::<Vec<_>>());
        assert_eq!(done.code, Some(0), "{words}: {}", done.err);
        done.out
    };
    run(&format!("run x.toml --device data={} --out r", disk.path));
    run("export r --to x1 --format fio-json");
    let file = fs::read_dir(dir.path().join("x1")).unwrap().flatten();
    let file =
        file.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "json"));
    run(&format!("import own={} --out back", text(&file.unwrap())));
    let engine = |name: &str| {
        let set = results::open(&dir.path().join(name)).unwrap();
        let load = set.cells[0].record.clone().unwrap().stages.pop().unwrap().load.unwrap();
        let cpu = load.cpu.unwrap().per_io_us.unwrap();
        (load.engine.jobs, load.engine.depth, load.engine.direct, load.counted_ios(), cpu)
    };
    let (before, after) = (engine("r"), engine("back"));
    assert_eq!((before.0, before.1, before.2), (after.0, after.1, after.2));
    assert!((before.4 / after.4 - 1.0).abs() < 0.02, "CPU per I/O: {before:?} {after:?}");
}

#[test]
fn what_fio_said_is_shown_compared_and_exported_as_any_result() {
    let (dir, out) = fresh();
    let mut words = Vec::new();
    for repeat in 0..2 {
        for (variant, jobs) in [("one", "--numjobs=1"), ("two", "--numjobs=2")] {
            let file = of_fio(dir.path(), &format!("{variant}{repeat}.json"), &[jobs]);
            words.push(format!("{variant}={file}"));
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    expect(0, &[&["import"], &words[..], &["--out", text(&out)]].concat());
    let shown = json(&["show", text(&out), "--json"]);
    assert_eq!((&shown["complete"], &shown["seal"]), (&true.into(), &"whole".into()), "{shown}");
    assert!(shown["cells"][0]["disturbed"].is_null(), "nobody looked: {shown}");
    let few = shown["findings"].as_array().unwrap().iter();
    let few = few.filter(|finding| finding["rule"] == "too_few_repeats").collect::<Vec<_>>();
    assert!(few[0]["remedy"].to_string().contains("under each name"), "{few:?}");
    // The figures are fio's.
    let document: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.path().join("one0.json")).unwrap()).unwrap();
    let to = dir.path().join("tables");
    expect(0, &["export", text(&out), "--to", text(&to), "--format", "jsonl"]);
    let rows = fs::read_to_string(to.join("operations.jsonl")).unwrap();
    let rows: Vec<serde_json::Value> =
        rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let read = rows.iter().find(|row| row["operation"] == "randread" && row["cell"] == 0).unwrap();
    assert_eq!(read["ios"], document["jobs"][0]["read"]["total_ios"]);
    assert_eq!(read["bytes"], document["jobs"][0]["read"]["io_bytes"]);
    // fio cuts a histogram into classes of up to 1.6 %.
    let p99 = document["jobs"][0]["read"]["clat_ns"]["percentile"]["99.000000"].as_f64().unwrap();
    assert!((read["latency_p99_ns"].as_f64().unwrap() / p99 - 1.0).abs() < 0.05, "{read} {p99}");
    // Of two jobs there is one figure, of all.
    let two = rows.iter().find(|row| row["variant"] == "two" && row["operation"] == "randread");
    assert!(two.unwrap()["ios"].as_u64() > read["ios"].as_u64());
    expect(0, &["report", text(&out), "-o", text(&dir.path().join("page.html"))]);
    assert!(expect(0, &["show", text(&out), "--markdown"]).out.contains("IOPS of randread"));
    // A run that is given twice is refused, whatever it is called.
    let again = dir.path().join("again");
    let twice = fathom_in(dir.path(), &["import", words[0], "x=one0.json", "--out", text(&again)]);
    assert_eq!(twice.code, Some(2), "{}", twice.err);
    assert!(twice.err.contains("holds the run of") && !again.exists(), "{}", twice.err);
    // A file that is not output of fio is refused.
    fs::write(dir.path().join("x.json"), "{\"a\": 1}").unwrap();
    let other = dir.path().join("other");
    let refused = fathom_in(dir.path(), &["import", "x.json", "--out", text(&other)]);
    assert_eq!(refused.code, Some(5), "{}", refused.err);
    assert!(refused.err.contains("not fio's") && !other.exists(), "{}", refused.err);
    assert_eq!(fathom_in(dir.path(), &["import", "x.json", "--out", text(&out)]).code, Some(4));
}
