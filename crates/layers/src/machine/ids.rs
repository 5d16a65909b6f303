//! Parsers of what is read from the machine, by id, and the unit of its CPU times.

/// Parser of a device-mapper table line: text `table`.
pub(crate) const TABLE: &str = "dm.table";
/// Parser of the answer of [`crate::probe::Source::Queue`]: text `value`.
pub(crate) const QUEUE: &str = "machine.queue";
/// Parser of the answer of [`crate::probe::Source::Environment`]: text `value`, which may be empty.
pub(crate) const ENVIRONMENT: &str = "machine.environment";
/// Parser of the answer of [`crate::probe::Source::Threads`]: CPU seconds by thread name.
pub(crate) const THREADS: &str = "machine.threads";
/// Parser of the answer of [`crate::probe::Source::Diskstats`]: `name.reads`, `name.written_bytes`, ...
pub const DISKSTATS: &str = "machine.diskstats";
/// Parser of `/proc/stat`: CPU seconds of the whole machine by kind of work.
pub(crate) const CPU: &str = "machine.cpu";
/// Parser of the answer of [`crate::probe::Source::Trace`]: `events`.
pub const TRACE: &str = "machine.trace";
/// Parser of the answer of [`crate::probe::Source::WriteRuns`]: `writes`, `bytes`, `runs`, `dropped`.
pub(crate) const WRITE_RUNS: &str = "machine.write_runs";
/// Parser of the answer of [`crate::probe::Source::Latency`]: counts of I/Os by device and step of latency.
pub const LATENCY: &str = "machine.latency";

/// Seconds in one clock tick of `/proc`: `USER_HZ`, which is 100 on every platform that has these layers.
pub const TICK_S: f64 = 0.01;
