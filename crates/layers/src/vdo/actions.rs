//! Actions on a running VDO volume: restart, crash, grow; open, close, disable or replace its index.

use super::names::STATUS;
use super::setup::Setup;
use super::volume::Volume;
use super::{fits, growth, keys, raise};
use crate::key::Key;
use crate::kind::{ActionKind, PartEffect};
use crate::layer::{ActionPlan, ActionRequest, Place, Restart};
use crate::probe::Source;
use crate::settings::SettingError;
use crate::step::{Action, Condition, Step};

/// Settings that a restart can change.
const RESTART: &[Key] = &keys::named([
    "block_map_cache",
    "block_map_period",
    "ack_threads",
    "bio_threads",
    "bio_rotation",
    "cpu_threads",
    "hash_zone_threads",
    "logical_threads",
    "physical_threads",
    "max_discard",
]);
const GROW: &[Key] = &keys::named(["logical_size", "physical_size"]);

/// Name of the part that the index actions remove and bring back: the deduplication index. Suspending the volume, as a reload of its table or
/// a restart does, opens the index again.
pub(super) const INDEX: &str = "index";

const fn index(name: &'static str, part: PartEffect, about: &'static str) -> ActionKind {
    ActionKind { name, about, keys: &[], alone: false, loses: false, part: Some(part) }
}

pub(super) const ACTIONS: &[ActionKind] = &[
    ActionKind {
        name: "restart",
        about: "Takes the volume down and brings it up again, with other threads or caches if they are given; data and index stay, counters are reset.",
        keys: RESTART,
        alone: true,
        loses: false,
        part: Some(PartEffect::Renews(INDEX)),
    },
    ActionKind {
        name: "crash",
        about: "Lets the device fail, takes the volume down, lets the device answer again, and brings the volume up: it recovers what its journal holds (via = \"table\").",
        keys: &[],
        alone: true,
        loses: true,
        part: Some(PartEffect::Renews(INDEX)),
    },
    ActionKind {
        name: "grow",
        about: "Makes the volume larger (logical_size), or the pool (physical_size), while it is in use.",
        keys: GROW,
        alone: false,
        loses: false,
        part: Some(PartEffect::Needs(INDEX)),
    },
    index(
        "index-close",
        PartEffect::Takes(INDEX),
        "Closes the deduplication index: what it knows stays on disk, and nothing is looked up.",
    ),
    index(
        "index-enable",
        PartEffect::Brings(INDEX),
        "Opens the deduplication index again with what it knew.",
    ),
    index(
        "index-create",
        PartEffect::Needs(INDEX),
        "Replaces the deduplication index with an empty one, as if it had been lost.",
    ),
    index(
        "index-disable",
        PartEffect::Takes(INDEX),
        "Stops looking for duplicates; the index stays open.",
    ),
];

/// Returns the steps of an action.
pub(super) fn act(
    setup: &Setup,
    at: &Place,
    request: &ActionRequest,
) -> Result<ActionPlan, SettingError> {
    let volume = Volume { setup, at };
    match request.action {
        "restart" => {
            fits::on_devices(setup, at)?;
            let keys: Vec<&str> = request.keys.keys().map(String::as_str).collect();
            let mut acted = until_ready(&volume, volume.restart(!keys.is_empty()));
            acted.steps.extend(volume.runs(&keys));
            Ok(acted)
        }
        "crash" => {
            let steps = volume.crash().ok_or_else(|| {
                SettingError::new(
                    "action",
                    "the action 'crash' cannot remove the device below a pool of lvm2",
                    "add via = \"table\" to the layer",
                )
            })?;
            Ok(until_ready(&volume, steps))
        }
        "grow" => growth::grow(&volume, request),
        action if !setup.dedupe => Err(SettingError::new(
            "action",
            format!(
                "the action '{action}' needs an open index, but dedupe = false keeps it closed"
            ),
            "write dedupe = true, or set it before; or leave the action out",
        )),
        action => Ok(ActionPlan { steps: index_steps(action, &volume), bytes: None }),
    }
}

/// Returns the steps that take the volume down, and the steps that bring it up until it is as ready as before.
pub(super) fn restart_all(volume: &Volume) -> Restart {
    let whole = volume.restart_all();
    Restart { up: until_ready(volume, whole.up).steps, renews: Some(INDEX), ..whole }
}

