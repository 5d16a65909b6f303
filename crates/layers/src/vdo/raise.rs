//! The plan that raises a volume: its steps, waits and probes.

use results::model::Computed;
use units::Bytes;

use super::geometry;
use super::names::{CONFIG, INSTANCE, STATS, STATUS};
use super::volume::Volume;
use crate::layer::{Allocate, Offer, RaisePlan};
use crate::machine;
use crate::probe::{Probe, Reading, Source};
use crate::settings::{SettingError, size_text};
use crate::step::{Action, Condition, Step};

const GIB: u64 = 1 << 30;

/// Everything about the volume at its place.
pub(super) fn raise(volume: &Volume) -> RaisePlan {
    let (setup, at) = (volume.setup, volume.at);
    let mut up = volume.make();
    up.extend(facts(volume));
    let bytes = setup.volume_bytes(at);
    let memory = setup.memory(at);
    RaisePlan {
        up,
        offer: Offer::Block { device: volume.path(), bytes },
        nodes: volume.devices(),
        probes: probes(volume),
        ready: volume.ready(),
        settle: settle(volume),
        allocate: Some(Allocate {
            stride_bytes: geometry::MAP_ENTRIES * geometry::BLOCK,
            last_block: true,
            block_bytes: geometry::BLOCK,
            refused: map_too_large(volume),
        }),
        memory_bytes: memory,
        computed: computed(volume),
    }
}

/// Returns the volume's memory and metadata as computed from its geometry.
fn computed(volume: &Volume) -> Vec<Computed> {
    let (setup, at) = (volume.setup, volume.at);
    let empty = setup.empty_overhead(at);
    let computed = |metric: &str, about: &str, value: u64| Computed {
        metric: metric.to_owned(),
        about: about.to_owned(),
        value: value as f64,
    };
    vec![
        computed("memory_bytes", "by lvm's rule, which leaves room", setup.memory(at)),
        computed("metadata_blocks", "empty", empty),
        computed("metadata_blocks", "with all of its block map", empty + setup.map_pages(at)),
    ]
}

/// Returns the reason why the pages of the block map do not fit into the pool, if they do not.
fn map_too_large(volume: &Volume) -> Option<SettingError> {
    let (setup, at) = (volume.setup, volume.at);
    let (pages, room) = (setup.map_pages(at), setup.data_blocks(at));
    (pages > room).then(|| {
        SettingError::new(
            "logical_size",
            format!(
                "the block map of {} takes {} when it is allocated, and the pool has {} for map and data",
                size_text(setup.volume_bytes(at)),
                Bytes(pages * geometry::BLOCK),
                Bytes(room * geometry::BLOCK)
            ),
            format!(
                "write a logical_size below \"{}\", or a larger physical_size; or leave the stage out",
                size_text(room * geometry::MAP_ENTRIES * geometry::BLOCK / GIB * GIB)
            ),
        )
    })
}

/// Steps that learn what only the running volume knows.
fn facts(volume: &Volume) -> Vec<Step> {
    learned(volume, volume.at.name.to_owned())
}

/// Steps that learn the same from a volume that was restarted or has grown. The table that it was raised with remains a fact.
pub(super) fn facts_anew(volume: &Volume) -> Vec<Step> {
    learned(volume, format!("{}.later", volume.at.name))
}

/// Steps that learn what a running volume knows; its table becomes a fact with the prefix `table`.
fn learned(volume: &Volume, table: String) -> Vec<Step> {
    let name = volume.at.name;
    let bind = |about: &str, source, parser: &str, prefix: String| Step {
        about: about.to_owned(),
        action: Action::Bind { source, parser: parser.to_owned(), prefix },
        undo: Vec::new(),
        deadline_s: 30,
    };
    vec![
        bind(
            "learn the number in the names of VDO's threads",
            volume.message("stats"),
            INSTANCE,
            name.to_owned(),
        ),
        bind(
            "note the table that the kernel runs",
            Source::DmTable { node: volume.target() },
            machine::TABLE,
            table,
        ),
        bind(
            "note how the volume was really formatted",
            volume.message("config"),
            CONFIG,
            format!("{name}.config"),
        ),
    ]
}

fn probes(volume: &Volume) -> Vec<Probe> {
    let name = volume.at.name;
    let probe = |what: &str, source, parser: &str| Probe {
        id: format!("{name}.{what}"),
        source,
        parser: parser.to_owned(),
        every_ms: 1000,
        reading: Reading::Edge,
    };
    vec![
        probe("stats", volume.message("stats"), STATS),
        probe("status", Source::DmStatus { node: volume.target() }, STATUS),
        probe(
            "threads",
            Source::Threads { prefix: format!("vdo{{{name}.instance}}:") },
            machine::THREADS,
        ),
    ]
}

/// Returns the steps that bring the volume to rest. A flush drives fragments out of the packer; then nothing may be in flight except what waits
/// there. The packer need not become empty: what a file system writes on its own after the flush may wait in it until the next one. The second
/// round catches fragments that were on their way into the packer at the first.
fn settle(volume: &Volume) -> Vec<Step> {
    let packed = "packer.compressedFragmentsInPacker".to_owned();
    let nothing = Condition::AtMost { field: "currentVIOsInProgress".into(), other: packed };
    let wait = Step {
        about: "wait until nothing is under way".to_owned(),
        action: Action::Wait {
            source: volume.message("stats"),
            parser: STATS.into(),
            until: nothing,
            every_ms: 100,
        },
        undo: Vec::new(),
        deadline_s: 120,
    };
    let flush = || Step::flush(&volume.path());
    vec![flush(), wait.clone(), flush(), wait]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{Layer, Place, on_device};
    use crate::vdo::setup::Setup;

    fn raised(text: &str) -> RaisePlan {
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
        let waits: Vec<String> = on[1..].iter().map(|step| step.action.show()).collect();
        assert!(waits[0].contains("dedupe is on in dmsetup table"), "{waits:?}");
        assert!(waits[1].contains("index is online"), "{waits:?}");
        assert_eq!(steps("dedupe = false", "dedupe").unwrap().len(), 2);
        let off = steps("compression = false", "compression").unwrap();
        assert!(off[0].action.show().contains("--compression n"), "{off:?}");
        assert!(steps("", "slab_size").is_none());
    }

    #[test]
    fn memory_and_metadata_are_computed_before_it_runs() {
        let computed = raised("logical_size = \"20G\"\nphysical_size = \"6G\"").computed;
        let of = |about: &str| computed.iter().find(|c| c.about.contains(about)).unwrap().value;
        assert_eq!(of("with all") - of("empty"), 6637.0);
        assert!((400e6..500e6).contains(&of("lvm's rule")), "{computed:?}");
        assert!(computed.iter().all(|c| crate::metric(&c.metric).is_some()));
    }

    #[test]
    fn a_block_map_that_the_pool_cannot_hold_cannot_be_allocated() {
        let refused =
            |size: &str| raised(&format!("logical_size = \"{size}\"")).allocate.unwrap().refused;
        assert_eq!(refused("2T"), None);
        let error = refused("1P").unwrap();
        assert!(error.message.contains("1P takes 1.2"), "{error:?}");
        let most = error.help.split('"').nth(1).unwrap();
        assert!(refused(most).is_some() && refused("3T").is_none(), "{most}");
    }

    #[test]
    fn only_a_volume_that_dedupes_waits_for_its_index() {
        assert_eq!(raised("").ready.len(), 1);
        assert!(raised("dedupe = \"off\"").ready.is_empty());
    }
}
