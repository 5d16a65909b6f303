//! One run of a block: whole batches of random bytes, then zeros.

use super::fan::{BATCH, COUNTERS, LAST, Lane};

/// One run, which starts `at` bytes into the block: whole batches from `make`, which gets the number of their first counter, then
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
    // Zeros last, although they do not depend on the id: large buffers are written three times as fast in address order.
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

/// Makes sure that the last of `random` bytes is not zero if zeros follow it.
#[inline]
fn end_before_zeros(at: usize, bytes: &mut [u8], random: usize) {
    if ends_before_zeros(at, bytes.len(), random) && bytes[random - 1] == 0 {
        bytes[random - 1] = LAST;
    }
}

/// Tells whether the last random byte of the run must not be zero, since zeros follow it. Not in the lane that identifies the block, and not
/// where the run ends with a whole batch (a sector): a reader may then see only the head of the block.
pub(super) fn ends_before_zeros(at: usize, length: usize, random: usize) -> bool {
    at + random > size_of::<Lane>() && random < length && !random.is_multiple_of(BATCH)
}
