//! Estimates of the time, I/Os and bytes that a plan takes, for people and for the check of free space. They decide nothing else but how often the
//! catalogue runs an experiment.

use results::model::StageData;
use units::{Bytes, Nanos};
use workload::LoadSpec;

use plan::{StagePlan, Task};

/// I/Os per second that an estimate assumes where a load ends by its amount, not by its duration: what
/// dm-vdo did in an emulated guest, so that a real machine is done sooner.
pub(crate) const ASSUMED_IOPS: u64 = 8_000;
/// Bytes per second that it assumes: large I/Os are not done sooner than this.
const ASSUMED_BYTES_PER_S: u64 = 200 << 20;
/// Units per second that an estimate assumes a layer allocates: each unit takes separate writes, and dm-vdo in an emulated guest allocated 600 to 960
/// leaves of its block map per second.
const ALLOCATED_PER_S: u64 = 800;
/// Raising a stack, waiting for it, and taking it down.
const STACK: Nanos = Nanos::from_secs(6);

/// About how long a load takes.
pub(crate) fn load(spec: &LoadSpec, target: Bytes) -> Nanos {
    let by_amount = spec.plan(target.0).map(|all| amount(all.ios, Bytes(all.bytes)));
    [spec.duration, by_amount].into_iter().flatten().min().unwrap_or_default()
}

/// About how long this many I/Os and bytes take.
pub(crate) fn amount(ios: u64, bytes: Bytes) -> Nanos {
    let at = |n: u64, per_s: u64| n as f64 / per_s as f64 * Nanos::PER_SECOND as f64;
    Nanos(at(ios, ASSUMED_IOPS).max(at(bytes.0, ASSUMED_BYTES_PER_S)) as u64)
}

/// About how long it takes to allocate this many units of a layer.
pub(crate) fn allocation(units: u64) -> Nanos {
    Nanos(units.saturating_mul(Nanos::PER_SECOND) / ALLOCATED_PER_S).max(Nanos::from_secs(1))
}

/// About how long a cell takes.
pub(crate) fn cell(stages: &[StagePlan]) -> Nanos {
    Nanos(STACK.0 + stages.iter().map(|s| s.about.0).sum::<u64>())
}

/// The most bytes that a stage writes.
fn written(stage: &StagePlan) -> u64 {
    match &stage.task {
        Task::Load(spec) if spec.writes() => {
            // A range that is written again and again holds no more than itself.
            let all = || stage.aims.iter().map(|aim| aim.room(Some(spec))).sum();
            stage.bytes.map_or_else(all, |bytes| bytes.0)
        }
        Task::Load(_) => 0,
        Task::Copy(copy) => copy.bytes.0,
        Task::Fill(fill) if !fill.by.writes() => 0,
        // Not known beforehand: at most the target becomes full.
        Task::Fill(_) | Task::Command(_) | Task::Tree(_) | Task::Age(_) => {
            stage.target.offer.bytes()
        }
        Task::Steps(_) => match stage.traits.data {
            StageData::Nothing => 0,
            _ => stage.target.offer.bytes(),
        },
    }
}

/// The most that a cell stores on a device of `size`: what it writes, and room for metadata.
pub(crate) fn stored(stages: &[StagePlan], size: Bytes) -> Bytes {
    let written: u64 = stages.iter().map(written).sum();
    Bytes((written + written / 4 + 512 * Bytes::MIB).min(size.0))
}
