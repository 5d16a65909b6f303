//! Who uses a block device: mounts, swap, devices built on it or on its partitions, loop devices.

use std::io;
use std::path::Path;

use sys::block::{Number, holders, mount_points, sysfs};

/// Every use of the device, its partitions and the disk that it is a partition of, in words.
pub(crate) fn of(path: &Path, number: Number) -> io::Result<Vec<String>> {
    let mut uses = single(number, "")?;
    for (name, partition) in partitions(number)? {
        uses.extend(single(partition, &format!("its partition {name} "))?);
    }
    if let Some(disk) = disk_of(number) {
        let mounts = mount_points(disk)?;
        uses.extend(
            mounts
                .iter()
                .map(|at| format!("the disk it is part of is mounted on {}", at.display())),
        );
    }
    let real = path.canonicalize()?;
    uses.extend(loop_on(&real));
    Ok(uses)
}

fn single(number: Number, whose: &str) -> io::Result<Vec<String>> {
    let mounts = mount_points(number)?;
    let mut uses: Vec<_> =
        mounts.iter().map(|at| format!("{whose}mounted on {}", at.display())).collect();
    if is_swap(number)? {
        uses.push(format!("{whose}used as swap"));
    }
    uses.extend(holders(number)?.iter().map(|holder| format!("{whose}held by {holder}")));
    Ok(uses)
}

fn is_swap(number: Number) -> io::Result<bool> {
    let swaps = std::fs::read_to_string("/proc/swaps")?;
    let mut devices = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    Ok(devices.any(|device| sys::block::number(Path::new(device)).ok().flatten() == Some(number)))
}

/// Names and numbers of a disk's partitions.
fn partitions(number: Number) -> io::Result<Vec<(String, Number)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(sysfs(number))? {
        let entry = entry?;
        if entry.path().join("partition").exists() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(entry.path().join("dev"))?;
            found.extend(parse_number(&text).map(|number| (name, number)));
        }
    }
    Ok(found)
}

/// The disk that a partition is part of.
fn disk_of(number: Number) -> Option<Number> {
    let here = sysfs(number);
    here.join("partition").exists().then_some(())?;
    let disk = here.canonicalize().ok()?.parent()?.join("dev");
    parse_number(&std::fs::read_to_string(disk).ok()?)
}

fn parse_number(text: &str) -> Option<Number> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(Number { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// A loop device whose backing store is this device.
fn loop_on(path: &Path) -> Option<String> {
    let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    entries.into_iter().find_map(|entry| {
        let file = std::fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        (Path::new(file.trim()) == path)
            .then(|| format!("{} stands on it", entry.file_name().to_string_lossy()))
    })
}
