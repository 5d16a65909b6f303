//! A cached device as a layer: its implementation of [`Layer`].

use std::collections::BTreeMap;

use super::names::{CACHE, DEVICE, ORIGIN, device};
use super::raise::{self, CHANGEABLE, says, write};
use super::setup::Setup;
use crate::caching;
use crate::kind::{ActionKind, PartEffect, State, StateMethod};
use crate::layer::{ActionPlan, ActionRequest, CacheRoom, Layer, Place, Proof, RaisePlan};
use crate::probe::Source;
use crate::settings::{SettingError, size_text};
use crate::step::{Action, Condition, Step};

/// The part that `detach` removes.
pub(super) const CACHED: &str = "cache";

const fn action(name: &'static str, about: &'static str, part: PartEffect) -> ActionKind {
    ActionKind { name, about, keys: &[], alone: false, loses: false, part: Some(part) }
}

pub(super) const ACTIONS: &[ActionKind] = &[
    action(
        "detach",
        "Writes dirty blocks back and detaches the cache; the device stays up without one.",
        PartEffect::Takes(CACHED),
    ),
    action(
        "attach",
        "Puts the cache in front of the device again, after a detach; the cache then holds none of the device's data.",
        PartEffect::Brings(CACHED),
    ),
];

/// States that it can be brought to. No action empties it: a cache that is attached again still counts as full of what it held before.
pub(super) const STATES: &[State] = &caching::states(StateMethod::Nothing);
/// Length of a round of warming, seconds. Every miss goes into the cache at once: a short time shows whether it still warms up.
const PERIOD_S: u64 = 10;

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        let entries = [
            ("mode", self.mode.clone()),
            ("sequential_cutoff", size_text(self.sequential_cutoff)),
            ("congested_read_threshold_us", self.congested_read_us.to_string()),
            ("congested_write_threshold_us", self.congested_write_us.to_string()),
            ("writeback_percent", self.writeback_percent.to_string()),
            ("bucket_size", size_text(self.bucket_size)),
            ("block_size", size_text(self.block_size)),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        self.validate(at)?;
        Ok(raise::raise(self, at))
    }

    fn change(&self, at: &Place, key: &str) -> Option<Vec<Step>> {
        self.attribute(at, key)
    }

    fn changeable(&self) -> &'static [&'static str] {
        CHANGEABLE
    }

    fn proof(&self, at: &Place, state: &str) -> Proof {
        caching::proof(at, state, PERIOD_S)
    }

    fn holds(&self, at: &Place) -> Option<CacheRoom> {
        let bytes = self.buckets(at) * self.bucket_size;
        Some(CacheRoom { origin: ORIGIN, bytes, chunk_bytes: self.block_size, finest_bytes: None })
    }

    fn act(&self, at: &Place, request: &ActionRequest) -> Result<ActionPlan, SettingError> {
        let node = device(at);
        let step = |about: &str, action| Step {
            about: about.to_owned(),
            action,
            undo: Vec::new(),
            deadline_s: 120,
        };
        let state = raise::state(at);
        let steps = match request.action {
            "detach" => vec![
                step("detach the cache", write(format!("{node}/detach"), "1", None)),
                says("wait until dirty blocks are written back", state, "no cache"),
                // The state reads `no cache` before the cached device has released the cache.
                step("wait until nothing uses the cache", let_go(at)),
            ],
            _ => {
                let attach = write(format!("{node}/attach"), &at.uuid_text(), None);
                let attach = step("put the cache in front of the device", attach);
                let there = says("wait until it is there", state, "clean");
                [attach, there].into_iter().chain(self.attribute_steps(at)).collect()
            }
        };
        Ok(ActionPlan { steps, bytes: None })
    }
}

