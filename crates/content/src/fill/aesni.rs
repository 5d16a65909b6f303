//! The AES pair with the AES instructions of x86-64. The only file with `unsafe` here.

use std::arch::x86_64::{
    __m128i, _mm_add_epi64, _mm_aesdec_si128, _mm_aesenc_si128, _mm_set_epi64x, _mm_storeu_si128,
};

use super::{BASE_KEYS, BATCH, LANE_KEYS, MARK, PAIR_KEYS, STEP};

/// Pairs in a batch: enough that the rounds of one hide the latency of another.
const PAIRS: usize = BATCH / 32;

/// Fills whole batches with the bytes of `id`. Only for a processor that has the instructions, which [`super::Path::available`] knows.
#[inline]
pub(super) fn fill(id: u64, batches: &mut [[u8; BATCH]]) {
    debug_assert!(std::arch::is_x86_feature_detected!("aes"));
    // SAFETY: `Path::AesNi` comes from `Path::available`, which lists it only when the processor has AES.
    unsafe { fill_with_aes(id, batches) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn halves(low: u64, high: u64) -> __m128i {
    _mm_set_epi64x(high.cast_signed(), low.cast_signed())
}

#[inline]
#[target_feature(enable = "sse2")]
fn key(key: u128) -> __m128i {
    halves(key as u64, (key >> 64) as u64)
}

#[target_feature(enable = "aes,sse2")]
fn fill_with_aes(id: u64, batches: &mut [[u8; BATCH]]) {
    let mut base = halves(id, MARK);
    for round in BASE_KEYS {
        base = _mm_aesenc_si128(base, key(round));
    }
    let step = |n: u64| halves(STEP[0].wrapping_mul(n), STEP[1].wrapping_mul(n));
    let mut counters: [__m128i; PAIRS] = [base; PAIRS];
    for (n, counter) in counters.iter_mut().enumerate() {
        *counter = _mm_add_epi64(base, step(n as u64));
    }
    let stride = step(PAIRS as u64);
    let (first, second) = (key(PAIR_KEYS[0]), key(PAIR_KEYS[1]));
    let (forth, back) = (key(LANE_KEYS[0]), key(LANE_KEYS[1]));
    for batch in batches {
        let (lanes, _) = batch.as_chunks_mut::<32>();
        for (counter, lanes) in counters.iter_mut().zip(lanes) {
            let pair = _mm_aesenc_si128(_mm_aesenc_si128(*counter, first), second);
            let (one, two) = (_mm_aesenc_si128(pair, forth), _mm_aesdec_si128(pair, back));
            *counter = _mm_add_epi64(*counter, stride);
            let at = lanes.as_mut_ptr().cast::<__m128i>();
            // SAFETY: `lanes` is 32 bytes; the store asks for no alignment.
            unsafe {
                _mm_storeu_si128(at, one);
                _mm_storeu_si128(at.add(1), two);
            }
        }
    }
}
