//! `lvmcache`: a slow volume with a cache of hot blocks on a faster device: dm-cache, made by lvm2.

mod actions;
mod catalogue;
mod figures;
mod parsers;
mod raise;
mod rules;
mod setup;

use crate::kind::{Fills, Headline, Kind, Needs, Parser, Wants, needed};
use crate::{lvm, machine};

/// Parser of a dm-cache status line: counts of hits, misses, promotions, demotions, used and dirty blocks.
pub(crate) const STATUS: &str = "cache.status";

/// The input with the data.
const ORIGIN: &str = "origin";
/// The input with the cache.
const CACHE: &str = "cache";
/// Name of the cached volume in its group.
const VOLUME: &str = "main";
/// Name of the volume with the cached blocks and their metadata.
const FAST: &str = "fast";

pub(crate) const KIND: Kind = Kind {
    name: "lvmcache",
    about: "A volume on a slow device with its hot blocks on a fast one: dm-cache, made by lvm2.",
    inputs: &[
        needed(ORIGIN, Wants::Block, "the slow device, which holds all data"),
        needed(CACHE, Wants::Block, "the fast device, which holds hot blocks"),
    ],
    keys: setup::KEYS,
    parse: |table| Ok(Box::new(setup::Setup::read(table)?)),
    parsers: &[Parser { id: STATUS, read: parsers::parse_status }],
    recorded: &[
        (STATUS, include_str!("recorded/status")),
        (machine::TABLE, include_str!("recorded/table")),
    ],
    absence: lvm::ABSENCE,
    objects: lvm::OBJECTS,
    facts: &[lvm::VERSION],
    refuses_nowait: true,
    single_threads: &[],
    headline: Some(Headline { metric: "hit_percent", words: None }),
    metrics: catalogue::METRICS,
    fills: &[Fills { of: "cache", metric: "used_percent" }],
    states: &[],
    actions: actions::ACTIONS,
    charts: catalogue::CHARTS,
    needs: Needs {
        packages: &["lvm2", "thin-provisioning-tools"],
        modules: &["dm-mod", "dm-cache", "dm-cache-smq"],
        tools: &["lvm", "dmsetup", "cache_check"],
    },
    manual: include_str!("manual.md"),
    figures: figures::figures,
    rules: rules::RULES,
};
