//! Logs of fio (`write_lat_log` and the like) with the offset of each I/O (`log_offset=1`).
//!
//! A line is `time in ms, value, direction, size, offset, priority`; fio before 3.2 had no priority. Without offsets it is one shorter.

use std::io::{BufRead, Read};
use std::path::Path;

use disk::Op;

use super::file::{Accesses, FileKind, FileSummary, failed, is_valid, open};
use crate::access::Access;
use crate::error::{Error, Result};

/// The longest line that is read, bytes.
const LONGEST: u64 = 1024;
/// Kinds of logs that fio writes about the same I/Os.
const KINDS: [&str; 5] = ["bw", "iops", "lat", "clat", "slat"];

/// A valid line.
struct Line {
    access: Access,
    /// Tells whether it has a field for a priority behind the fifth field, which therefore is an offset.
    has_priority: bool,
}

/// Parses a line; `None` where it is not a line of a log.
fn parse(line: &str) -> Option<Line> {
    let fields: Vec<&str> = line.trim_end().split(',').map(str::trim).collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let (ms, direction, bytes) = (number(0)?, number(2)?, number(3)?);
    fields.get(1)?.parse::<i64>().ok()?;
    let op = match direction {
        0 => Op::Read,
        1 => Op::Write,
        2 => Op::Discard,
        _ => return None,
    };
    // A hexadecimal number is a priority, and not an offset.
    let offset = fields.get(4).map_or(Some(0), |field| match field.strip_prefix("0x") {
        Some(_) => Some(0),
        None => field.parse().ok(),
    })?;
    let at_ns = ms.checked_mul(1_000_000)?;
    let has_priority = fields.len() > 5;
    Some(Line { access: Access { at_ns, op, offset, bytes }, has_priority })
}

/// Returns which of [`KINDS`] a file is by its name: `NAME_lat.1.log` is one of latencies.
fn kind_by_name(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".log")?;
    let name = name.trim_end_matches(|end: char| end.is_ascii_digit());
    let last = name.strip_suffix('.').unwrap_or(name).rsplit('_').next()?;
    KINDS.into_iter().find(|kind| *kind == last)
}

/// Tells whether a file is such a log: its first line is valid, or it is empty and has such a name.
pub(super) fn is_one(start: &[u8], path: &Path) -> bool {
    if start.is_empty() {
        return kind_by_name(path).is_some();
    }
    let first = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    std::str::from_utf8(first).is_ok_and(|line| parse(line).is_some())
}

/// Lines of a log.
struct Lines {
    input: Box<dyn BufRead>,
    /// Tells whether the last line lacked its line end.
    cut: bool,
}

impl Lines {
    fn of(path: &Path) -> Result<Self> {
        Ok(Self { input: open(path)?, cut: false })
    }
}

impl Iterator for Lines {
    type Item = std::io::Result<Option<Line>>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = Vec::new();
        match self.input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(error)),
        }
        self.cut = bytes.last() != Some(&b'\n');
        // A line that is cut off is not parsed: half a number would look like a number.
        let whole = std::str::from_utf8(&bytes).ok().filter(|_| !self.cut);
        Some(Ok(whole.and_then(parse)))
    }
}

/// Scans a log.
pub(super) fn scan(path: &Path, count: &mut dyn FnMut()) -> Result<FileSummary> {
    let mut summary = FileSummary::new(path, FileKind::FioLog);
    let mut lines = Lines::of(path)?;
    let (mut priorities, mut places) = (false, false);
    for line in lines.by_ref() {
        count();
        let Some(line) = line.map_err(|source| failed(path, source))? else {
            summary.damaged += 1;
            continue;
        };
        priorities |= line.has_priority;
        // In a log without offsets this field is a priority, which is 0 or 1.
        places |= line.access.offset > 1;
        match is_valid(&line.access) {
            true => summary.count(&line.access),
            // A line of averages has no size.
            false if line.access.bytes == 0 => {
                return Err(Error::NoOffsets { path: path.to_path_buf() });
            }
            false => summary.damaged += 1,
        }
    }
    summary.cut = lines.cut;
    // A line that is cut off does not count as damaged as well.
    summary.damaged -= u64::from(lines.cut).min(summary.damaged);
    if summary.ios > 0 && !priorities && !places {
        return Err(Error::NoOffsets { path: path.to_path_buf() });
    }
    Ok(summary)
}

/// Returns the I/Os of a log.
pub(super) fn accesses(path: &Path) -> Result<Accesses> {
    let at = path.to_path_buf();
    Ok(Box::new(Lines::of(path)?.filter_map(move |line| match line {
        Ok(line) => line.map(|line| line.access).filter(is_valid).map(Ok),
        Err(source) => Some(Err(failed(&at, source))),
    })))
}

/// Checks that logs are of one kind: the same I/O is in the log of latencies and in that of bandwidth.
pub(super) fn one_kind(files: &[FileSummary]) -> Result<()> {
    let logs = files.iter().filter(|file| file.kind == FileKind::FioLog);
    let mut kinds: Vec<_> = logs.filter_map(|file| kind_by_name(&file.path)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() < 2 {
        return Ok(());
    }
    Err(Error::DoNotBelongTogether {
        why: format!("the same I/Os are in fio's logs of {}", units::show::names(&kinds)),
        help: "name the logs of one kind, one of each job: NAME_lat.*.log",
    })
}
