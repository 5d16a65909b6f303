//! The devices that a run began on, and what stands on others.

use std::collections::{BTreeMap, BTreeSet};

use layers::step::Action;
use results::model::DeviceFacts;
use sys::identity::Identity;

use super::Cleaning;
use crate::RunError;

impl Cleaning {
    /// Holds the devices of the run: whatever is opened under their names later has to be what they lead to now.
    pub(super) fn hold_devices(&mut self) -> Result<(), RunError> {
        let nodes = self.devices.keys().map(|role| format!("{{device.{role}}}"));
        let nodes = nodes.filter_map(|name| self.executor.resolve(&name).ok());
        let there: Vec<_> = nodes
            .filter(|node| self.executor.identity(node).is_ok_and(|now| now.is_some()))
            .collect();
        let there: Vec<_> = there.iter().map(String::as_str).collect();
        Ok(self.executor.hold(&[], &there)?)
    }

    /// Finds devices that carry things of the run, though it did not begin on them.
    pub(super) fn find_strangers(&mut self) {
        for device in self.executor.bearers(&self.tag) {
            let now = self.executor.identity(&device).ok().flatten();
            let stranger = now.filter(|now| stranger(&self.devices, now, &self.tag));
            self.strangers.extend(stranger.map(|now| {
                format!("{device}: it carries things of the run, and is {now}, on which the run did not begin")
            }));
        }
    }

    /// Binds each device of the run that has another node by now, as after a reboot, to that node. A device that is not found keeps its old node.
    pub(super) fn follow_renamed(&mut self) {
        for (role, facts) in &self.devices {
            let (name, known) = (format!("device.{role}"), crate::resume::identity(facts));
            let Some(known) = known else { continue };
            // The line that tells the node may be lost.
            let node = self.executor.resolve(&format!("{{{name}}}")).ok();
            let is_it = |node: &String| {
                let now = self.executor.identity(node).ok().flatten();
                now.is_some_and(|now| known.difference(&now).is_none())
            };
            let moved = self.moved.entry(role.clone());
            let present =
                || node.filter(is_it).or_else(|| sys::block::nodes().into_iter().find(is_it));
            if let Some(found) = moved.or_insert_with(present) {
                self.executor.bind(&name, found);
            }
        }
    }

    /// Returns why a device that an action wipes, or whose settings it puts back, could not be looked at: it is not there, or is another one
    /// than the run began on.
    pub(super) fn unseen(&self, action: &Action) -> Option<String> {
        let (Action::Wipe { device, mark: Some(_) } | Action::Set { device: Some(device), .. }) =
            action
        else {
            return None;
        };
        let role = device.strip_prefix("{device.").and_then(|rest| rest.strip_suffix('}'))?;
        let node = self.executor.resolve(device).ok();
        let node = node.unwrap_or_else(|| format!("the device of role '{role}'"));
        let now = match self.executor.identity(&node) {
            Err(error) => return Some(format!("{node}: {error}")),
            Ok(now) => now?,
        };
        let known = self.devices.get(role).and_then(crate::resume::identity)?;
        known.difference(&now).map(|why| format!("{node}: {why}"))
    }

    /// The nodes of the run's own devices that are to be wiped.
    pub(super) fn wiped_nodes(&self) -> BTreeSet<String> {
        let actions = self.pending_undos.iter().flat_map(|(_, owed)| &owed.actions);
        let wiped = actions.filter_map(|(_, action)| match action {
            Action::Wipe { device, .. } => Some(device.clone()),
            _ => None,
        });
        wiped.filter(|node| self.is_of_run(node)).collect()
    }

    /// Tells whether the run began on this device.
    pub(super) fn is_of_run(&self, node: &str) -> bool {
        let now = self.executor.identity(node).ok().flatten();
        let known = self.devices.values().filter_map(crate::resume::identity);
        now.is_some_and(|now| known.into_iter().any(|known| known.difference(&now).is_none()))
    }
}

/// Tells whether a device is shown to be, or to stand on, something that the run with this tag did not begin on: a copy of its disk, for example,
/// carries all that the run wrote. Nothing is shown where another version stored no identity, or where a device has no lasting one.
pub(super) fn stranger(devices: &BTreeMap<String, DeviceFacts>, now: &Identity, tag: &str) -> bool {
    let known: Option<Vec<_>> = devices.values().map(crate::resume::identity).collect();
    known.is_some_and(|known| stands_elsewhere(now, &known, tag))
}

fn stands_elsewhere(now: &Identity, known: &[Identity], tag: &str) -> bool {
    if known.iter().any(|device| !device.is_other(now)) {
        return false;
    }
    match now {
        Identity::Loop { on, .. } | Identity::Partition { on, .. } => {
            stands_elsewhere(on, known, tag)
        }
        Identity::Mapped { on, .. } => on.iter().any(|on| stands_elsewhere(on, known, tag)),
        // A file of the run lies in a file system of the run.
        Identity::File(file) => file.path.as_ref().is_some_and(|path| !path.contains(tag)),
        Identity::Disk(_) => true,
        Identity::Passing { .. } => false,
    }
}
