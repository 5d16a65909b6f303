//! What a run left on the machine: device-mapper nodes, volume groups, loop devices that carry its tag.

use std::time::Duration;

use sys::dm::Dm;
use sys::interrupt::Interrupt;

/// Everything that still carries the tag of a run; empty when nothing does.
pub fn leftovers(tag: &str) -> Vec<String> {
    of(tag, true)
}

/// The same; lvm is asked only when `lvm` is set, because asking it takes a process.
pub(crate) fn of(tag: &str, lvm: bool) -> Vec<String> {
    let ours = format!("fathom_{tag}");
    let mut left = Vec::new();
    if let Ok(names) = Dm::open().and_then(|dm| dm.names()) {
        left.extend(with(&ours, names).map(|name| format!("device-mapper node {name}")));
    }
    if lvm {
        left.extend(with(&ours, volume_groups()).map(|name| format!("volume group {name}")));
    }
    left.extend(with(&ours, loops()).map(|file| format!("loop device on {file}")));
    left
}

fn with(part: &str, names: Vec<String>) -> impl Iterator<Item = String> {
    names.into_iter().filter(move |name| name.contains(part))
}

fn volume_groups() -> Vec<String> {
    let argv = ["lvm", "vgs", "--noheadings", "--options", "vg_name"].map(str::to_owned);
    let output = crate::child::run(&argv, Duration::from_secs(60), &Interrupt::new());
    let text = output.map(|output| output.stdout).unwrap_or_default();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

fn loops() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("loop/backing_file")).ok())
        .map(|file| file.trim().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_carries_a_tag_that_no_run_has() {
        assert_eq!(super::leftovers("00000000"), Vec::<String>::new());
    }
}
