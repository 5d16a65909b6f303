//! Texts about a machine's block devices and mounts, as they were read.

use std::collections::BTreeMap;

use layers::standing::StandingMachine;

use crate::mount::Mount;

/// A text, or why it could not be read.
pub type Text = Result<String, String>;

/// One block device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Block {
    /// The kernel's name (`dm-3`).
    pub name: String,
    /// Major and minor number (`253:3`).
    pub number: String,
    /// The device mapper's name.
    pub mapped: Option<String>,
    /// Its size, bytes.
    pub bytes: Option<u64>,
    /// The kernel's names of the devices that it is made of, or the directory of the file system that its file lies on.
    pub below: Vec<String>,
    /// The texts that were read about it, by name (`table`, `queue/rotational`).
    pub texts: BTreeMap<String, Text>,
}

impl Block {
    /// A text that could be read, without the end of its line.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.texts.get(key)?.as_ref().ok().map(|text| text.trim_end())
    }
}

/// All that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// The machine or archive that was read, in words.
    pub of: String,
    /// Its block devices.
    pub blocks: Vec<Block>,
    /// Its mounts.
    pub mounts: Vec<Mount>,
    /// The machine.
    pub machine: StandingMachine,
    /// Everything that could not be read at all, and why.
    pub missing: Vec<String>,
}

/// The node of a stack that was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Top {
    /// A block device, by the kernel's name: what it stands on, and what stands on it.
    Device(String),
    /// The file system that is mounted in this directory: what it stands on.
    Mount(String),
    /// The whole machine.
    All,
}
