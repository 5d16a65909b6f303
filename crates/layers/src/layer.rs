//! A layer with its settings read, and what it plans for a place in a stack.

use std::collections::BTreeMap;

use results::model::{Computed, Criterion};
use serde::{Deserialize, Serialize};
use units::Seed;

use crate::probe::{NamedDevice, Probe};
use crate::step::{Action, Step};
use crate::{SettingError, Twin};

/// One layer with its settings read.
pub trait Layer: Send + Sync {
    /// Every setting as text, defaults included.
    fn settings(&self) -> BTreeMap<String, String>;

    /// Plans how to raise it at `at`, and what it offers then; the error names the setting that cannot work there, its value and the
    /// remedy.
    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError>;

    /// Returns steps that change the layer that runs at `at` to the value that setting `key` has in `self`, without taking it down; `None`
    /// when the setting cannot change while it runs.
    fn change(&self, _at: &Place, _key: &str) -> Option<Vec<Step>> {
        None
    }

    /// The settings that [`Layer::change`] can change.
    fn changeable(&self) -> &'static [&'static str] {
        &[]
    }

    /// Plans an action that its kind declares ([`crate::Kind::actions`]) on the layer at `at`. Settings of the action that are also settings of
    /// the layer have their new values in `self` already. The error names the setting that cannot work.
    fn act(&self, _at: &Place, request: &ActionRequest) -> Result<ActionPlan, SettingError> {
        let message = format!("the layer has no action '{}'", request.action);
        Err(SettingError::new("action", message, "fathom layers NAME shows what it can do"))
    }

    /// Returns steps that take down the layer at `at`, and bring it up again from what is stored; `None` for a layer without such steps: a
    /// stack with it can neither be restarted nor rebooted.
    fn restart(&self, _at: &Place) -> Option<Restart> {
        None
    }

    /// Returns the criteria that prove that the layer at `at` is in a state that its kind declares ([`crate::Kind::states`]).
    fn proof(&self, _at: &Place, _state: &str) -> Proof {
        Proof::default()
    }

    /// Checks whether a load can bring the layer at `at` to a state at all: the load that its kind declares (`usual`), or one that the experiment
    /// gives. The error names the setting that prevents it.
    fn reachable(&self, _at: &Place, _state: &str, _usual: bool) -> Result<(), SettingError> {
        Ok(())
    }

    /// Returns how much of its origin the layer at `at` can hold at once, and in what chunks; `None` for a layer that is not a read cache.
    fn holds(&self, _at: &Place) -> Option<CacheRoom> {
        None
    }

    /// Its own simulated twin at `at`; `None` for a layer whose twin answers with recorded output ([`crate::Kind::recorded`]).
    fn twin(&self, _at: &Place) -> Option<Box<dyn Twin>> {
        None
    }
}

/// The capacity of a read cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRoom {
    /// The input that is cached.
    pub origin: &'static str,
    /// Bytes that it can hold.
    pub bytes: u64,
    /// Size of a chunk, which is brought in as a whole, bytes.
    pub chunk_bytes: u64,
    /// The smallest size that its setting `chunk_size` allows, bytes; `None` where it has no such setting.
    pub finest_bytes: Option<u64>,
}

/// Steps that take a layer down, and steps that bring it up again from what is stored, on this machine or another one with the same devices.
/// Stored data stays. The undo of the raising is still due afterwards, so these steps themselves have no undo.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restart {
    /// Steps that take it down.
    pub down: Vec<Step>,
    /// Steps that bring it up, until it is as ready as it was when it was raised.
    pub up: Vec<Step>,
    /// The part of the layer that is there after it, whether it was missing or not.
    pub renews: Option<&'static str>,
}

/// An action that is requested of a layer that is up.
#[derive(Debug, Clone, Copy)]
pub struct ActionRequest<'a> {
    /// Its name.
    pub action: &'a str,
    /// Its settings as written.
    pub keys: &'a toml::Table,
    /// The settings that the layer has had until then, as written.
    pub before: &'a toml::Table,
}

