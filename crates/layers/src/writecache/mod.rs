//! `writecache`: a slow volume whose writes go to a faster device first: dm-writecache, made by lvm2.

mod catalogue;
mod figures;
mod layer;
mod names;
mod parsers;
mod rules;
mod setup;
mod standing;

use crate::kind::{FillLevel, Headline, Kind, LayerNeeds, Parser};
use crate::lvm;
use crate::lvm::{tier, tier_actions};

use names::{NAME, STATUS, TABLE};

pub(crate) const KIND: Kind = Kind {
    inputs: &tier::INPUTS,
    keys: setup::KEYS,
    parsers: &[
        Parser { id: STATUS, read: parsers::parse_status },
        Parser { id: TABLE, read: parsers::parse_table },
    ],
    recorded: &[(STATUS, include_str!("recorded/status")), (TABLE, include_str!("recorded/table"))],
    absence: lvm::ABSENCE,
    objects: lvm::OBJECTS,
    facts: &[lvm::VERSION],
    refuses_nowait: true,
    one_block_size: true,
    headline: Some(Headline { metric: "hit_percent", words: None, does: None }),
    metrics: catalogue::METRICS,
    fills: &[FillLevel { of: "cache", metric: "used_percent", part: Some(tier_actions::CACHED) }],
    actions: setup::ACTIONS,
    charts: catalogue::CHARTS,
    needs: LayerNeeds {
        packages: &["lvm2"],
        modules: &["dm-mod", "dm-writecache"],
        tools: &["lvm", "dmsetup"],
        guest_files: lvm::GUEST_FILES,
        ..LayerNeeds::NONE
    },
    figures: figures::figures,
    counters: catalogue::COUNTERS,
    overview: Some(catalogue::OVERVIEW),
    rules: rules::RULES,
    standing: standing::FORMS,
    standing_rules: standing::RULES,
    watch_rules: standing::WATCH_RULES,
    ..Kind::new(
        NAME,
        "A volume on a slow device whose writes go to a fast one first: dm-writecache, made by lvm2.",
        include_str!("manual.md"),
        |table| Ok(Box::new(setup::Setup::read(table)?)),
    )
};
