//! Loads of file trees on real file systems: effects, counters, the state at the end, no space.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use engine::tree::{TreeLoad, TreeStop};
use engine::{Context, EngineError, ErrorKind, Event};
use results::model::{IntervalRow, LoadSummary};
use sys::clock::Clock;
use sys::interrupt::{Interrupt, Level};
use tree::{Expectation, Name, NameKind, Size, StepOutcome, Stream, TreeSpec};
use units::{Nanos, Seed};

use crate::support::{Loop, Tmpfs, skip};

/// Every operation that every file system has.
const ALL: &str = "create=20,read=5,randread=5,write=5,randwrite=5,append=5,truncate=3,delete=5,rename=4,softlink=3,hardlink=3,mkdir=3,rmdir=2,\
     readdir=1,stat=3,fsync=0.2,fdatasync=0.2,fallocate=2,punch=3,copy_file_range=2";

pub(crate) fn spec(ops: &str, files: u64, workers: u32) -> TreeSpec {
    TreeSpec {
        ops: ops.parse().unwrap(),
        files,
        levels: 2,
        dirs: 3,
        size: Size::Range(1, 20_000),
        record: Size::Fixed(4096),
        pick: tree::Pick::Any,
        distribution: tree::Distribution::Uniform,
        workers,
        fsync_percent: 0.0,
        fdatasync_percent: 0.0,
    }
}

pub(crate) fn load(directory: &Path, spec: TreeSpec, stop: TreeStop) -> TreeLoad {
    TreeLoad {
        spec,
        seed: Seed(5),
        directory: directory.to_owned(),
        way: directory.to_owned(),
        into_existing: false,
        content: Default::default(),
        stop,
        interval: Nanos(100_000_000),
        stage: 0,
    }
}

fn ios(number: u64) -> TreeStop {
    TreeStop { ios: Some(number), ..TreeStop::default() }
}

pub(crate) fn seconds(number: u64) -> TreeStop {
    TreeStop { duration: Some(Nanos::from_secs(number)), ..TreeStop::default() }
}

/// Runs a load; `look` sees every event, and may interrupt.
pub(crate) fn run_with(
    load: &TreeLoad,
    mut look: impl FnMut(&Event, &Interrupt),
) -> (Result<LoadSummary, EngineError>, Vec<IntervalRow>, String) {
    let (clock, interrupt) = (Clock::real(), Interrupt::new());
    let context = Context { clock: &clock, interrupt: &interrupt, foreign_cpu: None };
    let (mut rows, mut notices) = (Vec::new(), String::new());
    let summary = engine::tree::run(load, &context, &mut |event| {
        look(&event, &interrupt);
        match event {
            Event::Intervals { rows: more, .. } => rows.extend(more),
            Event::Notice(text) => notices += &text,
            _ => {}
        }
    });
    (summary, rows, notices)
}

fn run(load: &TreeLoad) -> LoadSummary {
    run_with(load, |_, _| {}).0.unwrap()
}

/// A directory on a file system in memory, or on the disk of this machine.
struct Place {
    path: PathBuf,
    _memory: Option<Tmpfs>,
    device: Option<Loop>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.device.is_some() {
            let status = Command::new("umount").arg(&self.path).status();
            assert!(status.is_ok_and(|s| s.success()) || std::thread::panicking(), "still held");
        }
    }
}

fn in_memory(test: &str, bytes: u64) -> Option<Place> {
    let memory = Tmpfs::new(test, bytes)?;
    Some(Place { path: memory.path().to_owned(), _memory: Some(memory), device: None })
}

/// A fresh file system on a loop device; skipped where that is not to be had.
fn on_loop(test: &str, kind: &str, folder: &Path) -> Option<Place> {
    let device = Loop::new(test, 512 << 20, &[])?;
    let path = folder.join(kind);
    fs::create_dir(&path).unwrap();
    let done = |command: &str, arguments: &[&Path]| {
        let force = if kind == "ext4" { "-F" } else { "-f" };
        let mut command = Command::new(command);
        if arguments.len() == 1 {
            command.arg("-q").arg(force);
        }
        command.args(arguments).output().is_ok_and(|o| o.status.success())
    };
    if done(&format!("mkfs.{kind}"), &[&device.path]) && done("mount", &[&device.path, &path]) {
        return Some(Place { path, _memory: None, device: Some(device) });
    }
    skip(test, &format!("no {kind} can be made and mounted"));
    None
}

