//! `striped`: a volume in chunks over several devices, in turn: dm-stripe, made by lvm2.

mod layer;
mod names;
mod parsers;

use units::Metric;

use self::layer::{KEYS, Setup};
use self::names::NAME;
use self::parsers::{STATUS, TABLE};
use crate::counter::counters;
use crate::kind::{Kind, LayerNeeds, Parser};
use crate::lvm;
use crate::members::{CROWDED, FAILED, FAILED_MEMBER, INPUTS, SLOW};

/// Every number of its lines.
const COUNTERS: &[&[Metric]] = &[counters! { "status":
    "members", Count, Level, "Devices that the volume lies on.";
    "failed_members", Count, Level, "Members with a failed I/O, or that the kernel no longer uses.";
}];

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
    one_block_size: true,
    metrics: &[FAILED],
    needs: LayerNeeds {
        packages: &["lvm2"],
        modules: &["dm-mod"],
        tools: &["lvm", "dmsetup"],
        guest_files: lvm::GUEST_FILES,
        ..LayerNeeds::NONE
    },
    figures: |facts| {
        let failed = facts.ends("status").and_then(|ends| ends.end("failed_members"));
        [(FAILED.id.to_owned(), failed)].into()
    },
    counters: COUNTERS,
    rules: &[SLOW, CROWDED, FAILED_MEMBER],
    ..Kind::new(
        NAME,
        "A volume in chunks over two to eight devices, in turn: dm-stripe (RAID 0), made by lvm2.",
        include_str!("manual.md"),
        |table| Ok(Box::new(Setup::read(table)?)),
    )
};
