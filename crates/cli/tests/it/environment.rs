//! The environment as a factor, on a loop device: set for each cell, put back on every way out, and told where it cannot be had.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::loop_device::{LoopDevice, loop_device};
use crate::program::{Answer, command, fathom_in, skip};

const SETTINGS: [&str; 3] = ["scheduler", "nomerges", "nr_requests"];

/// A loop device, and an experiment on it in a directory of its own.
struct Scene {
    dir: tempfile::TempDir,
    disk: LoopDevice,
    before: Vec<String>,
}

impl Scene {
    /// An experiment with these lines of the device, and these parts.
    fn new(test: &str, device: &str, parts: &str) -> Option<Self> {
        let there = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        if !there.contains("\txfs\n") || !Path::new("/usr/sbin/mkfs.xfs").exists() {
            skip(test, "no XFS here");
            return None;
        }
        let Some(disk) = loop_device(320 << 20) else {
            skip(test, "no loop device can be made (needs root)");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let text = format!(
            "name = \"around\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"320M\"\n{device}\n\
             [[stack]]\nlayer = \"xfs\"\non = \"data\"\n{parts}\n\
             [[stage]]\ndo = \"command\"\nname = \"writes\"\nmeasure = true\n\
             shell = 'dd if=/dev/zero of={{mount}}/x bs=1M count=8 conv=fsync; sleep 0.3'\n\
             [[question]]\nmetric = \"elapsed_s\"\n"
        );
        fs::write(dir.path().join("around.toml"), text).unwrap();
        let scene = Self { dir, disk, before: Vec::new() };
        let before = scene.queue();
        Some(Self { before, ..scene })
    }

    fn queue(&self) -> Vec<String> {
        let name = self.disk.path.trim_start_matches("/dev/");
        let read = |file| fs::read_to_string(format!("/sys/block/{name}/queue/{file}")).unwrap();
        SETTINGS.map(read).to_vec()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self, more: &[&str]) -> Answer {
        let device = format!("data={}", self.disk.path);
        let run = ["run", "around.toml", "--allow-commands", "--device", &device];
        fathom_in(self.dir.path(), &[&run[..], more].concat())
    }

    /// Facts of every cell, by its variant.
    fn facts(&self, out: &str) -> Vec<(String, serde_json::Value)> {
        let cells = fs::read_dir(self.at(out).join("cells")).unwrap().flatten();
        let read = |cell: fs::DirEntry| {
            let text = fs::read(cell.path().join("cell.json")).unwrap();
            let record: serde_json::Value = serde_json::from_slice(&text).unwrap();
            (record["variant"].as_str().unwrap().to_owned(), record["facts"].clone())
        };
        cells.map(read).collect()
    }
}

const MERGING: &str =
    "[[factor]]\nname = \"merging\"\nkey = \"device.data.nomerges\"\nlevels = [0, 2]";

#[test]
fn variants_that_differ_in_the_queue_of_a_device_are_compared_and_the_page_names_the_factor() {
    let name =
        "variants_that_differ_in_the_queue_of_a_device_are_compared_and_the_page_names_the_factor";
    let Some(scene) = Scene::new(name, "scheduler = \"mq-deadline\"", MERGING) else { return };
    let device = format!("data={}", scene.disk.path);
    let text = fathom_in(scene.dir.path(), &["explain", "around.toml"]).out;
    for step in ["echo mq-deadline > queue/scheduler of", "echo 2 > queue/nomerges of"] {
        assert!(text.contains(step), "{step}: {text}");
    }
    let answer = scene.run(&["--out", "r", "--repeat", "2"]);
    assert_eq!(answer.code, Some(0), "{device}: {}\n{}", answer.out, answer.err);
    assert_eq!(scene.queue(), scene.before);
    let facts = scene.facts("r");
    assert_eq!(facts.len(), 4);
    for (variant, facts) in facts {
        let merges = variant.strip_prefix("merging ").unwrap();
        assert_eq!(facts["data.nomerges"], merges, "{facts}");
        assert_eq!(facts["data.scheduler"], "mq-deadline", "{facts}");
        for setting in ["max_sectors_kb", "nr_requests", "read_ahead_kb", "write_cache_mode"] {
            assert!(facts[format!("data.{setting}")].is_string(), "{setting}: {facts}");
        }
    }
    let shown = fathom_in(scene.dir.path(), &["show", "r"]);
    assert!(shown.out.contains("merging 2"), "{}", shown.out);
    let page = fathom_in(scene.dir.path(), &["report", "r", "-o", "r.html"]);
    assert_eq!(page.code, Some(0), "{}", page.err);
    let page = fs::read_to_string(scene.at("r.html")).unwrap();
    for phrase in ["merging 0", "merging 2", "nomerges", "data.scheduler"] {
        assert!(page.contains(phrase), "{phrase}");
    }
}

#[test]
fn whichever_step_fails_or_is_interrupted_the_queue_is_as_before() {
    let name = "whichever_step_fails_or_is_interrupted_the_queue_is_as_before";
    let device = "scheduler = \"mq-deadline\"\nnomerges = 1\nnr_requests = 16";
    let Some(scene) = Scene::new(name, device, "") else { return };
    for (fault, code) in [("fail", 5), ("interrupt", 130)] {
        for step in 0..9 {
            let (out, inject) = (format!("{fault}{step}"), format!("{fault}@0:{step}"));
            let answer = scene.run(&["--out", &out, "--inject", &inject]);
            assert_eq!(answer.code, Some(code), "{out}: {}\n{}", answer.out, answer.err);
            assert_eq!(scene.queue(), scene.before, "{out}");
        }
    }
    let transcript = fs::read_to_string(scene.at("fail8/transcript.jsonl")).unwrap();
    assert!(transcript.contains("echo 16 > queue/nr_requests of /dev/loop"), "{transcript}");
}

#[test]
fn cleaning_puts_back_what_a_killed_run_had_set_and_leaves_what_was_changed_since() {
    let name = "cleaning_puts_back_what_a_killed_run_had_set_and_leaves_what_was_changed_since";
    let device = "scheduler = \"mq-deadline\"\nnomerges = 2";
    for changed in [false, true] {
        let Some(scene) = Scene::new(name, device, "") else { return };
        let given = format!("data={}", scene.disk.path);
        let mut run =
            command(&["run", "around.toml", "--allow-commands", "--device", &given, "--out", "r"])
                .current_dir(scene.dir.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
        let begun = Instant::now();
        // In the midst of the steps, or of the load after them.
        while scene.queue()[1].trim() != "2" {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never set anything");
            std::thread::sleep(Duration::from_millis(1));
        }
        run.kill().unwrap();
        run.wait().unwrap();
        assert_ne!(scene.queue(), scene.before, "a kill puts nothing back");
        let name = scene.disk.path.trim_start_matches("/dev/").to_owned();
        let merges = format!("/sys/block/{name}/queue/nomerges");
        if changed {
            fs::write(&merges, "1").unwrap();
        }
        let listed = fathom_in(scene.dir.path(), &["clean", "r"]);
        assert_eq!(listed.code, Some(0), "{}\n{}", listed.out, listed.err);
        assert!(listed.out.contains("value of the run in queue/scheduler"), "{}", listed.out);
        assert_eq!(listed.out.contains("queue/nomerges"), !changed, "{}", listed.out);
        let cleaned = fathom_in(scene.dir.path(), &["clean", "r", "--yes"]);
        assert_eq!(cleaned.code, Some(0), "{}\n{}", cleaned.out, cleaned.err);
        let mut wanted = scene.before.clone();
        if changed {
            wanted[1] = "1\n".into();
        }
        assert_eq!(scene.queue(), wanted);
        fs::write(&merges, scene.before[1].trim()).unwrap();
        let again = fathom_in(scene.dir.path(), &["clean", "r", "--yes"]);
        assert_eq!(again.code, Some(0), "{}", again.err);
        assert_eq!(scene.queue(), scene.before);
    }
}

#[test]
fn what_cannot_be_set_here_is_said_before_anything_begins() {
    let name = "what_cannot_be_set_here_is_said_before_anything_begins";
    let device = "scheduler = \"cfq\"\nmax_sectors_kb = 100000000";
    let Some(scene) = Scene::new(name, device, "") else { return };
    let answer = scene.run(&["--out", "r"]);
    assert_eq!(answer.code, Some(3), "{}\n{}", answer.out, answer.err);
    for phrase in ["scheduler cannot be 'cfq'", "one of: none", "max_sectors_kb cannot be", "help:"]
    {
        assert!(answer.err.contains(phrase), "{phrase}: {}", answer.err);
    }
    assert!(!scene.at("r").exists(), "a result was begun");
    let governor = "[environment]\ncpu_governor = \"no-such-one\"";
    let Some(scene) = Scene::new(name, "", governor) else { return };
    let answer = scene.run(&["--out", "r"]);
    assert_eq!(answer.code, Some(3), "{}\n{}", answer.out, answer.err);
    assert!(answer.err.contains("cpu_governor cannot be"), "{}", answer.err);
    let answer = fathom_in(scene.dir.path(), &["lab", "run", "around.toml", "--out", "l"]);
    assert_eq!(answer.code, Some(3), "{}\n{}", answer.out, answer.err);
    assert!(answer.err.contains("a guest of the lab has no cpu_governor"), "{}", answer.err);
    assert!(!scene.at("l").join("manifest.json").exists());
    let simulated =
        fathom_in(scene.dir.path(), &["run", "around.toml", "--simulate", "--out", "s"]);
    assert_eq!(simulated.code, Some(0), "{}\n{}", simulated.out, simulated.err);
}
