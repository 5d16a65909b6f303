//! What load is asked for.

use content::{BLOCK, ContentSpec};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

use crate::deck::SHARE_STEPS;
use crate::order::Order;
use crate::{Ops, Pattern, Range, WorkloadError};

/// Most workers.
const MOST_JOBS: u32 = 1024;
/// Most I/Os in flight per worker: what an io_uring can hold.
const MOST_DEPTH: u32 = 32_768;
/// Sectors of the block layer: no I/O is smaller.
const SECTOR: u64 = 512;
/// The largest I/O.
const LARGEST: u64 = 64 * Bytes::MIB;

/// A load as asked for; keys are those of a load stage in an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoadSpec {
    /// Operations and their shares.
    pub ops: Ops,
    /// Pattern of all operations; without it, each has its own (random or one after the other).
    pub pattern: Option<Pattern>,
    /// Size of one I/O.
    pub block_size: Bytes,
    /// Workers.
    pub jobs: u32,
    /// I/Os in flight per worker.
    pub depth: u32,
    /// Where the used range of the target starts; its start when missing.
    pub offset: Option<Bytes>,
    /// Length of the used range; to the end of the target when missing.
    pub size: Option<Bytes>,
    /// Stop after this time.
    pub duration: Option<Nanos>,
    /// Stop after this many bytes, over all jobs.
    pub bytes: Option<Bytes>,
    /// Stop after this many passes over the range.
    pub passes: Option<u32>,
    /// What is written.
    pub content: ContentSpec,
    /// Past the page cache (O_DIRECT).
    pub direct: bool,
    /// Length of an interval row.
    pub interval: Nanos,
    /// With a stride: visit the last block of the range too.
    pub last_block: bool,
}

impl Default for LoadSpec {
    fn default() -> Self {
        Self {
            ops: Ops::default(),
            pattern: None,
            block_size: Bytes(4096),
            jobs: 1,
            depth: 32,
            offset: None,
            size: None,
            duration: None,
            bytes: None,
            passes: None,
            content: ContentSpec::default(),
            direct: true,
            interval: Nanos::from_secs(1),
            last_block: false,
        }
    }
}

