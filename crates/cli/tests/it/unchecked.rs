//! Nothing unchecked is called right: not by a load, and not by a run.

use std::path::Path;

use serde_json::Value;

use crate::loop_device::loop_device;
use crate::program::{Answer, fathom_in, skip};

const FILL: &str = "--ops write=100 --passes 1";
const LOOK: &str = "--ops read=100 --passes 1";

fn load(dir: &Path, words: &str) -> Answer {
    let args: Vec<&str> = ["load"].into_iter().chain(words.split_whitespace()).collect();
    fathom_in(dir, &args)
}

/// The figures of verification of a load of 4096 blocks, and what people read of it.
fn verified(dir: &Path, words: &str) -> (Option<i32>, Value, String) {
    let plain = load(dir, &format!("x --size 16M {words}"));
    let answer = load(dir, &format!("x --size 16M {words} --json"));
    assert_eq!(plain.code, answer.code, "{words}");
    let last = answer.out.lines().last().unwrap_or_default();
    let summary: Value = serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {answer:?}"));
    (answer.code, summary["verify"].clone(), plain.out + &plain.err)
}

#[test]
fn a_load_that_was_to_verify_and_of_no_block_knew_what_it_holds_ends_with_code_5() {
    for when in ["read", "after", "both"] {
        for (known, state, checked) in [
            ("nothing", "", 0),
            ("a part", "--verify-state state", 2048),
            ("all", "--verify-state state", 4096),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let dir = dir.path();
            let part = if known == "a part" { "8M" } else { "16M" };
            // The file is there as a whole, and was not made by the load whose state is kept.
            assert_eq!(load(dir, &format!("x --size 16M {FILL}")).code, Some(0));
            let filled = load(dir, &format!("x --size {part} {FILL} {state}"));
            assert_eq!(filled.code, Some(0), "{filled:?}");
            let (code, found, messages) = verified(dir, &format!("{LOOK} --verify {when} {state}"));
            let passes = if when == "both" { 2 } else { 1 };
            let case = format!("{when} {known}: {found} {messages}");
            assert_eq!(found["read"], 4096 * passes, "{case}");
            assert_eq!(found["checked"], checked * passes, "{case}");
            assert_eq!(found["correct"], checked * passes, "{case}");
            assert_eq!(code, Some(if checked == 0 { 5 } else { 0 }), "{case}");
            assert_eq!(messages.contains("Nothing was verified"), checked == 0, "{case}");
            assert_eq!(messages.contains("0 wrong of"), checked > 0, "{case}");
            assert!(!messages.contains("0 wrong of 0 "), "{case}");
        }
    }
}

#[test]
fn what_reads_nothing_or_keeps_nothing_was_not_verified() {
    let dir = tempfile::tempdir().unwrap();
    for words in [
        "x --size 16M --ops write=100 --passes 1 --verify read",
        "null --size 16M --ops randread=100 --ios 1000 --verify",
        "null --size 16M --ops randwrite=50,randread=50 --ios 1000 --verify both",
    ] {
        let answer = load(dir.path(), words);
        let output = format!("{}{}", answer.out, answer.err);
        assert_eq!(answer.code, Some(5), "{words}: {output}");
        assert!(output.contains("Nothing was verified") && !output.contains("0 wrong"), "{output}");
    }
}

#[test]
fn zeros_that_nobody_wrote_are_no_proof_of_the_writes_beside_them() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let new = |name: &str, words: &str| {
        let args = format!("{name} --size 16M {words} --seed 1 --json");
        let answer = load(dir, &args);
        let last = answer.out.lines().last().unwrap_or_default();
        let summary: Value =
            serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {answer:?}"));
        (answer.code, summary["verify"].clone(), summary["notices"].to_string())
    };
    let odd = "--ops randwrite=100 --block-size 2300 --align 1 --buffered --ios 500 --verify after";
    let (code, found, messages) = new("odd", odd);
    assert_eq!((code, &found["checked"], &found["correct"]), (Some(5), &0.into(), &0.into()));
    assert!(found["untouched"].as_u64() > Some(3000), "{found}");
    assert!(messages.contains("Nothing was verified"), "{messages}");
    for (name, ios, code, why) in [
        (
            "some",
            "--ops randwrite=100 --ios 100 --verify after",
            0,
            "has parts that were never written",
        ),
        ("none", "--ops randread=100 --ios 100 --verify read", 5, "nobody had written any"),
    ] {
        let (ended, found, output) = new(name, ios);
        assert_eq!(ended, Some(code), "{name}: {output}");
        assert!(output.contains(why), "{name}: {output}");
        let count = |key: &str| found[key].as_u64().unwrap();
        assert_eq!(count("read"), count("checked") + count("untouched"), "{name}: {found}");
        assert!(count("untouched") > 0 && (count("checked") > 0) == (code == 0), "{name}: {found}");
    }
}