/// Done operations, expected failures and bytes of each operation, by the pure stream.
type Counts = BTreeMap<String, (u64, BTreeMap<String, u64>, u64)>;

/// Goes through the operations of all workers without doing them.
fn foretold(spec: &TreeSpec, seed: Seed, operations: u64) -> (Vec<Stream>, Counts) {
    let mut counts = Counts::new();
    let workers = u64::from(spec.workers);
    let streams = (0..workers).map(|worker| {
        let mut stream = Stream::new(spec, seed, worker as u32).unwrap();
        for _ in 0..operations / workers + u64::from(worker < operations % workers) {
            let step = stream.next_step();
            let count = counts.entry(step.op.to_string()).or_default();
            let answer = StepOutcome::expected(&step);
            match step.expected {
                Expectation::Done => (count.0, count.2) = (count.0 + 1, count.2 + answer.bytes),
                Expectation::Errno(errno) => {
                    let name = match errno {
                        tree::errno::NO_ENTRY => "ENOENT",
                        tree::errno::EXISTS => "EEXIST",
                        _ => "EINVAL",
                    };
                    *count.1.entry(name.to_owned()).or_default() += 1;
                }
                Expectation::Skip(_) => {}
            }
            stream.record(&step, answer);
        }
        stream
    });
    (streams.collect(), counts)
}

/// Names below a directory with their sizes; of links and directories 0.
fn names(top: &Path, found: &mut BTreeMap<PathBuf, u64>) {
    for entry in fs::read_dir(top).unwrap().flatten() {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        if meta.is_dir() {
            names(&path, found);
        }
        let is_ours = !path.ends_with("lost+found");
        if is_ours && !path.file_name().unwrap().to_string_lossy().starts_with('d') {
            found.insert(path, if meta.is_file() { meta.len() } else { 0 });
        }
    }
}

/// The names that the books of all workers say, with their sizes.
fn booked(top: &Path, spec: &TreeSpec, streams: &[Stream]) -> BTreeMap<PathBuf, u64> {
    let mut all = BTreeMap::new();
    for index in 0..spec.files {
        let stream = &streams[(index % u64::from(spec.workers)) as usize];
        let (books, name) = (stream.books(), (index / u64::from(spec.workers)) as u32);
        let layout = spec.layout();
        let at = top.join(layout.path(layout.leaf_of(index)));
        let path = |kind| at.join(Name::new(index, kind).as_str());
        all.extend(books.size(name).map(|size| (path(NameKind::File), size)));
        all.extend(books.hard_link(name).map(|size| (path(NameKind::Hard), size)));
        all.extend(books.has_soft_link(name).then(|| (path(NameKind::Soft), 0)));
        all.extend(books.has_directory(name).then(|| (path(NameKind::Directory), 0)));
    }
    all
}

/// Compares a load of a number of operations with the pure stream: counters, rows, and what is there at the end.
fn compare(place: &Path, ops: &str, workers: u32) {
    let operations = 12_000;
    let load = load(place, spec(ops, 300, workers), ios(operations));
    let (summary, rows, _) = run_with(&load, |_, _| {});
    let summary = summary.unwrap();
    assert_eq!(summary.ended_by, "ios");
    let (streams, counts) = foretold(&load.spec, load.seed, operations);
    for (name, (done, expected, bytes)) in &counts {
        let figures = &summary.operations[name];
        assert_eq!(figures.errors, BTreeMap::new(), "{name}");
        assert_eq!((figures.ios, figures.bytes), (*done, *bytes), "{name}");
        assert_eq!(figures.expected_errors.as_ref(), Some(expected), "{name}");
        let missed: u64 = expected.values().sum();
        assert_eq!(figures.attempted, Some(done + missed), "{name}");
        assert_eq!(figures.latency.is_some(), *done > 0, "{name}");
        let rows = rows.iter().filter(|row| row.operation == *name);
        let sum = rows.fold((0, 0), |sum, row| (sum.0 + row.ios, sum.1 + row.bytes));
        assert_eq!(sum, (figures.ios, figures.bytes), "{name}: rows");
    }
    let mut found = BTreeMap::new();
    names(place, &mut found);
    assert_eq!(found, booked(place, &load.spec, &streams));
    let facts = summary.tree.unwrap();
    let sum = |of: fn(&Stream) -> u64| streams.iter().map(of).sum::<u64>();
    assert_eq!(facts.files, sum(|s| s.books().files().into()));
    assert_eq!(facts.bytes, sum(|s| s.books().bytes()));
    assert_eq!(facts.directories, 12 + sum(|s| s.books().directories().into()));
    for link in found.keys().filter(|path| path.extension().is_some_and(|end| end == "s")) {
        let target = fs::read_link(link).unwrap();
        assert!(
            target.is_relative() && link.parent().unwrap().join(target).parent().unwrap().is_dir()
        );
    }
}

