//! The specification of a load.

use content::{ContentSpec, Durable};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Seed};

use crate::block_size::divisor;
use crate::deck;
use crate::sizes::Sizes;
use crate::{
    Arrival, Backend, BlockSize, Cpus, DepthUnit, Hot, Limit, OpName, Ops, Pattern, PerOperation,
    Portion, Rate, Share, Steady, SyncPolicy, Think, Verify,
};

/// A load as specified; the keys are those of a load stage in an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoadSpec {
    /// Operations and their shares.
    pub ops: Ops,
    /// Options of single operations that replace those of the load.
    #[serde(skip_serializing_if = "PerOperation::is_empty")]
    pub each: PerOperation,
    /// Pattern of all operations; without it, each operation has its own (random, or one after the other).
    pub pattern: Option<Pattern>,
    /// Places of the blocks that the pattern visits often; without it, the pattern's default.
    pub hot: Option<Hot>,
    /// Size of one I/O.
    pub block_size: BlockSize,
    /// I/Os start at multiples of this, counted from the start of the range; without it, at multiples of the greatest common divisor of the sizes.
    pub align: Option<Bytes>,
    /// The way in which jobs divide the work.
    pub share: Share,
    /// Workers.
    pub jobs: u32,
    /// The queue depth: I/Os in flight per job, or 4 KiB units.
    pub depth: u32,
    /// The unit that depth counts.
    pub depth_unit: DepthUnit,
    /// Smallest number of I/Os that are submitted together: the next ones are submitted only when so many are free.
    pub batch: u32,
    /// A pause of each job between I/Os.
    pub think: Option<Think>,
    /// Rate of an open loop: I/Os are meant to start at this rate, over all jobs, whatever the target does.
    pub rate: Option<Rate>,
    /// The kind of arrivals of an open loop.
    pub arrival: Arrival,
    /// Cap on a closed loop, over all jobs.
    pub limit: Option<Limit>,
    /// Time at the start that is left out of all figures.
    pub ramp: Option<Nanos>,
    /// Start of the used range; the start of the target if missing.
    pub offset: Option<Portion>,
    /// Length of the used range; up to the end of the target if missing.
    pub size: Option<Portion>,
    /// Stop after this time.
    pub duration: Option<Nanos>,
    /// Stop after this many bytes, over all jobs.
    pub bytes: Option<Bytes>,
    /// Stop after this many I/Os, over all jobs.
    pub ios: Option<u64>,
    /// Stop after this many passes over the range.
    pub passes: Option<u32>,
    /// Stop when a metric has settled.
    pub steady: Option<Steady>,
    /// Stop when more I/Os than this have failed.
    pub max_errors: Option<u64>,
    /// The means by which writes are made durable, and how often that happens.
    pub sync: Option<SyncPolicy>,
    /// The interface of the kernel that drives the target.
    pub backend: Backend,
    /// The CPUs that workers run on; without it, the kernel's choice.
    pub cpus: Option<Cpus>,
    /// The time at which written data is checked.
    pub verify: Verify,
    /// The content of the written data.
    pub content: ContentSpec,
    /// Tells whether the page cache is bypassed (O_DIRECT).
    pub direct: bool,
    /// Length of an interval row.
    pub interval: Nanos,
    /// Tells whether figures of each job are kept in addition to those of all jobs.
    pub per_job: bool,
    /// Tells whether a log of every I/O is kept.
    pub io_log: bool,
    /// Tells whether, with a stride, the last block of the range is visited too.
    pub last_block: bool,
    /// The seed of the hot places of a skewed pattern; the load's seed if missing. Two loads with the same one have the same hot places, whatever
    /// they write. Not a key that users write.
    #[serde(skip)]
    pub hot_seed: Option<units::Seed>,
}

impl Default for LoadSpec {
    fn default() -> Self {
        Self {
            ops: Ops::default(),
            each: PerOperation::default(),
            pattern: None,
            hot: None,
            block_size: BlockSize::default(),
            align: None,
            share: Share::default(),
            jobs: 1,
            depth: 32,
            depth_unit: DepthUnit::default(),
            batch: 1,
            think: None,
            rate: None,
            arrival: Arrival::default(),
            limit: None,
            ramp: None,
            offset: None,
            size: None,
            duration: None,
            bytes: None,
            ios: None,
            passes: None,
            steady: None,
            max_errors: None,
            sync: None,
            backend: Backend::default(),
            cpus: None,
            verify: Verify::default(),
            content: ContentSpec::default(),
            direct: true,
            interval: Nanos::from_secs(1),
            per_job: false,
            io_log: false,
            last_block: false,
            hot_seed: None,
        }
    }
}

