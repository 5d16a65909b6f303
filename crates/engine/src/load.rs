//! What is to be run, on what, and what it shares with the rest of the program.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::{Bytes, Nanos, Seed};
use workload::LoadSpec;

use crate::record::Recording;

/// One load: what to do, from which seed, to which target.
#[derive(Debug, Clone)]
pub struct Load {
    /// Operations, pattern, depth, content, when to stop.
    pub spec: LoadSpec,
    /// Everything random comes from it. Stages of one cell need seeds of their own: with the same seed a later
    /// one would write the content of an earlier one again.
    pub seed: Seed,
    /// What the I/O goes to.
    pub target: TargetSpec,
    /// Index of the stage in its cell, for the rows.
    pub stage: usize,
    /// Creates the target as a file of this size when it does not exist.
    pub may_create: Option<Bytes>,
    /// What is recorded beyond counts and latencies.
    pub recording: Recording,
}

/// What the I/O goes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TargetSpec {
    /// A block device or a file.
    Path(PathBuf),
    /// Nothing real: a model in virtual time.
    Simulated(SimModel),
}

/// A device in virtual time: `channels` servers behind one queue, each busy with one I/O at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SimModel {
    /// Size of the device.
    pub bytes: Bytes,
    /// Mean service time of a read, whatever its size.
    pub read: Nanos,
    /// Mean service time of a write, whatever its size.
    pub write: Nanos,
    /// Added for each 4096 bytes of an I/O.
    pub per_block: Nanos,
    /// I/Os served at once.
    pub channels: u32,
    /// Half-width of the uniform spread of service times, as a share of the mean (0 to 1).
    pub jitter: f64,
}

impl Default for SimModel {
    /// 1 GiB, 80 µs reads, 100 µs writes, 1 µs a block, 8 at once, ±20 %.
    fn default() -> Self {
        Self {
            bytes: Bytes(Bytes::GIB),
            read: Nanos(80_000),
            write: Nanos(100_000),
            per_block: Nanos(1_000),
            channels: 8,
            jitter: 0.2,
        }
    }
}

/// CPU time of threads that are not the load's, as (user, kernel), growing.
pub type ForeignCpu<'a> = &'a (dyn Fn() -> (Duration, Duration) + Sync);

/// What a load shares with the rest of the program.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The run's clock: real for a path, simulated for a model.
    pub clock: &'a Clock,
    /// The wish to stop.
    pub interrupt: &'a Interrupt,
    /// CPU time of sampler threads, to be left out of the load's.
    pub foreign_cpu: Option<ForeignCpu<'a>>,
}
