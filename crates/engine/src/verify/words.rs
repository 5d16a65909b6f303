//! Words of all blocks of a target, in 4 bytes or in 1 byte each.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicU8, AtomicU32};

use super::cells::zeroed;
use super::word::{FIRST, Tag, Word};
use crate::error::EngineError;
use crate::memory::Shared;

/// Bytes of state per block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Width {
    /// Four: contents are told apart by 16 bits, and what was there before is known.
    #[default]
    Four,
    /// One: contents are told apart by one value in 119.
    One,
}

impl Width {
    /// The tag of the content whose root has this number: a block tells it sooner than its id.
    #[inline]
    pub(crate) fn tag(self, number: u64) -> Tag {
        match self {
            Self::Four => ((number >> 48) as Tag).max(FIRST),
            Self::One => FIRST + (((number >> 32) * 119) >> 32) as Tag,
        }
    }
}

/// In one byte: a write is in flight; see the list of overlaps.
const BUSY: u8 = 0x80;
const MAPPED: u8 = 0x7f;

/// The words, which all that hold them share. Zero-filled memory, which the kernel gives when it is first touched.
#[derive(Clone)]
pub(crate) enum Words {
    Four(Shared<AtomicU32>),
    One(Shared<AtomicU8>),
}

impl Words {
    pub(crate) fn new(width: Width, blocks: u64) -> Result<Self, EngineError> {
        Ok(match width {
            Width::Four => Self::Four(Shared::new(zeroed(blocks)?)),
            Width::One => Self::One(Shared::new(zeroed(blocks)?)),
        })
    }

    #[inline]
    pub(crate) fn width(&self) -> Width {
        match self {
            Self::Four(_) => Width::Four,
            Self::One(_) => Width::One,
        }
    }

    /// Blocks that there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Four(words) => words.len(),
            Self::One(bytes) => bytes.len(),
        }
    }

    /// Bytes that they take.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Four(words) => size_of_val(&words[..]),
            Self::One(bytes) => bytes.len(),
        }
    }

    /// The word of `block`.
    #[inline]
    pub(crate) fn load(&self, block: usize) -> Word {
        match self {
            Self::Four(words) => Word(words[block].load(Acquire)),
            Self::One(bytes) => decoded(bytes[block].load(Acquire)),
        }
    }

    /// Has the processor fetch the word of `block`, and waits for nothing.
    #[inline]
    pub(crate) fn expect(&self, block: usize) {
        match self {
            Self::Four(words) => words.get(block).into_iter().for_each(reduce::prefetch),
            Self::One(bytes) => bytes.get(block).into_iter().for_each(reduce::prefetch),
        }
    }

    /// Puts `new` in place of `old`; false when something else stands there.
    #[inline]
    pub(crate) fn swap(&self, block: usize, old: Word, new: Word) -> bool {
        match self {
            Self::Four(words) => {
                words[block].compare_exchange(old.0, new.0, AcqRel, Acquire).is_ok()
            }
            Self::One(bytes) => {
                bytes[block].compare_exchange(encoded(old), encoded(new), AcqRel, Acquire).is_ok()
            }
        }
    }

    /// Puts `new` there, whatever stands there.
    pub(crate) fn store(&self, block: usize, new: Word) {
        match self {
            Self::Four(words) => words[block].store(new.0, Release),
            Self::One(bytes) => bytes[block].store(encoded(new), Release),
        }
    }
}

#[inline]
fn decoded(byte: u8) -> Word {
    if byte == MAPPED {
        return Word(0).mapped().with_changes(0);
    }
    let resting = Word::resting(Tag::from(byte & !BUSY));
    if byte & BUSY == 0 {
        resting
    } else {
        resting.begun(resting.tag()).with_changes(0).forgetful()
    }
}

#[inline]
fn encoded(word: Word) -> u8 {
    if word.is_mapped() {
        return MAPPED;
    }
    word.tag() as u8 | if word.is_busy() { BUSY } else { 0 }
}
