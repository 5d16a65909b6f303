//! Actions of a cached volume while it stands.

use super::names::{CACHE, ORIGIN, VOLUME};
use super::raise;
use super::setup::Setup;
use crate::kind::{ActionKind, PartEffect};
use crate::layer::{ActionPlan, Place};
use crate::lvm::Group;
use crate::settings::SettingError;

/// The part that a split takes away.
pub(super) const CACHED: &str = "cache";

pub(super) const ACTIONS: &[ActionKind] = &[
    ActionKind {
        name: "restart",
        about: "Takes the volume down and brings it up again; data and cached blocks stay.",
        keys: &[],
        alone: true,
        loses: false,
        part: Some(PartEffect::Needs(CACHED)),
    },
    ActionKind {
        name: "split",
        about: "Writes dirty blocks back and takes the cache away; the volume stays up without one.",
        keys: &[],
        alone: false,
        loses: false,
        part: Some(PartEffect::Takes(CACHED)),
    },
    ActionKind {
        name: "attach",
        about: "Puts an empty cache in front of the volume again, after a split.",
        keys: &[],
        alone: false,
        loses: false,
        part: Some(PartEffect::Brings(CACHED)),
    },
];

/// The steps of an action.
pub(super) fn act(setup: &Setup, at: &Place, action: &str) -> Result<ActionPlan, SettingError> {
    let group = Group::of(at, &[ORIGIN, CACHE]);
    let steps = match action {
        "restart" => group.restart(VOLUME),
        "split" => vec![group.split("take the cache away from the volume", VOLUME)],
        // What removes it is owed already, since it was first attached.
        _ => vec![crate::step::Step { undo: Vec::new(), ..raise::attach(setup, &group) }],
    };
    Ok(ActionPlan { steps, bytes: None })
}
