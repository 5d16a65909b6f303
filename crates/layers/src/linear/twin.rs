//! The stand-in of a plain logical volume.

use results::model::AskedContent;

use crate::lvm::GroupTwin;
use crate::probe::Source;
use crate::twin::{Twin, TwinAnswer, Writes};

/// A volume group with one volume.
pub(super) struct LinearTwin(GroupTwin);

impl LinearTwin {
    pub(super) fn new(group: GroupTwin) -> Self {
        Self(group)
    }
}

impl Twin for LinearTwin {
    fn command(&mut self, argv: &[String]) -> TwinAnswer {
        self.0.command(argv)
    }

    fn read(&mut self, _source: &Source) -> Option<String> {
        None
    }

    fn remove_nodes(&mut self, nodes: &[String]) -> Vec<String> {
        self.0.remove_nodes(nodes)
    }

    fn wrote(&mut self, _writes: &Writes, _content: &AskedContent) {}

    fn leftovers(&self) -> Vec<String> {
        self.0.leftovers()
    }
}
