//! `fathom load --tree`: the command of the manual, its JSON, its refusals.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::loop_device::loop_device;
use crate::program::{Answer, expect, fathom_in, interrupted, skip, text};

const OPS: &str = "create=40,randread=40,delete=20";

/// A load of a tree in `directory` with more options.
fn load(directory: &Path, more: &[&str]) -> Answer {
    let words = ["load", "tree", "--tree", "--max-files", "500", "--seed", "7"];
    fathom_in(directory, &[&words[..], more].concat())
}

/// An empty directory `tree` in a temporary one.
fn room() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tree")).unwrap();
    folder
}

fn summary(answer: &Answer) -> Value {
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    serde_json::from_str(answer.out.lines().last().unwrap()).unwrap()
}

/// The keys that `docs/json.md` promises for a load of a tree, in addition to those of all loads.
fn promised() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split_once("<!-- keys of tree: begin -->").unwrap().1;
    let table = table.split_once("<!-- keys of tree: end -->").unwrap().0;
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split_once('`').unwrap().0.to_owned()).collect()
}

/// Files below a directory with their sizes.
fn files(top: &Path) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(top).unwrap().flatten() {
        let meta = entry.metadata().unwrap();
        match meta.is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push((text(&entry.path()).to_owned(), meta.len())),
        }
    }
    found.sort();
    found
}

#[test]
fn the_tree_of_the_manual_is_made_and_told_in_json_and_in_words() {
    let folder = room();
    let more = ["--ops", OPS, "--file-size", "8k", "--levels", "2", "--dirs", "10", "--jobs", "2"];
    let answer = load(folder.path(), &[&more[..], &["--ios", "20000", "--json"]].concat());
    let summary = summary(&answer);
    assert_eq!((&summary["event"], &summary["ended_by"]), (&"summary".into(), &"ios".into()));
    let operations = summary["operations"].as_object().unwrap();
    assert_eq!(operations.keys().collect::<Vec<_>>(), ["create", "delete", "randread"]);
    let mut attempted = 0;
    for (name, summary) in operations {
        let of =
            |key: &str| summary[key].as_u64().unwrap_or_else(|| panic!("{name} {key}: {summary}"));
        let missed: u64 = summary["expected_errors"]
            .as_object()
            .unwrap()
            .values()
            .filter_map(Value::as_u64)
            .sum();
        assert!(
            missed > 100 && of("latency_p99_ns") > 0 && summary["iops"].as_f64().unwrap() > 0.0
        );
        assert_eq!(of("attempted"), of("ios") + missed, "{name}");
        assert_eq!((of("skipped"), &summary["errors"]), (0, &serde_json::json!({})), "{name}");
        attempted += of("attempted");
    }
    assert_eq!(attempted, 20_000);
    let tree = &summary["tree"];
    let found = files(&folder.path().join("tree"));
    assert_eq!(tree["files"], found.len());
    assert_eq!(tree["bytes"], 8192 * found.len());
    assert_eq!(tree["directories"], 110);
    assert!(tree["equilibrium"]["files_at_rest_after"].as_u64().unwrap() > 500, "{tree}");

    let new = |key: &String| operations["create"][key.as_str()].is_null();
    let known = ["attempted", "expected_errors", "skipped"].map(str::to_owned);
    assert!(!known.iter().any(new));
    let mut written: BTreeSet<_> =
        known.iter().map(|key| format!("operations.<operation>.{key}")).collect();
    written.insert("tree".into());
    let keys = |at: &str, of: &Value| -> Vec<String> {
        of.as_object().unwrap().keys().map(|key| format!("{at}.{key}")).collect()
    };
    written.extend(keys("tree", tree));
    written.extend(keys("tree.equilibrium", &tree["equilibrium"]));
    assert_eq!(promised(), written);
    assert!(answer.err.contains("it comes to rest at some 333 files"), "{}", answer.err);
    assert!(answer.err.contains("expected   create: ") && answer.err.contains(" EEXIST of "));
    assert!(answer.err.contains("tree       "), "{}", answer.err);

    // The same seed, operations and jobs end in the same names and sizes.
    let again = room();
    load(again.path(), &[&more[..], &["--ios", "20000"]].concat());
    let strip = |folder: &Path, all: Vec<(String, u64)>| -> Vec<(String, u64)> {
        all.into_iter().map(|(name, size)| (name.replace(text(folder), ""), size)).collect()
    };
    let other = files(&again.path().join("tree"));
    assert_eq!(strip(folder.path(), found), strip(again.path(), other));
}

