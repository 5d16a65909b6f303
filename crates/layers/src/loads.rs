//! The catalogue of what loads are measured by.

use units::{Basis, Better, Metric, Test, Unit};

const fn latency(id: &'static str, name: &'static str, test: Test, help: &'static str) -> Metric {
    let (unit, better, basis) = (Unit::Nanos, Better::Lower, Basis::Counter);
    Metric { id, name, unit, better, basis, test, help }
}

/// The CPU time of everything per I/O.
pub const MACHINE_CPU_PER_IO: &str = "machine_cpu_per_io_us";

/// Metrics that depend on how much work a compressor has with the data.
pub const COSTS: &[&str] =
    &[MACHINE_CPU_PER_IO, CPU_PER_IO, "vdo_cpu_s", "vdo_cpu_per_io_us", "cpu_thread_percent"];

/// The CPU time of the load alone per I/O.
const CPU_PER_IO: &str = "cpu_per_io_us";

/// The distance of a load's slowest job from its fastest.
pub const SLOWEST_JOB: &str = "slowest_job_percent";

/// Metrics of one operation of a load.
pub(crate) static METRICS: &[Metric] = &[
    Metric {
        id: "iops",
        name: "IOPS",
        unit: Unit::PerSecond,
        better: Better::Higher,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "I/Os completed per second over the whole load, all jobs together.",
    },
    Metric {
        id: "throughput_bytes_per_s",
        name: "throughput",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "Bytes moved by completed I/Os per second over the whole load, all jobs together.",
    },
    latency(
        "latency_mean_ns",
        "mean latency",
        Test::Paired,
        "Mean time from submission to completion. At a fixed depth it is depth divided by IOPS, and says no more.",
    ),
    latency(
        "latency_min_ns",
        "smallest latency",
        Test::Ranked,
        "Shortest time from submission to completion.",
    ),
    latency("latency_p50_ns", "median latency", Test::Paired, "Half of the I/Os took no longer."),
    latency(
        "latency_p99_ns",
        "p99 latency",
        Test::Ranked,
        "Ninety-nine of a hundred I/Os took no longer.",
    ),
    latency(
        "latency_p999_ns",
        "p99.9 latency",
        Test::Ranked,
        "All but one of a thousand I/Os took no longer.",
    ),
    latency(
        "latency_max_ns",
        "largest latency",
        Test::Ranked,
        "The longest I/O. One value; it varies much between runs.",
    ),
    Metric {
        id: "io_bandwidth_p50_bytes_per_s",
        name: "median bandwidth of an I/O",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "Half of the I/Os were no faster: each one's length over its latency. With several in flight the throughput is a multiple of it.",
    },
    Metric {
        id: "errors",
        name: "failed I/Os",
        unit: Unit::Count,
        better: Better::Lower,
        basis: Basis::Counter,
        test: Test::Occurrence,
        help: "I/Os that failed or moved fewer bytes than asked. The same only where no run of either side has any.",
    },
    Metric {
        id: SLOWEST_JOB,
        name: "slowest job, of the fastest",
        unit: Unit::Percent,
        better: Better::Higher,
        basis: Basis::Counter,
        test: Test::Ranked,
        help: "I/Os per second of the slowest job, of those of the fastest, each while it was at work: 100 % where all did the same, 0 % where one did nothing. There is none of a single job.",
    },
    Metric {
        id: MACHINE_CPU_PER_IO,
        name: "CPU per I/O",
        unit: Unit::Micros,
        better: Better::Lower,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "CPU time of the whole machine per completed I/O (flushes are no I/Os of their own here: what they cost is in that of the others): the load, the layers' threads and the rest of the kernel. All time of all CPUs but what they were idle, from the begin of the load, its ramp and the I/Os of it counted, until the stack had come to rest; what the load was prepared by is left out.",
    },
    Metric {
        id: CPU_PER_IO,
        name: "CPU of the load per I/O",
        unit: Unit::Micros,
        better: Better::Lower,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "CPU time of the load's own threads per completed I/O, flushes left out of the count but not of the time; the layers' kernel threads are not in it.",
    },
];

const fn of_tree(id: &'static str, name: &'static str, unit: Unit, help: &'static str) -> Metric {
    let (better, basis, test) = (Better::Neither, Basis::Level, Test::Paired);
    Metric { id, name, unit, better, basis, test, help }
}

/// Metrics that only an operation on a tree of files has.
pub(crate) static OF_TREE_OPERATIONS: &[Metric] = &[
    Metric {
        basis: Basis::Counter,
        ..of_tree(
            "attempted_per_s",
            "attempts per second",
            Unit::PerSecond,
            "Operations on a tree that were tried, whatever came of them, per second.",
        )
    },
    Metric {
        basis: Basis::Counter,
        ..of_tree(
            "expected_errors",
            "expected errors",
            Unit::Count,
            "Operations on a tree that failed as they had to: no file of that name, one that is there already, no space. Those that should not have failed stand among failed I/Os.",
        )
    },
    Metric {
        basis: Basis::Counter,
        ..of_tree(
            "skipped",
            "skipped operations",
            Unit::Count,
            "Operations on a tree that were not tried: no name was left for them, or the file system was as full as it may be.",
        )
    },
];

/// Metrics that only a load of a tree of files as a whole has.
pub(crate) static OF_TREES: &[Metric] = &[
    Metric {
        better: Better::Higher,
        basis: Basis::Counter,
        ..of_tree(
            "operations_per_s",
            "operations per second",
            Unit::PerSecond,
            "Operations of all kinds on a tree that were done, per second over the whole load; what makes files durable afterwards (fsync, fdatasync) is not one of its own.",
        )
    },
    of_tree(
        "tree_files",
        "files in the tree",
        Unit::Count,
        "Names that have a file at the end of the load, links apart, by the load's own books.",
    ),
    of_tree(
        "tree_directories",
        "directories of the tree",
        Unit::Count,
        "Directories that the load made and that are there at its end.",
    ),
    of_tree(
        "tree_bytes",
        "bytes in the tree",
        Unit::Bytes,
        "Sizes of all files together at the end of the load, each counted once: what the file system holds, not what it takes for it.",
    ),
];
