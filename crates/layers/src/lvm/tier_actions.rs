//! Actions of a volume with a cache while it is up.

use super::Group;
use super::tier::VOLUME;
use crate::kind::{ActionKind, PartEffect};
use crate::layer::ActionPlan;
use crate::step::Step;

/// The part that a split removes.
pub(crate) const CACHED: &str = "cache";

/// Every action.
pub(crate) const ACTIONS: &[ActionKind] = &[
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
        about: "Writes dirty blocks back and removes the cache; the volume stays up without one.",
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
    ActionKind {
        name: "empty",
        about: "Writes dirty blocks back and replaces the cache with an empty one.",
        keys: &[],
        alone: false,
        loses: false,
        part: Some(PartEffect::Needs(CACHED)),
    },
];

/// The steps of an action; `attach` puts the cache in front of the volume.
pub(crate) fn act(group: &Group, action: &str, attach: impl Fn() -> Vec<Step>) -> ActionPlan {
    let split = || group.split("remove the cache of the volume", VOLUME);
    // The undo that removes the cache is due already, since it was first attached.
    let again = || attach().into_iter().map(|step| Step { undo: Vec::new(), ..step }).collect();
    let steps: Vec<Step> = match action {
        "restart" => group.restart(VOLUME),
        "split" => vec![split()],
        "empty" => [split()].into_iter().chain(again()).collect(),
        _ => again(),
    };
    ActionPlan { steps, bytes: None }
}
