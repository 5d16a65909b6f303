//! A load that is to be run, its targets, and the things it shares with the rest of the program.

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

/// One load: what to do, from which seed, to which target.
#[derive(Debug, Clone)]
pub struct Load {
    /// Operations, pattern, depth, content, when to stop.
    pub spec: LoadSpec,
    /// Everything random comes from it. Stages of one cell need seeds of their own: with the same seed a later
    /// one would write the content of an earlier one again.
    pub seed: Seed,
    /// The targets of the I/O: one or more of the same kind.
    pub targets: Vec<Aim>,
    /// Index of the stage in its cell, for the rows.
    pub stage: usize,
    /// Creates the target as a file of this size when it does not exist.
    pub may_create: Option<Bytes>,
    /// The records that are kept beyond counts and latencies.
    pub recording: Recording,
    /// The way to drive the target, when it was chosen before (once for all variants of an experiment). Otherwise the load's own `backend` says it,
    /// or a probe where that is `auto`.
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

    /// The seed of what goes to the target of that place: targets get contents and places of their own.
    pub(crate) fn seed_of(&self, target: usize) -> Seed {
        if target == 0 { self.seed } else { self.seed.derive(&format!("target {target}")) }
    }
}

/// One target of a load.
#[derive(Debug, Clone)]
pub struct Aim {
    /// The target.
    pub target: TargetSpec,
    /// Its part of the load's I/Os, in relation to the other targets'.
    pub share: Percent,
}

/// The target that the I/O goes to.
#[derive(Debug, Clone)]
pub enum TargetSpec {
    /// A block device or a file, by its name.
    Path(PathBuf),
    /// A block device or a file by another way than its name: past what the name may lead to by now, such as through a descriptor
    /// (`/proc/self/fd/5`) that the caller holds as long as the load goes on.
    Through {
        /// The name, for results and messages.
        name: PathBuf,
        /// The path that is opened.
        way: PathBuf,
        /// The device, or the file system of the file, that it has to be, where that is known: nothing else is read or written.
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
    /// This target alone.
    pub fn alone(self) -> Vec<Aim> {
        vec![Aim { target: self, share: Percent(100.0) }]
    }

    /// The name and the way of a block device or a file.
    pub fn path(&self) -> Option<(&Path, &Path)> {
        match self {
            Self::Path(path) => Some((path, path)),
            Self::Through { name, way, .. } => Some((name, way)),
            Self::Null { .. } | Self::Simulated(_) => None,
        }
    }

    /// The thing that it has to lead to, where that is known.
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
    /// The map that keeps which blocks were written, when somebody wants to know.
    #[serde(skip)]
    pub surface: Option<WrittenMap>,
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
            surface: None,
        }
    }
}

/// CPU time of threads that are not the load's, as (user, kernel), growing.
pub type ForeignCpu<'a> = &'a (dyn Fn() -> (Duration, Duration) + Sync);

/// The context of a load, which it shares with the rest of the program: clock, wish to stop, CPU time of samplers.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The run's clock: real for a path, simulated for a model.
    pub clock: &'a Clock,
    /// The wish to stop.
    pub interrupt: &'a Interrupt,
    /// CPU time of sampler threads, to be left out of the load's.
    pub foreign_cpu: Option<ForeignCpu<'a>>,
}
