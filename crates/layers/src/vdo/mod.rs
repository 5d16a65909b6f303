//! `vdo`: a deduplicating and compressing volume on dm-vdo, made by lvm2 or from a table.

mod actions;
mod by_lvm;
mod by_table;
mod catalogue;
mod charts;
mod commands;
mod counters;
mod figures;
mod fits;
mod geometry;
mod growth;
mod keys;
mod layer;
mod names;
mod overview;
mod parsers;
mod raise;
mod report;
mod rules;
mod setup;
mod standing;
mod states;
mod tables;
mod texts;
mod threads;
mod twin;
mod validity;
mod via;
mod volume;

use crate::kind::{
    FillLevel, Headline, Input, InputKind, Kind, LayerNeeds, Parser, PartEffect, Share, Threads,
    needed,
};
use crate::loads::MACHINE_CPU_PER_IO;
use crate::lvm;
use crate::objects::{Fact, FactSource};

use names::{CONFIG, DATA, INSTANCE, NAME, REPORT, STATS, STATUS, TABLE, TAIL};

pub(crate) const KIND: Kind = Kind {
    inputs: &[
        needed(DATA, InputKind::Block, "the device that holds data and metadata"),
        Input {
            name: TAIL,
            wants: InputKind::Block,
            help: "another device for the end of the pool, where the recovery journal lies (via = \"table\")",
            optional: true,
        },
    ],
    keys: keys::KEYS,
    parsers: &[
        Parser { id: STATS, read: parsers::parse_stats },
        Parser { id: STATUS, read: parsers::parse_status },
        Parser { id: CONFIG, read: parsers::parse_config },
        Parser { id: INSTANCE, read: parsers::parse_instance },
        Parser { id: TABLE, read: parsers::parse_table },
        Parser { id: REPORT, read: report::parse },
    ],
    absence: lvm::ABSENCE,
    objects: lvm::OBJECTS,
    facts: &[
        lvm::VERSION,
        Fact { name: "dm_vdo_module", from: FactSource::File("/sys/module/dm_vdo/version") },
    ],
    refuses_nowait: true,
    answers_for_holes: true,
    reduces: true,
    // The marks are those of the thesis, section 5.2.
    threads: Threads {
        single: &["journalQ", "packerQ", "dedupeQ", threads::REQUESTS],
        marks: Some((threads::IDLE_PERCENT, threads::BUSY_PERCENT)),
        does: threads::DOES,
    },
    shares: &[
        Share {
            of: "device_reads",
            metrics: &["dedupe_advice_valid", "dedupe_advice_stale"],
            within: "device_read_bytes",
            each: 4096,
            words: "VDO comparing duplicates with what it has stored",
            counter: "stored blocks read to compare",
        },
        Share {
            of: "device_reads",
            metrics: &["block_map_pages_loaded"],
            within: "device_read_bytes",
            each: 4096,
            words: "VDO looking up where blocks lie",
            counter: "block map misses",
        },
        Share {
            of: "device_writes",
            metrics: &["bios_meta_write"],
            within: "device_written_bytes",
            each: 4096,
            words: "VDO noting where blocks lie",
            counter: "metadata writes, the journal's among them",
        },
        Share {
            of: MACHINE_CPU_PER_IO,
            metrics: &["vdo_cpu_per_io_us"],
            within: MACHINE_CPU_PER_IO,
            each: 1,
            words: "VDO's own threads",
            counter: "CPU of VDO's threads per I/O",
        },
    ],
    headline: Some(Headline {
        metric: "saving_percent",
        words: Some("of the space was saved"),
        does: Some(("saves", "of the space")),
    }),
    metrics: catalogue::METRICS,
    fills: &[
        FillLevel { of: "physical", metric: "physical_used_percent", part: None },
        FillLevel { of: "logical", metric: "logical_used_percent", part: None },
    ],
    states: states::STATES,
    actions: actions::ACTIONS,
    change: Some(PartEffect::Needs(actions::INDEX)),
    charts: charts::CHARTS,
    needs: LayerNeeds {
        packages: &["lvm2", "vdo"],
        modules: &["dm-mod", "dm-vdo"],
        tools: &["lvm", "dmsetup", "vdoformat"],
        by_hand: &["vdostats"],
        guest_files: crate::lvm::GUEST_FILES,
        ..LayerNeeds::NONE
    },
    figures: figures::figures,
    counters: counters::COUNTERS,
    counting: figures::counted,
    overview: Some(overview::OVERVIEW),
    followed: &[figures::METADATA],
    rules: rules::RULES,
    standing: standing::FORMS,
    standing_rules: standing::RULES,
    watch_rules: standing::WATCH_RULES,
    commands: commands::commands,
    ..Kind::new(
        NAME,
        "A volume that deduplicates and compresses 4 KiB blocks: dm-vdo, made by lvm2 or from a table.",
        include_str!("manual.md"),
        |table| Ok(Box::new(setup::Setup::read(table)?)),
    )
};
