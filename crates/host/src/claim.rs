//! The claim of a device or file: a check that nobody needs its data, and a lock, before anything is written.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use sys::block::Number;
use sys::identity::Identity;
use units::Bytes;

use crate::node::{self, ClaimedDevice};
use crate::{identity, opened, signatures, usage};

/// A device or file that is ours until this is dropped.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    number: Option<Number>,
    bytes: Bytes,
    identity: String,
    /// The claimed thing itself, and the lock that keeps other claims away; udev too leaves a locked device alone.
    held: Lock,
    /// Keeps the kernel's users of whole devices away: mounts, and programs that make file systems.
    _exclusive: Option<File>,
    /// Locks on everything that shares bytes with it.
    _others: Vec<Lock>,
    /// Tells whether the claim made the file; while that is empty, it is removed with the claim.
    made: bool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let unused = |file: &File| file.metadata().is_ok_and(|found| found.len() == 0);
        if self.made && unused(&self.held.0) && node::names(&self.path, &self.held.0) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// An open file that keeps other claims away until this is dropped.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    /// Unlocks explicitly: a forked child that has not yet started its program still holds the descriptor, so that closing ours would leave the lock.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Claim {
    /// The path to work on: for a block device the node that the claim opened, even if the given name leads elsewhere now; for a file the path as
    /// given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The node and number of a claimed block device, to check before each step that changes it; `None` for a file.
    pub fn device(&self) -> Option<ClaimedDevice> {
        self.number.map(|number| ClaimedDevice::new(self.path.clone(), number))
    }

    /// The path to what the claim opened, even if its name leads elsewhere now. It is valid as long as the claim.
    pub fn way(&self) -> PathBuf {
        opened::way(&self.held.0)
    }

    /// Its size; 0 for a file that was made for the claim.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Returns its identity, which does not depend on its name: taken from what the claim opened, to be compared later.
    ///
    /// # Errors
    /// When it cannot be examined.
    pub fn lasting_identity(&self) -> io::Result<Identity> {
        Identity::of(&self.held.0)
    }

    /// Returns a description by which a person can tell it from its neighbours: node, model, serial number, size.
    pub fn identity(&self) -> &str {
        &self.identity
    }
}

/// A kind of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimKind {
    /// The path is not what it should be.
    Usage,
    /// The machine does not allow it.
    Environment,
    /// Somebody may need what is there.
    Refused,
}

/// Reason why something was not claimed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ClaimError {
    kind: ClaimKind,
    message: String,
    help: String,
    source: Option<io::Error>,
}

impl ClaimError {
    fn new(kind: ClaimKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: help.into(), source: None }
    }

    fn refused(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ClaimKind::Refused, message, help)
    }

    fn io(path: &Path, what: &str, source: io::Error) -> Self {
        let (kind, help) = match source.kind() {
            io::ErrorKind::NotFound => (ClaimKind::Usage, "lsblk lists the devices there are"),
            io::ErrorKind::PermissionDenied => (ClaimKind::Environment, sys::denied::help()),
            _ => (ClaimKind::Environment, "see the cause below"),
        };
        let message = format!("{} cannot be {what}", path.display());
        Self { source: Some(source), ..Self::new(kind, message, help) }
    }

    /// Returns the kind of refusal, which decides the exit code.
    pub fn kind(&self) -> ClaimKind {
        self.kind
    }

    /// Returns the remedy.
    pub fn help(&self) -> &str {
        &self.help
    }
}

/// Claims a block device for an experiment. With `destroy` its data may be lost; a device that is mounted or in use is refused all the same.
///
/// # Errors
/// When it is not a block device, is in use, may hold data, or cannot be examined.
pub fn claim(path: &Path, destroy: bool) -> Result<Claim, ClaimError> {
    let kind =
        std::fs::metadata(path).map_err(|e| ClaimError::io(path, "examined", e))?.file_type();
    if !kind.is_block_device() {
        let message = format!("{} is not a block device", path.display());
        let help = "give a block device such as /dev/disk/by-id/...; losetup makes one of a file";
        return Err(ClaimError::new(ClaimKind::Usage, message, help));
    }
    let mut claim = block(path, destroy)?;
    // The layers that the experiment builds on it are users of the whole device themselves.
    claim._exclusive = None;
    Ok(claim)
}

/// Permissions of a claim of a single load's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TargetPermit {
    /// Data on it may be destroyed.
    pub destroy: bool,
    /// It may be made, where it does not exist.
    pub create: bool,
}

/// Claims the target of a single load's writes: a block device, or a file. A file that does not exist is fine when it may be made; one with data in
/// it needs the mark of files that Fathom made, or permission to destroy it. While the claim is held, programs that ask for exclusive use of a device
/// can neither mount it nor make a file system on it.
///
/// # Errors
/// When it is in use, may hold data, or cannot be examined.
pub fn claim_target(path: &Path, permit: TargetPermit) -> Result<Claim, ClaimError> {
    let TargetPermit { destroy, create } = permit;
    match std::fs::metadata(path) {
        Ok(found) if found.file_type().is_block_device() => block(path, destroy),
        Ok(found) if found.is_file() => file(path, destroy),
        Ok(_) => {
            let message = format!("{} is neither a file nor a block device", path.display());
            Err(ClaimError::new(ClaimKind::Usage, message, "give a file or a block device"))
        }
        Err(error) if create && error.kind() == io::ErrorKind::NotFound => new(path),
        Err(error) => Err(ClaimError::io(path, "examined", error)),
    }
}

