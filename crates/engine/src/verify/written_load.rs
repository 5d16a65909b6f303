//! The writes of one load to one target, inverted: from an address to the content that it got in a pass.

use content::{ContentId, Contents, Part, Source};
use workload::{LoadSpec, OpName, Pattern, Share, Stream, divided};

use super::replay::{Replay, TargetLoad};

/// Number of loads that are kept although a later one overwrote everything they wrote.
pub(super) const KEPT: usize = 4;

/// Most jobs of a load whose writes are inverted: each address is looked up in all of them.
const JOBS: u32 = 16;

/// The writes of one load on one target.
pub(crate) struct WrittenLoad {
    pub(crate) contents: Contents,
    jobs: Vec<JobWrites>,
    start: u64,
    end: u64,
    /// Number of passes that any job began.
    passes: u32,
    /// Bytes per block, and (in the next field) blocks per I/O.
    unit: u64,
    blocks: u64,
}

struct JobWrites {
    stream: Stream,
    source: Source,
    /// I/Os per pass, and (in the next field) I/Os that were begun.
    share: u64,
    made: u64,
}

/// Tells whether the writes of `spec` can be inverted, in blocks of `unit` bytes.
pub(crate) fn follows(spec: &LoadSpec, unit: usize) -> bool {
    let mut ops = spec.ops.names();
    let (Some(op), None) = (ops.next(), ops.next()) else { return false };
    let walked = matches!(
        spec.pattern_of(op),
        Pattern::Sequential | Pattern::Interleaved { .. } | Pattern::Permutation
    );
    let size = spec.block_size_of(op).fixed().map_or(0, |size| size.0);
    op.is_write()
        && walked
        && size > 0
        && size.is_multiple_of(unit as u64)
        && spec.align_of(op) == size
        && spec.content.unit() == unit
        && spec.jobs <= JOBS
        && (spec.jobs == 1 || matches!(spec.share, Share::Split | Share::Parts))
}

/// Tells whether every job of `target_load` made at least one whole pass, over a range without gaps.
fn covers(target_load: &TargetLoad, unit: usize) -> bool {
    let spec = &target_load.spec;
    let streams = Stream::for_jobs(spec, &target_load.range, target_load.seed);
    let whole = |(stream, &made): (&Stream, &u64)| stream.pass_ios().is_some_and(|all| made >= all);
    let size = spec.ops.names().next().and_then(|op| spec.block_size_of(op).fixed());
    follows(spec, unit)
        && size.is_some_and(|size| target_load.range.bytes.is_multiple_of(size.0))
        && target_load.made.len() == streams.len()
        && streams.iter().zip(&target_load.made).all(whole)
}

/// Tells whether `target_load` wrote every block of a target of `size` bytes.
pub(crate) fn covers_all(target_load: &TargetLoad, size: u64, unit: u64) -> bool {
    let range = &target_load.range;
    range.start == 0 && range.bytes + unit > size && covers(target_load, unit as usize)
}

impl WrittenLoad {
    /// Returns the writes of `target_load`, which is number `target` of `replay`; `None` if they cannot be inverted.
    pub(crate) fn of(replay: &Replay, target: usize, target_load: &TargetLoad) -> Option<Self> {
        let spec = &target_load.spec;
        let unit = spec.content.unit();
        if !follows(spec, unit) {
            return None;
        }
        let blocks = target_load.range.bytes / unit as u64;
        let part = Part { generator: target as u16, jobs: spec.jobs, blocks };
        let contents = Contents::new(&spec.content, replay.seed(), part).ok()?;
        let streams = Stream::for_jobs(spec, &target_load.range, target_load.seed);
        let job_writes = |((job, stream), &made): ((u32, Stream), &u64)| {
            let share = stream.pass_ios()?;
            Some(JobWrites { stream, source: contents.source(job), share, made })
        };
        let jobs: Vec<_> =
            (0..).zip(streams).zip(&target_load.made).map(job_writes).collect::<Option<_>>()?;
        let passes = jobs.iter().map(|job| job.made.div_ceil(job.share.max(1))).max();
        let op: OpName = spec.ops.names().next()?;
        let size = spec.block_size_of(op).fixed()?.0;
        let (start, end) = (target_load.range.start, target_load.range.end());
        let (passes, blocks) = (passes.unwrap_or(0) as u32, size / unit as u64);
        Some(Self { jobs, start, end, passes, unit: unit as u64, blocks, contents })
    }

    /// Its writes as a run of ids if one job wrote them in a single sequential pass with consecutive ids.
    pub(crate) fn id_run(&self) -> Option<IdRun> {
        let ([job], 1) = (&self.jobs[..], self.passes) else { return None };
        let ((start, size), first) = job.stream.contiguous_run().zip(job.source.row())?;
        let end = (start + job.made.min(job.share) * size).min(self.end);
        Some(IdRun { start, end, unit: self.unit, first })
    }

    /// Tells whether a load writes no block twice, so that its I/Os may end in any order.
    pub(crate) fn is_one_pass(target_load: &TargetLoad) -> bool {
        let streams = Stream::for_jobs(&target_load.spec, &target_load.range, target_load.seed);
        let once = |stream: &Stream| {
            stream.total_ios().zip(stream.pass_ios()).is_some_and(|(all, pass)| all <= pass)
        };
        streams.iter().all(once)
    }

    /// The contents that the block at `offset` got, the last one first.
    #[inline]
    pub(crate) fn ids(&self, offset: u64) -> impl Iterator<Item = ContentId> + '_ {
        let inside = (self.start..self.end).contains(&offset);
        let passes = if inside { self.passes } else { 0 };
        (0..passes).rev().filter_map(move |pass| self.id_in(pass, offset))
    }

    /// The content that the block at `offset` got in a pass.
    #[inline]
    fn id_in(&self, pass: u32, offset: u64) -> Option<ContentId> {
        let went = |job: &JobWrites| job.stream.index_in_pass(pass, offset);
        let (job, index) = self.jobs.iter().find_map(|job| Some((job, went(job)?)))?;
        let number = u64::from(pass) * job.share + index;
        if number >= job.made {
            return None;
        }
        let (address, _) = divided(offset - self.start, self.unit);
        let (_, within) = divided(address, self.blocks);
        Some(job.source.id_of(number * self.blocks + within, address))
    }
}

/// A stretch of a target whose blocks have consecutive content ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdRun {
    start: u64,
    end: u64,
    /// Bytes of a block.
    unit: u64,
    /// The content of its first block.
    first: ContentId,
}

impl IdRun {
    /// The content of the block at `offset` if the run has that block.
    #[inline]
    pub(crate) fn id_at(&self, offset: u64) -> Option<ContentId> {
        let inside = offset >= self.start && offset + self.unit <= self.end;
        inside.then(|| ContentId(self.first.0 + divided(offset - self.start, self.unit).0))
    }
}
