//! The system calls of an operation: each works on a single name in an open directory, follows no link, and does not block on a pipe or a device.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{self, AtFlags, FallocateFlags, Mode, OFlags, RawDir, RenameFlags};
use rustix::io::Errno;
use tree::{Name, NameKind, Step, StepOutcome, TreeOp};

use crate::tree::leaves::Leaves;
use crate::tree::ours::{self, Failed, MadeNames};
use crate::tree::writer::{Synced, Writer};

/// Bytes of names that are read at a time.
const NAMES: usize = 32 << 10;
/// Flags for opening a single name: a link is not followed, and a pipe or a device is not waited for.
const SINGLE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// An operation that was carried out.
pub(crate) struct Carried {
    pub outcome: StepOutcome,
    /// Time from the first call to the last one, without the call that made the file durable, nanoseconds.
    pub latency_ns: u64,
    /// Time at which it ended, nanoseconds.
    pub now_ns: u64,
    pub synced: Option<Synced>,
}

/// Carries out the operations of one worker.
pub(crate) struct Calls {
    leaves: Arc<Leaves>,
    writer: Writer,
    made: MadeNames,
}

impl Calls {
    pub(crate) fn new(leaves: Arc<Leaves>, writer: Writer, made: MadeNames) -> Self {
        Self { leaves, writer, made }
    }

    /// Carries out an operation.
    pub(crate) fn carry_out(&mut self, step: &Step) -> Carried {
        let Self { leaves, writer, made } = self;
        writer.prepare(step);
        let mut outcome = StepOutcome::default();
        let begin_ns = writer.stamps.now_ns();
        match call(leaves, (writer, made), step, &mut outcome) {
            Ok(()) => outcome.made = true,
            Err(Failed(errno)) => outcome.errno = errno,
        }
        let now_ns = writer.stamps.now_ns();
        let latency_ns = (now_ns - begin_ns).saturating_sub(writer.away_ns);
        Carried { outcome, latency_ns, now_ns, synced: writer.synced }
    }
}

fn call(
    leaves: &Leaves,
    (writer, made): (&mut Writer, &mut MadeNames),
    step: &Step,
    outcome: &mut StepOutcome,
) -> Result<(), Failed> {
    let at = leaves.directory(step.index)?;
    let name = Name::new(step.index, NameKind::File);
    let name = name.as_str();
    if step.removes_nothing() {
        let directory = Name::new(step.index, NameKind::Directory);
        let is_directory = step.op == TreeOp::Rmdir;
        return Err(ours::missing_name_error(
            &at,
            if is_directory { directory.as_str() } else { name },
        ));
    }
    match step.op {
        TreeOp::Create => {
            let file = create((&at, writer, made), &Name::new(step.index, NameKind::File))?;
            outcome.made = true;
            writer.write(&file, step, outcome)?;
            writer.sync(&file, step);
        }
        TreeOp::Write | TreeOp::Randwrite | TreeOp::Append => {
            let file = open_checked(&at, made, step)?;
            writer.write(&file, step, outcome)?;
            writer.sync(&file, step);
        }
        TreeOp::Read | TreeOp::Randread => writer.read(&open(&at, name)?, step, outcome)?,
        TreeOp::Truncate => fs::ftruncate(open_checked(&at, made, step)?, step.amount)?,
        TreeOp::Fallocate => {
            let file = open_checked(&at, made, step)?;
            fs::fallocate(file, FallocateFlags::empty(), step.offset, step.amount)?;
        }
        TreeOp::Punch => {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fs::fallocate(open_checked(&at, made, step)?, hole, step.offset, step.amount)?;
        }
        TreeOp::Fsync => fs::fsync(open(&at, name)?)?,
        TreeOp::Fdatasync => fs::fdatasync(open(&at, name)?)?,
        TreeOp::Stat => drop(fs::statat(&at, name, AtFlags::SYMLINK_NOFOLLOW)?),
        TreeOp::Delete => delete(&at, (writer, made), step)?,
        TreeOp::Mkdir => {
            let name = Name::new(step.index, NameKind::Directory);
            fs::mkdirat(&at, name.as_str(), Mode::from_raw_mode(0o755))?;
            writer.aside(|| made.stat_and_record(&at, &name))?;
        }
        TreeOp::Rmdir => {
            let name = Name::new(step.index, NameKind::Directory);
            writer.aside(|| made.check_link_or_directory(&at, &name))?;
            fs::unlinkat(&at, name.as_str(), AtFlags::REMOVEDIR)?;
            made.forget(NameKind::Directory, step.index);
        }
        TreeOp::Readdir => read_names(&at)?,
        TreeOp::Rename
        | TreeOp::Softlink
        | TreeOp::Hardlink
        | TreeOp::Reflink
        | TreeOp::CopyFileRange => {
            let second = step.second.unwrap_or(step.index);
            call_on_two((leaves, writer, made), (&at, name), (step, second), outcome)?;
        }
    }
    Ok(())
}

