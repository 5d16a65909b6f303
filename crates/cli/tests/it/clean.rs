//! Remains of a killed run are listed and, on `--yes`, taken down; nothing else is touched.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use results::sink::DirSink;
use serde_json::Value;

use crate::program::{Answer, expect, fathom_in, fresh, json, skip, text};

fn tool(program: &str, arguments: &[&str]) -> Option<Output> {
    Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())
}

/// A loop device on a file, with a file system that is mounted.
struct Mounted {
    device: String,
    at: PathBuf,
}

impl Mounted {
    fn new(dir: &Path, name: &str) -> Option<Self> {
        let (file, at) = (dir.join(name), dir.join(format!("{name}-mounted")));
        std::fs::File::create(&file).unwrap().set_len(4 << 20).unwrap();
        std::fs::create_dir(&at).unwrap();
        tool("mkfs.ext4", &["-q", text(&file)])?;
        let made = tool("losetup", &["--find", "--show", text(&file)])?;
        let device = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        let mounted = Self { device, at };
        tool("mount", &[&mounted.device, text(&mounted.at)])?;
        Some(mounted)
    }

    fn is_mounted(&self) -> bool {
        std::fs::read_to_string("/proc/self/mounts").unwrap().contains(text(&self.at))
    }

    fn is_attached(&self) -> bool {
        tool("losetup", &[&self.device]).is_some()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_mounted() {
            tool("umount", &[text(&self.at)]);
        }
        if self.is_attached() {
            tool("losetup", &["--detach", &self.device]);
        }
    }
}

/// A result that a killed run on devices left, as far as files go.
fn killed(tag: &str) -> (tempfile::TempDir, PathBuf) {
    let (dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--out", text(&out)]);
    change(&out, |manifest| {
        manifest["simulated"] = false.into();
        manifest["run_id"] = tag.into();
        manifest["outcome"] = Value::Null;
        manifest["ended_utc"] = Value::Null;
    });
    (dir, out)
}

fn change(out: &Path, change: impl FnOnce(&mut Value)) {
    let path = out.join("manifest.json");
    let mut manifest = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    std::fs::write(path, serde_json::to_vec(&manifest).unwrap()).unwrap();
}

/// `fathom clean` as JSON.
fn clean(out: &Path, more: &[&str]) -> (Answer, Value) {
    let args = [&["clean", text(out), "--json"], more].concat();
    let answer = fathom_in(&std::env::temp_dir(), &args);
    let parsed = serde_json::from_str(answer.out.trim());
    let report = parsed.unwrap_or_else(|error| panic!("{error}: {}{}", answer.out, answer.err));
    (answer, report)
}

#[test]
fn what_carries_the_tag_is_listed_first_and_taken_down_when_that_is_said() {
    let name = "what_carries_the_tag_is_listed_first_and_taken_down_when_that_is_said";
    // A tag of its own: the run is locked by it.
    let tag = format!("{:08x}", std::process::id());
    let (dir, out) = killed(&tag);
    let ours = Mounted::new(dir.path(), &format!("fathom_{tag}_data"));
    let other = Mounted::new(dir.path(), "fathom_feedf00d_data");
    let (Some(ours), Some(other)) = (ours, other) else {
        return skip(name, "loop devices cannot be made and mounted (needs root)");
    };
    let before = std::fs::read(out.join("transcript.jsonl")).unwrap();
    let (answer, report) = clean(&out, &[]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert_eq!(report["found"].as_array().unwrap().len(), 2, "{report}");
    let commands =
        [format!("umount {}", text(&ours.at)), format!("losetup --detach {}", ours.device)];
    assert_eq!(report["commands"], serde_json::json!(commands));
    assert!(answer.err.contains("--yes takes it down") && ours.is_mounted(), "{}", answer.err);
    assert_eq!(std::fs::read(out.join("transcript.jsonl")).unwrap(), before);

    // What is in use stays, and is reported.
    let held = std::fs::File::create(ours.at.join("held")).unwrap();
    let (answer, report) = clean(&out, &["--yes"]);
    assert_eq!(answer.code, Some(6), "{}", answer.err);
    assert_eq!(report["left"].as_array().unwrap().len(), 2, "{report}");
    drop(held);

    let (answer, report) = clean(&out, &["--yes"]);
    assert_eq!((answer.code, &report["left"]), (Some(0), &serde_json::json!([])), "{}", answer.err);
    assert!(!ours.is_mounted() && !ours.is_attached());
    assert!(other.is_mounted() && other.is_attached(), "another run's device was touched");
    let after = std::fs::read_to_string(out.join("transcript.jsonl")).unwrap();
    assert!(after.contains(&commands[0]) && after.contains("losetup"), "{after}");
    let (_, report) = clean(&out, &["--yes"]);
    assert_eq!(report["found"], serde_json::json!([]));
}

#[test]
fn a_run_that_still_goes_on_is_not_cleaned() {
    let name = "a_run_that_still_goes_on_is_not_cleaned";
    if !rustix::process::geteuid().is_root() {
        return skip(name, "only root may clean");
    }
    let (_dir, out) = killed(&format!("a{:07x}", std::process::id()));
    let run = DirSink::reopen(&out).unwrap();
    let answer = fathom_in(&std::env::temp_dir(), &["clean", text(&out), "--yes"]);
    assert_eq!(answer.code, Some(4), "{}", answer.err);
    assert!(answer.err.contains("still goes on") && answer.err.contains("help:"), "{}", answer.err);
    drop(run);
    expect(0, &["clean", text(&out), "--yes"]);
}

#[test]
fn of_a_run_in_the_lab_and_of_a_simulated_one_nothing_is_on_the_host() {
    let (_dir, out) = killed("0badcafe");
    for (key, value, message) in
        [("simulated", Value::from(true), "simulated"), ("accelerator", "tcg".into(), "lab")]
    {
        change(&out, |manifest| {
            manifest["simulated"] = false.into();
            manifest[key] = value;
        });
        let answer = expect(0, &["clean", text(&out), "--yes"]);
        assert!(
            answer.out.contains("nothing to clean") && answer.out.contains(message),
            "{}",
            answer.out
        );
    }
    expect(2, &["clean", "/does/not/exist"]);
}

#[test]
fn layers_are_listed_and_each_shows_its_manual_settings_metrics_and_needs() {
    let list = expect(0, &["layers"]).out;
    let all = json(&["layers", "--json"]);
    for kind in layers::kinds() {
        assert!(list.contains(kind.name) && list.contains(kind.about), "{list}");
        let page = expect(0, &["layers", kind.name]).out;
        assert!(page.starts_with(kind.manual.trim_end()), "{page}");
        for word in kind.keys.iter().flat_map(|key| [key.name.into(), key.default(), key.allowed()])
        {
            assert!(page.contains(&word), "{word}: {page}");
        }
        let needs = kind.needs.packages.iter().chain(kind.needs.modules);
        for word in kind.metrics.iter().map(|metric| metric.id).chain(needs.copied()) {
            assert!(page.contains(word), "{word}: {page}");
        }
        let one = json(&["layers", kind.name, "--json"]);
        assert!(all.as_array().unwrap().contains(&one));
        assert_eq!(one["settings"].as_array().unwrap().len(), kind.keys.len());
    }
    let answer = expect(2, &["layers", "vod"]);
    assert!(
        answer.err.contains("did you mean 'vdo'") && answer.err.contains("linear"),
        "{}",
        answer.err
    );
}
