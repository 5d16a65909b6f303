//! `vdo`: a deduplicating and compressing volume on dm-vdo, made by lvm2 or from a table.

mod actions;
mod by_lvm;
mod by_table;
mod catalogue;
mod charts;
mod figures;
mod geometry;
mod keys;
mod parsers;
mod raise;
mod rules;
mod setup;
mod states;
mod texts;
mod threads;
mod twin;
mod validity;
mod volume;

use crate::kind::{Fills, Headline, Input, Kind, Needs, Parser, Wants, needed};
use crate::lvm;
use crate::objects::{Fact, FactSource};

/// Parser of the statistics message: every field, nested names joined with dots.
pub(crate) const STATS: &str = "vdo.stats";
/// Parser of the status line: texts `mode`, `recovery`, `index`, `compression`; numbers `used_blocks`, `total_blocks`.
pub(crate) const STATUS: &str = "vdo.status";
/// Parser of the configuration message: every field as text.
pub(crate) const CONFIG: &str = "vdo.config";
/// Parser of the statistics message that gives the instance's number only, as text `instance`.
pub(crate) const INSTANCE: &str = "vdo.instance";

/// The input that holds data and metadata.
const DATA: &str = "data";
/// The input that holds the end of the pool.
const TAIL: &str = "tail";
/// What the volume is called after the layer's own name, whichever way it is made.
const VOLUME: &str = "volume";

pub(crate) const KIND: Kind = Kind {
    name: "vdo",
    about: "A volume that deduplicates and compresses 4 KiB blocks: dm-vdo, made by lvm2 or from a table.",
    inputs: &[
        needed(DATA, Wants::Block, "the device that holds data and metadata"),
        Input {
            name: TAIL,
            wants: Wants::Block,
            help: "another device for the end of the pool, where the recovery journal lies (via = \"table\")",
            optional: true,
        },
    ],
    keys: keys::KEYS,
    parse: |table| Ok(Box::new(setup::Setup::read(table)?)),
    parsers: &[
        Parser { id: STATS, read: parsers::parse_stats },
        Parser { id: STATUS, read: parsers::parse_status },
        Parser { id: CONFIG, read: parsers::parse_config },
        Parser { id: INSTANCE, read: parsers::parse_instance },
    ],
    recorded: &[],
    absence: lvm::ABSENCE,
    objects: lvm::OBJECTS,
    facts: &[
        lvm::VERSION,
        Fact { name: "dm_vdo_module", from: FactSource::File("/sys/module/dm_vdo/version") },
    ],
    refuses_nowait: true,
    single_threads: &["journalQ", "packerQ", "dedupeQ"],
    headline: Some(Headline { metric: "saving_percent", words: Some("of the space was saved") }),
    metrics: catalogue::METRICS,
    fills: &[
        Fills { of: "physical", metric: "physical_used_percent" },
        Fills { of: "logical", metric: "logical_used_percent" },
    ],
    states: states::STATES,
    actions: actions::ACTIONS,
    charts: charts::CHARTS,
    needs: Needs {
        packages: &["lvm2", "vdo"],
        modules: &["dm-mod", "dm-vdo"],
        tools: &["lvm", "dmsetup", "vdoformat"],
    },
    manual: include_str!("manual.md"),
    figures: figures::figures,
    rules: rules::RULES,
};
