//! Mounted file systems, from the kernel's tables of mounts.

use std::collections::BTreeMap;
use std::path::Path;

use sys::block::unescape;

/// One mounted file system.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mount {
    /// The number of its device, where the table tells it (`253:4`).
    pub number: Option<String>,
    /// The directory that it is mounted in.
    pub directory: String,
    /// The kind of file system, as the kernel names it.
    pub kind: String,
    /// The source that was mounted, as the mount command named it.
    pub source: String,
    /// Its options.
    pub options: BTreeMap<String, String>,
    /// Its size and what is free of it, bytes.
    pub space: Option<(u64, u64)>,
}

/// The mounts of a table: `/proc/self/mountinfo`, or `/proc/mounts`.
pub fn mounts(table: &str) -> Vec<Mount> {
    table.lines().filter_map(|line| of_mountinfo(line).or_else(|| of_mounts(line))).collect()
}

/// The mount that a path without symbolic links lies in: the nearest one above it, and the last where several are mounted in one directory.
pub fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.directory));
    above.max_by_key(|mount| mount.directory.len())
}

fn of_mountinfo(line: &str) -> Option<Mount> {
    let (mount, rest) = line.split_once(" - ")?;
    let fields: Vec<&str> = mount.split(' ').collect();
    let [_, _, number, _, directory, flags, ..] = fields[..] else { return None };
    let mut rest = rest.split(' ');
    let (kind, source) = (rest.next()?, rest.next()?);
    let all = format!("{flags},{}", rest.next().unwrap_or_default());
    Some(Mount {
        number: Some(number.to_owned()),
        directory: unescape(directory),
        kind: kind.to_owned(),
        source: unescape(source),
        options: options(&all),
        space: None,
    })
}

fn of_mounts(line: &str) -> Option<Mount> {
    let words: Vec<&str> = line.split(' ').collect();
    let [source, directory, kind, all, ..] = words[..] else { return None };
    let (directory, source) = (unescape(directory), unescape(source));
    let kind = kind.to_owned();
    Some(Mount { number: None, directory, kind, source, options: options(all), space: None })
}

fn options(all: &str) -> BTreeMap<String, String> {
    let each = all.split(',').filter(|option| !option.is_empty());
    let pairs = each.map(|option| option.split_once('=').unwrap_or((option, "on")));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_of_the_kernel_are_read_and_the_nearest_mount_is_found() {
        let table = "24 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro\n\
                     35 24 253:4 / /mnt/a\\040b rw,noatime - xfs /dev/mapper/vg-lv rw,discard\n";
        let read = mounts(table);
        assert_eq!(read[1].directory, "/mnt/a b");
        assert_eq!(read[1].options["discard"], "on");
        assert_eq!(read[0].options["errors"], "remount-ro");
        assert_eq!(mount_of(&read, Path::new("/mnt/a b/c")).unwrap().kind, "xfs");
        assert_eq!(mount_of(&read, Path::new("/mnt/a bc")).unwrap().kind, "ext4");
        let old = mounts("/dev/mapper/vg-lv /data xfs rw,relatime,discard 0 0\n");
        assert_eq!((old[0].directory.as_str(), old[0].options.len()), ("/data", 3));
        assert!(mounts("nothing\n").is_empty());
    }
}
