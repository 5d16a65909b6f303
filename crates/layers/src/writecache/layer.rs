//! A volume with a write cache as a layer: its implementation of [`Layer`].

use std::collections::BTreeMap;

use super::names::{STATUS, TABLE};
use super::setup::Setup;
use crate::layer::{ActionPlan, ActionRequest, Layer, Offer, Place, RaisePlan, Restart};
use crate::lvm::Group;
use crate::lvm::tier::{FAST, INPUTS, VOLUME};
use crate::lvm::tier_actions;
use crate::probe::{NamedDevice, Probe, Source};
use crate::read_back::read_back;
use crate::settings::{SettingError, on_off, size_text};
use crate::step::{Action, Step};

/// Longest time that writing back everything may take, seconds.
const FLUSH_S: u64 = 1800;

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = self.sizes.settings();
        settings.insert("block_size".to_owned(), size_text(self.block_size));
        settings.extend(self.words().map(|(key, value)| (key.to_owned(), value)));
        settings
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        self.validate(at)?;
        let group = group(at);
        // lvm attaches a write cache only while both the volume and the cache volume are down.
        let down = ["--activate", "n"];
        let mut up = group.up();
        up.push(self.sizes.make_volume(&group, at, &down));
        up.push(self.sizes.make_fast(&group, at, &down));
        up.extend(attached(self, &group));
        let (node, device) = (group.node(VOLUME), group.path(VOLUME));
        let table = Source::DmTable { node: node.clone() };
        let probe =
            |what: &str, source, parser: &str| Probe::each_second(at.name, what, source, parser);
        Ok(RaisePlan {
            up,
            nodes: vec![NamedDevice { name: at.name.to_owned(), path: device.clone() }],
            probes: vec![
                probe("writecache", Source::DmStatus { node }, STATUS),
                probe("table", table, TABLE),
            ],
            ready: Vec::new(),
            settle: vec![Step::flush(&device)],
            offer: Offer::Block { device, bytes: self.sizes.volume_bytes(at) },
            allocate: None,
            memory_bytes: self.memory_bytes(at),
            computed: Vec::new(),
        })
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        Some(group(at).again())
    }

    fn act(&self, at: &Place, request: &ActionRequest) -> Result<ActionPlan, SettingError> {
        let group = group(at);
        if request.action == "flush" {
            let argv = ["dmsetup", "message", &group.node(VOLUME), "0", "flush"];
            let step = Step {
                about: "write everything back".into(),
                action: Action::Command { argv: argv.map(str::to_owned).to_vec(), removes: None },
                undo: Vec::new(),
                deadline_s: FLUSH_S,
            };
            return Ok(ActionPlan { steps: vec![step], bytes: None });
        }
        Ok(tier_actions::act(&group, request.action, || {
            let down = group.change("take the volume down", &["--activate", "n"], VOLUME);
            [down].into_iter().chain(attached(self, &group)).collect()
        }))
    }
}

fn group<'a>(at: &Place<'a>) -> Group {
    Group::of(at, &INPUTS.map(|input| input.name))
}

/// Steps that put the cache in front of a volume that is down, bring it up, and check that it is as asked for.
fn attached(setup: &Setup, group: &Group) -> Vec<Step> {
    let up = group.change("bring the volume up", &["--activate", "y"], VOLUME);
    let table = Source::DmTable { node: group.node(VOLUME) };
    [attach(setup, group), up]
        .into_iter()
        .chain(read_back(&table, TABLE, expected_settings(setup)))
        .collect()
}

/// The step that puts the cache in front of the volume. Removing the volume removes both.
fn attach(setup: &Setup, group: &Group) -> Step {
    let block = ("block_size", setup.block_size);
    let options = setup.non_defaults().map(|(word, value)| (word, u64::from(value)));
    let settings: Vec<String> =
        [block].into_iter().chain(options).map(|(word, value)| format!("{word}={value}")).collect();
    let settings = settings.join(" ");
    let arguments = ["--type", "writecache", "--cachevol", FAST, "--cachesettings", &settings];
    let nodes = [VOLUME, &format!("{VOLUME}_wcorig"), &format!("{FAST}_cvol")];
    group.convert("put the write cache in front of the volume", &arguments, VOLUME, &nodes)
}

/// Settings to look for in the table: those that were asked for, and the size of a block.
fn expected_settings(setup: &Setup) -> Vec<(&'static str, String)> {
    let text = |(word, value): (&'static str, u32)| match word {
        "cleaner" | "metadata_only" => (word, on_off(value == 1)),
        _ => (word, value.to_string()),
    };
    [("block_size", size_text(setup.block_size))]
        .into_iter()
        .chain(setup.non_defaults().map(text))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lvm::tier::{CACHE, ORIGIN};

    const GIB: u64 = 1 << 30;

    fn raised(text: &str) -> Result<RaisePlan, SettingError> {
        let block = |device: &str, bytes| Offer::Block { device: device.into(), bytes };
        let inputs = [
            (ORIGIN.to_owned(), block("{device.slow}", 2 * GIB)),
            (CACHE.to_owned(), block("{device.fast}", GIB)),
        ];
        let inputs = inputs.into();
        let at = Place { name: "wc", run_tag: "0badcafe", inputs: &inputs };
        Setup::read(&text.parse().unwrap())?.raise(&at)
    }

    #[test]
    fn what_cannot_work_names_its_key_its_value_and_a_remedy() {
        for (text, key, value, remedy) in [
            ("block_size = \"8k\"", "block_size", "8k", "4k"),
            ("low_watermark = 60", "low_watermark", "60", "high_watermark = 60 or more"),
            ("high_watermark = 101", "high_watermark", "101", "0 to 100"),
            ("autocommit_blocks = 0", "autocommit_blocks", "0", "from 1"),
            ("cache_size = \"2G\"", "cache_size", "2 GiB", "1020M"),
            ("cache_size = \"4M\"", "cache_size", "4 MiB", "16M"),
            ("size = \"3G\"", "size", "3 GiB", "2044M"),
        ] {
            let error = raised(text).expect_err(text);
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.message.contains(value), "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
    }

    #[test]
    fn what_was_asked_for_goes_to_lvm_and_is_looked_for_in_the_table() {
        let raised = raised("high_watermark = 60\ncleaner = true\nmax_age = 500").unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        assert!(shown[3].contains("--activate n") && shown[4].contains("--activate n"));
        assert!(
            shown[5].contains("'block_size=4096 high_watermark=60 max_age=500 cleaner=1'"),
            "{}",
            shown[5]
        );
        assert!(shown[6].ends_with("lvchange --yes --activate y fathom_0badcafe_wc/main"));
        let looked: Vec<&str> =
            shown[7..].iter().map(|s| s.split(" in ").next().unwrap()).collect();
        assert_eq!(
            looked,
            [
                "wait until block_size is 4k",
                "wait until high_watermark is 60",
                "wait until max_age is 500",
                "wait until cleaner is on",
            ]
        );
        assert_eq!(raised.offer.path(), "/dev/mapper/fathom_0badcafe_wc-main");
    }
}
