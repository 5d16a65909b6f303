//! Block devices: size, sector size, discarding, flushing, and what uses them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use units::Bytes;

// <linux/fs.h>
const BLKROGET: libc::c_ulong = 0x125e;
const BLKSSZGET: libc::c_ulong = 0x1268;
const BLKDISCARD: libc::c_ulong = 0x1277;
const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;
// <linux/loop.h>
const LOOP_GET_STATUS64: libc::c_ulong = 0x4c05;
/// 64-bit words of a `loop_info64`.
const LOOP_INFO_WORDS: usize = 29;

/// Major and minor number of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number {
    /// The driver's number.
    pub major: u32,
    /// The device's number within the driver.
    pub minor: u32,
}

impl Number {
    /// Returns the number that the kernel packs into a `dev_t`, as in `st_rdev`.
    pub fn from_dev(dev: u64) -> Self {
        Self { major: rustix::fs::major(dev), minor: rustix::fs::minor(dev) }
    }

    /// Returns the number as `st_rdev` has it.
    pub fn to_dev(self) -> u64 {
        rustix::fs::makedev(self.major, self.minor)
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Tells whether `file` is a block device.
pub fn is_block(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.file_type().is_block_device())
}

/// The number of the block device at `path`, with links followed; `None` if it is something else.
pub fn number(path: &Path) -> io::Result<Option<Number>> {
    let stat = rustix::fs::stat(path)?;
    let block =
        rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::BlockDevice;
    Ok(block.then(|| Number {
        major: rustix::fs::major(stat.st_rdev),
        minor: rustix::fs::minor(stat.st_rdev),
    }))
}

/// Returns the nodes of all block devices of the kernel, such as `/dev/sda`, in the order of their names; none if sysfs cannot be read.
pub fn nodes() -> Vec<String> {
    let there = std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    // sysfs writes `!` for each `/` in a node's name.
    let node = |name: String| format!("/dev/{}", name.replace('!', "/"));
    let mut nodes: Vec<_> =
        there.filter_map(|entry| entry.file_name().into_string().ok()).map(node).collect();
    nodes.sort();
    nodes
}

/// The device's directory below `/sys`.
pub fn sysfs(number: Number) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{number}"))
}

