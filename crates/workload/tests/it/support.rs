//! The common parts of the tests of streams.

use units::{Nanos, Seed};
use workload::{Io, LoadSpec, Range, Stream};

/// A load of these operations that time alone ends.
pub fn spec(ops: &str) -> LoadSpec {
    LoadSpec {
        ops: ops.parse().unwrap(),
        duration: Some(Nanos::from_secs(1)),
        ..LoadSpec::default()
    }
}

/// A range of so many blocks of 4 KiB from the start of the target.
pub fn range(blocks: u64) -> Range {
    Range { start: 0, bytes: blocks * 4096 }
}

/// The block of 4 KiB that an I/O starts at.
pub fn block(io: &Io) -> usize {
    assert!(io.offset.is_multiple_of(4096));
    (io.offset / 4096) as usize
}

/// One job of a load on so many blocks.
pub fn stream(spec: &LoadSpec, blocks: u64, seed: u64, job: u32) -> Stream {
    Stream::new(spec, &range(blocks), Seed(seed), job, spec.jobs)
}

/// One pattern of each kind.
pub const PATTERNS: [&str; 15] = [
    "sequential",
    "interleaved",
    "interleaved:7",
    "strided:5",
    "strided:5:shift",
    "random",
    "permutation",
    "zipf:0.5",
    "zipf:1",
    "zipf:1.2",
    "pareto:0.2",
    "normal:5%",
    "normal:40%@10%",
    "zones:90%/10%,10%/90%",
    "single:2",
];
