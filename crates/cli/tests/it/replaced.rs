//! Devices and file systems that are replaced while a run works on them: nothing foreign is written, and what happened is reported.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::loop_device::{LoopDevice, loop_device};
use crate::program::{Answer, fathom_in, ready, skip, text};

/// The byte that the foreign device is full of.
const FOREIGN: u8 = 0x5A;
const SIZE: u64 = 320 << 20;

/// Our device, a foreign one full of data, and a directory for links, files and results.
struct Scene {
    dir: tempfile::TempDir,
    ours: LoopDevice,
    foreign: LoopDevice,
}

impl Scene {
    fn new(test: &str) -> Option<Self> {
        let there = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        if !there.contains("\txfs\n") || !Path::new("/usr/sbin/mkfs.xfs").exists() {
            skip(test, "no XFS here");
            return None;
        }
        let (Some(ours), Some(foreign)) = (loop_device(SIZE), loop_device(SIZE)) else {
            skip(test, "no loop device can be made (needs root)");
            return None;
        };
        fs::write(&foreign.path, vec![FOREIGN; SIZE as usize]).unwrap();
        Some(Self { dir: tempfile::tempdir().unwrap(), ours, foreign })
    }

    /// Runs XFS on `device`, with stages in which `{ours}` and `{foreign}` are the devices.
    fn run(&self, device: &str, repeat: u32, stages: &str) -> Answer {
        let stages =
            stages.replace("{ours}", &self.ours.path).replace("{foreign}", &self.foreign.path);
        let experiment = format!(
            "name = \"swap\"\nabout = \"\"\nrepeat = {repeat}\n[devices.data]\nsize = \"320M\"\n\
             [[stack]]\nlayer = \"xfs\"\non = \"data\"\n{stages}"
        );
        fs::write(self.dir.path().join("swap.toml"), experiment).unwrap();
        let device = format!("data={device}");
        let args = ["run", "swap.toml", "--device", &device, "--allow-commands", "--out", "r"];
        fathom_in(self.dir.path(), &args)
    }

    fn foreign_is_whole(&self) -> bool {
        fs::read(&self.foreign.path).unwrap().iter().all(|byte| *byte == FOREIGN)
    }

    /// Mounts, directories and files that the run left, by its tag.
    fn left(&self) -> Vec<String> {
        let manifest = fs::read(self.dir.path().join("r/manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        let tag = format!("fathom_{}", manifest["run_id"].as_str().unwrap());
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let mounts = mounts.lines().filter(|line| line.contains(&tag)).map(str::to_owned);
        let dirs = fs::read_dir("/run").unwrap().flatten();
        let dirs =
            dirs.map(|dir| dir.path().display().to_string()).filter(|dir| dir.contains(&tag));
        mounts.chain(dirs).collect()
    }
}

fn shell(stage: &str, script: &str) -> String {
    format!(
        "[[stage]]\ndo = \"command\"\nname = \"{stage}\"\nmeasure = true\nshell = '''{script}'''\n"
    )
}

#[test]
fn a_name_that_leads_elsewhere_after_the_claim_is_not_followed() {
    let Some(scene) = Scene::new("a_name_that_leads_elsewhere_after_the_claim_is_not_followed")
    else {
        return;
    };
    let link = scene.dir.path().join("disk");
    std::os::unix::fs::symlink(&scene.ours.path, &link).unwrap();
    let swap = shell("swap", &format!("ln -sfn {{foreign}} {}; sync", text(&link)));
    let answer = scene.run("disk", 2, &swap);
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    assert_eq!(fs::read_link(&link).unwrap(), Path::new(&scene.foreign.path));
    assert!(scene.foreign_is_whole(), "the device that the link leads to now was written");
    // The run removed its own signature: the device is as free as before.
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&scene.ours.path, &link).unwrap();
    fs::remove_dir_all(scene.dir.path().join("r")).unwrap();
    let answer = scene.run("disk", 1, &shell("look", "true"));
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
}

/// Puts a node of the kernel back, whatever happens.
struct Node<'a>(&'a str);

impl Drop for Node<'_> {
    fn drop(&mut self) {
        let _ = fs::rename(format!("{}.was", self.0), self.0);
    }
}

