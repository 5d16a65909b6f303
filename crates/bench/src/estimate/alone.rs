//! LZ4 alone: every block of a tree through liblz4 on all cores, nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use reduce::{BLOCK, Lz4};

use super::{Error, TreeError};

/// Bytes of a file that are read at a time; reading is not measured.
const PART: usize = 64 << 20;

/// Wall and CPU time of compressing all blocks, seconds. Files are read between the measured stretches.
pub fn lz4(tree: &Path) -> Result<(f64, f64), Error> {
    let mut files = Vec::new();
    list(tree, &mut files)?;
    let (mut wall, mut cpu) = (0.0, 0.0);
    let mut part: Vec<u8> = Vec::with_capacity(PART);
    let mut measure = |part: &mut Vec<u8>| {
        let (before, start) = (busy(), Instant::now());
        compress(part);
        wall += start.elapsed().as_secs_f64();
        cpu += busy() - before;
        part.clear();
    };
    for path in files {
        let bytes = fs::read(&path).map_err(|source| TreeError { path, source })?;
        for piece in bytes.chunks(PART) {
            part.extend_from_slice(piece);
            part.resize(part.len().next_multiple_of(BLOCK), 0);
            if part.len() >= PART {
                measure(&mut part);
            }
        }
    }
    measure(&mut part);
    Ok((wall, cpu))
}

fn busy() -> f64 {
    let (user, system) = sys::usage::process();
    (user + system).as_secs_f64()
}

fn list(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), TreeError> {
    let failed = |source| TreeError { path: path.to_owned(), source };
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            list(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Compresses every block on all cores.
fn compress(bytes: &[u8]) {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let mut lz4 = Lz4::new();
                loop {
                    let from = next.fetch_add(64, Ordering::Relaxed);
                    let Some(some) = blocks.get(from..blocks.len().min(from + 64)) else { break };
                    if some.is_empty() {
                        break;
                    }
                    for block in some {
                        std::hint::black_box(lz4.library_size(block)).ok();
                    }
                }
            });
        }
    });
}
