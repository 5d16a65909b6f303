//! `fathom uvdo`, as a user runs it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::program::{command, expect, json, skip, text};

/// A running `fathom uvdo start`.
pub struct Running {
    child: Child,
    dir: PathBuf,
    /// Its line on standard output.
    line: String,
}

impl Running {
    pub fn start(backing: &Path, dir: &Path, more: &[&str]) -> Self {
        let args = [&["uvdo", "start", text(backing), text(dir)], more].concat();
        let mut child = command(&args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("serving ("), "{line}");
        Self { child, dir: dir.to_owned(), line }
    }

    pub fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.dir.join("nbd.sock").display())
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn stop(mut self) {
        assert_eq!(expect(0, &["uvdo", "stop", text(&self.dir)]).out, "stopped: clean\n");
        assert!(self.child.wait().unwrap().success());
    }
}

/// Insists on the exit code, on phrases of the error and on nothing being answered.
pub fn refused(code: i32, args: &[&str], phrases: &[&str]) {
    let answer = expect(code, args);
    assert_eq!(answer.out, "", "an error belongs on standard error");
    for phrase in phrases.iter().chain(&["help:"]) {
        assert!(answer.err.contains(phrase), "'{phrase}' is not in:\n{}", answer.err);
    }
}

pub fn volume(dir: &Path) -> PathBuf {
    let path = dir.join("volume.img");
    let args = ["uvdo", "create", text(&path), "--size", "400M", "--logical-size", "1G"];
    let text = expect(0, &args).out;
    assert!(text.contains("an empty volume of 1 GiB on 400 MiB"), "{text}");
    assert!(text.contains("memory") && text.contains("next: fathom uvdo start"), "{text}");
    path
}

pub fn qemu_io(uri: &str, commands: &[&str]) -> Option<bool> {
    let mut args = vec!["-f", "raw", "-t", "none"];
    commands.iter().for_each(|command| args.extend(["-c", command]));
    args.push(uri);
    let output = Command::new("qemu-io").args(args).output().ok()?;
    Some(output.status.success())
}

#[test]
fn a_volume_in_a_file_that_fathom_made_is_not_overwritten_without_being_asked_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file.img");
    let load = ["load", text(&path), "--ops", "write=100", "--ios", "10"];
    expect(0, &[&load[..], &["--size", "300M"]].concat());
    // The mark of a file that a load made lets the next one have it; where the file system keeps no marks it needs the word of the user.
    expect(0, &load[..].iter().chain(&["--destroy-data"]).copied().collect::<Vec<_>>());
    let create = ["uvdo", "create", text(&path)];
    expect(0, &[&create[..], &["--destroy-data"]].concat());
    let before = fs::read(&path).unwrap();
    refused(4, &create, &["file.img", "destroy"]);
    refused(4, &load, &["file.img", "destroy"]);
    assert!(fs::read(&path).unwrap() == before);
    expect(0, &["uvdo", "check", text(&path)]);
    expect(0, &[&create[..], &["--destroy-data"]].concat());
}

#[test]
fn a_volume_is_made_served_asked_stopped_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    let (path, run) = (volume(dir.path()), dir.path().join("run"));
    let running = Running::start(&path, &run, &["--policy", "sync", "--max-discard", "64k"]);
    assert_eq!(running.line, format!("serving (sync): {}\n", running.uri()));
    qemu_io(&running.uri(), &["write -P 7 0 4M", "write -P 9 1000 10", "flush"]);
    let status = expect(0, &["uvdo", "status", text(&run)]).out;
    for phrase in ["normal, sync", "logical used", "data stored", "saving"] {
        assert!(status.contains(phrase), "'{phrase}' is not in:\n{status}");
    }
    let status = json(&["uvdo", "status", text(&run), "--json"]);
    assert_eq!((&status["schema"], &status["logical_bytes"]), (&1.into(), &(1u64 << 30).into()));
    expect(0, &["uvdo", "policy", text(&run), "async"]);
    assert_eq!(json(&["uvdo", "status", text(&run), "--json"])["policy"], "async");
    refused(2, &["uvdo", "policy", text(&run), "auto"], &["auto"]);
    running.stop();
    refused(3, &["uvdo", "status", text(&run)], &["no volume is served"]);
    refused(3, &["uvdo", "stop", text(&run)], &["no volume is served"]);
    for no_directory in [dir.path().join("nowhere"), path.clone()] {
        refused(2, &["uvdo", "status", text(&no_directory)], &["no volume is served"]);
    }
    let checked = expect(0, &["uvdo", "check", text(&path)]).out;
    assert!(checked.contains(": clean") && checked.contains("records agree"), "{checked}");
    assert!(checked.contains("not checked: the data itself"), "{checked}");
    assert_eq!(json(&["uvdo", "check", text(&path), "--json"])["problems"], serde_json::json!([]));
}

