//! The calls of the kernel that an operation is: each on a single name in a directory that is open, which follows no link and waits for nobody.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{self, AtFlags, FallocateFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;
use tree::{Answer, Name, NameKind, Step, TreeOp};

use crate::record::NOT_OURS;
use crate::tree::leaves::Leaves;
use crate::tree::writer::{Synced, Writer};

/// Bytes of names that are read at a time.
const NAMES: usize = 32 << 10;
/// A name that is a link is not followed, one that is a pipe or a device not waited for.
const SINGLE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// An operation that was carried out.
pub(crate) struct Carried {
    pub answer: Answer,
    /// From the first call to the last one, without what made the file durable.
    pub latency_ns: u64,
    /// The moment at which it had ended.
    pub now_ns: u64,
    pub synced: Option<Synced>,
}

/// The reason why an operation failed: the kernel's number, or [`NOT_OURS`].
struct Failed(i32);

impl From<Errno> for Failed {
    fn from(errno: Errno) -> Self {
        Self(errno.raw_os_error())
    }
}

/// Carries out the operations of one worker.
pub(crate) struct Calls {
    leaves: Arc<Leaves>,
    writer: Writer,
}

impl Calls {
    pub(crate) fn new(leaves: Arc<Leaves>, writer: Writer) -> Self {
        Self { leaves, writer }
    }

    /// Carries out an operation.
    pub(crate) fn carry_out(&mut self, step: &Step) -> Carried {
        let Self { leaves, writer } = self;
        writer.prepare(step);
        let mut answer = Answer::default();
        let begin_ns = writer.stamps.now_ns();
        match call(leaves, writer, step, &mut answer) {
            Ok(()) => answer.made = true,
            Err(Failed(errno)) => answer.errno = errno,
        }
        let now_ns = writer.stamps.now_ns();
        let latency_ns = (now_ns - begin_ns).saturating_sub(writer.away_ns);
        Carried { answer, latency_ns, now_ns, synced: writer.synced }
    }
}

fn call(
    leaves: &Leaves,
    writer: &mut Writer,
    step: &Step,
    answer: &mut Answer,
) -> Result<(), Failed> {
    let at = leaves.of(step.index)?;
    let name = Name::new(step.index, NameKind::File);
    let name = name.as_str();
    match step.op {
        TreeOp::Create => {
            let file = create(&at, name)?;
            answer.made = true;
            writer.write(&file, step, answer)?;
            writer.sync(&file, step);
        }
        TreeOp::Write | TreeOp::Randwrite | TreeOp::Append => {
            let file = own(&at, name, step)?;
            writer.write(&file, step, answer)?;
            writer.sync(&file, step);
        }
        TreeOp::Read | TreeOp::Randread => writer.read(&open(&at, name)?, step, answer)?,
        TreeOp::Truncate => fs::ftruncate(own(&at, name, step)?, step.amount)?,
        TreeOp::Fallocate => {
            let file = own(&at, name, step)?;
            fs::fallocate(file, FallocateFlags::empty(), step.offset, step.amount)?;
        }
        TreeOp::Punch => {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fs::fallocate(own(&at, name, step)?, hole, step.offset, step.amount)?;
        }
        TreeOp::Fsync => fs::fsync(open(&at, name)?)?,
        TreeOp::Fdatasync => fs::fdatasync(open(&at, name)?)?,
        TreeOp::Stat => drop(fs::statat(&at, name, AtFlags::SYMLINK_NOFOLLOW)?),
        TreeOp::Delete => {
            let beside = [(step.soft, NameKind::Soft), (step.hard, NameKind::Hard)];
            fs::unlinkat(&at, name, AtFlags::empty())?;
            for (_, kind) in beside.into_iter().filter(|(there, _)| *there) {
                fs::unlinkat(&at, Name::new(step.index, kind).as_str(), AtFlags::empty())?;
            }
        }
        TreeOp::Mkdir => {
            let name = Name::new(step.index, NameKind::Directory);
            fs::mkdirat(&at, name.as_str(), Mode::from_raw_mode(0o755))?;
        }
        TreeOp::Rmdir => {
            let name = Name::new(step.index, NameKind::Directory);
            fs::unlinkat(&at, name.as_str(), AtFlags::REMOVEDIR)?;
        }
        TreeOp::Readdir => read_names(&at)?,
        TreeOp::Rename
        | TreeOp::Softlink
        | TreeOp::Hardlink
        | TreeOp::Reflink
        | TreeOp::CopyFileRange => {
            let second = step.second.unwrap_or(step.index);
            call_on_two(leaves, (&at, name), (step, second), answer)?;
        }
    }
    Ok(())
}

/// Carries out an operation on two names.
fn call_on_two(
    leaves: &Leaves,
    (at, name): (impl AsFd, &str),
    (step, second): (&Step, u64),
    answer: &mut Answer,
) -> Result<(), Failed> {
    let to = leaves.of(second)?;
    let beside = |kind| Name::new(second, kind);
    match step.op {
        TreeOp::Rename => fs::renameat(at, name, &to, beside(NameKind::File).as_str())?,
        TreeOp::Softlink => {
            // A link leads nowhere where there is no file.
            fs::statat(&at, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let target = leaves.way(second, step.index) + name;
            fs::symlinkat(target.as_str(), &to, beside(NameKind::Soft).as_str())?;
        }
        TreeOp::Hardlink => {
            fs::linkat(at, name, &to, beside(NameKind::Hard).as_str(), AtFlags::empty())?;
        }
        _ => {
            let from = open(&at, name)?;
            let file = create(&to, beside(NameKind::File).as_str())?;
            answer.made = true;
            if step.op == TreeOp::Reflink {
                fs::ioctl_ficlone(&file, &from)?;
                answer.bytes = step.amount;
            }
            while answer.bytes < step.amount {
                let left = usize::try_from(step.amount - answer.bytes).unwrap_or(usize::MAX);
                match fs::copy_file_range(&from, None, &file, None, left)? {
                    0 => break,
                    copied => answer.bytes += copied as u64,
                }
            }
        }
    }
    Ok(())
}

/// Makes a file that must not be there.
fn create(at: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SINGLE;
    fs::openat(at, name, flags, Mode::from_raw_mode(0o644))
}

/// Opens a file to be read.
fn open(at: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    fs::openat(at, name, OFlags::RDONLY | SINGLE, Mode::empty())
}

/// Opens a file to be changed: it has to be one, and to have the names that the books say, or else it is not the one that was made.
fn own(at: impl AsFd, name: &str, step: &Step) -> Result<OwnedFd, Failed> {
    let file = fs::openat(at, name, OFlags::WRONLY | SINGLE, Mode::empty())?;
    let found = fs::fstat(&file)?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    if is_file && found.st_nlink == u64::from(step.links) {
        return Ok(file);
    }
    Err(Failed(NOT_OURS))
}

/// Reads all names of a directory.
fn read_names(at: impl AsFd) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | SINGLE;
    let directory = fs::openat(at, ".", flags, Mode::empty())?;
    let mut buffer = [const { MaybeUninit::uninit() }; NAMES];
    let mut names = RawDir::new(directory, &mut buffer);
    while let Some(entry) = names.next() {
        entry?;
    }
    Ok(())
}
