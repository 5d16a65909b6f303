//! Reads the I/Os that fio records with `write_iolog` in order to replay them.
//!
//! The first line says the version. A line of version 3 is `time in µs, file, action`, followed by offset and length for a read, write or trim.
//! Version 2 has no times, but `wait` lines with µs instead.

use std::io::{BufRead, Read};
use std::path::Path;

use disk::Op;

use super::file::{Accesses, FileKind, FileSummary, failed, is_valid, open};
use crate::access::Access;
use crate::error::{Error, Result};

/// The first line, before the number of the version.
const FIRST: &[u8] = b"fio version ";
/// The longest line that is read, bytes: lines contain names of files.
const LONGEST: u64 = 8192;

/// The request of one line.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// An I/O, and the file that it goes to.
    Io(Access, String),
    /// A line that opens or closes a file, or waits.
    Other,
    /// A line that is not valid.
    Damaged,
}

/// Tells whether a file is such a log.
pub(super) fn is_one(start: &[u8]) -> bool {
    start.starts_with(FIRST)
}

/// The lines behind the first one.
struct Lines {
    input: Box<dyn BufRead>,
    times: bool,
    now_ns: u64,
    /// Tells whether the last line lacked its line end.
    cut: bool,
}

impl Lines {
    fn of(path: &Path) -> Result<Self> {
        let mut lines = Self { input: open(path)?, times: true, now_ns: 0, cut: false };
        let first = lines.text().map_err(|source| failed(path, source))?.unwrap_or_default();
        lines.times = match first.trim_end() {
            "fio version 3 iolog" => true,
            "fio version 2 iolog" => false,
            other => {
                let why = format!("begins with '{other}'; 'fio version 2 iolog' and 3 are known");
                return Err(Error::Damaged { path: path.to_path_buf(), why });
            }
        };
        Ok(lines)
    }

    /// Returns the next line; `None` at the end.
    fn text(&mut self) -> std::io::Result<Option<String>> {
        let mut bytes = Vec::new();
        if self.input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.cut = bytes.last() != Some(&b'\n');
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn parse(&mut self, line: &str) -> Option<Line> {
        let mut words = line.split_whitespace();
        if self.times {
            self.now_ns = words.next()?.parse::<u64>().ok()?.checked_mul(1000)?;
        }
        let (file, action) = (words.next()?, words.next()?);
        let op = match action {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Discard,
            "sync" | "datasync" | "syncfilerange" => Op::Flush,
            "add" | "open" | "close" => return Some(Line::Other),
            "wait" => {
                let us: u64 = words.next()?.parse().ok()?;
                self.now_ns = self.now_ns.checked_add(us.checked_mul(1000)?)?;
                return Some(Line::Other);
            }
            _ => return None,
        };
        let mut number = || words.next().map_or(Some(0), |word| word.parse::<u64>().ok());
        let (offset, bytes) = (number()?, number()?);
        let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (offset, bytes) };
        let access = Access { at_ns: self.now_ns, op, offset, bytes };
        is_valid(&access).then(|| Line::Io(access, file.to_owned()))
    }
}

impl Iterator for Lines {
    type Item = std::io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.text().transpose()? {
            Ok(line) => line,
            Err(error) => return Some(Err(error)),
        };
        // A line that is cut off is not parsed: half a number would look like a number.
        let whole = (!self.cut).then_some(line);
        Some(Ok(whole.and_then(|line| self.parse(&line)).unwrap_or(Line::Damaged)))
    }
}

/// Scans a file.
pub(super) fn scan(path: &Path, count: &mut dyn FnMut()) -> Result<FileSummary> {
    let mut summary = FileSummary::new(path, FileKind::FioIoLog);
    let mut lines = Lines::of(path)?;
    for line in lines.by_ref() {
        count();
        match line.map_err(|source| failed(path, source))? {
            Line::Io(access, file) => {
                summary.count(&access);
                let first = summary.of.get_or_insert_with(|| file.clone());
                if *first != file {
                    return Err(Error::DoNotBelongTogether {
                        why: format!("{} holds I/Os of {first} and {file}", path.display()),
                        help: "record a job of one file or device: a cache serves one device",
                    });
                }
            }
            Line::Other => {}
            Line::Damaged => summary.damaged += 1,
        }
    }
    summary.cut = lines.cut;
    // A line that is cut off does not count as damaged as well.
    summary.damaged -= u64::from(lines.cut).min(summary.damaged);
    Ok(summary)
}

/// Returns the I/Os of a file.
pub(super) fn accesses(path: &Path) -> Result<Accesses> {
    let at = path.to_path_buf();
    Ok(Box::new(Lines::of(path)?.filter_map(move |line| match line {
        Ok(Line::Io(access, _)) => Some(Ok(access)),
        Ok(_) => None,
        Err(source) => Some(Err(failed(&at, source))),
    })))
}
