//! The identity of a block device or file: what it is, independent of its name.
//!
//! It is stored where something applies to one target only (a state of verification, the devices of a run that may be resumed), and compared with the
//! identity of what is opened later. A rename makes no difference (the name is kept only for messages); another device or file under the old name has
//! another identity. Both identities are taken from what was opened ([`Identity::of`]), never from a path, which may lead elsewhere a moment later.
//! [`Identity::difference`] says in words why two identities differ.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustix::fs::XattrFlags;
use serde::{Deserialize, Serialize};

use crate::block::{Backing, MAX_DEPTH, Number, disk_of, loop_backing, members, sysfs};

/// The extended attribute that holds the mark of a file.
const MARK: &str = "user.fathom.id";

/// The identity of a block device or a file. Loop devices, partitions and mapped devices are identified by what they stand on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Identity {
    /// A file.
    File(FileIdentity),
    /// A disk with an identifying number.
    Disk(DiskIdentity),
    /// A loop device.
    Loop {
        /// Its start in the file or device, bytes.
        offset: u64,
        /// The file or device it stands on.
        on: Box<Identity>,
    },
    /// A partition of a disk.
    Partition {
        /// Its start on the disk, sectors of 512 bytes.
        start: u64,
        /// The disk.
        on: Box<Identity>,
    },
    /// A device that the kernel makes from others (LVM, crypt, RAID).
    Mapped {
        /// Its name.
        name: String,
        /// The UUID that its maker gave it; without one it is identified by its name and what it stands on.
        uuid: Option<String>,
        /// The devices it stands on.
        on: Vec<Identity>,
    },
    /// A device without any lasting number: its identity ends when the device goes or the machine is restarted.
    Passing {
        /// Major and minor number.
        number: String,
        /// The kernel's sequence number of disks; no two have the same.
        sequence: Option<u64>,
        /// The boot ID of the machine.
        boot: String,
    },
}

/// The identity of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The name that it had at that time, for messages; it does not identify the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The mark that [`mark`] gave it; copies of the file may carry it, too.
    pub mark: Option<String>,
    /// Number of its file system's device, which may change when the machine is restarted.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
    /// The number of its subvolume on btrfs, where a snapshot keeps inode, time and mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subvolume: Option<u64>,
    /// The time of its creation, nanoseconds since 1970, if the file system stores it.
    pub made_ns: Option<u64>,
    /// The device of its file system, if it is on one.
    pub on: Option<Box<Identity>>,
}

/// The identifying numbers that a disk reports; at least one of them is present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskIdentity {
    /// The worldwide unique number of the disk.
    pub wwid: Option<String>,
    /// The maker's serial number, unique per model.
    pub serial: Option<String>,
    /// The model.
    pub model: Option<String>,
}

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    Same,
    /// Nothing shows whether they are the same.
    Untold,
    Other,
}

