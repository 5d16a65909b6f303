//! The steps that raise a cached volume, and the probes that sample it.

use super::names::STATUS;
use super::setup::{Setup, THRESHOLD};
use crate::layer::{Offer, Place, RaisePlan};
use crate::lvm::Group;
use crate::lvm::tier::{CACHE, FAST, INPUTS, VOLUME};
use crate::machine;
use crate::probe::{NamedDevice, Probe, Reading, Source};
use crate::read_back::read_back;
use crate::settings::size_text;
use crate::step::{Action, Step};

/// Everything about the volume at its place.
pub(super) fn raise(setup: &Setup, at: &Place) -> RaisePlan {
    let group = Group::of(at, &INPUTS.map(|input| input.name));
    let mut up = group.up();
    up.push(setup.sizes.make_volume(&group, at, &[]));
    up.push(if setup.pooled {
        pool(setup, at, &group)
    } else {
        setup.sizes.make_fast(&group, at, &[])
    });
    up.extend(attached(setup, at, &group));
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
        offer: Offer::Block { device, bytes: setup.sizes.volume_bytes(at) },
        allocate: None,
        // smq keeps about 64 bytes for each chunk, and a hotspot queue of a quarter of them (dm-cache-policy-smq.c).
        memory_bytes: setup.sizes.cache_bytes(at) / setup.chunk(at) * 80,
        computed: Vec::new(),
    }
}

/// Returns the step that makes a pool of the fast device: separate data and metadata, together as large as the cache is to be.
fn pool(setup: &Setup, at: &Place, group: &Group) -> Step {
    let sizes = [setup.data_bytes(at), setup.metadata_bytes(at), setup.chunk(at)];
    let [data, metadata, chunk] = sizes.map(|bytes| format!("{bytes}b"));
    let arguments = [
        "--type",
        "cache-pool",
        "--size",
        &data,
        "--poolmetadatasize",
        &metadata,
        "--poolmetadataspare",
        "n",
        "--chunksize",
        &chunk,
        "--name",
        FAST,
        &group.name,
        at.block(CACHE).0,
    ];
    let [data, metadata] = ["cdata", "cmeta"].map(|part| format!("{FAST}_{part}"));
    group.make(
        "make the pool of the cache on the fast device",
        &arguments,
        FAST,
        &[&data, &metadata],
    )
}

/// Returns the steps that put the cache in front of the volume, and check that it is as asked for.
pub(super) fn attached(setup: &Setup, at: &Place, group: &Group) -> Vec<Step> {
    [attach(setup, at, group)]
        .into_iter()
        .chain(looks(group, expected_settings(setup, at)))
        .collect()
}

/// The step that puts the cache in front of the volume. Removing the volume removes both.
fn attach(setup: &Setup, at: &Place, group: &Group) -> Step {
    let chunk = format!("{}b", setup.chunk(at));
    let [mode, policy, threshold] =
        ["mode", "policy", THRESHOLD].map(|key| argument(setup, at, key));
    let via = format!("--{}", setup.via());
    let mut arguments: Vec<&str> = vec!["--type", "cache", &via, FAST];
    arguments.extend([&mode, &policy, &threshold].into_iter().flatten().map(String::as_str));
    if !setup.pooled {
        arguments.extend(["--chunksize", &chunk]);
    }
    let corig = format!("{VOLUME}_corig");
    let parts: &[&str] = if setup.pooled {
        &["_cpool_cdata", "_cpool_cmeta"]
    } else {
        &["_cvol-cdata", "_cvol-cmeta", "_cvol"]
    };
    let parts: Vec<String> = parts.iter().map(|part| format!("{FAST}{part}")).collect();
    let nodes: Vec<&str> =
        [VOLUME, &corig].into_iter().chain(parts.iter().map(String::as_str)).collect();
    group.convert("put the cache in front of the volume", &arguments, VOLUME, &nodes)
}

/// lvm's option and value of a setting that the kernel has in its table.
pub(super) fn argument(setup: &Setup, at: &Place, key: &str) -> [String; 2] {
    let (option, value) = match key {
        "mode" => ("--cachemode", setup.mode.clone()),
        "policy" => ("--cachepolicy", setup.policy.clone()),
        _ => ("--cachesettings", format!("{THRESHOLD}={}", setup.threshold(at))),
    };
    [option.to_owned(), value]
}

/// Settings that differ from lvm's defaults, in the form of the status line.
fn expected_settings(setup: &Setup, at: &Place) -> Vec<(&'static str, String)> {
    let chunk = setup.chunk_size.map(|chunk| ("chunk_size", size_text(chunk)));
    let mode = ("mode", setup.mode.clone());
    let policy = ("policy", setup.policy.clone());
    let threshold = (THRESHOLD, setup.threshold(at).to_string());
    chunk.into_iter().chain([mode, policy, threshold]).collect()
}

/// Returns the steps that check that the kernel runs with these settings.
pub(super) fn looks(group: &Group, wanted: Vec<(&'static str, String)>) -> Vec<Step> {
    read_back(&Source::DmStatus { node: group.node(VOLUME) }, STATUS, wanted)
}
