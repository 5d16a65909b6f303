//! A directory as a store: a file under another name, which gets its own when all of it is on the disk.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use results::draft::Draft;
use results::packed::MARK;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

use crate::error::PushError;
use crate::package::{Package, each_chunk, hex};
use crate::{Event, Outcome};

/// Stores a package in a directory.
pub(crate) fn store(
    dir: &Path,
    package: &Package,
    replace: bool,
    on: &mut dyn FnMut(Event),
) -> Result<Outcome, PushError> {
    let place = dir.join(&package.name);
    let failed = |error: io::Error| PushError::file(&place, &error);
    let there = match fs::metadata(&place) {
        Ok(found) => {
            let same = found.is_file()
                && found.len() == package.bytes
                && File::open(&place).and_then(|file| package.is(file)).map_err(failed)?;
            match same {
                true => return Ok(Outcome::AlreadyThere),
                false if !replace => {
                    return Err(PushError::other_bytes(&place.display().to_string()));
                }
                false => true,
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(failed(error)),
    };
    // The name says whose bytes they are: what a killed push of the same ones left makes way.
    let prefix = format!(".fathom-{}-", package.sha256.get(..16).unwrap_or_default());
    remove_left(dir, &prefix);
    let begin = || Draft::begin_as(&place, MARK, &prefix);
    let (draft, gone) = sys::passing::watched(begin, Draft::unfinished_path).map_err(failed)?;
    // Held until the file is closed: nobody else takes it for one that was left.
    let _ = flock(draft.file(), FlockOperation::NonBlockingLockExclusive);
    let (mut written, mut hash) = (0, Sha256::new());
    let copied = each_chunk(package.open()?, |chunk| {
        draft.file().write_all(chunk)?;
        hash.update(chunk);
        written += chunk.len() as u64;
        on(Event::At(written));
        Ok(())
    });
    copied.and_then(|()| draft.file().sync_all()).map_err(failed)?;
    if hex(&hash.finalize()) != package.sha256 {
        return Err(PushError::changed(&package.path));
    }
    drop(gone);
    draft.finish().map_err(failed)?;
    // The name has to last, too. A file system that cannot do this keeps its names in its own way.
    let _ = File::open(dir).and_then(|dir| dir.sync_all());
    Ok(if there { Outcome::Replaced } else { Outcome::Stored })
}

/// Removes unfinished files that nobody writes any more.
fn remove_left(dir: &Path, prefix: &str) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let left = entry.file_name().to_string_lossy().starts_with(prefix)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && File::open(entry.path())
                .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        if left {
            let _ = fs::remove_file(entry.path());
        }
    }
}
