//! A thin volume as a layer: its implementation of [`Layer`].

use std::collections::BTreeMap;

use results::model::{Computed, Criterion, Requirement};

use super::names::{DATA, POOL, POOL_NODE, POOL_USED, POOL_VOLUME, TABLE, VOLUME, VOLUME_STATUS};
use super::setup::Setup;
use crate::layer::{
    ActionPlan, ActionRequest, Allocate, Layer, Offer, Place, Proof, RaisePlan, Restart,
};
use crate::lvm::Group;
use crate::probe::{NamedDevice, Probe, Source};
use crate::read_back::read_back;
use crate::settings::{SettingError, on_off, size_text};
use crate::step::Step;

/// Bytes of kernel memory for a pool with its caches of metadata, roughly.
const MEMORY: u64 = 16 << 20;

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        let text =
            |size: Option<u64>, usual: &str| size.map_or_else(|| usual.to_owned(), size_text);
        let entries = [
            ("size", text(self.size, "as the pool")),
            ("pool_size", text(self.pool_size, "all")),
            ("metadata_size", text(self.metadata_size, "usual")),
            ("chunk_size", size_text(self.chunk_size)),
            ("zero", on_off(self.zero)),
            ("discards", self.discards.clone()),
            ("when_full", self.when_full.clone()),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        self.validate(at)?;
        let group = Group::of(at, &[DATA]);
        let mut up = group.up();
        up.push(self.pool(at, &group));
        // lvcreate does not take this option for a thin pool.
        up.extend((self.when_full == "error").then(|| {
            let about = "let writes that find no chunk fail";
            group.change(about, &["--errorwhenfull", "y"], POOL_VOLUME)
        }));
        let size = format!("{}b", self.volume_bytes(at));
        let volume = [
            "--type",
            "thin",
            "--virtualsize",
            &size,
            "--thinpool",
            POOL_VOLUME,
            "--name",
            VOLUME,
            &group.name,
        ];
        up.push(group.make("make the thin volume", &volume, VOLUME, &[VOLUME]));
        let (pool, device) = (group.node(POOL_NODE), group.path(VOLUME));
        let table = Source::DmTable { node: pool.clone() };
        up.extend(read_back(&table, TABLE, self.wanted()));
        let probe =
            |what: &str, source, parser: &str| Probe::each_second(at.name, what, source, parser);
        let named = |name: String, node: &str| NamedDevice { name, path: group.path(node) };
        Ok(RaisePlan {
            up,
            nodes: vec![named(at.name.to_owned(), VOLUME)],
            probes: vec![
                probe("pool", Source::DmStatus { node: pool }, POOL),
                probe("volume", Source::DmStatus { node: group.node(VOLUME) }, VOLUME_STATUS),
                probe("table", table, TABLE),
            ],
            ready: Vec::new(),
            settle: vec![Step::flush(&device)],
            offer: Offer::Block { device, bytes: self.volume_bytes(at) },
            allocate: Some(Allocate {
                stride_bytes: self.chunk_size,
                last_block: false,
                block_bytes: 4096,
                refused: self.too_large(at),
            }),
            memory_bytes: MEMORY,
            computed: vec![Computed {
                metric: POOL_USED.into(),
                about: "with every chunk of the pool".into(),
                value: (self.chunks(at) * self.chunk_size) as f64,
            }],
        })
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        Some(Group::of(at, &[DATA]).again())
    }

    fn act(&self, at: &Place, request: &ActionRequest) -> Result<ActionPlan, SettingError> {
        let group = Group::of(at, &[DATA]);
        if request.action == "restart" {
            return Ok(ActionPlan { steps: group.restart(VOLUME), bytes: None });
        }
        let name = match request.keys.get("name") {
            None => None,
            Some(toml::Value::String(name)) if is_name(name) => Some(name.as_str()),
            Some(other) => {
                return Err(SettingError::new(
                    "name",
                    format!("a snapshot cannot be called {other}"),
                    "write a name such as \"after_fill\": letters, digits and _, but not the name of the volume or the pool",
                ));
            }
        };
        let full = format!("{}/{VOLUME}", group.name);
        let named = name.map(|name| ["--name", name]);
        let kind = ["--snapshot", "--type", "thin"];
        let arguments = [&kind[..], named.as_slice().as_flattened(), &[&full]].concat();
        // The undo of the pool removes all that is in it.
        let step = group.make("take a snapshot of the volume", &arguments, VOLUME, &[]);
        Ok(ActionPlan { steps: vec![Step { undo: Vec::new(), ..step }], bytes: None })
    }

    fn proof(&self, at: &Place, state: &str) -> Proof {
        let criterion = |metric: &str, must| Criterion {
            layer: at.name.to_owned(),
            metric: metric.to_owned(),
            must,
        };
        let criteria = match state {
            "fresh" => vec![criterion("mapped_bytes", Requirement::BeAtMost(0.0))],
            "allocated" => vec![criterion("mapped_percent", Requirement::BeAtLeast(100.0))],
            // One transaction for the volume, one for the snapshot.
            _ => vec![criterion("transactions", Requirement::BeAtLeast(2.0))],
        };
        Proof { criteria, round: None }
    }
}

/// Tells whether lvm takes this as the name of a snapshot.
fn is_name(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && !name.is_empty() && ![VOLUME, POOL_VOLUME].contains(&name)
}

