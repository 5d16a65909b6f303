//! Runs on a loop device that are killed, or copied while they go on: what they left is taken down, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::loop_device::{LoopDevice, loop_device};
use crate::program::{Answer, command, fathom_in, skip, text};

pub(crate) const SIZE: u64 = 320 << 20;

/// A loop device and a directory in which runs of XFS on it write their results.
pub(crate) struct Scene {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) disk: LoopDevice,
}

impl Scene {
    pub(crate) fn new(test: &str) -> Option<Self> {
        let there = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        if !there.contains("\txfs\n") || !Path::new("/usr/sbin/mkfs.xfs").exists() {
            skip(test, "no XFS here");
            return None;
        }
        let Some(disk) = loop_device(SIZE) else {
            skip(test, "no loop device can be made (needs root)");
            return None;
        };
        Some(Self { dir: tempfile::tempdir().unwrap(), disk })
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn arguments(&self, repeat: u32, script: &str) -> [String; 5] {
        let experiment = format!(
            "name = \"clean\"\nabout = \"\"\nrepeat = {repeat}\n[devices.data]\nsize = \"320M\"\n\
             [[stack]]\nlayer = \"xfs\"\non = \"data\"\n\
             [[stage]]\ndo = \"command\"\nname = \"work\"\nmeasure = true\nshell = '''{script}'''\n"
        );
        fs::write(self.at("clean.toml"), experiment).unwrap();
        let device = format!("data={}", self.disk.path);
        ["run", "clean.toml", "--device", &device, "--allow-commands"].map(str::to_owned)
    }

    /// Starts a run that writes into `out`; what it says is in the file `said`.
    pub(crate) fn start(&self, out: &str, repeat: u32, script: &str) -> Child {
        let arguments = self.arguments(repeat, script);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let log_file = fs::File::create(self.at("said")).unwrap();
        command(&[&arguments[..], &["--out", out]].concat())
            .current_dir(self.dir.path())
            .stdout(Stdio::null())
            .stderr(log_file)
            .spawn()
            .unwrap()
    }

    /// Goes on with the result in `out`, on its device under the name `link`.
    fn start_resumed(&self, link: &Path, out: &str) -> Child {
        let _ = fs::remove_file(link);
        std::os::unix::fs::symlink(&self.disk.path, link).unwrap();
        let device = format!("data={}", text(link));
        let log_file = fs::File::create(self.at("said")).unwrap();
        command(&["run", "clean.toml", "--device", &device, "--allow-commands", "--resume", out])
            .current_dir(self.dir.path())
            .stdout(Stdio::null())
            .stderr(log_file)
            .spawn()
            .unwrap()
    }

    pub(crate) fn fathom(&self, arguments: &[&str]) -> Answer {
        fathom_in(self.dir.path(), arguments)
    }

    fn is_cleaned(&self, out: &str) {
        let answer = self.fathom(&["clean", out, "--yes"]);
        assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    }

    pub(crate) fn tag(&self, out: &str) -> Option<String> {
        let manifest = fs::read(self.at(out).join("manifest.json")).ok()?;
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).ok()?;
        Some(manifest["run_id"].as_str()?.to_owned())
    }

    /// Lists what is there of a run: mounts, directories and locks that carry its tag, and whatever uses or marks the device.
    pub(crate) fn left(&self, tag: &str) -> Vec<String> {
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let of_run = |line: &&str| line.contains(tag) || line.starts_with(&self.disk.path);
        let mounts = mounts.lines().filter(of_run).map(str::to_owned);
        let places = ["/run", "/run/fathom"].into_iter().filter_map(|dir| fs::read_dir(dir).ok());
        let places = places.flatten().flatten().map(|entry| entry.path().display().to_string());
        let name = self.disk.path.trim_start_matches("/dev/");
        let holders = fs::read_dir(format!("/sys/block/{name}/holders")).unwrap().flatten();
        let holders = holders.map(|holder| format!("holder {:?}", holder.file_name()));
        let probed = Command::new("blkid").args(["-p", &self.disk.path]).output().unwrap();
        let probed = String::from_utf8_lossy(&probed.stdout).trim().to_owned();
        let places = places.filter(|path| path.contains(tag));
        mounts.chain(places).chain(holders).chain((!probed.is_empty()).then_some(probed)).collect()
    }
}

pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_run_is_not_taken_down_by_the_copy_of_its_result() {
    let Some(ground) = Scene::new("a_run_is_not_taken_down_by_the_copy_of_its_result") else {
        return;
    };
    let end = ground.at("end");
    let script = format!(
        "echo begun >{{mount}}/begun; while ! [ -e {} ]; do sleep 0.05; done; cat {{mount}}/begun",
        end.display()
    );
    let mut run = ground.start("r", 1, &script);
    let begun = || {
        ground.tag("r").filter(|tag| Path::new(&format!("/run/fathom_{tag}_xfs/begun")).exists())
    };
    until("it never began", || begun().is_some());
    let tag = ground.tag("r").unwrap();
    assert!(
        Command::new("cp")
            .args(["-r", "r", "copy"])
            .current_dir(ground.dir.path())
            .status()
            .unwrap()
            .success()
    );
    for arguments in [
        &["clean", "copy"][..],
        &["clean", "copy", "--yes"],
        &["run", "clean.toml", "--simulate", "--resume", "copy"],
    ] {
        let answer = ground.fathom(arguments);
        assert_eq!(answer.code, Some(4), "{arguments:?}: {}\n{}", answer.out, answer.err);
        let phrase = format!("process {} writes into {}", run.id(), ground.at("r").display());
        for expected_phrase in [&*tag, "still goes on", &phrase, "help:"] {
            assert!(
                answer.err.contains(expected_phrase),
                "{arguments:?}: {expected_phrase}: {}",
                answer.err
            );
        }
        assert!(begun().is_some(), "{arguments:?} took it down");
    }
    fs::write(end, "").unwrap();
    assert!(run.wait().unwrap().success(), "{}", fs::read_to_string(ground.at("said")).unwrap());
    let answer = ground.fathom(&["clean", "copy", "--yes"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert_eq!(ground.left(&tag), Vec::<String>::new());
}

#[test]
fn whenever_a_run_is_killed_cleaning_leaves_nothing_of_it() {
    const KILLS: u32 = 20;
    let name = "whenever_a_run_is_killed_cleaning_leaves_nothing_of_it";
    let Some(ground) = Scene::new(name) else { return };
    // In a session of its own it would hold the file system.
    let script = "setsid sh -c 'exec 3>{mount}/held; sleep 600' & dd if=/dev/zero of={mount}/x bs=1M count=8";
    let begun = Instant::now();
    let whole = ground.start("whole", 2, script).wait().unwrap();
    assert!(whole.success(), "{}", fs::read_to_string(ground.at("said")).unwrap());
    let whole = begun.elapsed();
    let mut found = Vec::new();
    for kill in 0..KILLS {
        let out = format!("r{kill}");
        let mut run = ground.start(&out, 2, script);
        std::thread::sleep(whole * (2 * kill + 1) / (2 * KILLS));
        let ended = run.try_wait().unwrap();
        run.kill().unwrap();
        run.wait().unwrap();
        let log = fs::read_to_string(ground.at("said")).unwrap();
        assert!(
            !log.contains("error:"),
            "{kill}: what was before it is in its way: {log}, {ended:?}"
        );
        // Killed before it wrote down what it is: it has made nothing.
        let Some(tag) = ground.tag(&out) else { continue };
        let answer = ground.fathom(&["clean", &out, "--yes", "--json"]);
        assert_eq!(answer.code, Some(0), "{kill}: {}\n{}", answer.out, answer.err);
        assert_eq!(ground.left(&tag), Vec::<String>::new(), "{kill}: {}", answer.out);
        let document: serde_json::Value = serde_json::from_str(answer.out.trim()).unwrap();
        assert_eq!(document["left_alone"], serde_json::json!([]), "{kill}");
        found.extend(document["found"].as_array().unwrap().iter().map(ToString::to_string));
    }
    // The moments were such that there was something to do.
    for what in ["mount at /run/fathom_", "signature of the run on /dev/loop"] {
        assert!(found.iter().any(|found| found.contains(what)), "{what}: {found:?}");
    }
    let answer = ground.start("last", 1, "true").wait().unwrap();
    assert!(answer.success(), "{}", fs::read_to_string(ground.at("said")).unwrap());
}

#[test]
fn a_loop_device_on_a_file_in_the_stack_goes_before_what_it_keeps_mounted() {
    let name = "a_loop_device_on_a_file_in_the_stack_goes_before_what_it_keeps_mounted";
    let Some(ground) = Scene::new(name) else { return };
    let script = "truncate -s 10M {mount}/img; losetup -f --show {mount}/img";
    ground.start("r", 1, script).wait().unwrap();
    let tag = ground.tag("r").unwrap();
    // The device is mounted still, and the next run says what frees it.
    let next = ground.start("next", 1, "true").wait().unwrap();
    let log = fs::read_to_string(ground.at("said")).unwrap();
    assert!(!next.success() && log.contains("fathom clean"), "{log}");
    let answer = ground.fathom(&["clean", "r", "--yes"]);
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    assert_eq!(ground.left(&tag), Vec::<String>::new(), "{}", answer.out);
}

#[test]
fn a_file_that_was_written_where_nothing_was_mounted_is_named() {
    let name = "a_file_that_was_written_where_nothing_was_mounted_is_named";
    let Some(ground) = Scene::new(name) else { return };
    let script = "umount -l {mount}; cp /etc/hostname {mount}/y";
    ground.start("r", 1, script).wait().unwrap();
    let log = fs::read_to_string(ground.at("said")).unwrap();
    assert!(log.contains("go on after the command"), "{log}");
    let file = format!("/run/fathom_{}_xfs/y", ground.tag("r").unwrap());
    let answer = ground.fathom(&["clean", "r", "--yes"]);
    assert_eq!(answer.code, Some(6), "{}\n{}", answer.out, answer.err);
    assert!(answer.out.contains(&file) && !answer.out.contains("in use"), "{}", answer.out);
    fs::remove_file(&file).unwrap();
    assert_eq!(ground.fathom(&["clean", "r", "--yes"]).code, Some(0));
}

/// Foreign content that is put on the device, or over its file system, once a run of ours was killed.
const FOREIGN: [(&str, &str); 3] = [
    ("mount over", "mount -t tmpfs foreign {mount}"),
    ("mount in place", "umount {mount} && mount -t tmpfs foreign {mount}"),
    ("file system in place", "umount {mount} && mkfs.xfs -f -q {device}"),
];

#[test]
fn what_others_put_where_a_killed_run_was_is_neither_unmounted_nor_wiped() {
    let name = "what_others_put_where_a_killed_run_was_is_neither_unmounted_nor_wiped";
    for (what, script) in FOREIGN {
        let Some(ground) = Scene::new(name) else { return };
        let mut run = ground.start("r", 1, "touch {mount}/begun; sleep 600");
        let mount = || ground.tag("r").map(|tag| format!("/run/fathom_{tag}_xfs"));
        until("it never began", || mount().is_some_and(|at| Path::new(&at).join("begun").exists()));
        run.kill().unwrap();
        run.wait().unwrap();
        let (tag, mount) = (ground.tag("r").unwrap(), mount().unwrap());
        // Its command dies with it.
        let script = script.replace("{mount}", &mount).replace("{device}", &ground.disk.path);
        until(what, || Command::new("sh").args(["-c", &script]).status().unwrap().success());
        let foreign = |wanted: &str| {
            let mounts = fs::read_to_string("/proc/mounts").unwrap();
            mounts.lines().any(|line| line.starts_with(&format!("{wanted} {mount} ")))
        };
        let answer = ground.fathom(&["clean", "r", "--yes"]);
        match what {
            "file system in place" => {
                assert_eq!(answer.code, Some(0), "{what}: {}\n{}", answer.out, answer.err);
                let left = ground.left(&tag);
                assert!(left.len() == 1 && left[0].contains("xfs"), "{left:?}");
            }
            _ => {
                assert_eq!(answer.code, Some(6), "{what}: {}\n{}", answer.out, answer.err);
                assert!(
                    foreign("foreign") && answer.out.contains(&mount),
                    "{what}: {}",
                    answer.out
                );
                let transcript = fs::read_to_string(ground.at("r/transcript.jsonl")).unwrap();
                assert!(transcript.contains(&format!("umount {mount}")), "{transcript}");
                assert!(Command::new("umount").arg(&mount).status().unwrap().success());
                let answer = ground.fathom(&["clean", "r", "--yes"]);
                assert_eq!(answer.code, Some(0), "{what}: {}\n{}", answer.out, answer.err);
                assert_eq!(ground.left(&tag), Vec::<String>::new(), "{what}");
            }
        }
    }
}

#[test]
fn a_run_goes_on_with_the_device_that_it_began_on_and_with_no_other() {
    let name = "a_run_goes_on_with_the_device_that_it_began_on_and_with_no_other";
    let Some(ground) = Scene::new(name) else { return };
    let Some(other) = loop_device(SIZE) else { return };
    let mut run = ground.start("r", 2, "touch {mount}/begun; sleep 600");
    let begun = || {
        ground.tag("r").filter(|tag| Path::new(&format!("/run/fathom_{tag}_xfs/begun")).exists())
    };
    until("it never began", || begun().is_some());
    run.kill().unwrap();
    run.wait().unwrap();
    ground.is_cleaned("r");
    fs::write(&other.path, vec![0x5A; 1 << 20]).unwrap();
    let link = ground.at("link");
    let resume = |device: &str, option: &str| {
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(device, &link).unwrap();
        let device = format!("data={}", text(&link));
        ground.fathom(&["run", "clean.toml", option, &device, "--allow-commands", "--resume", "r"])
    };
    let answer = resume(&other.path, "--destroy-data");
    assert_eq!(answer.code, Some(4), "{}\n{}", answer.out, answer.err);
    for phrase in ["for 'data'", "it was a loop device on", "and is a loop device on", "help:"] {
        assert!(answer.err.contains(phrase), "{phrase}: {}", answer.err);
    }
    assert!(fs::read(&other.path).unwrap()[..1 << 20].iter().all(|byte| *byte == 0x5A));
    // The same one under another name is the same; what it is to do is short now.
    let manifest = ground.at("r/manifest.json");
    let without = {
        let mut value: serde_json::Value =
            serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
        assert!(value["devices"]["data"]["bytes"] == SIZE, "{value}");
        value.as_object_mut().unwrap().remove("devices");
        value.to_string()
    };
    let mut goes_on = ground.start_resumed(&link, "r");
    until("it never went on", || begun().is_some());
    goes_on.kill().unwrap();
    goes_on.wait().unwrap();
    ground.is_cleaned("r");
    // A result of a version that kept no identity.
    fs::write(&manifest, without).unwrap();
    let mut goes_on = ground.start_resumed(&link, "r");
    until("it never went on", || begun().is_some());
    goes_on.kill().unwrap();
    goes_on.wait().unwrap();
    let log = fs::read_to_string(ground.at("said")).unwrap();
    assert!(log.contains("was not checked"), "{log}");
    ground.is_cleaned("r");
}

#[test]
fn a_device_that_cannot_be_looked_at_is_named_until_it_is_there_again() {
    let name = "a_device_that_cannot_be_looked_at_is_named_until_it_is_there_again";
    let Some(ground) = Scene::new(name) else { return };
    let mut run = ground.start("r", 1, "touch {mount}/begun; sleep 600");
    let mount = || ground.tag("r").map(|tag| format!("/run/fathom_{tag}_xfs"));
    until("it never began", || mount().is_some_and(|at| Path::new(&at).join("begun").exists()));
    run.kill().unwrap();
    run.wait().unwrap();
    let (tag, mount) = (ground.tag("r").unwrap(), mount().unwrap());
    let node = ground.disk.path.as_str();
    let backing = format!("/sys/block/{}/loop/backing_file", node.trim_start_matches("/dev/"));
    let file = fs::read_to_string(backing).unwrap().trim().to_owned();
    until("its command dies with it", || tool("umount", &[&mount]));
    assert!(tool("losetup", &["--detach", node]) && tool("rmdir", &[&mount]));
    let other = tempfile::NamedTempFile::new().unwrap();
    other.as_file().set_len(SIZE).unwrap();
    // A copy carries all that the run wrote, its mark too.
    let copy = tempfile::NamedTempFile::new().unwrap();
    assert!(tool("cp", &["--sparse=always", &file, text(copy.path())]));
    for there in [None, Some(text(copy.path())), Some(text(other.path()))] {
        if let Some(there) = there {
            assert!(tool("losetup", &[node, there]), "{there}");
        }
        for more in [&["clean", "r"][..], &["clean", "r", "--yes"]] {
            let answer = ground.fathom(more);
            let told = format!("{there:?}: {}{}", answer.out, answer.err);
            assert_eq!(answer.code, Some(6), "{told}");
            assert!(told.contains("could not be looked at") && told.contains(node), "{told}");
            assert!(!told.contains("nothing is left of this run\n"), "{told}");
            assert!(!told.contains("everything is taken down"), "{told}");
        }
        // The last one stays, so that the device cannot come back under its old name.
        let is_copy = there == Some(text(copy.path()));
        assert!(!is_copy || tool("losetup", &["--detach", node]));
    }
    assert!(tool("cmp", &["--bytes=2097152", &file, text(copy.path())]), "the copy was written to");
    // After the machine started again it has another name.
    let losetup = Command::new("losetup").args(["--find", "--show", &file]).output().unwrap();
    let elsewhere = String::from_utf8(losetup.stdout).unwrap().trim().to_owned();
    assert!(elsewhere.starts_with("/dev/loop") && elsewhere != node, "{elsewhere}");
    let answer = ground.fathom(&["clean", "r", "--yes"]);
    let left = ground.left(&tag);
    assert!(tool("losetup", &["--detach", &elsewhere]));
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert_eq!(left, Vec::<String>::new());
}

/// Starts a run of XFS whose command waits, kills it as it waits, and gives its tag and its mount.
pub(crate) fn killed_while_it_works(ground: &Scene) -> (String, String) {
    let mut run = ground.start("r", 1, "touch {mount}/begun; sleep 600");
    let mount = || ground.tag("r").map(|tag| format!("/run/fathom_{tag}_xfs"));
    until("it never began", || mount().is_some_and(|at| Path::new(&at).join("begun").exists()));
    run.kill().unwrap();
    run.wait().unwrap();
    (ground.tag("r").unwrap(), mount().unwrap())
}

pub(crate) fn tool(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).status().is_ok_and(|status| status.success())
}

#[test]
fn what_lines_of_the_transcript_are_lost_of_is_taken_down_by_its_mark_and_the_loss_is_told() {
    let name =
        "what_lines_of_the_transcript_are_lost_of_is_taken_down_by_its_mark_and_the_loss_is_told";
    let Some(ground) = Scene::new(name) else { return };
    let (tag, _) = killed_while_it_works(&ground);
    let path = ground.at("r/transcript.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let made = lines.iter().position(|line| line.contains("mkfs.xfs")).unwrap();
    let damaged = |line: &str| line.replacen('{', "[", 1);
    let flipped: Vec<_> = (0..lines.len())
        .map(|at| if at == made { damaged(lines[at]) } else { lines[at].to_owned() })
        .collect();
    // The line of mkfs damaged; cut before it.
    let cut: Vec<_> = lines[..made].iter().map(|line| (*line).to_owned()).collect();
    for (lines, damaged) in [(flipped, true), (cut, false)] {
        let _ = fs::remove_dir_all(ground.at("c"));
        assert!(tool("cp", &["-a", text(&ground.at("r")), text(&ground.at("c"))]));
        fs::write(ground.at("c/transcript.jsonl"), lines.join("\n") + "\n").unwrap();
        let answer = ground.fathom(&["clean", "c"]);
        let told = format!("{damaged}: {}{}", answer.out, answer.err);
        assert!(told.contains("signature of the run on"), "{told}");
        assert_eq!(told.contains("could not be read"), damaged, "{told}");
        assert_eq!(answer.code, Some(if damaged { 6 } else { 0 }), "{told}");
    }
    let mut answer = ground.fathom(&["clean", "c", "--yes"]);
    for _ in 0..20 {
        if answer.code == Some(0) {
            break;
        }
        // Its command dies with the run, a moment later.
        std::thread::sleep(Duration::from_millis(500));
        answer = ground.fathom(&["clean", "c", "--yes"]);
    }
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert_eq!(ground.left(&tag), Vec::<String>::new());
    let clean = ground.fathom(&["clean", "r"]);
    assert!(clean.out.contains("nothing is left of this run"), "{}{}", clean.out, clean.err);
}

#[test]
fn nothing_is_wiped_under_a_use_by_another_name_and_a_device_that_goes_meanwhile_is_named() {
    let name =
        "nothing_is_wiped_under_a_use_by_another_name_and_a_device_that_goes_meanwhile_is_named";
    let Some(ground) = Scene::new(name) else { return };
    let (_, mount) = killed_while_it_works(&ground);
    let node = ground.disk.path.as_str();
    let backing = format!("/sys/block/{}/loop/backing_file", node.trim_start_matches("/dev/"));
    let file = fs::read_to_string(backing).unwrap().trim().to_owned();
    until("its command dies with it", || tool("umount", &[&mount]));
    let losetup = Command::new("losetup").args(["--find", "--show", &file]).output().unwrap();
    let twin = String::from_utf8(losetup.stdout).unwrap().trim().to_owned();
    let at = tempfile::tempdir().unwrap();
    assert!(tool("mount", &["-o", "nouuid", &twin, text(at.path())]));
    let answer = ground.fathom(&["clean", "r", "--yes"]);
    let transcript = fs::read_to_string(ground.at("r/transcript.jsonl")).unwrap();
    assert!(tool("umount", &[text(at.path())]) && tool("losetup", &["--detach", &twin]));
    assert_eq!(answer.code, Some(6), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("still there") || answer.err.contains("still there"));
    assert!(transcript.contains("which has the same bytes, is mounted on"), "{transcript}");
    // Mounted again, and detached: the device goes with its last mount, before anything wipes it.
    assert!(tool("mkdir", &["-p", &mount]) && tool("mount", &["-o", "nouuid", node, &mount]));
    assert!(tool("losetup", &["--detach", node]));
    let answer = ground.fathom(&["clean", "r", "--yes"]);
    let told = format!("{}{}", answer.out, answer.err);
    assert_eq!(answer.code, Some(6), "{told}");
    assert!(told.contains(node) && !told.contains("everything is taken down"), "{told}");
    assert!(tool("losetup", &[node, &file]));
    let answer = ground.fathom(&["clean", "r", "--yes"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
}
