//! Files with traces, read as one stream of I/Os in the order of their times.

mod blktrace;
mod fio_log;
mod merge;
mod own;

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use disk::Op;
use serde::Serialize;

use crate::access::Access;
use crate::error::{Error, Result};

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
}

/// Contents of a file, known before its I/Os are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileSummary {
    /// The file; its name may be no text.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// Its kind.
    pub kind: FileKind,
    /// The device, disk or target that its I/Os went to, as the file calls it.
    pub of: Option<String>,
    /// The event of an I/O that counts: queued, issued or completed (blktrace).
    pub event: Option<&'static str>,
    /// I/Os that are taken: reads, writes, flushes, discards.
    pub ios: u64,
    /// I/Os that failed, and are left out.
    pub failed: u64,
    /// I/Os that whoever recorded it left out, as far as the file says so.
    pub dropped: u64,
    /// Records that can be no I/O, and are left out.
    pub damaged: u64,
    /// Tells whether the file ends in the midst of a record, or without its end.
    pub cut: bool,
    #[serde(skip)]
    first_ns: u64,
    #[serde(skip)]
    last_ns: u64,
}

fn shown<S: serde::Serializer>(path: &Path, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(&path.display())
}

impl FileSummary {
    fn new(path: &Path, kind: FileKind) -> Self {
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
        }
    }

    fn count(&mut self, access: &Access) {
        self.ios += 1;
        self.first_ns = self.first_ns.min(access.at_ns);
        self.last_ns = self.last_ns.max(access.at_ns);
    }
}

/// The I/Os of a file.
type Accesses = Box<dyn Iterator<Item = Result<Access>>>;

/// One or several files, which are of one device.
#[derive(Debug)]
pub struct Trace {
    files: Vec<FileSummary>,
}

impl Trace {
    /// Looks through files: what they are, whether they are whole and go together.
    ///
    /// # Errors
    /// One cannot be read, is no trace or is damaged; they are of several devices or of no I/O.
    pub fn open(paths: &[PathBuf]) -> Result<Self> {
        let files = paths.iter().map(|path| match kind(path)? {
            FileKind::DiskTrace => own::scan_disk_trace(path),
            FileKind::IoLog => own::scan_io_log(path),
            FileKind::Blktrace => blktrace::scan(path),
            FileKind::FioLog => fio_log::scan(path),
        });
        let mut trace = Self { files: files.collect::<Result<_>>()? };
        trace.go_together()?;
        blktrace::agree(&mut trace.files);
        if trace.files.iter().all(|file| file.ios == 0) {
            return Err(Error::Empty { paths: paths.to_vec() });
        }
        Ok(trace)
    }

    /// Returns what is in each file.
    pub fn files(&self) -> &[FileSummary] {
        &self.files
    }

    /// Returns when the first and the last I/O came, nanoseconds.
    pub fn times_ns(&self) -> (u64, u64) {
        let first = self.files.iter().map(|file| file.first_ns).min();
        let last = self.files.iter().map(|file| file.last_ns).max();
        (first.unwrap_or(0), last.unwrap_or(0))
    }

    /// Hands out all I/Os in the order of their times.
    ///
    /// # Errors
    /// A file cannot be read any more.
    pub fn each(&self, mut take: impl FnMut(&Access)) -> Result<()> {
        let sources = self.files.iter().map(|file| match file.kind {
            FileKind::DiskTrace => own::disk_trace(&file.path),
            FileKind::IoLog => own::io_log(&file.path),
            FileKind::Blktrace => blktrace::accesses(&file.path, file.event),
            FileKind::FioLog => fio_log::accesses(&file.path),
        });
        merge::merge(sources.collect::<Result<_>>()?, |access| take(access))
    }

    fn go_together(&self) -> Result<()> {
        let [first, others @ ..] = &self.files[..] else { return Ok(()) };
        for file in others {
            if file.kind != first.kind {
                let names = (first.path.display(), file.path.display());
                return Err(Error::Apart {
                    why: format!("{} and {} are traces of different kinds", names.0, names.1),
                    help: "name files of one kind, of one device",
                });
            }
        }
        if matches!(first.kind, FileKind::DiskTrace | FileKind::IoLog) && !others.is_empty() {
            return Err(Error::Apart {
                why: format!("each of these {} files is a trace of its own", self.files.len()),
                help: "name one of them: a cache stands before one device",
            });
        }
        fio_log::one_kind(&self.files)?;
        let with = |file: &FileSummary| file.of.clone();
        let mut devices: Vec<_> = self.files.iter().filter_map(with).collect();
        devices.sort();
        devices.dedup();
        if devices.len() > 1 {
            return Err(Error::Apart {
                why: format!("these files are of {}", units::show::names(&devices)),
                help: "name the files of one device: a cache stands before one",
            });
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<BufReader<File>> {
    let file = sys::input::open(path).map_err(|source| failed(path, source))?;
    Ok(BufReader::with_capacity(1 << 18, file))
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path.to_path_buf(), source }
}

/// Tells by its first bytes what a file is.
fn kind(path: &Path) -> Result<FileKind> {
    let mut start = Vec::new();
    open(path)?.take(256).read_to_end(&mut start).map_err(|source| failed(path, source))?;
    if start.starts_with(&disk::trace::MAGIC[..7]) {
        Ok(FileKind::DiskTrace)
    } else if start.starts_with(&results::iolog::MAGIC) {
        Ok(FileKind::IoLog)
    } else if blktrace::is_one(&start, path) {
        Ok(FileKind::Blktrace)
    } else if fio_log::is_one(&start, path) {
        Ok(FileKind::FioLog)
    } else {
        Err(Error::Unknown { path: path.to_path_buf() })
    }
}

/// Tells whether an I/O can be: it has a length, unless it is a flush, and an end.
fn can_be(access: &Access) -> bool {
    let ends = access.offset.checked_add(access.bytes).is_some_and(|end| end < 1 << 63);
    ends && (access.bytes > 0 || access.op == Op::Flush)
}

#[cfg(test)]
mod tests;
