//! Leftovers of a run on the machine: mounts, objects of layers' tools, device-mapper nodes, loop devices that carry its tag.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use layers::step::Action;
use layers::{Listing, Objects};
use sys::dm::Dm;
use sys::interrupt::Interrupt;

use crate::mounts::{Mounted, mounted};

/// One thing that carries the tag of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftover {
    /// A file system that stands on something of the run, or is mounted at a place named after it.
    Mount {
        /// Path where it is mounted.
        at: String,
        /// The device that is mounted there.
        what: Mounted,
        /// Tells whether its source is named after the run, or is a loop device on a file that is.
        named: bool,
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
    /// A loop device over a file that is named after the run.
    Loop {
        /// Its node in /dev.
        device: String,
        /// The file.
        file: String,
        /// The mount at a place of the run that the file lies in: it cannot be unmounted before this loop device is gone.
        inside: Option<Box<Self>>,
    },
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Mount { at, .. } => write!(f, "mount at {at}"),
            Self::Directory(at) => write!(f, "directory {at}"),
            Self::Object { of, name } => write!(f, "{} {name}", of.called),
            Self::Node(name) => write!(f, "device-mapper node {name}"),
            Self::Loop { file, .. } => write!(f, "loop device on {file}"),
        }
    }
}

/// The removal of one thing that a run left.
#[derive(Debug, Clone, PartialEq)]
pub struct Removal {
    /// Description of the thing, as in lists of leftovers.
    pub what: String,
    /// Its name in the layers' actions, to see whether a layer's own undo removes it.
    pub name: String,
    /// The actions that remove it.
    pub actions: Vec<Action>,
    /// Tells whether it stands on the stack, so that it goes before the layers do.
    pub above: bool,
}

impl Leftover {
    /// Returns its removal; `None` for a mount at a place of the run that is neither named after the run nor on a device of it: that is somebody
    /// else's.
    fn removal(&self, ours: &str, owned: &BTreeSet<String>) -> Option<Removal> {
        let command = |argv: &[&str], object: &str| Action::Command {
            argv: argv.iter().chain([&object]).map(ToString::to_string).collect(),
            removes: Some(object.to_owned()),
        };
        let (name, action) = match self {
            Self::Mount { at, what, named: false } if at.contains(ours) => {
                let device = owned.iter().find(|device| what.is_on(device))?;
                (at, Action::Unmount { directory: at.clone(), device: Some(device.clone()) })
            }
            // No program is needed at a place of the run's own, so that a guest without one is cleaned, too.
            Self::Mount { at, what, .. }
                if at.starts_with(&format!("{}/{ours}", layers::MOUNTS)) =>
            {
                let device = Some(what.source.clone());
                (at, Action::Unmount { directory: at.clone(), device })
            }
            Self::Mount { at, .. } => (at, command(&["umount"], at)),
            Self::Directory(at) => (at, Action::Unmount { directory: at.clone(), device: None }),
            Self::Node(name) => (name, Action::RemoveNodes { nodes: vec![name.clone()] }),
            Self::Loop { device, inside, .. } => {
                // What lies in somebody else's mount is theirs, too.
                if let Some(mount) = inside {
                    mount.removal(ours, owned)?;
                }
                (device, command(&["losetup", "--detach"], device))
            }
            Self::Object { of, name } => {
                let (what, actions) = (self.to_string(), (of.remove)(name));
                return Some(Removal { what, name: name.clone(), actions, above: false });
            }
        };
        let above = matches!(
            self,
            Self::Mount { .. } | Self::Directory(_) | Self::Loop { inside: Some(_), .. }
        );
        Some(Removal { what: self.to_string(), name: name.clone(), actions: vec![action], above })
    }
}