/// Criteria that prove that a layer is in a state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Proof {
    /// Criteria that must hold of it, and of what is below it.
    pub criteria: Vec<Criterion>,
    /// The end of a round for criteria about rounds; `None` takes the rounds of the load.
    pub round: Option<Round>,
}

/// The condition that ends a round, after which a layer is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Round {
    /// So much growth of a counter of the layer.
    Growth {
        /// Id of the metric.
        metric: String,
        /// The amount of growth.
        by: f64,
    },
    /// So much time.
    Time {
        /// Length of the round, seconds.
        seconds: u64,
    },
}

/// The plan of an action of a layer, not executed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActionPlan {
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// The size of the layer from then on, bytes, where it changes.
    pub bytes: Option<u64>,
}

/// The block device or directory that a device or a layer offers to the layer above it, and the top of a stack to a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// A block device.
    Block {
        /// Its path; may be a placeholder (`{device.data}`).
        device: String,
        /// Its size, bytes.
        bytes: u64,
    },
    /// A directory of a mounted file system.
    Directory {
        /// Its path.
        path: String,
        /// Capacity of the file system, roughly, bytes.
        bytes: u64,
    },
}

impl Offer {
    /// Path of the device or directory.
    pub fn path(&self) -> &str {
        match self {
            Self::Block { device: path, .. } | Self::Directory { path, .. } => path,
        }
    }

    /// Tells whether it is a directory.
    pub fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }

    /// Its size, bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Block { bytes, .. } | Self::Directory { bytes, .. } => *bytes,
        }
    }

    /// Gives it another size, bytes.
    pub fn resize(&mut self, size: u64) {
        let (Self::Block { bytes, .. } | Self::Directory { bytes, .. }) = self;
        *bytes = size;
    }
}

/// The inputs of a layer that stands on one block device.
pub fn on_device(device: &str, bytes: u64) -> BTreeMap<String, Offer> {
    BTreeMap::from([("data".to_owned(), Offer::Block { device: device.to_owned(), bytes })])
}

/// The place of a layer in a stack: its name, the run, and what is under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The layer's name in the experiment.
    pub name: &'a str,
    /// Eight hexadecimal digits, unique to the run: part of the names of what it makes, so that two runs on
    /// one host never meet.
    pub run_tag: &'a str,
    /// Offers of what is under it, by the names that its kind gives to its inputs ([`crate::Kind::inputs`]).
    pub inputs: &'a BTreeMap<String, Offer>,
}

impl<'a> Place<'a> {
    /// Returns path and size in bytes of the block device at this input of the layer; an empty path and 0 where there is none,
    /// which the experiment has refused before.
    pub fn block(&self, input: &str) -> (&'a str, u64) {
        self.inputs.get(input).map_or(("", 0), |offer| (offer.path(), offer.bytes()))
    }

    /// Returns the name of the layer in objects that it makes on the machine: `fathom_<tag>_<layer>`. No two layers share it: layer names consist of
    /// letters, digits, `_`, `.` and `-`; the hyphen, which separates names in LVM, becomes `+`, which no layer name has.
    pub fn tagged(&self) -> String {
        format!("fathom_{}_{}", self.run_tag, self.name.replace('-', "+"))
    }

    /// Returns a UUID (version 8) that no other layer of any run has, made from the run's tag and the layer's name.
    pub fn uuid(&self) -> [u8; 16] {
        let named = Seed(0).derive(self.run_tag).derive(self.name).0;
        let tag = u32::from_str_radix(self.run_tag, 16).unwrap_or(named as u32);
        let mut uuid = [0; 16];
        uuid[..4].copy_from_slice(&tag.to_be_bytes());
        uuid[4..6].copy_from_slice(b"fm");
        (uuid[6], uuid[7]) = (0x80, b'r');
        uuid[8..].copy_from_slice(&named.to_be_bytes());
        uuid[8] = uuid[8] & 0x3f | 0x80;
        uuid
    }