/// Carries out an operation on two names.
fn call_on_two(
    (leaves, writer, made): (&Leaves, &mut Writer, &mut MadeNames),
    (at, name): (impl AsFd, &str),
    (step, second): (&Step, u64),
    outcome: &mut StepOutcome,
) -> Result<(), Failed> {
    let to = leaves.directory(second)?;
    let beside = |kind| Name::new(second, kind);
    match step.op {
        TreeOp::Rename => {
            rename((writer, made), at, (&to, &beside(NameKind::File)), step)?;
            made.renamed(step.index, second);
        }
        TreeOp::Softlink => {
            // Without this check the link would lead nowhere if the file did not exist.
            fs::statat(&at, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let target = leaves.way(second, step.index) + name;
            let soft = beside(NameKind::Soft);
            fs::symlinkat(target.as_str(), &to, soft.as_str())?;
            writer.aside(|| made.stat_and_record(&to, &soft))?;
        }
        TreeOp::Hardlink => {
            fs::linkat(at, name, &to, beside(NameKind::Hard).as_str(), AtFlags::empty())?;
            made.shared(step.index, second);
        }
        _ => {
            let from = open(&at, name)?;
            let file = create((&to, writer, made), &beside(NameKind::File))?;
            outcome.made = true;
            if step.op == TreeOp::Reflink {
                fs::ioctl_ficlone(&file, &from)?;
                outcome.bytes = step.amount;
            }
            while outcome.bytes < step.amount {
                let left = usize::try_from(step.amount - outcome.bytes).unwrap_or(usize::MAX);
                match fs::copy_file_range(&from, None, &file, None, left)? {
                    0 => break,
                    copied => outcome.bytes += copied as u64,
                }
            }
        }
    }
    Ok(())
}

/// Removes a file's name after its soft and hard link: a failure in between leaves the file itself.
fn delete(
    at: impl AsFd,
    (writer, made): (&mut Writer, &mut MadeNames),
    step: &Step,
) -> Result<(), Failed> {
    let [file, soft, hard] =
        [NameKind::File, NameKind::Soft, NameKind::Hard].map(|kind| Name::new(step.index, kind));
    let (soft, hard) = (step.soft.then_some(soft), (step.other_links > 0).then_some(hard));
    writer.aside(|| {
        made.check_file(&at, &file, step.links)?;
        soft.iter().try_for_each(|soft| made.check_link_or_directory(&at, soft))?;
        hard.iter().try_for_each(|hard| made.check_file(&at, hard, step.other_links))
    })?;
    for name in soft.iter().chain(&hard).chain([&file]) {
        fs::unlinkat(&at, name.as_str(), AtFlags::empty())?;
        made.forget(name.kind(), step.index);
    }
    Ok(())
}

/// Renames a file. The new name may replace the file that has it according to the load's records, and nothing else.
fn rename(
    (writer, made): (&mut Writer, &MadeNames),
    at: impl AsFd,
    (to, there): (impl AsFd, &Name),
    step: &Step,
) -> Result<(), Failed> {
    let is_taken = step.other_links > 0;
    let name = Name::new(step.index, NameKind::File);
    writer.aside(|| {
        made.check_file(&at, &name, step.links)?;
        if is_taken { made.check_file(&to, there, step.other_links) } else { Ok(()) }
    })?;
    let (name, there) = (name.as_str(), there.as_str());
    if is_taken {
        return Ok(fs::renameat(at, name, to, there)?);
    }
    match fs::renameat_with(&at, name, &to, there, RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => Err(Failed::NOT_OURS),
        // Not every file system supports this flag; then a check before the call has to do.
        Err(Errno::INVAL | Errno::NOSYS) => match ours::missing_name_error(&to, there) {
            Failed::NO_ENTRY => Ok(fs::renameat(at, name, to, there)?),
            failed => Err(failed),
        },
        done => Ok(done?),
    }
}

/// Makes a file that must not be there.
fn create(
    (at, writer, made): (impl AsFd, &mut Writer, &mut MadeNames),
    name: &Name,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SINGLE;
    let file = fs::openat(at, name.as_str(), flags, Mode::from_raw_mode(0o644))?;
    // The time of the load's own check of the new file is not part of creating it.
    let found = writer.aside(|| fs::fstat(&file))?;
    made.record(name.kind(), name.index(), &found);
    Ok(file)
}

/// Opens a file to be read.
fn open(at: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    fs::openat(at, name, OFlags::RDONLY | SINGLE, Mode::empty())
}

/// Opens a file for changing: it has to be the very file that was made, with the link count in the load's records.
fn open_checked(at: impl AsFd, made: &MadeNames, step: &Step) -> Result<OwnedFd, Failed> {
    let name = Name::new(step.index, NameKind::File);
    let file = fs::openat(at, name.as_str(), OFlags::WRONLY | SINGLE, Mode::empty())?;
    made.is_file((NameKind::File, step.index), &fs::fstat(&file)?, step.links)?;
    Ok(file)
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