impl Setup {
    /// The step that makes the pool.
    fn pool(&self, at: &Place, group: &Group) -> Step {
        let bytes = |bytes: u64| format!("{bytes}b");
        let (chunk, metadata) = (bytes(self.chunk_size), bytes(self.metadata_bytes(at)));
        let data = bytes(self.pool_bytes(at));
        let yes_no = |on: bool| if on { "y" } else { "n" };
        let arguments = [
            "--type",
            "thin-pool",
            "--size",
            &data,
            "--poolmetadatasize",
            &metadata,
            "--poolmetadataspare",
            "n",
            "--chunksize",
            &chunk,
            "--zero",
            yes_no(self.zero),
            "--discards",
            &self.discards,
            "--name",
            POOL_VOLUME,
            &group.name,
        ];
        let [data, metadata] = ["tdata", "tmeta"].map(|part| format!("{POOL_VOLUME}_{part}"));
        let nodes = [POOL_VOLUME, POOL_NODE, &data, &metadata];
        group.make("make the thin pool", &arguments, POOL_VOLUME, &nodes)
    }

    /// The settings that the pool's table must have.
    fn wanted(&self) -> Vec<(&'static str, String)> {
        vec![
            ("chunk_size", size_text(self.chunk_size)),
            ("zero", on_off(self.zero)),
            ("discards", self.discards.clone()),
            ("when_full", self.when_full.clone()),
        ]
    }

    /// Returns the reason why the pool has no room for every chunk of the volume; `None` if it has room.
    fn too_large(&self, at: &Place) -> Option<SettingError> {
        let (volume, pool) = (self.volume_bytes(at), self.room(at));
        (volume > pool).then(|| {
            SettingError::new(
                "size",
                format!(
                    "a volume of {} does not fit its pool of {}",
                    size_text(volume),
                    size_text(pool)
                ),
                format!("write size = \"{}\" or less, or leave 'allocate' out", size_text(pool)),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    fn raised(text: &str, bytes: u64) -> Result<RaisePlan, SettingError> {
        let inputs = on_device("{device.data}", bytes);
        let at = Place { name: "t", run_tag: "0badcafe", inputs: &inputs };
        Setup::read(&text.parse().unwrap())?.raise(&at)
    }

    #[test]
    fn what_cannot_work_names_its_key_its_value_and_a_remedy() {
        for (text, key, value, remedy) in [
            ("chunk_size = \"96k\"", "chunk_size", "96k", "the nearest is \"128k\""),
            ("chunk_size = \"4k\"", "chunk_size", "4k", "the nearest is \"64k\""),
            ("chunk_size = \"3G\"", "chunk_size", "3G", "the nearest is \"1G\""),
            ("metadata_size = \"1M\"", "metadata_size", "1M", "4M"),
            ("pool_size = \"2G\"", "pool_size", "2 GiB", "\"1016M\""),
            ("metadata_size = \"2G\"", "on", "1 GiB", "metadata_size"),
            ("size = \"1M\"", "size", "1M", "4M"),
            ("discards = \"all\"", "discards", "all", "passdown"),
        ] {
            let error = raised(text, 1 << 30).expect_err(text);
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.message.contains(value), "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
        assert_eq!(raised("", 8 << 20).unwrap_err().key, "on");
    }

    #[test]
    fn the_pool_is_made_as_asked_and_looked_at_and_over_provisioning_cannot_be_allocated() {
        let raised = raised("size = \"4G\"\nzero = false\nwhen_full = \"error\"", 1 << 30).unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        let pool = "--size 1065353216b --poolmetadatasize 4194304b --poolmetadataspare n --chunksize 65536b --zero n \
                    --discards passdown --name pool";
        assert!(shown[2].contains(pool), "{}", shown[2]);
        assert!(shown[3].contains("--errorwhenfull y fathom_0badcafe_t/pool"), "{}", shown[3]);
        assert!(shown[4].contains("--virtualsize 4294967296b --thinpool pool"), "{}", shown[4]);
        assert!(shown[6].starts_with("wait until zero is off"), "{}", shown[6]);
        assert_eq!(raised.offer.bytes(), 4 << 30);
        let refused = raised.allocate.unwrap().refused.unwrap();
        assert!(refused.help.contains("1016M"), "{refused:?}");
    }

    #[test]
    fn a_volume_has_a_chunk_for_all_of_it_where_chunks_do_not_divide_the_pool() {
        let odd = raised("chunk_size = \"192k\"", 1 << 30).unwrap();
        assert_eq!(odd.offer.bytes(), 1012 << 20, "5418 chunks, of a pool of 1016 MiB");
        assert!(odd.allocate.unwrap().refused.is_none());
        let more = raised("chunk_size = \"192k\"\nsize = \"1016M\"", 1 << 30).unwrap();
        let refused = more.allocate.unwrap().refused.unwrap();
        assert!(refused.help.contains("size = \"1012M\""), "{refused:?}");
    }

    #[test]
    fn a_snapshot_has_a_name_that_lvm_takes() {
        let inputs = on_device("{device.data}", 1 << 30);
        let at = Place { name: "t", run_tag: "0badcafe", inputs: &inputs };
        let setup = Setup::read(&toml::Table::new()).unwrap();
        let act = |keys: &str| {
            let (keys, before) = (keys.parse().unwrap(), toml::Table::new());
            setup.act(&at, &ActionRequest { action: "snapshot", keys: &keys, before: &before })
        };
        let steps = act("name = \"second\"").unwrap().steps;
        let shown = steps[0].action.show();
        assert_eq!(
            shown,
            "lvm lvcreate --yes --snapshot --type thin --name second fathom_0badcafe_t/volume"
        );
        // A state that is asked for twice takes two.
        let shown = act("").unwrap().steps[0].action.show();
        assert_eq!(shown, "lvm lvcreate --yes --snapshot --type thin fathom_0badcafe_t/volume");
        assert!(act("name = \"a-b\"").is_err() && act("name = \"pool\"").is_err());
    }
}
