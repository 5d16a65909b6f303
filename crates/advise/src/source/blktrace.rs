//! Files of blktrace: one for each processor, with records one after the other as the kernel wrote them (`linux/blktrace_api.h`).
//!
//! A record of version 7 has 48 bytes, one of version 8 (Linux 7.0) has 64; behind each come as many bytes as it says. The byte order is
//! that of the machine that recorded. An I/O has several records: it is queued, issued, completed; one kind of them counts.

use std::collections::BTreeMap;
use std::io::{self, BufRead, ErrorKind, Read};
use std::path::{Path, PathBuf};

use disk::Op;

use super::file::{Accesses, FileKind, FileSummary, failed, is_valid, open};
use crate::access::Access;
use crate::error::{Error, Result};

/// The upper three bytes of the first word of a record; the lowest is the version.
const MAGIC: u32 = 0x0065_6174;
const RECORD: usize = 48;
/// Additional bytes of a record of version 8.
const MORE: usize = 16;
const SECTOR: u64 = 512;

/// Events that can stand for an I/O; of several in a trace, the first of this list counts.
const EVENTS: [(&str, u64); 3] = [("queued", 1), ("issued", 7), ("completed", 8)];

/// The place of the categories in an action, above the event.
const CATEGORY: u32 = 16;
const FLUSH: u64 = 1 << 2;
const WRITE: u64 = 1 << 1;
/// Requests other than reads and writes of a file system.
const COMMAND: u64 = 1 << 9;
const NOTE: u64 = 1 << 10;
const DISCARD: u64 = 1 << 13;

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Event {
    number: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    device: u32,
    cpu: u32,
}

impl Event {
    /// Returns blktrace's number of the event.
    fn act(&self) -> u64 {
        self.action & 0xff
    }

    /// Returns the I/O that the event belongs to; `None` where it belongs to none.
    fn access(&self) -> Option<Access> {
        let category = self.action >> CATEGORY;
        let has = |bit: u64| category & bit != 0;
        if has(NOTE | COMMAND) {
            return None;
        }
        let op = match self.bytes {
            0 if has(FLUSH) => Op::Flush,
            0 => return None,
            _ if has(DISCARD) => Op::Discard,
            _ if has(WRITE) => Op::Write,
            _ => Op::Read,
        };
        let offset = self.sector.saturating_mul(SECTOR);
        Some(Access { at_ns: self.time_ns, op, offset, bytes: self.bytes.into() })
    }
}

/// Reads records.
struct Events<R> {
    input: R,
    /// Bytes before the next record.
    at: u64,
    big: Option<bool>,
    /// Tells whether the file ends in the midst of a record.
    cut: bool,
}

/// The reason that records end early.
enum Stop {
    Io(io::Error),
    Damaged(String),
}

impl<R: BufRead> Events<R> {
    fn new(input: R) -> Self {
        Self { input, at: 0, big: None, cut: false }
    }

    /// Fills all of `bytes`; `false` where the file ends before.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, Stop> {
        match self.input.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                self.cut = true;
                Ok(false)
            }
            Err(error) => Err(Stop::Io(error)),
        }
    }

    fn event(&mut self) -> Result<Option<Event>, Stop> {
        if self.input.fill_buf().map_err(Stop::Io)?.is_empty() {
            return Ok(None);
        }
        let mut bytes = [0; RECORD + MORE];
        let (first, more) = bytes.split_at_mut(RECORD);
        if !self.fill(first)? {
            return Ok(None);
        }
        let magic: [u8; 4] = std::array::from_fn(|at| first[at]);
        let no_record =
            || Stop::Damaged(format!("is damaged: no record begins at byte {}", self.at));
        let big = u32::from_be_bytes(magic) >> 8 == MAGIC;
        if (!big && u32::from_le_bytes(magic) >> 8 != MAGIC) || self.big.is_some_and(|is| is != big)
        {
            return Err(no_record());
        }
        self.big = Some(big);
        let wide = match magic[if big { 3 } else { 0 }] {
            7 => false,
            8 => self.fill(more)?,
            other => {
                let why = format!("has records of version {other}; 7 and 8 are known");
                return Err(Stop::Damaged(why));
            }
        };
        if self.cut {
            return Ok(None);
        }
        let (event, behind) = decode(&bytes, big, wide);
        let skipped = io::copy(&mut self.input.by_ref().take(behind), &mut io::sink());
        if skipped.map_err(Stop::Io)? < behind {
            self.cut = true;
            return Ok(None);
        }
        self.at += (RECORD + if wide { MORE } else { 0 }) as u64 + behind;
        Ok(Some(event))
    }
}

/// Returns a record, and how many bytes come behind it.
fn decode(bytes: &[u8; RECORD + MORE], big: bool, wide: bool) -> (Event, u64) {
    let number = |at: usize, length: usize| {
        let field = bytes.iter().skip(at).take(length);
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if big { field.fold(0, add) } else { field.rev().fold(0, add) }
    };
    // The versions differ from the action on: in version 8 the process comes before it.
    let (action, device) = if wide { (number(32, 8), 40) } else { (number(28, 4), 36) };
    let event = Event {
        number: number(4, 4) as u32,
        time_ns: number(8, 8),
        sector: number(16, 8),
        bytes: number(24, 4) as u32,
        action,
        device: number(device, 4) as u32,
        cpu: number(device + 4, 4) as u32,
    };
    (event, number(device + 10, 2))
}

