//! A volume made by `vdoformat` and a table of device-mapper, with all settings that dm-vdo takes, not only those that lvm offers.

use super::geometry;
use super::names::{DATA, TABLE_DATA_NODE, TAIL, VOLUME};
use super::setup::Setup;
use super::volume::Volume;
use crate::dm::{self, SECTOR};
use crate::layer::Restart;
use crate::settings::on_off;
use crate::step::{Action, Step};

/// Steps that join what is below, format it, and start the volume.
pub(super) fn make(volume: &Volume) -> Vec<Step> {
    let about = match volume.setup.tail(volume.at) {
        0 => "map the part of the device that the volume uses",
        _ => "join the device and the tail",
    };
    vec![
        dm::create(about, &volume.node(TABLE_DATA_NODE), &below(volume)),
        format(volume),
        dm::create("start the VDO volume", &volume.node(VOLUME), &table(volume)),
    ]
}

/// Steps that change a setting in the table of the running volume.
pub(super) fn change(volume: &Volume, key: &str) -> Option<Vec<Step>> {
    let (node, table) = (volume.node(VOLUME), table(volume));
    let setup = volume.setup;
    let once = |about: &str| dm::reload(about, &node, &table);
    match key {
        "dedupe" => Some(once(&format!("switch deduplication {}", on_off(setup.dedupe)))),
        "compression" => Some(once(&format!("switch compression {}", on_off(setup.compression)))),
        // dm-vdo 9.1 gives the block layer the limit of the previous table, so that only a second reload takes effect.
        "max_discard" => {
            let about = "change the largest discard";
            Some(once(about).into_iter().chain(once(about)).collect())
        }
        _ => None,
    }
}

/// Steps that take the volume down and bring it up again.
pub(super) fn restart(volume: &Volume) -> [Step; 2] {
    let node = volume.node(VOLUME);
    let up = dm::create("bring the volume up again", &node, &table(volume));
    // The undo of the step that made it is still due, and removes it.
    [dm::remove("take the volume down", &node), Step { undo: Vec::new(), ..up }]
}

/// Steps that take both nodes down and bring them up again.
pub(super) fn restart_all(volume: &Volume) -> Restart {
    let (data, [down, up]) = (volume.node(TABLE_DATA_NODE), restart(volume));
    let below = dm::create("map the pool again", &data, &below(volume));
    Restart {
        down: vec![down, dm::remove("take the pool's node down", &data)],
        up: vec![Step { undo: Vec::new(), ..below }, up],
        renews: None,
    }
}

/// Steps that take the volume down as a power cut does, and bring it up again: its device fails while it goes down, so that nothing that
/// it still has to write is stored.
pub(super) fn crash(volume: &Volume) -> Vec<Step> {
    let data = volume.node(TABLE_DATA_NODE);
    let sectors = volume.setup.pool_bytes(volume.at) / SECTOR;
    let [down, up] = restart(volume);
    let mut steps = dm::reload("let the device fail", &data, &dm::error(sectors));
    steps.push(down);
    steps.extend(dm::reload("let the device answer again", &data, &below(volume)));
    steps.push(up);
    steps
}

/// Steps that grow the volume, and the node below it, to the sizes that are set. The room on the device has been checked
/// before: dm-vdo itself notices a lack only once it is suspended, and then stays suspended.
pub(super) fn grow(volume: &Volume, physical: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    if physical {
        let about = "map more of the device";
        steps.extend(dm::reload(about, &volume.node(TABLE_DATA_NODE), &below(volume)));
    }
    steps.extend(dm::reload("make the volume larger", &volume.node(VOLUME), &table(volume)));
    steps
}

/// The table of the node under the volume.
fn below(volume: &Volume) -> String {
    let (setup, at) = (volume.setup, volume.at);
    let tail = setup.tail(at) / SECTOR;
    let data = setup.pool_bytes(at) / SECTOR - tail;
    let mut table = dm::linear(0, data, at.block(DATA).0);
    if tail > 0 {
        table = format!("{table}\n{}", dm::linear(data, tail, at.block(TAIL).0));
    }
    table
}

/// A step that formats the pool; its undo wipes the signature.
fn format(volume: &Volume) -> Step {
    let (setup, pool) = (volume.setup, dm::path(&volume.node(TABLE_DATA_NODE)));
    let mut argv = vec![
        "vdoformat".to_owned(),
        "--force".to_owned(),
        format!("--logical-size={}K", setup.volume_bytes(volume.at) >> 10),
        format!("--slab-bits={}", (setup.slab_size / geometry::BLOCK).ilog2()),
        format!("--uds-memory-size={}", setup.index_memory as f64 / (1u64 << 30) as f64),
    ];
    if setup.sparse_index {
        argv.push("--uds-sparse".to_owned());
    }
    argv.push(pool.clone());
    Step {
        about: "format the pool".into(),
        action: Action::Command { argv, removes: None },
        undo: vec![Action::Wipe { device: pool, mark: None }],
        deadline_s: 120,
    }
}

/// The table of the volume.
fn table(volume: &Volume) -> String {
    let (setup, at) = (volume.setup, volume.at);
    let pool = dm::path(&volume.node(TABLE_DATA_NODE));
    line(setup, &pool, setup.volume_bytes(at), setup.pool_bytes(at))
}

