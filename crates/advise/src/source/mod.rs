//! Trace files, read as one stream of I/Os ordered by time.

mod blktrace;
mod fathom_traces;
mod file;
mod fio_iolog;
mod fio_log;
mod merge;

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::access::Access;
use crate::error::{Error, Result};

pub use fathom_traces::read_disk_trace;
pub use file::{FileKind, FileSummary};
use file::{failed, is_copy, open};

/// Records between two reports of progress.
const PROGRESS_EVERY: u64 = 1 << 16;

/// One or several trace files of the same device.
#[derive(Debug)]
pub struct Trace {
    files: Vec<FileSummary>,
}

impl Trace {
    /// Scans the files: their kinds, whether they are complete, and whether they belong together. Now and then `progress` gets the number of records read
    /// so far.
    ///
    /// # Errors
    /// If a file cannot be read, is not a trace or is damaged, or if the files come from several devices or hold no I/O.
    pub fn open(paths: &[PathBuf], progress: &mut dyn FnMut(u64)) -> Result<Self> {
        let mut read = 0;
        let mut count = || {
            read += 1;
            if read % PROGRESS_EVERY == 0 {
                progress(read);
            }
        };
        let files = paths.iter().map(|path| match kind(path)? {
            FileKind::DiskTrace => fathom_traces::scan_disk_trace(path),
            FileKind::IoLog => fathom_traces::scan_io_log(path, &mut count),
            FileKind::Blktrace => blktrace::scan(path, &mut count),
            FileKind::FioLog => fio_log::scan(path, &mut count),
            FileKind::FioIoLog => fio_iolog::scan(path, &mut count),
        });
        let mut trace = Self { files: files.collect::<Result<_>>()? };
        trace.check_compatible()?;
        blktrace::agree(&mut trace.files);
        if trace.files.iter().all(|file| file.ios == 0) {
            return Err(Error::Empty { paths: paths.to_vec(), others: [0; 2] });
        }
        Ok(trace)
    }

    /// Returns a summary of each file.
    pub fn files(&self) -> &[FileSummary] {
        &self.files
    }

    /// Returns the blktrace files of other CPUs of the same recording that lie beside the named files and were not named.
    pub fn unnamed_siblings(&self) -> Vec<PathBuf> {
        let named = |path: &Path| self.files.iter().any(|file| file.path == path);
        let mut beside: Vec<_> =
            self.files.iter().flat_map(|file| blktrace::recording_files(&file.path)).collect();
        beside.retain(|path| !named(path));
        beside.sort();
        beside.dedup();
        beside
    }

    /// Returns the times of the first and the last I/O, nanoseconds.
    pub fn times_ns(&self) -> (u64, u64) {
        let first = self.files.iter().map(|file| file.first_ns).min();
        let last = self.files.iter().map(|file| file.last_ns).max();
        (first.unwrap_or(0), last.unwrap_or(0))
    }

    /// Returns the bytes of the device from the first to the last that any I/O covers.
    pub fn addresses(&self) -> Range<u64> {
        let low = self.files.iter().map(|file| file.low).min();
        let end = self.files.iter().map(|file| file.end).max().unwrap_or(0);
        low.unwrap_or(0).min(end)..end
    }

    /// Returns how many I/Os all files have.
    pub fn ios(&self) -> u64 {
        self.files.iter().map(|file| file.ios).sum()
    }

    /// Passes all I/Os to `take`, ordered by time.
    ///
    /// # Errors
    /// If a file can no longer be read.
    pub fn each(&self, mut take: impl FnMut(&Access)) -> Result<()> {
        let sources = self.files.iter().map(|file| match file.kind {
            FileKind::DiskTrace => fathom_traces::disk_trace(&file.path),
            FileKind::IoLog => fathom_traces::io_log(&file.path),
            FileKind::Blktrace => blktrace::accesses(&file.path, file.event),
            FileKind::FioLog => fio_log::accesses(&file.path),
            FileKind::FioIoLog => fio_iolog::accesses(&file.path),
        });
        merge::merge(sources.collect::<Result<_>>()?, |access| take(access))
    }

    fn check_compatible(&self) -> Result<()> {
        let [first, others @ ..] = &self.files[..] else { return Ok(()) };
        for file in others {
            if file.kind != first.kind {
                let names = (first.path.display(), file.path.display());
                return Err(Error::DoNotBelongTogether {
                    why: format!("{} and {} are traces of different kinds", names.0, names.1),
                    help: "name files of one kind, of one device",
                });
            }
        }
        if matches!(first.kind, FileKind::DiskTrace | FileKind::IoLog) && !others.is_empty() {
            return Err(Error::DoNotBelongTogether {
                why: format!("each of these {} files is a trace of its own", self.files.len()),
                help: "name one of them: a cache serves one device",
            });
        }
        fio_log::one_kind(&self.files)?;
        for (at, file) in self.files.iter().enumerate() {
            for before in self.files.iter().take(at) {
                if is_copy(before, file)? {
                    let names = (before.path.display(), file.path.display());
                    return Err(Error::DoNotBelongTogether {
                        why: format!("{} and {} are the same", names.0, names.1),
                        help: "name each file once: the same I/Os twice would be hits of any cache",
                    });
                }
            }
        }
        let with = |file: &FileSummary| file.of.clone();
        let mut devices: Vec<_> = self.files.iter().filter_map(with).collect();
        devices.sort();
        devices.dedup();
        if devices.len() > 1 {
            return Err(Error::DoNotBelongTogether {
                why: format!("these files come from {}", units::show::names(&devices)),
                help: "name the files of one device: a cache serves one device",
            });
        }
        Ok(())
    }
}

/// Returns the kind of a file, by its first bytes.
///
/// # Errors
/// If the file cannot be read, or is none that is known.
pub fn kind(path: &Path) -> Result<FileKind> {
    let mut start = Vec::new();
    open(path)?.take(256).read_to_end(&mut start).map_err(|source| failed(path, source))?;
    if start.starts_with(&disk::trace::MAGIC[..7]) {
        Ok(FileKind::DiskTrace)
    } else if start.starts_with(&results::iolog::MAGIC) {
        Ok(FileKind::IoLog)
    } else if fio_iolog::is_one(&start) {
        Ok(FileKind::FioIoLog)
    } else if blktrace::is_one(&start, path) {
        Ok(FileKind::Blktrace)
    } else if fio_log::is_one(&start, path) {
        Ok(FileKind::FioLog)
    } else {
        Err(Error::Unknown { path: path.to_path_buf() })
    }
}

#[cfg(test)]
mod tests;