impl LoadSpec {
    /// Whether this load makes sense on some target. The first mistake, with its key and what to do.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        self.validate_ops()?;
        self.validate_numbers()?;
        if self.duration.is_none() && self.bytes.is_none() && self.passes.is_none() {
            return Err(WorkloadError::NoStop);
        }
        if self.passes.is_some()
            && let Some(pattern) = self.patterns().find(|pattern| !pattern.has_passes())
        {
            return Err(WorkloadError::EndlessPass { pattern });
        }
        if self.last_block && !matches!(self.pattern, Some(Pattern::Strided { .. })) {
            return Err(WorkloadError::LastBlock);
        }
        if self.writes() {
            self.content.validate()?;
            if !self.content.is_plain() && !self.block_size.0.is_multiple_of(BLOCK as u64) {
                return Err(WorkloadError::ContentBlock { block_size: self.block_size });
            }
        }
        Ok(())
    }

    fn validate_ops(&self) -> Result<(), WorkloadError> {
        if self.ops.is_empty() {
            return Err(WorkloadError::NoOps);
        }
        for (op, share) in self.ops.shares() {
            let steps = share.0 * SHARE_STEPS;
            if steps < 0.5 || (steps - steps.round()).abs() > 1e-6 {
                return Err(WorkloadError::Share { op, share: share.0 });
            }
        }
        let sum = self.ops.shares().map(|(_, share)| share.0).sum::<f64>();
        if (sum - 100.0).abs() > 1e-6 {
            return Err(WorkloadError::ShareSum { sum });
        }
        Ok(())
    }

    fn validate_numbers(&self) -> Result<(), WorkloadError> {
        let numbers = [
            ("jobs", Some(u64::from(self.jobs))),
            ("depth", Some(u64::from(self.depth))),
            ("block_size", Some(self.block_size.0)),
            ("size", self.size.map(|n| n.0)),
            ("duration", self.duration.map(|n| n.0)),
            ("bytes", self.bytes.map(|n| n.0)),
            ("passes", self.passes.map(u64::from)),
            ("interval", Some(self.interval.0)),
        ];
        if let Some((key, _)) = numbers.into_iter().find(|(_, value)| *value == Some(0)) {
            return Err(WorkloadError::Zero { key });
        }
        let most = [
            ("jobs", u64::from(self.jobs), u64::from(MOST_JOBS)),
            ("depth", u64::from(self.depth), u64::from(MOST_DEPTH)),
            ("block_size", self.block_size.0, LARGEST),
        ];
        if let Some((key, value, most)) = most.into_iter().find(|(_, value, most)| value > most) {
            return Err(WorkloadError::TooMany { key, value, most });
        }
        let aligned = |key, value: Bytes, unit: u64| match value.0.is_multiple_of(unit) {
            true => Ok(()),
            false => Err(WorkloadError::Unaligned { key, value, unit: Bytes(unit) }),
        };
        aligned("block_size", self.block_size, SECTOR)?;
        aligned("offset", self.offset.unwrap_or_default(), SECTOR)?;
        aligned("bytes", self.bytes.unwrap_or_default(), self.block_size.0)
    }

    /// The part of a target of `target_bytes` bytes that this load uses. `logical_block` is the smallest I/O of the
    /// target, bytes (512 or 4096 for block devices).
    pub fn check_target(
        &self,
        target_bytes: u64,
        logical_block: u32,
    ) -> Result<Range, WorkloadError> {
        let unit = if self.direct { u64::from(logical_block.max(1)) } else { 1 };
        let (target, offset) = (Bytes(target_bytes), self.offset.unwrap_or_default());
        for (key, value) in [("block_size", self.block_size), ("offset", offset)] {
            if !value.0.is_multiple_of(unit) {
                return Err(WorkloadError::Unaligned { key, value, unit: Bytes(unit) });
            }
        }
        if self.offset.is_some() && offset.0 >= target_bytes {
            return Err(WorkloadError::Outside { key: "offset", value: offset, target });
        }
        let room = target_bytes - offset.0;
        let size = self.size.unwrap_or(Bytes(room));
        if size.0 > room {
            return Err(WorkloadError::Outside { key: "size", value: size, target });
        }
        let block_size = self.block_size.0.max(1);
        let range = Range { start: offset.0, blocks: size.0 / block_size, block_size };
        // Patterns that are split need a block for each job.
        let least = self.patterns().filter_map(|p| self.pass(p, range.blocks)).min();
        let places = least.unwrap_or(range.blocks);
        if range.blocks == 0 || (least.is_some() && places < u64::from(self.jobs)) {
            return Err(WorkloadError::TooSmall {
                range: size,
                blocks: places,
                block_size: self.block_size,
                jobs: self.jobs,
            });
        }
        Ok(range)
    }

    /// I/Os in one pass over a target of `target_bytes` bytes, all jobs together; `None` when the pattern has no
    /// passes, or the range does not fit.
    pub fn plan_blocks(&self, target_bytes: u64) -> Option<u64> {
        let range = self.check_target(target_bytes, 1).ok()?;
        self.patterns()
            .map(|pattern| self.pass(pattern, range.blocks))
            .try_fold(0, |longest: u64, pass| pass.map(|pass| longest.max(pass)))
    }

    /// Whether it writes.
    pub fn writes(&self) -> bool {
        self.ops.names().any(|op| op.is_write())
    }

    /// Patterns in use.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = Pattern> + '_ {
        self.ops.names().map(|op| self.pattern_of(op.is_random()))
    }

    pub(crate) fn pattern_of(&self, random: bool) -> Pattern {
        let own = if random { Pattern::Uniform } else { Pattern::Sequential };
        self.pattern.unwrap_or(own)
    }

    fn pass(&self, pattern: Pattern, blocks: u64) -> Option<u64> {
        pattern.has_passes().then(|| Order::pass(pattern, blocks, self.last_block))
    }
}