fn block(path: &Path, destroy: bool) -> Result<Claim, ClaimError> {
    let given = path;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(given)
        .map_err(|e| ClaimError::io(given, "opened", e))?;
    // The name is resolved only once, here: everything from here on is about what was opened.
    let (node, number) = node::of_opened(&file).map_err(|e| ClaimError::io(given, "named", e))?;
    let path = node.as_path();
    let bytes = sys::block::size_bytes(&file).map_err(|e| ClaimError::io(path, "measured", e))?;
    let identity = identity::of(given, path, number, bytes);
    if bytes.0 == 0 {
        let message = format!("{identity} holds 0 bytes");
        return Err(ClaimError::new(ClaimKind::Usage, message, "give a device with media in it"));
    }
    if sys::block::is_read_only(&file).map_err(|e| ClaimError::io(path, "examined", e))? {
        let message = format!("{identity} is read-only");
        return Err(ClaimError::new(
            ClaimKind::Usage,
            message,
            "give another, or blockdev --setrw",
        ));
    }
    let lock = lock(file, &identity)?;
    unused(path, &identity, usage::of_device(number))?;
    let exclusive = exclusive(&lock.0, &identity)?;
    if !destroy {
        unsigned(path, &lock.0, &identity)?;
    }
    tracing::debug!(%identity, "claimed");
    let mut _others = twins(number, &identity)?;
    _others.extend(below(number, &identity)?);
    Ok(Claim {
        path: node,
        number: Some(number),
        bytes,
        identity,
        held: lock,
        _exclusive: Some(exclusive),
        _others,
        made: false,
    })
}

/// Refuses a device or file that is in use.
fn unused(path: &Path, identity: &str, uses: io::Result<Vec<String>>) -> Result<(), ClaimError> {
    let uses = uses.map_err(|e| ClaimError::io(path, "examined for users", e))?;
    uses.first().map_or(Ok(()), |first| {
        let remedy = if names_run(first) {
            "it belongs to a run: wait for its end (after a kill: fathom clean RESULT); --destroy-data does not change this"
        } else if first.contains(usage::LOCKED_BY) {
            usage::FREE_LOCK
        } else {
            "give a target that nothing uses; --destroy-data does not change this"
        };
        Err(ClaimError::refused(format!("{identity} is in use: {first}"), remedy))
    })
}

