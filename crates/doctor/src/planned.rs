//! The stages of a plan as rules see them.

use layers::{OperationKind, Order, PlannedLoad, PlannedOperation, PlannedStage};
use results::model::{StageFacts, VariantFacts};
use workload::{LoadSpec, OpKind, OpName, Pattern, Portion, Rate};

/// A block of the layers that rules know, bytes.
const BLOCK: u64 = 4096;

/// The stages of a variant as planned.
pub(crate) fn stages(variant: &VariantFacts) -> Vec<PlannedStage> {
    let reduces = layers::any_reduces(variant.stack.iter().map(|layer| layer.layer.as_str()));
    variant.stages.iter().map(|facts| stage(facts, reduces)).collect()
}

/// Returns a stage as planned; `reduces` tells whether its stack deduplicates and packs what is written. A load that this version cannot read counts
/// as none.
fn stage(facts: &StageFacts, reduces: bool) -> PlannedStage {
    let spec = [&facts.load, &facts.rounds].into_iter().find(|load| load.is_object());
    let spec = spec.and_then(|load| serde_json::from_value::<LoadSpec>(load.clone()).ok());
    PlannedStage {
        name: facts.name.clone(),
        data: facts.traits().data,
        measured: facts.measured,
        load: spec.map(|spec| load(&spec, facts, reduces)),
        targets: facts.targets.iter().map(|target| target.name.clone()).collect(),
        synced: facts.synced,
        swept: facts.sweep.is_some(),
        bounds: facts.caches.clone(),
    }
}

fn load(spec: &LoadSpec, facts: &StageFacts, reduces: bool) -> PlannedLoad {
    let content = &spec.content;
    let expected = content.expected();
    let blocks = spec.largest_io().0.div_ceil(BLOCK);
    let ios = u64::from(spec.jobs) * u64::from(spec.depth_ios());
    let known = |portion: Option<Portion>| portion.and_then(Portion::bytes).map(|bytes| bytes.0);
    let (offset, size) = match facts.target_bytes {
        Some(target) => spec.range_in(target),
        None => (known(spec.offset).unwrap_or(0), known(spec.size)),
    };
    let whole = facts.target_bytes.map(|bytes| bytes.saturating_sub(offset));
    // I/Os of a mix are not all writes.
    let only_writes = spec.ops.names().all(OpName::is_write);
    let planned = facts.io_bytes.map(|bytes| bytes / BLOCK).filter(|_| only_writes);
    PlannedLoad {
        operations: spec
            .ops
            .names()
            .filter(|op| op.has_place())
            .map(|op| operation(spec, op))
            .collect(),
        range_bytes: size.or(whole),
        offset,
        blocks_in_flight: ios.saturating_mul(blocks),
        ios_in_flight: ios,
        depth: u64::from(spec.depth),
        written_blocks: spec.written_blocks().or(planned),
        until_steady: spec.steady.is_some(),
        steady_window_s: spec.steady.map(|steady| steady.window.0 as f64 / 1e9),
        most_written_per_s: most_per_s(spec).filter(|_| only_writes),
        interval_ns: spec.interval.0,
        direct: spec.direct,
        sync_every: spec.sync.map(|sync| sync.every),
        dedupe_percent: content.dedupe.0,
        zero_percent: expected.zero_percent,
        compress: content.compress.to_string(),
        compresses: expected.lz4_saving_percent > 0.0,
        lz4_bytes: Some(expected.lz4_size_mean_bytes),
        fragments_per_block: Some(expected.fragments_per_block),
        alike: expected.alike,
        doubts: if spec.has_content() { doubts(spec, reduces) } else { Vec::new() },
    }
}

/// Returns the most bytes per second that its rate and its limit allow.
fn most_per_s(spec: &LoadSpec) -> Option<f64> {
    let io = spec.largest_io().0 as f64;
    let of_ios = |thousandths: u64| thousandths as f64 / 1000.0 * io;
    let rate = spec.rate.map(|rate| match rate {
        Rate::Ios(thousandths) => of_ios(thousandths),
        Rate::Bytes(bytes) => bytes.0 as f64,
    });
    let limit = spec.limit.unwrap_or_default();
    let limits = [rate, limit.ios.map(of_ios), limit.bytes.map(|bytes| bytes.0 as f64)];
    limits.into_iter().flatten().min_by(f64::total_cmp)
}

fn operation(spec: &LoadSpec, op: OpName) -> PlannedOperation {
    PlannedOperation {
        name: op.name().to_owned(),
        does: match op.kind() {
            OpKind::Read => OperationKind::Reads,
            OpKind::Write => OperationKind::Writes,
            OpKind::Discard => OperationKind::Discards,
            OpKind::WriteZeroes | OpKind::Flush => OperationKind::Other,
        },
        size_unit: spec.block_size_of(op).common(),
        align: spec.align_of(op),
        order: match spec.pattern_of(op) {
            Pattern::Sequential | Pattern::Interleaved { .. } | Pattern::Strided { .. } => {
                Order::InOrder
            }
            Pattern::Uniform | Pattern::Permutation => Order::Even,
            Pattern::Single { .. } => Order::OneBlock,
            _ => Order::Skewed,
        },
    }
}

/// Returns doubts about the content of a load, in sentences; the load's flushes and length are considered too.
fn doubts(spec: &LoadSpec, reduces: bool) -> Vec<String> {
    let content = &spec.content;
    let flushes = spec.durable().and_then(|durable| content.flush_warning(durable));
    let short = spec.written_blocks().and_then(|n| content.length_warning(n, spec.jobs));
    let all = content.warnings().into_iter().chain(flushes).chain(short);
    let warnings = all.filter(|warning| reduces || !warning.is_of_reduction());
    warnings.map(|warning| warning.to_string()).collect()
}
