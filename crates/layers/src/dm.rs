//! Device-mapper nodes made from table lines by dmsetup, for layers that do not use lvm.

mod twin;

pub(crate) use twin::NodesTwin;

use crate::step::{Action, Step};

/// Longest time that a change of a node may take, seconds.
const DEADLINE_S: u64 = 120;
/// Bytes of a sector, in which tables count.
pub(crate) const SECTOR: u64 = 512;

/// Path of the block device of a node.
pub(crate) fn path(node: &str) -> String {
    format!("/dev/mapper/{node}")
}

/// A step that makes a node from its table; its undo removes the node.
pub(crate) fn create(about: &str, node: &str, table: &str) -> Step {
    let undo = vec![Action::RemoveNodes { nodes: vec![node.to_owned()] }];
    Step { undo, ..step(about, &["create", node, "--table", table]) }
}

/// Steps that give a running node another table. I/O to it waits until they are done.
pub(crate) fn reload(about: &str, node: &str, table: &str) -> Vec<Step> {
    vec![
        step(about, &["reload", node, "--table", table]),
        step("hold back new I/O", &["suspend", node]),
        step("let the new table take effect", &["resume", node]),
    ]
}

/// A step that takes a node down, which may come up again.
pub(crate) fn remove(about: &str, node: &str) -> Step {
    step(about, &["remove", "--retry", node])
}

/// A line of a table that maps `sectors` from `start` on to those of a device.
pub(crate) fn linear(start: u64, sectors: u64, device: &str) -> String {
    format!("{start} {sectors} linear {device} 0")
}

/// A line of a table that fails every request to `sectors`, as a missing device does.
pub(crate) fn error(sectors: u64) -> String {
    format!("0 {sectors} error")
}

fn step(about: &str, arguments: &[&str]) -> Step {
    let words = ["dmsetup"].iter().chain(arguments);
    let argv = words.map(ToString::to_string).collect();
    let action = Action::Command { argv, removes: None };
    Step { about: about.to_owned(), action, undo: Vec::new(), deadline_s: DEADLINE_S }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_removed_by_the_undo_of_the_step_that_makes_it() {
        let table = format!("{}\n{}", linear(0, 8, "/dev/a"), linear(8, 8, "/dev/b"));
        let step = create("join two devices", "both", &table);
        let shown = step.action.show();
        assert_eq!(shown, "dmsetup create both --table '0 8 linear /dev/a 0\n8 8 linear /dev/b 0'");
        assert_eq!(step.undo[0].show(), "dmsetup remove --retry both");
        assert_eq!(path("both"), "/dev/mapper/both");
    }
}
