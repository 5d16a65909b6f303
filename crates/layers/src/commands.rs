//! The catalogue of metrics of commands; `CommandFigures::metrics` gives the figures.

use units::{Basis, Better, Metric, Test, Unit};

const fn metric(id: &'static str, name: &'static str, unit: Unit, help: &'static str) -> Metric {
    Metric {
        id,
        name,
        unit,
        better: Better::Lower,
        basis: Basis::Counter,
        test: Test::Paired,
        help,
    }
}

/// Metrics of a command.
pub(crate) static METRICS: &[Metric] = &[
    metric(
        "elapsed_s",
        "elapsed time",
        Unit::Seconds,
        "From the start of the command to its end. What it wrote may still be in memory then.",
    ),
    metric(
        "elapsed_with_sync_s",
        "elapsed time with sync",
        Unit::Seconds,
        "From the start of the command until what it wrote is on stable storage.",
    ),
    metric(
        "command_cpu_user_s",
        "CPU of the command, user",
        Unit::Seconds,
        "User CPU time of the command and of the processes that it waited for; the layers' kernel threads are not in it.",
    ),
    metric(
        "command_cpu_system_s",
        "CPU of the command, kernel",
        Unit::Seconds,
        "Kernel CPU time of the command and of the processes that it waited for; the layers' kernel threads are not in it.",
    ),
    metric(
        "peak_memory_bytes",
        "peak memory of a process",
        Unit::Bytes,
        "The most memory that the largest process of the command had at once; processes side by side are not added up.",
    ),
    metric(
        "space_taken_bytes",
        "space taken",
        Unit::Bytes,
        "Growth of what the target's file system counts as used, over the command and its sync.",
    ),
];
