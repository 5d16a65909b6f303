//! The store as a file system with one file.

use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};

use crate::Store;
use crate::store::Answer;

/// Name of the one file.
pub(crate) const NAME: &str = "target";
const FILE: INodeNo = INodeNo(2);
const TTL: Duration = Duration::from_secs(3600);
/// The largest write that the kernel may send at once, bytes.
const LARGEST: u32 = 1 << 20;

/// State that the file system shares with its owner.
#[derive(Debug)]
pub(crate) struct Shared {
    store: Mutex<Store>,
    /// Tells whether stalls are over.
    released: Mutex<bool>,
    release: Condvar,
}

impl Shared {
    pub(crate) fn new(store: Store) -> Arc<Self> {
        let (store, released) = (Mutex::new(store), Mutex::new(false));
        Arc::new(Self { store, released, release: Condvar::new() })
    }

    /// The store; a panic elsewhere does not spoil it.
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all stalls, including future ones.
    pub(crate) fn release(&self) {
        *self.released.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.release.notify_all();
    }

    fn wait(&self, time: Duration) {
        let released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.release.wait_timeout_while(released, time, |released| !*released);
    }
}

/// The file system.
pub(crate) struct Files {
    pub shared: Arc<Shared>,
    /// Tells whether direct I/O may complete later than the call that asks for it.
    pub asynchronous: bool,
}

impl Files {
    /// Sends `answer` as the reply, late if it says so. A stalled reply waits in a separate thread, so that others go on.
    fn answer(&self, answer: Answer, reply: impl FnOnce(Result<usize, Errno>) + Send + 'static) {
        let result = answer.result.map_err(Errno::from_i32);
        let Some(time) = answer.stall else { return reply(result) };
        let shared = Arc::clone(&self.shared);
        std::thread::spawn(move || {
            shared.wait(time);
            reply(result);
        });
    }

    fn empty(&self, answer: Answer, reply: ReplyEmpty) {
        self.answer(answer, |result| match result {
            Ok(_) => reply.ok(),
            Err(error) => reply.error(error),
        });
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let file = inode == FILE;
        let size = if file { self.shared.store().size() as u64 } else { 0 };
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if file { FileType::RegularFile } else { FileType::Directory },
            perm: if file { 0o600 } else { 0o700 },
            nlink: 1,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            flags: 0,
            blksize: 4096,
        }
    }
}

impl Filesystem for Files {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Features that the kernel does not have are not needed.
        let _ = config.set_max_write(LARGEST);
        if self.asynchronous {
            let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        }
        let _ = config.set_max_background(512);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == NAME {
            reply.entry(&TTL, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Always bypasses the page cache: a cached read would not see what the faults did.
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut out = vec![0; size as usize];
        let answer = self.shared.store().read(offset, &mut out);
        self.answer(answer, move |result| match result {
            Ok(moved) => reply.data(&out[..moved]),
            Err(error) => reply.error(error),
        });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let answer = self.shared.store().write(offset, data);
        self.answer(answer, |result| match result {
            Ok(moved) => reply.written(moved as u32),
            Err(error) => reply.error(error),
        });
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let answer = self.shared.store().flush();
        self.empty(answer, reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        // FALLOC_FL_PUNCH_HOLE or FALLOC_FL_ZERO_RANGE; plain allocation has nothing to do.
        if mode & (0x02 | 0x10) == 0 {
            return reply.ok();
        }
        let answer = self.shared.store().punch(offset, length);
        self.empty(answer, reply);
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if offset == 0 {
            let _ = reply.add(FILE, 1, FileType::RegularFile, NAME);
        }
        reply.ok();
    }
}
