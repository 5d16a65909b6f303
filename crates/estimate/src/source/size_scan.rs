//! Finds how many bytes there are to read, without reading them: for the time left, and to know whether there is little data.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::file_systems::FileSystems;
use crate::Request;

/// A walk that reads no data.
pub struct SizeScan;

impl SizeScan {
    /// Returns the bytes in all paths, without holes; it stops counting above `enough`. `None` when standard input is among the paths or `stop`
    /// says so. Data that files share counts for each of them.
    pub fn bytes(request: &Request, enough: u64, stop: &dyn Fn() -> bool) -> Option<u64> {
        let mut total = 0;
        let mut file_systems = FileSystems::default();
        // Each with the file system of the directory that was named, if it is in one.
        let mut way: Vec<(PathBuf, Option<u64>)> =
            request.paths.iter().map(|path| (path.clone(), None)).collect();
        while total <= enough
            && let Some((path, home)) = way.pop()
        {
            if stop() || path == Path::new("-") {
                return None;
            }
            let named = home.is_none();
            let found = if named { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
            let Ok(found) = found else { continue };
            let kind = found.file_type();
            if named && kind.is_block_device() {
                total +=
                    File::open(&path).and_then(|f| sys::block::size_bytes(&f)).map_or(0, |b| b.0);
                continue;
            }
            let there = file_systems.of(found.dev(), &path);
            let home = home.unwrap_or(there.id);
            if there.reason_to_leave_out(home, request.other_file_systems).is_some() {
                continue;
            }
            if kind.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                way.extend(entries.map(|entry| (entry.path(), Some(home))));
            } else if kind.is_file() {
                total += found.len().min(found.blocks() * 512);
            }
        }
        Some(total)
    }
}