#[test]
fn the_parser_of_vdo_reads_the_statistics_and_what_has_no_counterpart_is_absent() {
    let dir = tempfile::tempdir().unwrap();
    let (path, run) = (volume(dir.path()), dir.path().join("run"));
    let running = Running::start(&path, &run, &["--policy", "async"]);
    let wrote = qemu_io(&running.uri(), &["write -P 7 0 4M", "flush"]);
    let output = expect(0, &["uvdo", "stats", text(&run)]).out;
    let parsed = layers::parse("vdo.stats", &output).unwrap();
    let known = layers::parse("vdo.stats", include_str!("../../../layers/src/vdo/stats-6.12.txt"));
    let (known, additional) = (known.unwrap(), ["recovery.entries"]);
    for name in parsed.numbers.keys().filter(|name| !additional.contains(&name.as_str())) {
        assert!(known.numbers.contains_key(name), "dm-vdo has no {name}");
    }
    assert_eq!(parsed.texts["mode"], "normal");
    assert!(!parsed.numbers.keys().any(|name| name.starts_with("slabJournal")), "{output}");
    if wrote.is_some() {
        assert_eq!(parsed.numbers["biosIn.write"], Some(1024.0));
        assert_eq!(parsed.numbers["logicalBlocksUsed"], Some(1024.0));
        assert!(parsed.numbers["dataBlocksUsed"] < Some(20.0), "{output}");
    }
    let nested = json(&["uvdo", "stats", text(&run), "--json"]);
    assert_eq!(nested["biosIn"]["write"].as_f64(), parsed.numbers["biosIn.write"]);
    let metrics = expect(0, &["uvdo", "stats", text(&run), "--metrics"]).out;
    assert!(metrics.contains("# TYPE uvdo_dataBlocksUsed gauge"), "{metrics}");
    running.stop();
}

#[test]
fn a_volume_that_runs_is_refused_to_a_second_start_to_check_and_to_create() {
    let dir = tempfile::tempdir().unwrap();
    let (path, run) = (volume(dir.path()), dir.path().join("run"));
    let running = Running::start(&path, &run, &[]);
    let other = dir.path().join("other");
    refused(4, &["uvdo", "start", text(&path), text(&other)], &["claimed by another run"]);
    refused(4, &["uvdo", "check", text(&path)], &["claimed by another run"]);
    refused(4, &["uvdo", "create", text(&path), "--destroy-data"], &["claimed by another run"]);
    assert!(!other.exists(), "a refused start leaves nothing behind");
    let second = dir.path().join("second.img");
    expect(0, &["uvdo", "create", text(&second), "--size", "200M"]);
    refused(4, &["uvdo", "start", text(&second), text(&run)], &["is served in"]);
    running.stop();
    assert_eq!(fs::read_dir(&run).unwrap().count(), 0, "sockets are removed");
}