/// Returns everything that still carries the tag of a run, the topmost first. Tools of layers are asked only if `ran` says that they have run,
/// because asking starts a process.
pub(crate) fn of(tag: &str, ran: impl Fn(&str) -> bool) -> Vec<Leftover> {
    let ours = format!("fathom_{tag}");
    let nodes = Dm::open().and_then(|dm| dm.names()).unwrap_or_default();
    let loops: Vec<_> = loops().into_iter().filter(|(_, file)| file.contains(&ours)).collect();
    let named = |mount: &Mounted| {
        let looped = |(device, _): &(String, String)| is_of(&mount.source, device);
        mount.source.contains(&ours) || loops.iter().any(looped)
    };
    let mounts = mounted().into_iter().rev().filter(|m| m.at.contains(&ours) || named(m));
    let mounts: Vec<_> = mounts.map(|what| (named(&what), what)).collect();
    let (mut left, loops) = mounts_and_loops(mounts, loops);
    left.extend(directories(&ours).into_iter().map(Leftover::Directory));
    for of in layers::objects() {
        let named = objects(&of.listed, &ran).into_iter();
        let ours = named.filter(|(_, identity)| layers::is_of_run(identity, tag));
        left.extend(ours.map(|(name, _)| Leftover::Object { of, name }));
    }
    let nodes = nodes.into_iter().filter(|name| name.contains(&ours));
    left.extend(nodes.map(Leftover::Node));
    left.extend(loops);
    left
}

/// Mounts, the topmost first, each behind the loop devices whose files lie in it; and the other loop devices.
fn mounts_and_loops(
    mounts: Vec<(bool, Mounted)>,
    loops: Vec<(String, String)>,
) -> (Vec<Leftover>, Vec<Leftover>) {
    let (mut left, mut rest) = (Vec::new(), loops);
    for (named, what) in mounts {
        let (on_mount, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|(_, file)| Path::new(file).starts_with(&what.at));
        rest = others;
        let mount = Leftover::Mount { at: what.at.clone(), named, what };
        let inside = || Some(Box::new(mount.clone()));
        let looped = |(device, file)| Leftover::Loop { device, file, inside: inside() };
        left.extend(on_mount.into_iter().map(looped));
        left.push(mount);
    }
    let rest = rest.into_iter();
    (left, rest.map(|(device, file)| Leftover::Loop { device, file, inside: None }).collect())
}

/// Lists the actions that remove everything that still carries the tag, in this order; `owned` are the run's devices.
pub(crate) fn removals(tag: &str, owned: &BTreeSet<String>) -> Vec<Removal> {
    let ours = format!("fathom_{tag}");
    of(tag, |_| true).iter().filter_map(|left| left.removal(&ours, owned)).collect()
}

/// Returns the paths of files in the directories in which the run had file systems mounted: they were written while nothing was mounted there, and
/// keep the directories from being removed.
pub(crate) fn in_directories(tag: &str) -> Vec<String> {
    let mounted: BTreeSet<_> = mounted().into_iter().map(|mount| mount.at).collect();
    let bare = directories(&format!("fathom_{tag}")).into_iter().filter(|at| !mounted.contains(at));
    let entries = bare.filter_map(|at| std::fs::read_dir(at).ok()).flatten().flatten();
    let mut all: Vec<_> = entries.map(|entry| entry.path().display().to_string()).collect();
    all.sort();
    all
}

/// Returns the block devices on which an object of a layer's tools with this tag stands, or which are such an object.
pub(crate) fn bearers(tag: &str) -> Vec<String> {
    let ours = format!("fathom_{tag}");
    let of_tools = layers::objects().into_iter().flat_map(|objects| match objects.listed {
        Listing::Tool { devices, .. } => {
            let pairs = lines(devices).into_iter().filter_map(|line| {
                let (under, name) = line.split_once(',')?;
                name.contains(&ours).then(|| under.to_owned())
            });
            pairs.collect::<Vec<_>>()
        }
        listed @ Listing::Directory { .. } => {
            let all = self::objects(&listed, |_| true).into_iter();
            let ours = all.filter(|(_, identity)| layers::is_of_run(identity, tag));
            let nodes = ours.filter(|(name, _)| Path::new("/sys/class/block").join(name).exists());
            nodes.map(|(name, _)| format!("/dev/{name}")).collect()
        }
    });
    of_tools.collect()
}