#[test]
fn a_node_that_is_another_device_by_now_is_left_alone_by_every_step() {
    let name = "a_node_that_is_another_device_by_now_is_left_alone_by_every_step";
    for replace in ["cp -a {foreign} {ours}", "ln -s {foreign} {ours}", "cp /dev/null {ours}"] {
        let Some(scene) = Scene::new(name) else { return };
        let ours = scene.ours.path.clone();
        let node = Node(&ours);
        // The second cell begins with a discard, a wipe and mkfs; the first one's end wipes, too.
        let swap = shell("swap", &format!("mv {{ours}} {{ours}}.was && {replace}"));
        let answer = scene.run(&ours, 2, &swap);
        assert_eq!(answer.code, Some(5), "{replace}: {}\n{}", answer.out, answer.err);
        let output = format!("{} {}", answer.out, answer.err);
        assert!(output.contains("is no longer the device that was claimed"), "{replace}: {output}");
        drop(node);
        assert!(scene.foreign_is_whole(), "{replace}: the device in its place was written");
        assert_eq!(scene.left(), Vec::<String>::new(), "{replace}");
    }
}

#[test]
fn a_loop_device_whose_file_is_renamed_or_unlinked_is_still_the_same() {
    let name = "a_loop_device_whose_file_is_renamed_or_unlinked_is_still_the_same";
    let find = "file=$(cat /sys/block/$(basename {ours})/loop/backing_file)";
    for (change, back) in
        [("mv $file $file.moved", "mv $file ${file%.moved}"), ("rm $file", "true")]
    {
        let Some(scene) = Scene::new(name) else { return };
        let [change, back] = [change, back].map(|what| format!("{find}; {what}"));
        let stages = shell("change", &change) + WRITES[1].1 + &shell("back", &back);
        let answer = scene.run(&scene.ours.path.clone(), 1, &stages);
        assert_eq!(answer.code, Some(0), "{change}: {}\n{}", answer.out, answer.err);
    }
}

const WRITES: [(&str, &str); 3] = [
    ("age", "[[stage]]\ndo = \"age\"\nname = \"age\"\nfiles = 4\nrounds = 4\n"),
    ("layout", "[[stage]]\ndo = \"layout\"\nname = \"files\"\nsize = \"16M\"\n"),
    (
        "command",
        "[[stage]]\ndo = \"command\"\nname = \"write\"\nargv = [\"touch\", \"{mount}/new\"]\n",
    ),
];

#[test]
fn nothing_is_written_where_the_file_system_was_mounted() {
    let name = "nothing_is_written_where_the_file_system_was_mounted";
    for (kind, stage) in &WRITES {
        let Some(scene) = Scene::new(name) else { return };
        let gone = shell("gone", "umount -l {mount}") + stage;
        let answer = scene.run(&scene.ours.path, 1, &gone);
        assert_eq!(answer.code, Some(5), "{kind}: {}\n{}", answer.out, answer.err);
        let output = format!("{} {}", answer.out, answer.err);
        assert!(output.contains("was unmounted, by"), "{kind}: {output}");
        assert_eq!(scene.left(), Vec::<String>::new(), "{kind}");
    }
}

/// Waits until our device is mounted and something is in `ready`, then does something with the mount; returns where that is.
fn once(ours: &str, ready: &str, act: impl FnOnce(&str)) -> String {
    for _ in 0..3000 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let line = mounts.lines().find(|line| line.starts_with(&format!("{ours} ")));
        let Some(at) = line.and_then(|line| line.split(' ').nth(1)) else { continue };
        if fs::read_dir(Path::new(at).join(ready)).is_ok_and(|mut files| files.next().is_some()) {
            act(at);
            return at.to_owned();
        }
    }
    panic!("{ours} was never mounted");
}

#[test]
fn a_load_whose_file_system_is_detached_under_it_writes_on_where_it_meant_to() {
    let name = "a_load_whose_file_system_is_detached_under_it_writes_on_where_it_meant_to";
    let Some(scene) = Scene::new(name) else { return };
    // Rounds make files long after the mount has gone from its directory.
    let fill = "[[stage]]\ndo = \"fill\"\nname = \"fill\"\nof = \"file system\"\nto = \"80%\"\n\
                by = { ops = { write = 100 }, limit = \"40MiB/s\" }\n";
    let answer = std::thread::scope(|threads| {
        let detach = |at: &str| {
            assert!(Command::new("umount").args(["-l", at]).status().unwrap().success());
        };
        let ours = &scene.ours.path;
        threads.spawn(move || once(ours, "fill", detach));
        scene.run(&scene.ours.path, 1, &(fill.to_owned() + &shell("look", "true")))
    });
    assert_eq!(answer.code, Some(5), "{}\n{}", answer.out, answer.err);
    let output = format!("{} {}", answer.out, answer.err);
    assert!(output.contains("was unmounted, by"), "{output}");
    assert_eq!(scene.left(), Vec::<String>::new());
}

