//! From a lane back to its id: the AES rounds undone, with the processor's instructions where it has them.

use super::fan::Lane;
use super::portable;

/// The id whose block has `lane` as its lane number `number` (the 16 bytes at `16 * number`); `None` when no block does.
#[inline]
pub(crate) fn invert(lane: Lane, number: usize) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("aes") {
        // SAFETY: the processor has the instructions, which was asked just now.
        return unsafe { aes::invert(lane, number) };
    }
    portable::invert(lane, number)
}

#[cfg(target_arch = "x86_64")]
pub(super) mod aes {
    use std::arch::x86_64::{
        __m128i, _mm_aesdeclast_si128, _mm_aesenclast_si128, _mm_aesimc_si128, _mm_cvtsi128_si64,
        _mm_loadu_si128, _mm_setzero_si128, _mm_sub_epi64, _mm_unpackhi_epi64, _mm_xor_si128,
    };

    use crate::fill::aesni::{key, steps};
    use crate::fill::fan::Lane;
    use crate::fill::fan::{BASE_KEYS, LANE_KEYS, MARK, STEM_KEYS, parent};
    use crate::fill::portable;

    /// Undoes one `aesenc`: the inverse of MixColumns, then those of ShiftRows and SubBytes.
    #[inline]
    #[target_feature(enable = "aes,sse2")]
    fn undo_encrypt(state: __m128i, round: u128) -> __m128i {
        let mixed = _mm_aesimc_si128(_mm_xor_si128(state, key(round)));
        _mm_aesdeclast_si128(mixed, _mm_setzero_si128())
    }

    /// Undoes one `aesdec`. Three inverse MixColumns in a row are a MixColumns, because four are the identity.
    #[inline]
    #[target_feature(enable = "aes,sse2")]
    fn undo_decrypt(state: __m128i, round: u128) -> __m128i {
        let mixed = _mm_aesimc_si128(_mm_xor_si128(state, key(round)));
        let mixed = _mm_aesimc_si128(_mm_aesimc_si128(mixed));
        _mm_aesenclast_si128(mixed, _mm_setzero_si128())
    }

    /// The base of the content whose block starts with `lane`.
    #[inline]
    #[target_feature(enable = "aes,sse2")]
    pub(in crate::fill) fn base_of(lane: &Lane) -> __m128i {
        // SAFETY: the lane is 16 bytes; the load asks for no alignment.
        let mut state = unsafe { _mm_loadu_si128(lane.as_ptr().cast()) };
        state = undo_encrypt(state, LANE_KEYS[0]);
        for round in STEM_KEYS.into_iter().rev() {
            state = undo_encrypt(state, round);
        }
        state
    }

    /// The id that has this base.
    #[inline]
    #[target_feature(enable = "aes,sse2")]
    pub(in crate::fill) fn id_of(base: __m128i) -> Option<u64> {
        let mut state = base;
        for round in BASE_KEYS.into_iter().rev() {
            state = undo_encrypt(state, round);
        }
        let mark = _mm_cvtsi128_si64(_mm_unpackhi_epi64(state, state)).cast_unsigned();
        (mark == MARK).then(|| _mm_cvtsi128_si64(state).cast_unsigned())
    }

    #[target_feature(enable = "aes,sse2")]
    pub(super) fn invert(lane: Lane, number: usize) -> Option<u64> {
        let (mut kind, counter) = portable::place(number);
        // SAFETY: the lane is 16 bytes; the load asks for no alignment.
        let mut state = unsafe { _mm_loadu_si128(lane.as_ptr().cast()) };
        loop {
            let round = LANE_KEYS[kind];
            state = if kind.is_multiple_of(2) {
                undo_encrypt(state, round)
            } else {
                undo_decrypt(state, round)
            };
            let Some(next) = parent(kind) else { break };
            kind = next;
        }
        for round in STEM_KEYS.into_iter().rev() {
            state = undo_encrypt(state, round);
        }
        id_of(_mm_sub_epi64(state, steps(counter)))
    }
}
