//! Upper bounds of caches' hit rates in measured loads, and the least time to reach them, both known before anything runs.

use disk::Shape;
use disk::bench::Load;
use layers::Place;
use results::model::CacheBound;
use workload::{BestHits, LoadSpec};

use crate::planned::devices::Devices;
use crate::planned::graph::StackPlan;
use plan::{PlacedLayer, StagePlan};

/// Largest number of reads that measure the speed of a modelled disk.
const READS: u64 = 400;

/// Returns the bounds of the caches that a measured load goes to.
pub(crate) fn of(stage: &StagePlan, stack: &StackPlan, devices: &Devices) -> Vec<CacheBound> {
    let ([aim], true) = (&stage.aims[..], stage.measured) else { return Vec::new() };
    let Some(load) = stage.load().filter(|_| aim.files.is_none()) else { return Vec::new() };
    let layers = stack.layers.iter().filter(|layer| layer.name == aim.target.name);
    layers.filter_map(|layer| bound(layer, load, aim.room(None), devices)).collect()
}

fn bound(
    placed: &PlacedLayer,
    load: &LoadSpec,
    target: u64,
    devices: &Devices,
) -> Option<CacheBound> {
    let layer = (layers::kind(&placed.kind)?.parse)(&placed.settings).ok()?;
    // Only sizes matter here; the tag is a dummy.
    let place = Place { name: &placed.name, run_tag: "00000000", inputs: &placed.inputs };
    let room = layer.holds(&place)?;
    let best = load.best_hits(target, room.bytes, room.chunk_bytes)?;
    let finest = room.finest_bytes.and_then(|bytes| {
        let best = load.best_hits(target, room.bytes, bytes)?;
        Some((bytes, best.percent))
    });
    let origin = placed.inputs.get(room.origin)?;
    let warm_up_ns = reads_per_s((origin.path(), origin.bytes()), load, &best, devices)
        .map(|rate| (best.chunks as f64 / rate * 1e9) as u64);
    Some(CacheBound {
        layer: placed.name.clone(),
        percent: best.percent,
        chunk_bytes: best.chunk_bytes,
        chunks: best.chunks,
        warm_up_ns,
        finest,
    })
}

/// Returns how many chunks per second the modelled disk of `bytes` bytes at `path` reads at random, within the range of the load and at its
/// depth; `None` if it is not a modelled disk, or has faults.
fn reads_per_s(
    (path, bytes): (&str, u64),
    load: &LoadSpec,
    best: &BestHits,
    devices: &Devices,
) -> Option<f64> {
    let role = path.strip_prefix("{device.")?.strip_suffix('}')?;
    let model = devices.models.get(role).filter(|model| model.faults.is_empty())?;
    let chunk = best.chunk_bytes;
    let range = load.range_in(bytes).1.unwrap_or(bytes).clamp(chunk, bytes.max(chunk));
    let shape = Shape::Random(range as f64 / bytes.max(1) as f64);
    let depth = load.jobs.saturating_mul(load.depth_ios()).clamp(1, 1024);
    let most = best.chunks.clamp(1, READS);
    let reads = Load { most, ..Load::of(disk::Op::Read, shape, chunk, depth) };
    let reached = disk::bench::run(&model.like.profile().ok()?, bytes, &reads);
    (reached.iops > 0.0).then_some(reached.iops)
}
