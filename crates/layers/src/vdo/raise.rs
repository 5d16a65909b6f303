//! The steps that raise a VDO volume, what is waited for, what is sampled.

use super::setup::Setup;
use super::{CONFIG, DATA_NODE, INSTANCE, POOL, POOL_NODE, STATS, STATUS, VOLUME, geometry};
use crate::layer::{Allocate, Offer, Place, Raised};
use crate::lvm::{self, Group};
use crate::machine;
use crate::probe::{NamedDevice, Probe, Reading, Source};
use crate::step::{Action, Condition, Step};

/// Everything about the volume at its place.
pub(super) fn raise(setup: &Setup, at: &Place) -> Raised {
    let group = Group::of(at, &["data"]);
    let node = group.node(POOL_NODE);
    let (name, (_, below_bytes)) = (at.name, at.block("data"));
    let mut up = group.up();
    up.push(create(setup, at, &group));
    up.extend(facts(name, &node));
    let pool = setup.pool_bytes(below_bytes);
    let bytes = setup.volume_bytes(below_bytes);
    let device = |name: String, volume: &str| NamedDevice { name, path: group.path(volume) };
    Raised {
        up,
        offer: Offer::Block { device: group.path(VOLUME), bytes },
        nodes: vec![
            device(name.to_owned(), VOLUME),
            device(format!("{name}-pool"), POOL_NODE),
            device(format!("{name}-data"), DATA_NODE),
        ],
        probes: probes(name, &node),
        ready: ready(setup, &node),
        settle: settle(&group, &node),
        allocate: Some(Allocate {
            stride_bytes: geometry::MAP_ENTRIES * geometry::BLOCK,
            last_block: true,
            block_bytes: geometry::BLOCK,
        }),
        memory_bytes: geometry::memory(setup.block_map_cache, setup.index_memory, bytes, pool),
    }
}

/// lvm's word for a switch.
fn yes_no(on: bool) -> &'static str {
    if on { "y" } else { "n" }
}

/// Steps that switch deduplication or compression of a running volume; `None` for what cannot change while it runs.
pub(super) fn change(setup: &Setup, at: &Place, key: &str) -> Option<Vec<Step>> {
    let group = Group::of(at, &["data"]);
    let (flag, what, on) = match key {
        "dedupe" => ("--deduplication", "deduplication", setup.dedupe),
        "compression" => ("--compression", "compression", setup.compression),
        _ => return None,
    };
    let about = format!("switch {what} {}", if on { "on" } else { "off" });
    let mut steps = vec![group.change(&about, &[flag, yes_no(on)], POOL)];
    if key == "dedupe" {
        steps.extend(ready(setup, &group.node(POOL_NODE)));
    }
    Some(steps)
}

fn create(setup: &Setup, at: &Place, group: &Group) -> Step {
    let [how, size] = lvm::size_arguments(setup.physical_size.map(lvm::round_up));
    let volume_bytes = format!("{}b", setup.volume_bytes(at.block("data").1));
    let settings = lvm_settings(setup);
    let pool = format!("{}/{POOL}", group.name);
    let arguments = [
        "--type",
        "vdo",
        "--name",
        VOLUME,
        &how,
        &size,
        "--virtualsize",
        &volume_bytes,
        "--compression",
        yes_no(setup.compression),
        "--deduplication",
        yes_no(setup.dedupe),
        "--vdosettings",
        &settings,
        &pool,
    ];
    let nodes = [VOLUME, POOL_NODE, DATA_NODE];
    group.create("make the VDO pool and its volume", &arguments, POOL, &nodes)
}

/// Every setting in lvm's words, defaults included, so that a machine's lvm.conf changes nothing.
fn lvm_settings(s: &Setup) -> String {
    let formatted = [
        ("slab_size_mb", s.slab_size >> 20),
        ("index_memory_size_mb", s.index_memory >> 20),
        ("use_sparse_index", s.sparse_index.into()),
        ("minimum_io_size", s.minimum_io_size.into()),
    ];
    format!("{} {}", taken_up(s), in_lvm_words(&formatted))
}

/// The settings that a volume takes up whenever it comes up; the others are formatted into it.
pub(super) fn taken_up(s: &Setup) -> String {
    in_lvm_words(&[
        ("ack_threads", u64::from(s.ack_threads)),
        ("bio_threads", s.bio_threads.into()),
        ("bio_rotation", s.bio_rotation.into()),
        ("cpu_threads", s.cpu_threads.into()),
        ("hash_zone_threads", s.hash_zone_threads.into()),
        ("logical_threads", s.logical_threads.into()),
        ("physical_threads", s.physical_threads.into()),
        ("max_discard", s.max_discard / geometry::BLOCK),
        ("block_map_cache_size_mb", s.block_map_cache >> 20),
        ("block_map_period", s.block_map_period.into()),
    ])
}

