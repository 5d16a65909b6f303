//! Probes: what is read from a layer or the machine while stages run, as data.

use serde::{Deserialize, Serialize};

/// One time series to be sampled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Its id, which names the samples (`vdo.stats`, `machine.diskstats`, `vdo.threads`).
    pub id: String,
    /// The source that is read.
    pub source: Source,
    /// Id of the parser in the registry that turns the text into fields.
    pub parser: String,
    /// Interval between two readings, milliseconds.
    pub every_ms: u64,
    /// The way in which it is read.
    #[serde(default)]
    pub reading: Reading,
}

impl Probe {
    /// Creates the probe called `LAYER.WHAT`, read each second and at every edge.
    pub fn each_second(layer: &str, what: &str, source: Source, parser: &str) -> Self {
        Self {
            id: format!("{layer}.{what}"),
            source,
            parser: parser.to_owned(),
            every_ms: 1000,
            reading: Reading::Edge,
        }
    }
}

/// The way in which a probe is read: edges of stages wait for its readings, or nothing does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Quick: one thread reads all such probes in turn, and the start or end of a stage waits until all of them were read.
    #[default]
    Edge,
    /// May be slow: a separate thread reads it. Neither an edge nor another probe waits for it; a reading that begins too long
    /// after its edge is not used for that edge.
    Background,
}

/// The source of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum Source {
    /// The answer of a device-mapper target to a message (`stats` to `vg-pool-vpool`).
    DmMessage {
        /// Name of the mapped device.
        node: String,
        /// The message.
        message: String,
    },
    /// The status line of a device-mapper device.
    DmStatus {
        /// Name of the mapped device.
        node: String,
    },
    /// The table line of a device-mapper device.
    DmTable {
        /// Name of the mapped device.
        node: String,
    },
    /// Standard output of a command.
    Command {
        /// Program and arguments, placeholders allowed.
        argv: Vec<String>,
    },
    /// Every file of a directory that can be read, one line each: `name value`, the value's lines joined with blanks
    /// (`/sys/block/bcache0/bcache/stats_total`).
    Directory {
        /// Its path.
        path: String,
    },
    /// Number of times that an event of the kernel occurred since [`crate::step::Action::Trace`] began to count it: `events 17`, or
    /// `absent: ` and the reason why it is not known.
    Trace {
        /// Name of the trace instance.
        instance: String,
        /// The event, `system:name` (`block:block_rq_issue`).
        event: String,
    },
    /// Writes to a block device, and the runs of adjacent writes that they form, among those that
    /// [`crate::step::Action::Trace`] records: `writes N bytes N runs N dropped N`, or `absent: ` and why it is not known.
    WriteRuns {
        /// Name of the trace instance.
        instance: String,
    },
    /// I/Os of block devices by their latency, counted since their reader began, several lines for each device: `NAME by SOURCE`,
    /// `NAME lost N`, `NAME read STEP:N ...`, or `NAME none REASON` ([`crate::machine::device_latencies`]).
    Latency {
        /// Name of the trace instance and of the statistics of the device mapper; each reader adds a number to it.
        instance: String,
        /// The devices, the uppermost first.
        devices: Vec<PlacedDevice>,
    },
    /// Blocks of the file system at a path, as statfs(2) counts them: `blocks N free N size N`, the size of a block in bytes.
    Space {
        /// A path in it.
        path: String,
    },
    /// Attributes of a mounted file system, which sysfs has under the type of the file system and the kernel's name of the block device
    /// (`/sys/fs/ext4/dm-3`): one attribute as it is, or all of the directory in the form of [`Source::Directory`].
    FileSystem {
        /// The kernel's word for the file system.
        filesystem: String,
        /// Path of the block device, placeholders allowed.
        device: String,
        /// The attribute, as a path below the directory (`stats/stats`).
        #[serde(default)]
        attribute: Option<String>,
    },
    /// An attribute of the queue of a block device, as sysfs has it (`discard_max_bytes`).
    Queue {
        /// Path of the block device, placeholders allowed.
        device: String,
        /// Name of the attribute.
        attribute: String,
    },
    /// The value that a setting of the environment has ([`crate::environment`]); empty where it has none.
    Environment {
        /// Name of the setting.
        setting: String,
        /// Path of the block device that it belongs to, placeholders allowed.
        #[serde(default)]
        device: Option<String>,
    },
    /// Block devices that the kernel has put on a block device, one a line (`bcache0`).
    Holders {
        /// Path of the block device below, placeholders allowed.
        device: String,
    },
    /// A file as it stands (`/proc/diskstats`).
    File {
        /// Its path.
        path: String,
    },
    /// CPU time of every thread whose name starts with a prefix: lines `tid comm utime stime` in clock ticks.
    Threads {
        /// The prefix (`vdo{vdo.instance}:`).
        prefix: String,
    },
    /// Block nodes, one a line, `name major:minor sysfs-name`, for each of the devices.
    Diskstats {
        /// Paths of block devices; each becomes fields `name.reads`, ... .
        devices: Vec<NamedDevice>,
    },
}

/// A block device with the name that its figures carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedDevice {
    /// The name (`data`, `vdo`, `vdo-pool`).
    pub name: String,
    /// Its path, placeholders allowed.
    pub path: String,
}

/// A block device with its place among the others of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedDevice {
    /// Its name.
    pub name: String,
    /// Its path, placeholders allowed.
    pub path: String,
    /// The names of the devices directly under it.
    pub on: Vec<String>,
}

impl Source {
    /// The source as a person would type or say it.
    pub fn show(&self) -> String {
        match self {
            Self::DmMessage { node, message } => format!("dmsetup message {node} 0 {message}"),
            Self::DmStatus { node } => format!("dmsetup status {node}"),
            Self::DmTable { node } => format!("dmsetup table {node}"),
            Self::Command { argv } => crate::argv::show_argv(argv),
            Self::Directory { path } => format!("{path}/*"),
            Self::Trace { instance, event } => {
                format!("count of {event} in tracefs, instance {instance}")
            }
            Self::WriteRuns { instance } => {
                format!("runs of writes in tracefs, instance {instance}")
            }
            Self::Latency { devices, .. } => {
                let names: Vec<_> = devices.iter().map(|d| d.name.as_str()).collect();
                format!("latency of {} in dm-stats and tracefs", names.join(", "))
            }
            Self::Space { path } => format!("statfs {path}"),
            Self::FileSystem { filesystem, device, attribute } => {
                let attribute = attribute.as_deref().unwrap_or("*");
                format!("/sys/fs/{filesystem}/NAME/{attribute} of {device}")
            }
            Self::Queue { device, attribute } => format!("queue/{attribute} of {device}"),
            Self::Environment { setting, device } => {
                let known = crate::environment::setting(setting);
                known.map_or_else(|| setting.clone(), |known| known.show(device.as_deref()))
            }
            Self::Holders { device } => format!("holders of {device}"),
            Self::File { path } => path.clone(),
            Self::Threads { prefix } => format!("/proc/*/stat of threads {prefix}*"),
            Self::Diskstats { devices } => {
                let names: Vec<_> = devices.iter().map(|d| d.name.as_str()).collect();
                format!("/proc/diskstats of {}", names.join(", "))
            }
        }
    }
}