impl Identity {
    /// Returns the identity of the block device or file that was opened.
    ///
    /// # Errors
    /// Fails if it cannot be examined.
    pub fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        if found.file_type().is_block_device() {
            return Ok(Self::of_device(Number::from_dev(found.rdev()), Some(file), MAX_DEPTH));
        }
        let mut value = [0; 64];
        let mark = rustix::fs::fgetxattr(file, MARK, &mut value).ok();
        let mark = mark.and_then(|length| text(&value[..length]));
        let name = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok();
        let subvolume = rustix::fs::fstatfs(file).ok().and_then(|fs| {
            is_btrfs(&fs).then(|| rustix::fs::fstatvfs(file).ok().map(|fs| fs.f_fsid)).flatten()
        });
        Ok(Self::of_file(&found, (name.as_deref(), mark, subvolume), MAX_DEPTH))
    }

    /// Returns why `now` is not the same device or file, or cannot be shown to be, as a sentence without its end; `None` if it is the same.
    pub fn difference(&self, now: &Self) -> Option<String> {
        match self.likeness(now) {
            Likeness::Same => None,
            Likeness::Other => Some(format!("it was {self}, and is {now}")),
            Likeness::Untold => {
                Some(format!("it was {self}, and nothing shows whether {now} is the same"))
            }
        }
    }

    /// Tells whether `now` is shown to be another device or file.
    pub fn is_other(&self, now: &Self) -> bool {
        self.likeness(now) == Likeness::Other
    }

    fn of_file(
        found: &Metadata,
        (name, mark, subvolume): (Option<&Path>, Option<String>, Option<u64>),
        deeper: u32,
    ) -> Self {
        let made = found.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        let below = Number::from_dev(found.dev());
        let on = (below.major != 0 && sysfs(below).exists())
            .then(|| Box::new(Self::of_device(below, None, deeper)));
        Self::File(FileIdentity {
            path: name.map(|name| name.display().to_string()),
            mark,
            device: found.dev(),
            inode: found.ino(),
            subvolume,
            made_ns: made.map(|made| made.as_nanos() as u64),
            on,
        })
    }

    /// Returns the identity of the device with that number; `opened` is the device itself, if it is open.
    fn of_device(number: Number, opened: Option<&File>, deeper: u32) -> Self {
        let here = sysfs(number);
        let read = |name: &str| {
            std::fs::read_to_string(here.join(name)).ok().and_then(|text| joined_words(&text))
        };
        let count = |name: &str| read(name).and_then(|text| text.parse::<u64>().ok());
        if let Some(deeper) = deeper.checked_sub(1) {
            if let Some((start, disk)) = count("start").zip(disk_of(number)) {
                return Self::Partition {
                    start,
                    on: Box::new(Self::of_device(disk, None, deeper)),
                };
            }
            if let Some(on) = Self::below_loop(number, opened, deeper) {
                return Self::Loop { offset: count("loop/offset").unwrap_or(0), on: Box::new(on) };
            }
            let on = members(number);
            if let Some(name) =
                read("dm/name").or_else(|| (!on.is_empty()).then(|| node(number)).flatten())
            {
                let on =
                    on.into_iter().map(|member| Self::of_device(member, None, deeper)).collect();
                return Self::Mapped {
                    name,
                    uuid: read("dm/uuid").or_else(|| read("md/uuid")),
                    on,
                };
            }
        }
        let wwid = read("wwid").or_else(|| read("device/wwid"));
        let serial = read("serial").or_else(|| read("device/serial"));
        if wwid.is_some() || serial.is_some() {
            return Self::Disk(DiskIdentity { wwid, serial, model: read("device/model") });
        }
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let sequence = count("diskseq");
        Self::Passing { number: number.to_string(), sequence, boot: boot.trim().to_owned() }
    }

    /// Returns the identity of what a loop device stands on; `None` if it is not a loop device, or stands on nothing.
    fn below_loop(number: Number, opened: Option<&File>, deeper: u32) -> Option<Self> {
        let named = std::fs::read_to_string(sysfs(number).join("loop/backing_file")).ok()?;
        let path = Path::new(named.trim_end_matches('\n'));
        let there = std::fs::metadata(path).ok();
        // The driver knows the file itself, whatever path leads to it now; without permission to ask the driver, the name has to do.
        let backing = match opened {
            Some(device) => loop_backing(device),
            None => {
                File::open(Path::new("/dev").join(node(number)?)).and_then(|d| loop_backing(&d))
            }
        };
        match (backing.ok(), there) {
            (Some(Backing::Device(below)), _) => Some(Self::of_device(below, None, deeper)),
            (Some(Backing::File { device, inode }), there) => {
                let same = |found: &Metadata| (found.dev(), found.ino()) == (device, inode);
                Some(match there.filter(same) {
                    Some(found) => Self::of_file(
                        &found,
                        (Some(path), mark_at(path), subvolume_at(path)),
                        deeper,
                    ),
                    None => Self::File(FileIdentity {
                        path: None,
                        mark: None,
                        device,
                        inode,
                        subvolume: None,
                        made_ns: None,
                        on: None,
                    }),
                })
            }
            (None, Some(found)) if found.file_type().is_block_device() => {
                Some(Self::of_device(Number::from_dev(found.rdev()), None, deeper))
            }
            (None, Some(found)) => {
                Some(Self::of_file(&found, (Some(path), mark_at(path), subvolume_at(path)), deeper))
            }
            (None, None) => None,
        }
    }

    fn likeness(&self, now: &Self) -> Likeness {
        let likeness = |same: bool| if same { Likeness::Same } else { Likeness::Other };
        match (self, now) {
            (Self::File(a), Self::File(b)) => a.likeness(b),
            (Self::Disk(a), Self::Disk(b)) => match (&a.wwid, &b.wwid) {
                (Some(a), Some(b)) => likeness(a == b),
                _ => likeness(a.serial.is_some() && (&a.serial, &a.model) == (&b.serial, &b.model)),
            },
            (Self::Loop { offset: a, on }, Self::Loop { offset: b, on: below })
            | (Self::Partition { start: a, on }, Self::Partition { start: b, on: below }) => {
                likeness(a == b).max(on.likeness(below))
            }
            (Self::Mapped { uuid: Some(a), .. }, Self::Mapped { uuid: Some(b), .. }) => {
                likeness(a == b)
            }
            (Self::Mapped { name: a, on, .. }, Self::Mapped { name: b, on: below, .. }) => {
                let each = on.iter().zip(below).map(|(a, b)| a.likeness(b));
                likeness(a == b && on.len() == below.len())
                    .max(each.max().unwrap_or(Likeness::Same))
            }
            (Self::Passing { boot: a, .. }, Self::Passing { boot: b, .. }) if a != b => {
                Likeness::Untold
            }
            _ => likeness(self == now),
        }
    }
}

