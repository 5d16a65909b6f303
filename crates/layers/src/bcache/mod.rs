//! `bcache`: a slow device with a cache on a faster one: bcache, made by make-bcache and through sysfs.

mod catalogue;
mod layer;
mod names;
mod parsers;
mod raise;
mod rules;
mod setup;
mod standing;

use crate::kind::{CacheFigures, FillLevel, Headline, InputKind, Kind, LayerNeeds, Parser, needed};
use crate::objects::{Listing, Objects};

use names::{BUCKETS, CACHE, DEVICE, LEGS, NAME, ORIGIN, STATS, VALUE};

pub(crate) const KIND: Kind = Kind {
    inputs: &[
        needed(ORIGIN, InputKind::Block, "the slow device, which holds all data"),
        needed(CACHE, InputKind::Block, "the fast device, which holds what was used last"),
    ],
    keys: setup::KEYS,
    parsers: &[
        Parser { id: DEVICE, read: parsers::parse_device },
        Parser { id: VALUE, read: parsers::parse_value },
        Parser { id: STATS, read: parsers::parse_stats },
        Parser { id: LEGS, read: parsers::parse_legs },
        Parser { id: BUCKETS, read: parsers::parse_buckets },
    ],
    recorded: &[
        (DEVICE, include_str!("recorded/holders")),
        (VALUE, include_str!("recorded/values")),
        (STATS, include_str!("recorded/stats_total")),
        (LEGS, include_str!("recorded/legs")),
        (BUCKETS, include_str!("recorded/priority_stats")),
    ],
    // The device is listed before the set: stopping the set also stops its device, but not the other way round.
    objects: &[
        Objects {
            called: "bcache device",
            listed: Listing::Directory { path: "/sys/block", identity: Some("bcache/label") },
            remove: raise::stop_device,
        },
        Objects {
            called: "bcache set",
            listed: Listing::Directory { path: "/sys/fs/bcache", identity: None },
            remove: raise::stop_set,
        },
    ],
    refuses_nowait: true,
    headline: Some(Headline { metric: "read_hit_percent", words: None, does: None }),
    metrics: catalogue::METRICS,
    fills: &[FillLevel { of: "cache", metric: "used_percent", part: Some(layer::CACHED) }],
    cache: Some(CacheFigures {
        hits: "read_hit_percent",
        used: "used_percent",
        moves: &["cache_written_bytes"],
    }),
    states: layer::STATES,
    actions: layer::ACTIONS,
    charts: catalogue::CHARTS,
    needs: LayerNeeds {
        packages: &["bcache-tools"],
        modules: &["bcache"],
        tools: &["make-bcache"],
        ..LayerNeeds::NONE
    },
    figures: catalogue::figures,
    counters: catalogue::COUNTERS,
    rules: rules::RULES,
    standing: standing::FORMS,
    standing_rules: standing::RULES,
    watch_rules: standing::WATCH_RULES,
    ..Kind::new(
        NAME,
        "A slow device with recently used data cached on a fast one: bcache.",
        include_str!("manual.md"),
        |table| Ok(Box::new(setup::Setup::read(table)?)),
    )
};
