//! Common parts of the layers that are file systems: each is made on one block device and mounted in a separate directory; its space is read by
//! statfs; it is grown and trimmed while mounted. The layer of a file system adds its own tools and counters.

pub(crate) mod keys;
mod options;
mod space;

pub(crate) use options::{Flag, Options};
pub(crate) use space::{
    CHART, COUNTERS, FILLS, METRICS, STATFS, counted, figures, parse_statfs, read_fields,
};

use units::Bytes;

use crate::kind::ActionKind;
use crate::layer::{ActionPlan, ActionRequest, Offer, Place, RaisePlan, Restart};
use crate::probe::{Probe, Source};
use crate::settings::SettingError;
use crate::step::{Action, Mark, Step};

/// A file system that is to be made.
pub(crate) struct FileSystem {
    /// The kernel's word for it, which is also the name of the layer.
    pub(crate) word: &'static str,
    /// Its name in a sentence, with the article.
    pub(crate) called: &'static str,
    /// The smallest device that its tool takes.
    pub(crate) smallest: Bytes,
    /// Program and arguments that make it on the device named after them.
    pub(crate) make: Vec<String>,
    /// The place of its UUID on the device.
    pub(crate) uuid_at: u64,
    /// Options of the mount.
    pub(crate) mount: Vec<String>,
    /// Probes of its own counters.
    pub(crate) probes: Vec<Probe>,
}

/// Returns the first two numbers of a kernel version, by which versions are ordered: 6 and 12 for `6.12.107-1`.
pub(crate) fn kernel_version(text: &str) -> Option<[u64; 2]> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let (major, minor) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some([major, minor])
}

/// The action that grows a file system to all of the device under it.
pub(crate) const GROW: ActionKind = ActionKind {
    name: "grow",
    about: "Grows the file system to all of the device under it, which has grown before.",
    keys: &[],
    alone: true,
    loses: false,
    part: None,
};

/// The action that discards space that a file system does not use.
pub(crate) const TRIM: ActionKind = ActionKind {
    name: "trim",
    about: "Discards all space that the file system does not use (fstrim).",
    keys: &[],
    alone: false,
    loses: false,
    part: None,
};

impl FileSystem {
    /// Plans how to make and mount it at `at`.
    pub(crate) fn raise(self, at: &Place) -> Result<RaisePlan, SettingError> {
        let (device, bytes) = at.block("data");
        if bytes < self.smallest.0 {
            let message =
                format!("a device of {} is too small for layer '{}'", Bytes(bytes), self.word);
            let help = format!("mkfs.{} needs {}: take a larger device", self.word, self.smallest);
            return Err(SettingError::new("on", message, help));
        }
        let (directory, mount) = (at.mount_directory(), self.mounted(at));
        let mut argv = self.make;
        argv.push(device.to_owned());
        let make = Step {
            about: format!("make {} file system", self.called),
            action: Action::Command { argv, removes: None },
            // A signature left behind would make the next run refuse the device.
            undo: vec![Action::Wipe {
                device: device.to_owned(),
                mark: Some(Mark { at: self.uuid_at, bytes: at.uuid().to_vec() }),
            }],
            deadline_s: 120,
        };
        let mount = Step { undo: vec![unmount(at)], ..mount };
        let space = Source::Space { path: directory.clone() };
        let mut probes = vec![Probe::each_second(at.name, "statfs", space, STATFS)];
        probes.extend(self.probes);
        Ok(RaisePlan {
            up: vec![make, mount],
            nodes: Vec::new(),
            probes,
            ready: Vec::new(),
            settle: vec![Step {
                about: "write out what the file system holds in memory".into(),
                action: Action::Flush { device: directory.clone() },
                undo: Vec::new(),
                deadline_s: 600,
            }],
            offer: Offer::Directory { path: directory, bytes },
            allocate: None,
            memory_bytes: 64 << 20,
            computed: Vec::new(),
        })
    }

    /// Returns the steps that unmount it at `at` and mount it again.
    pub(crate) fn restart(&self, at: &Place) -> Restart {
        let down = Step {
            about: format!("unmount {} file system", self.called),
            action: unmount(at),
            undo: Vec::new(),
            deadline_s: 600,
        };
        Restart { down: vec![down], up: vec![self.mounted(at)], renews: None }
    }

    /// The step that mounts it; nothing undoes it.
    fn mounted(&self, at: &Place) -> Step {
        Step {
            about: format!("mount {} file system", self.called),
            action: Action::Mount {
                device: at.block("data").0.to_owned(),
                directory: at.mount_directory(),
                filesystem: self.word.into(),
                options: self.mount.join(","),
            },
            undo: Vec::new(),
            deadline_s: 120,
        }
    }
}

/// The action that unmounts what is mounted at `at`.
fn unmount(at: &Place) -> Action {
    Action::Unmount { directory: at.mount_directory(), device: Some(at.block("data").0.to_owned()) }
}

/// Plans the action asked for: `grow` with the file system's own tool, `trim` with fstrim.
pub(crate) fn act(at: &Place, request: &ActionRequest, grow: &[&str]) -> ActionPlan {
    let directory = at.mount_directory();
    let (about, argv, bytes) = if request.action == TRIM.name {
        ("discard what the file system does not use", vec!["fstrim".to_owned(), directory], None)
    } else {
        let argv = grow.iter().map(|&word| word.to_owned()).collect();
        ("grow the file system to all of its device", argv, Some(at.block("data").1))
    };
    let step = Step {
        about: about.into(),
        action: Action::Command { argv, removes: None },
        undo: Vec::new(),
        deadline_s: 600,
    };
    ActionPlan { steps: vec![step], bytes }
}

/// A command line from its words.
pub(crate) fn argv(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests;
