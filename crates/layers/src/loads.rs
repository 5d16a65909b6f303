//! The catalogue of metrics of loads.

use units::{Basis, Better, Metric, Test, Unit};

const fn latency(id: &'static str, name: &'static str, test: Test, help: &'static str) -> Metric {
    let (unit, better, basis) = (Unit::Nanos, Better::Lower, Basis::Counter);
    Metric { id, name, unit, better, basis, test, help }
}

/// The CPU time of everything per I/O.
pub const MACHINE_CPU_PER_IO: &str = "machine_cpu_per_io_us";

/// Metrics that depend on how hard the data is to compress.
pub const COSTS: &[&str] =
    &[MACHINE_CPU_PER_IO, CPU_PER_IO, "vdo_cpu_s", "vdo_cpu_per_io_us", "cpu_thread_percent"];

/// The CPU time of the load alone per I/O.
const CPU_PER_IO: &str = "cpu_per_io_us";

/// The rate of a load's slowest job as a share of its fastest job's.
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
        "Mean time from submission to completion. At a fixed depth it is depth divided by IOPS, and adds nothing to it.",
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
        help: "The median over all I/Os of length divided by latency. With several in flight the throughput is a multiple of it.",
    },
    Metric {
        id: "errors",
        name: "failed I/Os",
        unit: Unit::Count,
        better: Better::Lower,
        basis: Basis::Counter,
        test: Test::Occurrence,
        help: "I/Os that failed or moved fewer bytes than asked. Two variants count as the same only if no run of either has any.",
    },
    Metric {
        id: SLOWEST_JOB,
        name: "slowest job, of the fastest",
        unit: Unit::Percent,
        better: Better::Higher,
        basis: Basis::Counter,
        test: Test::Ranked,
        help: "I/Os per second of the slowest job as a share of the fastest job's, each over the time that it worked: 100 % if all were equally fast, 0 % if one did nothing. A load of one job has no such figure.",
    },
    Metric {
        id: MACHINE_CPU_PER_IO,
        name: "CPU per I/O",
        unit: Unit::Micros,
        better: Better::Lower,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "CPU time of the whole machine per completed I/O: the load, the layers' threads and the rest of the kernel. Flushes are not counted as I/Os; their cost is spread over the others. It is all time that the CPUs were not idle, from the start of the load, with its ramp and the I/Os of the ramp, until the stack had come to rest; the preparation of the load is left out.",
    },
    Metric {
        id: CPU_PER_IO,
        name: "CPU of the load per I/O",
        unit: Unit::Micros,
        better: Better::Lower,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "CPU time of the load's own threads per completed I/O; flushes are not counted as I/Os, but their time is included. The layers' kernel threads are not in it.",
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
            "Operations on a tree that were tried, whatever their outcome, per second.",
        )
    },
    Metric {
        basis: Basis::Counter,
        ..of_tree(
            "expected_errors",
            "expected errors",
            Unit::Count,
            "Operations on a tree that failed as expected: no file of that name, a file that is there already, no space. Unexpected failures are counted as failed I/Os.",
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
            "Operations of all kinds on a tree that were done, per second over the whole load; an fsync or fdatasync that makes files durable afterwards is not counted separately.",
        )
    },
    of_tree(
        "tree_files",
        "files in the tree",
        Unit::Count,
        "Names that have a file at the end of the load, links not counted, according to the load's own records.",
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
        "Sizes of all files together at the end of the load, each counted once: the content of the file system, not the space that it takes.",
    ),
];
