//! What a run left on the machine: mounts, objects of layers' tools, device-mapper nodes, loop devices that carry its tag.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use layers::Objects;
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
    /// The directory that a file system of the run was mounted in.
    Directory(String),
    /// An object of a layer's tools.
    Object {
        /// Its sort.
        of: &'static Objects,
        /// Its name.
        name: String,
    },
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
            Self::Directory(at) => write!(f, "directory {at}"),
            Self::Object { of, name } => write!(f, "{} {name}", of.called),
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
            Self::Directory(at) => (at, Action::Unmount { directory: at.clone() }),
            Self::Object { of, name } => (name, command(&[of.remove, &[name]].concat())),
            Self::Node(name) => (name, Action::RemoveNodes { nodes: vec![name.clone()] }),
            Self::Loop { device, .. } => (device, command(&["losetup", "--detach", device])),
        };
        let above = matches!(self, Self::Mount { .. } | Self::Directory(_));
        Removal { what: self.to_string(), name: name.clone(), action, above }
    }
}

/// Everything that still carries the tag of a run, the topmost first. Tools of layers are asked where `ran` says that they have run,
/// because asking takes a process.
pub(crate) fn of(tag: &str, ran: impl Fn(&str) -> bool) -> Vec<Leftover> {
    let ours = format!("fathom_{tag}");
    let nodes = Dm::open().and_then(|dm| dm.names()).unwrap_or_default();
    let loops: Vec<_> = loops().into_iter().filter(|(_, file)| file.contains(&ours)).collect();
    let stands = |mount: &(String, String)| {
        let (source, at) = mount;
        let looped = |(device, _): &(String, String)| is_of(source, device);
        at.contains(&ours) || source.contains(&ours) || loops.iter().any(looped)
    };
    let mounts = mounts().into_iter().rev().filter(stands);
    let mut left: Vec<_> = mounts.map(|(_, at)| Leftover::Mount { at }).collect();
    left.extend(directories(&ours).into_iter().map(Leftover::Directory));
    for of in layers::objects().into_iter().filter(|objects| ran(objects.program())) {
        let names = lines(of.list).into_iter().filter(|name| name.contains(&ours));
        left.extend(names.map(|name| Leftover::Object { of, name }));
    }
    let nodes = nodes.into_iter().filter(|name| name.contains(&ours));
    left.extend(nodes.map(Leftover::Node));
    left.extend(loops.into_iter().map(|(device, file)| Leftover::Loop { device, file }));
    left
}

/// What removes everything that still carries the tag, in this order.
pub(crate) fn removals(tag: &str) -> Vec<Removal> {
    of(tag, |_| true).iter().map(Leftover::removal).collect()
}

/// Whether an object of a layer's tools with this tag stands on `device`.
pub(crate) fn bears(device: &str, tag: &str) -> bool {
    let whole = |path: &str| std::fs::canonicalize(path).ok();
    let (ours, Some(device)) = (format!("fathom_{tag}"), whole(device)) else { return false };
    let listed = layers::objects().into_iter().flat_map(|objects| lines(objects.devices));
    listed.into_iter().any(|line| {
        let Some((under, name)) = line.split_once(',') else { return false };
        name.contains(&ours) && whole(under).is_some_and(|under| under == device)
    })
}

/// Whether `source` is `device` or a partition of it.
fn is_of(source: &str, device: &str) -> bool {
    let rest = source.strip_prefix(device);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('p'))
}

/// What a tool of a layer lists; nothing where it is not there or does not answer.
fn lines(argv: &[&str]) -> Vec<String> {
    let argv: Vec<_> = argv.iter().map(ToString::to_string).collect();
    let output = crate::child::run(&argv, Duration::from_secs(60), &Interrupt::new());
    let listed = output.map(|output| output.stdout).unwrap_or_default();
    listed.lines().map(|line| line.trim().to_owned()).collect()
}

/// Directories in which file systems of the run are mounted while it runs.
fn directories(ours: &str) -> Vec<String> {
    let entries = std::fs::read_dir(layers::MOUNTS).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().contains(ours));
    named.map(|entry| entry.path().display().to_string()).collect()
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
        assert_eq!(of("00000000", |_| true), []);
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
        for of in layers::objects() {
            let left = Leftover::Object { of, name: "fathom_0badcafe_v".into() };
            assert_eq!(left.to_string(), format!("{} fathom_0badcafe_v", of.called));
            let removal = left.removal();
            assert!(!removal.above && removal.action.show().ends_with(" fathom_0badcafe_v"));
            assert!(removal.action.show().starts_with(of.program()));
        }
        let mount = Leftover::Mount { at: "/mnt".into() }.removal();
        assert!(mount.above && mount.action.show() == "umount /mnt");
    }
}
