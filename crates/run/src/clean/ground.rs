//! The devices of the run that is cleaned up, found and held by their identities.

use std::collections::BTreeSet;

use layers::step::Action;
use sys::identity::Identity;

use super::Cleaning;
use super::stranger::is_stranger;
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
            let stranger = now.filter(|now| is_stranger(&self.devices, now, &self.tag));
            self.strangers.extend(stranger.map(|now| {
                format!("{device}: it carries things of the run, and is {now}, on which the run did not begin")
            }));
        }
    }

    /// Binds each device of the run to its node, to another one than the transcript tells if it has another by now, as after a reboot. A device that
    /// is not found keeps its old node.
    pub(super) fn follow_renamed(&mut self) {
        for (name, node) in &self.nodes {
            if self.executor.resolve(&format!("{{{name}}}")).is_err() {
                self.executor.bind(name, node);
            }
        }
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

    /// Tells whether a node leads to another device than the run began on, as far as that is shown.
    pub(super) fn is_other(&self, node: &str) -> bool {
        let Ok(Some(now)) = self.executor.identity(node) else { return false };
        is_stranger(&self.devices, &now, &self.tag) || self.role_differs(node, &now).is_some()
    }

    /// Returns why the device at the node of one of the roles is shown not to be what the run began on.
    fn role_differs(&self, node: &str, now: &Identity) -> Option<String> {
        let is_at = |role: &str| {
            let at = self.executor.resolve(&format!("{{device.{role}}}"));
            at.is_ok_and(|at| at == node)
        };
        let (_, facts) = self.devices.iter().find(|(role, _)| is_at(role))?;
        let known = crate::resume::identity(facts)?;
        if known.is_other(now) {
            return known.difference(now);
        }
        let size = std::fs::File::open(node).and_then(|file| sys::block::size_bytes(&file)).ok()?;
        (size.0 != facts.bytes)
            .then(|| format!("it has {} bytes, and had {} when the run began", size.0, facts.bytes))
    }

    /// Returns why a device that an action wipes, or whose settings it puts back, could not be looked at: it is not there, is another one than the
    /// run began on, or another run has claimed it.
    pub(super) fn unseen(&self, action: &Action) -> Option<String> {
        let (Action::Wipe { device, mark: Some(_) } | Action::Set { device: Some(device), .. }) =
            action
        else {
            return None;
        };
        let role = device.strip_prefix("{device.").and_then(|rest| rest.strip_suffix('}'))?;
        let Ok(node) = self.executor.resolve(device) else {
            return Some(format!(
                "the device of role '{role}': no line of the transcript names it"
            ));
        };
        let now = match self.executor.identity(&node) {
            Err(error) => return Some(format!("{node}: {error}")),
            Ok(now) => now?,
        };
        if self.executor.is_claimed(&node) {
            return Some(format!("{node}: another run has claimed it; clean when that has ended"));
        }
        let known = self.devices.get(role).and_then(crate::resume::identity)?;
        let differs = known.difference(&now).or_else(|| self.role_differs(&node, &now));
        differs.map(|why| format!("{node}: {why}"))
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
