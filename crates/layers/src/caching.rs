//! Figures that mean the same in every kind of cache: defined once, so that layers of one name compare across variants.

use units::{Basis, Better, Metric, Test, Unit};

/// Share of I/Os that the cache answered.
pub(crate) const HIT: Metric = Metric {
    id: "hit_percent",
    name: "hits",
    unit: Unit::Percent,
    better: Better::Higher,
    basis: Basis::Counter,
    test: Test::Paired,
    help: "I/Os that the cache answered, of all that reached it, reads and writes.",
};

/// Share of reads that the cache answered.
pub(crate) const READ_HIT: Metric = Metric {
    id: "read_hit_percent",
    name: "read hits",
    help: "Reads that the cache answered, of all reads. Merged I/Os count once, and a promotion on a miss is still a miss.",
    ..HIT
};

/// Share of the cache that holds blocks, percent.
pub(crate) const USED: Metric = Metric {
    id: "used_percent",
    name: "cache used",
    unit: Unit::Percent,
    better: Better::Neither,
    basis: Basis::Level,
    test: Test::Paired,
    help: "How much of the cache holds blocks. One that is full of blocks nobody wants is slower than an empty one.",
};

/// Data that only the cache holds, bytes.
pub(crate) const DIRTY: Metric = Metric {
    id: "dirty_bytes",
    name: "dirty data",
    unit: Unit::Bytes,
    better: Better::Neither,
    basis: Basis::Level,
    test: Test::Paired,
    help: "Data that the cache has and the slow device has not.",
};
