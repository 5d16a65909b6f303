//! Steps that raise a stack and take it down, as data.
//!
//! A step may name things that are known only at run time by placeholders in braces: `{device.data}` is
//! bound by the host to the role's block device; a [`Action::Bind`] binds others (`{vdo.instance}`).
//! `explain` prints steps with their placeholders; the crate `host` executes them.

use serde::{Deserialize, Serialize};

pub use crate::argv::{is_planned, show_argv};
use crate::probe::Source;

/// One step, with the actions that undo it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The purpose, a short phrase (`make the VDO pool`).
    pub about: String,
    /// The action of the step.
    pub action: Action,
    /// Actions that undo the step. Steps are undone in reverse order, each even when the undo of another failed.
    /// A step has to be undone as soon as it has begun: a step that failed half-way is undone too.
    pub undo: Vec<Action>,
    /// Longest time it may take, seconds.
    pub deadline_s: u64,
}

impl Step {
    /// Flushes a device, so that nothing is under way when figures are read.
    pub fn flush(device: &str) -> Self {
        Self {
            about: "flush the volume".into(),
            action: Action::Flush { device: device.to_owned() },
            undo: Vec::new(),
            deadline_s: 120,
        }
    }
}

/// Bytes at a place of a device that identify the run that made what is on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The distance from the start of the device, bytes.
    pub at: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The way in which a machine ends before it reboots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineEnd {
    /// It is shut down.
    #[default]
    Shutdown,
    /// It stops between two instructions; disks keep all that they took.
    Killed,
    /// The same, and the disks lose an arbitrary part of what was in their volatile caches.
    PowerCut,
}

impl MachineEnd {
    /// Tells whether the machine ends without shutting anything down first.
    pub fn is_sudden(self) -> bool {
        self != Self::Shutdown
    }

    fn name(self) -> &'static str {
        match self {
            Self::Shutdown => "reboot",
            Self::Killed => "kill the machine and boot it anew",
            Self::PowerCut => "cut the power of the machine and its disks, and boot it anew",
        }
    }
}

/// One thing to do to the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum Action {
    /// Run a command. No shell: `argv` is what the kernel gets.
    Command {
        /// Program and arguments, placeholders allowed.
        argv: Vec<String>,
        /// In teardown: the object that it removes; fine when this is not there (any more).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        removes: Option<String>,
    },
    /// Discard the whole device, so that every cell starts from the same state; falls back to zeroing the
    /// first and last MiB where the device cannot discard, and says so.
    Discard {
        /// The block device.
        device: String,
    },
    /// In teardown: zero the first and the last MiB of a device, so that its content is not mistaken for data. Nothing happens
    /// where the device is not there.
    Wipe {
        /// The block device.
        device: String,
        /// The mark by which `fathom clean` knows that the run made what is on the device; without it, the name of the device decides.
        #[serde(default)]
        mark: Option<Mark>,
    },
    /// Flush what the device holds in volatile caches (fsync on the node); for a directory, all that its file system holds in memory (syncfs).
    Flush {
        /// The block device, or the directory.
        device: String,
    },
    /// Write out what the kernel holds of files in memory.
    Sync,
    /// Wait for a while.
    Pause {
        /// Length of the wait, milliseconds.
        ms: u64,
    },
    /// Write a value to an attribute of the kernel (sysfs, tracefs) and read it back: what the kernel did not take is an error.
    Write {
        /// The attribute's file.
        path: String,
        /// The value to write.
        value: String,
        /// Text that must be read afterwards; where the attribute lists all its values, the text in brackets
        /// (`writethrough [writeback] none`). `None` for an attribute that cannot be read, or answers something else.
        #[serde(default)]
        reads: Option<String>,
        /// Allows, in teardown, that the attribute, or the object that it belongs to, is not there (any more).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_be_gone: bool,
    },
    /// Set a value of the environment and read it back: it is an error if the kernel did not take it. In teardown no error where the device that it
    /// belongs to is gone.
    Set {
        /// Name of the setting, one of [`crate::environment::SETTINGS`].
        setting: String,
        /// The block device that it belongs to, placeholders allowed; `None`: it belongs to the whole machine.
        #[serde(default)]
        device: Option<String>,
        /// The value; empty to have none, as where none was set before.
        value: String,
    },
    /// Make the directory and mount a file system there.
    Mount {
        /// The block device.
        device: String,
        /// The directory; it must not exist.
        directory: String,
        /// The kernel's word for the file system (`xfs`).
        filesystem: String,
        /// Options of the file system, joined with commas; may be empty.
        options: String,
    },
    /// In teardown: unmount and remove the directory. Nothing happens where the directory is not there.
    Unmount {
        /// The directory.
        directory: String,
        /// The block device that was mounted there: nothing else is unmounted.
        #[serde(default)]
        device: Option<String>,
    },
    /// Start a process that lives on until it is stopped.
    Start {
        /// The name under which it is stopped.
        name: String,
        /// Program and arguments, placeholders allowed.
        argv: Vec<String>,
    },
    /// In teardown: end the process of that name and wait for its end. Nothing happens when there is none.
    Stop {
        /// The name under which it was started.
        name: String,
    },
    /// Record an event of the kernel in a separate trace instance. Without tracefs or such an event nothing is recorded, and the reader of
    /// [`Source::Trace`] or [`Source::WriteRuns`] reports why.
    Trace {
        /// Name of the instance; it must not exist.
        instance: String,
        /// The event, `system:name` (`block:block_rq_issue`).
        event: String,
        /// A block device, placeholders allowed: of requests, only writes to it are recorded.
        #[serde(default)]
        writes_to: Option<String>,
    },
    /// In teardown: stop recording and remove the trace instance. Nothing happens where it is not there.
    Untrace {
        /// Name of the instance.
        instance: String,
    },
    /// In teardown: remove those of the device-mapper nodes that are still there, in this order. Nothing
    /// happens when none is.
    RemoveNodes {
        /// Names of mapped devices, the topmost first.
        nodes: Vec<String>,
    },
    /// Reboot the machine: a guest ends, and another one continues the cell with the disks as they are. All that was in memory is gone.
    Reboot {
        /// The end of the machine that runs.
        #[serde(default)]
        after: MachineEnd,
    },
    /// Read until the condition holds.
    Wait {
        /// The source that is read.
        source: Source,
        /// Id of the layer's parser that reads the text (`vdo.status`); not used by [`Condition::Gone`].
        parser: String,
        /// The condition that must hold.
        until: Condition,
        /// Interval between two readings, milliseconds.
        every_ms: u64,
    },
    /// Read once and bind fields of the answer to placeholders and facts of the cell.
    Bind {
        /// The source that is read.
        source: Source,
        /// Id of the parser that reads text fields from it.
        parser: String,
        /// Prefix of the names: field `instance` of prefix `vdo` becomes `{vdo.instance}`.
        prefix: String,
    },
}