#[test]
fn what_cannot_be_loaded_as_a_tree_is_refused_with_the_option_and_the_remedy() {
    for (more, code, message) in [
        (&["--ops", "create=0"][..], 2, "no operation has a weight above 0"),
        (&["--ops", "creat=40,delete=60"], 2, "did you mean 'create'?"),
        (&["--ops", "create=1e308,delete=1e308"], 2, "the weight of create cannot be"),
        (&["--ops", OPS, "--interval", "1us"], 2, "interval is 1us"),
        (&["--ops", OPS, "--interval", "0s"], 2, "interval is 0"),
        (&["--ops", OPS, "--duration", "9000h"], 2, "duration is"),
        (&["--ops", "flush=100"], 2, "There is no operation 'flush' on a file tree"),
        (&["--ops", "rmdir=1"], 2, "there is no mkdir"),
        (&["--ops", OPS, "--jobs", "501"], 2, "--jobs: 501 workers"),
        (&["--ops", OPS, "--levels", "9"], 2, "--levels: 9 levels"),
        (&["--ops", OPS, "--depth", "3"], 2, "--depth"),
        (&["--ops", OPS, "--page", "x.html"], 2, "--page"),
        (&["--ops", "create=1,append=1", "--equilibrium"], 2, "never comes to rest"),
        (&["other", "--ops", OPS], 2, "one directory"),
        (&[], 2, "--ops"),
    ] {
        let folder = room();
        let answer = load(folder.path(), more);
        assert_eq!(answer.code, Some(code), "{more:?}: {}", answer.err);
        assert!(answer.err.contains(message), "{more:?}: {}", answer.err);
        assert_eq!(files(folder.path()), [], "{more:?} left something");
    }
    let folder = room();
    let of_devices = fathom_in(folder.path(), &["load", "x", "--size", "1M", "--ops", OPS]);
    assert!(
        of_devices.code == Some(2) && of_devices.err.contains("add --tree"),
        "{}",
        of_devices.err
    );
    let alone = fathom_in(folder.path(), &["load", "x", "--size", "1M", "--levels", "2"]);
    assert!(alone.code == Some(2) && alone.err.contains("--tree"), "{}", alone.err);
    let file = folder.path().join("mine");
    std::fs::write(&file, "mine").unwrap();
    let none = ["load", "--tree", "--ops", OPS];
    let missing = expect(2, &[&none[..], &["/nowhere/at/all"]].concat());
    assert!(missing.err.contains("/nowhere/at/all cannot be made"), "{}", missing.err);
    let no_directory = expect(2, &[&none[..], &[text(&file)]].concat());
    assert!(no_directory.err.contains("is not a directory"), "{}", no_directory.err);
}

#[test]
fn a_table_of_fs_drift_is_done_as_it_says_or_refused_with_its_line() {
    let folder = room();
    let table = folder.path().join("table.csv");
    std::fs::write(&table, "# mine\ncreate, 3\nrandom_read, 1\nrename, 0\n").unwrap();
    let answer = load(folder.path(), &["--ops", "@table.csv", "--ios", "4000", "--json"]);
    let summary = summary(&answer);
    let attempted = |op: &str| summary["operations"][op]["attempted"].as_u64().unwrap_or(0);
    assert!((2800..3200).contains(&attempted("create")), "{summary}");
    assert!((800..1200).contains(&attempted("randread")), "{summary}");
    assert_eq!(attempted("rename"), 0, "{summary}");
    std::fs::write(&table, "create, 3\nremount, 1\n").unwrap();
    let refused = load(folder.path(), &["--ops", "@table.csv"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("line 2 of the table"), "{}", refused.err);
    let missing = load(folder.path(), &["--ops", "@none.csv"]);
    assert!(missing.code == Some(2) && missing.err.contains("No such file"), "{}", missing.err);
    let stage = "[[stage]]\ndo = \"tree\"\nname = \"t\"\nmeasure = true\nops = \"@../table.csv\"\nfiles = 100\n\
                 file_size = \"4k\"\nios = 100\n";
    let experiment = format!(
        "name = \"t\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"512M\"\n\
         [[stack]]\nlayer = \"xfs\"\non = \"data\"\n{stage}"
    );
    let empty = folder.path().join("own");
    std::fs::create_dir(&empty).unwrap();
    std::fs::write(empty.join("t.toml"), experiment).unwrap();
    let explain = || fathom_in(folder.path(), &["explain", "own/t.toml"]);
    let refused = explain();
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("line 2 of the table"), "{}", refused.err);
    std::fs::write(&table, "create, 3\n append , 1\n").unwrap();
    let explained = explain();
    assert!(explained.out.contains("create=3,append=1"), "{}{}", explained.out, explained.err);
}

