//! Reads the sources that probes name: device-mapper messages, `/proc`, threads, block devices.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use layers::probe::{NamedDevice, Source};
use sys::dm::Dm;
use sys::interrupt::Interrupt;
use sys::task::Task;

use crate::latency::{DRAIN, LatencyWatch};
use crate::trace::{Absent, WriteRuns};

/// Reads the sources of probes: a real machine, or a test.
pub trait SourceReader: Send {
    /// The text of a source whose names are resolved.
    fn read(&mut self, source: &Source) -> io::Result<String>;

    /// Called before a mark is read: lists of things on the machine are made anew.
    fn look(&mut self) {}

    /// Called where a measured interval begins, after all that was read so far.
    fn begin(&mut self) {}

    /// Reads what cannot wait for the next reading; returns the time until the next call, where another one is needed.
    fn drain(&mut self) -> Option<Duration> {
        None
    }
}

/// Longest time for a command that is read as a source.
const COMMAND_DEADLINE: Duration = Duration::from_secs(10);
/// Longest time that a command of a background probe may take.
const PATIENT_DEADLINE: Duration = Duration::from_secs(600);
/// Number of reads after which the list of threads is made anew, even if none has gone and no mark is read.
const READS_PER_LIST: u32 = 30;

/// Reads sources of this machine.
#[derive(Debug, Default)]
pub struct Reader {
    dm: Option<Dm>,
    threads: Vec<Threads>,
    /// Recorded writes by the name of the trace instance; where they are not recorded, the reason.
    writes: BTreeMap<String, Result<WriteRuns, Absent>>,
    /// Latencies that are measured, by the name of their instance.
    latencies: BTreeMap<String, LatencyWatch>,
    /// Tells whether commands may take long.
    patient: bool,
    /// Kills the command that is being read.
    interrupt: Interrupt,
}

/// Threads whose names have one prefix, as they were listed last.
#[derive(Debug)]
struct Threads {
    prefix: String,
    ids: Vec<String>,
    /// Number of reads before they are listed anew: zero until two lists agree, since a layer starts threads while it comes up.
    reads_left: u32,
}

impl SourceReader for Reader {
    fn read(&mut self, source: &Source) -> io::Result<String> {
        match source {
            Source::DmMessage { node, message } => self.device_mapper(
                |dm| dm.message(node, message),
                &["dmsetup", "message", node, "0", message],
            ),
            Source::DmStatus { node } => self.device_mapper(
                |dm| dm.status(node).map(|lines| joined(&lines)),
                &["dmsetup", "status", "--noflush", node],
            ),
            Source::DmTable { node } => self.device_mapper(
                |dm| dm.table(node).map(|lines| joined(&lines)),
                &["dmsetup", "table", node],
            ),
            Source::Command { argv } => self.printed(argv),
            Source::Directory { path } => directory(Path::new(path)),
            Source::Space { path } => space(path),
            Source::Trace { instance, event } => crate::trace::count(instance, event),
            Source::WriteRuns { instance } => self.write_runs(instance),
            Source::Latency { instance, devices } => {
                let begun = || LatencyWatch::begin(instance, devices);
                Ok(self.latencies.entry(instance.clone()).or_insert_with(begun).read())
            }
            Source::FileSystem { filesystem, device, attribute } => {
                file_system(filesystem, device, attribute.as_deref())
            }
            Source::Queue { device, attribute } => queue(device, attribute),
            Source::Environment { setting, device } => {
                let of = device.as_deref().map(sysfs).transpose()?;
                crate::environment::read(setting, of.as_deref())
            }
            Source::Holders { device } => holders(device),
            Source::File { path } => std::fs::read_to_string(path),
            Source::Threads { prefix } => Ok(self.threads(prefix)),
            Source::Diskstats { devices } => diskstats(devices),
        }
    }

    fn look(&mut self) {
        self.threads.iter_mut().for_each(|threads| threads.reads_left = 0);
    }

    /// The part after the beginning of a run of writes that crosses it counts as a separate run.
    fn begin(&mut self) {
        self.writes.values_mut().flatten().for_each(WriteRuns::cut);
    }

    fn drain(&mut self) -> Option<Duration> {
        // Every one is drained, even after one that has more.
        let more = self.latencies.values_mut().map(LatencyWatch::drain);
        (more.filter(|more| *more).count() > 0).then_some(DRAIN)
    }
}

