//! LZ4 sizes without LZ4 output: the search of liblz4's fast compressor for inputs below 64 KiB, which only adds up the lengths of what would be
//! written.
//!
//! The sizes must equal the library's byte for byte, so every step of the search is the library's: a table of 2^13 positions by a
//! multiplicative hash of four bytes, empty entries meaning position 0, a stride that grows by one every 64 misses, matches extended
//! backwards, the last 12 bytes never searched and the last 5 never matched. Saved are the output, the counting of the stride (positions
//! are visited in runs of one stride), the hash of each word (all are computed at once), and clearing the table between blocks of noise.

mod slots;

use crate::BLOCK;
pub use slots::TEXT;
use slots::{HASH_BITS, MULTIPLIER, Slots};

/// Number of entries in the table of positions.
const ENTRIES: usize = 1 << HASH_BITS;
/// The last position of each hash, with room for every 16-bit number, so that no look-up needs a bounds check.
type Places = [u16; 1 << 16];
/// Bytes of the shortest match.
const MIN_MATCH: usize = 4;
/// Position after which no match may start: the last 12 bytes are never searched.
const SEARCH_END: usize = BLOCK - 12;
/// Position where every match ends at the latest: the last 5 bytes are never matched.
const MATCH_END: usize = BLOCK - 5;
/// Number of positions after which the stride grows; the stride of 1 covers one position more.
const RUN: usize = 64;
/// Computes LZ4 sizes of blocks of 4096 bytes. Its memory (of which 40 KiB are used) is allocated once.
pub struct Sizer {
    table: Box<Places>,
    slots: Box<Slots>,
    /// For each hash, bits of the last word that had it; see [`is_noise`].
    seen: Box<[u16; ENTRIES]>,
    /// Tells whether the last block had no match at all: blocks of noise often follow each other.
    noise: bool,
}

impl Default for Sizer {
    fn default() -> Self {
        let [table, slots] = [(); 2].map(|()| Box::new([0; 1 << 16]));
        Self { table, slots, seen: Box::new([0; ENTRIES]), noise: false }
    }
}

#[inline(always)]
fn word(text: &[u8; TEXT], at: usize) -> u32 {
    let at = usize::from(at as u16);
    u32::from_le_bytes([text[at], text[at + 1], text[at + 2], text[at + 3]])
}

