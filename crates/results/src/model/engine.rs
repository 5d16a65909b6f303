//! Facts about how a load was driven: backend, depth, clock.

use serde::{Deserialize, Serialize};

/// The backend, depth and clock that drove a load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EngineFacts {
    /// `io_uring`, `libaio`, `sync`, `null`, `sim`.
    pub backend: String,
    /// Number of jobs.
    pub jobs: u32,
    /// Number of I/Os in flight per job that was asked for.
    pub depth: u32,
    /// Tells whether the page cache was bypassed (O_DIRECT).
    pub direct: bool,
    /// Tells whether buffers and files were registered with the ring.
    pub registered: bool,
    /// The clock behind the latencies: `TSC`, `CLOCK_MONOTONIC` or `virtual`.
    pub clock: String,
    /// The reason why this backend was chosen, in words; empty in results of earlier versions.
    #[serde(default)]
    pub chosen: String,
    /// The probe's measurements of each backend before it chose; empty when nothing was probed.
    #[serde(default)]
    pub probe: Vec<ProbeFigure>,
    /// The actual number of I/Os in flight per job.
    #[serde(default)]
    pub in_flight: Option<DepthFigures>,
    /// I/Os per submitting call; `None` when nothing counted them.
    #[serde(default)]
    pub submitted_per_call: Option<f64>,
    /// Completions per call that looked for them.
    #[serde(default)]
    pub reaped_per_call: Option<f64>,
    /// The CPUs that workers were pinned to (`0-3`); `None` where they were not pinned.
    #[serde(default)]
    pub cpus: Option<String>,
    /// The clock and its accuracy; `None` in virtual time.
    #[serde(default)]
    pub clock_check: Option<ClockFacts>,
}

/// The probe's measurements of one backend.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProbeFigure {
    /// The backend.
    pub backend: String,
    /// Reads that were probed.
    pub ios: u64,
    /// I/Os per second.
    pub iops: Option<f64>,
    /// CPU time per I/O of the whole process, microseconds.
    pub cpu_per_io_us: Option<f64>,
    /// Another observation of the probe (`RWF_NOWAIT is refused`).
    pub note: String,
}

/// I/Os in flight of one job.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct DepthFigures {
    /// Mean over the load's duration; before 26 November 2026 over the time from its first submission to its last completion.
    pub mean: f64,
    /// The most at any time.
    pub max: u32,
}

/// The clock behind the latencies, and how accurate it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClockFacts {
    /// The reason why this clock was chosen (`the kernel's clocksource is hpet`).
    pub reason: String,
    /// Ticks per second of the TSC; `None` when it is not used.
    pub tsc_hz: Option<f64>,
    /// Largest difference between the clocks of two CPUs, nanoseconds, as far as it can be told.
    pub cpus_apart_ns: Option<u64>,
    /// Number of CPUs that were compared.
    pub cpus: Option<u32>,
    /// Drift against CLOCK_MONOTONIC over the load, parts per million; `None` when the load was too short to tell.
    pub drift_ppm: Option<f64>,
}
