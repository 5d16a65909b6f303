//! From a lane back to its id, with the AES instructions where the processor has them.

use super::{Lane, portable};

/// The id of which `lane` is the even lane of pair number `pair`; `None` when it is that of none.
#[inline]
pub(crate) fn invert(lane: Lane, pair: u64) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("aes") {
        // SAFETY: the processor has the instructions, which was asked just now.
        return unsafe { aes::invert(lane, pair) };
    }
    portable::invert(lane, pair)
}

#[cfg(target_arch = "x86_64")]
mod aes {
    use std::arch::x86_64::{
        __m128i, _mm_aesdeclast_si128, _mm_aesimc_si128, _mm_cvtsi128_si64, _mm_loadu_si128,
        _mm_set_epi64x, _mm_setzero_si128, _mm_sub_epi64, _mm_unpackhi_epi64, _mm_xor_si128,
    };

    use super::Lane;
    use crate::fill::{BASE_KEYS, LANE_KEYS, MARK, PAIR_KEYS, STEP};

    /// Undoes one `aesenc`: the inverse of MixColumns, then those of ShiftRows and SubBytes.
    #[inline]
    #[target_feature(enable = "aes,sse2")]
    fn undo(state: __m128i, key: u128) -> __m128i {
        let key = _mm_set_epi64x((key >> 64) as i64, key as i64);
        _mm_aesdeclast_si128(_mm_aesimc_si128(_mm_xor_si128(state, key)), _mm_setzero_si128())
    }

    #[inline]
    #[target_feature(enable = "aes,sse2")]
    pub(super) fn invert(lane: Lane, pair: u64) -> Option<u64> {
        // SAFETY: the lane is 16 bytes; the load asks for no alignment.
        let mut state = unsafe { _mm_loadu_si128(lane.as_ptr().cast()) };
        for key in [LANE_KEYS[0], PAIR_KEYS[1], PAIR_KEYS[0]] {
            state = undo(state, key);
        }
        let [low, high] = STEP.map(|step| step.wrapping_mul(pair).cast_signed());
        state = _mm_sub_epi64(state, _mm_set_epi64x(high, low));
        for key in BASE_KEYS.into_iter().rev() {
            state = undo(state, key);
        }
        let mark = _mm_cvtsi128_si64(_mm_unpackhi_epi64(state, state)).cast_unsigned();
        (mark == MARK).then(|| _mm_cvtsi128_si64(state).cast_unsigned())
    }
}
