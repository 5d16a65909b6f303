//! Making blocks from their roots.
//!
//! Whoever asks for a block has little to do between its stores and those of the block before, and every register that a function saves
//! is one more store among them. So the usual way, random bytes and then zeros, is a chain of calls that end in calls, and all else
//! stands in functions of its own.

use super::{BATCH, COUNTERS, Generator, LAST, Lane, Layout, Path, Root, portable};
#[cfg(target_arch = "x86_64")]
use super::{aesni, vaes256, vaes512};
use crate::ContentId;

impl Generator {
    /// Fills `block`, of any length, with the bytes of `id`. The zero content gives zeros whatever the layout says.
    #[inline]
    pub fn fill(self, id: ContentId, layout: Layout, block: &mut [u8]) {
        if id == ContentId::ZERO {
            return self.store(0, block);
        }
        let mut root = [Root::default()];
        self.roots(&[id], &mut root);
        self.grow(&root[0], &layout, block);
    }

    /// Fills `block`, of any length, with what grows from `root`.
    #[inline]
    pub(crate) fn grow(self, root: &Root, layout: &Layout, block: &mut [u8]) {
        match layout.head_of(block.len()) {
            Some(random) => self.grow_head(root, random, block),
            None => self.grow_runs(root, layout, block),
        }
    }

    /// The same of `random` bytes, or of all where there are fewer, and zeros.
    #[inline]
    pub(crate) fn grow_head(self, root: &Root, random: usize, block: &mut [u8]) {
        self.fill_run(root, 0, block, random.min(block.len()));
    }

    #[inline(never)]
    fn grow_runs(self, root: &Root, layout: &Layout, block: &mut [u8]) {
        for (at, random, zeros) in layout.runs(block.len()) {
            self.fill_run(root, at, &mut block[at..at + random + zeros], random);
        }
    }

    /// Stores `value` into every byte, by the widest instructions of the path: the limit of what a fill can reach.
    #[inline]
    pub fn store(self, value: u8, bytes: &mut [u8]) {
        match self.path {
            #[cfg(target_arch = "x86_64")]
            Path::AesNi => aesni::store(value, bytes),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes256 => vaes256::store(value, bytes),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes512 => vaes512::store(value, bytes),
            _ => bytes.fill(value),
        }
    }

    /// One run, which starts `at` bytes into the block.
    #[inline]
    fn fill_run(self, root: &Root, at: usize, bytes: &mut [u8], random: usize) {
        match self.path {
            #[cfg(target_arch = "x86_64")]
            Path::AesNi => aesni::fill_run(root, at, bytes, random),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes256 => vaes256::fill_run(root, at, bytes, random),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes512 => vaes512::fill_run(root, at, bytes, random),
            _ => portable::fill_run(root, at, bytes, random),
        }
    }
}

/// One run, which starts `at` bytes into the block: whole batches from `make`, which is told the number of their first counter, then
/// zeros from `clear`.
#[inline(always)]
pub(super) fn fill_run(
    at: usize,
    bytes: &mut [u8],
    random: usize,
    make: impl Fn(u64, &mut [[u8; BATCH]]),
    clear: impl Fn(&mut [u8]),
) {
    let Some(whole) = bytes.get_mut(..random.next_multiple_of(BATCH)) else {
        return fill_short(at, bytes, random, make);
    };
    make(counter(at), whole.as_chunks_mut().0);
    end_before_zeros(at, bytes, random);
    // Not first, though they could be stored before the id is known: large buffers are written three times as fast in order.
    if random < bytes.len() {
        clear(&mut bytes[random..]);
    }
}

/// A run whose last random bytes are in a batch that reaches beyond it.
#[cold]
fn fill_short(at: usize, bytes: &mut [u8], random: usize, make: impl Fn(u64, &mut [[u8; BATCH]])) {
    let (batches, rest) = bytes.split_at_mut(random / BATCH * BATCH);
    make(counter(at), batches.as_chunks_mut().0);
    let mut last = [[0; BATCH]];
    make(counter(at + batches.len()), &mut last);
    let (end, zeros) = rest.split_at_mut(random % BATCH);
    end.copy_from_slice(&last.as_flattened()[..end.len()]);
    zeros.fill(0);
    end_before_zeros(at, bytes, random);
}

/// Number of the first counter of the batch that starts `at` bytes into the block.
#[inline]
pub(super) fn counter(at: usize) -> u64 {
    (at / BATCH * COUNTERS) as u64
}

/// Sees to it that the last of `random` bytes is no zero, where zeros follow it.
#[inline]
fn end_before_zeros(at: usize, bytes: &mut [u8], random: usize) {
    if ends_before_zeros(at, bytes.len(), random) && bytes[random - 1] == 0 {
        bytes[random - 1] = LAST;
    }
}

/// Whether the last of `random` bytes is looked at for having zeros after it, in a run of `length` that starts `at` bytes into the
/// block. The head that identifies a block stays as it is; so does what ends with a sector, as the head of a block may be all there
/// is to compare.
pub(super) fn ends_before_zeros(at: usize, length: usize, random: usize) -> bool {
    at + random > size_of::<Lane>() && random < length && !random.is_multiple_of(BATCH)
}
