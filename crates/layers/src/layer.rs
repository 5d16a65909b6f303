//! A layer with its settings read: what it would do at a place in a stack.

use std::collections::BTreeMap;

use crate::probe::{NamedDevice, Probe};
use crate::step::{Action, Step};
use crate::{SettingError, Twin};

/// One layer with its settings read.
pub trait Layer: Send + Sync {
    /// Every setting as text, defaults included.
    fn settings(&self) -> BTreeMap<String, String>;

    /// Whether the settings can work on a device of `below_bytes`; the error names key, value and remedy.
    fn validate(&self, below_bytes: u64) -> Result<(), SettingError>;

    /// What raises it at `at`, and what it is then.
    fn raise(&self, at: &Place) -> Result<Raised, SettingError>;

    /// What brings the layer that runs at `at` to the value that its setting `key` has here, without taking it down; `None`
    /// when the setting cannot change while it runs.
    fn change(&self, _at: &Place, _key: &str) -> Option<Vec<Step>> {
        None
    }

    /// The settings that [`Layer::change`] can change.
    fn changeable(&self) -> &'static [&'static str] {
        &[]
    }

    /// Its simulated twin at `at`.
    fn twin(&self, at: &Place) -> Box<dyn Twin>;
}

/// Where a layer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The layer's name in the experiment.
    pub name: &'a str,
    /// Eight hexadecimal digits, unique to the run: part of the names of what it makes, so that two runs on
    /// one host never meet.
    pub run_tag: &'a str,
    /// Path of the device under it; may be a placeholder (`{device.data}`).
    pub below: &'a str,
    /// Size of that device, bytes.
    pub below_bytes: u64,
}

/// A layer raised on paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Raised {
    /// Steps that raise it, in order, each with its undo.
    pub up: Vec<Step>,
    /// Path of the device that it offers.
    pub device: String,
    /// Size of that device, bytes.
    pub bytes: u64,
    /// Every block device of the layer, for diskstats.
    pub nodes: Vec<NamedDevice>,
    /// What is sampled of it.
    pub probes: Vec<Probe>,
    /// Waits until it is ready to be measured.
    pub ready: Vec<Step>,
    /// Flush and waits until its figures mean what they say.
    pub settle: Vec<Step>,
    /// What an `allocate` stage has to write; `None` when the layer allocates nothing on first write.
    pub allocate: Option<Allocate>,
    /// Estimate of the kernel memory it takes, bytes.
    pub memory_bytes: u64,
}

/// Writes that make a layer allocate all it allocates on first write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocate {
    /// Distance from the start of one write to the start of the next, bytes.
    pub stride_bytes: u64,
    /// Whether the last block of the device must be written too.
    pub last_block: bool,
    /// Size of each write, bytes.
    pub block_bytes: u64,
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
