//! Latency of block devices while they work: statistics of the device mapper for its nodes, where the kernel keeps them, and events of the block
//! layer for all others. `hist` triggers are often not built in, and need synthetic events to measure the time between two events: so the raw pages
//! of a trace instance are read here.

mod ends;
mod ring;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use layers::machine::Unmeasured;
use layers::probe::PlacedDevice;
use results::model::LatencySource;
use rustix::time::{ClockId, clock_gettime};
use sys::block::Number;

use ends::{Edge, Happened, Traced};
use ring::{Format, kernel_number};

use crate::dm_stats::Region;
use crate::trace;

/// Time between two readings of the kernel's buffers.
pub const DRAIN: Duration = Duration::from_millis(50);
/// Size of the ring buffers, KiB a CPU: room for some 18,000 I/Os of a device.
const BUFFER_KIB: &str = "2048";
/// Age below which events wait for the next reading, nanoseconds: an earlier event of another CPU may not have arrived yet.
const HOLD_NS: u64 = 1_000_000;
/// Longest page of a ring buffer, bytes.
const PAGE: usize = 64 << 10;
/// Events: their directory, the moment that they mark, and the kind of device that needs them (`None` for all).
const EVENTS: [(&str, Edge, Option<By>); 4] = [
    ("block/block_bio_queue", Edge::Begin, None),
    ("block/block_rq_complete", Edge::RequestEnd, Some(By::Requests)),
    ("block/block_bio_complete", Edge::BioEnd, Some(By::Bios)),
    ("bcache/bcache_request_end", Edge::BioEnd, Some(By::Bcache)),
];

/// The events that a traced device is measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Requests,
    Bios,
    /// The block layer reports the ends of its I/Os under the device below; bcache's own events report them for this device.
    Bcache,
}

impl By {
    fn source(self) -> LatencySource {
        match self {
            Self::Requests => LatencySource::Requests,
            Self::Bios | Self::Bcache => LatencySource::Bios,
        }
    }

    /// Returns the filter that lets through only the events of one device.
    fn filter(self, edge: Edge, disk: Number) -> String {
        match (self, edge) {
            (Self::Bcache, Edge::BioEnd) => {
                format!("(orig_major == {} && orig_minor == {})", disk.major, disk.minor)
            }
            _ => format!("dev == {}", kernel_number(disk.major, disk.minor)),
        }
    }
}

/// Measures the latency of devices from when it is made until it is dropped.
#[derive(Debug)]
pub struct LatencyWatch {
    /// The name without the number.
    name: String,
    /// The number of this measurement in this process.
    since: u32,
    devices: Vec<Watched>,
    trace: Option<Trace>,
}

/// A device, as it was when its measurement began.
#[derive(Debug)]
struct Watched {
    device: PlacedDevice,
    number: Option<Number>,
    source: Measured,
}

impl Watched {
    /// Tells whether the device was replaced or is gone: layers take devices down and recreate them.
    fn is_gone(&self) -> bool {
        number(&self.device) != self.number
            || matches!(&self.source, Measured::Node(region) if region.read().is_err())
    }
}

fn number(device: &PlacedDevice) -> Option<Number> {
    sys::block::number(Path::new(&device.path)).ok().flatten()
}

#[derive(Debug)]
enum Measured {
    Node(Region),
    /// Index among the traced devices.
    Traced(usize, LatencySource),
    Not(Unmeasured),
}

/// Events of devices, in a separate trace instance.
#[derive(Debug)]
struct Trace {
    at: PathBuf,
    pipes: Vec<File>,
    formats: Vec<(Format, Edge)>,
    /// Events that are not taken yet.
    pending: Vec<Happened>,
    traced: Vec<Traced>,
    page: Vec<u8>,
}

/// Prefix of the names under which a process measures outside of a run; the process id follows.
const OF_PROCESS: &str = "fathom_doctor_";

/// Returns the name under which this process measures latencies outside of a run.
pub fn own_name() -> String {
    format!("{OF_PROCESS}{}", std::process::id())
}

/// Tells whether a trace instance, or statistics of the device mapper, belong to a process that measured latencies and is gone.
fn is_abandoned(name: &str) -> bool {
    let process = name.strip_prefix(OF_PROCESS).and_then(|rest| rest.split('.').next());
    let process = process.and_then(|number| number.parse::<u32>().ok());
    process.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists())
}

/// Describes what killed processes left behind that measured latencies.
pub fn abandoned() -> Vec<String> {
    trace::left_of(is_abandoned).into_iter().map(|(what, _)| what).collect()
}

/// Removes what [`abandoned`] lists.
///
/// # Errors
/// When the kernel refuses.
pub fn clear_abandoned() -> io::Result<()> {
    trace::end_those(is_abandoned)
}

