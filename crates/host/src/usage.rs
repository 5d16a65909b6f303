//! Users of a device or file: mounts, swap, what is built on it or on what shares bytes with it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sys::block::{Backing, Number, disk_of, holders, mount_points, sysfs};

use crate::backing::{BackingChain, backing, devices};
use crate::mounts::{self, Mounted, mounted};
use crate::opened::open_alone;

/// The words before the holder of a lock.
pub(crate) const LOCKED_BY: &str = "locked by ";
/// The remedy where another program holds a lock.
pub(crate) const FREE_LOCK: &str = "stop the program that uses it (a virtual machine, qemu-nbd), or give another target; \
    --destroy-data does not change this";

/// Every use of the device with this number, and of anything that shares bytes with it, in words.
pub(crate) fn of_device(number: Number) -> io::Result<Vec<String>> {
    let mut uses = single(number, "", true)?;
    uses.extend(of_others(&BackingChain::of_device(number), Some(number))?);
    Ok(uses)
}

/// Every use of a file, in words: as swap, and of the loop devices on it.
pub(crate) fn of_file(path: &Path) -> io::Result<Vec<String>> {
    let Some(backing) = BackingChain::of(path)? else { return Ok(Vec::new()) };
    let swap =
        |device: &PathBuf| BackingChain::of(device).ok().flatten().is_some_and(|g| g.is(&backing));
    let mut uses = Vec::new();
    if sys::block::swaps()?.iter().any(swap) {
        uses.push("used as swap".to_owned());
    }
    uses.extend(of_others(&backing, None)?);
    Ok(uses)
}

/// Returns the directory at which a run mounted the file system that a file is on; `None` where no run did.
pub(crate) fn run_of(file: &File) -> Option<String> {
    let number = Number::from_dev(file.metadata().ok()?.dev()).to_string();
    // The device number of a file on btrfs is that of no mount.
    let id = mounts::of_file(file);
    let on = |one: &Mounted| one.number == number || Some(one.id) == id;
    // A file system that somebody mounted inside it is theirs.
    let of_run = |at: &str| at.strip_prefix("/run/fathom_").is_some_and(|rest| !rest.contains('/'));
    mounted().into_iter().find(|one| on(one) && of_run(&one.at)).map(|one| one.at)
}

/// The nodes of loop devices that stand on a file, so that they can be locked with it.
pub(crate) fn loops_on(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(backing) = BackingChain::of(path)? else { return Ok(Vec::new()) };
    let on = devices()?.into_iter().filter(|(_, number)| {
        disk_of(*number).is_none() && BackingChain::of_device(*number).lies_on(&backing)
    });
    Ok(on.filter_map(|(name, number)| node(&name, number)).collect())
}

/// Opens the file that a loop device, or the loop device that a partition is part of, stands on; checks that it is that file.
pub(crate) fn file_below(number: Number) -> Option<File> {
    let disk = disk_of(number).unwrap_or(number);
    let Backing::File { device, inode } = backing(disk)? else { return None };
    let name = std::fs::read_to_string(sysfs(disk).join("loop/backing_file")).ok()?;
    let name = name.trim_end_matches('\n');
    // The file's name may now lead to a FIFO.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(name).ok()?;
    let found = file.metadata().ok()?;
    ((found.dev(), found.ino()) == (device, inode)).then_some(file)
}

/// The other devices that have bytes of this one, though neither stands on the other: loop devices on the same part of one file.
fn twins(number: Number) -> io::Result<Vec<(String, Number)>> {
    let chain = BackingChain::of_device(number);
    let is_twin = |other: &(String, Number)| {
        let backing = BackingChain::of_device(other.1);
        other.1 != number
            && backing.shares_bytes(&chain)
            && !backing.lies_on(&chain)
            && !chain.lies_on(&backing)
    };
    Ok(devices()?.into_iter().filter(is_twin).collect())
}

/// The nodes of devices that have bytes of this one, so that they can be locked with it.
pub(crate) fn twin_nodes(number: Number) -> io::Result<Vec<PathBuf>> {
    Ok(twins(number)?.into_iter().filter_map(|(name, number)| node(&name, number)).collect())
}