fn in_lvm_words(settings: &[(&str, u64)]) -> String {
    settings.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

pub(super) fn message(node: &str, message: &str) -> Source {
    Source::DmMessage { node: node.to_owned(), message: message.to_owned() }
}

/// Steps that learn what only the running volume knows.
pub(super) fn facts(name: &str, node: &str) -> Vec<Step> {
    let bind = |about: &str, source, parser: &str, prefix: String| Step {
        about: about.to_owned(),
        action: Action::Bind { source, parser: parser.to_owned(), prefix },
        undo: Vec::new(),
        deadline_s: 30,
    };
    vec![
        bind(
            "learn the number in the names of VDO's threads",
            message(node, "stats"),
            INSTANCE,
            name.to_owned(),
        ),
        bind(
            "note the table that lvm gave to the kernel",
            Source::DmTable { node: node.to_owned() },
            machine::TABLE,
            name.to_owned(),
        ),
        bind(
            "note how the volume was really formatted",
            message(node, "config"),
            CONFIG,
            format!("{name}.config"),
        ),
    ]
}

fn probes(name: &str, node: &str) -> Vec<Probe> {
    let probe = |what: &str, source, parser: &str| Probe {
        id: format!("{name}.{what}"),
        source,
        parser: parser.to_owned(),
        every_ms: 1000,
        reading: Reading::Edge,
    };
    vec![
        probe("stats", message(node, "stats"), STATS),
        probe("status", Source::DmStatus { node: node.to_owned() }, STATUS),
        probe(
            "threads",
            Source::Threads { prefix: format!("vdo{{{name}.instance}}:") },
            machine::THREADS,
        ),
    ]
}

/// The index opens in the background: what is written before it is online finds no duplicates.
pub(super) fn ready(setup: &Setup, node: &str) -> Vec<Step> {
    if !setup.dedupe {
        return Vec::new();
    }
    vec![Step {
        about: "wait until the deduplication index is online".into(),
        action: Action::Wait {
            source: Source::DmStatus { node: node.to_owned() },
            parser: STATUS.into(),
            until: Condition::Text { field: "index".into(), is: "online".into() },
            every_ms: 100,
        },
        undo: Vec::new(),
        deadline_s: 180,
    }]
}

/// A flush drives fragments out of the packer; then nothing may be under way.
fn settle(group: &Group, node: &str) -> Vec<Step> {
    let packed = || "packer.compressedFragmentsInPacker".to_owned();
    // A file system writes on its own: what it writes after the flush may wait in the packer for company, for as long as nobody
    // flushes again.
    let nothing = Condition::AtMost { field: "currentVIOsInProgress".into(), other: packed() };
    let wait = |about: &str, until| Step {
        about: about.to_owned(),
        action: Action::Wait {
            source: message(node, "stats"),
            parser: STATS.into(),
            until,
            every_ms: 100,
        },
        undo: Vec::new(),
        deadline_s: 120,
    };
    vec![
        lvm::flush(&group.path(VOLUME)),
        wait("wait until the packer is empty", Condition::Number { field: packed(), is: 0.0 }),
        wait("wait until nothing is under way", nothing),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{Layer, on_device};

    fn raised(text: &str) -> Raised {
        let inputs = on_device("{device.data}", 7 << 30);
        let at = Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs };
        Setup::read(&text.parse().unwrap()).unwrap().raise(&at).unwrap()
    }

    #[test]
    fn lvm_gets_every_setting_and_nothing_that_prompts() {
        let raised = raised("logical_size = \"1G\"\ncompression = false\nmax_discard = \"1M\"");
        let command = raised.up[2].action.show();
        for part in [
            "lvm lvcreate --yes --wipesignatures n --zero n --type vdo",
            "--extents 100%FREE --virtualsize 1073741824b",
            "--compression n --deduplication y",
            "max_discard=256 block_map_cache_size_mb=128",
            "slab_size_mb=2048 index_memory_size_mb=256 use_sparse_index=0",
            "fathom_0badcafe_vdo/pool",
        ] {
            assert!(command.contains(part), "{part} in {command}");
        }
        assert_eq!(raised.offer.bytes(), 1 << 30);
        assert_eq!(raised.offer.path(), "/dev/mapper/fathom_0badcafe_vdo-volume");
    }

    #[test]
    fn undo_removes_the_pool_and_then_any_node_that_is_left_from_the_top() {
        let raised = raised("");
        let shown: Vec<_> = raised.up[2].undo.iter().map(Action::show).collect();
        assert_eq!(
            shown,
            [
                "lvm lvremove --yes --force fathom_0badcafe_vdo/pool",
                "dmsetup remove --retry fathom_0badcafe_vdo-volume fathom_0badcafe_vdo-pool-vpool \
                 fathom_0badcafe_vdo-pool_vdata"
            ]
        );
    }

    #[test]
    fn the_threads_probe_waits_for_the_instance_that_a_step_binds() {
        let raised = raised("");
        assert_eq!(
            raised.probes[2].source,
            Source::Threads { prefix: "vdo{vdo.instance}:".into() }
        );
        assert!(matches!(&raised.up[3].action, Action::Bind { prefix, .. } if prefix == "vdo"));
    }

    #[test]
    fn a_running_volume_is_switched_by_lvm_and_its_index_is_waited_for() {
        let inputs = on_device("/dev/x", 7 << 30);
        let at = Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs };
        let steps =
            |text: &str, key: &str| Setup::read(&text.parse().unwrap()).unwrap().change(&at, key);
        let on = steps("", "dedupe").unwrap();
        assert_eq!(
            on[0].action.show(),
            "lvm lvchange --yes --deduplication y fathom_0badcafe_vdo/pool"
        );
        assert!(matches!(on[1].action, Action::Wait { .. }));
        assert_eq!(steps("dedupe = false", "dedupe").unwrap().len(), 1);
        let off = steps("compression = false", "compression").unwrap();
        assert!(off[0].action.show().contains("--compression n"), "{off:?}");
        assert!(steps("", "slab_size").is_none());
    }

    #[test]
    fn only_a_volume_that_dedupes_waits_for_its_index() {
        assert_eq!(raised("").ready.len(), 1);
        assert!(raised("dedupe = \"off\"").ready.is_empty());
    }
}