/// Tells whether an object of a layer's tools with this tag stands on `device`.
pub(crate) fn bears(device: &str, tag: &str) -> bool {
    let whole = |path: &str| std::fs::canonicalize(path).ok();
    let Some(device) = whole(device) else { return false };
    bearers(tag).iter().any(|under| whole(under).is_some_and(|under| under == device))
}

/// Returns the names of the objects of one sort, each with the text that would carry the tag of a run. A tool that was never run has nothing to list.
fn objects(listed: &Listing, ran: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    match listed {
        Listing::Tool { names, .. } if names.first().is_some_and(|program| ran(program)) => {
            lines(names).into_iter().map(|name| (name.clone(), name)).collect()
        }
        Listing::Tool { .. } => Vec::new(),
        Listing::Directory { path, identity } => {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            let identified = entries.filter_map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                let identity = match identity {
                    Some(file) => std::fs::read_to_string(entry.path().join(file)).ok()?,
                    None => name.clone(),
                };
                Some((name, identity))
            });
            identified.collect()
        }
    }
}

/// Tells whether `source` is `device` or a partition of it.
fn is_of(source: &str, device: &str) -> bool {
    let rest = source.strip_prefix(device);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('p'))
}

/// Returns the lines that a layer's tool lists; none where it is not there or does not answer.
fn lines(argv: &[&str]) -> Vec<String> {
    let argv: Vec<_> = argv.iter().map(ToString::to_string).collect();
    let output = crate::child::run(&argv, Duration::from_secs(60), &Interrupt::new());
    let listed = output.map(|output| output.stdout).unwrap_or_default();
    listed.lines().map(|line| line.trim().to_owned()).collect()
}