/// Adds to the steps that bring the volume up those that wait until it is as ready as before.
fn until_ready(volume: &Volume, mut steps: Vec<Step>) -> ActionPlan {
    steps.push(volume.recovered());
    // A restarted volume has a new instance number, and its threads have new names.
    steps.extend(raise::facts_anew(volume));
    steps.extend(volume.ready());
    ActionPlan { steps, bytes: None }
}

/// Returns the steps that send a message to the running volume and wait for the resulting state of its index.
fn index_steps(action: &str, volume: &Volume) -> Vec<Step> {
    let node = volume.target();
    let (about, state) = match action {
        "index-close" => ("close the deduplication index", "closed"),
        "index-create" => ("replace the deduplication index with an empty one", "online"),
        "index-disable" => ("stop looking for duplicates", "offline"),
        _ => ("open the deduplication index", "online"),
    };
    let argv = ["dmsetup", "message", &node, "0", action].map(str::to_owned).to_vec();
    let step = |about: String, action| Step { about, action, undo: Vec::new(), deadline_s: 180 };
    let until = Condition::Text { field: "index".into(), is: state.into() };
    let wait = Action::Wait {
        source: Source::DmStatus { node },
        parser: STATUS.into(),
        until,
        every_ms: 100,
    };
    vec![
        step(about.to_owned(), Action::Command { argv, removes: None }),
        step(format!("wait until the index is {state}"), wait),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    fn shown(settings: &str, action: &str, keys: &str) -> Result<Vec<String>, SettingError> {
        let inputs = on_device("/dev/x", 7 << 30);
        let at = Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs };
        let before = settings.parse().unwrap();
        let setup = Setup::read(&before).unwrap();
        let request = ActionRequest { action, keys: &keys.parse().unwrap(), before: &before };
        let acted = act(&setup, &at, &request)?;
        Ok(acted.steps.iter().map(|step| step.action.show()).collect())
    }

    #[test]
    fn a_restart_changes_settings_while_the_volume_is_down_and_waits_for_its_index() {
        let plain = shown("", "restart", "").unwrap();
        assert_eq!(plain[0], "lvm lvchange --yes --activate n fathom_0badcafe_vdo/volume");
        assert_eq!(plain[1], "lvm lvchange --yes --activate y fathom_0badcafe_vdo/volume");
        assert!(plain.last().unwrap().contains("index is online"), "{plain:?}");
        let changed = shown("cpu_threads = 3", "restart", "cpu_threads = 3").unwrap();
        assert!(changed[1].contains("cpu_threads=3"), "{changed:?}");
        assert!(!changed[1].contains("slab_size"), "lvm refuses what is formatted: {changed:?}");
        assert!(
            changed.last().unwrap().contains("cpu_threads is 3 in dmsetup table"),
            "{changed:?}"
        );
        assert_eq!(changed.len(), plain.len() + 2);
    }

    #[test]
    fn a_crash_takes_the_device_away_while_the_volume_goes_down() {
        let crash = shown("via = \"table\"", "crash", "").unwrap();
        let at = |words: &str| crash.iter().position(|step| step.contains(words)).expect(words);
        let (fails, down) = (at("--table '0 14680064 error'"), at("dmsetup remove --retry"));
        let (answers, up) =
            (at("linear /dev/x 0"), at("dmsetup create fathom_0badcafe_vdo-volume"));
        assert!(fails < down && down < answers && answers < up && up < at("mode is normal"));
        assert!(shown("", "crash", "").unwrap_err().help.contains("via = \"table\""));
    }

    #[test]
    fn a_message_to_the_index_waits_for_what_it_leads_to() {
        let closed = shown("", "index-close", "").unwrap();
        assert_eq!(closed[0], "dmsetup message fathom_0badcafe_vdo-pool-vpool 0 index-close");
        assert!(closed[1].contains("index is closed"), "{closed:?}");
    }

    /// So the kernel answered (target v9.1.0): with deduplication off, `index-create` and `index-disable` lead to "offline".
    #[test]
    fn an_index_that_deduplication_keeps_closed_takes_no_message() {
        for action in ["index-close", "index-create", "index-disable", "index-enable"] {
            let error = shown("dedupe = false", action, "").unwrap_err();
            assert!(
                error.message.contains(action) && error.help.contains("dedupe = true"),
                "{error:?}"
            );
        }
    }
}
