//! `thin`: a thin pool and a volume in it: dm-thin, made by lvm2.

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

use names::{NAME, POOL, TABLE, VOLUME_STATUS};

pub(crate) const KIND: Kind = Kind {
    keys: setup::KEYS,
    parsers: &[
        Parser { id: POOL, read: parsers::parse_pool },
        Parser { id: TABLE, read: parsers::parse_table },
        Parser { id: VOLUME_STATUS, read: parsers::parse_volume },
    ],
    recorded: &[
        (POOL, include_str!("recorded/pool")),
        (TABLE, include_str!("recorded/table")),
        (VOLUME_STATUS, include_str!("recorded/volume")),
    ],
    absence: lvm::ABSENCE,
    objects: lvm::OBJECTS,
    facts: &[lvm::VERSION],
    refuses_nowait: true,
    answers_for_holes: true,
    headline: Some(Headline { metric: "pool_used_percent", words: None, does: None }),
    metrics: catalogue::METRICS,
    fills: &[FillLevel { of: "pool", metric: "pool_used_percent", part: None }],
    states: setup::STATES,
    actions: setup::ACTIONS,
    charts: catalogue::CHARTS,
    needs: LayerNeeds {
        packages: &["lvm2", "thin-provisioning-tools"],
        modules: &["dm-mod", "dm-thin-pool"],
        tools: &["lvm", "dmsetup", "thin_check"],
        guest_files: lvm::GUEST_FILES,
        ..LayerNeeds::NONE
    },
    figures: figures::figures,
    counters: catalogue::COUNTERS,
    overview: Some(catalogue::OVERVIEW),
    rules: rules::RULES,
    standing: standing::FORMS,
    standing_rules: standing::RULES,
    ..Kind::new(
        NAME,
        "A thin volume, which takes space from its pool on first writes and shares it with snapshots; made by lvm2.",
        include_str!("manual.md"),
        |table| Ok(Box::new(setup::Setup::read(table)?)),
    )
};
