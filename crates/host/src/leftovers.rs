//! What a run left on the machine: mounts, volume groups, device-mapper nodes, loop devices that carry its tag.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use layers::step::Action;
use sys::dm::Dm;
use sys::interrupt::Interrupt;

/// One thing that carries the tag of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftover {
    /// A file system that stands on something of the run, or at a place called so.
    Mount {
        /// Where it is mounted.
        at: String,
    },
    /// A volume group.
    Group(String),
    /// A mapped device.
    Node(String),
    /// A loop device over a file that is called so.
    Loop {
        /// Its node in /dev.
        device: String,
        /// The file.
        file: String,
    },
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Mount { at } => write!(f, "mount at {at}"),
            Self::Group(name) => write!(f, "volume group {name}"),
            Self::Node(name) => write!(f, "device-mapper node {name}"),
            Self::Loop { file, .. } => write!(f, "loop device on {file}"),
        }
    }
}

/// What removes one thing that a run left.
#[derive(Debug, Clone, PartialEq)]
pub struct Removal {
    /// The thing, as leftovers are told.
    pub what: String,
    /// Its name in what layers do, to see whether a layer's own undo removes it.
    pub name: String,
    /// What removes it.
    pub action: Action,
    /// It stands on the stack: it goes before the layers do.
    pub above: bool,
}

impl Leftover {
    fn removal(&self) -> Removal {
        let command = |argv: &[&str]| Action::Command {
            argv: argv.iter().map(ToString::to_string).collect(),
            may_fail: true,
        };
        let (name, action) = match self {
            Self::Mount { at } => (at, command(&["umount", at])),
            Self::Group(name) => (name, command(&["lvm", "vgremove", "--yes", "--force", name])),
            Self::Node(name) => (name, Action::RemoveNodes { nodes: vec![name.clone()] }),
            Self::Loop { device, .. } => (device, command(&["losetup", "--detach", device])),
        };
        let above = matches!(self, Self::Mount { .. });
        Removal { what: self.to_string(), name: name.clone(), action, above }
    }
}

/// Everything that still carries the tag of a run, the topmost first; lvm is asked only when `lvm` is set, because asking it takes
/// a process.
pub(crate) fn of(tag: &str, lvm: bool) -> Vec<Leftover> {
    let ours = format!("fathom_{tag}");
    let nodes = Dm::open().and_then(|dm| dm.names()).unwrap_or_default();
    let groups = if lvm { volume_groups() } else { Vec::new() };
    let loops: Vec<_> = loops().into_iter().filter(|(_, file)| file.contains(&ours)).collect();
    let stands = |mount: &(String, String)| {
        let (source, at) = mount;
        let looped = |(device, _): &(String, String)| is_of(source, device);
        at.contains(&ours) || source.contains(&ours) || loops.iter().any(looped)
    };
    let mounts = mounts().into_iter().rev().filter(stands);
    let named = |names: Vec<String>| names.into_iter().filter(|name| name.contains(&ours));
    let mut left: Vec<_> = mounts.map(|(_, at)| Leftover::Mount { at }).collect();
    left.extend(named(groups).map(Leftover::Group));
    left.extend(named(nodes).map(Leftover::Node));
    left.extend(loops.into_iter().map(|(device, file)| Leftover::Loop { device, file }));
    left
}

/// What removes everything that still carries the tag, in this order.
pub(crate) fn removals(tag: &str) -> Vec<Removal> {
    of(tag, true).iter().map(Leftover::removal).collect()
}

/// Whether a volume group with this tag stands on `device`.
pub(crate) fn bears(device: &str, tag: &str) -> bool {
    let whole = |path: &str| std::fs::canonicalize(path).ok();
    let (ours, Some(device)) = (format!("fathom_{tag}"), whole(device)) else { return false };
    let listed = lvm(&["pvs", "--noheadings", "--separator", ",", "--options", "pv_name,vg_name"]);
    listed.lines().filter_map(|line| line.trim().split_once(',')).any(|(physical, group)| {
        group.contains(&ours) && whole(physical).is_some_and(|physical| physical == device)
    })
}

/// Whether `source` is `device` or a partition of it.
fn is_of(source: &str, device: &str) -> bool {
    let rest = source.strip_prefix(device);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('p'))
}

fn lvm(arguments: &[&str]) -> String {
    let argv: Vec<_> = ["lvm"].iter().chain(arguments).map(ToString::to_string).collect();
    let output = crate::child::run(&argv, Duration::from_secs(60), &Interrupt::new());
    output.map(|output| output.stdout).unwrap_or_default()
}

fn volume_groups() -> Vec<String> {
    let text = lvm(&["vgs", "--noheadings", "--options", "vg_name"]);
    text.lines().map(|line| line.trim().to_owned()).collect()
}

/// Loop devices with their files.
fn loops() -> Vec<(String, String)> {
    let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let file = std::fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
            let device = Path::new("/dev").join(entry.file_name()).display().to_string();
            Some((device, file.trim().to_owned()))
        })
        .collect()
}

/// Sources and places of mounts, the last one mounted last.
fn mounts() -> Vec<(String, String)> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(mount).collect()
}

/// Source and place in one line of mountinfo.
fn mount(line: &str) -> Option<(String, String)> {
    let (left, right) = line.split_once(" - ")?;
    let (at, source) = (left.split(' ').nth(4)?, right.split(' ').nth(1)?);
    Some((plain(source), plain(at)))
}

/// `text` without the escapes by which the kernel keeps it one word.
fn plain(text: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(text.to_owned(), |text, (escape, letter)| text.replace(escape, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_carries_a_tag_that_no_run_has() {
        assert_eq!(of("00000000", true), []);
        assert!(!bears("/dev/null", "00000000"));
    }

    #[test]
    fn a_mount_is_known_by_its_place_and_its_source() {
        let line = "35 28 7:0 / /mnt/a\\040b rw,relatime shared:1 master:2 - ext4 /dev/loop0p1 rw";
        assert_eq!(mount(line), Some(("/dev/loop0p1".into(), "/mnt/a b".into())));
        assert!(is_of("/dev/loop0p1", "/dev/loop0") && is_of("/dev/loop0", "/dev/loop0"));
        assert!(!is_of("/dev/loop01", "/dev/loop0"));
    }

    #[test]
    fn everything_says_by_which_command_it_goes() {
        let device = "/dev/loop7".to_owned();
        let left = Leftover::Loop { device, file: "/x/fathom_0badcafe".into() };
        assert_eq!(left.to_string(), "loop device on /x/fathom_0badcafe");
        assert_eq!(left.removal().action.show(), "losetup --detach /dev/loop7");
        let mount = Leftover::Mount { at: "/mnt".into() }.removal();
        assert!(mount.above && mount.action.show() == "umount /mnt");
    }
}
