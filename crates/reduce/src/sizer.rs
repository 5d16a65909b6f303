//! LZ4 sizes without LZ4 output: the search of liblz4's fast compressor for inputs below 64 KiB, with only the
//! lengths of what it would write added up.
//!
//! The sizes have to equal the library's byte for byte, so every step of the search is the library's: a table of
//! 2^13 positions by a multiplicative hash of four bytes, an empty entry meaning position 0, a stride that grows by one
//! every 64 misses, matches extended backwards, the last 12 bytes never searched and the last 5 never matched. What it
//! saves is the output, and clearing the table: positions are kept above a base that moves on with every block.

use crate::BLOCK;

/// log2 of the entries in the table of positions.
const HASH_BITS: u32 = 13;
/// Bytes of the shortest match.
const MIN_MATCH: usize = 4;
/// No match starts in the last bytes, this many.
const SEARCH_END: usize = BLOCK - 12;
/// No match reaches into the last bytes, this many.
const MATCH_END: usize = BLOCK - 5;
/// log2 of the misses after which the stride grows.
const SKIP_TRIGGER: usize = 6;
/// A length below this stands in the token itself.
const IN_TOKEN: usize = 15;
/// Bytes behind the block that may be looked at, so that words can be read anywhere in it.
const MARGIN: usize = 8;

/// Finds LZ4 sizes of blocks of 4096 bytes. Its memory (20 KiB) is taken once.
pub struct Sizer {
    /// Positions above `base`; what is below is of an earlier block and means position 0.
    table: Box<[u16; 1 << HASH_BITS]>,
    base: u16,
    text: Box<[u8; BLOCK + MARGIN]>,
}

impl Default for Sizer {
    fn default() -> Self {
        Self { table: Box::new([0; 1 << HASH_BITS]), base: 0, text: Box::new([0; BLOCK + MARGIN]) }
    }
}

#[inline(always)]
fn word(text: &[u8; BLOCK + MARGIN], at: usize) -> u32 {
    let at = at & (BLOCK - 1);
    u32::from_le_bytes([text[at], text[at + 1], text[at + 2], text[at + 3]])
}

#[inline(always)]
fn long(text: &[u8; BLOCK + MARGIN], at: usize) -> u64 {
    let at = at & (BLOCK - 1);
    u64::from(word(text, at)) | u64::from(word_above(text, at)) << 32
}

#[inline(always)]
fn word_above(text: &[u8; BLOCK + MARGIN], at: usize) -> u32 {
    let at = at & (BLOCK - 1);
    u32::from_le_bytes([text[at + 4], text[at + 5], text[at + 6], text[at + 7]])
}

#[inline(always)]
fn hash(word: u32) -> usize {
    (word.wrapping_mul(2_654_435_761) >> (32 - HASH_BITS)) as usize
}

/// Bytes that a length takes beyond the token.
#[inline(always)]
fn length_bytes(length: usize) -> usize {
    if length < IN_TOKEN { 0 } else { 1 + (length - IN_TOKEN) / 255 }
}

/// Equal bytes from `a` and `b` on, up to the place where matches end.
#[inline(always)]
fn equal_bytes(text: &[u8; BLOCK + MARGIN], mut a: usize, mut b: usize) -> usize {
    let start = a;
    while a + 8 <= MATCH_END {
        let differ = long(text, a) ^ long(text, b);
        if differ != 0 {
            return a - start + (differ.trailing_zeros() / 8) as usize;
        }
        a += 8;
        b += 8;
    }
    while a < MATCH_END && text[a & (BLOCK - 1)] == text[b & (BLOCK - 1)] {
        a += 1;
        b += 1;
    }
    a - start
}

impl Sizer {
    /// Bytes that LZ4 makes of `block`; may be more than 4096.
    pub fn size(&mut self, block: &[u8; BLOCK]) -> usize {
        self.text[..BLOCK].copy_from_slice(block);
        if usize::from(self.base) + 2 * BLOCK > usize::from(u16::MAX) {
            self.table.fill(0);
            self.base = 0;
        } else {
            // Position 0 of this block stands above all of the last.
            self.base += BLOCK as u16;
        }
        self.search()
    }

    fn search(&mut self) -> usize {
        let (text, table, base) = (&*self.text, &mut *self.table, self.base);
        let put = |table: &mut [u16; 1 << HASH_BITS], hash: usize, at: usize| {
            table[hash & ((1 << HASH_BITS) - 1)] = base + at as u16;
        };
        let get = |table: &[u16; 1 << HASH_BITS], hash: usize| {
            usize::from(table[hash & ((1 << HASH_BITS) - 1)].saturating_sub(base))
        };
        let mut out = 0;
        let mut anchor = 0;
        put(table, hash(word(text, 0)), 0);
        let mut at = 1;
        let mut next_hash = hash(word(text, 1));
        'sequence: loop {
            let mut ahead = at;
            let mut misses = 1 << SKIP_TRIGGER;
            let mut step = 1;
            let mut candidate;
            loop {
                let here = next_hash;
                at = ahead;
                ahead += step;
                step = misses >> SKIP_TRIGGER;
                misses += 1;
                if ahead > SEARCH_END {
                    break 'sequence;
                }
                candidate = get(table, here);
                next_hash = hash(word(text, ahead));
                put(table, here, at);
                if word(text, candidate) == word(text, at) {
                    break;
                }
            }
            while at > anchor
                && candidate > 0
                && text[(at - 1) & (BLOCK - 1)] == text[(candidate - 1) & (BLOCK - 1)]
            {
                at -= 1;
                candidate -= 1;
            }
            let literals = at - anchor;
            out += length_bytes(literals) + literals;
            loop {
                let more = equal_bytes(text, at + MIN_MATCH, candidate + MIN_MATCH);
                // Token and offset.
                out += 3 + length_bytes(more);
                at += MIN_MATCH + more;
                anchor = at;
                if at > SEARCH_END {
                    break 'sequence;
                }
                put(table, hash(word(text, at - 2)), at - 2);
                let here = hash(word(text, at));
                candidate = get(table, here);
                put(table, here, at);
                if word(text, candidate) != word(text, at) {
                    break;
                }
            }
            at += 1;
            next_hash = hash(word(text, at));
        }
        let literals = BLOCK - anchor;
        out + 1 + length_bytes(literals) + literals
    }
}
