//! The AES fan 256 bits wide: two counters in a vector.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi64, _mm256_add_epi64, _mm256_aesdec_epi128, _mm256_aesenc_epi128,
    _mm256_broadcastsi128_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_set_epi64x,
    _mm256_set1_epi8, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_testz_si256,
    _mm256_xor_si256,
};
use std::hint::black_box;

use super::aesni::{key, steps};
use super::driver::driver;
use super::entry::entry;
use super::fan::{BATCH, CHAINS, COUNTERS, KINDS, LANE_KEYS, Lane, STEM_KEYS, STEP};
use super::root::Root;

/// Bytes of a vector.
const WIDTH: usize = size_of::<__m256i>();
/// Vectors that hold the counters of a batch.
const VECTORS: usize = COUNTERS * size_of::<Lane>() / WIDTH;

entry!(
    path: "vaes-256", features: "aes,avx2,vaes",
    stores: "avx2", _mm256_set1_epi8, _mm256_storeu_si256
);

driver!(
    features: "aes,avx2,vaes", vector: __m256i, zero: _mm256_setzero_si256, load: _mm256_loadu_si256, store: _mm256_storeu_si256,
    add: _mm256_add_epi64, encrypt: _mm256_aesenc_epi128, decrypt: _mm256_aesdec_epi128, or: _mm256_or_si256, xor: _mm256_xor_si256
);

#[inline]
#[target_feature(enable = "avx2")]
fn counters(root: &Root, first: u64) -> [__m256i; VECTORS] {
    let start = wide(_mm_add_epi64(key(root.0), steps(first)));
    let step = |n: u64, half: usize| STEP[half].wrapping_mul(n).cast_signed();
    let fan = |n: u64| _mm256_set_epi64x(step(n + 1, 1), step(n + 1, 0), step(n, 1), step(n, 0));
    [_mm256_add_epi64(start, fan(0)), _mm256_add_epi64(start, fan(2))]
}

#[inline]
#[target_feature(enable = "avx2")]
fn wide(vector: __m128i) -> __m256i {
    _mm256_broadcastsi128_si256(vector)
}

#[inline]
#[target_feature(enable = "avx2")]
fn is_zero(vector: __m256i) -> bool {
    _mm256_testz_si256(vector, vector) == 1
}