impl LoadSpec {
    /// All operations that have figures: those of the mix, and `flush` where a cadence adds it.
    pub fn operations(&self) -> impl Iterator<Item = OpName> + '_ {
        let mixed = self.ops.names().any(|op| op == OpName::Flush);
        let added = self.sync.is_some_and(SyncPolicy::adds_flushes) && !mixed;
        self.ops.names().chain(added.then_some(OpName::Flush))
    }

    /// Tells whether it changes what the target holds: writes, discards or zeroes.
    pub fn writes(&self) -> bool {
        self.ops.names().any(OpName::changes)
    }

    /// Tells whether any data is checked.
    pub fn is_verified(&self) -> bool {
        self.verify != Verify::Off
    }

    /// Tells whether it moves bytes to the target, so that `content` matters.
    pub fn has_content(&self) -> bool {
        self.ops.names().any(OpName::is_write)
    }

    /// Number of 4 KiB blocks that it will write, over all jobs; `None` if that depends on the target or on time, or if it does not only write.
    pub fn written_blocks(&self) -> Option<u64> {
        if !self.ops.names().all(OpName::is_write)
            || self.duration.is_some()
            || self.steady.is_some()
        {
            return None;
        }
        let passes = u64::from(self.passes.unwrap_or(1));
        // A share of the target is not known here.
        let size = self.size.map_or(Some(None), |size| size.bytes().map(Some))?;
        let passed = size.map(|size| size.0.saturating_mul(passes));
        let counted = self.ios.map(|ios| ios.saturating_mul(self.largest_io().0));
        let bytes = [passed, self.bytes.map(|bytes| bytes.0), counted];
        Some(bytes.into_iter().flatten().min()? / 4096)
    }

    /// Returns the start of its range on a target of `target` bytes, and its length if the load gives one. Shares of the target are rounded down to a
    /// multiple of 4 KiB and of the alignment of the I/Os.
    pub fn range_in(&self, target: u64) -> (u64, Option<u64>) {
        let placed = self.placed().map(|op| self.align_of(op));
        let unit = placed.fold(4096, |all, one| all / divisor(all, one) * one);
        (
            self.offset.map_or(0, |offset| offset.bytes_of(target, unit)),
            self.size.map(|size| size.bytes_of(target, unit)),
        )
    }

    /// Returns the same load for a target of `target` bytes, with its range in bytes.
    #[must_use]
    pub fn in_bytes(mut self, target: u64) -> Self {
        let (offset, size) = self.range_in(target);
        self.offset = self.offset.map(|_| Bytes(offset).into());
        self.size = size.map(|size| Bytes(size).into());
        self
    }

    /// Returns how it makes writes durable, in the terms of the content.
    pub fn durable(&self) -> Option<Durable> {
        let sync = self.sync?;
        let every = u64::from(sync.every);
        if !sync.adds_flushes() {
            return Some(Durable::Fua { every });
        }
        let blocks = self.largest_io().0.div_ceil(content::BLOCK as u64);
        let ios = u64::from(self.jobs) * u64::from(self.depth_ios());
        Some(Durable::Flush {
            every_blocks: every.saturating_mul(blocks),
            in_flight_blocks: ios.saturating_mul(blocks),
        })
    }

    /// Tells whether each write is in stable storage when it ends.
    pub fn is_each_write_durable(&self) -> bool {
        matches!(self.durable(), Some(Durable::Fua { every: 1 }))
    }

    /// The largest I/O of all operations, bytes.
    pub fn largest_io(&self) -> Bytes {
        let placed = self.ops.names().filter(|op| op.has_place());
        placed.map(|op| self.block_size_of(op).largest()).max().unwrap_or_default()
    }

    /// I/Os in flight per job: `depth`, or the number of the largest I/Os that fit into that many units of 4 KiB, at least one.
    pub fn depth_ios(&self) -> u32 {
        match self.depth_unit {
            DepthUnit::Ios => self.depth,
            DepthUnit::Blocks4k => {
                let ios = u64::from(self.depth) * 4096 / self.largest_io().0.max(1);
                u32::try_from(ios).unwrap_or(u32::MAX).max(1)
            }
        }
    }

    /// Tells whether the choice of the driver is left to the engine.
    pub fn is_auto(&self) -> bool {
        self.backend == Backend::Auto
    }

    /// Tells whether the number of I/Os or bytes ends it; else only time, errors or a settled metric do.
    pub fn has_amount(&self) -> bool {
        self.bytes.is_some() || self.ios.is_some() || self.passes.is_some()
    }

    /// The block size of an operation.
    pub fn block_size_of(&self, op: OpName) -> &BlockSize {
        let block_size = self.each.of(op).and_then(|options| options.block_size.as_ref());
        block_size.unwrap_or(&self.block_size)
    }

    /// The pattern of an operation that has a place.
    pub fn pattern_of(&self, op: OpName) -> Pattern {
        let pattern = self.each.of(op).and_then(|options| options.pattern.as_ref());
        let unless = if op.is_random() { Pattern::Uniform } else { Pattern::Sequential };
        pattern.or(self.pattern.as_ref()).cloned().unwrap_or(unless)
    }

    /// Returns the alignment of the starts of an operation's I/Os, counted from the start of the range, bytes.
    pub fn align_of(&self, op: OpName) -> u64 {
        self.align.map_or_else(|| self.block_size_of(op).common(), |align| align.0.max(1))
    }

    /// Returns the layout of the hot blocks of an operation; contiguous if no block is hotter than another.
    pub fn hot_of(&self, op: OpName) -> Hot {
        self.hot.or(self.pattern_of(op).own_hot()).unwrap_or_default()
    }

    /// Operations that have a place and a size.
    pub(crate) fn placed(&self) -> impl Iterator<Item = OpName> + '_ {
        self.ops.names().filter(|op| op.has_place())
    }

    /// The first operation of the mix that shares one walk over the range with `op`: that is, the first with the same pattern, if neither has
    /// separate options.
    pub(crate) fn head_of(&self, op: OpName) -> OpName {
        let pattern = self.pattern_of(op);
        let same = |other: &OpName| {
            *other == op
                || (self.each.of(op).is_none()
                    && self.each.of(*other).is_none()
                    && self.pattern_of(*other) == pattern)
        };
        self.placed().find(same).unwrap_or(op)
    }

    /// Number of I/Os of one job after which the shares of operations and block sizes are exact, and again after each further such number.
    pub fn deck_len(&self) -> u64 {
        let steps = |share: f64| deck::steps(share).unwrap_or_default();
        let common =
            self.ops.shares().fold(0, |common, (_, share)| divisor(common, steps(share.0)));
        let cards = |op: OpName| {
            let shares = self.ops.shares().filter(|(other, _)| self.head_of(*other) == op);
            shares.map(|(_, share)| steps(share.0) / common.max(1)).sum::<u64>()
        };
        let all = self.ops.shares().map(|(_, share)| steps(share.0) / common.max(1)).sum::<u64>();
        let heads = self.placed().filter(|&op| self.head_of(op) == op);
        let decks = heads.map(|op| {
            let sizes = Sizes::new(self.block_size_of(op), self.align_of(op), Seed(0)).deck_len();
            sizes / divisor(sizes, cards(op)).max(1)
        });
        all * decks.fold(1, |decks, more| decks / divisor(decks, more).max(1) * more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_a_load_writes_are_known_where_neither_target_nor_time_decides() {
        let blocks = |text: &str| toml::from_str::<LoadSpec>(text).unwrap().written_blocks();
        let ops = "ops = { write = 100 }\nblock_size = \"64k\"\n";
        assert_eq!(blocks(&format!("{ops}size = \"1M\"")), Some(256));
        assert_eq!(blocks(&format!("{ops}size = \"1M\"\npasses = 3")), Some(768));
        assert_eq!(blocks(&format!("{ops}size = \"1M\"\npasses = 3\nios = 2")), Some(32));
        assert_eq!(blocks(&format!("{ops}size = \"1M\"\nduration = \"5s\"")), None);
        assert_eq!(blocks(ops), None);
        assert_eq!(blocks(&format!("{ops}size = \"50%\"\nios = 2")), None);
        assert_eq!(blocks("ops = { read = 50, write = 50 }\nsize = \"1M\""), None);
    }
}
