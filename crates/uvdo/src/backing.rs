//! The file or device under a volume: one thing at a time for starts and checks, many at a time for a volume at work.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::fs::OFlags;
use rustix::io::{Errno, ReadWriteFlags};
use units::Bytes;
use volume::{BLOCK, Block, Device, DeviceError, Operation, OperationId, Pbn, Task};

use crate::error::{Error, Result};

/// Threads that do operations.
const WORKERS: usize = 16;

/// An open file or device.
#[derive(Debug, Clone)]
pub struct Backing {
    path: PathBuf,
    file: Arc<File>,
    blocks: u64,
    /// Blocks that the volume on it needs: while it has fewer, nothing on it is durable.
    needed: Arc<AtomicU64>,
}

impl Backing {
    /// Opens a file or device that is claimed; past the page cache where its file system can do so.
    pub fn open(path: &Path, write: bool) -> Result<Self> {
        Self::through(path, path, write)
    }

    /// Opens the file or device at `way`, and calls it `path`: a claim holds what the path led to when the claim was made, wherever the path leads
    /// now.
    ///
    /// # Errors
    /// When it cannot be opened or measured.
    pub fn through(way: &Path, path: &Path, write: bool) -> Result<Self> {
        let direct = |flags: OFlags| {
            let mut options = OpenOptions::new();
            options.read(true).write(write).custom_flags(flags.bits().cast_signed()).open(way)
        };
        let file = direct(OFlags::DIRECT)
            .or_else(|error| match error.raw_os_error() {
                Some(code) if Errno::from_raw_os_error(code) == Errno::INVAL => {
                    direct(OFlags::empty())
                }
                _ => Err(error),
            })
            .map_err(|error| Error::io(path, "opened", error))?;
        let (file, path) = (Arc::new(file), path.to_owned());
        let mut backing = Self { path, file, blocks: 0, needed: Arc::default() };
        backing.measure()?;
        backing.need(backing.blocks);
        Ok(backing)
    }

    /// Sets how many blocks the volume on it needs; until then it is all that it had when it was opened.
    pub fn need(&self, blocks: u64) {
        self.needed.store(blocks, Ordering::Relaxed);
    }

    /// Measures how many blocks it has now.
    ///
    /// # Errors
    /// When it cannot be measured.
    pub fn measure(&mut self) -> Result<u64> {
        let bytes = sys::block::size_bytes(&self.file);
        let bytes = bytes.map_err(|error| Error::io(&self.path, "measured", error))?;
        self.blocks = bytes.0 / BLOCK as u64;
        Ok(self.blocks)
    }

    /// Checks that it is as long as the volume on it needs.
    ///
    /// # Errors
    /// When it was cut short since it was opened, or cannot be measured.
    pub fn check_length(&self) -> io::Result<()> {
        let bytes = sys::block::size_bytes(&self.file)?;
        let needed = Bytes(self.needed.load(Ordering::Relaxed) * BLOCK as u64);
        match bytes >= needed {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "it was cut short while it was in use: it has {} bytes, and its volume was made with {}",
                bytes.0, needed.0
            ))),
        }
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Blocks that it had when it was measured last.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Tells if a power cut may lose data that was written and not flushed; only a device that reports write-through is safe from that.
    pub fn has_volatile_cache(&self) -> bool {
        let Ok(Some(number)) = sys::block::number(&self.path) else { return true };
        let cache = sys::block::sysfs(number).join("queue/write_cache");
        std::fs::read_to_string(cache).map_or(true, |text| text.trim() != "write through")
    }

    fn read_block(&self, pbn: Pbn, block: &mut Block) -> io::Result<()> {
        self.file.read_exact_at(&mut block.0, pbn * BLOCK as u64)
    }

    fn write_block(&self, pbn: Pbn, block: &Block, fua: bool) -> io::Result<()> {
        let at = pbn * BLOCK as u64;
        if !fua {
            return self.file.write_all_at(&block.0, at);
        }
        let mut done = 0;
        while done < BLOCK {
            let rest = [IoSlice::new(&block.0[done..])];
            match rustix::io::pwritev2(&*self.file, &rest, at + done as u64, ReadWriteFlags::DSYNC)
            {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => done += bytes,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // A write beyond the end of a file that was cut short makes a hole and reports no error.
        self.check_length()
    }

    fn flush_all(&self) -> io::Result<()> {
        self.file.sync_data()?;
        self.check_length()
    }

    /// Does one operation; the result is for [`volume::Volume::complete`], the error for the log.
    fn perform(&self, task: &Task) -> io::Result<Option<Box<Block>>> {
        match task {
            Task::Read { pbn } => {
                let mut block = Box::<Block>::default();
                self.read_block(*pbn, &mut block).map(|()| Some(block))
            }
            Task::Write { pbn, data, fua } => self.write_block(*pbn, data, *fua).map(|()| None),
            Task::Flush => self.flush_all().map(|()| None),
        }
    }
}

impl Device for Backing {
    fn read(&mut self, pbn: Pbn, block: &mut Block) -> Result<(), DeviceError> {
        self.read_block(pbn, block).map_err(|error| failed(pbn, &error))
    }

    fn write(&mut self, pbn: Pbn, block: &Block) -> Result<(), DeviceError> {
        self.write_block(pbn, block, false).map_err(|error| failed(pbn, &error))
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        self.flush_all().map_err(|error| failed(0, &error))
    }
}

fn failed(pbn: Pbn, error: &io::Error) -> DeviceError {
    DeviceError { pbn, reason: error.to_string() }
}

/// The end of an operation.
pub struct Done {
    /// The operation.
    pub id: OperationId,
    /// The block that was read, if one was; the error of a device that failed.
    pub result: io::Result<Option<Box<Block>>>,
}

/// Threads that do operations of a volume.
pub struct Workers {
    jobs: Option<Sender<Operation>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts the threads. The end of every operation goes to `done`.
    pub fn start(
        backing: &Backing,
        done: impl Fn(Done) + Send + Clone + 'static,
    ) -> io::Result<Self> {
        let (jobs, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        let thread = |n: usize| {
            let (backing, queue, done) = (backing.clone(), Arc::clone(&queue), done.clone());
            let work = move || {
                while let Some(Operation { id, task }) = next(&queue) {
                    done(Done { id, result: backing.perform(&task) });
                }
            };
            std::thread::Builder::new().name(format!("uvdo0:bioQ{n}")).spawn(work)
        };
        let threads = (0..WORKERS).map(thread).collect::<io::Result<_>>()?;
        Ok(Self { jobs: Some(jobs), threads })
    }

    /// Hands an operation to the next free thread.
    pub fn begin(&self, operation: Operation) {
        if let Some(jobs) = &self.jobs {
            // The threads live as long as this.
            let _ = jobs.send(operation);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn next(queue: &Mutex<Receiver<Operation>>) -> Option<Operation> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