fn joined(lines: &[sys::dm::TargetLine]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl Reader {
    /// A reader of slow sources, which nobody waits for; a command is killed when `interrupt` asks to stop at once.
    pub(crate) fn patient(interrupt: &Interrupt) -> Self {
        Self { patient: true, interrupt: interrupt.clone(), ..Self::default() }
    }

    /// Counts writes in runs since this reader first read them: `writes N bytes N runs N dropped N`, or `absent: WHY`.
    fn write_runs(&mut self, instance: &str) -> io::Result<String> {
        if !self.writes.contains_key(instance) {
            self.writes.insert(instance.to_owned(), crate::trace::write_runs(instance)?);
        }
        match self.writes.get_mut(instance) {
            Some(Ok(runs)) => runs.read(),
            Some(Err(why)) => Ok(format!("absent: {why}\n")),
            None => Ok(String::new()),
        }
    }

    /// Asks the device mapper by ioctl or, where the control node cannot be opened, through `dmsetup`.
    fn device_mapper(
        &mut self,
        ask: impl Fn(&Dm) -> io::Result<String>,
        argv: &[&str],
    ) -> io::Result<String> {
        if self.dm.is_none() {
            self.dm = Dm::open().ok();
        }
        if let Some(dm) = &self.dm {
            return ask(dm);
        }
        let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
        self.printed(&argv)
    }

    /// Returns what a command prints on standard output.
    fn printed(&self, argv: &[String]) -> io::Result<String> {
        let deadline = if self.patient { PATIENT_DEADLINE } else { COMMAND_DEADLINE };
        let output = crate::child::run(argv, deadline, &self.interrupt)?;
        match output.code {
            Some(0) => Ok(output.stdout),
            _ if output.overdue => {
                let seconds = deadline.as_secs();
                Err(io::Error::other(format!("it was not done after {seconds} s, and was killed")))
            }
            _ => Err(io::Error::other(output.stderr.trim().to_owned())),
        }
    }

    /// Lines `tid comm utime stime` of all threads of the prefix.
    fn threads(&mut self, prefix: &str) -> String {
        let known = match self.threads.iter().position(|t| t.prefix == prefix) {
            Some(at) => &mut self.threads[at],
            None => {
                self.threads.push(Threads {
                    prefix: prefix.into(),
                    ids: Vec::new(),
                    reads_left: 0,
                });
                let last = self.threads.len() - 1;
                &mut self.threads[last]
            }
        };
        if known.reads_left > 0 {
            known.reads_left -= 1;
            let lines: Vec<_> = known.ids.iter().filter_map(|id| thread(id, prefix)).collect();
            if lines.len() == known.ids.len() {
                return lines.concat();
            }
        }
        let found: Vec<_> = processes().filter_map(|id| Some((thread(&id, prefix)?, id))).collect();
        let (lines, ids): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let settled = !ids.is_empty() && known.ids == ids;
        known.reads_left = if settled { READS_PER_LIST } else { 0 };
        known.ids = ids;
        lines.concat()
    }
}

/// Blocks of the file system that is mounted at `path`: `blocks N free N size N`.
fn space(path: &str) -> io::Result<String> {
    let found = rustix::fs::fstatvfs(crate::mounts::root(path)?)?;
    Ok(format!("blocks {} free {} size {}", found.f_blocks, found.f_bfree, found.f_frsize))
}

/// The directory of a block device in sysfs, by its number.
fn sysfs(device: &str) -> io::Result<PathBuf> {
    let number = rustix::fs::stat(device)?.st_rdev;
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    Ok(Path::new("/sys/dev/block").join(format!("{major}:{minor}")))
}

/// Attributes of the file system that is mounted from a block device.
fn file_system(filesystem: &str, device: &str, attribute: Option<&str>) -> io::Result<String> {
    let device = sysfs(device)?.canonicalize()?;
    let name = device.file_name().unwrap_or_default();
    let here = Path::new("/sys/fs").join(filesystem).join(name);
    match attribute {
        Some(attribute) => std::fs::read_to_string(here.join(attribute)),
        None => directory(&here),
    }
}

/// An attribute of the queue of a block device.
fn queue(device: &str, attribute: &str) -> io::Result<String> {
    let here = sysfs(device)?;
    // A partition has the queue of its disk.
    let of_disk = || std::fs::read_to_string(here.join("../queue").join(attribute));
    std::fs::read_to_string(here.join("queue").join(attribute)).or_else(|_| of_disk())
}

/// Names of the block devices that stand on another one, one a line.
fn holders(device: &str) -> io::Result<String> {
    let number = sys::block::number(Path::new(device))?;
    let number =
        number.ok_or_else(|| io::Error::other(format!("{device} is not a block device")))?;
    let mut lines = Vec::new();
    for holder in std::fs::read_dir(sys::block::sysfs(number).join("holders"))? {
        lines.push(format!("{}\n", holder?.file_name().to_string_lossy()));
    }
    lines.sort();
    Ok(lines.concat())
}

/// A line `name value` for every file of a directory that can be read; lines of the value are joined with blanks.
fn directory(path: &Path) -> io::Result<String> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        // Attributes that can only be written have no figures.
        if let Ok(value) = std::fs::read_to_string(entry.path()) {
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            lines.push(format!("{} {value}\n", entry.file_name().to_string_lossy()));
        }
    }
    lines.sort();
    Ok(lines.concat())
}

