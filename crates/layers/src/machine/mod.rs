//! What is read from the machine whatever the layers are: diskstats of every device of the stack, CPU of the
//! machine, CPU of kernel threads, table lines.

mod cpu;
mod diskstats;
mod figures;
mod table;
mod threads;
mod trace;
mod twin;

pub use figures::device_figures;
pub(crate) use figures::metrics;
pub use twin::MachineTwin;

use crate::kind::Parser;
use crate::probe::{NamedDevice, Probe, Reading, Source};

/// The parsers of what is read from the machine.
pub(crate) static PARSERS: &[Parser] = &[
    Parser { id: TABLE, read: table::parse_table },
    Parser { id: THREADS, read: threads::parse_threads },
    Parser { id: DISKSTATS, read: diskstats::parse_diskstats },
    Parser { id: CPU, read: cpu::parse_cpu },
    Parser { id: TRACE, read: trace::parse_trace },
];

/// Parser of a device-mapper table line: text `table`.
pub(crate) const TABLE: &str = "dm.table";
/// Parser of the answer of [`Source::Threads`]: CPU seconds by thread name.
pub(crate) const THREADS: &str = "machine.threads";
/// Parser of the answer of [`Source::Diskstats`]: `name.reads`, `name.written_bytes`, ...
pub(crate) const DISKSTATS: &str = "machine.diskstats";
/// Parser of `/proc/stat`: CPU seconds of the whole machine by what it did.
pub(crate) const CPU: &str = "machine.cpu";

/// Parser of the answer of [`Source::Trace`]: `events`.
pub const TRACE: &str = "machine.trace";

/// The probes of the machine for a stack with these block devices.
pub fn probes(nodes: &[NamedDevice]) -> Vec<Probe> {
    vec![
        Probe {
            id: DISKSTATS.into(),
            source: Source::Diskstats { devices: nodes.to_vec() },
            parser: DISKSTATS.into(),
            every_ms: 1000,
            reading: Reading::Edge,
        },
        Probe {
            id: CPU.into(),
            source: Source::File { path: "/proc/stat".into() },
            parser: CPU.into(),
            every_ms: 1000,
            reading: Reading::Edge,
        },
    ]
}

/// Seconds in one clock tick of `/proc`: `USER_HZ`, which is 100 on every platform that has these layers.
pub(crate) const TICK_S: f64 = 0.01;
