//! `raid1`: a volume with a complete copy on each of several devices: dm-raid, made by lvm2.

mod catalogue;
mod layer;
mod names;
mod parsers;
mod rules;
mod setup;

use self::names::NAME;
use self::parsers::{STATUS, TABLE};
use self::setup::{KEYS, Setup};
use crate::kind::{Kind, LayerNeeds, Parser, State, StateMethod};
use crate::lvm;
use crate::members::INPUTS;

pub(crate) const KIND: Kind = Kind {
    inputs: &INPUTS,
    keys: KEYS,
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
    metrics: catalogue::METRICS,
    states: &[State {
        name: "in_sync",
        about: "Every member holds all of the volume: no copying is under way.",
        by: StateMethod::Nothing,
    }],
    charts: catalogue::CHARTS,
    needs: LayerNeeds {
        packages: &["lvm2"],
        modules: &["dm-mod", "dm-raid", "raid1"],
        tools: &["lvm", "dmsetup"],
        guest_files: lvm::GUEST_FILES,
        ..LayerNeeds::NONE
    },
    figures: catalogue::figures,
    counters: catalogue::COUNTERS,
    rules: rules::RULES,
    ..Kind::new(
        NAME,
        "A volume with a complete copy on each of two to eight devices: dm-raid (RAID 1), made by lvm2.",
        include_str!("manual.md"),
        |table| Ok(Box::new(Setup::read(table)?)),
    )
};
