//! Loop devices, small file systems, and loads to run on them.

use std::path::{Path, PathBuf};
use std::process::Command;

use engine::{Context, EngineError, Event, Load, TargetSpec};
use results::model::{IntervalRow, JobRow, LoadSummary, OperationSummary};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::{Nanos, Seed};
use workload::LoadSpec;

/// Says that a test was skipped, the way the test runner looks for.
pub fn skip(name: &str, reason: &str) {
    println!("SKIP {name}: {reason}");
}

/// Tells whether this process may set up loop devices and mounts.
pub fn is_root() -> bool {
    // Root's own files belong to 0.
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

/// A loop device over a sparse file; both are gone when it is dropped.
pub struct Loop {
    pub path: PathBuf,
    pub backing: PathBuf,
    _folder: tempfile::TempDir,
}

impl Loop {
    /// A device of `bytes` bytes; if the machine gives none, reports the skip and returns `None`.
    pub fn new(test: &str, bytes: u64, options: &[&str]) -> Option<Self> {
        if !is_root() {
            skip(test, "loop devices need root");
            return None;
        }
        Self::inside(test, &std::env::temp_dir(), bytes, options)
    }

    /// The same, with its backing file in a new folder inside `place`.
    pub fn inside(test: &str, place: &Path, bytes: u64, options: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir_in(place).unwrap();
        let backing = folder.path().join("backing");
        std::fs::File::create(&backing).unwrap().set_len(bytes).unwrap();
        let output =
            Command::new("losetup").args(["--find", "--show"]).args(options).arg(&backing).output();
        match output {
            Ok(output) if output.status.success() => {
                let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
                Some(Self { path, backing, _folder: folder })
            }
            other => {
                skip(test, &format!("losetup gives no device: {other:?}"));
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}

/// A zram device; gone when it is dropped.
pub struct Zram {
    pub path: PathBuf,
}

impl Zram {
    /// A device of `bytes` bytes; if the machine gives none, reports the skip and returns `None`.
    pub fn new(test: &str, bytes: u64) -> Option<Self> {
        let output =
            Command::new("zramctl").args(["--find", "--size"]).arg(bytes.to_string()).output();
        match output {
            Ok(output) if output.status.success() => {
                let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
                Some(Self { path })
            }
            other => {
                skip(test, &format!("zramctl gives no device: {other:?}"));
                None
            }
        }
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = Command::new("zramctl").arg("--reset").arg(&self.path).status();
    }
}

/// A mounted tmpfs; unmounted when it is dropped.
pub struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    pub fn new(test: &str, bytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = is_root()
            && Command::new("mount")
                .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "none"])
                .arg(folder.path())
                .status()
                .is_ok_and(|s| s.success());
        if mounted {
            Some(Self(folder))
        } else {
            skip(test, "tmpfs cannot be mounted (needs root)");
            None
        }
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // A target that is still held after its load would keep a stack from being taken down.
        let status = Command::new("umount").arg(self.0.path()).status();
        assert!(status.is_ok_and(|s| s.success()) || std::thread::panicking(), "still held");
    }
}

/// A file system on a loop device that can be frozen: writes to it stay in the kernel until it is thawed.
pub struct Frozen {
    folder: tempfile::TempDir,
    _device: Loop,
}

impl Frozen {
    pub fn new(test: &str) -> Option<Self> {
        let device = Loop::new(test, 32 << 20, &[])?;
        let folder = tempfile::tempdir().unwrap();
        let done = |command: &str, arguments: &[&std::ffi::OsStr]| {
            Command::new(command).args(arguments).output().is_ok_and(|o| o.status.success())
        };
        let quiet = std::ffi::OsStr::new("-q");
        let ready = done("mkfs.ext4", &[quiet, device.path.as_os_str()])
            && done("mount", &[device.path.as_os_str(), folder.path().as_os_str()]);
        if !ready {
            skip(test, "no ext4 can be made and mounted");
        }
        ready.then_some(Self { folder, _device: device })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn freeze(&self, frozen: bool) {
        let flag = if frozen { "-f" } else { "-u" };
        let status = Command::new("fsfreeze").arg(flag).arg(self.path()).status();
        assert!(status.unwrap().success(), "fsfreeze {flag}");
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // Thawed whatever happened. Lazily unmounted: a ring that was given up holds its file until the process ends.
        let _ = Command::new("fsfreeze").arg("-u").arg(self.path()).output();
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// A load from TOML keys of a load stage.
pub fn load(target: TargetSpec, spec: &str) -> Load {
    let spec: LoadSpec = toml::from_str(spec).unwrap();
    Load {
        spec,
        seed: Seed(42),
        targets: target.alone(),
        choice: None,
        verification: Default::default(),
        stage: 3,
        may_create: None,
        recording: engine::Recording::default(),
    }
}

pub fn on(path: &Path, spec: &str) -> Load {
    load(TargetSpec::Path(path.to_owned()), spec)
}

/// Everything that a load reported, and its result.
pub struct Reported {
    pub result: Result<LoadSummary, EngineError>,
    pub rows: Vec<IntervalRow>,
    pub jobs: Vec<JobRow>,
    pub events: Vec<Event>,
}

impl Reported {
    pub fn summary(&self) -> &LoadSummary {
        self.result.as_ref().unwrap()
    }
}

/// Runs a load; `look` sees every event and may interrupt.
pub fn run_with(load: &Load, clock: &Clock, look: impl Fn(&Event, &Interrupt)) -> Reported {
    let interrupt = Interrupt::new();
    let context = Context { clock, interrupt: &interrupt, foreign_cpu: None };
    let (mut rows, mut jobs, mut events) = (Vec::new(), Vec::new(), Vec::new());
    let result = engine::run(load, &context, &mut |event| {
        look(&event, &interrupt);
        if let Event::Intervals { rows: more, jobs: more_jobs, .. } = &event {
            rows.extend(more.iter().cloned());
            jobs.extend(more_jobs.iter().cloned());
        }
        events.push(event);
    });
    Reported { result, rows, jobs, events }
}

pub fn run(load: &Load) -> Reported {
    run_with(load, &Clock::real(), |_, _| {})
}

/// Rows and summary must tell the same: I/Os, bytes, errors, and the histogram.
pub fn agree(reported: &Reported) {
    let summary = reported.summary();
    jobs_agree(reported);
    for (name, operation) in &summary.operations {
        let rows: Vec<_> = reported.rows.iter().filter(|r| r.operation == *name).collect();
        assert_eq!(rows.iter().map(|r| r.ios).sum::<u64>(), operation.ios, "{name}");
        assert_eq!(rows.iter().map(|r| r.bytes).sum::<u64>(), operation.bytes, "{name}");
        let errors: u64 = operation.errors.values().sum();
        assert_eq!(rows.iter().map(|r| r.errors).sum::<u64>(), errors, "{name}");
        let texts = rows.iter().filter_map(|r| r.histogram.as_deref());
        let merged = results::histogram::merge(texts).unwrap();
        assert_eq!(merged.as_ref().and_then(results::histogram::summary), operation.latency);
        for pair in rows.windows(2) {
            assert_eq!(pair[0].end_ns, pair[1].start_ns, "rows leave a gap");
        }
    }
}

/// Asserts that what all jobs did is what the load did; where figures per job are kept, so it is in each interval and each operation.
fn jobs_agree(reported: &Reported) {
    let summary = reported.summary();
    if summary.jobs.is_empty() {
        return assert!(summary.engine.jobs == 1 && reported.jobs.is_empty());
    }
    let all = |of: fn(&OperationSummary) -> u64| summary.operations.values().map(of).sum::<u64>();
    assert_eq!(summary.jobs.iter().map(|job| job.ios).sum::<u64>(), all(|op| op.ios));
    assert_eq!(summary.jobs.iter().map(|job| job.bytes).sum::<u64>(), all(|op| op.bytes));
    let errors = all(|op| op.errors.values().sum());
    assert_eq!(summary.jobs.iter().map(|job| job.errors).sum::<u64>(), errors);
    assert!(summary.jobs.iter().all(|job| job.duration_ns <= summary.duration_ns));
    for row in reported.rows.iter().filter(|_| !reported.jobs.is_empty()) {
        let of_row = |job: &&JobRow| {
            (job.part.start_ns, &job.part.operation) == (row.start_ns, &row.operation)
        };
        let of_interval: Vec<_> = reported.jobs.iter().filter(of_row).collect();
        assert_eq!(of_interval.len(), summary.jobs.len());
        assert_eq!(of_interval.iter().map(|job| job.part.ios).sum::<u64>(), row.ios);
        assert!(of_interval.iter().all(|job| job.part.end_ns == row.end_ns));
    }
    for job in summary.jobs.iter().filter(|job| !job.operations.is_empty()) {
        assert_eq!(job.operations.values().map(|op| op.ios).sum::<u64>(), job.ios);
    }
}

pub fn seconds(nanos: u64) -> f64 {
    Nanos(nanos).as_secs_f64()
}
