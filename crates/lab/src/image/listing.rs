//! A hash of everything that tells whether a directory has changed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use twox_hash::XxHash3_128;

use crate::{Error, Result};

/// Adds names, kinds, sizes and times of all that is in `dir`.
pub(super) fn listing(dir: &Path, hash: &mut XxHash3_128) -> Result<()> {
    let list = fs::read_dir(dir).map_err(Error::io("cannot list", dir))?;
    let mut paths = Vec::new();
    for entry in list {
        paths.push(entry.map_err(Error::io("cannot list", dir))?.path());
    }
    paths.sort();
    for path in paths {
        let facts = fs::symlink_metadata(&path).map_err(Error::io("cannot look at", &path))?;
        hash.write(path.as_os_str().as_encoded_bytes());
        let numbers = [
            facts.mode().into(),
            facts.len(),
            facts.mtime().cast_unsigned(),
            facts.mtime_nsec().cast_unsigned(),
        ];
        numbers.iter().for_each(|number: &u64| hash.write(&number.to_le_bytes()));
        if facts.is_dir() {
            listing(&path, hash)?;
        }
    }
    Ok(())
}