/// Returns the device number that a file of sysfs (`dev`) holds; `None` if it holds none.
pub fn number_in(file: &Path) -> Option<Number> {
    let text = std::fs::read_to_string(file).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(Number { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// Most levels of stacked devices that are followed down; nobody stacks so many.
pub const MAX_DEPTH: u32 = 16;

/// Returns the devices that this device was made of by LVM, RAID and the like, in the order of their numbers.
pub fn members(number: Number) -> Vec<Number> {
    let entries = std::fs::read_dir(sysfs(number).join("slaves")).into_iter().flatten().flatten();
    let mut all: Vec<_> =
        entries.filter_map(|entry| number_in(&entry.path().join("dev"))).collect();
    all.sort_unstable();
    all
}

/// Returns the disk that a partition is part of.
pub fn disk_of(number: Number) -> Option<Number> {
    let here = sysfs(number);
    here.join("partition").exists().then_some(())?;
    number_in(&here.canonicalize().ok()?.parent()?.join("dev"))
}

/// Names of the devices that are built on this one (LVM, RAID, ...).
pub fn holders(number: Number) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(sysfs(number).join("holders"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Returns the places where this device itself is mounted, as the calling process sees them; its partitions are separate devices.
pub fn mount_points(number: Number) -> io::Result<Vec<PathBuf>> {
    Ok(mounts_of(number, &std::fs::read_to_string("/proc/self/mountinfo")?))
}

/// Devices and files that the kernel swaps to.
pub fn swaps() -> io::Result<Vec<PathBuf>> {
    let swaps = std::fs::read_to_string("/proc/swaps")?;
    let paths = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    Ok(paths.map(|path| PathBuf::from(unescape(path))).collect())
}

/// Returns the number of the device behind a mount (`7:0`), from the number, type and source in its line of `mountinfo`. That number is the device's,
/// except for btrfs, which has a separate number; there the source leads to the device.
pub fn device_of_mount(mounted: &str, kind: &str, source: &str) -> String {
    let of_source = || number(Path::new(&unescape(source))).ok().flatten();
    let device = if kind == "btrfs" { of_source() } else { None };
    device.map_or_else(|| mounted.to_owned(), |device| device.to_string())
}

/// The mount points of `number` in the text of a `mountinfo`.
fn mounts_of(number: Number, mountinfo: &str) -> Vec<PathBuf> {
    let number = number.to_string();
    let mounts = mountinfo.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let (mut left, mut right) = (left.split(' ').skip(2), right.split(' '));
        let device = device_of_mount(left.next()?, right.next()?, right.next()?);
        (device == number).then(|| left.nth(1).map(|at| PathBuf::from(unescape(at))))?
    });
    mounts.collect()
}

/// Returns a word of the kernel's tables without the octal escapes of space, tab, newline and backslash.
pub fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Size of a block device or a file, in bytes.
pub fn size_bytes(file: &File) -> io::Result<Bytes> {
    if !is_block(file)? {
        return Ok(Bytes(file.metadata()?.len()));
    }
    let mut size = 0u64;
    // SAFETY: BLKGETSIZE64 writes one u64.
    unsafe { ioctl(file, BLKGETSIZE64, (&raw mut size).cast()) }?;
    Ok(Bytes(size))
}

/// The device's logical block size; every direct I/O has to be a multiple of it.
pub fn logical_block_size(file: &File) -> io::Result<Bytes> {
    let mut size: libc::c_int = 0;
    // SAFETY: BLKSSZGET writes one int.
    unsafe { ioctl(file, BLKSSZGET, (&raw mut size).cast()) }?;
    Ok(Bytes(size as u64))
}

/// Tells whether the device refuses writes.
pub fn is_read_only(file: &File) -> io::Result<bool> {
    let mut flag: libc::c_int = 0;
    // SAFETY: BLKROGET writes one int.
    unsafe { ioctl(file, BLKROGET, (&raw mut flag).cast()) }?;
    Ok(flag != 0)
}

/// The device or file below a loop device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// A block device.
    Device(Number),
    /// A file, identified as by `stat`: the number of its file system's device, and its inode.
    File {
        /// `st_dev`.
        device: u64,
        /// `st_ino`.
        inode: u64,
    },
}

/// Returns what the loop device stands on, independent of any name. Fails with `ENXIO` if it stands on nothing.
pub fn loop_backing(device: &File) -> io::Result<Backing> {
    let mut info = [0u64; LOOP_INFO_WORDS];
    // SAFETY: LOOP_GET_STATUS64 writes one loop_info64, which has so many words.
    unsafe { ioctl(device, LOOP_GET_STATUS64, info.as_mut_ptr().cast()) }?;
    let [file_system, inode, number, ..] = info;
    // A file has no device number; some kernels repeat that of its file system instead.
    Ok(match number == 0 || number == file_system {
        true => Backing::File { device: file_system, inode },
        false => Backing::Device(Number {
            major: rustix::fs::major(number),
            minor: rustix::fs::minor(number),
        }),
    })
}

/// Discards the whole device. Fails with `EOPNOTSUPP` where the device has no discard.
pub fn discard_whole(file: &File) -> io::Result<()> {
    let mut range = [0u64, size_bytes(file)?.0];
    // SAFETY: BLKDISCARD reads two u64: start and length in bytes.
    unsafe { ioctl(file, BLKDISCARD, range.as_mut_ptr().cast()) }
}

/// Writes everything that is cached for `file` to stable storage, the device's own cache included.
pub fn flush(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fsync(file.as_fd())?)
}

/// Drops the pages of `file` (a device or a file) that are on stable storage, as far as the kernel agrees, so that the next reads come from there.
/// `BLKFLSBUF` would do the same for devices, but empties RAM disks of older kernels.
pub fn drop_cached(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

/// # Safety
/// `argument` must be valid for what `request` reads and writes.
unsafe fn ioctl(
    file: &File,
    request: libc::c_ulong,
    argument: *mut libc::c_void,
) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `file` lives; the caller vouches for the argument.
    match unsafe { libc::ioctl(file.as_raw_fd(), request, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_file_is_no_block_device_but_has_a_size() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(12_345).unwrap();
        assert!(!is_block(&file).unwrap());
        assert_eq!(size_bytes(&file).unwrap(), Bytes(12_345));
        assert!(logical_block_size(&file).is_err());
        assert!(discard_whole(&file).is_err());
        flush(&file).unwrap();
        assert_eq!(number(Path::new("/dev/null")).unwrap(), None);
    }

    #[test]
    fn mount_points_are_found_by_number_and_their_blanks_come_back() {
        let info = "24 1 254:0 / / rw - ext4 /dev/vda rw\n\
                    31 24 7:1 / /mnt/a\\040b rw - xfs /dev/loop1 rw\n\
                    32 24 7:10 / /mnt/c rw - xfs /dev/loop10 rw\n";
        let of = |minor| mounts_of(Number { major: 7, minor }, info);
        assert_eq!(of(1), [PathBuf::from("/mnt/a b")]);
        assert!(of(2).is_empty());
    }

    /// A loop device over a file of 1 MiB.
    struct Loop(PathBuf, tempfile::NamedTempFile);

    impl Loop {
        fn attach() -> Result<Self, String> {
            let backing = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
            backing.as_file().set_len(1 << 20).map_err(|e| e.to_string())?;
            let made = Command::new("/sbin/losetup")
                .args(["--find", "--show"])
                .arg(backing.path())
                .output()
                .map_err(|e| e.to_string())?;
            match made.status.success() {
                true => Ok(Self(String::from_utf8_lossy(&made.stdout).trim().into(), backing)),
                false => Err(String::from_utf8_lossy(&made.stderr).trim().to_owned()),
            }
        }
    }

    impl Drop for Loop {
        fn drop(&mut self) {
            let _ = Command::new("/sbin/losetup").arg("--detach").arg(&self.0).status();
        }
    }

    #[test]
    fn a_real_block_device_tells_its_size_and_sectors() {
        let device = match Loop::attach() {
            Ok(device) => device,
            Err(reason) => {
                println!("SKIP a_real_block_device_tells_its_size_and_sectors: {reason}");
                return;
            }
        };
        let number = number(&device.0).unwrap().unwrap();
        let file = File::open(&device.0).unwrap();
        assert_eq!(size_bytes(&file).unwrap(), Bytes(device.1.as_file().metadata().unwrap().len()));
        let sectors = std::fs::read_to_string(sysfs(number).join("size")).unwrap();
        let sectors: u64 = sectors.trim().parse().unwrap();
        assert_eq!(size_bytes(&file).unwrap(), Bytes(sectors * 512));
        assert!(logical_block_size(&file).unwrap().0 >= 512);
        assert!(is_block(&file).unwrap());
        holders(number).unwrap();
        mount_points(number).unwrap();
        is_read_only(&file).unwrap();
    }
}
