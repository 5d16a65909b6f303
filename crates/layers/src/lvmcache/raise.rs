//! The steps that raise a cached volume, and what is sampled of it.

use super::names::{CACHE, FAST, ORIGIN, STATUS, VOLUME};
use super::setup::Setup;
use crate::layer::{Offer, Place, RaisePlan};
use crate::lvm::{self, Group};
use crate::machine;
use crate::probe::{NamedDevice, Probe, Reading, Source};
use crate::step::{Action, Step};

/// Everything about the volume at its place.
pub(super) fn raise(setup: &Setup, at: &Place) -> RaisePlan {
    let group = Group::of(at, &[ORIGIN, CACHE]);
    let ((origin, origin_bytes), (cache, _)) = (at.block(ORIGIN), at.block(CACHE));
    let bytes = setup.volume_bytes(origin_bytes);
    let mut up = group.up();
    up.push(volume(&group, "make the volume on the slow device", VOLUME, setup.size, origin));
    up.push(volume(&group, "make the cache on the fast device", FAST, setup.cache_size, cache));
    up.push(attach(setup, &group));
    let node = group.node(VOLUME);
    up.push(Step {
        about: "note the table that lvm gave to the kernel".into(),
        action: Action::Bind {
            source: Source::DmTable { node: node.clone() },
            parser: machine::TABLE.into(),
            prefix: at.name.to_owned(),
        },
        undo: Vec::new(),
        deadline_s: 30,
    });
    let device = group.path(VOLUME);
    RaisePlan {
        up,
        nodes: vec![NamedDevice { name: at.name.to_owned(), path: device.clone() }],
        probes: vec![Probe {
            id: format!("{}.status", at.name),
            source: Source::DmStatus { node },
            parser: STATUS.into(),
            every_ms: 1000,
            reading: Reading::Edge,
        }],
        ready: Vec::new(),
        settle: vec![Step::flush(&device)],
        offer: Offer::Block { device, bytes },
        allocate: None,
        // smq keeps about 64 bytes for each chunk, and a hotspot queue of a quarter of them (dm-cache-policy-smq.c).
        memory_bytes: setup.cache_bytes(at.block(CACHE).1) / setup.chunk_size * 80,
        computed: Vec::new(),
    }
}

/// A step that makes a linear volume on one of the group's devices.
fn volume(group: &Group, about: &str, name: &str, size: Option<u64>, device: &str) -> Step {
    let [how, size] = match size {
        Some(_) => lvm::size_arguments(size.map(lvm::round_up)),
        // All of one device, not of the group.
        None => ["--extents".to_owned(), "100%PVS".to_owned()],
    };
    let arguments = ["--type", "linear", &how, &size, "--name", name, &group.name, device];
    group.create(about, &arguments, name, &[name])
}

/// The step that puts the cache in front of the volume. Removing the volume removes both.
pub(super) fn attach(setup: &Setup, group: &Group) -> Step {
    let chunk = format!("{}b", setup.chunk_size);
    let threshold = format!("migration_threshold={}", setup.migration_threshold);
    let arguments = [
        "--type",
        "cache",
        "--cachevol",
        FAST,
        "--cachemode",
        &setup.mode,
        "--chunksize",
        &chunk,
        "--cachesettings",
        &threshold,
    ];
    let corig = format!("{VOLUME}_corig");
    let [whole, data, meta] = ["", "-cdata", "-cmeta"].map(|part| format!("{FAST}_cvol{part}"));
    let nodes = [VOLUME, &corig, &data, &meta, &whole];
    group.convert("put the cache in front of the volume", &arguments, VOLUME, &nodes)
}