/// Returns the table line of a volume with these settings and sizes on the pool at this path (the kernel's `vdo.rst`): sizes in sectors, blocks
/// and pages, then pairs of key and value.
pub(super) fn line(s: &Setup, pool: &str, volume_bytes: u64, pool_bytes: u64) -> String {
    let (sectors, blocks) = (volume_bytes / SECTOR, pool_bytes / geometry::BLOCK);
    let (cache, discard) = (s.block_map_cache / geometry::BLOCK, s.max_discard / geometry::BLOCK);
    let sizes = format!("{blocks} {} {cache} {}", s.minimum_io_size, s.block_map_period);
    let switches =
        format!("deduplication {} compression {}", on_off(s.dedupe), on_off(s.compression));
    let threads = format!(
        "ack {} bio {} bioRotationInterval {} cpu {} hash {} logical {} physical {}",
        s.ack_threads,
        s.bio_threads,
        s.bio_rotation,
        s.cpu_threads,
        s.hash_zone_threads,
        s.logical_threads,
        s.physical_threads
    );
    format!("0 {sectors} vdo V4 {pool} {sizes} {switches} maxDiscard {discard} {threads}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::layer::{Layer, Offer, Place, RaisePlan};

    const GIB: u64 = 1 << 30;

    fn raised(settings: &str, tail: Option<u64>) -> RaisePlan {
        let device =
            |name: &str, bytes| Offer::Block { device: format!("{{device.{name}}}"), bytes };
        let mut inputs = BTreeMap::from([(DATA.to_owned(), device("slow", 5 * GIB))]);
        inputs.extend(tail.map(|bytes| (TAIL.to_owned(), device("fast", bytes))));
        let at = Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs };
        let settings = format!("via = \"table\"\n{settings}");
        Setup::read(&settings.parse().unwrap()).unwrap().raise(&at).unwrap()
    }

    fn shown(raised: &RaisePlan) -> Vec<String> {
        raised.up.iter().map(|step| step.action.show()).collect()
    }

    #[test]
    fn the_table_is_the_one_that_a_real_kernel_took() {
        let raised =
            raised("logical_size = \"10G\"\nslab_size = \"32M\"\nblock_map_cache = \"16M\"", None);
        assert_eq!(
            shown(&raised)[..3],
            [
                "dmsetup create fathom_0badcafe_vdo-data --table '0 10485760 linear {device.slow} 0'",
                "vdoformat --force --logical-size=10485760K --slab-bits=13 --uds-memory-size=0.25 \
                 /dev/mapper/fathom_0badcafe_vdo-data",
                "dmsetup create fathom_0badcafe_vdo-volume --table '0 20971520 vdo V4 \
                 /dev/mapper/fathom_0badcafe_vdo-data 1310720 4096 4096 16380 deduplication on compression on \
                 maxDiscard 1 ack 1 bio 4 bioRotationInterval 64 cpu 2 hash 1 logical 1 physical 1'",
            ]
        );
        assert_eq!(raised.offer.path(), "/dev/mapper/fathom_0badcafe_vdo-volume");
        assert_eq!(
            raised.up[1].undo[0].show(),
            "wipe the ends of /dev/mapper/fathom_0badcafe_vdo-data"
        );
    }

    #[test]
    fn the_tail_is_the_end_of_the_pool_and_as_large_as_asked() {
        let exact = raised("slab_size = \"128M\"", Some(GIB));
        assert!(
            shown(&exact)[0].ends_with("10485760 262656 linear {device.fast} 0'"),
            "{:?}",
            shown(&exact)
        );
        let blocks = (5 * GIB / 4096) + 32_832;
        assert!(shown(&exact)[2].contains(&format!("-data {blocks} 4096")));
        let split = raised("physical_size = \"5G\"\ntail_size = \"1G\"", Some(GIB));
        let table = &shown(&split)[0];
        assert!(
            table.contains("0 8388608 linear {device.slow} 0\n8388608 2097152 linear"),
            "{table}"
        );
    }

    #[test]
    fn a_running_volume_is_changed_by_another_table_and_the_largest_discard_twice() {
        let inputs = crate::layer::on_device("/dev/x", 7 * GIB);
        let at = Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs };
        let read = |text: &str| Setup::read(&format!("via = \"table\"\n{text}").parse().unwrap());
        let steps = |text: &str, key: &str| {
            let steps = read(text).unwrap().change(&at, key).unwrap();
            steps.iter().map(|step| step.action.show()).collect::<Vec<_>>()
        };
        let off = steps("compression = false", "compression");
        assert!(
            off[0].starts_with("dmsetup reload") && off[0].contains("compression off"),
            "{off:?}"
        );
        assert_eq!(off[2], "dmsetup resume fathom_0badcafe_vdo-volume");
        assert_eq!(steps("max_discard = \"1M\"", "max_discard").len(), 9);
        assert!(steps("", "dedupe").last().unwrap().contains("index is online"));
        assert!(read("").unwrap().change(&at, "cpu_threads").is_none());
    }
}
