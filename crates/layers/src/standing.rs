//! A stack that exists on a machine, as it was read, for rules that need no run; and a description, as data, of what is read of each kind of layer.

use std::collections::BTreeMap;

use results::model::Fields;
use units::Bytes;

use crate::watched::Watched;

/// One form in which a kind of layer exists on a machine: how it is recognised, and what is read of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// The mark that it is recognised by.
    pub is: Recognised,
    /// Its inputs: the name of each, with the position of its device among the words of a table, or among the devices below.
    pub parts: &'static [(&'static str, usize)],
    /// Position, among the words of its table, of a secret: a key.
    pub secret: Option<usize>,
    /// The texts that are read of it.
    pub reads: &'static [StandingRead],
    /// Tells when it holds writes that only its input `cache` has.
    pub keeps_writes: Keeps,
    /// Beginnings of the names of its kernel threads, and of the kernel's work queues, where these do not name the device; `{instance}` stands for
    /// the counter of that name.
    pub threads: &'static [&'static str],
}

impl Standing {
    /// A form on one device; nothing of it is read.
    pub const fn new(is: Recognised) -> Self {
        Self {
            is,
            parts: &[("data", 0)],
            secret: None,
            reads: &[],
            keeps_writes: Keeps::Never,
            threads: &[],
        }
    }
}

/// The mark by which a form of a layer is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognised {
    /// The word of its target in the device mapper's tables.
    Target(&'static str),
    /// The beginning of the kernel's name of its device. It is also the name of a directory in sysfs that leads to its first input.
    Device(&'static str),
    /// The word of a mounted file system.
    FileSystem(&'static str),
}

/// The condition under which a layer holds writes that only its input `cache` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// Never.
    Never,
    /// Always.
    Always,
    /// While this setting has this value.
    While(&'static str, &'static str),
}

/// One text that is read of an existing layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandingRead {
    /// The place that it is read from.
    pub from: ReadFrom,
    /// Id of the parser that reads it.
    pub parser: &'static str,
    /// The name of its one value; `None` where the parser names what it finds.
    pub value: Option<&'static str>,
}

/// A place that a text about a node is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    /// The line of its table.
    Table,
    /// The line of its status.
    Status,
    /// The answer to a message that changes nothing.
    Message(&'static str),
    /// A file below the device's directory in sysfs.
    Attribute(&'static str),
    /// Output of a tool, from a report on a machine (sosreport).
    Report(&'static str),
}

impl ReadFrom {
    /// Returns the key of the text among the texts of a device.
    pub fn key(self) -> String {
        match self {
            Self::Table => "table".to_owned(),
            Self::Status => "status".to_owned(),
            Self::Message(words) => format!("message {words}"),
            Self::Attribute(path) | Self::Report(path) => path.to_owned(),
        }
    }
}

/// One part of an existing stack: a mounted file system, a layer, a device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// The kernel's name of the device, or the directory of a file system.
    pub id: String,
    /// The name that people know.
    pub name: String,
    /// The kind of layer; else `disk`, `partition`, `loop`, `raid`, or the word of the target or file system.
    pub kind: String,
    /// The word of its target, where the device mapper made it.
    pub target: String,
    /// Tells whether it stores duplicates once and compressed blocks together.
    pub reduces: bool,
    /// Its size, bytes.
    pub bytes: Option<u64>,
    /// Its inputs: the name of each, and the id of the node there.
    pub on: Vec<(String, String)>,
    /// Its settings, by the names that an experiment gives them; options of a mount.
    pub settings: BTreeMap<String, String>,
    /// Settings and limits of its queue of I/Os, by the kernel's names.
    pub queue: BTreeMap<String, String>,
    /// Its counters and levels.
    pub counters: Fields,
    /// The texts as they were read, each with its source.
    pub texts: Vec<(String, String)>,
    /// Its counters over time, if it was watched.
    pub watched: Option<Watched>,
}

impl Node {
    /// Returns the node with its counters over the time that it was watched, instead of since it came up; `None` if it was not watched.
    pub fn over_watch(&self) -> Option<Self> {
        let watched = self.watched.as_ref()?;
        let counters = watched.levels.iter().chain(&watched.grown);
        let counters = counters.map(|(name, value)| (name.clone(), *value)).collect();
        Some(Self { counters, ..self.clone() })
    }

    /// A counter or level.
    pub fn number(&self, field: &str) -> Option<f64> {
        self.counters.get(field).copied().flatten()
    }

    /// Returns the share of the counters `part` in the sum of `part` and `rest`, percent; `None` where the sum is below `least`.
    pub fn share(&self, part: &[&str], rest: &[&str], least: f64) -> Option<f64> {
        let sum =
            |fields: &[&str]| fields.iter().map(|field| self.number(field)).sum::<Option<f64>>();
        let part = sum(part)?;
        let all = part + sum(rest)?;
        (all >= least && all > 0.0).then(|| 100.0 * part / all)
    }

    /// Returns one counter as a percentage of another.
    pub fn percent(&self, part: &str, all: &str) -> Option<f64> {
        let all = self.number(all).filter(|all| *all > 0.0)?;
        Some(100.0 * self.number(part)? / all)
    }

    /// A setting.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.settings.get(key).map(String::as_str)
    }

    /// A setting that is a size, bytes.
    pub fn size(&self, key: &str) -> Option<u64> {
        Some(self.setting(key)?.parse::<Bytes>().ok()?.0)
    }

    /// A setting that is a number.
    pub fn count(&self, key: &str) -> Option<f64> {
        self.setting(key)?.parse().ok()
    }

    /// A setting or limit of its queue that is a number.
    pub fn limit(&self, key: &str) -> Option<f64> {
        self.queue.get(key)?.parse().ok()
    }
}

