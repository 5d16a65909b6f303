//! AES rounds from tables, and their inverses. Same bytes as the instructions, for any machine.

use super::fan::{
    BASE_KEYS, BATCH, COUNTERS, KINDS, LANE_KEYS, Lane, MARK, STEM_KEYS, STEP, parent,
};
use super::root::Root;
use crate::ContentId;

/// A state as four columns, little endian.
pub(crate) type State = [u32; 4];

/// Doubling in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
const fn double(x: u8) -> u8 {
    (x << 1) ^ (if x & 0x80 != 0 { 0x1b } else { 0 })
}

const fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = double(a);
        b >>= 1;
    }
    product
}

/// The S-box of FIPS 197: the inverse in GF(2^8), then an affine map.
const SBOX: [u8; 256] = {
    let mut table = [0; 256];
    let (mut p, mut q) = (1u8, 1u8);
    loop {
        // p runs through all but 0 as powers of 3; q is its inverse.
        p = p ^ double(p);
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        if q & 0x80 != 0 {
            q ^= 0x09;
        }
        let x = q ^ q.rotate_left(1) ^ q.rotate_left(2) ^ q.rotate_left(3) ^ q.rotate_left(4);
        table[p as usize] = x ^ 0x63;
        if p == 1 {
            break;
        }
    }
    table[0] = 0x63;
    table
};

const INVERSE_SBOX: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[SBOX[i] as usize] = i as u8;
        i += 1;
    }
    table
};

/// SubBytes and the first column of MixColumns at once.
const ENCRYPT: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let s = SBOX[i];
        table[i] = u32::from_le_bytes([times(s, 2), s, s, times(s, 3)]);
        i += 1;
    }
    table
};

/// Lookup table of one AES decryption round.
const DECRYPT: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let s = INVERSE_SBOX[i];
        table[i] = u32::from_le_bytes([times(s, 14), times(s, 9), times(s, 13), times(s, 11)]);
        i += 1;
    }
    table
};

/// One byte of a state: `byte` of column `column`, which wraps.
#[inline]
fn byte(state: State, column: usize, byte: usize) -> usize {
    (state[column % 4] >> (8 * byte)) as usize & 0xff
}

/// A key as a state.
pub(crate) const fn key(key: u128) -> State {
    [key as u32, (key >> 32) as u32, (key >> 64) as u32, (key >> 96) as u32]
}

/// One round of encryption, as the instruction `aesenc`.
#[inline]
fn encrypt(s: State, key: State) -> State {
    std::array::from_fn(|c| {
        ENCRYPT[byte(s, c, 0)]
            ^ ENCRYPT[byte(s, c + 1, 1)].rotate_left(8)
            ^ ENCRYPT[byte(s, c + 2, 2)].rotate_left(16)
            ^ ENCRYPT[byte(s, c + 3, 3)].rotate_left(24)
            ^ key[c]
    })
}

/// One round of decryption, as the instruction `aesdec`. It does not undo [`encrypt`].
#[inline]
fn decrypt(s: State, key: State) -> State {
    std::array::from_fn(|c| {
        DECRYPT[byte(s, c, 0)]
            ^ DECRYPT[byte(s, c + 3, 1)].rotate_left(8)
            ^ DECRYPT[byte(s, c + 2, 2)].rotate_left(16)
            ^ DECRYPT[byte(s, c + 1, 3)].rotate_left(24)
            ^ key[c]
    })
}

/// Undoes [`encrypt`].
fn undo_encrypt(state: State, key: State) -> State {
    let mixed: State = std::array::from_fn(|c| {
        let column = state[c] ^ key[c];
        // SubBytes first cancels the inverse S-box inside the table: what is left is the inverse of MixColumns.
        (0..4).fold(0, |sum, b| {
            let x = SBOX[(column >> (8 * b)) as usize & 0xff];
            sum ^ DECRYPT[usize::from(x)].rotate_left(8 * b)
        })
    });
    std::array::from_fn(|c| {
        u32::from_le_bytes(std::array::from_fn(|b| INVERSE_SBOX[byte(mixed, c + 4 - b, b)]))
    })
}

/// Low half first.
fn halves([a, b, c, d]: State) -> [u64; 2] {
    [u64::from(b) << 32 | u64::from(a), u64::from(d) << 32 | u64::from(c)]
}

fn number(state: State) -> u128 {
    let [low, high] = halves(state);
    u128::from(high) << 64 | u128::from(low)
}

fn bytes(state: State) -> Lane {
    number(state).to_le_bytes()
}

/// From id to root.
pub(super) fn root(id: ContentId) -> Root {
    let start = key(u128::from(MARK) << 64 | u128::from(id.0));
    Root(number(BASE_KEYS.iter().fold(start, |state, &round| encrypt(state, key(round)))))
}

/// Undoes [`decrypt`].
fn undo_decrypt(state: State, key: State) -> State {
    let mixed: State = std::array::from_fn(|c| {
        let column = state[c] ^ key[c];
        // The inverse S-box first cancels the S-box inside the table: what is left is MixColumns.
        (0..4).fold(0, |sum, b| {
            let x = INVERSE_SBOX[(column >> (8 * b)) as usize & 0xff];
            sum ^ ENCRYPT[usize::from(x)].rotate_left(8 * b)
        })
    });
    std::array::from_fn(|c| {
        u32::from_le_bytes(std::array::from_fn(|b| SBOX[byte(mixed, c + b, b)]))
    })
}