impl<R: BufRead> Iterator for Events<R> {
    type Item = Result<Event, Stop>;

    fn next(&mut self) -> Option<Self::Item> {
        self.event().transpose()
    }
}

/// Returns the files of the same recording, whose names differ only in the number of the processor, this one included.
pub(super) fn recording_files(path: &Path) -> Vec<PathBuf> {
    const MARK: &str = ".blktrace.";
    let numbered = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        let (base, number) = name.rsplit_once(MARK)?;
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| base.to_owned())
    };
    let Some(base) = numbered(path) else { return Vec::new() };
    let dir = path.parent().unwrap_or(Path::new(""));
    let listed = std::fs::read_dir(if dir == Path::new("") { Path::new(".") } else { dir });
    let names = listed.into_iter().flatten().flatten().map(|entry| dir.join(entry.file_name()));
    let with_records = |path: &PathBuf| path.metadata().is_ok_and(|file| file.len() > 0);
    names.filter(|path| numbered(path).as_ref() == Some(&base)).filter(with_records).collect()
}

/// Tells whether a file is a blktrace file: it begins with a record, or is empty and has such a name.
pub(super) fn is_one(start: &[u8], path: &Path) -> bool {
    let Some(word) = start.first_chunk() else {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        return start.is_empty() && name.is_some_and(|name| name.contains(".blktrace."));
    };
    [u32::from_le_bytes(*word), u32::from_be_bytes(*word)].iter().any(|word| word >> 8 == MAGIC)
}

fn error(path: &Path, stop: Stop) -> Error {
    match stop {
        Stop::Io(source) => failed(path, source),
        Stop::Damaged(why) => Error::Damaged { path: path.to_path_buf(), why },
    }
}

/// Scans a file.
pub(super) fn scan(path: &Path, count: &mut dyn FnMut()) -> Result<FileSummary> {
    let mut summary = FileSummary::new(path, FileKind::Blktrace);
    let mut events = Events::new(open(path)?);
    let mut counted = [0u64; EVENTS.len()];
    let mut devices: BTreeMap<u32, u64> = BTreeMap::new();
    let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
    for event in events.by_ref() {
        count();
        let event = event.map_err(|stop| error(path, stop))?;
        if event.action >> CATEGORY & NOTE != 0 {
            continue;
        }
        // Numbers rise by one on each processor; missing ones were lost on the way into the file.
        if event.number > 0 {
            let last = numbers.insert(event.cpu, event.number).unwrap_or(event.number - 1);
            summary.dropped += u64::from(event.number.saturating_sub(last).saturating_sub(1));
        }
        let Some(access) = event.access() else { continue };
        let Some(at) = EVENTS.iter().position(|(_, act)| *act == event.act()) else { continue };
        if !is_valid(&access) {
            summary.damaged += 1;
            continue;
        }
        counted[at] += 1;
        *devices.entry(event.device).or_default() += 1;
        summary.cover(&access);
    }
    summary.cut = events.cut;
    if devices.len() > 1 {
        return Err(Error::DoNotBelongTogether {
            why: format!(
                "{} covers {}",
                path.display(),
                units::show::names(&device_numbers(&devices))
            ),
            help: "record one device at a time: a cache serves one device",
        });
    }
    summary.of = device_numbers(&devices).pop();
    let taken = counted.iter().position(|count| *count > 0);
    summary.event = taken.map(|at| EVENTS[at].0);
    summary.ios = taken.map_or(0, |at| counted[at]);
    Ok(summary)
}

fn device_numbers(devices: &BTreeMap<u32, u64>) -> Vec<String> {
    devices.keys().map(|number| format!("{}:{}", number >> 20, number & 0xf_ffff)).collect()
}

/// Makes all files of a device count the same event.
pub(super) fn agree(files: &mut [FileSummary]) {
    let rank = |file: &FileSummary| EVENTS.iter().position(|(name, _)| Some(*name) == file.event);
    let first = files.iter().filter_map(rank).min();
    for file in files.iter_mut().filter(|file| rank(file) != first) {
        file.event = first.map(|at| EVENTS[at].0);
        file.ios = 0;
    }
}

/// Returns the I/Os of a file, one for each event of this kind.
pub(super) fn accesses(path: &Path, event: Option<&'static str>) -> Result<Accesses> {
    let act = EVENTS.iter().find(|(name, _)| Some(*name) == event).map(|(_, act)| *act);
    let (events, at) = (Events::new(open(path)?), path.to_path_buf());
    Ok(Box::new(events.filter_map(move |one| match one {
        Ok(one) if Some(one.act()) == act => one.access().filter(is_valid).map(Ok),
        Ok(_) => None,
        Err(stop) => Some(Err(error(&at, stop))),
    })))
}
