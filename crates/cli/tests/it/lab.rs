//! The lab for real: guest, dm-vdo, load, result. Nothing here is simulated.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use results::ResultSet;
use results::model::{CellState, Row};

use crate::killed::check_cut_off;
use crate::modelled::{servers_of, sockets_of};
use crate::program::{command, expect, fathom_in, fresh, json, ready, text};

/// The result of a shipped experiment, made by the catalogue once and looked at by several tests; it stays with the build.
pub fn shipped_result() -> Option<&'static Path> {
    static RESULT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = RESULT.get_or_init(|| {
        let _turn = ready("shipped_result")?;
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("catalogue");
        let _ = std::fs::remove_dir_all(&out);
        expect(0, &["catalogue", "vdo-vs-plain", "--repeat", "1", "--out", text(&out)]);
        Some(out.join("vdo-vs-plain"))
    });
    made.as_deref()
}

/// A short experiment on VDO alone: `repeat` cells of `bytes` of random writes.
fn short(repeat: u32, bytes: &str) -> (tempfile::TempDir, PathBuf) {
    short_with(repeat, bytes, "")
}

/// The same with more keys of the load.
fn short_with(repeat: u32, bytes: &str, more: &str) -> (tempfile::TempDir, PathBuf) {
    short_on("", repeat, bytes, more)
}

