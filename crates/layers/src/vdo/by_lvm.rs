//! A volume made and changed by lvm2.

use super::geometry;
use super::names::{DATA, LVM_DATA_NODE, LVM_POOL_NODE, VOLUME};
use super::setup::Setup;
use super::volume::Volume;
use crate::lvm::{self, Group};
use crate::step::Step;

/// Name of the pool in its group.
const POOL: &str = "pool";

/// The volume group of a volume.
pub(super) fn group(volume: &Volume) -> Group {
    Group::of(volume.at, &[DATA])
}

/// Steps that make the group, the pool and the volume.
pub(super) fn make(volume: &Volume) -> Vec<Step> {
    let (group, setup) = (group(volume), volume.setup);
    let [how, size] = lvm::size_arguments(setup.physical_size.map(lvm::round_up));
    let volume_bytes = format!("{}b", setup.volume_bytes(volume.at));
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
    let nodes = [VOLUME, LVM_POOL_NODE, LVM_DATA_NODE];
    let mut steps = group.up();
    steps.push(group.create("make the VDO pool and its volume", &arguments, POOL, &nodes));
    steps
}

/// Steps that switch deduplication or compression of a running volume.
pub(super) fn change(volume: &Volume, key: &str) -> Option<Vec<Step>> {
    let (flag, what, on) = match key {
        "dedupe" => ("--deduplication", "deduplication", volume.setup.dedupe),
        "compression" => ("--compression", "compression", volume.setup.compression),
        _ => return None,
    };
    let about = format!("switch {what} {}", if on { "on" } else { "off" });
    Some(vec![group(volume).change(&about, &[flag, yes_no(on)], POOL)])
}

/// Steps that take the volume down and bring it up again, with other settings where they have `changed`.
pub(super) fn restart(volume: &Volume, changed: bool) -> Vec<Step> {
    let (group, settings) = (group(volume), taken_up(volume.setup));
    let change = changed.then(|| {
        let about = "change settings that take effect when the volume comes up";
        group.change(about, &["--vdosettings", &settings], POOL)
    });
    group.stopped(VOLUME, change)
}

/// Steps that grow the volume, or the pool, to the size that is set.
pub(super) fn grow(volume: &Volume, logical: bool, physical: bool) -> Vec<Step> {
    let (group, setup, at) = (group(volume), volume.setup, volume.at);
    let pool = || group.extend("make the pool larger", POOL, setup.pool_bytes(at));
    let whole = || group.extend("make the volume larger", VOLUME, setup.volume_bytes(at));
    physical.then(pool).into_iter().chain(logical.then(whole)).collect()
}

/// lvm's word for a switch.
fn yes_no(on: bool) -> &'static str {
    if on { "y" } else { "n" }
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

/// Returns the settings that take effect whenever a volume comes up; the others are fixed when it is formatted.
fn taken_up(s: &Setup) -> String {
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
