//! The mark of a cache directory that Fathom made: nothing is kept in, or removed from, a directory of somebody else.
//!
//! The file is the one of the Cache Directory Tagging Specification, by which backup programs recognise caches; its second line says whose it is.

use std::io::{ErrorKind, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tempfile::NamedTempFile;

use super::entries::{BUILD_LOCK, MARK, is_own};
use crate::{Error, Result};

const TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# This directory is the cache of Fathom's lab: fathom lab clean removes what is in it.\n";

/// Opens the cache in `dir`, which gets the mark where it is new, or was made by a version of Fathom that made none.
///
/// # Errors
/// A directory that holds anything that does not belong to a cache of Fathom's is refused.
pub(super) fn open(dir: &Path) -> Result<Dir> {
    let opened = Dir::open_ambient_dir(dir, ambient_authority())
        .map_err(Error::io("cannot open the cache directory", dir))?;
    if is_marked(&opened) {
        return Ok(opened);
    }
    let names = names(&opened).map_err(Error::io("cannot list", dir))?;
    let foreign = names.iter().find(|name| !is_own(name));
    let earlier = names.iter().any(|name| name == BUILD_LOCK);
    let fresh = names.iter().all(|name| name.starts_with('.'));
    match foreign.or(names.first().filter(|_| !earlier && !fresh)) {
        // Another process may have made it in the meantime.
        Some(_) if is_marked(&opened) => {}
        Some(name) => {
            return Err(Error::ForeignCache { dir: dir.to_path_buf(), holds: name.clone() });
        }
        None => put(dir).map_err(Error::io("cannot mark the cache directory", dir))?,
    }
    Ok(opened)
}

fn is_marked(dir: &Dir) -> bool {
    dir.symlink_metadata(MARK).is_ok_and(|facts| facts.is_file())
        && dir.read_to_string(MARK).is_ok_and(|text| text == TEXT)
}

fn names(dir: &Dir) -> std::io::Result<Vec<String>> {
    let name = |entry: std::io::Result<cap_std::fs::DirEntry>| {
        entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
    };
    dir.entries()?.map(name).collect()
}

/// Puts the mark there whole: another process sees all of it, or none.
fn put(dir: &Path) -> std::io::Result<()> {
    let file = tempfile::Builder::new().prefix(".tag-").tempfile_in(dir);
    let written = |mut file: NamedTempFile| {
        file.write_all(TEXT.as_bytes())?;
        file.persist_noclobber(dir.join(MARK)).map(drop).map_err(|failed| failed.error)
    };
    match file.and_then(written) {
        // Another process was quicker, or another user's cache is only read here.
        Err(error) if is_harmless(error.kind()) => Ok(()),
        done => done,
    }
}

fn is_harmless(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::AlreadyExists | ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    )
}