/// Directories in which file systems of the run are mounted while it runs.
fn directories(ours: &str) -> Vec<String> {
    let entries = std::fs::read_dir(layers::MOUNTS).into_iter().flatten().flatten();
    let named = entries.filter(|entry| {
        entry.file_name().to_string_lossy().contains(ours)
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_carries_a_tag_that_no_run_has() {
        assert_eq!(of("00000000", |_| true), []);
        assert!(!bears("/dev/null", "00000000"));
    }

    #[test]
    fn an_object_that_the_kernel_named_is_known_by_its_uuid_and_one_of_another_run_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let uuid = "0badcafe-666d-8072-8000-000000000000";
        for (name, label) in [("relay0", "feedf00d-666d-8072-8000-000000000000"), ("relay1", uuid)]
        {
            std::fs::create_dir_all(dir.path().join(name).join("relay")).unwrap();
            std::fs::write(dir.path().join(name).join("relay/label"), format!("{label}\n"))
                .unwrap();
        }
        std::fs::create_dir(dir.path().join("sda")).unwrap();
        let path = dir.path().display().to_string().leak();
        let named = |identity, tag| {
            let all = objects(&Listing::Directory { path, identity }, |_| false);
            let ours = all.into_iter().filter(|(_, identity)| layers::is_of_run(identity, tag));
            ours.map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(named(Some("relay/label"), "0badcafe"), ["relay1"]);
        assert_eq!(named(Some("relay/label"), "00000000"), Vec::<String>::new());
        std::fs::create_dir(dir.path().join(uuid)).unwrap();
        assert_eq!(named(None, "0badcafe"), [uuid]);
    }

    #[test]
    fn a_partition_is_of_its_device() {
        assert!(is_of("/dev/loop0p1", "/dev/loop0") && is_of("/dev/loop0", "/dev/loop0"));
        assert!(!is_of("/dev/loop01", "/dev/loop0"));
    }

    #[test]
    fn a_mount_at_a_place_of_the_run_is_removed_only_when_it_is_of_the_run() {
        let ours = "fathom_0badcafe";
        let mount = |source: &str, named| {
            let what = Mounted {
                id: 0,
                kind: String::new(),
                number: "0:0".into(),
                source: source.into(),
                at: "/run/x".into(),
            };
            Leftover::Mount { at: format!("/run/{ours}_fs"), what, named }
        };
        let owned = BTreeSet::from(["/dev/null".to_owned()]);
        assert_eq!(mount("tmpfs", false).removal(ours, &owned), None);
        assert!(mount("/dev/mapper/fathom_0badcafe-v", true).removal(ours, &owned).is_some());
    }

    #[test]
    fn a_loop_device_goes_before_the_mount_that_its_file_lies_in_and_behind_what_is_mounted_of_it()
    {
        let mount = |source: &str, at: &str| {
            (
                true,
                Mounted {
                    id: 0,
                    kind: String::new(),
                    number: "7:1".into(),
                    source: source.into(),
                    at: at.into(),
                },
            )
        };
        let mounts =
            vec![mount("/dev/loop3", "/mnt"), mount("/dev/mapper/v", "/run/fathom_0badcafe_fs")];
        let loops =
            [("/dev/loop2", "/x/fathom_0badcafe"), ("/dev/loop3", "/run/fathom_0badcafe_fs/i")];
        let loops = loops.map(|(device, file)| (device.to_owned(), file.to_owned())).to_vec();
        let (left, rest) = mounts_and_loops(mounts, loops);
        let removals: Vec<_> =
            left.iter().filter_map(|l| l.removal("fathom_0badcafe", &BTreeSet::new())).collect();
        let shown: Vec<_> = removals.iter().map(|removal| removal.actions[0].show()).collect();
        let wanted = [
            "umount /mnt",
            "losetup --detach /dev/loop3",
            "umount /run/fathom_0badcafe_fs && rmdir /run/fathom_0badcafe_fs",
        ];
        assert_eq!(shown, wanted);
        assert!(removals.iter().all(|removal| removal.above));
        assert_eq!(rest.len(), 1, "one elsewhere may be what the stack stands on");
        // Somebody else's mount at a place of the run, and what lies in it, are left.
        let at = "/run/fathom_0badcafe_fs";
        let what = Mounted {
            id: 0,
            kind: String::new(),
            number: "0:50".into(),
            source: "tmpfs".into(),
            at: at.into(),
        };
        let foreign = vec![("/dev/loop3".to_owned(), format!("{at}/i"))];
        let (left, _) = mounts_and_loops(vec![(false, what)], foreign);
        assert_eq!(left.len(), 2);
        assert!(left.iter().all(|l| l.removal("fathom_0badcafe", &BTreeSet::new()).is_none()));
    }

    #[test]
    fn everything_says_by_which_command_it_goes() {
        let device = "/dev/loop7".to_owned();
        let removal = |left: &Leftover| left.removal("fathom_0badcafe", &BTreeSet::new()).unwrap();
        let left = Leftover::Loop {
            device: device.clone(),
            file: "/x/fathom_0badcafe".into(),
            inside: None,
        };
        assert_eq!(left.to_string(), "loop device on /x/fathom_0badcafe");
        assert_eq!(removal(&left).actions[0].show(), "losetup --detach /dev/loop7");
        for of in layers::objects() {
            let left = Leftover::Object { of, name: "fathom_0badcafe_v".into() };
            assert_eq!(left.to_string(), format!("{} fathom_0badcafe_v", of.called));
            let removal = removal(&left);
            assert!(!removal.above && removal.actions == (of.remove)("fathom_0badcafe_v"));
        }
        let what = Mounted {
            id: 0,
            kind: String::new(),
            number: "7:7".into(),
            source: device.clone(),
            at: "/mnt".into(),
        };
        let mount = removal(&Leftover::Mount { at: "/mnt".into(), what, named: true });
        assert!(mount.above && mount.actions[0].show() == "umount /mnt");
    }
}