/// The id whose block has `lane` as its lane number `number`; `None` when no block does.
pub(crate) fn invert(lane: Lane, number: usize) -> Option<u64> {
    let (mut kind, counter) = place(number);
    let mut state = key(u128::from_le_bytes(lane));
    loop {
        let undo = if kind.is_multiple_of(2) { undo_encrypt } else { undo_decrypt };
        state = undo(state, key(LANE_KEYS[kind]));
        let Some(next) = parent(kind) else { break };
        kind = next;
    }
    let at = STEM_KEYS.iter().rev().fold(state, |state, &round| undo_encrypt(state, key(round)));
    let back = |low: u32, high: u32, step: u64| {
        let half = u64::from(high) << 32 | u64::from(low);
        u128::from(half.wrapping_sub(step.wrapping_mul(counter)))
    };
    let base = key(back(at[2], at[3], STEP[1]) << 64 | back(at[0], at[1], STEP[0]));
    let start = BASE_KEYS.iter().rev().fold(base, |state, &round| undo_encrypt(state, key(round)));
    let mark = u64::from(start[3]) << 32 | u64::from(start[2]);
    (mark == MARK).then(|| u64::from(start[1]) << 32 | u64::from(start[0]))
}

/// Kind and counter of the lane at `16 * number`.
pub(crate) fn place(number: usize) -> (usize, u64) {
    let (batch, lane) = (number / (KINDS * COUNTERS), number % (KINDS * COUNTERS));
    (lane / COUNTERS, (batch * COUNTERS + lane % COUNTERS) as u64)
}

/// The lanes of a stem.
fn fan(stem: State) -> [State; KINDS] {
    let mut lanes = [stem; KINDS];
    for kind in 0..KINDS {
        let from = parent(kind).map_or(stem, |parent| lanes[parent]);
        let round = if kind.is_multiple_of(2) { encrypt } else { decrypt };
        lanes[kind] = round(from, key(LANE_KEYS[kind]));
    }
    lanes
}

/// The batches that grow from `root`, from counter `first` on, for ever.
fn batches(root: &Root, first: u64) -> impl Iterator<Item = [[Lane; COUNTERS]; KINDS]> {
    let base = key(root.0);
    let start = |low: u32, high: u32, step: u64| {
        (u64::from(high) << 32 | u64::from(low)).wrapping_add(step.wrapping_mul(first))
    };
    let mut low = start(base[0], base[1], STEP[0]);
    let mut high = start(base[2], base[3], STEP[1]);
    std::iter::repeat_with(move || {
        let mut batch = [[[0; 16]; COUNTERS]; KINDS];
        for n in 0..COUNTERS as u64 {
            let half = |half: u64, step: u64| u128::from(half.wrapping_add(step.wrapping_mul(n)));
            let counter = key(half(high, STEP[1]) << 64 | half(low, STEP[0]));
            let stem = STEM_KEYS.iter().fold(counter, |state, &round| encrypt(state, key(round)));
            for (kind, lane) in fan(stem).into_iter().enumerate() {
                batch[kind][n as usize] = bytes(lane);
            }
        }
        low = low.wrapping_add(STEP[0].wrapping_mul(COUNTERS as u64));
        high = high.wrapping_add(STEP[1].wrapping_mul(COUNTERS as u64));
        batch
    })
}

/// Fills whole batches with what grows from `root`, from counter `first` on.
pub(super) fn fill(root: &Root, first: u64, places: &mut [[u8; BATCH]]) {
    for (place, batch) in places.iter_mut().zip(batches(root, first)) {
        place.copy_from_slice(batch.as_flattened().as_flattened());
    }
}

/// One run.
pub(super) fn fill_run(root: &Root, at: usize, bytes: &mut [u8], random: usize) {
    let make = |first, batches: &mut [_]| fill(root, first, batches);
    super::run::fill_run(at, bytes, random, make, |zeros| zeros.fill(0));
}

/// Number of the first batch that is not as [`fill`] would make it.
pub(super) fn wrong(root: &Root, first: u64, places: &[[u8; BATCH]]) -> Option<usize> {
    let mut expected = batches(root, first);
    places.iter().position(|place| {
        expected.next().is_none_or(|batch| place != batch.as_flattened().as_flattened())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_s_box_is_the_standard_one() {
        assert_eq!(SBOX[..4], [0x63, 0x7c, 0x77, 0x7b]);
        assert_eq!((SBOX[0x53], INVERSE_SBOX[0xed]), (0xed, 0x53));
    }

    /// FIPS 197, appendix B: the first full round of the example.
    #[test]
    fn a_round_is_that_of_the_standard() {
        let lane = |hex: u128| key(u128::from_be_bytes(hex.to_le_bytes()));
        let start = lane(0x193d_e3be_a0f4_e22b_9ac6_8d2a_e9f8_4808);
        let round_key = lane(0xa0fa_fe17_8854_2cb1_23a3_3939_2a6c_7605);
        assert_eq!(encrypt(start, round_key), lane(0xa49c_7ff2_689f_352b_6b5b_ea43_026a_5049));
        assert_eq!(undo_encrypt(encrypt(start, round_key), round_key), start);
        assert_eq!(undo_decrypt(decrypt(start, round_key), round_key), start);
    }
}