/// The eight bytes that begin `BEHIND` bytes after `at`.
#[inline(always)]
fn long<const BEHIND: usize>(text: &[u8; TEXT], at: usize) -> u64 {
    let at = usize::from(at as u16) + BEHIND;
    let bytes: &[u8] = &text[at..at + 8];
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Number of bytes that a length takes after the token: none below 15, then one, and one more for each 255.
#[inline(always)]
fn length_bytes(length: usize) -> usize {
    // In 32 bits the compiler replaces the division by a product with one register less.
    ((length as u32 + 240) / 255) as usize
}

/// Number of equal bytes after the four that `a` and `b` begin with, up to the position where matches must end.
#[inline(always)]
fn equal_bytes(text: &[u8; TEXT], a: usize, b: usize) -> usize {
    let differ = long::<MIN_MATCH>(text, a) ^ long::<MIN_MATCH>(text, b);
    if differ != 0 && a + MIN_MATCH + 8 <= MATCH_END {
        return (differ.trailing_zeros() / 8) as usize;
    }
    if differ == 0 && a + MIN_MATCH + 40 <= MATCH_END {
        // Nearly all longer matches end within these 32 bytes; testing them together avoids an unpredictable branch.
        let apart = [
            long::<12>(text, a) ^ long::<12>(text, b),
            long::<20>(text, a) ^ long::<20>(text, b),
            long::<28>(text, a) ^ long::<28>(text, b),
            long::<36>(text, a) ^ long::<36>(text, b),
        ];
        let near = if apart[0] != 0 { (8, apart[0]) } else { (16, apart[1]) };
        let far = if apart[2] != 0 { (24, apart[2]) } else { (32, apart[3]) };
        let (equal, differ) = if near.1 != 0 { near } else { far };
        if differ != 0 {
            return equal + (differ.trailing_zeros() / 8) as usize;
        }
    }
    let (start, mut a, mut b) = (a + MIN_MATCH, a + MIN_MATCH, b + MIN_MATCH);
    while a + 8 <= MATCH_END {
        let differ = long::<0>(text, a) ^ long::<0>(text, b);
        if differ != 0 {
            return a - start + (differ.trailing_zeros() / 8) as usize;
        }
        a += 8;
        b += 8;
    }
    while a < MATCH_END && word(text, a) as u8 == word(text, b) as u8 {
        a += 1;
        b += 1;
    }
    a - start
}

/// Enters a position into the table; returns the previous one with the same hash, where the same four bytes may be.
#[inline(always)]
fn enter(table: &mut Places, slots: &Slots, at: usize) -> usize {
    let slot = slots[usize::from(at as u16)];
    usize::from(std::mem::replace(&mut table[usize::from(slot)], at as u16))
}

impl Sizer {
    /// Number of bytes to which LZ4 compresses the block at the beginning of `text`; may be more than 4096.
    pub fn size(&mut self, text: &[u8; TEXT]) -> usize {
        if std::mem::take(&mut self.noise) && is_noise(text, &mut self.seen) {
            self.noise = true;
            return literal_bytes(0);
        }
        let Self { table, slots, .. } = self;
        table[..ENTRIES].fill(0);
        slots::find(text, slots);
        let (mut out, mut anchor, mut at) = (0, 0, 1);
        enter(table, slots, 0);
        while let Some((place, candidate)) = search(text, table, slots, at) {
            let mut candidate = candidate;
            at = place;
            while at > anchor
                && candidate > 0
                && word(text, at - 1) as u8 == word(text, candidate - 1) as u8
            {
                at -= 1;
                candidate -= 1;
            }
            let literals = at - anchor;
            out += length_bytes(literals) + literals;
            loop {
                let more = equal_bytes(text, at, candidate);
                // Token and offset take 3 bytes.
                out += 3 + length_bytes(more);
                at += MIN_MATCH + more;
                anchor = at;
                if at > SEARCH_END {
                    return out + literal_bytes(anchor);
                }
                enter(table, slots, at - 2);
                candidate = enter(table, slots, at);
                if word(text, candidate) != word(text, at) {
                    break;
                }
            }
            at += 1;
        }
        self.noise = anchor == 0;
        out + literal_bytes(anchor)
    }
}

/// Tells whether the block has no match, without using a table of positions. `seen` keeps for each hash other bits of the product from which the hash
/// is taken; equal words have equal bits. Leftovers of other blocks, and words that differ only in the three bits that are not kept, can look like a
/// match; then the block is searched as usual. A real match is never missed.
fn is_noise(text: &[u8; TEXT], seen: &mut [u16; ENTRIES]) -> bool {
    let mut saw = |at| {
        let product = word(text, at).wrapping_mul(MULTIPLIER);
        let slot = &mut seen[(product >> (32 - HASH_BITS)) as usize];
        std::mem::replace(slot, product as u16) == product as u16
    };
    saw(0);
    first_match(1, |at| saw(at).then_some(())).is_none()
}

/// Returns the number of bytes for the literals from `anchor` to the end of the block.
fn literal_bytes(anchor: usize) -> usize {
    let literals = BLOCK - anchor;
    1 + length_bytes(literals) + literals
}

/// The first position from `at` on where a match starts, and the position that it matches.
#[inline(always)]
fn search(
    text: &[u8; TEXT],
    table: &mut Places,
    slots: &Slots,
    at: usize,
) -> Option<(usize, usize)> {
    first_match(at, |place| {
        let candidate = enter(table, slots, place);
        (word(text, candidate) == word(text, place)).then_some((place, candidate))
    })
}

/// Visits positions from `at` on with the library's growing stride; returns the first result of `look`.
#[inline(always)]
fn first_match<T>(at: usize, mut look: impl FnMut(usize) -> Option<T>) -> Option<T> {
    // Counted in 32 bits: the compiler then keeps fewer values derived from the position in step with it.
    const END: u32 = SEARCH_END as u32;
    const PLACES: u32 = RUN as u32;
    let mut at = at as u32;
    // A position is visited only if the next one is not beyond the end.
    let mut stop = (at + PLACES + 1).min(END);
    let mut stride = 1;
    loop {
        while at < stop {
            if let Some(found) = look(at as usize) {
                return Some(found);
            }
            at = at.wrapping_add(stride);
        }
        stride += 1;
        let within = END.saturating_sub(at) / stride;
        if within == 0 {
            return None;
        }
        stop = (at + PLACES.min(within) * stride).min(END);
    }
}
