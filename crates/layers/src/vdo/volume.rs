//! A volume at its place in a stack: its nodes, its messages, and the waits for it.

use super::names::{LVM_DATA_NODE, LVM_POOL_NODE, STATUS, TABLE, TABLE_DATA_NODE, VOLUME};
use super::setup::{Setup, Via};
use crate::dm;
use crate::layer::{Layer, Place};
use crate::machine;
use crate::probe::{NamedDevice, Source};
use crate::settings::size_text;
use crate::step::{Action, Condition, Step};

/// A volume at its place.
#[derive(Clone, Copy)]
pub(super) struct Volume<'a> {
    pub(super) setup: &'a Setup,
    pub(super) at: &'a Place<'a>,
}

impl Volume<'_> {
    /// Name of one of its device-mapper nodes.
    pub(super) fn node(&self, what: &str) -> String {
        format!("{}-{what}", self.at.tagged())
    }

    /// Path of the block device that it offers.
    pub(super) fn path(&self) -> String {
        dm::path(&self.node(VOLUME))
    }

    /// The node of the vdo target itself: it answers messages.
    pub(super) fn target(&self) -> String {
        self.node(match self.setup.via {
            Via::Lvm => LVM_POOL_NODE,
            Via::Table => VOLUME,
        })
    }

    /// Its nodes, the topmost first, by the names that their figures carry.
    pub(super) fn devices(&self) -> Vec<NamedDevice> {
        let name = self.at.name;
        let device = |name: String, what| NamedDevice { name, path: dm::path(&self.node(what)) };
        let volume = device(name.to_owned(), VOLUME);
        match self.setup.via {
            Via::Lvm => vec![
                volume,
                device(format!("{name}-pool"), LVM_POOL_NODE),
                device(format!("{name}-data"), LVM_DATA_NODE),
            ],
            Via::Table => vec![volume, device(format!("{name}-data"), TABLE_DATA_NODE)],
        }
    }

    /// A wait until what was in the journal is back in the block map and the reference counts.
    pub(super) fn recovered(&self) -> Step {
        Step {
            about: "wait until the volume has recovered".into(),
            action: Action::Wait {
                source: Source::DmStatus { node: self.target() },
                parser: STATUS.into(),
                until: Condition::Text { field: "mode".into(), is: "normal".into() },
                every_ms: 20,
            },
            undo: Vec::new(),
            deadline_s: 1800,
        }
    }

    /// A wait until the index is online: it opens in the background, and what is written before finds no duplicates.
    pub(super) fn ready(&self) -> Vec<Step> {
        if !self.setup.dedupe {
            return Vec::new();
        }
        vec![Step {
            about: "wait until the deduplication index is online".into(),
            action: Action::Wait {
                source: Source::DmStatus { node: self.target() },
                parser: STATUS.into(),
                until: Condition::Text { field: "index".into(), is: "online".into() },
                every_ms: 100,
            },
            undo: Vec::new(),
            deadline_s: 180,
        }]
    }

    /// Returns waits until the kernel's table has these settings: a command may change less of a running volume than it reports. For the largest
    /// discard the device's queue must show it, too, since dm-vdo 9.1 gives it the previous value (`by_table::change`).
    pub(super) fn runs(&self, keys: &[&str]) -> Vec<Step> {
        let settings = self.setup.settings();
        let sizes = |key: &str| match key {
            "logical_size" => Some(self.setup.target_bytes(self.at)),
            "physical_size" => Some(self.setup.pool_bytes(self.at)),
            _ => None,
        };
        let in_table = keys.iter().filter_map(|key| {
            let is = sizes(key).map(size_text).or_else(|| settings.get(*key).cloned())?;
            let table = Source::DmTable { node: self.target() };
            Some(readback(table, TABLE, key, is))
        });
        let device = dm::path(&self.target());
        let queue = Source::Queue { device, attribute: "discard_max_bytes".into() };
        let most = self.setup.max_discard.to_string();
        let of_queue =
            keys.contains(&"max_discard").then(|| readback(queue, machine::QUEUE, "value", most));
        in_table.chain(of_queue).collect()
    }

    /// The answer of the running volume to a message.
    pub(super) fn message(&self, message: &str) -> Source {
        Source::DmMessage { node: self.target(), message: message.to_owned() }
    }
}

/// Returns the wait until the kernel reports the value `is`.
fn readback(source: Source, parser: &str, field: &str, is: String) -> Step {
    let about = match &source {
        Source::Queue { attribute, .. } => format!("see that {attribute} is {is}"),
        _ => format!("see that the kernel runs {field} = {is}"),
    };
    let until = Condition::Text { field: field.to_owned(), is };
    let action = Action::Wait { source, parser: parser.to_owned(), until, every_ms: 100 };
    Step { about, action, undo: Vec::new(), deadline_s: 5 }
}
