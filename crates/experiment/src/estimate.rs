//! What a plan will take: time, I/Os, bytes. Estimates for people and for the check of free space; they
//! decide nothing else.

use units::{Bytes, Nanos};
use workload::LoadSpec;

use crate::plan::StagePlan;
use crate::stacks::Built;

/// I/Os per second that an estimate assumes where a load ends by its amount, not by its duration: what
/// dm-vdo did in an emulated guest, so that a real machine is done sooner.
pub(crate) const ASSUMED_IOPS: u64 = 8_000;
/// Raising a stack, waiting for it, and taking it down.
const STACK: Nanos = Nanos::from_secs(6);

/// I/Os of a load that ends by bytes or passes.
pub(crate) fn ios(spec: &LoadSpec, target: Bytes) -> Option<u64> {
    let by_bytes = spec.bytes.map(|bytes| bytes.0 / spec.block_size.0.max(1));
    let by_passes =
        spec.passes.and_then(|n| spec.plan_blocks(target.0).map(|blocks| blocks * u64::from(n)));
    [by_bytes, by_passes].into_iter().flatten().min()
}

/// About how long a load takes.
pub(crate) fn load(spec: &LoadSpec, target: Bytes) -> Nanos {
    let by_ios = ios(spec, target).map(|ios| Nanos(ios * Nanos::PER_SECOND / ASSUMED_IOPS));
    [spec.duration, by_ios].into_iter().flatten().min().unwrap_or_default()
}

/// About how long a cell takes.
pub(crate) fn cell(stages: &[StagePlan]) -> Nanos {
    Nanos(STACK.0 + stages.iter().map(|s| s.about.0).sum::<u64>())
}

/// The most that a cell stores on a device of `size`: what it writes, and room for metadata.
pub(crate) fn stored(stack: &Built, stages: &[StagePlan], size: Bytes) -> Bytes {
    let written: u64 = stages
        .iter()
        .map(|stage| stage.ios.map_or(stack.bytes.0, |ios| ios * stage.load.block_size.0))
        .sum();
    Bytes((written + written / 4 + 512 * Bytes::MIB).min(size.0))
}