#[test]
fn backings_that_make_no_volume_are_refused_and_nothing_is_destroyed() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let (new, run) = (at("new.img"), at("run"));
    refused(2, &["uvdo", "create", text(&new)], &["does not exist", "--size"]);
    refused(2, &["uvdo", "create", text(&new), "--size", "100M"], &["too small", "42110"]);
    let slab = ["uvdo", "create", text(&new), "--size", "1G", "--slab-size", "33M"];
    refused(2, &slab, &["--slab-size", "power of two"]);
    let logical = ["uvdo", "create", text(&new), "--size", "1G", "--logical-size", "1000"];
    refused(2, &logical, &["--logical-size: 1000 bytes are 0 blocks of 4096 and 1000 more", "4k"]);
    let logical = [&logical[..5], &["--logical-size", "4097"]].concat();
    refused(2, &logical, &["--logical-size: 4097 bytes are 1 block of 4096 and 1 more"]);
    let logical = [&logical[..5], &["--logical-size", "0"]].concat();
    refused(2, &logical, &["--logical-size: 0 bytes hold no block"]);
    let slab = [&slab[..5], &["--slab-size", "33554433"]].concat();
    refused(2, &slab, &["--slab-size: 33554433 bytes are not the size of a slab"]);
    let elsewhere = at("nowhere/new.img");
    refused(2, &["uvdo", "create", text(&elsewhere), "--size", "1G"], &["cannot be made"]);
    let missing = "/dev/fathom-no-such";
    refused(2, &["uvdo", "create", missing, "--size", "1G"], &["no such device", "lsblk"]);
    assert!(!Path::new(missing).exists(), "no file is made in the place of a device");
    refused(2, &["uvdo", "create", text(&new), "--size", "10000000T"], &["more than a file may"]);
    assert!(!new.exists(), "a refused volume leaves no file");
    let precious = at("precious");
    fs::write(&precious, vec![7; 1 << 20]).unwrap();
    refused(4, &["uvdo", "create", text(&precious)], &["--destroy-data"]);
    refused(4, &["uvdo", "create", text(&precious), "--size", "1G"], &["exists already"]);
    refused(5, &["uvdo", "start", text(&precious), text(&run)], &["not a uvdo volume"]);
    refused(5, &["uvdo", "check", text(&precious)], &["not a uvdo volume"]);
    fs::write(at("short"), "precious\n").unwrap();
    refused(5, &["uvdo", "start", text(&at("short")), text(&run)], &["not a uvdo volume"]);
    refused(5, &["uvdo", "check", text(&at("short"))], &["not a uvdo volume"]);
    assert_eq!(fs::read(&precious).unwrap(), vec![7; 1 << 20]);
    refused(2, &["uvdo", "start", text(&at("none")), text(&run)], &["cannot be examined"]);
    let path = volume(dir.path());
    let start =
        |more: &[&'static str]| [&["uvdo", "start", text(&path), text(&run)], more].concat();
    refused(2, &start(&["--memory", "1M"]), &["--memory"]);
    refused(2, &start(&["--block-map-cache", "4k"]), &["--block-map-cache"]);
    refused(2, &start(&["--max-discard", "4097"]), &["--max-discard: 4097 bytes are 1 block"]);
    for no_directory in [precious.clone(), precious.join("run")] {
        let start = ["uvdo", "start", text(&path), text(&no_directory)];
        refused(2, &start, &["cannot be made", "give another path"]);
    }
    refused(4, &["uvdo", "create", text(&path)], &["--destroy-data"]);
}

#[test]
fn a_backing_that_is_cut_short_under_a_served_volume_is_told_and_no_command_says_all_is_well() {
    let dir = tempfile::tempdir().unwrap();
    let (path, run) = (volume(dir.path()), dir.path().join("run"));
    let mut running = Running::start(&path, &run, &[]);
    expect(0, &["uvdo", "status", text(&run)]);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
    let status = expect(5, &["uvdo", "status", text(&run)]).out;
    assert!(status.contains("read-only") && status.contains("was cut short"), "{status}");
    let status = json_of(5, &["uvdo", "status", text(&run), "--json"]);
    assert_eq!(status["mode"], "read-only");
    let stopped = json_of(5, &["uvdo", "stop", text(&run), "--json"]);
    assert_eq!(stopped["stopped"], "read-only");
    assert!(stopped["fault"].as_str().unwrap().contains("was cut short"), "{stopped}");
    assert_eq!(running.child.wait().unwrap().code(), Some(5));
    refused(5, &["uvdo", "check", text(&path)], &["blocks, and its volume was made with"]);
}

fn json_of(code: i32, args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&expect(code, args).out).unwrap()
}

/// A loop device that goes with this value.
struct Loop(String);

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).output();
    }
}

