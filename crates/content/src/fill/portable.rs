//! AES rounds from tables, and their inverses. Same bytes as the instructions, for any machine.

use super::{BASE_KEYS, BATCH, LANE_KEYS, Lane, MARK, PAIR, PAIR_KEYS, STEP};

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

/// The same for decryption.
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

fn bytes([a, b, c, d]: State) -> Lane {
    let low = u64::from(b) << 32 | u64::from(a);
    let high = u64::from(d) << 32 | u64::from(c);
    (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
}

/// From id to base.
fn base(id: u64) -> State {
    let start = key(u128::from(MARK) << 64 | u128::from(id));
    BASE_KEYS.iter().fold(start, |state, &round| encrypt(state, key(round)))
}

/// The id of which `lane` is the even lane of pair number `pair`; `None` when it is that of none.
pub(crate) fn invert(lane: Lane, pair: u64) -> Option<u64> {
    let state = key(u128::from_le_bytes(lane));
    let [a, b, c, d] = [LANE_KEYS[0], PAIR_KEYS[1], PAIR_KEYS[0]]
        .iter()
        .fold(state, |state, &round| undo_encrypt(state, key(round)));
    let back = |low: u32, high: u32, step: u64| {
        u128::from((u64::from(high) << 32 | u64::from(low)).wrapping_sub(step.wrapping_mul(pair)))
    };
    let counter = key(back(c, d, STEP[1]) << 64 | back(a, b, STEP[0]));
    let start =
        BASE_KEYS.iter().rev().fold(counter, |state, &round| undo_encrypt(state, key(round)));
    let mark = u64::from(start[3]) << 32 | u64::from(start[2]);
    (mark == MARK).then(|| u64::from(start[1]) << 32 | u64::from(start[0]))
}

/// The pairs of `id` from number `first` on, for ever.
fn pairs(id: u64, first: u64) -> impl Iterator<Item = [Lane; 2]> {
    let base = base(id);
    let start = |low: u32, high: u32, step: u64| {
        (u64::from(high) << 32 | u64::from(low)).wrapping_add(step.wrapping_mul(first))
    };
    let mut low = start(base[0], base[1], STEP[0]);
    let mut high = start(base[2], base[3], STEP[1]);
    std::iter::repeat_with(move || {
        let counter = key(u128::from(high) << 64 | u128::from(low));
        let pair = PAIR_KEYS.iter().fold(counter, |state, &round| encrypt(state, key(round)));
        low = low.wrapping_add(STEP[0]);
        high = high.wrapping_add(STEP[1]);
        [bytes(encrypt(pair, key(LANE_KEYS[0]))), bytes(decrypt(pair, key(LANE_KEYS[1])))]
    })
}

/// Fills whole batches with the bytes of `id` from pair `first` on.
pub(super) fn fill(id: u64, first: u64, batches: &mut [[u8; BATCH]]) {
    let (lanes, _) = batches.as_flattened_mut().as_chunks_mut::<16>();
    let (places, _) = lanes.as_chunks_mut::<2>();
    for (place, pair) in places.iter_mut().zip(pairs(id, first)) {
        *place = pair;
    }
}

/// Number of the first batch that is not as [`fill`] would make it.
pub(super) fn wrong(id: u64, first: u64, batches: &[[u8; BATCH]]) -> Option<usize> {
    let (lanes, _) = batches.as_flattened().as_chunks::<16>();
    let (places, _) = lanes.as_chunks::<2>();
    let differs = |(place, pair): (&[Lane; 2], [Lane; 2])| *place != pair;
    places.iter().zip(pairs(id, first)).position(differs).map(|pair| pair / (BATCH / PAIR))
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
    }
}
