//! The catalogue of metrics of an ageing; `AgeingFigures::metrics` gives the figures.

use units::{Basis, Better, Metric, Test, Unit};

const fn metric(
    id: &'static str,
    name: &'static str,
    (unit, better): (Unit, Better),
    help: &'static str,
) -> Metric {
    Metric { id, name, unit, better, basis: Basis::Counter, test: Test::Paired, help }
}

/// Metrics of an ageing.
pub(crate) static METRICS: &[Metric] = &[
    metric(
        "fresh_read_bytes_per_s",
        "sequential read of fresh files",
        (Unit::BytesPerSecond, Better::Higher),
        "Speed of reading, one after the other, files that were written one after the other, on the same file system before it was aged.",
    ),
    metric(
        "aged_read_bytes_per_s",
        "sequential read of aged files",
        (Unit::BytesPerSecond, Better::Higher),
        "Speed of reading, one after the other, files of the same size that grew in turn.",
    ),
    metric(
        "aged_read_percent",
        "speed left by age",
        (Unit::Percent, Better::Higher),
        "Read speed of aged files as a share of that of fresh ones; none where a rule ended the rounds early, so that the fresh ones were larger.",
    ),
    metric(
        "filler_read_bytes_per_s",
        "sequential read of fillers",
        (Unit::BytesPerSecond, Better::Higher),
        "Speed of reading the files that fill the freed space.",
    ),
    metric(
        "filled_percent",
        "used when filled",
        (Unit::Percent, Better::Neither),
        "Used part of the file system after the freed space was filled; less than asked for where it ran out of space or inodes.",
    ),
    metric(
        "runs_per_file",
        "runs of an aged file",
        (Unit::Ratio, Better::Lower),
        "Number of contiguous pieces of a file on the device, on average over the files that grew in turn.",
    ),
    metric(
        "runs_per_filler",
        "runs of a filler",
        (Unit::Ratio, Better::Lower),
        "The same for the files that fill the freed space.",
    ),
    metric(
        "free_stretches_before",
        "stretches of free space before",
        (Unit::Count, Better::Neither),
        "Number of contiguous stretches of free space before; btrfs does not report it.",
    ),
    metric(
        "free_stretches",
        "stretches of free space after",
        (Unit::Count, Better::Lower),
        "Number of contiguous stretches of free space at the end; btrfs does not report it.",
    ),
    metric(
        "half_free_in_bytes",
        "half of free space in stretches of",
        (Unit::Bytes, Better::Higher),
        "Half of the free space at the end lies in stretches of at least so many bytes, a power of two; btrfs does not report it.",
    ),
];