/// Ids of all processes; each kernel thread is a process, too.
fn processes() -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
}

/// The line of one thread; `None` when it is gone or has another name.
fn thread(id: &str, prefix: &str) -> Option<String> {
    // The name is read first, since all processes are searched: that takes the kernel a fraction of the time of a whole `stat`.
    let name = std::fs::read(format!("/proc/{id}/comm")).ok()?;
    if !name.starts_with(prefix.as_bytes()) {
        return None;
    }
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let Task { name, user_ticks, system_ticks, .. } = Task::of(&stat)?;
    name.starts_with(prefix).then(|| format!("{id} {name} {user_ticks} {system_ticks}\n"))
}

/// A line `name columns` for each device; `name -` for one that is not there.
fn diskstats(devices: &[NamedDevice]) -> io::Result<String> {
    let all = std::fs::read_to_string("/proc/diskstats")?;
    let mut text = String::new();
    for device in devices {
        let number = sys::block::number(Path::new(&device.path)).ok().flatten();
        let columns = number.and_then(|number| {
            all.lines().find_map(|line| columns_of(line, number.major, number.minor))
        });
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {}", device.name, columns.unwrap_or("-"));
    }
    Ok(text)
}

/// Returns the text after `major minor name` in a line of diskstats if the line is about that device.
fn columns_of(line: &str, major: u32, minor: u32) -> Option<&str> {
    let (first, rest) = line.trim_start().split_once(char::is_whitespace)?;
    let (second, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let same = first.parse() == Ok(major) && second.parse() == Ok(minor);
    let (_, columns) = rest.trim_start().split_once(' ')?;
    same.then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diskstats_line_is_found_by_number_and_not_by_name() {
        let line = " 254       1 vda1 10 0 80 5 20 0 160 7 0 12 12";
        assert_eq!(columns_of(line, 254, 1), Some("10 0 80 5 20 0 160 7 0 12 12"));
        assert_eq!(columns_of(line, 254, 10), None);
        assert_eq!(columns_of("", 254, 1), None);
    }

    #[test]
    fn a_device_that_is_not_there_is_said_to_be_absent() {
        let devices = [NamedDevice { name: "data".into(), path: "/dev/fathom-none".into() }];
        assert_eq!(diskstats(&devices).unwrap(), "data -\n");
    }

    #[test]
    fn what_is_no_block_device_has_no_holders() {
        let error = holders("/dev/null").unwrap_err().to_string();
        assert_eq!(error, "/dev/null is not a block device");
        assert!(holders("/dev/fathom-none").is_err());
    }

    #[test]
    fn our_own_process_is_found_by_its_name_and_parsed() {
        let name = std::fs::read_to_string("/proc/self/comm").unwrap();
        let mut reader = Reader::default();
        let source = Source::Threads { prefix: name.trim().to_owned() };
        for _ in 0..2 {
            let text = reader.read(&source).unwrap();
            assert!(text.contains(&format!("{} ", std::process::id())), "{text}");
            layers::parse("machine.threads", &text).unwrap();
        }
        let none = Source::Threads { prefix: "fathom no such thread".into() };
        assert_eq!(reader.read(&none).unwrap(), "");
    }

    #[test]
    fn a_thread_that_starts_later_is_listed_until_two_lists_agree_and_at_each_mark() {
        let directory = tempfile::tempdir().unwrap();
        let start = |name: &str| {
            let program = directory.path().join(name);
            std::os::unix::fs::symlink("/usr/bin/sleep", &program).unwrap();
            let child = std::process::Command::new(&program).arg("60").spawn().unwrap();
            // It has its name from when it has begun.
            let comm = format!("/proc/{}/comm", child.id());
            while std::fs::read_to_string(&comm).unwrap().trim() != name {
                std::thread::sleep(Duration::from_millis(1));
            }
            child
        };
        let mut reader = Reader::default();
        let source = Source::Threads { prefix: "fathomq:".into() };
        let mut names = |mark: bool| {
            if mark {
                reader.look();
            }
            let parsed = layers::parse("machine.threads", &reader.read(&source).unwrap());
            parsed.unwrap().numbers.into_keys().collect::<Vec<_>>()
        };
        let mut children = vec![start("fathomq:a")];
        assert_eq!(names(false), ["a"]);
        children.push(start("fathomq:b"));
        assert_eq!(names(false), ["a", "b"], "one list alone is not believed");
        assert_eq!(names(false), ["a", "b"]);
        children.push(start("fathomq:c"));
        assert_eq!(names(false), ["a", "b"], "a settled list is not made anew each time");
        assert_eq!(names(true), ["a", "b", "c"], "but at a mark");
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn the_machines_own_probes_are_read_and_parsed() {
        let mut reader = Reader::default();
        for probe in layers::machine::probes(&[]) {
            layers::parse(&probe.parser, &reader.read(&probe.source).unwrap()).unwrap();
        }
    }
}
