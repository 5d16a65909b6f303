//! Modelled disks in the lab for real, also when who serves one is killed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use results::ResultSet;
use results::model::{CellState, Row};

use crate::lab::{machines_of, start, wait_until};
use crate::program::{expect, fresh, json, ready, text};

/// A process that serves a disk.
#[derive(Debug)]
pub struct Server {
    pid: u32,
    role: String,
}

impl Server {
    pub fn is_gone(&self) -> bool {
        !Path::new(&format!("/proc/{}", self.pid)).exists()
    }
}

/// Those who serve the disks of a run.
pub fn servers_of(owner: u32) -> Vec<Server> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let server = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        let mut words = line.split('\0').skip(1);
        let serves = (words.next()?, words.next()?) == ("disk", "serve");
        let service: serde_json::Value = serde_json::from_str(words.next()?).ok()?;
        let role = service["role"].as_str()?.to_owned();
        (serves && parent == owner.to_string()).then_some(Server { pid, role })
    };
    pids.filter_map(server).collect()
}

/// The names of sockets that disks of a run are served at.
pub fn sockets_of(owner: u32) -> Vec<String> {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
    let name = format!("@fathom-{owner}-");
    sockets.lines().filter(|line| line.contains(&name)).map(str::to_owned).collect()
}

/// Random reads of a hard disk and of flash, and of a disk that is lost before it has done.
const EXPERIMENT: &str = r#"
name = "modelled"
about = "Modelled disks, for tests"
repeat = 1
[devices.turning]
size = "1G"
like = { base = "hdd", write_cache = false }
[devices.flash]
size = "1G"
like = "nvme"
[devices.lost]
size = "1G"
like = "ssd"
[[variant]]
name = "hdd"
[[variant.stack]]
layer = "linear"
on = "turning"
[[variant]]
name = "nvme"
[[variant.stack]]
layer = "linear"
on = "flash"
[[variant]]
name = "lost"
set."read.duration" = "60s"
[[variant.stack]]
layer = "linear"
on = "lost"
[[stage]]
do = "load"
name = "read"
measure = true
ops = { randread = 100 }
depth = 8
duration = "4s"
interval = "200ms"
"#;
/// A seed with which the disk that is lost comes last.
const SEED: &str = "3";

/// Runs it, and kills who serves the last disk as soon as that is read. Frames of the load go on coming then.
fn run_and_kill(out: &Path) -> u32 {
    let (dir, _) = fresh();
    let file = dir.path().join("modelled.toml");
    std::fs::write(&file, EXPERIMENT).unwrap();
    let mut host = start(&["lab", "run", text(&file), "--seed", SEED, "--out", text(out)]);
    let read = || {
        let result = results::open(out).ok()?;
        let rows = result.cells_of("lost").next()?.rows.iter();
        Some(rows.filter(|row| matches!(row, Row::Interval(_))).count())
    };
    wait_until("the last disk is read", || read().is_some_and(|rows| rows >= 3));
    let servers = servers_of(host.id());
    assert_eq!(servers.len(), 3, "{servers:?}");
    let pid = servers.iter().find(|server| server.role == "lost").unwrap().pid;
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let killed = Instant::now();
    assert_eq!(host.wait().unwrap().code(), Some(5), "a result with a lost disk is not whole");
    assert!(killed.elapsed() < Duration::from_secs(15), "{:?}", killed.elapsed());
    assert!(servers.iter().all(Server::is_gone));
    assert_eq!((machines_of(host.id()), sockets_of(host.id())), (0, Vec::new()));
    host.id()
}

/// The facts of a disk.
fn disk(result: &ResultSet, role: &str) -> serde_json::Value {
    let lab = result.manifest.lab.as_ref().unwrap();
    let disks = lab["disks"].as_array().unwrap();
    disks.iter().find(|disk| disk["role"] == role).unwrap().clone()
}

#[test]
fn a_hard_disk_is_slower_than_flash_says_so_and_leaves_a_trace_and_a_killed_one_ends_its_cell() {
    let Some(_turn) = ready("a_hard_disk_is_slower_than_flash") else { return };
    let (dir, out) = fresh();
    run_and_kill(&out);
    let result = results::open(&out).unwrap();
    let lost = result.cells_of("lost").next().unwrap();
    let reason = lost.reason().unwrap();
    let cell = result.manifest.cells.iter().find(|cell| cell.variant == "lost").unwrap();
    assert_eq!(cell.state, CellState::Failed);
    for phrase in ["disk was lost", "served lost", "signal 9", "dmesg"] {
        assert!(reason.contains(phrase), "'{phrase}' is not in: {reason}");
    }

    let shown = expect(5, &["show", text(&out), "--json"]).out;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["complete"], false);
    let variants = shown["variants"].as_array().unwrap();
    let iops = |name: &str| {
        let variant = variants.iter().find(|variant| variant["name"] == name).unwrap();
        variant["operations"]["randread"]["iops"]["median"].as_f64().unwrap()
    };
    // The model's hard disk gives 141 at depth 8, its flash 90,000, and an emulated guest asks some thousand times a second.
    assert!(iops("hdd") < 180.0 && iops("nvme") > 5.0 * iops("hdd"), "{shown:#}");

    let hdd = disk(&result, "turning");
    assert_eq!(hdd["model"]["like"], "hdd, write_cache false");
    assert_eq!(hdd["model"]["parameters"]["rpm"], "7200");
    let late = |of: &str| hdd["model"]["served"][of].as_u64().unwrap();
    assert!(late("requests") > 100 && late("late_p99_ns") >= late("late_p50_ns"), "{hdd:#}");
    assert!(disk(&result, "lost")["model"]["note"].is_string(), "{result:#?}");
    let page = dir.path().join("page.html");
    expect(5, &["report", text(&out), "-o", text(&page)]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("modelled like hdd, write_cache false"));

    let trace: PathBuf = out.join("lab/turning.trace");
    let trace = json(&["trace", "show", text(&trace), "--json"]);
    assert!(trace["requests"].as_u64().unwrap() >= late("requests"), "{trace:#}");
}

/// Suites whose QEMU must serve modelled disks: every supported release of Debian, whichever this machine runs.
const SUITES: [&str; 2] = ["bookworm", "trixie"];

#[test]
fn modelled_disks_work_under_the_qemu_of_every_supported_suite() {
    let Some(_turn) = ready("modelled_disks_work_under_the_qemu_of_every_supported_suite") else {
        return;
    };
    for suite in SUITES {
        let (dir, out) = fresh();
        let file = dir.path().join("modelled.toml");
        let short = EXPERIMENT.replace(r#""4s""#, r#""1s""#);
        std::fs::write(&file, short).unwrap();
        let only = ["--only", "nvme", "--only", "hdd"];
        let args = ["lab", "run", text(&file), "--out", text(&out), "--qemu", suite];
        expect(0, &[&args[..], &only].concat());
        let result = results::open(&out).unwrap();
        let version = result.manifest.lab.as_ref().unwrap()["qemu_version"].to_string();
        let served = |role| disk(&result, role)["model"]["served"]["requests"].as_u64().unwrap();
        assert!(served("flash") > 100, "{version}: {}", served("flash"));
        assert!(served("turning") > 20, "{version}: {}", served("turning"));
        println!("{suite}: {version}");
    }
}
