//! VDO volumes of a machine: what is read of them, and the rules that need no run.

mod around;
mod figures;
mod settings;
mod space;
mod watched;

use super::names::{CONFIG, DATA, REPORT, STATS, STATUS, TABLE};
use crate::rule::StandingRule;
use crate::standing::{Keeps, ReadFrom, Recognised, Standing, StandingRead};

const fn read(from: ReadFrom, parser: &'static str) -> StandingRead {
    StandingRead { from, parser, value: None }
}

/// The device of the vdo target: the pool, where lvm2 made it.
pub(super) const FORMS: &[Standing] = &[Standing {
    is: Recognised::Target("vdo"),
    parts: &[(DATA, 1)],
    secret: None,
    reads: &[
        read(ReadFrom::Table, TABLE),
        read(ReadFrom::Status, STATUS),
        read(ReadFrom::Message("stats"), STATS),
        read(ReadFrom::Message("config"), CONFIG),
        read(ReadFrom::Report("vdostats"), REPORT),
    ],
    keeps_writes: Keeps::Never,
    threads: &["vdo{instance}:"],
}];

/// Every rule that needs no run.
pub(super) const RULES: &[StandingRule] = &[
    space::MODE,
    space::LOW,
    space::NO_SPACE,
    space::SAVES_LITTLE,
    space::PROMISED,
    space::FEW_SLABS,
    settings::ONE_THREAD,
    settings::MANY_THREADS,
    settings::PHYSICAL_THREADS,
    settings::SMALL_CACHE,
    settings::MEMORY,
    settings::INDEX,
    settings::MAX_DISCARD,
    around::ONLINE_DISCARD,
    around::JOURNAL,
    around::FLUSHES,
    around::PARTIAL,
];

/// The rules about volumes that were watched.
pub(super) const WATCH_RULES: &[StandingRule] =
    &[around::FLUSHES, around::PARTIAL, watched::MISSES];
