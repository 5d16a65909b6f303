//! Steps that make a volume, change it and take it down, whichever way it is made.

use super::setup::Via;
use super::volume::Volume;
use super::{by_lvm, by_table};
use crate::layer::Restart;
use crate::step::Step;

impl Volume<'_> {
    /// Steps that make it.
    pub(super) fn make(&self) -> Vec<Step> {
        match self.setup.via {
            Via::Lvm => by_lvm::make(self),
            Via::Table => by_table::make(self),
        }
    }

    /// Steps that change the setting `key` of the running volume; `None` for a setting that cannot change while it runs.
    pub(super) fn change(&self, key: &str) -> Option<Vec<Step>> {
        let mut steps = match self.setup.via {
            Via::Lvm => by_lvm::change(self, key)?,
            Via::Table => by_table::change(self, key)?,
        };
        steps.extend(self.runs(&[key]));
        // Every suspension of the volume reopens its index.
        steps.extend(self.ready());
        Some(steps)
    }

    /// Steps that take it down and bring it up again, with other settings if they have `changed`.
    pub(super) fn restart(&self, changed: bool) -> Vec<Step> {
        match self.setup.via {
            Via::Lvm => by_lvm::restart(self, changed),
            Via::Table => by_table::restart(self).into(),
        }
    }

    /// Steps that take down all parts of it, and steps that bring them up again, without the waits that follow.
    pub(super) fn restart_all(&self) -> Restart {
        match self.setup.via {
            Via::Lvm => by_lvm::group(self).again(),
            Via::Table => by_table::restart_all(self),
        }
    }

    /// Steps that grow the running volume, or the pool below it, to the size that is set.
    pub(super) fn grow(&self, logical: bool, physical: bool) -> Vec<Step> {
        match self.setup.via {
            Via::Lvm => by_lvm::grow(self, logical, physical),
            Via::Table => by_table::grow(self, physical),
        }
    }

    /// Steps that let it crash and come up again; `None` for lvm, which keeps the device of its pool to itself.
    pub(super) fn crash(&self) -> Option<Vec<Step>> {
        match self.setup.via {
            Via::Lvm => None,
            Via::Table => Some(by_table::crash(self)),
        }
    }
}