/// The first use of a device that has bytes of this one, in words.
pub(crate) fn of_twins(number: Number) -> io::Result<Option<String>> {
    for (name, twin) in twins(number)? {
        let whose = format!("{name}, which has the same bytes, is ");
        if let Some(first) = single(twin, &whose, true)?.into_iter().next() {
            return Ok(Some(first));
        }
        if is_taken(&name, twin) {
            return Ok(Some(format!("{whose}in use by the kernel")));
        }
    }
    Ok(None)
}

/// Returns the first use of a device, in words, that does not show when it is opened for itself alone: of devices with the same bytes, and locks of
/// other programs on it and on the file that it stands on.
pub(crate) fn beside(device: &File) -> io::Result<Option<String>> {
    let number = Number::from_dev(device.metadata()?.rdev());
    Ok(of_twins(number)?.or_else(|| lock_of(number)))
}

/// Uses of everything else that shares bytes with a target; `number_of_target` is its number when it is a device.
fn of_others(target: &BackingChain, number_of_target: Option<Number>) -> io::Result<Vec<String>> {
    let mut uses = Vec::new();
    for (name, number) in devices()? {
        let backing = BackingChain::of_device(number);
        if Some(number) == number_of_target || !backing.shares_bytes(target) {
            continue;
        }
        if target.lies_on(&backing) {
            // Anything below the target is held by the target itself.
            let disk = number_of_target.and_then(disk_of) == Some(number);
            let whose =
                if disk { "the disk it is part of is " } else { &format!("{name} below it is ") };
            uses.extend(single(number, whose, false)?);
            continue;
        }
        let partition = disk_of(number).is_some();
        let whose = match number_of_target.is_some() && disk_of(number) == number_of_target {
            true => format!("its partition {name} "),
            false => format!("{name}, which has the same bytes, is "),
        };
        let before = uses.len();
        uses.extend(single(number, &whose, true)?);
        // An unused loop device on a file is in nobody's way.
        if before == uses.len()
            && number_of_target.is_some()
            && !partition
            && backing.lies_on(target)
        {
            uses.push(format!("{name} stands on it"));
        } else if before == uses.len() && !partition && is_taken(&name, number) {
            uses.push(format!("{whose}in use by the kernel"));
        }
    }
    Ok(uses)
}

fn single(number: Number, whose: &str, held: bool) -> io::Result<Vec<String>> {
    let mounts = mount_points(number)?;
    let mut uses: Vec<_> =
        mounts.iter().map(|at| format!("{whose}mounted on {}", at.display())).collect();
    if is_swap(number)? {
        uses.push(format!("{whose}used as swap"));
    }
    uses.extend(lock_of(number).map(|lock| format!("{whose}{lock}")));
    let holders = if held { holders(number)? } else { Vec::new() };
    uses.extend(holders.iter().map(|holder| format!("{whose}held by {holder}")));
    Ok(uses)
}

/// The lock that another program holds on bytes of what is open, in words.
pub(crate) fn lock_on(file: &File) -> io::Result<Option<String>> {
    Ok(sys::locks::of_bytes(file)?.map(|holder| format!("{LOCKED_BY}{holder}")))
}

/// The lock that another program holds on bytes of a device, or of the file that it stands on; `None` where it cannot be opened.
fn lock_of(number: Number) -> Option<String> {
    let name = std::fs::read_to_string(sysfs(number).join("uevent")).unwrap_or_default();
    let name = name.lines().find_map(|line| line.strip_prefix("DEVNAME="));
    let quietly = || {
        let node = node(name?, number)?;
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(node).ok()
    };
    let places = quietly().into_iter().chain(file_below(number));
    places.filter_map(|file| lock_on(&file).ok().flatten()).next()
}

fn is_swap(number: Number) -> io::Result<bool> {
    let same = |device: &PathBuf| sys::block::number(device).ok().flatten() == Some(number);
    Ok(sys::block::swaps()?.iter().any(same))
}

/// The node of a device, where it has one.
fn node(name: &str, number: Number) -> Option<PathBuf> {
    let node = Path::new("/dev").join(name);
    (sys::block::number(&node).ok().flatten() == Some(number)).then_some(node)
}

/// Tells whether the kernel holds the device for an exclusive user, wherever it is mounted.
fn is_taken(name: &str, number: Number) -> bool {
    let Some(node) = node(name, number) else { return false };
    open_alone(&node).is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
}
