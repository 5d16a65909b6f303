//! `lvmcache`: a slow volume with a cache of hot blocks on a faster device: dm-cache, made by lvm2.

mod catalogue;
mod counters;
mod figures;
mod layer;
mod measured;
mod names;
mod parsers;
mod raise;
mod rules;
mod setup;
mod standing;

use crate::kind::{CacheFigures, FillLevel, Headline, Kind, LayerNeeds, Parser, PartEffect};
use crate::lvm::{tier, tier_actions};
use crate::{lvm, machine};

use names::{NAME, STATUS};

pub(crate) const KIND: Kind = Kind {
    inputs: &tier::INPUTS,
    keys: setup::KEYS,
    parsers: &[Parser { id: STATUS, read: parsers::parse_status }],
    recorded: &[
        (STATUS, include_str!("recorded/status")),
        (machine::TABLE, include_str!("recorded/table")),
    ],
    absence: lvm::ABSENCE,
    objects: lvm::OBJECTS,
    facts: &[lvm::VERSION],
    refuses_nowait: true,
    one_block_size: true,
    headline: Some(Headline { metric: "hit_percent", words: None, does: None }),
    metrics: catalogue::METRICS,
    fills: &[FillLevel { of: "cache", metric: "used_percent", part: Some(tier_actions::CACHED) }],
    states: layer::STATES,
    cache: Some(CacheFigures {
        hits: "read_hit_percent",
        used: "used_percent",
        moves: &["promotions", "demotions"],
    }),
    actions: tier_actions::ACTIONS,
    change: Some(PartEffect::Needs(tier_actions::CACHED)),
    charts: catalogue::CHARTS,
    needs: LayerNeeds {
        packages: &["lvm2", "thin-provisioning-tools"],
        modules: &["dm-mod", "dm-cache", "dm-cache-smq"],
        tools: &["lvm", "dmsetup", "cache_check"],
        guest_files: crate::lvm::GUEST_FILES,
        ..LayerNeeds::NONE
    },
    figures: figures::figures,
    counters: counters::COUNTERS,
    counting: figures::counted,
    overview: Some(counters::OVERVIEW),
    rules: rules::RULES,
    standing: standing::FORMS,
    standing_rules: standing::RULES,
    watch_rules: standing::WATCH_RULES,
    ..Kind::new(
        NAME,
        "A volume on a slow device with its hot blocks on a fast one: dm-cache, made by lvm2.",
        include_str!("manual.md"),
        |table| Ok(Box::new(setup::Setup::read(table)?)),
    )
};
