//! Stages that execute programs: simulated, refused, and real on a loop device.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::loop_device::loop_device;
use crate::program::{fathom_in, skip, text};

/// An experiment of one file system and the `stages`, as a file in `dir`.
fn experiment(dir: &Path, before: &str, stages: &str) -> String {
    let text = format!(
        "name = \"work\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"320M\"\n{before}\n\
         [[stack]]\nlayer = \"xfs\"\non = \"data\"\n{stages}"
    );
    let path = dir.join("work.toml");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

const COPY: &str = "[[stage]]\ndo = \"command\"\nname = \"copy\"\nmeasure = true\n\
    argv = [\"cp\", \"-r\", \"{corpus.mine}\", \"{mount}/copy\"]\n\
    [[stage]]\ndo = \"command\"\nname = \"count\"\n\
    shell = \"find {mount}/copy -type f | wc -l; echo 7 shared >&2\"\n\
    [stage.figures]\nfiles = { pattern = '^(\\d+)$' }\n\
    shared = { from = \"stderr\", pattern = '(\\d+) shared' }\n";

/// More than is kept: a figure in the midst of it, one that only Fathom's own mark of what was left out would give, and a line that is too long.
const MUCH: &str = "[[stage]]\ndo = \"command\"\nname = \"much\"\nmeasure = true\n\
    shell = \"ls {corpus.mine} >/dev/null; seq 20000; echo 4242 wanted; seq 30000; head -c 2000000 /dev/zero >&2\"\n\
    [stage.figures]\nwanted = { pattern = '(\\d+) wanted' }\nlast = { pattern = '^(\\d+)$' }\n\
    marker = { pattern = '(\\d+) bytes' }\nlong = { from = \"stderr\", pattern = '(1)' }\n";

/// A corpus of a few files, as the experiment names it.
fn corpus(dir: &Path) -> String {
    let corpus = dir.join("mine");
    fs::create_dir(&corpus).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(corpus.join(name), name.repeat(1 << 20)).unwrap();
    }
    "[corpora.mine]\npath = \"mine\"".to_owned()
}

/// The stages in the record of the only cell.
fn stages(result: &Path) -> Vec<Value> {
    let cell = fs::read_dir(result.join("cells")).unwrap().next().unwrap().unwrap().path();
    let cell: Value = serde_json::from_slice(&fs::read(cell.join("cell.json")).unwrap()).unwrap();
    cell["stages"].as_array().unwrap().clone()
}

#[test]
fn a_simulated_command_ends_well_and_has_no_figures() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = experiment(dir.path(), &corpus(dir.path()), COPY);
    let answer = fathom_in(dir.path(), &["run", &experiment, "--simulate", "--out", "r"]);
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    let stages = stages(&dir.path().join("r"));
    assert_eq!(stages[0]["command"]["exit_code"], 0);
    for key in ["elapsed_s", "cpu_user_s", "peak_memory_bytes", "used_after_bytes"] {
        assert_eq!(stages[0]["command"][key], Value::Null, "{key}");
    }
    assert_eq!(stages[1]["command"]["figures"], serde_json::json!({}));
}

#[test]
fn a_corpus_is_made_once_and_read_by_commands_on_this_machine() {
    let name = "a_corpus_is_made_once";
    let there = fs::read_to_string("/proc/filesystems").unwrap_or_default().contains("\txfs\n");
    if !there || !Path::new("/usr/sbin/mkfs.xfs").exists() {
        return skip(name, "no XFS here");
    }
    let Some(disk) = loop_device(320 << 20) else {
        return skip(name, "no loop device can be made (needs root)");
    };
    let dir = tempfile::tempdir().unwrap();
    let made = "[corpora.mine]\nsize = \"4M\"\nfile_size = \"64k\"\ngenerations = 2\nchanged_files = \"25%\"\n";
    let experiment = experiment(dir.path(), made, COPY);
    let device = format!("data={}", disk.path);
    for (out, says) in [("first", true), ("again", false)] {
        let args =
            ["run", &experiment, "--allow-commands", "--destroy-data", &device, "--out", out];
        let run = crate::program::command(&args)
            .current_dir(dir.path())
            .env("FATHOM_CACHE", dir.path().join("cache"))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{errors}");
        assert_eq!(
            errors.contains("making the corpus mine: 4 MiB in files of 64 KiB"),
            says,
            "{errors}"
        );
        let did = stages(&dir.path().join(out));
        assert_eq!(did[1]["command"]["figures"]["files"], 128.0, "{}", did[1]);
    }
}