#[test]
fn a_dry_run_says_that_a_directory_would_be_made_and_refuses_one_that_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let dry = load(folder.path(), &["--ops", OPS, "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{}", dry.err);
    assert!(dry.err.contains("would make tree, and create=40"), "{}", dry.err);
    let deep = fathom_in(folder.path(), &["load", "a/b", "--tree", "--ops", OPS, "--dry-run"]);
    assert!(deep.code == Some(2) && deep.err.contains("a/b cannot be made"), "{}", deep.err);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_tree_that_is_not_seen_at_rest_has_an_exit_code_and_a_sentence() {
    let folder = room();
    let more = ["--ops", OPS, "--max-files", "12", "--levels", "0", "--equilibrium", "--json"];
    let words = ["load", "tree", "--tree", "--seed", "7"];
    let answer = fathom_in(folder.path(), &[&words[..], &more].concat());
    assert_eq!(answer.code, Some(5), "{}", answer.err);
    let summary: Value = serde_json::from_str(answer.out.lines().last().unwrap()).unwrap();
    assert_eq!(summary["ended_by"], "unsettled");
    let reason = summary["incomplete"][0].as_str().unwrap();
    assert!(reason.contains("was not seen at rest"), "{reason}");
}

#[test]
fn a_directory_that_is_not_empty_keeps_what_it_has() {
    let folder = room();
    let mine = folder.path().join("tree/f000000000");
    std::fs::write(&mine, "mine").unwrap();
    let refused = load(folder.path(), &["--ops", OPS, "--levels", "0"]);
    assert!(refused.code == Some(4) && refused.err.contains("--into-existing"), "{}", refused.err);
    let dry = load(folder.path(), &["--ops", OPS, "--into-existing", "--dry-run", "--json"]);
    assert_eq!(summary(&dry)["event"], "dry_run");
    assert!(dry.err.contains("nothing was touched"), "{}", dry.err);
    assert_eq!(files(&folder.path().join("tree")).len(), 1);
    let done = load(
        folder.path(),
        &["--ops", OPS, "--into-existing", "--levels", "0", "--ios", "3000", "--json"],
    );
    let made = summary(&done)["tree"]["files"].as_u64().unwrap();
    assert_eq!(files(&folder.path().join("tree/fathom-tree-1")).len() as u64, made);
    assert_eq!(files(&folder.path().join("tree")).len() as u64, made + 1);
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
}

#[test]
fn ctrl_c_ends_a_load_of_a_tree_with_its_summary() {
    let folder = room();
    let args = ["load", "tree", "--tree", "--ops", OPS, "--duration", "60s", "--json"];
    let summary = interrupted(folder.path(), &args, 2);
    assert_eq!(summary["tree"]["files"], files(&folder.path().join("tree")).len());
}

const EXPERIMENT: &str = r#"
name = "grown"
about = "A tree of files on XFS"
repeat = 1

[devices.data]
size = "512M"

[[stack]]
layer = "xfs"
name = "fs"
on = "data"

[[stage]]
do = "tree"
name = "grow"
measure = true
ops = "create=40,randread=40,delete=20"
files = 300
file_size = "8k"
jobs = 2
ios = 6000
interval = "10ms"

[[question]]
metric = "iops"
operation = "create"

[[question]]
metric = "operations_per_s"

[[expect]]
metric = "tree_files"
near = 200
tolerance = "20 %"

[[expect]]
metric = "expected_errors"
operation = "delete"
above = 0

[[picture]]
show = "iops over time"
operation = "create"
"#;

#[test]
fn a_stage_of_an_experiment_loads_a_tree_and_its_record_has_the_figures() {
    let test = "a_stage_of_an_experiment_loads_a_tree";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("grown.toml");
    std::fs::write(
        &file,
        EXPERIMENT
            .replace("ios = 6000", "equilibrium = true")
            .replace("randread=40,delete=20", "append=40"),
    )
    .unwrap();
    let never = fathom_in(folder.path(), &["explain", "grown.toml"]);
    assert!(never.code == Some(2) && never.err.contains("never comes to rest"), "{}", never.err);
    assert!(never.err.contains("nothing removes them") && never.err.contains("add delete"));
    let live = EXPERIMENT.replace("jobs = 2", "content = { dedupe = \"50%\", scope = \"live\" }");
    std::fs::write(&file, live).unwrap();
    let live = fathom_in(folder.path(), &["explain", "grown.toml"]);
    assert!(live.code == Some(2) && live.err.contains("have no addresses"), "{}", live.err);
    std::fs::write(&file, EXPERIMENT.replace("ios = 6000", "")).unwrap();
    let endless = fathom_in(folder.path(), &["explain", "grown.toml"]);
    assert!(endless.code == Some(2) && endless.err.contains("has no end"), "{}", endless.err);
    std::fs::write(&file, EXPERIMENT).unwrap();
    let explained = fathom_in(folder.path(), &["explain", "grown.toml"]);
    assert!(
        explained.out.contains("create=40,randread=40,delete=20 on a tree of 300 names"),
        "{}",
        explained.out
    );
    for (wanted, message) in [
        ("metric = \"iops\"\noperation = \"append\"", "No measured stage does 'append'"),
        ("metric = \"tree_files\"\noperation = \"create\"", "'create' is an operation of a load"),
    ] {
        std::fs::write(&file, format!("{EXPERIMENT}\n[[question]]\n{wanted}\n")).unwrap();
        let strange = fathom_in(folder.path(), &["explain", "grown.toml"]);
        assert!(strange.code == Some(2) && strange.err.contains(message), "{}", strange.err);
    }
    std::fs::write(&file, EXPERIMENT).unwrap();
    let simulated = fathom_in(folder.path(), &["run", "grown.toml", "--simulate", "--out", "s"]);
    assert_eq!(simulated.code, Some(0), "{}", simulated.err);

    let Some(disk) = loop_device(512 << 20) else {
        return skip(test, "no loop device can be made (needs root)");
    };
    let device = format!("data={}", disk.path);
    let args = ["run", "grown.toml", "--device", &device, "--out", "r"];
    let answer = fathom_in(folder.path(), &args);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let cells = std::fs::read_dir(folder.path().join("r/cells")).unwrap().flatten();
    let record = cells.map(|cell| cell.path().join("cell.json")).find(|path| path.exists());
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(record.unwrap()).unwrap()).unwrap();
    let load = &record["stages"][0]["load"];
    assert_eq!(load["ended_by"], "ios", "{load}");
    let attempted = |name: &str| load["operations"][name]["attempted"].as_u64().unwrap();
    assert_eq!(attempted("create") + attempted("randread") + attempted("delete"), 6000);
    let files = load["tree"]["files"].as_u64().unwrap();
    assert!((150..250).contains(&files), "{load}");
    assert_eq!(load["tree"]["bytes"], 8192 * files);
    let shown = fathom_in(folder.path(), &["show", "r", "--json"]);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    let met = shown["expectations"].as_array().unwrap();
    assert!(met.len() == 2 && met.iter().all(|one| one["outcome"] == "met"), "{met:?}");
    let made = fathom_in(folder.path(), &["report", "r", "-o", "page.html"]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    for title in ["Files in the tree", "Operations of each kind on", "Outcomes of operations on"] {
        assert!(page.contains(title), "{title}");
    }
}
