//! The fast check of a whole block that was read, in a load that changes nothing.
//!
//! After a system call little of the program is in the first-level cache, and every pointer costs a miss. So all data of a check lie in two cache
//! lines, except the block's table entry, which is prefetched before the read. The only verdict it gives is "right": any other block is checked again
//! by the [`WorkerVerifier`](super::worker_verifier::WorkerVerifier).

use content::{BlockCheck, Root};
use workload::divided;

use super::expected_blocks::ExpectedBlocks;
use super::verifier::Verifier;
use super::written_load::IdRun;

/// The source of the expected contents.
enum Expected {
    /// Consecutive ids, written in order.
    InOrder(IdRun),
    /// The table.
    Stored(ExpectedBlocks),
}

/// A block that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingRead {
    /// Its number; [`NONE`] when no block is being read.
    block: usize,
    /// The root of its expected content, where ids are consecutive.
    expected: Root,
}

/// The number that stands for no block.
const NONE: usize = usize::MAX;

impl PendingRead {
    pub(super) fn block(self) -> usize {
        self.block
    }
}

/// The check of a worker that only reads, on the one target of its load.
#[repr(align(64))]
pub(super) struct FastCheck {
    expected: Expected,
    block_check: BlockCheck,
    /// The pending read of each slot of the worker.
    pending: Box<[PendingRead]>,
    /// Number of reads that began here.
    begun: u64,
    /// Number of blocks that were right.
    right: u64,
}

impl FastCheck {
    /// The fast check of a worker with so many slots; `None` where blocks cannot be checked this way.
    pub(super) fn of(verifier: &Verifier, slots: usize) -> Option<Self> {
        let [area] = &verifier.targets[..] else { return None };
        let expectations = &area.table.expectations;
        let (expected, block_check) = match (expectations.stored(), expectations.as_computed()) {
            (Some(blocks), _) => {
                (Expected::Stored(blocks.clone()), verifier.known_contents.block_check()?)
            }
            (None, computed) => {
                let (id_run, block_check) = computed?.id_run()?;
                (Expected::InOrder(id_run), block_check)
            }
        };
        let pending = vec![PendingRead { block: NONE, expected: Root::default() }; slots];
        let fast_check =
            Self { expected, block_check, pending: pending.into(), begun: 0, right: 0 };
        (fast_check.block_check.unit() == verifier.unit()).then_some(fast_check)
    }

    /// Notes that a read of `slot` is about to be submitted; returns false if it does not read a whole block that can be checked here.
    #[inline]
    pub(super) fn begins(&mut self, slot: usize, offset: u64, length: u64) -> bool {
        let unit = self.block_check.unit() as u64;
        let (block, within) = divided(offset, unit);
        if within != 0 || length != unit {
            return false;
        }
        let (block, mut expected) = (block as usize, Root::default());
        match &self.expected {
            Expected::InOrder(id_run) => match id_run.id_at(offset) {
                Some(id) => expected = self.block_check.root_of(id),
                None => return false,
            },
            // A prefetch, not a load, which would delay the system call while the entry is fetched from memory.
            Expected::Stored(blocks) if block < blocks.len() => blocks.prefetch(block),
            Expected::Stored(_) => return false,
        }
        self.pending[slot] = PendingRead { block, expected };
        self.begun += 1;
        true
    }

    /// The block that `slot` has read, if its read began here.
    #[inline]
    pub(super) fn ended(&mut self, slot: usize) -> Option<PendingRead> {
        let pending = &mut self.pending[slot];
        let was = *pending;
        pending.block = NONE;
        (was.block != NONE).then_some(was)
    }

    /// Tells whether `bytes` are what that block must hold, and if so counts it as right.
    #[inline]
    pub(super) fn is_right(&mut self, pending: PendingRead, bytes: &[u8]) -> bool {
        if bytes.len() != self.block_check.unit() {
            return false;
        }
        let right = match &self.expected {
            Expected::InOrder(_) => self.block_check.grows(pending.expected, bytes),
            Expected::Stored(blocks) => {
                // Loaded before the block is compared, which hides its latency.
                let expected = blocks.load(pending.block);
                let tag = self.block_check.number(bytes).map(|number| blocks.width().tag(number));
                tag == Some(expected.tag()) && !expected.has_overlap()
            }
        };
        self.right += u64::from(right);
        right
    }

    /// Number of reads that began here.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Number of blocks that were right.
    pub(super) fn right(&self) -> u64 {
        self.right
    }
}