#[test]
fn a_command_of_somebody_elses_experiment_runs_on_this_machine_only_by_the_word_of_the_user() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = experiment(dir.path(), &corpus(dir.path()), COPY);
    let answer = fathom_in(dir.path(), &["run", &experiment, "--device", "data=/dev/null"]);
    assert_eq!(answer.code, Some(4), "{}", answer.err);
    for phrase in ["'copy'", "cp -r {corpus.mine}", "--allow-commands", "fathom lab run"] {
        assert!(answer.err.contains(phrase), "{phrase}: {}", answer.err);
    }
    let package = self::experiment(dir.path(), "[corpora.mine]\npackage = \"git\"", COPY);
    let answer = fathom_in(dir.path(), &["run", &package, "--allow-commands"]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    assert!(answer.err.contains("give [corpora.mine] a path"), "{}", answer.err);
}

#[test]
fn a_command_on_a_real_file_system_is_measured_and_what_fails_is_told() {
    let name = "a_command_on_a_real_file_system";
    let there = fs::read_to_string("/proc/filesystems").unwrap_or_default().contains("\txfs\n");
    if !there || !Path::new("/usr/sbin/mkfs.xfs").exists() {
        return skip(name, "no XFS here");
    }
    let Some(disk) = loop_device(320 << 20) else {
        return skip(name, "no loop device can be made (needs root)");
    };
    let dir = tempfile::tempdir().unwrap();
    let mine = corpus(dir.path());
    let device = format!("data={}", disk.path);
    let run = |stages: &str, out: &str| {
        let experiment = experiment(dir.path(), &mine, stages);
        let args =
            ["run", &experiment, "--allow-commands", "--destroy-data", &device, "--out", out];
        fathom_in(dir.path(), &args)
    };
    let answer = run(COPY, "r");
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    let did = stages(&dir.path().join("r"));
    let (copy, count) = (&did[0]["command"], &did[1]["command"]);
    let number = |key: &str| copy[key].as_f64().unwrap_or_else(|| panic!("{key}: {copy}"));
    assert!(number("elapsed_s") > 0.0 && number("elapsed_with_sync_s") >= number("elapsed_s"));
    assert!(number("peak_memory_bytes") > 1e5);
    assert!(number("used_after_bytes") - number("used_before_bytes") >= 3e6, "{copy}");
    assert!(
        did[0]["layers"]["data"]["device_written_bytes"].as_f64().unwrap() >= 3e6,
        "{}",
        did[0]
    );
    assert_eq!(count["figures"], serde_json::json!({ "files": 3.0, "shared": 7.0 }));

    let answer = run(MUCH, "much");
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    let much = &stages(&dir.path().join("much"))[0]["command"];
    assert!(much["stdout"].as_str().unwrap().contains(" bytes left out]"), "{much}");
    assert_eq!(much["figures"], serde_json::json!({ "wanted": 4242.0, "last": 30000.0 }));
    assert!(
        answer.err.contains("what it printed has no number for long, marker"),
        "{}",
        answer.err
    );
    assert!(answer.err.contains("was not looked for in 1 lines of more than 1 MiB"));

    let failing = COPY.replace("wc -l;", "wc -l; echo no luck >&2; exit 3;");
    let answer = run(&failing, "failed");
    assert_ne!(answer.code, Some(0));
    let did = stages(&dir.path().join("failed"));
    let error = did[1]["error"].as_str().unwrap();
    assert!(error.contains("exit code 3") && error.contains("no luck"), "{error}");
    assert_eq!(did[1]["command"]["exit_code"], 3);

    let slow = COPY.replace("find ", "sleep 66; find ");
    let slow = slow.replace("shell =", "time_limit = \"1s\"\nshell =");
    let answer = run(&slow, "slow");
    assert_ne!(answer.code, Some(0));
    let did = stages(&dir.path().join("slow"));
    assert!(did[1]["error"].as_str().unwrap().contains("took longer than 1 s"), "{}", did[1]);
    assert!(!fs::read_to_string("/proc/mounts").unwrap().contains(text(dir.path())));

    // In a session of its own it would hold the file system: it is killed, and that is reported.
    let left = COPY.replace("find ", "setsid sh -c 'exec 3>{mount}/x; sleep 67' & find ");
    let answer = run(&left, "left");
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    let did = stages(&dir.path().join("left"));
    let killed = did[1]["command"]["killed"].as_array().unwrap();
    assert!(!killed.is_empty() && killed[0].as_str().unwrap().contains("sleep 67"), "{killed:?}");
    assert_eq!(did[0]["command"]["killed"], serde_json::json!([]));
    let output = format!("{}{}", answer.out, answer.err);
    assert!(output.contains("had to be killed") && output.contains("sleep 67"), "{output}");
}