    /// Returns the same UUID as text.
    pub fn uuid_text(&self) -> String {
        let hex: String = self.uuid().iter().map(|byte| format!("{byte:02x}")).collect();
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    /// The directory that its file system is mounted in.
    pub fn mount_directory(&self) -> String {
        format!("{MOUNTS}/{}", self.tagged())
    }
}

/// Tells whether the run with this tag gave a name, a path or a UUID: [`Place::tagged`] or [`Place::uuid`] of one of its layers.
pub fn is_of_run(text: &str, run_tag: &str) -> bool {
    text.contains(&format!("fathom_{run_tag}")) || text.contains(&format!("{run_tag}-666d-8072-"))
}

/// The directory in which file systems of runs are mounted, each in a separate directory.
pub const MOUNTS: &str = "/run";

/// The plan that raises a layer, not executed: steps, probes, and the layer's offer.
#[derive(Debug, Clone, PartialEq)]
pub struct RaisePlan {
    /// Steps that raise it, in order, each with its undo.
    pub up: Vec<Step>,
    /// Its offer to what stands on it.
    pub offer: Offer,
    /// Every block device of the layer, for diskstats.
    pub nodes: Vec<NamedDevice>,
    /// Probes that sample it.
    pub probes: Vec<Probe>,
    /// Waits until it is ready to be measured.
    pub ready: Vec<Step>,
    /// Flush and waits until its figures are final.
    pub settle: Vec<Step>,
    /// The writes of an `allocate` stage; `None` when the layer allocates nothing on first write.
    pub allocate: Option<Allocate>,
    /// Estimate of the kernel memory it takes, bytes.
    pub memory_bytes: u64,
    /// Figures of it that are computed by formulas.
    pub computed: Vec<Computed>,
}

/// Writes that make a layer allocate everything that it allocates on first write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocate {
    /// Distance from the start of one write to the start of the next, bytes.
    pub stride_bytes: u64,
    /// Tells whether the last block of the device must be written too.
    pub last_block: bool,
    /// Size of each write, bytes.
    pub block_bytes: u64,
    /// The reason why the layer has no room for these writes; `None` if it has room.
    pub refused: Option<SettingError>,
}

/// The step every cell starts with: `device` is emptied, so that no cell inherits another's data.
pub fn fresh(device: &str) -> Step {
    Step {
        about: "empty the device, so that every cell starts from the same state".into(),
        action: Action::Discard { device: device.to_owned() },
        undo: Vec::new(),
        deadline_s: 600,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_a_run_made_is_known_by_its_name_or_its_uuid() {
        let inputs = BTreeMap::new();
        let at = Place { name: "cache", run_tag: "0badcafe", inputs: &inputs };
        for name in [at.tagged(), at.uuid_text(), format!("/sys/fs/bcache/{}", at.uuid_text())] {
            assert!(is_of_run(&name, "0badcafe") && !is_of_run(&name, "feedf00d"), "{name}");
        }
        assert!(!is_of_run("0badcafe-1234-4321-8000-000000000000", "0badcafe"));
    }

    #[test]
    fn no_two_layers_share_a_name_on_the_machine_and_plain_ones_keep_theirs() {
        let inputs = BTreeMap::new();
        let tagged = |name: &str| Place { name, run_tag: "0badcafe", inputs: &inputs }.tagged();
        assert_eq!(tagged("My_vdo2"), "fathom_0badcafe_My_vdo2");
        let long = "x".repeat(40);
        let long = [format!("{long}1"), format!("{long}2")];
        let names = ["a-b", "a.b", "a_b", "ab", "a--b", "A-b", &long[0], &long[1]];
        let all: BTreeSet<_> = names.iter().map(|name| tagged(name)).collect();
        assert_eq!(all.len(), names.len(), "{all:?}");
        // A hyphen parts the names of a group and a volume.
        assert!(all.iter().all(|name| !name.contains(['-', '/'])), "{all:?}");
    }
}
