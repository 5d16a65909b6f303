//! The file system of a path: a tree is read only within its own file system, and file systems that the kernel generates are never read.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// File systems whose files hold no data that anybody stored: the kernel makes them as they are read, some without an end.
const KERNEL: [&str; 22] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "efivarfs",
    "functionfs",
    "fusectl",
    "mqueue",
    "nfsd",
    "nsfs",
    "proc",
    "pstore",
    "resctrl",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];
/// File systems in which files can share what they hold.
const SHARING: [&str; 4] = ["bcachefs", "btrfs", "ocfs2", "xfs"];

/// A file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// The identity of the file system. It is not the device that stat(2) gives: btrfs has one of these for each subvolume, and overlayfs
    /// one for each layer.
    pub id: u64,
    /// Its type, as mount(8) calls it; empty when it is not known.
    pub kind: String,
}

impl FileSystem {
    /// Tells whether the kernel generates its files as they are read.
    pub fn is_kernel(&self) -> bool {
        KERNEL.contains(&self.kind.as_str())
    }

    /// Returns the reason that this file system is left out of a tree of the file system `home`, if it is.
    pub fn reason_to_leave_out(&self, home: u64, others_too: bool) -> Option<String> {
        if self.is_kernel() {
            Some(format!("{} holds no stored data: the kernel makes it as it is read", self.kind))
        } else if self.id != home && !others_too {
            let kind = if self.kind.is_empty() { "of an unknown type" } else { &self.kind };
            Some(format!("another file system ({kind}); --one-file-system=no reads it too"))
        } else {
            None
        }
    }

    /// Tells whether files can share what they hold.
    pub fn shares(&self) -> bool {
        SHARING.contains(&self.kind.as_str())
    }
}

/// The file systems that were met, by the device that stat(2) gives.
#[derive(Debug, Default)]
pub struct FileSystems(HashMap<u64, FileSystem>);

impl FileSystems {
    /// The file system of what is at `path`, on this device.
    pub fn of(&mut self, device: u64, path: &Path) -> &FileSystem {
        self.0.entry(device).or_insert_with(|| look(device, path))
    }
}

fn look(device: u64, path: &Path) -> FileSystem {
    let mount = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID);
    let mount = mount.ok().filter(|found| found.stx_mask & StatxFlags::MNT_ID.bits() != 0);
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mounts = String::from_utf8_lossy(&mounts);
    let mut lines = mounts.lines().filter_map(parse);
    // Linux before 5.8 does not report the mount.
    let found = match mount {
        Some(mount) => lines.find(|line| line.0 == mount.stx_mnt_id),
        None => lines.find(|line| line.1 == device),
    };
    // Below a root of its own (chroot) the mount around that root is not listed.
    found.map_or_else(
        || FileSystem { id: device, kind: by_number(path).to_owned() },
        |(_, id, kind)| FileSystem { id, kind: kind.to_owned() },
    )
}

/// Types by their numbers, as statfs(2) lists them: those whose files can share data, those that the kernel generates and that a user may
/// name, and the most usual ones.
const NUMBERS: [(u32, &str); 14] = [
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0xca45_1a4e, "bcachefs"),
    (0x7461_636f, "ocfs2"),
    (0xef53, "ext4"),
    (0x0102_1994, "tmpfs"),
    (0x794c_7630, "overlay"),
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x6367_7270, "cgroup2"),
    (0x0027_e0eb, "cgroup"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x1cd1, "devpts"),
];

/// The type of the file system at `path` by its number; empty where that is none of these.
fn by_number(path: &Path) -> &'static str {
    let number = rustix::fs::statfs(path).map(|found| found.f_type as u32);
    let known = number.ok().and_then(|number| NUMBERS.iter().find(|(known, _)| *known == number));
    known.map_or("", |(_, kind)| kind)
}

/// Returns the type of the file system if standard input is a file that the kernel generates; `None` for all other input.
pub fn kernel_of_input() -> Option<&'static str> {
    let input = Path::new("/proc/self/fd/0");
    let kind = fs::metadata(input).is_ok_and(|found| found.is_file()).then(|| by_number(input))?;
    KERNEL.contains(&kind).then_some(kind)
}

/// The mount, the device of its file system, and its type, of a line of mountinfo: see proc(5).
fn parse(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.split(' ');
    let mount = words.next()?.parse().ok()?;
    let (major, minor) = words.nth(1)?.split_once(':')?;
    let device = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
    let kind = words.skip_while(|&word| word != "-").nth(1)?;
    Some((mount, device, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_gives_the_mount_its_device_and_its_type() {
        let line = r"36 35 98:1 /root /mnt/a\040b rw,noatime master:1 shared:2 - btrfs /dev/root rw,errors=continue";
        assert_eq!(parse(line), Some((36, rustix::fs::makedev(98, 1), "btrfs")));
        let bare = "21 1 0:19 / /proc rw - proc proc rw";
        assert_eq!(parse(bare), Some((21, rustix::fs::makedev(0, 19), "proc")));
        assert_eq!(parse("21 1 0:19 / /proc rw"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn what_the_kernel_makes_is_known_as_that_and_a_directory_of_files_is_not() {
        let mut found = FileSystems::default();
        let device = |path: &Path| rustix::fs::stat(path).unwrap().st_dev;
        let proc = Path::new("/proc");
        assert!(found.of(device(proc), proc).is_kernel());
        let dir = tempfile::tempdir().unwrap();
        let found_here = found.of(device(dir.path()), dir.path());
        assert!(!found_here.is_kernel() && !found_here.kind.is_empty());
        // By its number it is called the same, and so is what the kernel makes.
        assert!(
            [found_here.kind.as_str(), "ext4"].contains(&by_number(dir.path())),
            "{found_here:?}"
        );
        assert_eq!((by_number(proc), by_number(Path::new("/sys"))), ("proc", "sysfs"));
    }
}
