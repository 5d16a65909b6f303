//! What every block of a target must hold, computed from what was written: no memory for each block.
//!
//! Loads that write one operation in passes follow from seed and counts: the pattern is asked backwards which I/O of
//! which job went to an address last, and the content which id that I/O got. Only blocks where that does not hold
//! (writes that failed, what a state file says otherwise) are kept.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use content::{ContentId, Contents, Part, Source};
use workload::{LoadSpec, OpName, Pattern, Share, Stream};

use super::replay::{Lane, Replay};
use super::word::{UNCERTAIN, Word};

/// Passes of one load that are looked through for what a block held before.
const PASSES: u32 = 1000;
/// Jobs that are asked whether they went to an address.
const JOBS: u32 = 16;

/// One load on one target, asked backwards.
pub(crate) struct Layer {
    contents: Contents,
    jobs: Vec<Writer>,
    start: u64,
    end: u64,
    /// Passes that any job began.
    passes: u32,
    /// Bytes of a block, and blocks of an I/O.
    unit: u64,
    blocks: u64,
}

struct Writer {
    stream: Stream,
    source: Source,
    /// I/Os of a pass, and I/Os that were begun.
    share: u64,
    made: u64,
}

/// Whether a load like `spec` can be asked backwards, in blocks of `unit` bytes.
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

impl Layer {
    /// What `lane`, number `target` of `replay`, wrote; `None` when that cannot be asked backwards.
    pub(crate) fn of(replay: &Replay, target: usize, lane: &Lane) -> Option<Self> {
        let spec = &lane.spec;
        let unit = spec.content.unit();
        if !follows(spec, unit) {
            return None;
        }
        let blocks = lane.range.bytes / unit as u64;
        let part = Part { generator: target as u16, jobs: spec.jobs, blocks };
        let contents = Contents::new(&spec.content, replay.seed(), part).ok()?;
        let streams = Stream::for_jobs(spec, &lane.range, lane.seed);
        let writer = |((job, stream), &made): ((u32, Stream), &u64)| {
            let share = stream.pass_ios()?;
            Some(Writer { stream, source: contents.source(job), share, made })
        };
        let jobs: Vec<_> = (0..).zip(streams).zip(&lane.made).map(writer).collect::<Option<_>>()?;
        let passes = jobs.iter().map(|job| job.made.div_ceil(job.share.max(1))).max();
        let op: OpName = spec.ops.names().next()?;
        let size = spec.block_size_of(op).fixed()?.0;
        let (start, end) = (lane.range.start, lane.range.end());
        let (passes, blocks) = (passes.unwrap_or(0) as u32, size / unit as u64);
        Some(Self { jobs, start, end, passes, unit: unit as u64, blocks, contents })
    }

    /// Whether a load that has not begun writes no block twice: then its I/Os may end in any order.
    pub(crate) fn is_one_pass(lane: &Lane) -> bool {
        let streams = Stream::for_jobs(&lane.spec, &lane.range, lane.seed);
        let once = |stream: &Stream| {
            stream.total_ios().zip(stream.pass_ios()).is_some_and(|(all, pass)| all <= pass)
        };
        streams.iter().all(once)
    }

    /// The contents that the block at `offset` got, the last first.
    fn ids(&self, offset: u64) -> impl Iterator<Item = ContentId> + '_ {
        let inside = (self.start..self.end).contains(&offset);
        let passes = if inside { self.passes } else { 0 };
        (0..passes).rev().filter_map(move |pass| self.id_in(pass, offset))
    }

    /// The content that the block at `offset` got in a pass.
    fn id_in(&self, pass: u32, offset: u64) -> Option<ContentId> {
        let went = |job: &Writer| job.stream.index_in_pass(pass, offset);
        let (job, index) = self.jobs.iter().find_map(|job| Some((job, went(job)?)))?;
        let number = u64::from(pass) * job.share + index;
        if number >= job.made {
            return None;
        }
        let address = (offset - self.start) / self.unit;
        let within = if self.blocks == 1 { 0 } else { address % self.blocks };
        Some(job.source.id_of(number * self.blocks + within, address))
    }
}

/// All that was written to one target.
pub(crate) struct Known {
    blocks: usize,
    unit: u64,
    /// Loads before this one, the earliest first.
    earlier: Vec<Layer>,
    /// This load, when it has ended.
    own: OnceLock<Layer>,
    /// Blocks that `earlier` does not tell.
    others: HashMap<usize, Word>,
    /// Blocks that this load tried to write and may not have.
    failed: Mutex<HashSet<usize>>,
    any_failed: AtomicBool,
}

impl Known {
    pub(crate) fn new(
        (blocks, unit): (u64, usize),
        earlier: Vec<Layer>,
        others: HashMap<usize, Word>,
    ) -> Self {
        Self {
            blocks: blocks as usize,
            unit: unit as u64,
            earlier,
            own: OnceLock::new(),
            others,
            failed: Mutex::default(),
            any_failed: AtomicBool::new(false),
        }
    }

    /// Blocks that there are.
    pub(crate) fn len(&self) -> usize {
        self.blocks
    }

    /// This load has ended, and `layer` is what it wrote.
    pub(crate) fn ended(&self, layer: Layer) {
        // It ends once; what is there stays.
        let _ = self.own.set(layer);
    }

    /// Writes of these blocks failed, or never ended.
    #[cold]
    pub(crate) fn fail(&self, blocks: std::ops::Range<usize>) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).extend(blocks);
        self.any_failed.store(true, Ordering::Release);
    }

    fn has_failed(&self, block: usize) -> bool {
        self.any_failed.load(Ordering::Acquire)
            && self.failed.lock().unwrap_or_else(PoisonError::into_inner).contains(&block)
    }

    /// The content of `block` with who makes it, if that is known; or what else is known of it.
    #[inline]
    pub(crate) fn held(&self, block: usize) -> Result<(ContentId, &Contents), Word> {
        if self.has_failed(block) {
            return Err(Word::resting(UNCERTAIN));
        }
        let offset = block as u64 * self.unit;
        let of = |layer: &'_ Layer| layer.ids(offset).next();
        if let Some(own) = self.own.get()
            && let Some(id) = of(own)
        {
            return Ok((id, &own.contents));
        }
        if !self.others.is_empty()
            && let Some(word) = self.others.get(&block)
        {
            return Err(*word);
        }
        let mut earlier = self.earlier.iter().rev();
        earlier.find_map(|layer| Some((of(layer)?, &layer.contents))).ok_or(Word(0))
    }

    /// Whether `block` ever held the content of `id`.
    pub(crate) fn has_held(&self, block: usize, id: ContentId) -> bool {
        let offset = block as u64 * self.unit;
        let layers = self.own.get().into_iter().chain(&self.earlier);
        layers.flat_map(|layer| layer.ids(offset).take(PASSES as usize)).any(|held| held == id)
    }

    /// Blocks that are not what making all again would give.
    pub(crate) fn others(&self) -> Vec<(usize, Word)> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let own = |block: usize| {
            self.own.get().is_some_and(|own| own.ids(block as u64 * self.unit).next().is_some())
        };
        let left = self.others.iter().map(|(&block, &word)| (block, word));
        let left = left
            .filter(|(block, word)| !word.is_mapped() && !failed.contains(block) && !own(*block));
        let mut all: Vec<_> =
            failed.iter().map(|&block| (block, Word::resting(UNCERTAIN))).chain(left).collect();
        all.sort_unstable_by_key(|(block, _)| *block);
        all
    }
}