#[test]
fn after_a_load_that_was_killed_its_range_counts_as_read_and_not_as_checked() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let state = "--verify-state state";
    assert_eq!(load(dir, &format!("x --size 16M {FILL} {state}")).code, Some(0));
    let long = format!("load x --size 16M --ops randwrite=100 --duration 60s {state}");
    let args: Vec<&str> = long.split_whitespace().collect();
    let before = std::fs::read(dir.join("x")).unwrap();
    let mut child = crate::program::command(&args).current_dir(dir).spawn().unwrap();
    let begun = std::time::Instant::now();
    while std::fs::read(dir.join("x")).unwrap() == before {
        assert!(begun.elapsed().as_secs() < 60, "nothing was written");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (code, found, messages) = verified(dir, &format!("{LOOK} --verify {state}"));
    assert_eq!((code, &found["checked"], &found["read"]), (Some(5), &0.into(), &4096.into()));
    assert!(messages.contains("no block checked, of 4,096 read"), "{messages}");
}

/// A stack of XFS whose last stage is to verify; the result's directory is `r`.
fn run(dir: &Path, device: &str, stages: &str) -> Answer {
    run_load(dir, device, stages, "ops = { randread = 100 }\nios = 2000\nverify = \"read\"")
}

/// The same, whose last stage is this load.
fn run_load(dir: &Path, device: &str, stages: &str, load: &str) -> Answer {
    let experiment = format!(
        "name = \"look\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"320M\"\n\
         [[stack]]\nlayer = \"xfs\"\non = \"data\"\n[[stage]]\ndo = \"layout\"\nname = \"files\"\n\
         files = 2\nsize = \"16M\"\n{stages}[[stage]]\ndo = \"load\"\nname = \"look\"\n\
         files = \"files\"\nmeasure = true\n{load}\n"
    );
    std::fs::write(dir.join("look.toml"), experiment).unwrap();
    let device = format!("data={device}");
    let args = ["run", "look.toml", "--device", &device, "--allow-commands", "--out", "r"];
    fathom_in(dir, &args)
}

#[test]
fn a_stage_of_a_run_verifies_the_files_that_a_stage_before_it_wrote() {
    let name = "a_stage_of_a_run_verifies_the_files_that_a_stage_before_it_wrote";
    if !Path::new("/usr/sbin/mkfs.xfs").exists() {
        return skip(name, "no XFS here");
    }
    let Some(disk) = loop_device(320 << 20) else {
        return skip(name, "no loop device can be made (needs root)");
    };
    let spoil = "[[stage]]\ndo = \"command\"\nname = \"spoil\"\nargv = [\"dd\", \"if=/dev/zero\", \
                 \"of={mount}/files/0\", \"bs=1M\", \"count=16\", \"conv=notrunc\"]\n";
    for (stages, code, wrong) in [("", 0, false), (spoil, 5, true)] {
        let dir = tempfile::tempdir().unwrap();
        let answer = run(dir.path(), &disk.path, stages);
        assert_eq!(answer.code, Some(code), "{}{}", answer.out, answer.err);
        let shown = fathom_in(dir.path(), &["show", "r", "--json"]);
        let shown: Value = serde_json::from_str(&shown.out).unwrap();
        let found = &shown["variants"][0]["verified"];
        assert_eq!((&found["read"], &found["checked"]), (&2000.into(), &2000.into()), "{found}");
        assert_eq!(found["wrong"]["zeros"].as_u64() > Some(500), wrong, "{found}");
        std::process::Command::new("wipefs").args(["-a", &disk.path]).output().unwrap();
    }
}

