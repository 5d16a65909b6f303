//! Traces that Fathom wrote: traces of modelled disks, and I/O logs of its own loads.

use std::io::BufRead;
use std::path::Path;

use disk::Op;
use disk::trace::{Record, Trace};
use results::iolog::{Header, IoLogError, IoRecord, Reader};

use super::file::{Accesses, FileKind, FileSummary, failed, is_valid, open};
use crate::access::Access;
use crate::error::{Error, Result};

/// Reads the trace of a modelled disk, packed or not, with what only such a trace has: the disk, and the latency of each request.
///
/// # Errors
/// If the file cannot be read, or is not such a trace, or is damaged.
pub fn read_disk_trace(path: &Path) -> Result<Trace> {
    Trace::read(open(path)?).map_err(|why| Error::Damaged { path: path.to_path_buf(), why })
}

fn access_of_request(record: &Record) -> Access {
    let Record { arrival_ns, op, offset, length, .. } = *record;
    Access { at_ns: arrival_ns, op, offset, bytes: length.into() }
}

/// Scans the trace of a modelled disk.
pub(super) fn scan_disk_trace(path: &Path) -> Result<FileSummary> {
    let trace = read_disk_trace(path)?;
    let mut summary = FileSummary::new(path, FileKind::DiskTrace);
    summary.of = Some(format!("{}, a disk like {}", trace.header.role, trace.header.like));
    summary.cut = trace.dropped.is_none();
    summary.dropped = trace.dropped.unwrap_or(0);
    for record in &trace.records {
        let access = access_of_request(record);
        match (record.failed, is_valid(&access)) {
            (true, _) => summary.failed += 1,
            (_, false) => summary.damaged += 1,
            _ => summary.count(&access),
        }
    }
    Ok(summary)
}

/// Returns the I/Os of the trace of a modelled disk.
pub(super) fn disk_trace(path: &Path) -> Result<Accesses> {
    let good = read_disk_trace(path)?.records.into_iter().filter(|record| !record.failed);
    Ok(Box::new(good.map(|record| access_of_request(&record)).filter(is_valid).map(Ok)))
}

fn log(path: &Path) -> Result<Reader<Box<dyn BufRead>>> {
    Reader::new(open(path)?).map_err(|error| match error {
        IoLogError::Io(source) => failed(path, source),
        other => Error::Damaged { path: path.to_path_buf(), why: other.to_string() },
    })
}

/// Returns the I/O of a record; `None` if its operation is unknown or its range impossible.
fn access_of_io(record: &IoRecord, header: &Header) -> Option<Access> {
    let op = match header.operations.get(usize::from(record.operation))?.as_str() {
        "read" | "randread" => Op::Read,
        "write" | "randwrite" | "writezeroes" | "randwritezeroes" => Op::Write,
        "discard" | "randdiscard" => Op::Discard,
        "flush" => Op::Flush,
        _ => return None,
    };
    let (offset, bytes) = (record.offset, record.length.into());
    Some(Access { at_ns: record.start_ns, op, offset, bytes }).filter(is_valid)
}

/// Scans an I/O log.
pub(super) fn scan_io_log(path: &Path, count: &mut dyn FnMut()) -> Result<FileSummary> {
    let mut reader = log(path)?;
    let header = reader.header().clone();
    if header.targets.len() > 1 {
        return Err(Error::DoNotBelongTogether {
            why: format!("{} has the I/Os of {} targets", path.display(), header.targets.len()),
            help: "log a load of one target: a cache serves one device",
        });
    }
    let mut summary = FileSummary::new(path, FileKind::IoLog);
    summary.of = header.targets.first().cloned();
    for record in reader.by_ref() {
        count();
        let record = record.map_err(|source| failed(path, source))?;
        match access_of_io(&record, &header) {
            None => summary.damaged += 1,
            Some(_) if record.error != 0 => summary.failed += 1,
            Some(access) => summary.count(&access),
        }
    }
    summary.damaged += reader.damaged();
    summary.cut = reader.closing().is_none();
    summary.dropped = reader.closing().map_or(0, |closing| closing.dropped);
    Ok(summary)
}

/// Returns the I/Os of a log.
pub(super) fn io_log(path: &Path) -> Result<Accesses> {
    let reader = log(path)?;
    let (header, at) = (reader.header().clone(), path.to_path_buf());
    Ok(Box::new(reader.filter_map(move |record| match record {
        Ok(record) if record.error == 0 => access_of_io(&record, &header).map(Ok),
        Ok(_) => None,
        Err(source) => Some(Err(failed(&at, source))),
    })))
}
