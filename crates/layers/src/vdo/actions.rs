//! What a VDO volume can do while it stands: come up anew, grow, open, close or empty its index.

use toml::Table;

use super::names::{STATUS, TAIL};
use super::setup::Setup;
use super::volume::Volume;
use super::{keys, raise, validity};
use crate::key::Key;
use crate::kind::ActionKind;
use crate::layer::{Acted, Place};
use crate::probe::Source;
use crate::settings::SettingError;
use crate::step::{Action, Condition, Step};

/// Settings that a volume takes up when it is brought up anew.
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

const fn index(name: &'static str, about: &'static str) -> ActionKind {
    ActionKind { name, about, keys: &[], alone: false, part: None }
}

pub(super) const ACTIONS: &[ActionKind] = &[
    ActionKind {
        name: "restart",
        about: "Takes the volume down and brings it up again, with other threads or caches if they are given; data and index stay, counters begin anew.",
        keys: RESTART,
        alone: true,
        part: None,
    },
    ActionKind {
        name: "crash",
        about: "Lets the device fail, takes the volume down, lets the device answer again, and brings the volume up: it recovers what its journal holds (via = \"table\").",
        keys: &[],
        alone: true,
        part: None,
    },
    ActionKind {
        name: "grow",
        about: "Makes the volume larger (logical_size), or the pool (physical_size), while it is in use.",
        keys: GROW,
        alone: false,
        part: None,
    },
    index(
        "index-close",
        "Closes the deduplication index: what it knows stays on disk, and nothing is looked up.",
    ),
    index("index-enable", "Opens the deduplication index again with what it knew."),
    index(
        "index-create",
        "Replaces the deduplication index with an empty one, as if it had been lost.",
    ),
    index("index-disable", "Stops looking for duplicates; the index stays open."),
];

/// The steps of an action.
pub(super) fn act(
    setup: &Setup,
    at: &Place,
    action: &str,
    keys: &Table,
) -> Result<Acted, SettingError> {
    validity::on_devices(setup, at)?;
    let volume = Volume { setup, at };
    match action {
        "restart" => Ok(again(&volume, volume.restart(!keys.is_empty()))),
        "crash" => {
            let steps = volume.crash().ok_or_else(|| {
                SettingError::new(
                    "action",
                    "the action 'crash' cannot take away the device under a pool of lvm2",
                    "add via = \"table\" to the layer",
                )
            })?;
            Ok(again(&volume, steps))
        }
        "grow" => grow(&volume, keys),
        _ => Ok(Acted { steps: index_steps(action, &volume), bytes: None }),
    }
}

/// Steps that end with the volume up anew, until it is as ready as it was.
fn again(volume: &Volume, mut steps: Vec<Step>) -> Acted {
    steps.push(volume.recovered());
    // The instance has another number now, and its threads have other names.
    steps.extend(raise::facts(volume));
    steps.extend(volume.ready());
    Acted { steps, bytes: None }
}

fn grow(volume: &Volume, keys: &Table) -> Result<Acted, SettingError> {
    let [logical, physical] = ["logical_size", "physical_size"].map(|key| keys.contains_key(key));
    if !logical && !physical {
        return Err(SettingError::new(
            "action",
            "the action 'grow' does not say to what size",
            "add logical_size = \"...\", or physical_size = \"...\"",
        ));
    }
    if physical && volume.at.inputs.contains_key(TAIL) {
        return Err(SettingError::new(
            "physical_size",
            "a pool with its end on a tail cannot grow: what is added comes after the tail",
            "grow only logical_size, or let the volume stand without a tail",
        ));
    }
    let mut steps = volume.grow(logical, physical);
    // The table says another size now.
    steps.extend(raise::facts(volume));
    let bytes = logical.then(|| volume.setup.volume_bytes(volume.at));
    Ok(Acted { steps, bytes })
}

/// A message to the running volume, and the state of the index that it leads to.
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
        step(about.to_owned(), Action::Command { argv, may_fail: false }),
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
        let setup = Setup::read(&settings.parse().unwrap()).unwrap();
        let acted = act(&setup, &at, action, &keys.parse().unwrap())?;
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
        assert_eq!(changed.len(), plain.len() + 1);
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
    fn growth_says_to_what_size_and_a_message_waits_for_what_it_leads_to() {
        let grown = shown("logical_size = \"9G\"", "grow", "logical_size = \"9G\"").unwrap();
        assert_eq!(grown[0], "lvm lvextend --yes --size 9663676416b fathom_0badcafe_vdo/volume");
        assert!(grown[2].starts_with("read vdo from dmsetup table"), "{grown:?}");
        assert!(shown("", "grow", "").unwrap_err().help.contains("logical_size"));
        let closed = shown("", "index-close", "").unwrap();
        assert_eq!(closed[0], "dmsetup message fathom_0badcafe_vdo-pool-vpool 0 index-close");
        assert!(closed[1].contains("index is closed"), "{closed:?}");
    }
}