/// The same on a device with more keys.
fn short_on(device: &str, repeat: u32, bytes: &str, more: &str) -> (tempfile::TempDir, PathBuf) {
    let text = format!(
        r#"
name = "short"
about = "A short load on VDO, for tests"
repeat = {repeat}
[devices.data]
size = "7G"
{device}
[[stack]]
layer = "vdo"
on = "data"
logical_size = "1G"
[[stage]]
do = "allocate"
[[stage]]
do = "load"
measure = true
ops = {{ randwrite = 100 }}
pattern = "permutation"
bytes = "{bytes}"
interval = "200ms"
content = {{ dedupe = "50%", compress = "2.5x" }}
{more}
"#
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("short.toml");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

/// QEMU processes whose owner is gone or is `owner`.
pub fn machines_of(owner: u32) -> usize {
    let gone = |pid: u32| !Path::new(&format!("/proc/{pid}")).exists();
    lab::machines::running().iter().filter(|m| m.owner == owner || gone(m.owner)).count()
}

pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(120), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn start(args: &[&str]) -> Child {
    command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn real_vdo_stores_what_was_asked_of_the_content() {
    let Some(out) = shipped_result() else { return };
    let shown = json(&["show", text(out), "--json"]);
    assert_eq!(shown["complete"], true, "{shown:#}");
    assert!(["tcg", "kvm"].contains(&shown["accelerator"].as_str().unwrap()));
    let vdo = &shown["variants"][1];
    let figure = |id: &str| vdo["layers"]["vdo"][id]["median"].as_f64().unwrap();
    // 262,144 blocks once each: half are duplicates; LZ4 makes 1638 bytes of the others, two fit a block.
    let written = 262_144.0;
    let fragments = figure("compressed_fragments");
    assert!((fragments / written - 0.5).abs() < 0.01, "fragments {fragments}");
    let per_block = fragments / figure("compressed_blocks");
    assert!((per_block - 2.0).abs() < 0.02, "fragments per block {per_block}");
    let data = figure("data_blocks_used");
    assert!((data / (written * 0.25) - 1.0).abs() < 0.02, "data blocks {data}");
    assert!((figure("saving_percent") - 75.0).abs() < 1.0);
    let achieved = &vdo["content"]["achieved"];
    assert!((achieved["duplicate_percent"]["median"].as_f64().unwrap() - 50.0).abs() < 1.0);
    let plain = &shown["variants"][0]["operations"]["randwrite"];
    assert!(plain["iops"]["median"].as_f64().unwrap() > 0.0);
    assert_eq!(plain["iops"]["low"], serde_json::Value::Null, "one run has no interval");
}

#[test]
fn in_a_guest_nobody_but_the_stack_and_its_load_takes_cpu_time() {
    let Some(out) = shipped_result() else { return };
    for cell in results::open(out).unwrap().cells {
        let others = cell.record.unwrap().machine.unwrap().others_percent.unwrap();
        assert!(others < 5.0, "{}: {others} %", cell.entry.folder);
    }
}

#[test]
fn a_result_of_the_lab_says_where_it_comes_from() {
    let Some(out) = shipped_result() else { return };
    let result = results::open(out).unwrap();
    let lab = result.manifest.lab.as_ref().unwrap();
    assert!(lab["qemu_argv"].as_array().unwrap().len() > 10);
    assert!(lab["command_line"].as_str().unwrap().contains("console"));
    assert!(lab["disks"][0]["options"].as_str().unwrap().contains("aio="));
    assert!(lab["timings"]["first_step_ms"].as_f64().unwrap() > 0.0);
    assert!(result.manifest.guest.as_ref().unwrap().0["kernel"].contains("amd64"));
    assert!(result.lab_files.keys().any(|name| name.contains("console")));
    assert!(result.lab_files.keys().any(|name| name.contains("kernel")));
    let cell = result.cells_of("vdo").next().unwrap();
    let vdo = cell.record.as_ref().unwrap();
    assert!(vdo.facts.keys().any(|name| name.contains("instance")), "{:?}", vdo.facts);
    assert_eq!(vdo.leftovers, Some(Vec::new()));
    assert!(result.transcript.iter().any(|line| line.argv.iter().any(|a| a == "lvcreate")));
    let sources: std::collections::BTreeSet<_> = cell
        .rows
        .iter()
        .filter_map(|row| match row {
            Row::Sample(sample) if sample.error.is_none() => Some(sample.source.as_str()),
            _ => None,
        })
        .collect();
    for source in ["vdo.stats", "vdo.threads", "machine.diskstats"] {
        assert!(sources.contains(source), "{source} is not among {sources:?}");
    }
}

#[test]
fn teardown_in_the_guest_leaves_nothing_wherever_a_cell_fails_or_is_interrupted() {
    let Some(_turn) = ready("teardown_in_the_guest") else { return };
    let (_file, experiment) = short_with(12, "4M", "size = \"16M\"\nverify = \"after\"");
    let (_dir, out) = fresh();
    let faults: Vec<_> = (0..10)
        .map(|cell| format!("{}@{cell}:{cell}", if cell % 2 == 0 { "fail" } else { "interrupt" }))
        // Whichever step of the last cell is its load: other steps do not mind.
        .chain((0..40).map(|step| format!("spoil@11:{step}")))
        .collect();
    let mut args = vec!["lab", "run", text(&experiment), "--out", text(&out)];
    faults.iter().for_each(|fault| args.extend(["--inject", fault]));
    let answer = fathom_in(&std::env::temp_dir(), &args);
    assert_eq!(answer.code, Some(130), "{}\n{}", answer.out, answer.err);
    let result = results::open(&out).unwrap();
    for (cell, data) in result.cells.iter().enumerate() {
        let record = data.record.as_ref().unwrap();
        assert_eq!(record.leftovers, Some(Vec::new()), "cell {cell}");
        let wanted = match cell {
            10 => CellState::Done,
            11 => CellState::Failed,
            even if even % 2 == 0 => CellState::Failed,
            _ => CellState::Interrupted,
        };
        assert_eq!(record.state, wanted, "cell {cell}: {:?}", record.reason);
    }
    let clean = result.cells[10].record.as_ref().unwrap().stages.last().unwrap();
    let found = clean.load.as_ref().unwrap().verify.as_ref().unwrap();
    assert_eq!((found.correct >= 1024, found.wrong_blocks()), (true, 0), "{found}");
    let reason = result.cells[11].reason().unwrap();
    // All 1,024 blocks of this load, and those of the stage before that it missed: one for each of the six leaves of 16 MiB at most.
    let wrong = (1024..=1030).map(|n| format!("found {} foreign blocks", units::show::grouped(n)));
    let wrong: Vec<_> = wrong.filter(|words| reason.contains(words)).collect();
    assert_eq!(wrong.len(), 1, "{reason}");
    let shown = fathom_in(&std::env::temp_dir(), &["show", text(&out)]);
    assert!(shown.out.contains(&wrong[0]), "{}", shown.out);
}

#[test]
fn a_guest_that_crashes_fails_its_cell_and_the_next_gets_a_new_guest() {
    let Some(_turn) = ready("a_guest_that_crashes") else { return };
    let (_file, experiment) = short(2, "4M");
    let (dir, out) = fresh();
    let log = dir.path().join("log");
    let args = ["lab", "run", text(&experiment), "--inject", "crash@0:4", "--out", text(&out)];
    let answer = fathom_in(&std::env::temp_dir(), &[&args[..], &["--log", text(&log)]].concat());
    assert_eq!(answer.code, Some(5), "{}\n{}", answer.out, answer.err);
    let log = std::fs::read_to_string(log).unwrap();
    let has = |words: &[&str]| log.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(has(&["DEBUG guest:", "host::executor: step", "vgcreate"]), "{log}");
    assert!(has(&["start QEMU", "-kernel"]) && has(&["the guest has ended", "panic"]), "{log}");
    let result: ResultSet = results::open(&out).unwrap();
    assert_eq!(result.manifest.cells[0].state, CellState::Failed);
    let reason = result.manifest.cells[0].reason.as_ref().unwrap();
    assert!(reason.contains("panic"), "{reason}");
    assert_eq!(result.manifest.cells[1].state, CellState::Done);
    assert!(answer.out.contains("panic") || answer.err.contains("panic"), "{}", answer.out);
}

#[test]
fn a_guest_that_hangs_is_ended_at_its_deadline() {
    let Some(_turn) = ready("a_guest_that_hangs") else { return };
    let (_file, experiment) = short(1, "4M");
    let (_dir, out) = fresh();
    let args = [
        "lab",
        "run",
        text(&experiment),
        "--inject",
        "hang@0:3",
        "--deadline",
        "20s",
        "--out",
        text(&out),
    ];
    let answer = fathom_in(&std::env::temp_dir(), &args);
    assert_eq!(answer.code, Some(5), "{}\n{}", answer.out, answer.err);
    let reason = results::open(&out).unwrap().manifest.cells[0].reason.clone().unwrap();
    assert!(reason.contains("deadline"), "{reason}");
}

#[test]
fn a_lab_dies_with_its_host_and_leaves_a_result_that_can_be_read() {
    let Some(_turn) = ready("a_lab_dies_with_its_host") else { return };
    // Who serves a modelled disk dies with the host, too.
    let (_file, experiment) = short_on("like = \"nvme\"", 3, "64M", "");
    for moment in 0..5 {
        let (_dir, out) = fresh();
        let mut host = start(&["lab", "run", text(&experiment), "--out", text(&out)]);
        wait_until("the manifest", || out.join("manifest.json").exists());
        if moment > 0 {
            wait_until("the first cell", || out.join("cells").exists());
            std::thread::sleep(Duration::from_millis(2500 * (moment - 1)));
        }
        let servers = servers_of(host.id());
        // At the manifest the machine may be on its way already.
        assert!(servers.len() == 1 || moment == 0 && servers.is_empty(), "{}", servers.len());
        host.kill().unwrap();
        host.wait().unwrap();
        wait_until("the guest is gone", || machines_of(host.id()) == 0);
        wait_until("nobody serves disks", || servers.iter().all(|server| server.is_gone()));
        assert!(sockets_of(host.id()).is_empty());
        check_cut_off(&out);
    }
}

#[test]
fn ctrl_c_stops_the_guest_keeps_what_was_measured_and_leaves_nothing() {
    let Some(_turn) = ready("ctrl_c") else { return };
    let (_file, experiment) = short_on("like = \"nvme\"", 2, "512M", "");
    let (_dir, out) = fresh();
    let mut host = start(&["lab", "run", text(&experiment), "--out", text(&out)]);
    let rows = || {
        let result = results::open(&out).ok()?;
        let cell = result.cells.first()?;
        Some(
            cell.rows
                .iter()
                .filter(|r| matches!(r, Row::Interval(i) if i.operation == "randwrite"))
                .count(),
        )
    };
    wait_until("some intervals of the load", || rows().is_some_and(|n| n >= 3));
    let servers = servers_of(host.id());
    assert_eq!(servers.len(), 1);
    let pid = rustix::process::Pid::from_child(&host);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(host.wait().unwrap().code(), Some(130));
    assert_eq!(machines_of(host.id()), 0);
    assert!(servers[0].is_gone() && sockets_of(host.id()).is_empty());
    let result = results::open(&out).unwrap();
    let record = result.cells[0].record.as_ref().unwrap();
    assert_eq!(record.state, CellState::Interrupted);
    assert_eq!(record.leftovers, Some(Vec::new()));
    let load = record.stages.last().unwrap().load.as_ref().unwrap();
    assert!(load.operations["randwrite"].ios > 0);
}

#[test]
fn two_labs_at_once_both_work_and_need_no_network_any_more() {
    let Some(_turn) = ready("two_labs_at_once") else { return };
    let (_file, experiment) = short(1, "16M");
    let (dir, _) = fresh();
    let outs = [dir.path().join("one"), dir.path().join("two")];
    // A mirror that cannot be reached: the image is there, so nobody asks for it.
    let run = |out: &PathBuf| {
        start(&[
            "lab",
            "run",
            text(&experiment),
            "--mirror",
            "http://127.0.0.1:9/debian",
            "--out",
            text(out),
        ])
    };
    // The first run of all builds the image.
    expect(0, &["lab", "run", text(&experiment), "--out", text(&dir.path().join("first"))]);
    let children: Vec<_> = outs.iter().map(run).collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    for out in &outs {
        assert!(results::open(out).unwrap().complete());
    }
}

#[test]
fn disks_are_kept_only_when_asked() {
    let Some(_turn) = ready("disks_are_kept") else { return };
    let (_file, experiment) = short(1, "4M");
    let (dir, out) = fresh();
    let disks = dir.path().join("disks");
    expect(
        0,
        &["lab", "run", text(&experiment), "--keep-disks", text(&disks), "--out", text(&out)],
    );
    let kept: Vec<_> = std::fs::read_dir(&disks).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(kept, ["data.img"]);
}

#[test]
fn a_shell_in_the_guest_sees_the_stack_that_was_asked_for() {
    let Some(_turn) = ready("a_shell_in_the_guest") else { return };
    let mut shell = command(&["lab", "shell", "--experiment", "vdo-vs-plain"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = shell.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"dmsetup table\nexit\n").unwrap();
    drop(input);
    let output = shell.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains(" vdo V4 "), "{printed}");
    assert_eq!(output.status.code(), Some(0), "{printed}");
}