/// Returns the wait until no cached device uses the cache.
fn let_go(at: &Place) -> Action {
    Action::Wait {
        source: Source::Holders { device: at.block(CACHE).0.to_owned() },
        parser: DEVICE.to_owned(),
        until: Condition::Text { field: "any".into(), is: "none".into() },
        every_ms: 20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Offer;

    const UUID: &str = "0badcafe-666d-8072-";

    fn raised(text: &str, cache: u64) -> Result<RaisePlan, SettingError> {
        let block = |device: &str, bytes| Offer::Block { device: device.into(), bytes };
        let inputs = BTreeMap::from([
            (ORIGIN.to_owned(), block("{device.slow}", 2 << 30)),
            (CACHE.to_owned(), block("{device.fast}", cache)),
        ]);
        let at = Place { name: "cache", run_tag: "0badcafe", inputs: &inputs };
        Setup::read(&text.parse().unwrap())?.raise(&at)
    }

    #[test]
    fn each_rule_names_its_key_its_value_and_a_remedy() {
        for (text, cache, key, value, remedy) in [
            ("bucket_size = \"96k\"", 1 << 30, "bucket_size", "96k", "from \"4k\" to \"8M\""),
            ("block_size = \"8k\"", 1 << 30, "block_size", "8k", "from \"512\" to \"4k\""),
            ("mode = \"passthrough\"", 1 << 30, "mode", "passthrough", "writearound"),
            ("writeback_percent = 41", 1 << 30, "writeback_percent", "41", "0 to 40"),
            ("", 256 << 20, "bucket_size", "512 buckets", "bucket_size = \"256k\""),
            ("", 1 << 20, "bucket_size", "2 buckets", "take a larger cache device"),
        ] {
            let error = raised(text, cache).expect_err(text);
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.message.contains(value), "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
        assert!(raised("bucket_size = \"256k\"", 256 << 20).is_ok());
    }

    #[test]
    fn the_set_is_known_by_its_uuid_and_goes_after_the_device_that_the_kernel_named() {
        let raised = raised("sequential_cutoff = 0\nmode = \"writeback\"", 1 << 30).unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        assert!(shown[0].starts_with(&format!("make-bcache --cset-uuid {UUID}")), "{shown:?}");
        assert!(shown[0].ends_with(" -C {device.fast} -B {device.slow}"), "{shown:?}");
        let cutoff = "echo 0 > /sys/block/{cache.node}/bcache/sequential_cutoff";
        let at = shown.iter().position(|step| step == cutoff).unwrap();
        assert!(shown[at + 1].starts_with("wait until value is 0.0k in "), "{shown:?}");
        assert!(!shown.iter().any(|step| step.contains("writeback_percent")), "its default");
        let undo: Vec<_> = raised.up.iter().rev().flat_map(|step| &step.undo).collect();
        let undo: Vec<_> = undo.into_iter().map(Action::show).collect();
        let at = |text: &str| undo.iter().position(|action| action.contains(text)).unwrap();
        let device = at("echo 1 > /sys/block/{cache.node}/bcache/stop");
        let set = at(&format!("echo 1 > /sys/fs/bcache/{UUID}"));
        assert!(device < set && set < at("wipe"), "{undo:?}");
        assert_eq!(raised.offer.path(), "/dev/{cache.node}");
        assert_eq!(raised.offer.bytes(), (2 << 30) - 8192);
    }

    #[test]
    fn it_is_looked_whether_the_cache_is_attached_and_made_as_asked() {
        let shown = |text: &str| -> String {
            let up = raised(text, 1 << 30).unwrap().up;
            up.iter().map(|step| format!("{}\n", step.action.show())).collect()
        };
        let attached = "wait until value is clean in /sys/block/{cache.node}/bcache/state";
        let [usual, other] = ["", "bucket_size = \"64k\"\nblock_size = 512"].map(shown);
        assert!(usual.contains(attached) && other.contains(attached), "{usual}");
        for (name, says) in [("bucket_size", "64.0k"), ("block_size", "0.5k")] {
            let look = format!("wait until value is {says} in /sys/fs/bcache/{UUID}");
            let line = other.lines().find(|line| line.starts_with(&look)).unwrap();
            assert!(line.contains(&format!("/{name}")) && !usual.contains(&look), "{line}");
        }
    }

    #[test]
    fn every_setting_that_can_change_is_written_and_read_back() {
        let inputs = BTreeMap::new();
        let at = Place { name: "cache", run_tag: "0badcafe", inputs: &inputs };
        let setup = Setup::read(&toml::Table::new()).unwrap();
        for key in CHANGEABLE {
            let steps = setup.change(&at, key).unwrap();
            let looked = matches!(steps[1].action, Action::Wait { .. });
            assert!(steps.len() == 2 && looked && steps[1].about.contains(key), "{key}");
        }
        assert_eq!(setup.change(&at, "bucket_size"), None);
    }
}
