//! `lvmcache`: a slow volume with a cache of hot blocks on a faster device: dm-cache, made by lvm2.

mod actions;
mod catalogue;
mod figures;
mod layer;
mod names;
mod parsers;
mod raise;
mod rules;
mod setup;

use crate::kind::{Fills, Headline, Kind, LayerNeeds, Parser, Threads, Wants, needed};
use crate::{lvm, machine};

use names::{CACHE, NAME, ORIGIN, STATUS};

pub(crate) const KIND: Kind = Kind {
    name: NAME,
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
    threads: Threads::NONE,
    headline: Some(Headline { metric: "hit_percent", words: None }),
    metrics: catalogue::METRICS,
    fills: &[Fills { of: "cache", metric: "used_percent", part: Some(actions::CACHED) }],
    states: &[],
    actions: actions::ACTIONS,
    change: None,
    charts: catalogue::CHARTS,
    needs: LayerNeeds {
        packages: &["lvm2", "thin-provisioning-tools"],
        modules: &["dm-mod", "dm-cache", "dm-cache-smq"],
        tools: &["lvm", "dmsetup", "cache_check"],
        guest_files: crate::lvm::GUEST_FILES,
    },
    manual: include_str!("manual.md"),
    figures: figures::figures,
    rules: rules::RULES,
    commands: |_, _| Vec::new(),
};