#[test]
fn nothing_is_written_into_what_is_mounted_over_the_file_system() {
    let name = "nothing_is_written_into_what_is_mounted_over_the_file_system";
    for (kind, stage) in &WRITES {
        let Some(scene) = Scene::new(name) else { return };
        let over = scene.dir.path().join("over");
        fs::create_dir(&over).unwrap();
        let covered = shell("covered", &format!("mount --bind {} {{mount}}", text(&over))) + stage;
        let answer = scene.run(&scene.ours.path, 1, &covered);
        let written = fs::read_dir(&over).unwrap().count();
        let left = scene.left();
        let at = left.iter().find(|line| line.starts_with("/run/")).cloned().unwrap_or_default();
        Command::new("umount").arg(&at).status().unwrap();
        assert_eq!(answer.code, Some(6), "{kind}: {}\n{}", answer.out, answer.err);
        let output = format!("{} {}", answer.out, answer.err);
        assert!(output.contains("something else is mounted over"), "{kind}: {output}");
        assert_eq!(written, 0, "{kind}");
        let answer = fathom_in(scene.dir.path(), &["clean", "r", "--yes"]);
        assert_eq!(answer.code, Some(0), "{kind}: {}\n{}", answer.out, answer.err);
        assert_eq!(scene.left(), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn an_ageing_writes_nothing_into_what_is_mounted_over_its_directory() {
    let name = "an_ageing_writes_nothing_into_what_is_mounted_over_its_directory";
    let Some(scene) = Scene::new(name) else { return };
    let stage = "[[stage]]\ndo = \"age\"\nname = \"age\"\nmeasure = true\nfiles = 60\nrounds = 200\nfill = \"90%\"\n";
    let (answer, at) = std::thread::scope(|threads| {
        let cover = |at: &str| {
            let over = format!("{at}/age");
            let args = ["-t", "tmpfs", "-o", "size=64m", "over", &over];
            assert!(Command::new("mount").args(args).status().unwrap().success());
        };
        let ours = &scene.ours.path;
        let at = threads.spawn(move || once(ours, "age/grown", cover));
        (scene.run(&scene.ours.path, 1, stage), at.join().unwrap())
    });
    let over = format!("{at}/age");
    let written = fs::read_dir(&over).unwrap().count();
    assert!(Command::new("umount").arg(&over).status().unwrap().success());
    // What is mounted in the file system keeps it from being unmounted.
    assert_eq!(answer.code, Some(6), "{}\n{}", answer.out, answer.err);
    assert!(answer.err.contains("is not where it was made"), "{}", answer.err);
    assert_eq!(written, 0, "it wrote into a foreign file system");
    let answer = fathom_in(scene.dir.path(), &["clean", "r", "--yes"]);
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    assert_eq!(scene.left(), Vec::<String>::new());
}

#[test]
fn a_file_system_that_ended_itself_is_told_by_its_error_and_taken_down() {
    let name = "a_file_system_that_ended_itself_is_told_by_its_error_and_taken_down";
    if Command::new("xfs_io").arg("-V").output().is_err() {
        return skip(name, "no xfs_io here");
    }
    for (kind, stage) in &WRITES {
        let Some(scene) = Scene::new(name) else { return };
        let dead = shell("dead", "xfs_io -x -c shutdown {mount}") + stage;
        let answer = scene.run(&scene.ours.path, 1, &dead);
        assert_eq!(answer.code, Some(5), "{kind}: {}\n{}", answer.out, answer.err);
        let output = format!("{} {}", answer.out, answer.err);
        assert!(!output.contains("something else is mounted"), "{kind}: {output}");
        assert_eq!(scene.left(), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn a_mounted_file_system_of_a_run_is_not_unmounted_by_others() {
    let name = "a_mounted_file_system_of_a_run_is_not_unmounted_by_others";
    let Some(scene) = Scene::new(name) else { return };
    let answer = scene.run(&scene.ours.path, 1, &shell("gone", "umount {mount}"));
    assert_eq!(answer.code, Some(5), "{}\n{}", answer.out, answer.err);
    assert!(format!("{}{}", answer.out, answer.err).contains("busy"), "{}", answer.err);
    assert_eq!(scene.left(), Vec::<String>::new());
}

#[test]
fn a_link_that_changes_all_the_time_never_costs_the_foreign_file() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let foreign = vec![FOREIGN; 1 << 20];
    fs::write(at("foreign"), &foreign).unwrap();
    let load = |target: &str, more: &[&str]| {
        let args = ["load", target, "--ops", "randwrite=100", "--ios", "64", "--seed", "1"];
        fathom_in(dir.path(), &[&args, more].concat())
    };
    assert_eq!(load("ours", &["--size", "1M", "--io-log", "log"]).code, Some(0));
    fs::write(at("other"), "theirs").unwrap();
    std::os::unix::fs::symlink("ours", at("link")).unwrap();
    let over = AtomicBool::new(false);
    let codes: Vec<_> = std::thread::scope(|scope| {
        scope.spawn(|| {
            for to in ["foreign", "ours"].into_iter().cycle() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let _ = fs::remove_file(at("next"));
                std::os::unix::fs::symlink(to, at("next")).unwrap();
                fs::rename(at("next"), at("link")).unwrap();
                // The log changes places with a foreign file.
                let names = [at("log"), at("other")];
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                let cwd = rustix::fs::CWD;
                let _ = rustix::fs::renameat_with(cwd, &names[0], cwd, &names[1], exchange);
            }
        });
        let codes = (0..60).map(|_| load("link", &["--io-log", "log"]).code).collect();
        over.store(true, Ordering::Relaxed);
        codes
    });
    assert_eq!(fs::read(at("foreign")).unwrap(), foreign);
    let logs = [at("log"), at("other")].map(|path| fs::read(path).unwrap());
    assert_eq!(logs.iter().filter(|bytes| *bytes == b"theirs").count(), 1);
    assert!(codes.iter().all(|code| *code == Some(0) || *code == Some(4)), "{codes:?}");
}

/// Ways of a command to put another device under the name `$A` of a layer, where `$O` is another layer's.
const SWAPS: [&str; 3] = [
    "dmsetup rename $A away; dmsetup rename $O $A; dmsetup rename away $O; dmsetup mknodes",
    "ln -sfn $(readlink -f /dev/mapper/$O) /dev/mapper/$A",
    // Name, number and UUID stay; what is below is another disk.
    "dmsetup suspend $A; dmsetup reload $A --table \"0 $(dmsetup table $A | cut -d\\  -f2) linear /dev/disk/by-role/other 0\"; dmsetup resume $A",
];
/// Takes `$A` down and makes it anew, maybe with another number.
const ANEW: &str =
    "V=$(echo $A | sed 's,-volume,/volume,'); lvm lvchange -an $V; lvm lvchange -ay $V";

#[test]
fn a_mapped_device_that_is_another_one_by_now_is_not_driven() {
    let name = "a_mapped_device_that_is_another_one_by_now_is_not_driven";
    let Some(_turn) = ready(name) else { return };
    let layer = |name: &str, on: &str| {
        format!(
            "[[stack]]\nlayer = \"linear\"\nname = \"{name}\"\non = \"{on}\"\nsize = \"256M\"\n"
        )
    };
    let load = |name: &str, target: &str| {
        format!(
            "[[stage]]\ndo = \"load\"\nname = \"{name}\"\ntarget = \"{target}\"\nsize = \"4M\"\npasses = 1\n\
             ops = {{ write = 100 }}\nmeasure = {}\n",
            name == "last"
        )
    };
    let command = |name: &str, shell: &str| {
        format!(
            "[[stage]]\ndo = \"command\"\nname = \"{name}\"\ntarget = \"a-b\"\ninterpreter = \"/bin/sh\"\n\
             packages = [\"coreutils\", \"dmsetup\", \"lvm2\", \"sed\"]\n\
             shell = '''A=$(basename {{target}}); O=$(echo $A | sed \"s/a+b/o/\"); {shell}'''\n"
        )
    };
    for swap in SWAPS {
        let dir = tempfile::tempdir().unwrap();
        let parts = [
            "name = \"swaps\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"1G\"\n[devices.other]\nsize = \"1G\"\n".to_owned(),
            layer("a-b", "data") + &layer("o", "other") + &load("first", "a-b"),
            command("anew", ANEW) + &load("again", "a-b"),
            command("swap", swap) + &load("last", "a-b") + &load("of o", "o"),
            "[[question]]\nmetric = \"iops\"\n".to_owned(),
        ];
        fs::write(dir.path().join("swaps.toml"), parts.concat()).unwrap();
        let answer = fathom_in(dir.path(), &["lab", "run", "swaps.toml", "--out", "r"]);
        let output = format!("{swap}: {}\n{}", answer.out, answer.err);
        // A device that now lies on the other layer's disk keeps that one from being taken down.
        assert!(matches!(answer.code, Some(5 | 6)), "{output}");
        let result = results::open(&dir.path().join("r")).unwrap();
        let record = result.cells[0].record.as_ref().unwrap();
        let stages: Vec<_> = record.stages.iter().map(|stage| stage.name.as_str()).collect();
        assert_eq!(stages, ["first", "anew", "again", "swap"], "{output}");
        let reason = record.reason.clone().unwrap_or_default();
        assert!(reason.contains("no longer the device that the stack was built with"), "{output}");
    }
}