/// Tells whether a text names what a run made: its tag is eight hexadecimal digits.
fn names_run(text: &str) -> bool {
    let mut tags = text.split("fathom_").skip(1).filter_map(|rest| rest.get(..8));
    tags.any(|tag| tag.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Keeps all other claims away.
fn lock(file: File, identity: &str) -> Result<Lock, ClaimError> {
    locked(file, FlockOperation::NonBlockingLockExclusive, identity)
}

/// Keeps away claims of this device or file itself; other claims that merely share bytes with it may hold it too.
fn lock_beside(file: File, identity: &str) -> Result<Lock, ClaimError> {
    locked(file, FlockOperation::NonBlockingLockShared, identity)
}

fn locked(file: File, operation: FlockOperation, identity: &str) -> Result<Lock, ClaimError> {
    // Checked before we hold a lock ourselves: over NFS both kinds of locks are the same.
    unlocked(&file, identity)?;
    let Err(error) = flock(&file, operation) else { return Ok(Lock(file)) };
    let holder = sys::locks::holder(&file);
    let refused = match holder.program().filter(|name| !name.starts_with("fathom")) {
        Some(_) => ClaimError::refused(
            format!("{identity} is in use: {}{holder}", usage::LOCKED_BY),
            "wait for its end, or give another target",
        ),
        None => ClaimError::refused(
            format!("{identity} is claimed by another run"),
            "wait for its end, or give another target",
        ),
    };
    Err(ClaimError { source: Some(error.into()), ..refused })
}

/// Refuses a file or device on whose bytes another program, such as QEMU, holds a lock.
fn unlocked(file: &File, identity: &str) -> Result<(), ClaimError> {
    let held = usage::lock_on(file).map_err(|source| ClaimError {
        source: Some(source),
        ..ClaimError::refused(
            format!("{identity}: nobody can tell whether another program holds a lock on it"),
            "give a target on a file system that keeps locks",
        )
    })?;
    held.map_or(Ok(()), |held| {
        Err(ClaimError::refused(format!("{identity} is in use: {held}"), usage::FREE_LOCK))
    })
}

/// Opens the device as the kernel's users of whole devices do: this fails while it has one, wherever it is mounted.
fn exclusive(device: &File, identity: &str) -> Result<File, ClaimError> {
    opened::open_alone(&opened::way(device)).map_err(|error| ClaimError {
        source: Some(error),
        ..ClaimError::refused(
            format!("{identity} is in use by the kernel"),
            "unmount it, or stop what is built on it (lsblk, dmsetup deps)",
        )
    })
}

/// Refuses a device that carries any signature, or whose content cannot be judged.
fn unsigned(path: &Path, file: &File, identity: &str) -> Result<(), ClaimError> {
    let found = signatures::find(path, file)
        .map_err(|e| ClaimError::io(path, "searched for signatures", e))?;
    if found.is_empty() {
        return Ok(());
    }
    Err(ClaimError::refused(
        format!("{identity} holds {}", found.join(", ")),
        "if that may be lost, bind it with --destroy-data instead of --device (fathom load: add --destroy-data); fathom clean RESULT removes \
         what a killed run left",
    ))
}

/// Keeps away claims of other loop devices on the same part of a file. One loop device may share bytes with two claimed devices.
fn twins(number: Number, identity: &str) -> Result<Vec<Lock>, ClaimError> {
    let nodes = usage::twin_nodes(number).map_err(|source| {
        ClaimError::io(Path::new(identity), "examined for others with its bytes", source)
    })?;
    let mut locks = Vec::new();
    for node in nodes {
        let Ok(device) = File::open(&node) else { continue };
        let beside = format!("{identity}: {}, which has the same bytes,", node.display());
        match lock_beside(device, &beside) {
            Ok(lock) => locks.push(lock),
            // A loop device that was detached in the meantime may stand on something else now.
            Err(error) => {
                let still = usage::twin_nodes(number).unwrap_or_default();
                if still.contains(&node) {
                    return Err(error);
                }
            }
        }
    }
    Ok(locks)
}

/// Keeps away claims of the file that a loop device stands on; claims of loop devices on other parts of it are not affected.
fn below(number: Number, identity: &str) -> Result<Option<Lock>, ClaimError> {
    let file = usage::file_below(number);
    file.map(|file| lock_beside(file, &format!("{identity}: the file that it stands on")))
        .transpose()
}

/// Makes the file, so that there is something to lock. It carries Fathom's mark where the file system keeps one.
fn new(path: &Path) -> Result<Claim, ClaimError> {
    let file = sys::new_file::create(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => ClaimError::refused(
            format!("{} leads nowhere, or was made by another program just now", path.display()),
            "name the file itself, or another one",
        ),
        _ => ClaimError::io(path, "created", error),
    })?;
    let _ = sys::made::mark(&file);
    let identity = format!("{}, a new file", path.display());
    let held = lock(file, &identity)?;
    let (path, _others) = (path.to_owned(), Vec::new());
    Ok(Claim {
        path,
        number: None,
        bytes: Bytes(0),
        identity,
        held,
        _exclusive: None,
        _others,
        made: true,
    })
}

fn file(path: &Path, destroy: bool) -> Result<Claim, ClaimError> {
    let file = File::open(path).map_err(|e| ClaimError::io(path, "opened", e))?;
    let bytes = sys::block::size_bytes(&file).map_err(|e| ClaimError::io(path, "measured", e))?;
    let identity = format!("{}, a file of {bytes}", path.display());
    let held = lock(file, &identity)?;
    // The uses are those of what was opened, even if the name leads elsewhere now.
    let way = opened::way(&held.0);
    unused(path, &identity, usage::of_file(&way))?;
    // Another run may have claimed the same bytes as a loop device.
    let mut others = Vec::new();
    for node in usage::loops_on(&way).unwrap_or_default() {
        let Ok(device) = File::open(&node) else { continue };
        let of = format!("{}, a loop device on {}", node.display(), path.display());
        others.push(lock(device, &of)?);
    }
    if let Some(run) = usage::run_of(&held.0) {
        return Err(ClaimError::refused(
            format!("{identity}, belongs to the run that mounted {run}"),
            "wait for its end (after a kill: fathom clean RESULT); --destroy-data does not change this",
        ));
    }
    if bytes.0 > 0 && !sys::made::is_ours(&held.0) && !destroy {
        return Err(ClaimError::refused(
            format!(
                "{identity}, was not made by Fathom or was written to since, and writing would destroy what is in it"
            ),
            "give another name, or add --destroy-data if its content may be lost",
        ));
    }
    // A program that restores a file's modification time may have written to it all the same. Blocks that a load wrote carry no such signature.
    if bytes.0 > 0 && !destroy {
        let found = signatures::known(&held.0)
            .map_err(|e| ClaimError::io(path, "searched for signatures", e))?;
        if !found.is_empty() {
            return Err(ClaimError::refused(
                format!("{identity}, holds {}", found.join(", ")),
                "give another name, or add --destroy-data if its content may be lost",
            ));
        }
    }
    let path = path.to_owned();
    Ok(Claim {
        path,
        number: None,
        bytes,
        identity,
        held,
        _exclusive: None,
        _others: others,
        made: false,
    })
}