/// The condition that ends a wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// A text field equals a value (`index` is `online`).
    Text {
        /// The field.
        field: String,
        /// The value that it must have.
        is: String,
    },
    /// A number is no more than another one of the same reading.
    AtMost {
        /// The field.
        field: String,
        /// The field that bounds it.
        other: String,
    },
    /// A number is at least this much.
    AtLeast {
        /// The field.
        field: String,
        /// The least that it must be.
        least: f64,
    },
    /// The source is not there any more.
    Gone,
}

impl Action {
    /// Creates an action of teardown that asks the kernel, through an attribute, to release something; no error where the attribute is gone.
    pub fn let_go(path: String) -> Self {
        Self::Write { path, value: "1".into(), reads: None, may_be_gone: true }
    }

    /// Creates a wait until a file of the kernel is gone.
    pub fn await_gone(path: String) -> Self {
        let (source, parser) = (Source::File { path }, String::new());
        Self::Wait { source, parser, until: Condition::Gone, every_ms: 100 }
    }

    /// Returns the things that an action of teardown removes or writes to; none if it does neither.
    pub fn objects(&self) -> Vec<&str> {
        match self {
            Self::Command { removes, .. } => removes.as_deref().into_iter().collect(),
            Self::RemoveNodes { nodes } => nodes.iter().map(String::as_str).collect(),
            Self::Wipe { device: object, .. }
            | Self::Unmount { directory: object, .. }
            | Self::Untrace { instance: object }
            | Self::Write { path: object, .. }
            | Self::Wait { source: Source::File { path: object }, .. } => vec![object],
            _ => Vec::new(),
        }
    }

    /// The action as a person would type or say it.
    pub fn show(&self) -> String {
        match self {
            Self::Command { argv, .. } => show_argv(argv),
            Self::Discard { device } => format!("blkdiscard {device}"),
            Self::Wipe { device, .. } => format!("wipe the ends of {device}"),
            Self::Flush { device } => format!("sync {device}"),
            Self::Sync => "sync".into(),
            Self::Pause { ms } => format!("sleep {}", *ms as f64 / 1e3),
            Self::Write { path, value, .. } => format!("echo {value} > {path}"),
            Self::Set { setting, device, value } => {
                crate::environment::show_set(setting, device.as_deref(), value)
            }
            Self::Mount { device, directory, filesystem, options } => {
                let options =
                    if options.is_empty() { String::new() } else { format!(" -o {options}") };
                format!(
                    "mkdir -p {directory} && mount -t {filesystem}{options} {device} {directory}"
                )
            }
            Self::Unmount { directory, .. } => format!("umount {directory} && rmdir {directory}"),
            Self::Start { argv, .. } => format!("{} &", show_argv(argv)),
            Self::Stop { name } => format!("stop {name}"),
            Self::Trace { instance, event, writes_to } => {
                let event = event.replace(':', "/");
                let instance = format!("/sys/kernel/tracing/instances/{instance}");
                let only = writes_to.as_ref().map_or_else(String::new, |device| {
                    format!("only writes to {device} in {instance}/events/{event}/filter && ")
                });
                format!("mkdir {instance} && {only}echo 1 > {instance}/events/{event}/enable")
            }
            Self::Untrace { instance } => format!("rmdir /sys/kernel/tracing/instances/{instance}"),
            Self::RemoveNodes { nodes } => format!("dmsetup remove --retry {}", nodes.join(" ")),
            Self::Reboot { after } => after.name().into(),
            Self::Wait { source, until, .. } => format!("wait until {until} in {}", source.show()),
            Self::Bind { source, prefix, .. } => format!("read {prefix} from {}", source.show()),
        }
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Text { field, is } => write!(f, "{field} is {is}"),
            Self::AtMost { field, other } => write!(f, "{field} is no more than {other}"),
            Self::AtLeast { field, least } => write!(f, "{field} is at least {least}"),
            Self::Gone => write!(f, "nothing is left"),
        }
    }
}
