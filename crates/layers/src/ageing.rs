//! The catalogue of what an ageing is measured by; `AgeingFigures::metrics` gives the figures.

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
        "Speed at which files are read one after the other that were written so, on the same file system before it was made old.",
    ),
    metric(
        "aged_read_bytes_per_s",
        "sequential read of aged files",
        (Unit::BytesPerSecond, Better::Higher),
        "Speed at which files of the same size are read one after the other that grew in turn.",
    ),
    metric(
        "aged_read_percent",
        "speed left by age",
        (Unit::Percent, Better::Higher),
        "Speed of aged files, of that of fresh ones; none where a rule ended the rounds early, so that the fresh ones were larger.",
    ),
    metric(
        "filler_read_bytes_per_s",
        "sequential read of fillers",
        (Unit::BytesPerSecond, Better::Higher),
        "Speed at which files are read that fill the space that came free.",
    ),
    metric(
        "filled_percent",
        "used when filled",
        (Unit::Percent, Better::Neither),
        "Used part of the file system when what came free was filled; less than asked for where no space or no inode was left.",
    ),
    metric(
        "runs_per_file",
        "runs of an aged file",
        (Unit::Ratio, Better::Lower),
        "Parts of a file that lie together on the device, on average over the files that grew in turn.",
    ),
    metric(
        "runs_per_filler",
        "runs of a filler",
        (Unit::Ratio, Better::Lower),
        "The same over the files that fill the space that came free.",
    ),
    metric(
        "free_stretches_before",
        "stretches of free space before",
        (Unit::Count, Better::Neither),
        "Stretches in which free space lay before; btrfs does not tell.",
    ),
    metric(
        "free_stretches",
        "stretches of free space after",
        (Unit::Count, Better::Lower),
        "Stretches in which free space lies at the end; btrfs does not tell.",
    ),
    metric(
        "half_free_in_bytes",
        "half of free space in stretches of",
        (Unit::Bytes, Better::Higher),
        "Half of the free space at the end lies in stretches of at least so many bytes, a power of two; btrfs does not tell.",
    ),
];
