//! Probes of the machine, the same whatever the layers are: diskstats of every device of the stack, CPU of the
//! machine, CPU of kernel threads, table lines.

mod cpu;
mod diskstats;
mod figures;
mod ids;
mod latency;
mod table;
mod threads;
mod trace;
mod twin;
mod write_runs;

pub use cpu::{BUSY, TICKS, machine_figures};
pub(crate) use diskstats::parse_diskstats;
pub use figures::{RUN_BYTES, WRITE_BYTES, device_figures, device_source, metrics};
pub(crate) use ids::{CPU, ENVIRONMENT, QUEUE, TABLE, THREADS, WRITE_RUNS};
pub use ids::{DISKSTATS, LATENCY, TICK_S, TRACE};
pub use latency::{Unmeasured, bound_ns, device_latencies, measure_latency, step_of};
pub use twin::MachineTwin;
pub use write_runs::record_writes;

use crate::kind::Parser;
use crate::probe::{NamedDevice, Probe, Reading, Source};

/// The parsers of what is read from the machine.
pub(crate) static PARSERS: &[Parser] = &[
    Parser { id: TABLE, read: table::parse_table },
    Parser { id: QUEUE, read: table::parse_value },
    Parser { id: ENVIRONMENT, read: table::parse_setting },
    Parser { id: THREADS, read: threads::parse_threads },
    Parser { id: DISKSTATS, read: diskstats::parse_diskstats },
    Parser { id: CPU, read: cpu::parse_cpu },
    Parser { id: TRACE, read: trace::parse_trace },
    Parser { id: WRITE_RUNS, read: write_runs::parse_write_runs },
    Parser { id: LATENCY, read: latency::parse_latency },
];

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