impl LatencyWatch {
    /// Begins to measure these devices. Trace instances and regions are called `name` with a number after it.
    pub fn begin(name: &str, devices: &[PlacedDevice]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let since = NUMBER.fetch_add(1, Ordering::Relaxed);
        let instance = format!("{name}.{since}");
        let mut traced: Vec<(Traced, By, Number)> = Vec::new();
        let watched = |device: &PlacedDevice| {
            let number = number(device);
            let source = number.map_or(Measured::Not(Unmeasured::NoDevice), |number| {
                measured(&instance, number, &mut traced)
            });
            Watched { device: device.clone(), number, source }
        };
        let mut all: Vec<_> = devices.iter().map(watched).collect();
        let mut trace = None;
        if !traced.is_empty() {
            match Trace::begin(&instance, traced) {
                Ok(begun) => trace = Some(begun),
                Err(why) => all.iter_mut().for_each(|device| {
                    if matches!(device.source, Measured::Traced(..)) {
                        device.source = Measured::Not(why);
                    }
                }),
            }
        }
        Self { name: name.to_owned(), since, devices: all, trace }
    }

    /// Reads out the kernel's buffers; to be called every [`DRAIN`]. Returns false where nothing is traced.
    pub fn drain(&mut self) -> bool {
        self.trace.as_mut().is_some_and(|trace| {
            trace.drain();
            true
        })
    }

    /// Reads all counts, in the form of [`layers::probe::Source::Latency`]. Where a device was replaced, all counts begin again at zero, under
    /// another number.
    pub fn read(&mut self) -> String {
        if self.devices.iter().any(Watched::is_gone) {
            let devices: Vec<_> = self.devices.drain(..).map(|watched| watched.device).collect();
            *self = Self::begin(&self.name, &devices);
        }
        self.drain();
        let lost = self.trace.as_ref().map_or(0, Trace::lost);
        let mut text = String::new();
        for Watched { device: PlacedDevice { name, .. }, source, .. } in &self.devices {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name} since {}", self.since);
            let _ = match source {
                Measured::Not(why) => writeln!(text, "{name} none {}", why.word()),
                Measured::Node(region) => node(&mut text, name, region),
                Measured::Traced(place, by) => {
                    let traced = self.trace.as_ref().and_then(|trace| trace.traced.get(*place));
                    traced.map_or(Ok(()), |traced| device(&mut text, name, *by, traced, lost))
                }
            };
        }
        text
    }
}

fn node(text: &mut String, name: &str, region: &Region) -> std::fmt::Result {
    let Ok(counts) = region.read() else {
        return writeln!(text, "{name} none {}", Unmeasured::Refused.word());
    };
    writeln!(text, "{name} by {}", LatencySource::DmStats.word())?;
    writeln!(text, "{name} lost 0")?;
    writeln!(text, "{name} reads {}\n{name} writes {}", counts.reads, counts.writes)?;
    let steps = counts.steps.into_iter().enumerate().filter(|(_, count)| *count > 0);
    line(text, name, "both", steps)
}

fn device(
    text: &mut String,
    name: &str,
    source: LatencySource,
    traced: &Traced,
    lost: u64,
) -> std::fmt::Result {
    if traced.has_no_ends() {
        return writeln!(text, "{name} none {}", Unmeasured::NoEnds.word());
    }
    writeln!(text, "{name} by {}", source.word())?;
    writeln!(text, "{name} lost {}", lost + traced.forgotten)?;
    for (direction, counts) in ["read", "write"].into_iter().zip(&traced.counts) {
        line(text, name, direction, counts.iter().map(|(step, count)| (*step, *count)))?;
    }
    Ok(())
}

fn line(
    text: &mut String,
    name: &str,
    direction: &str,
    steps: impl Iterator<Item = (usize, u64)>,
) -> std::fmt::Result {
    write!(text, "{name} {direction}")?;
    for (step, count) in steps {
        write!(text, " {step}:{count}")?;
    }
    writeln!(text)
}

/// Finds out how a device can be measured; statistics of the device mapper begin at once.
fn measured(name: &str, number: Number, traced: &mut Vec<(Traced, By, Number)>) -> Measured {
    let at = sys::block::sysfs(number);
    if let Ok(node) = std::fs::read_to_string(at.join("dm/name"))
        && let Ok(region) = Region::create(node.trim(), name)
    {
        return Measured::Node(region);
    }
    // The events are those of whole disks.
    let value =
        |file: &str| std::fs::read_to_string(at.join(file)).ok()?.trim().parse::<u64>().ok();
    let (disk, from, to) = match sys::block::disk_of(number) {
        None => (number, 0, u64::MAX),
        Some(disk) => {
            let (Some(start), Some(size)) = (value("start"), value("size")) else {
                return Measured::Not(Unmeasured::NoDevice);
            };
            (disk, start, start + size)
        }
    };
    let disk_at = sys::block::sysfs(disk);
    let by = match (disk_at.join("mq").exists(), disk_at.join("bcache").exists()) {
        (true, _) => By::Requests,
        (false, true) => By::Bcache,
        (false, false) => By::Bios,
    };
    traced.push((Traced::new(kernel_number(disk.major, disk.minor), from, to), by, disk));
    Measured::Traced(traced.len() - 1, by.source())
}

