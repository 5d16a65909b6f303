//! The stand-in of a volume group: it knows what exists, and refuses commands as lvm does, with exit code 5 and lvm's messages.

use std::collections::BTreeSet;

use super::Group;
use crate::twin::TwinAnswer;

/// A physical volume, its group, and the volumes of one layer.
pub(crate) struct GroupTwin {
    group: Group,
    /// The device under it.
    below: String,
    /// Nodes that `lvcreate` makes.
    volumes: Vec<String>,
    physical: bool,
    made: bool,
    volume: bool,
    nodes: BTreeSet<String>,
}

impl GroupTwin {
    pub(crate) fn new(group: Group, volumes: &[&str]) -> Self {
        let volumes = volumes.iter().map(|v| group.node(v)).collect();
        Self {
            below: group.devices.first().cloned().unwrap_or_default(),
            group,
            volumes,
            physical: false,
            made: false,
            volume: false,
            nodes: BTreeSet::new(),
        }
    }

    /// Tells whether the volumes are there.
    pub(crate) fn is_up(&self) -> bool {
        self.volume
    }

    /// Answers lvm's commands on this device, group or volumes.
    pub(crate) fn command(&mut self, argv: &[String]) -> TwinAnswer {
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        let ["lvm", verb, .., object] = words[..] else { return TwinAnswer::NotMine };
        let of_group = object == self.group.name
            || object.strip_prefix(&self.group.name).is_some_and(|rest| rest.starts_with('/'));
        match verb {
            "pvcreate" if object == self.below => self.pvcreate(),
            "pvremove" if object == self.below => self.pvremove(),
            "vgcreate" if argv.contains(&self.group.name) => self.vgcreate(),
            "vgremove" if of_group => self.vgremove(),
            "lvcreate" if of_group || argv.iter().any(|a| a.starts_with(&self.group.name)) => {
                self.lvcreate()
            }
            "lvremove" if of_group => self.lvremove(object),
            "lvchange" | "vgchange" if of_group && self.volume => TwinAnswer::ok(""),
            _ => TwinAnswer::NotMine,
        }
    }

    /// Removes those of `nodes` that are there.
    pub(crate) fn remove_nodes(&mut self, nodes: &[String]) -> Vec<String> {
        let there = nodes.iter().filter(|node| self.nodes.remove(*node)).cloned().collect();
        self.volume &= !self.nodes.is_empty();
        there
    }

    /// Returns what exists.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mut left: Vec<String> =
            self.nodes.iter().map(|n| format!("device-mapper node {n}")).collect();
        if self.made {
            left.push(format!("volume group {}", self.group.name));
        }
        if self.physical {
            left.push(format!("physical volume {}", self.below));
        }
        left
    }

    fn pvcreate(&mut self) -> TwinAnswer {
        let device = &self.below;
        if self.made {
            return TwinAnswer::failed(format!(
                "  Can't initialize physical volume \"{device}\" of volume group \"{}\" without -ff",
                self.group.name
            ));
        }
        self.physical = true;
        TwinAnswer::ok(format!("  Physical volume \"{device}\" successfully created.\n"))
    }

    fn pvremove(&mut self) -> TwinAnswer {
        if self.made {
            let (device, group) = (&self.below, &self.group.name);
            return TwinAnswer::failed(format!("  PV {device} is used by VG {group}."));
        }
        if !std::mem::take(&mut self.physical) {
            return TwinAnswer::failed(format!("  No PV found on device {}.", self.below));
        }
        TwinAnswer::ok(format!(
            "  Labels on physical volume \"{}\" successfully wiped.\n",
            self.below
        ))
    }

    fn vgcreate(&mut self) -> TwinAnswer {
        let group = &self.group.name;
        if std::mem::replace(&mut self.made, true) {
            return TwinAnswer::failed(format!("  A volume group called {group} already exists."));
        }
        self.physical = true;
        TwinAnswer::ok(format!("  Volume group \"{group}\" successfully created\n"))
    }

    fn vgremove(&mut self) -> TwinAnswer {
        if !self.made {
            return self.no_group();
        }
        self.made = false;
        self.volume = false;
        self.nodes.clear();
        TwinAnswer::ok(format!("  Volume group \"{}\" successfully removed\n", self.group.name))
    }

    fn lvcreate(&mut self) -> TwinAnswer {
        if !self.made {
            return self.no_group();
        }
        self.volume = true;
        self.nodes = self.volumes.iter().cloned().collect();
        TwinAnswer::ok("  Logical volume created.\n")
    }

    fn lvremove(&mut self, object: &str) -> TwinAnswer {
        if !self.made {
            return self.no_group();
        }
        if !std::mem::take(&mut self.volume) {
            return TwinAnswer::failed(format!("  Failed to find logical volume \"{object}\""));
        }
        self.nodes.clear();
        TwinAnswer::ok("  Logical volume successfully removed.\n")
    }

    fn no_group(&self) -> TwinAnswer {
        let group = &self.group.name;
        TwinAnswer::failed(format!(
            "  Volume group \"{group}\" not found\n  Cannot process volume group {group}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{Place, on_device};
    use crate::step::{Action, Step};

    fn run(twin: &mut GroupTwin, action: &Action) -> TwinAnswer {
        match action {
            Action::Command { argv, .. } => twin.command(argv),
            Action::RemoveNodes { nodes } => {
                twin.remove_nodes(nodes);
                TwinAnswer::ok("")
            }
            // The twin has no bytes that a wipe could change.
            Action::Wipe { .. } => TwinAnswer::ok(""),
            other => panic!("{other:?}"),
        }
    }

    fn stack() -> (GroupTwin, Vec<Step>) {
        let inputs = on_device("/dev/sim", 1 << 30);
        let group =
            Group::of(&Place { name: "v", run_tag: "00000001", inputs: &inputs }, &["data"]);
        let mut steps = group.up();
        steps.push(group.create("make", &[&group.name], "volume", &["volume"]));
        (GroupTwin::new(group, &["volume"]), steps)
    }

    #[test]
    fn undo_after_any_number_of_steps_leaves_nothing() {
        for made in 0..=3 {
            let (mut twin, steps) = stack();
            for step in &steps[..made] {
                assert!(matches!(run(&mut twin, &step.action), TwinAnswer::Ran { exit: 0, .. }));
            }
            assert_eq!(twin.leftovers().is_empty(), made == 0);
            for action in steps[..made].iter().rev().flat_map(|s| &s.undo) {
                run(&mut twin, action);
            }
            assert_eq!(twin.leftovers(), Vec::<String>::new());
        }
    }

    #[test]
    fn undo_in_the_wrong_order_leaves_something_behind() {
        let (mut twin, steps) = stack();
        for step in &steps {
            run(&mut twin, &step.action);
        }
        assert!(matches!(run(&mut twin, &steps[0].undo[0]), TwinAnswer::Ran { exit: 5, .. }));
        assert!(!twin.leftovers().is_empty());
    }

    #[test]
    fn commands_for_other_groups_are_not_answered() {
        let (mut twin, _) = stack();
        let argv = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(twin.command(&argv("lvm vgremove --yes other")), TwinAnswer::NotMine);
        assert_eq!(
            twin.command(&argv("lvm lvremove fathom_00000001_vx/volume")),
            TwinAnswer::NotMine
        );
        assert_eq!(twin.command(&argv("mkfs /dev/sim")), TwinAnswer::NotMine);
    }
}