#[test]
fn operations_do_in_memory_what_the_stream_says_with_one_job_and_with_four() {
    let test = "operations_do_in_memory_what_the_stream_says";
    for workers in [1, 4] {
        let Some(place) = in_memory(test, 64 << 20) else { return };
        compare(&place.path, ALL, workers);
    }
}

#[test]
fn operations_do_on_every_file_system_what_the_stream_says() {
    let test = "operations_do_on_every_file_system_what_the_stream_says";
    let folder = tempfile::tempdir().unwrap();
    for kind in ["xfs", "ext4", "btrfs"] {
        let Some(place) = on_loop(test, kind, folder.path()) else { continue };
        let ops = if kind == "ext4" { ALL.to_owned() } else { format!("{ALL},reflink=3") };
        for workers in [1, 4] {
            let directory = place.path.join(format!("of {workers}"));
            fs::create_dir(&directory).unwrap();
            compare(&directory, &ops, workers);
        }
    }
}

#[test]
fn what_makes_files_durable_has_rows_of_its_own_and_content_is_never_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec("create=1", 40, 2);
    (spec.size, spec.fsync_percent, spec.fdatasync_percent) = (Size::Fixed(8192), 50.0, 100.0);
    let load = load(folder.path(), spec, ios(200));
    let summary = run(&load);
    let ios = |name: &str| summary.operations[name].ios;
    assert_eq!(ios("fsync") + ios("fdatasync"), ios("create"));
    assert!(ios("fsync") > 5 && ios("fdatasync") > 5, "{:?}", summary.operations.keys());
    assert!(ios("create") >= 38 && summary.operations["create"].bytes == ios("create") * 8192);
    assert_eq!(summary.jobs.len(), 2);
    let mut found = BTreeMap::new();
    names(folder.path(), &mut found);
    let blocks = found.keys().map(|path| fs::read(path).unwrap());
    let blocks: Vec<_> =
        blocks.flat_map(|all| [all[..4096].to_vec(), all[4096..].to_vec()]).collect();
    let distinct: std::collections::BTreeSet<_> = blocks.iter().collect();
    assert_eq!(distinct.len(), blocks.len());
}

#[test]
fn what_does_not_fit_is_counted_with_its_bytes_and_its_file_is_known() {
    let test = "what_does_not_fit_is_counted";
    let Some(place) = in_memory(test, 1 << 20) else { return };
    let mut spec = spec("create=50,append=20,read=20,delete=10", 100, 1);
    spec.size = Size::Fixed(50_000);
    let summary = run(&load(&place.path, spec, ios(3_000)));
    assert_eq!(summary.ended_by, "ios");
    for (name, figures) in &summary.operations {
        assert_eq!(figures.errors, BTreeMap::new(), "{name}");
    }
    assert!(summary.operations["create"].expected_errors.as_ref().unwrap()["ENOSPC"] > 100);
    let mut found = BTreeMap::new();
    names(&place.path, &mut found);
    let facts = summary.tree.unwrap();
    assert_eq!((facts.files, facts.bytes), (found.len() as u64, found.values().sum()));
    assert!(found.values().any(|size| size % 50_000 != 0), "a short write");
}

