//! `raid1`: a volume of which each of several devices holds a complete copy: dm-raid, made by lvm2.

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
        about: "Every member holds all of the volume: nothing is copied beside the load.",
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
        "A volume of which each of two to eight devices holds a complete copy: dm-raid (RAID 1), made by lvm2.",
        include_str!("manual.md"),
        |table| Ok(Box::new(Setup::read(table)?)),
    )
};