impl Trace {
    /// Makes the instance and switches on the events that these devices need.
    fn begin(name: &str, traced: Vec<(Traced, By, Number)>) -> Result<Self, Unmeasured> {
        let at = trace::instances().ok_or(Unmeasured::NoTracefs)?.join(name);
        std::fs::create_dir(&at).map_err(|_| Unmeasured::Refused)?;
        // From here on the instance is removed when this is dropped.
        let mut begun = Self {
            at,
            pipes: Vec::new(),
            formats: Vec::new(),
            pending: Vec::new(),
            traced: Vec::new(),
            page: vec![0; PAGE],
        };
        if !begun.at.join("events/block").is_dir() {
            return Err(Unmeasured::NoEvents);
        }
        begun.record(&traced).map_err(|_| Unmeasured::Refused)?;
        begun.traced = traced.into_iter().map(|(traced, ..)| traced).collect();
        Ok(begun)
    }

    fn record(&mut self, traced: &[(Traced, By, Number)]) -> io::Result<()> {
        std::fs::write(self.at.join("trace_clock"), "mono")?;
        std::fs::write(self.at.join("buffer_size_kb"), BUFFER_KIB)?;
        for cpu in std::fs::read_dir(self.at.join("per_cpu"))? {
            let mut options = OpenOptions::new();
            let pipe = cpu?.path().join("trace_pipe_raw");
            self.pipes.push(options.read(true).custom_flags(libc::O_NONBLOCK).open(pipe)?);
        }
        for (event, moment, of) in EVENTS {
            let filters = traced.iter().filter(|(_, by, _)| of.is_none_or(|of| of == *by));
            let filters: Vec<_> = filters.map(|(_, by, disk)| by.filter(moment, *disk)).collect();
            let at = self.at.join("events").join(event);
            // Without bcache's own events no I/O of it ends, which `has_no_ends` notices.
            if filters.is_empty() || of == Some(By::Bcache) && !at.is_dir() {
                continue;
            }
            let format = Format::of(&std::fs::read_to_string(at.join("format"))?);
            let format =
                format.ok_or_else(|| io::Error::other(format!("{event} has no fields")))?;
            self.formats.push((format, moment));
            std::fs::write(at.join("filter"), filters.join(" || "))?;
            std::fs::write(at.join("enable"), "1")?;
        }
        Ok(())
    }

    /// Takes all events of every CPU that are there, in the order of their times.
    fn drain(&mut self) {
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let Self { pipes, formats, pending, page, .. } = self;
        for pipe in pipes {
            // The loop ends when there is nothing to read, and on any error: events that are missing then count as lost.
            while let Ok(length @ 1..) = pipe.read(page) {
                ring::records(&page[..length], |at_ns, record| {
                    pending.extend(happened(formats, at_ns, record));
                });
            }
        }
        self.pending.sort_by_key(|what| what.at_ns);
        let due = self.pending.partition_point(|what| what.at_ns + HOLD_NS < now_ns);
        for what in self.pending.drain(..due) {
            self.traced.iter_mut().for_each(|traced| traced.take(&what));
        }
    }

    /// Events that the buffers had no room for.
    fn lost(&self) -> u64 {
        let cpus = std::fs::read_dir(self.at.join("per_cpu")).into_iter().flatten().flatten();
        let stats = cpus.filter_map(|cpu| std::fs::read_to_string(cpu.path().join("stats")).ok());
        stats.map(|stats| lost(&stats)).sum()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // An instance that somebody reads in cannot be removed.
        self.pipes.clear();
        let _ = std::fs::remove_dir(&self.at);
    }
}

fn happened(formats: &[(Format, Edge)], at_ns: u64, record: &[u8]) -> Option<Happened> {
    let id = ring::id_of(record)?;
    let (format, moment) = formats.iter().find(|(format, _)| format.id == id)?;
    let read = format.read(record)?;
    Some(Happened {
        at_ns,
        moment: *moment,
        dev: read.dev,
        sector: read.sector,
        sectors: read.sectors,
        write: read.write?,
    })
}

fn lost(stats: &str) -> u64 {
    let lines: BTreeMap<_, _> = stats.lines().filter_map(|line| line.split_once(": ")).collect();
    let of = |name: &str| lines.get(name).and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0);
    of("overrun") + of("commit overrun") + of("dropped events")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_without_room_are_lost_and_those_that_were_read_are_not() {
        let stats = "entries: 72003\noverrun: 70\ncommit overrun: 1\nbytes: 9\ndropped events: 2\nread events: 481868\n";
        assert_eq!(lost(stats), 73);
        assert_eq!(lost(""), 0);
    }

    #[test]
    fn what_is_no_block_device_is_said_to_be_none() {
        let device = PlacedDevice { name: "d".into(), path: "/dev/null".into(), on: Vec::new() };
        let mut watch = LatencyWatch::begin("fathom_0badcafe_none", &[device]);
        assert!(!watch.drain());
        let first = watch.read();
        let number: u32 =
            first.lines().next().unwrap().strip_prefix("d since ").unwrap().parse().unwrap();
        assert_eq!(first, format!("d since {number}\nd none no-device\n"));
    }
}
