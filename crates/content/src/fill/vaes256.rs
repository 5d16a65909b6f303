//! The AES fan 256 bits wide: two counters in a vector.

use std::arch::x86_64::{
    __m256i, _mm_add_epi64, _mm256_add_epi64, _mm256_aesdec_epi128, _mm256_aesenc_epi128,
    _mm256_broadcastsi128_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_set_epi64x,
    _mm256_set1_epi8, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_testz_si256,
    _mm256_xor_si256,
};
use std::hint::black_box;

use super::aesni::{key, steps};
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

/// Makes the batches of one block, in order.
struct BatchGenerator {
    counters: [__m256i; VECTORS],
    stride: __m256i,
    stem: [__m256i; 2],
    lane: [__m256i; KINDS],
}

impl BatchGenerator {
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes")]
    fn new(root: &Root, first: u64) -> Self {
        let start = _mm256_broadcastsi128_si256(_mm_add_epi64(key(root.0), steps(first)));
        let step = |n: u64, half: usize| STEP[half].wrapping_mul(n).cast_signed();
        let fan =
            |n: u64| _mm256_set_epi64x(step(n + 1, 1), step(n + 1, 0), step(n, 1), step(n, 0));
        Self {
            counters: [_mm256_add_epi64(start, fan(0)), _mm256_add_epi64(start, fan(2))],
            stride: _mm256_broadcastsi128_si256(steps(COUNTERS as u64)),
            stem: [wide_key(STEM_KEYS[0]), wide_key(STEM_KEYS[1])],
            lane: [
                wide_key(LANE_KEYS[0]),
                wide_key(LANE_KEYS[1]),
                wide_key(LANE_KEYS[2]),
                wide_key(LANE_KEYS[3]),
                wide_key(LANE_KEYS[4]),
                wide_key(LANE_KEYS[5]),
                wide_key(LANE_KEYS[6]),
                wide_key(LANE_KEYS[7]),
            ],
        }
    }

    /// Hands the next batch to `put`, vector by vector with their numbers: all lanes of a kind, then of the next of its chain.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes")]
    fn next(&mut self, mut put: impl FnMut(usize, __m256i)) {
        let mut stems = self.counters;
        for stem in &mut stems {
            *stem = _mm256_aesenc_epi128(_mm256_aesenc_epi128(*stem, self.stem[0]), self.stem[1]);
        }
        for counter in &mut self.counters {
            *counter = _mm256_add_epi64(*counter, self.stride);
        }
        for chain in CHAINS {
            let mut lanes = stems;
            for kind in chain {
                for (n, lane) in lanes.iter_mut().enumerate() {
                    *lane = if kind.is_multiple_of(2) {
                        _mm256_aesenc_epi128(*lane, self.lane[kind])
                    } else {
                        _mm256_aesdec_epi128(*lane, self.lane[kind])
                    };
                    put(kind * VECTORS + n, *lane);
                }
            }
        }
    }
}

#[inline]
#[target_feature(enable = "aes,avx2,vaes")]
fn wide_key(of: u128) -> __m256i {
    _mm256_broadcastsi128_si256(key(of))
}

#[inline]
#[target_feature(enable = "aes,avx2,vaes")]
fn fill_wide(root: &Root, first: u64, batches: &mut [[u8; BATCH]]) {
    let mut generator = BatchGenerator::new(root, first);
    for batch in batches {
        let (places, _) = batch.as_chunks_mut::<WIDTH>();
        generator.next(|n, lanes| {
            // SAFETY: the place is as wide as a vector; the store asks for no alignment.
            unsafe { _mm256_storeu_si256(places[n].as_mut_ptr().cast(), lanes) };
        });
    }
}

#[target_feature(enable = "aes,avx2,vaes")]
fn wrong_wide(root: &Root, first: u64, batches: &[[u8; BATCH]]) -> Option<usize> {
    let mut generator = BatchGenerator::new(root, first);
    for (n, batch) in batches.iter().enumerate() {
        let (places, _) = batch.as_chunks::<WIDTH>();
        let mut difference = _mm256_setzero_si256();
        generator.next(|n, lanes| {
            // SAFETY: the place is as wide as a vector; the load asks for no alignment.
            let found = unsafe { _mm256_loadu_si256(places[n].as_ptr().cast()) };
            difference = _mm256_or_si256(difference, _mm256_xor_si256(found, lanes));
        });
        if _mm256_testz_si256(difference, difference) == 0 {
            return Some(n);
        }
    }
    None
}