#[test]
fn a_device_is_neither_made_a_file_system_nor_mounted_while_a_volume_on_it_is_served() {
    let test = "a_device_is_neither_made_a_file_system_nor_mounted_while_a_volume_on_it_is_served";
    let dir = tempfile::tempdir().unwrap();
    let (file, run, at) = (dir.path().join("disk"), dir.path().join("run"), dir.path().join("at"));
    fs::File::create(&file).unwrap().set_len(400 << 20).unwrap();
    fs::create_dir(&at).unwrap();
    let run_tool = |program: &str, args: &[&str]| Command::new(program).args(args).output();
    let device = match run_tool("losetup", &["--find", "--show", text(&file)]) {
        Ok(made) if made.status.success() => {
            Loop(String::from_utf8(made.stdout).unwrap().trim().to_owned())
        }
        other => return skip(test, &format!("no loop device: {other:?}")),
    };
    let mkfs = |expected: bool| match run_tool("mkfs.ext4", &["-F", "-q", &device.0]) {
        Ok(made) => assert_eq!(made.status.success(), expected, "{made:?}"),
        Err(error) => skip(test, &format!("mkfs.ext4: {error}")),
    };
    let path = Path::new(&device.0);
    expect(0, &["uvdo", "create", &device.0]);
    let running = Running::start(path, &run, &[]);
    mkfs(false);
    let mounted = run_tool("mount", &["-t", "ext4", &device.0, text(&at)]).unwrap();
    let why = String::from_utf8_lossy(&mounted.stderr).into_owned();
    assert!(!mounted.status.success() && why.contains("busy"), "{why}");
    running.stop();
    expect(0, &["uvdo", "check", &device.0]);
    mkfs(true);
}

#[test]
fn what_was_flushed_outlives_kill_9_under_load_and_the_volume_is_sound() {
    let test = "what_was_flushed_outlives_kill_9_under_load_and_the_volume_is_sound";
    let dir = tempfile::tempdir().unwrap();
    let (path, run) = (volume(dir.path()), dir.path().join("run"));
    let mut moment = units::Seed(0x5eed).generator();
    let kills =
        std::env::var("FATHOM_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(4);
    for round in 1..=kills {
        let policy = ["async", "sync"][round % 2];
        let running = Running::start(&path, &run, &["--policy", policy]);
        let (uri, pattern) = (running.uri(), round % 250 + 1);
        let written = format!("write -P {pattern} 512M 1M");
        let Some(wrote) = qemu_io(&uri, &[&written, "flush"]) else {
            skip(test, "there is no qemu-io");
            return running.stop();
        };
        assert!(wrote);
        let load = Command::new("fio")
            .args([
                "--name=w",
                "--ioengine=nbd",
                "--rw=randwrite",
                "--bsrange=4k-64k",
                "--iodepth=32",
            ])
            .args(["--size=256M", "--time_based", "--runtime=20", "--fsync=200"])
            .arg("--buffer_compress_percentage=50")
            .arg(format!("--uri={uri}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        std::thread::sleep(Duration::from_millis(200 + moment.below(1200)));
        running.kill();
        if let Ok(mut load) = load {
            load.wait().unwrap();
        }
        expect(0, &["uvdo", "check", text(&path)]);
        let running = Running::start(&path, &run, &[]);
        let read = format!("read -P {pattern} 512M 1M");
        assert_eq!(qemu_io(&running.uri(), &[&read]), Some(true), "round {round}");
        running.stop();
    }
}

/// Names of subcommands and options as `--help` of the program shows them.
fn helped(args: &[&str]) -> Vec<String> {
    let help = expect(0, &[args, &["--help"]].concat()).out;
    let words = help.split_whitespace().filter(|word| word.starts_with("--"));
    words
        .map(|word| word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned())
        .collect()
}

#[test]
fn the_page_names_every_command_and_every_option() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/uvdo.md");
    let page = fs::read_to_string(page).unwrap();
    for command in
        ["create", "start", "stop", "status", "stats", "policy", "grow", "rebuild", "check"]
    {
        assert!(page.contains(&format!("fathom uvdo {command}")), "nothing of {command}");
        for option in helped(&["uvdo", command]) {
            let everywhere = ["--help", "--json"].contains(&option.as_str());
            assert!(everywhere || page.contains(&option), "nothing of {command} {option}");
        }
    }
    assert!(page.contains("--json"));
}

#[test]
fn when_a_volume_is_stopped_the_next_command_finds_it_free() {
    let dir = tempfile::tempdir().unwrap();
    let (backing, run) = (volume(dir.path()), dir.path().join("run"));
    for _ in 0..8 {
        let mut running = Running::start(&backing, &run, &[]);
        assert_eq!(expect(0, &["uvdo", "stop", text(&run)]).out, "stopped: clean\n");
        // Its process may still be there.
        expect(0, &["uvdo", "check", text(&backing)]);
        assert!(running.child.wait().unwrap().success());
    }
    let running = Running::start(&backing, &run, &[]);
    expect(0, &["uvdo", "stop", text(&run)]);
    Running::start(&backing, &run, &[]).stop();
    drop(running);
}
