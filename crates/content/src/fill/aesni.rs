//! The AES fan with the AES instructions of x86-64, one counter in each vector; the wider paths share some of its functions.

use std::arch::x86_64::{
    __m128i, _mm_add_epi64, _mm_aesdec_si128, _mm_aesenc_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si64,
    _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    _mm_setzero_si128, _mm_storeu_si128, _mm_unpackhi_epi64, _mm_xor_si128,
};
use std::hint::black_box;

use super::driver::driver;
use super::entry::entry;
use super::fan::{
    BASE_KEYS, BATCH, CHAINS, COUNTERS, KINDS, LANE_KEYS, Lane, MARK, STEM_KEYS, STEP,
};
use super::root::Root;
use crate::ContentId;

/// Bytes of a vector.
const WIDTH: usize = size_of::<__m128i>();
/// Vectors that hold the counters of a batch.
const VECTORS: usize = COUNTERS * size_of::<Lane>() / WIDTH;

entry!(
    path: "aes-ni", features: "aes,sse2",
    stores: "sse2", _mm_set1_epi8, _mm_storeu_si128
);

#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn key(key: u128) -> __m128i {
    _mm_set_epi64x((key >> 64) as i64, key as i64)
}

/// From id to root.
#[inline]
#[target_feature(enable = "aes,sse2")]
pub(super) fn root(id: ContentId) -> Root {
    let start = key(u128::from(MARK) << 64 | u128::from(id.0));
    let base =
        BASE_KEYS.into_iter().fold(start, |state, round| _mm_aesenc_si128(state, key(round)));
    Root(number(base))
}

/// Computes the roots of several ids, interleaved so that none waits for another.
#[target_feature(enable = "aes,sse2")]
pub(super) fn roots<const N: usize>(ids: &[ContentId; N], roots: &mut [Root; N]) {
    for (root, &id) in roots.iter_mut().zip(ids) {
        *root = self::root(id);
    }
}

#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn number(vector: __m128i) -> u128 {
    let [low, high] = [vector, _mm_unpackhi_epi64(vector, vector)]
        .map(|half| u128::from(_mm_cvtsi128_si64(half).cast_unsigned()));
    high << 64 | low
}

/// The difference between counter number `n` and the first one.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn steps(n: u64) -> __m128i {
    let [low, high] = STEP.map(|step| step.wrapping_mul(n).cast_signed());
    _mm_set_epi64x(high, low)
}

driver!(
    features: "aes,sse2", vector: __m128i, zero: _mm_setzero_si128, load: _mm_loadu_si128, store: _mm_storeu_si128,
    add: _mm_add_epi64, encrypt: _mm_aesenc_si128, decrypt: _mm_aesdec_si128, or: _mm_or_si128, xor: _mm_xor_si128
);

#[inline]
#[target_feature(enable = "sse2")]
fn counters(root: &Root, first: u64) -> [__m128i; VECTORS] {
    let start = _mm_add_epi64(key(root.0), steps(first));
    std::array::from_fn(|n| _mm_add_epi64(start, steps(n as u64)))
}

#[inline]
fn wide(vector: __m128i) -> __m128i {
    vector
}

#[inline]
#[target_feature(enable = "sse2")]
fn is_zero(vector: __m128i) -> bool {
    _mm_movemask_epi8(_mm_cmpeq_epi8(vector, _mm_setzero_si128())) == 0xffff
}
