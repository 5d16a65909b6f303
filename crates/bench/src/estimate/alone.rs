//! LZ4 alone: every block of a tree through liblz4 on all cores, nothing else. Also its cost when the blocks have to be read: no program that looks
//! at files can cost less, unless it finds sizes faster.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use reduce::{BLOCK, Lz4};

use super::TreeError;

/// Bytes of a file that are read at a time where reading is not measured.
const PART: usize = 64 << 20;
/// Bytes that are read at a time where reading is measured: the size of a core's second-level cache.
const READ: usize = 256 << 10;
/// Bytes of a file that one thread goes through before it takes the next.
const SHARE: u64 = 8 << 20;

/// Wall and CPU time of compressing all blocks, seconds. Files are read between the measured stretches.
pub fn lz4(tree: &Path) -> Result<(f64, f64), TreeError> {
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

/// Measures the same with the reading of the blocks: each thread opens the next file, or part of a large one, and reads it. The list of files with
/// their lengths is made before.
pub fn reading(tree: &Path) -> Result<(f64, f64), TreeError> {
    let mut files = Vec::new();
    list(tree, &mut files)?;
    let mut shares = Vec::new();
    for path in &files {
        let failed = |source| TreeError { path: path.clone(), source };
        let length = fs::metadata(path).map_err(failed)?.len();
        shares.extend((0..length).step_by(SHARE as usize).map(|from| (path.as_path(), from)));
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut lz4, mut buffer) = (Lz4::new(), vec![0; READ]);
        while let Some(&(path, from)) = shares.get(next.fetch_add(1, Ordering::Relaxed)) {
            read_share(path, from, &mut buffer, &mut lz4)
                .map_err(|source| TreeError { path: path.to_owned(), source })?;
        }
        Ok::<(), TreeError>(())
    };
    let (before, start) = (busy(), Instant::now());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores()).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    Ok((start.elapsed().as_secs_f64(), busy() - before))
}

fn read_share(path: &Path, from: u64, buffer: &mut [u8], lz4: &mut Lz4) -> io::Result<()> {
    let (file, mut at, end) = (File::open(path)?, from, from + SHARE);
    while at < end {
        let read = file.read_at(buffer, at)?;
        if read == 0 {
            break;
        }
        let blocks = read.next_multiple_of(BLOCK);
        buffer[read..blocks].fill(0);
        buffer[..blocks].as_chunks::<BLOCK>().0.iter().for_each(|block| size(lz4, block));
        at += read as u64;
    }
    Ok(())
}

fn size(lz4: &mut Lz4, block: &[u8; BLOCK]) {
    std::hint::black_box(lz4.library_size(block)).ok();
}

/// Threads that the library gets.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
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
    std::thread::scope(|scope| {
        for _ in 0..cores() {
            scope.spawn(|| {
                let mut lz4 = Lz4::new();
                loop {
                    let from = next.fetch_add(64, Ordering::Relaxed);
                    let Some(some) = blocks.get(from..blocks.len().min(from + 64)) else { break };
                    if some.is_empty() {
                        break;
                    }
                    some.iter().for_each(|block| size(&mut lz4, block));
                }
            });
        }
    });
}