/// Facts of the machine that a stack stands on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StandingMachine {
    /// The release of its kernel.
    pub kernel: Option<String>,
    /// Its processors.
    pub cpus: Option<u64>,
    /// Its memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Versions of modules, targets and packages.
    pub versions: Vec<(String, String)>,
    /// Lines of the kernel's log; `None` where it could not be read.
    pub log: Option<Vec<String>>,
}

/// An existing stack, as far as it could be read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StandingStack {
    /// Its nodes, those above before those below.
    pub nodes: Vec<Node>,
    /// Nodes outside of the stack that share something with it: other volumes of a pool.
    pub beside: Vec<Node>,
    /// The machine.
    pub machine: StandingMachine,
    /// The parts that could not be read, and the reasons.
    pub missing: Vec<String>,
}

impl StandingStack {
    /// The node with this id.
    pub fn node(&self, id: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// All that a node stands on, through all its inputs or one, however many lie between.
    pub fn below(&self, node: &Node, input: Option<&str>) -> Vec<&Node> {
        let inputs = node.on.iter().filter(|(name, _)| input.is_none_or(|input| input == name));
        let mut open: Vec<&str> = inputs.map(|(_, id)| id.as_str()).collect();
        let mut found: Vec<&Node> = Vec::new();
        while let Some(id) = open.pop() {
            let Some(below) = self.node(id) else { continue };
            if !found.iter().any(|known| known.id == below.id) {
                open.extend(below.on.iter().map(|(_, id)| id.as_str()));
                found.push(below);
            }
        }
        found
    }

    /// All that stands on a node, however many lie between.
    pub fn above(&self, node: &Node) -> Vec<&Node> {
        let on = |other: &&Node| self.below(other, None).iter().any(|below| below.id == node.id);
        self.nodes.iter().filter(on).collect()
    }

    /// The disks that a node stands on, through all its inputs or one; the node itself where it stands on nothing.
    pub fn disks<'a>(&'a self, node: &'a Node, input: Option<&str>) -> Vec<&'a Node> {
        if node.on.is_empty() {
            return vec![node];
        }
        self.below(node, input).into_iter().filter(|node| node.on.is_empty()).collect()
    }
}

/// One node of a stack, for the rules about it.
#[derive(Clone, Copy)]
pub struct StandingFacts<'a> {
    /// The node.
    pub node: &'a Node,
    /// The stack.
    pub stack: &'a StandingStack,
    /// Tells whether the counters of the node are their growth while it was watched, instead of since it came up.
    pub watched: bool,
}

impl<'a> StandingFacts<'a> {
    /// Returns the least number of I/Os that a share may be based on: `since_up` for counters since the node came up, a tenth of it if watched.
    pub fn least(&self, since_up: f64) -> f64 {
        if self.watched { since_up / 10.0 } else { since_up }
    }

    /// The mounted file system over the node, whose settings are the options of the mount; `None` where none is known.
    pub fn files(&self) -> Option<&'a Node> {
        self.stack.above(self.node).into_iter().find(|above| above.id.starts_with('/'))
    }

    /// Tells whether all disks below an input are rotational, according to the kernel; `None` where it does not say so for each.
    pub fn turns(&self, input: Option<&str>) -> Option<bool> {
        let disks = self.stack.disks(self.node, input);
        let turn: Option<Vec<bool>> =
            disks.iter().map(|disk| Some(disk.limit("rotational")? > 0.0)).collect();
        turn.filter(|turn| !turn.is_empty()).map(|turn| turn.into_iter().all(|turns| turns))
    }
}
