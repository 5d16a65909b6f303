//! The stand-in of device-mapper nodes: it knows which nodes exist, and refuses commands as dmsetup does.

use std::collections::BTreeSet;

use crate::twin::TwinAnswer;

/// The nodes of one layer.
pub(crate) struct NodesTwin {
    known: Vec<String>,
    there: BTreeSet<String>,
}

impl NodesTwin {
    /// Creates the twin of nodes of these names; no node exists yet.
    pub(crate) fn new(known: Vec<String>) -> Self {
        Self { known, there: BTreeSet::new() }
    }

    /// Tells whether a node is there.
    pub(crate) fn has(&self, node: &str) -> bool {
        self.there.contains(node)
    }

    /// Answers dmsetup's commands on these nodes.
    pub(crate) fn command(&mut self, argv: &[String]) -> TwinAnswer {
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        let ["dmsetup", verb, rest @ ..] = &words[..] else { return TwinAnswer::NotMine };
        let is_known = |word: &&&str| self.known.iter().any(|node| node == **word);
        let Some(node) = rest.iter().find(is_known).map(ToString::to_string) else {
            return TwinAnswer::NotMine;
        };
        let there = self.there.contains(&node);
        match (*verb, there) {
            ("create", true) => failed(verb, &node, "Device or resource busy"),
            ("create", false) => {
                self.there.insert(node);
                TwinAnswer::ok("")
            }
            (_, false) => failed(verb, &node, "No such device or address"),
            ("remove", true) => {
                self.there.remove(&node);
                TwinAnswer::ok("")
            }
            (_, true) => TwinAnswer::ok(""),
        }
    }

    /// Forgets all nodes, which exist only in a machine's memory.
    pub(crate) fn power_off(&mut self) {
        self.there.clear();
    }

    /// Removes those of `nodes` that are there.
    pub(crate) fn remove_nodes(&mut self, nodes: &[String]) -> Vec<String> {
        nodes.iter().filter(|node| self.there.remove(*node)).cloned().collect()
    }

    /// Returns what exists.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        self.there.iter().map(|node| format!("device-mapper node {node}")).collect()
    }
}

/// Returns dmsetup's answer when the kernel refuses.
fn failed(verb: &str, node: &str, why: &str) -> TwinAnswer {
    let stderr = format!("device-mapper: {verb} ioctl on {node}  failed: {why}\nCommand failed.");
    TwinAnswer::Ran { exit: 1, stdout: String::new(), stderr }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(twin: &mut NodesTwin, command: &str) -> TwinAnswer {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        twin.command(&argv)
    }

    #[test]
    fn a_node_is_made_once_changed_and_removed() {
        let mut twin = NodesTwin::new(vec!["v".to_owned()]);
        let refused = |answer| matches!(answer, TwinAnswer::Ran { exit: 1, .. });
        assert!(refused(ask(&mut twin, "dmsetup suspend v")));
        assert_eq!(ask(&mut twin, "dmsetup create v --table x"), TwinAnswer::ok(""));
        assert!(refused(ask(&mut twin, "dmsetup create v --table x")) && twin.has("v"));
        assert_eq!(ask(&mut twin, "dmsetup reload v --table x"), TwinAnswer::ok(""));
        assert_eq!(twin.leftovers(), ["device-mapper node v"]);
        assert_eq!(ask(&mut twin, "dmsetup remove --retry v"), TwinAnswer::ok(""));
        assert!(!twin.has("v") && twin.leftovers().is_empty());
        assert_eq!(ask(&mut twin, "dmsetup create other"), TwinAnswer::NotMine);
        assert_eq!(ask(&mut twin, "lvm vgs"), TwinAnswer::NotMine);
    }
}
