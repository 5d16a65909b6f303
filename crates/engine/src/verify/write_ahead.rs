//! Write-ahead record of verification: before its first write a load notes in the state file that it has begun.
//!
//! The record says which ranges it writes. A load that ends replaces the file; if a load is killed, its record stays, and the next reader treats the
//! blocks of these ranges as unknown.

use std::io::{self, Write};
use std::path::Path;

use workload::Range;

use super::file::{MAGIC, begin, damaged, end, replace};
use super::header::Header;
use super::state::unwritable;
use crate::error::EngineError;

/// Records in the state file at `path` that a load is about to write `ranges`; the record stays if the load is killed. The rest of the file is kept.
pub(crate) fn record_begin(
    path: &Path,
    header: &Header,
    ranges: &[Range],
) -> Result<(), EngineError> {
    let failed = |error| unwritable(path, error);
    let old = match sys::input::read(path, u64::MAX) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let parts = old.as_deref().map(split).transpose().map_err(failed)?;
    let (mut header, body) = match parts {
        // If the state of another target was accepted, it belongs to this load's target from now on.
        Some((old, body)) => {
            (Header { identities: header.identities.clone(), ..old }, body.to_vec())
        }
        // A new file: no replays, no exceptions, no overlaps.
        None => {
            let nothing = Header {
                replayed: true,
                replays: Some(Vec::new()),
                unflushed: Vec::new(),
                ..header.clone()
            };
            let none = vec![0; nothing.targets.len() * 2 * size_of::<u64>()];
            (Header { recipes: Vec::new(), ..nothing }, none)
        }
    };
    header.unfinished.push(ranges.to_vec());
    replace(path, |file| {
        let mut to = begin(file, &header)?;
        to.write_all(&body)?;
        end(to)
    })
    .map_err(failed)
}

/// Notes in the state file at `path` that everything written to its targets is now in stable storage.
///
/// # Errors
/// When the file cannot be read or written.
pub fn note_flushed(path: &Path) -> io::Result<()> {
    change(path, |header| header.unflushed.clear())
}

/// Notes in the state file at `path` that data which were not in stable storage may be lost: the ranges that loads have written since the last flush
/// become unknown.
///
/// # Errors
/// When the file cannot be read or written.
pub fn note_lost(path: &Path) -> io::Result<()> {
    change(path, |header| header.unfinished.append(&mut header.unflushed))
}

fn change(path: &Path, change: impl FnOnce(&mut Header)) -> io::Result<()> {
    let bytes = match sys::input::read(path, u64::MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    let (mut header, body) = split(&bytes)?;
    let before = header.clone();
    change(&mut header);
    if header == before {
        return Ok(());
    }
    replace(path, |file| {
        let mut to = begin(file, &header)?;
        to.write_all(body)?;
        end(to)
    })
}

/// Splits the bytes of a state file into its header and the body between header and checksum.
fn split(bytes: &[u8]) -> io::Result<(Header, &[u8])> {
    let short = || damaged("it ends early");
    let (head, rest) = bytes.split_at_checked(MAGIC.len() + 4).ok_or_else(short)?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let at = u32::from_le_bytes(*length) as usize;
    let (json, rest) = rest.split_at_checked(at).ok_or_else(short)?;
    let (body, _) = rest.split_last_chunk::<4>().ok_or_else(short)?;
    debug_assert!(head.starts_with(MAGIC));
    Ok((serde_json::from_slice(json)?, body))
}