#[test]
fn in_the_lab_commands_have_their_packages_a_packages_files_and_a_directory_of_the_host() {
    let Some(_turn) = crate::program::ready("in_the_lab_commands") else { return };
    let dir = tempfile::tempdir().unwrap();
    let made = "[corpora.made]\nsize = \"8M\"\nfile_size = \"64k\"\n";
    let mine = corpus(dir.path()) + "\n" + made;
    // The shipped proof, with one more stage that reads the directory.
    let shipped = experiment::shipped("copy-on-vdo").unwrap().text;
    let stage = "[[stage]]\ndo = \"command\"\nname = \"of mine\"\nsettle = true\n\
        shell = \"ls {corpus.mine} | wc -l; cmp --version >&2 || echo no diffutils; id -un; \
        set -- {corpus.made}/*/*; test $# = 128 || echo $# files; timeout 602 sleep 601 >/dev/null 2>&1 &\"\n\
        [stage.figures]\nfiles = { pattern = '^(\\d+)$' }\n";
    let experiment = dir.path().join("copies.toml");
    fs::write(&experiment, format!("{shipped}\n{mine}\n{stage}")).unwrap();
    let args = ["lab", "run", text(&experiment), "--repeat", "1", "--out", "r"];
    let answer = fathom_in(dir.path(), &args);
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    let result = dir.path().join("r");
    let manifest: Value =
        serde_json::from_slice(&fs::read(result.join("manifest.json")).unwrap()).unwrap();
    let supplies = manifest["lab"]["supplies"].as_array().unwrap();
    assert_eq!(supplies.len(), 3, "{supplies:?}");
    assert!(supplies.iter().all(|supply| supply["size"].as_u64().unwrap() > 0), "{supplies:?}");
    let of = |variant: &str| {
        let mut cells =
            fs::read_dir(result.join("cells")).unwrap().map(|cell| cell.unwrap().path());
        let cell = cells.find(|cell| text(cell).contains(variant)).unwrap();
        let cell: Value =
            serde_json::from_slice(&fs::read(cell.join("cell.json")).unwrap()).unwrap();
        let stages = cell["stages"].as_array().unwrap();
        ["copy-1", "copy-2", "of mine"]
            .map(|name| stages.iter().find(|stage| stage["name"] == name).unwrap().clone())
    };
    let (plain, vdo) = (of("plain"), of("vdo"));
    let figure =
        |stage: &Value, layer: &str, id: &str| stage["layers"][layer][id].as_f64().unwrap();
    // The second copy was read from the device and is saved almost wholly.
    assert!(figure(&plain[1], "data", "device_read_bytes") > 3e7);
    assert!(figure(&plain[1], "data", "device_written_bytes") > 3e7);
    assert!(figure(&vdo[1], "data", "device_written_bytes") < 1e7);
    let saving = [0, 1].map(|at| figure(&vdo[at], "vdo", "saving_percent"));
    assert!(saving[1] > saving[0] + 15.0, "{saving:?}");
    for stage in plain[..2].iter().chain(&vdo[..2]) {
        let number = |key: &str| stage["command"][key].as_f64().unwrap();
        assert!(number("elapsed_with_sync_s") > number("elapsed_s") && number("elapsed_s") > 0.0);
        assert!(number("used_after_bytes") - number("used_before_bytes") > 3e7);
    }
    assert_eq!(vdo[2]["command"]["figures"]["files"], 3.0, "{}", vdo[2]);
    // In a group of its own, and in the file system.
    let killed = vdo[2]["command"]["killed"].to_string();
    assert!(killed.contains("sleep 601"), "{killed}");
    assert_eq!(vdo[2]["command"]["stdout"], "3\nno diffutils\nroot\n");
}
