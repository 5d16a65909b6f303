//! The backing chain of a device or file, which is all that it lies on: disks below partitions, files and devices below loop devices, members below
//! LVM and RAID. Two devices or files share bytes where one lies on the other, or both lie on the same part of a third.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use sys::block::{Backing, MAX_DEPTH, Number, disk_of, members, number_in, sysfs};

/// Unit in which the kernel counts the space of devices, whatever their block size, bytes.
const SECTOR: u64 = 512;

/// A device or file that holds bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Device(Number),
    /// A file, identified by file system and inode: it may have several names, and they may change.
    File(u64, u64),
}

/// A range of a device or file, bytes.
#[derive(Debug, Clone, Copy)]
struct Part {
    place: Place,
    start: u64,
    end: u64,
    /// Tells whether every byte of the part belongs to what lies on it; otherwise some do, and it is unknown which.
    all: bool,
}

/// All that a device or file lies on, itself first.
#[derive(Debug, Clone)]
pub struct BackingChain(Vec<Part>);

impl BackingChain {
    /// Returns the chain of the file or block device at `path`; `None` when it is neither.
    ///
    /// # Errors
    /// When it cannot be examined.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        let found = std::fs::metadata(path)?;
        if found.is_file() {
            let place = Place::File(found.dev(), found.ino());
            return Ok(Some(Self(vec![Part { place, start: 0, end: u64::MAX, all: true }])));
        }
        let device = found.file_type().is_block_device();
        Ok(if device { sys::block::number(path)?.map(Self::of_device) } else { None })
    }

    /// Returns the chain of a block device.
    pub(crate) fn of_device(number: Number) -> Self {
        let mut backing = Self(Vec::new());
        backing.add(number, (0, size(number)), true, MAX_DEPTH);
        backing
    }

    /// Adds the bytes from `start` to `end` of a device, and what they lie on.
    fn add(&mut self, number: Number, (start, end): (u64, u64), all: bool, deeper: u32) {
        self.0.push(Part { place: Place::Device(number), start, end, all });
        let Some(deeper) = deeper.checked_sub(1) else { return };
        let shifted = |by: u64| (start.saturating_add(by), end.saturating_add(by));
        if let Some(disk) = disk_of(number) {
            let first = counted(number, "start").unwrap_or_default();
            self.add(disk, shifted(first.saturating_mul(SECTOR)), all, deeper);
        }
        if let Some(backing) = backing(number) {
            let (start, end) = shifted(counted(number, "loop/offset").unwrap_or_default());
            match backing {
                Backing::Device(number) => self.add(number, (start, end), all, deeper),
                Backing::File { device, inode } => {
                    self.0.push(Part { place: Place::File(device, inode), start, end, all });
                }
            }
        }
        for member in members(number) {
            self.add(member, (0, size(member)), false, deeper);
        }
    }

    /// Tells whether both are the same device or file.
    pub fn is(&self, other: &Self) -> bool {
        self.0.first().map(|part| part.place) == other.0.first().map(|part| part.place)
    }

    /// Tells whether this lies on `other`, which is something else.
    pub(crate) fn lies_on(&self, other: &Self) -> bool {
        let itself = other.0.first().map(|part| part.place);
        self.0.iter().skip(1).any(|part| Some(part.place) == itself)
    }

    /// Tells whether a write to one may change the other.
    pub fn shares_bytes(&self, other: &Self) -> bool {
        let meet = |a: &Part, b: &Part| {
            a.place == b.place && a.start < b.end && b.start < a.end && (a.all || b.all)
        };
        self.0.iter().any(|a| other.0.iter().any(|b| meet(a, b)))
    }
}

/// All block devices, with their names.
pub(crate) fn devices() -> io::Result<Vec<(String, Number)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/sys/class/block")? {
        let entry = entry?;
        // A device that has just gone has no number any more.
        let name = entry.file_name().to_string_lossy().into_owned();
        found.extend(number_in(&entry.path().join("dev")).map(|number| (name, number)));
    }
    found.sort();
    Ok(found)
}

/// Reads a number from the directory of a device in sysfs.
fn counted(number: Number, name: &str) -> Option<u64> {
    std::fs::read_to_string(sysfs(number).join(name)).ok()?.trim().parse().ok()
}

fn size(number: Number) -> u64 {
    counted(number, "size").unwrap_or_default().saturating_mul(SECTOR)
}

/// Returns the file or device that a loop device stands on.
pub(crate) fn backing(number: Number) -> Option<Backing> {
    let here = sysfs(number);
    let text = std::fs::read_to_string(here.join("loop/backing_file")).ok()?;
    // The driver knows the file even if it was renamed; without permission to ask the driver, the name has to do.
    let node = Path::new("/dev").join(here.canonicalize().ok()?.file_name()?);
    let is_same = sys::block::number(&node).ok().flatten() == Some(number);
    let backing_file =
        is_same.then(|| File::open(&node).and_then(|file| sys::block::loop_backing(&file)));
    if let Some(Ok(backing)) = backing_file {
        return Some(backing);
    }
    let path = Path::new(text.trim_end_matches('\n'));
    let found = std::fs::metadata(path).ok()?;
    match sys::block::number(path).ok()? {
        Some(number) => Some(Backing::Device(number)),
        None => Some(Backing::File { device: found.dev(), inode: found.ino() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: Place = Place::Device(Number { major: 8, minor: 0 });
    const FILE: Place = Place::File(1, 2);

    fn backing(parts: &[(Place, u64, u64, bool)]) -> BackingChain {
        let part = |&(place, start, end, all)| Part { place, start, end, all };
        BackingChain(parts.iter().map(part).collect())
    }

    fn device(minor: u32) -> Place {
        Place::Device(Number { major: 7, minor })
    }

    #[test]
    fn what_lies_on_one_part_of_a_third_shares_bytes_and_neighbours_do_not() {
        let disk = backing(&[(DISK, 0, 100, true)]);
        let first = backing(&[(device(1), 0, 50, true), (DISK, 0, 50, true)]);
        let second = backing(&[(device(2), 0, 50, true), (DISK, 50, 100, true)]);
        // Two volumes of LVM, both somewhere in the second partition.
        let volume = |minor| {
            backing(&[
                (device(minor), 0, 9, true),
                (device(2), 0, 50, false),
                (DISK, 50, 100, false),
            ])
        };
        assert!(disk.shares_bytes(&first) && first.shares_bytes(&disk));
        assert!(!first.shares_bytes(&second));
        assert!(volume(3).shares_bytes(&second) && volume(3).shares_bytes(&disk));
        assert!(!volume(3).shares_bytes(&first) && !volume(3).shares_bytes(&volume(4)));
        assert!(volume(3).shares_bytes(&volume(3)));
        assert!(first.lies_on(&disk) && !disk.lies_on(&first) && !first.lies_on(&first));
    }

    #[test]
    fn loop_devices_on_one_file_share_bytes_where_their_parts_of_it_meet() {
        let file = backing(&[(FILE, 0, u64::MAX, true)]);
        let on = |minor, start, end| {
            backing(&[(device(minor), 0, end - start, true), (FILE, start, end, true)])
        };
        assert!(on(1, 0, 10).shares_bytes(&on(2, 5, 15)));
        assert!(!on(1, 0, 10).shares_bytes(&on(2, 10, 20)));
        assert!(file.shares_bytes(&on(1, 0, 10)) && !file.is(&on(1, 0, 10)));
    }
}
