//! The expected blocks of a target in memory, 4 bytes or 1 byte each.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicU8, AtomicU32};

use super::expected_block::{ExpectedBlock, FIRST, Tag};
use crate::error::{EngineError, ErrorKind};
use crate::memory::{self, SharedSlice};

/// Memory for each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Width {
    /// Four bytes: 16 bits distinguish contents, and the previous content is known.
    #[default]
    Four,
    /// One byte: one of 119 values distinguishes contents.
    One,
}

impl Width {
    /// The tag of the content whose root has this number. It is made from the root rather than the id, since the root is known after fewer AES
    /// rounds.
    #[inline]
    pub(crate) fn tag(self, number: u64) -> Tag {
        match self {
            Self::Four => ((number >> 48) as Tag).max(FIRST),
            Self::One => FIRST + (((number >> 32) * 119) >> 32) as Tag,
        }
    }
}

/// States of a one-byte entry: a write is in flight (a flag); writes overlap (a value).
const BUSY: u8 = 0x80;
const OVERLAP: u8 = 0x7f;

/// The expected blocks, shared by all workers. Zeroed memory, which the kernel allocates on first touch.
#[derive(Clone)]
pub(crate) enum ExpectedBlocks {
    Four(SharedSlice<AtomicU32>),
    One(SharedSlice<AtomicU8>),
}

impl ExpectedBlocks {
    pub(crate) fn new(width: Width, blocks: u64) -> Result<Self, EngineError> {
        Ok(match width {
            Width::Four => Self::Four(SharedSlice::new(zeroed(blocks)?)),
            Width::One => Self::One(SharedSlice::new(zeroed(blocks)?)),
        })
    }

    #[inline]
    pub(crate) fn width(&self) -> Width {
        match self {
            Self::Four(_) => Width::Four,
            Self::One(_) => Width::One,
        }
    }

    /// Number of blocks.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Four(words) => words.len(),
            Self::One(bytes) => bytes.len(),
        }
    }

    /// Memory that the blocks take, bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Four(words) => size_of_val(&words[..]),
            Self::One(bytes) => bytes.len(),
        }
    }

    /// Returns what `block` must hold.
    #[inline]
    pub(crate) fn load(&self, block: usize) -> ExpectedBlock {
        match self {
            Self::Four(words) => ExpectedBlock(words[block].load(Acquire)),
            Self::One(bytes) => decoded(bytes[block].load(Acquire)),
        }
    }

    /// Prefetches the entry of `block`.
    #[inline]
    pub(crate) fn prefetch(&self, block: usize) {
        match self {
            Self::Four(words) => words.get(block).into_iter().for_each(reduce::prefetch),
            Self::One(bytes) => bytes.get(block).into_iter().for_each(reduce::prefetch),
        }
    }

    /// Replaces `old` by `new`; returns false if the entry is no longer `old`.
    #[inline]
    pub(crate) fn swap(&self, block: usize, old: ExpectedBlock, new: ExpectedBlock) -> bool {
        match self {
            Self::Four(words) => {
                words[block].compare_exchange(old.0, new.0, AcqRel, Acquire).is_ok()
            }
            Self::One(bytes) => {
                bytes[block].compare_exchange(encoded(old), encoded(new), AcqRel, Acquire).is_ok()
            }
        }
    }

    /// Stores `new`, whatever was there.
    pub(crate) fn store(&self, block: usize, new: ExpectedBlock) {
        match self {
            Self::Four(words) => words[block].store(new.0, Release),
            Self::One(bytes) => bytes[block].store(encoded(new), Release),
        }
    }
}

#[inline]
fn decoded(byte: u8) -> ExpectedBlock {
    if byte == OVERLAP {
        return ExpectedBlock(0).with_overlap().with_changes(0);
    }
    let at_rest = ExpectedBlock::at_rest(Tag::from(byte & !BUSY));
    if byte & BUSY == 0 {
        at_rest
    } else {
        at_rest.begun(at_rest.tag()).with_changes(0).without_previous()
    }
}

#[inline]
fn encoded(word: ExpectedBlock) -> u8 {
    if word.has_overlap() {
        return OVERLAP;
    }
    word.tag() as u8 | if word.is_busy() { BUSY } else { 0 }
}

/// Returns `count` numbers, all 0, for what verification knows about blocks.
pub(super) fn zeroed<T: memory::Zeroable>(count: u64) -> Result<Box<[T]>, EngineError> {
    memory::zeroed(count).ok_or_else(|| {
        EngineError::new(
            ErrorKind::Environment,
            format!(
                "Verification needs {} bytes of memory, which are not available",
                count * size_of::<T>() as u64
            ),
            "use a smaller range, or 1 byte per block",
        )
    })
}