#[test]
fn a_laid_out_file_of_another_size_by_now_is_not_verified_in_part() {
    let name = "a_laid_out_file_of_another_size_by_now_is_not_verified_in_part";
    if !Path::new("/usr/sbin/mkfs.xfs").exists() {
        return skip(name, "no XFS here");
    }
    let Some(disk) = loop_device(320 << 20) else {
        return skip(name, "no loop device can be made (needs root)");
    };
    for size in ["8M", "0", "17M"] {
        let dir = tempfile::tempdir().unwrap();
        let cut = format!(
            "[[stage]]\ndo = \"command\"\nname = \"cut\"\nargv = [\"truncate\", \"-s\", \"{size}\", \"{{mount}}/files/1\"]\n"
        );
        let answer = run(dir.path(), &disk.path, &cut);
        let output = format!("{size}: {}{}", answer.out, answer.err);
        assert_eq!(answer.code, Some(5), "{output}");
        let words = output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("its layout made it 16,777,216 long"), "{output}");
        std::process::Command::new("wipefs").args(["-a", &disk.path]).output().unwrap();
    }
}

#[test]
fn what_a_load_reads_back_afterwards_is_in_no_figure_of_its_stage() {
    let name = "what_a_load_reads_back_afterwards_is_in_no_figure_of_its_stage";
    if !Path::new("/usr/sbin/mkfs.xfs").exists() {
        return skip(name, "no XFS here");
    }
    let Some(disk) = loop_device(320 << 20) else {
        return skip(name, "no loop device can be made (needs root)");
    };
    for settle in ["", "settle = false\n", "settle = true\n"] {
        let dir = tempfile::tempdir().unwrap();
        let load = format!("{settle}ops = {{ randwrite = 100 }}\nios = 100\nverify = \"after\"");
        let answer = run_load(dir.path(), &disk.path, "", &load);
        assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
        let cell = dir.path().join("r/cells/00-default-r1/cell.json");
        let cell: Value = serde_json::from_slice(&std::fs::read(cell).unwrap()).unwrap();
        let stage = &cell["stages"][1];
        // All of both files was read back, past the page cache.
        assert_eq!(stage["load"]["verify"]["read"], 8192, "{stage}");
        let read = stage["layers"]["data"]["device_read_bytes"].as_f64().unwrap();
        assert!(read < f64::from(8 << 20), "{read} bytes in {}", stage["layers"]);
        std::process::Command::new("wipefs").args(["-a", &disk.path]).output().unwrap();
    }
}

#[test]
fn a_load_on_files_of_a_stack_writes_nothing_through_a_link_out_of_it() {
    let name = "a_load_on_files_of_a_stack_writes_nothing_through_a_link_out_of_it";
    if !Path::new("/usr/sbin/mkfs.xfs").exists() {
        return skip(name, "no XFS here");
    }
    let Some(disk) = loop_device(320 << 20) else {
        return skip(name, "no loop device can be made (needs root)");
    };
    let theirs = tempfile::tempdir().unwrap();
    let content = vec![7; 16 << 20];
    for file in ["0", "1"] {
        std::fs::write(theirs.path().join(file), &content).unwrap();
    }
    let at = theirs.path().display();
    for swap in [
        format!("rm {{mount}}/files/0; ln -s {at}/0 {{mount}}/files/0"),
        format!("rm -r {{mount}}/files; ln -s {at} {{mount}}/files"),
        format!("mount --bind {at}/0 {{mount}}/files/0"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let stage = format!(
            "[[stage]]\ndo = \"command\"\nname = \"swap\"\nargv = [\"sh\", \"-c\", \"{swap}\"]\n"
        );
        let load = "ops = { randwrite = 100 }\nios = 100";
        let answer = run_load(dir.path(), &disk.path, &stage, load);
        let output = format!("{swap}: {}{}", answer.out, answer.err);
        // What hangs in the stack cannot be taken down.
        let code = if swap.starts_with("mount") { 6 } else { 5 };
        assert_eq!(answer.code, Some(code), "{output}");
        let one_line = output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains("leads out of the file system"), "{one_line}");
        for file in ["0", "1"] {
            assert_eq!(std::fs::read(theirs.path().join(file)).unwrap(), content, "{one_line}");
        }
        // A mount of theirs inside the stack's is left to them, and holds it.
        let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        for line in table.lines().filter(|line| line.contains("_xfs/files/0 ")) {
            let place = line.split(' ').nth(4).unwrap();
            assert!(std::process::Command::new("umount").arg(place).status().unwrap().success());
            let cleaned = fathom_in(dir.path(), &["clean", "r", "--yes"]);
            assert_eq!(cleaned.code, Some(0), "{}{}", cleaned.out, cleaned.err);
        }
        std::process::Command::new("wipefs").args(["-a", &disk.path]).output().unwrap();
    }
}
