//! A load that is to be run, its targets, and what it shares with the rest of the program.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use sys::meant::Meant;
use units::{Bytes, Nanos, Percent, Seed};
use workload::LoadSpec;

use crate::choice::Choice;
use crate::record::Recording;
use crate::verify::Options;
use crate::written_map::WrittenMap;

/// One load: its operations, its seed and its targets.
#[derive(Debug, Clone)]
pub struct Load {
    /// Operations, pattern, depth, content and the condition that ends it.
    pub spec: LoadSpec,
    /// The source of everything random. Each stage of a cell needs a separate seed: with the same seed a later stage would write the content of an
    /// earlier one again.
    pub seed: Seed,
    /// The targets of the I/O: one or more of the same kind.
    pub targets: Vec<Aim>,
    /// Index of the stage in its cell, for the rows.
    pub stage: usize,
    /// Creates the target as a file of this size when it does not exist.
    pub may_create: Option<Bytes>,
    /// The records that are kept beyond counts and latencies.
    pub recording: Recording,
    /// The driver, when it was chosen before (once for all variants of an experiment). Otherwise the load's own `backend` decides, or a probe where
    /// that is `auto`.
    pub choice: Option<Choice>,
    /// Options of its verification, beyond what the spec says.
    pub verification: Options,
}

impl Load {
    /// A load without a target so far.
    pub fn new(spec: LoadSpec, seed: Seed) -> Self {
        Self {
            spec,
            seed,
            targets: Vec::new(),
            stage: 0,
            may_create: None,
            recording: Recording::default(),
            choice: None,
            verification: Options::default(),
        }
    }

    /// The seed for one target: targets differ in contents and addresses.
    pub(crate) fn seed_of(&self, target: usize) -> Seed {
        if target == 0 { self.seed } else { self.seed.derive(&format!("target {target}")) }
    }
}

/// One target of a load.
#[derive(Debug, Clone)]
pub struct Aim {
    /// The target.
    pub target: TargetSpec,
    /// Share of the load's I/Os that goes to it, relative to those of the other targets.
    pub share: Percent,
}

/// The target that the I/O goes to.
#[derive(Debug, Clone)]
pub enum TargetSpec {
    /// A block device or a file, by its name.
    Path(PathBuf),
    /// A block device or a file opened by a path other than its name, because the name may lead elsewhere now: for example a descriptor
    /// (`/proc/self/fd/5`) that the caller holds as long as the load goes on.
    Through {
        /// The name, for results and messages.
        name: PathBuf,
        /// The path that is opened.
        way: PathBuf,
        /// Identity that the device, or the file system of the file, must have, where it is known: nothing else is read or written.
        meant: Option<Meant>,
    },
    /// Nothing at all: I/Os end inside the process as soon as they are submitted.
    Null {
        /// Size that it pretends to have.
        bytes: Bytes,
    },
    /// Nothing real: a model in virtual time.
    Simulated(SimModel),
}

impl TargetSpec {
    /// Returns this target as the only one of a load.
    pub fn alone(self) -> Vec<Aim> {
        vec![Aim { target: self, share: Percent(100.0) }]
    }

    /// The name of a block device or a file, and the path by which it is opened.
    pub fn path(&self) -> Option<(&Path, &Path)> {
        match self {
            Self::Path(path) => Some((path, path)),
            Self::Through { name, way, .. } => Some((name, way)),
            Self::Null { .. } | Self::Simulated(_) => None,
        }
    }

    /// The identity that it must have, where it is known.
    pub(crate) fn meant(&self) -> Option<Meant> {
        if let Self::Through { meant, .. } = self { *meant } else { None }
    }

    /// Its name in results and messages.
    pub fn name(&self) -> String {
        match self {
            Self::Path(name) | Self::Through { name, .. } => name.display().to_string(),
            Self::Null { .. } => "null".to_owned(),
            Self::Simulated(_) => "simulated".to_owned(),
        }
    }
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
    /// The map in which written blocks are marked, where a caller asks for it.
    #[serde(skip)]
    pub surface: Option<WrittenMap>,
}

impl Default for SimModel {
    /// 1 GiB, 80 µs per read, 100 µs per write, 1 µs per block, 8 I/Os at once, ±20 %.
    fn default() -> Self {
        Self {
            bytes: Bytes(Bytes::GIB),
            read: Nanos(80_000),
            write: Nanos(100_000),
            per_block: Nanos(1_000),
            channels: 8,
            jitter: 0.2,
            surface: None,
        }
    }
}

/// A function that returns the CPU time so far of threads that are not the load's, as (user, kernel).
pub type ForeignCpu<'a> = &'a (dyn Fn() -> (Duration, Duration) + Sync);

/// The context of a load, which it shares with the rest of the program: clock, interrupt, CPU time of samplers.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The run's clock: real for a path, simulated for a model.
    pub clock: &'a Clock,
    /// The user's request to stop, if any.
    pub interrupt: &'a Interrupt,
    /// CPU time of sampler threads, to be left out of the load's.
    pub foreign_cpu: Option<ForeignCpu<'a>>,
}
