//! Twins of the two ways to make a volume: lvm2, or a table of device-mapper.

use crate::dm::{self, NodesTwin};
use crate::lvm::GroupTwin;
use crate::twin::TwinAnswer;
use crate::vdo::by_lvm;
use crate::vdo::names::{LVM_DATA_NODE, LVM_POOL_NODE, TABLE_DATA_NODE, VOLUME};
use crate::vdo::setup::Via;
use crate::vdo::volume::Volume;

/// Twin of the way in which the volume was made.
pub(super) enum Made {
    ByLvm(GroupTwin),
    /// The nodes of the layer, the volume's among them, and the path of the device that is formatted.
    ByTable {
        nodes: NodesTwin,
        volume: String,
        pool: String,
    },
}

impl Made {
    pub(super) fn of(volume: &Volume) -> Self {
        match volume.setup.via {
            Via::Lvm => {
                let nodes = [VOLUME, LVM_POOL_NODE, LVM_DATA_NODE];
                Self::ByLvm(GroupTwin::new(by_lvm::group(volume), &nodes))
            }
            Via::Table => {
                let [top, pool] = [VOLUME, TABLE_DATA_NODE].map(|what| volume.node(what));
                let nodes = NodesTwin::new(vec![top.clone(), pool.clone()]);
                Self::ByTable { nodes, volume: top, pool: dm::path(&pool) }
            }
        }
    }

    pub(super) fn is_up(&self) -> bool {
        match self {
            Self::ByLvm(group) => group.is_up(),
            Self::ByTable { nodes, volume, .. } => nodes.has(volume),
        }
    }

    pub(super) fn command(&mut self, argv: &[String]) -> TwinAnswer {
        match self {
            Self::ByLvm(group) => group.command(argv),
            Self::ByTable { nodes, .. } => nodes.command(argv),
        }
    }

    pub(super) fn remove_nodes(&mut self, gone: &[String]) -> Vec<String> {
        match self {
            Self::ByLvm(group) => group.remove_nodes(gone),
            Self::ByTable { nodes, .. } => nodes.remove_nodes(gone),
        }
    }

    pub(super) fn power_off(&mut self) {
        match self {
            // For lvm it is not an error to activate an active volume.
            Self::ByLvm(_) => {}
            Self::ByTable { nodes, .. } => nodes.power_off(),
        }
    }

    pub(super) fn leftovers(&self) -> Vec<String> {
        match self {
            Self::ByLvm(group) => group.leftovers(),
            Self::ByTable { nodes, .. } => nodes.leftovers(),
        }
    }
}