impl FileIdentity {
    fn likeness(&self, now: &Self) -> Likeness {
        let marks = self.mark.as_ref().zip(now.mark.as_ref());
        // Without a creation time the inode number may belong to a later file; then the mark or the file system's device has to confirm it.
        let is_same = match self.made_ns.zip(now.made_ns) {
            Some((made, then)) => made == then,
            None => marks.is_some() || self.device == now.device,
        };
        let other_subvolume =
            self.subvolume.zip(now.subvolume).is_some_and(|(was, now)| was != now);
        if self.inode != now.inode
            || other_subvolume
            || !is_same
            || marks.is_some_and(|(a, b)| a != b)
        {
            return Likeness::Other;
        }
        // A file in a snapshot of its file system has the same inode, time and mark.
        match self.on.as_ref().zip(now.on.as_ref()).map(|(on, below)| on.likeness(below)) {
            Some(Likeness::Other) => Likeness::Other,
            _ => Likeness::Same,
        }
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::File(FileIdentity { path, inode, made_ns, mark, on, .. }) => {
                match path {
                    Some(path) => write!(f, "the file {path} (inode {inode})")?,
                    None => write!(f, "the file of inode {inode}")?,
                }
                if let Some(ns) = made_ns {
                    write!(f, ", made {}", date(*ns))?;
                }
                mark.as_ref().map_or(Ok(()), |mark| write!(f, ", with the mark {mark}"))?;
                on.as_ref().map_or(Ok(()), |on| write!(f, ", on {on}"))
            }
            Self::Disk(DiskIdentity { wwid, serial, model }) => {
                write!(f, "the disk")?;
                model.as_ref().map_or(Ok(()), |model| write!(f, " {model}"))?;
                serial.as_ref().map_or(Ok(()), |serial| write!(f, " of serial number {serial}"))?;
                wwid.as_ref().map_or(Ok(()), |wwid| write!(f, " ({wwid})"))
            }
            Self::Loop { offset: 0, on } => write!(f, "a loop device on {on}"),
            Self::Loop { offset, on } => write!(f, "a loop device from byte {offset} on {on}"),
            Self::Partition { start, on } => write!(f, "the partition from sector {start} of {on}"),
            Self::Mapped { name, uuid: Some(uuid), .. } => write!(f, "the device {name} ({uuid})"),
            Self::Mapped { name, on, .. } => {
                write!(f, "the device {name}")?;
                let on: Vec<_> = on.iter().map(ToString::to_string).collect();
                if on.is_empty() { Ok(()) } else { write!(f, " on {}", on.join(" and ")) }
            }
            Self::Passing { number, sequence, .. } => {
                write!(f, "device {number}")?;
                sequence.map_or(Ok(()), |n| write!(f, ", the machine's disk number {n}"))?;
                write!(f, ", which has no serial number")
            }
        }
    }
}

/// Formats a time for people; as a number if it lies beyond the calendar.
fn date(ns: u64) -> String {
    match jiff::Timestamp::from_nanosecond(ns.into()) {
        Ok(moment) => moment.strftime("%Y-%m-%d %H:%M:%S.%3f UTC").to_string(),
        Err(_) => format!("{ns} ns after 1970"),
    }
}

/// Marks a file that was just created, so that it can always be distinguished from others. If the file system keeps no marks, inode number and time
/// have to do.
pub fn mark(file: &File) {
    if let Ok(mark) = std::fs::read_to_string("/proc/sys/kernel/random/uuid") {
        let _ = rustix::fs::fsetxattr(file, MARK, mark.trim().as_bytes(), XattrFlags::empty());
    }
}

fn is_btrfs(fs: &rustix::fs::StatFs) -> bool {
    const BTRFS: u64 = 0x9123_683E;
    fs.f_type as u64 == BTRFS
}

fn subvolume_at(path: &Path) -> Option<u64> {
    let fs = rustix::fs::statfs(path).ok().filter(is_btrfs);
    fs.and_then(|_| rustix::fs::statvfs(path).ok()).map(|fs| fs.f_fsid)
}

fn mark_at(path: &Path) -> Option<String> {
    let mut value = [0; 64];
    let length = rustix::fs::getxattr(path, MARK, &mut value).ok()?;
    text(&value[..length])
}

fn text(value: &[u8]) -> Option<String> {
    std::str::from_utf8(value).ok().and_then(joined_words)
}

/// Returns a text with runs of blanks replaced by one; `None` if it is empty.
fn joined_words(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// Returns the kernel's name of a device.
fn node(number: Number) -> Option<String> {
    let here = sysfs(number).canonicalize().ok()?;
    Some(here.file_name()?.to_str()?.replace('!', "/"))
}

#[cfg(test)]
mod tests;
