//! A file with a trace: its kind, what is in it, and how it is opened.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use disk::Op;
use flate2::bufread::MultiGzDecoder;
use serde::Serialize;

use crate::access::Access;
use crate::error::{Error, Result};

/// Bytes that are read at a time.
const READ: usize = 1 << 18;
/// The first bytes of what gzip and zstd packed.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The kinds of files that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// The trace of a modelled disk.
    DiskTrace,
    /// A log of I/Os of `fathom load`.
    IoLog,
    /// A file that blktrace wrote.
    Blktrace,
    /// A log of fio's with the offset of each I/O.
    FioLog,
    /// A log of a job's I/Os that fio wrote to replay them.
    FioIoLog,
}

/// Contents of a file, known before its I/Os are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileSummary {
    /// The file; its name need not be valid text.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// Its kind.
    pub kind: FileKind,
    /// The device, disk or target that its I/Os went to, as the file calls it.
    pub of: Option<String>,
    /// The event that counts as an I/O (blktrace): queued, issued or completed.
    pub event: Option<&'static str>,
    /// I/Os that are taken: reads, writes, flushes, discards.
    pub ios: u64,
    /// I/Os that failed, and are left out.
    pub failed: u64,
    /// I/Os that the recorder lost, as far as the file says so.
    pub dropped: u64,
    /// Records that cannot be I/Os, and are left out.
    pub damaged: u64,
    /// Tells whether the file ends in the middle of a record, or lacks its end.
    pub cut: bool,
    #[serde(skip)]
    pub(super) first_ns: u64,
    #[serde(skip)]
    pub(super) last_ns: u64,
    /// The first byte that any of its I/Os covers.
    #[serde(skip)]
    pub(super) low: u64,
    /// The first byte behind all of them.
    #[serde(skip)]
    pub(super) end: u64,
}

fn shown<S: serde::Serializer>(path: &Path, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(&path.display())
}

impl FileSummary {
    pub(super) fn new(path: &Path, kind: FileKind) -> Self {
        let (of, event) = (None, None);
        Self {
            path: path.to_path_buf(),
            kind,
            of,
            event,
            ios: 0,
            failed: 0,
            dropped: 0,
            damaged: 0,
            cut: false,
            first_ns: u64::MAX,
            last_ns: 0,
            low: u64::MAX,
            end: 0,
        }
    }

    /// Widens the times and the addresses of the file by those of an I/O.
    pub(super) fn cover(&mut self, access: &Access) {
        self.first_ns = self.first_ns.min(access.at_ns);
        self.last_ns = self.last_ns.max(access.at_ns);
        if access.bytes > 0 {
            self.low = self.low.min(access.offset);
            self.end = self.end.max(access.end());
        }
    }

    pub(super) fn count(&mut self, access: &Access) {
        self.ios += 1;
        self.cover(access);
    }
}

/// The I/Os of a file.
pub(super) type Accesses = Box<dyn Iterator<Item = Result<Access>>>;

/// Opens a file; one that gzip or zstd packed is unpacked as it is read.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let file = sys::input::open(path).map_err(|source| failed(path, source))?;
    let mut file = BufReader::with_capacity(READ, file);
    let start = file.fill_buf().map_err(|source| failed(path, source))?;
    if start.starts_with(&GZIP) {
        return Ok(Box::new(BufReader::with_capacity(READ, MultiGzDecoder::new(file))));
    }
    if start.starts_with(&ZSTD) {
        let unpacked = zstd::Decoder::with_buffer(file).map_err(|source| failed(path, source))?;
        return Ok(Box::new(BufReader::with_capacity(READ, unpacked)));
    }
    Ok(Box::new(file))
}

/// Returns the error of a file that cannot be read. Unpackers report damage by error kinds of their own.
pub(super) fn failed(path: &Path, source: std::io::Error) -> Error {
    let path = path.to_path_buf();
    match source.kind() {
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::Other => {
            Error::Damaged { path, why: format!("cannot be unpacked: {source}") }
        }
        _ => Error::Io { path, source },
    }
}

/// Tells whether two files are the same, or one is a copy of the other.
pub(super) fn is_copy(one: &FileSummary, other: &FileSummary) -> Result<bool> {
    let alike = |file: &FileSummary| (file.ios, file.first_ns, file.last_ns);
    if alike(one) != alike(other) || one.ios == 0 {
        return Ok(false);
    }
    let (mut first, mut second) = (open(&one.path)?, open(&other.path)?);
    let mut parts = [Vec::new(), Vec::new()];
    loop {
        parts.iter_mut().for_each(Vec::clear);
        let [left, right] = &mut parts;
        (&mut first).take(READ as u64).read_to_end(left).map_err(|why| failed(&one.path, why))?;
        (&mut second)
            .take(READ as u64)
            .read_to_end(right)
            .map_err(|why| failed(&other.path, why))?;
        if left != right {
            return Ok(false);
        }
        if left.is_empty() {
            return Ok(true);
        }
    }
}

/// The longest read or write, bytes: the kernel counts those of one I/O in 32 bits.
const LONGEST: u64 = 1 << 32;

/// Tells whether an I/O is possible: its end is within range, and it has a valid length unless it is a flush.
pub(super) fn is_valid(access: &Access) -> bool {
    let ends = access.offset.checked_add(access.bytes).is_some_and(|end| end < 1 << 63);
    let length = match access.op {
        Op::Read | Op::Write => (1..LONGEST).contains(&access.bytes),
        Op::Discard => access.bytes > 0,
        Op::Flush => true,
    };
    ends && length
}