#[test]
fn a_directory_that_is_not_fit_is_refused_and_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path, kind: ErrorKind, phrase: &str| {
        let (summary, ..) = run_with(&load(path, spec("create=1", 10, 1), ios(10)), |_, _| {});
        let error = summary.unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(phrase), "{error}");
    };
    refused(&folder.path().join("none/at/all"), ErrorKind::Usage, "cannot be made");
    let file = folder.path().join("f000000001");
    fs::write(&file, "mine").unwrap();
    refused(&file, ErrorKind::Usage, "is not a directory");
    refused(folder.path(), ErrorKind::Refused, "is not empty");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    // Next to the existing file, each load makes a new directory.
    for number in 1..3 {
        let mut spec = spec("create=1", 10, 1);
        spec.levels = 0;
        let mut load = load(folder.path(), spec, ios(100));
        load.into_existing = true;
        assert_eq!(run(&load).tree.unwrap().files, 10);
        let made = folder.path().join(format!("fathom-tree-{number}"));
        assert_eq!(fs::read_dir(made).unwrap().count(), 10);
    }
    assert_eq!(
        (fs::read_to_string(&file).unwrap().as_str(), fs::read_dir(folder.path()).unwrap().count()),
        ("mine", 3)
    );

    let never = TreeStop { equilibrium: true, ..TreeStop::default() };
    let empty = tempfile::tempdir().unwrap();
    let (summary, ..) =
        run_with(&load(empty.path(), spec("create=1,append=1", 10, 1), never), |_, _| {});
    assert!(summary.unwrap_err().to_string().contains("never comes to rest"));
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
}

#[test]
fn a_file_system_that_is_read_only_is_refused_and_one_that_becomes_so_ends_the_load() {
    let test = "a_file_system_that_is_read_only";
    let Some(place) = in_memory(test, 16 << 20) else { return };
    let remount = |how: &str| {
        let mut command = Command::new("mount");
        command.args(["-o", &format!("remount,{how}")]).arg(&place.path);
        command.output().is_ok_and(|o| o.status.success())
    };
    let load = load(&place.path, spec("create=1,delete=1", 50, 1), seconds(60));
    assert!(remount("ro"));
    let error = run_with(&load, |_, _| {}).0.unwrap_err();
    assert!(error.to_string().contains("cannot be written to"), "{error}");
    assert!(remount("rw"));
    let mut is_read_only = false;
    let (summary, ..) = run_with(&load, |event, _| {
        if matches!(event, Event::Intervals { .. }) && !is_read_only {
            is_read_only = (0..10_000).any(|_| remount("ro"));
        }
    });
    let summary = summary.unwrap();
    assert_eq!(summary.ended_by, "errors");
    let refused = |name: &str| summary.operations[name].errors.contains_key("EROFS");
    assert!(refused("create") || refused("delete"), "{:?}", summary.operations);
}

#[test]
fn a_tree_that_is_never_seen_at_rest_says_so_and_its_load_is_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let stop = TreeStop { equilibrium: true, ios: Some(10_000_000), ..TreeStop::default() };
    let load = load(folder.path(), spec("create=40,stat=40,delete=20", 12, 1), stop);
    let summary = run(&load);
    assert_eq!(summary.ended_by, "unsettled", "{:?}", summary.tree);
    assert!(summary.incomplete[0].contains("was not seen at rest"), "{:?}", summary.incomplete);
    assert_eq!(summary.notices, summary.incomplete);
}

#[test]
fn an_interrupt_ends_a_load_and_equilibrium_is_seen_where_it_was_foretold() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let interrupted = load(&made("a"), spec("create=1,delete=1", 90, 2), seconds(60));
    let (summary, ..) = run_with(&interrupted, |event, interrupt| {
        if matches!(event, Event::Intervals { .. }) {
            interrupt.request(Level::Finish);
        }
    });
    assert_eq!(summary.unwrap().ended_by, "interrupted");

    let stop = TreeStop { equilibrium: true, ..TreeStop::default() };
    let mut spec = spec("create=40,stat=40,delete=20", 4_000, 2);
    spec.size = Size::Fixed(64);
    let summary = run(&load(&made("b"), spec, stop));
    let facts = summary.tree.unwrap();
    assert_eq!(summary.ended_by, "equilibrium", "{facts:?}");
    let rest = &facts.equilibrium;
    assert!((rest.predicted_files.unwrap() - 4_000.0 * 2.0 / 3.0).abs() < 1.0);
    let part = facts.files as f64 / rest.predicted_files.unwrap();
    assert!((0.95..1.05).contains(&part), "{facts:?}");
    assert!(rest.bytes_at_rest_after.unwrap() > 5 * 4_000, "{rest:?}");
    assert!(fs::metadata(made("c")).unwrap().nlink() >= 1);
}
