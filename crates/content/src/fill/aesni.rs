//! The AES fan with the AES instructions of x86-64, a counter in a vector; and what the wider paths take from here.

use std::arch::x86_64::{
    __m128i, _mm_add_epi64, _mm_aesdec_si128, _mm_aesenc_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si64,
    _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    _mm_setzero_si128, _mm_storeu_si128, _mm_unpackhi_epi64, _mm_xor_si128,
};
use std::hint::black_box;

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

/// Makes the batches of one block, in order.
struct BatchGenerator {
    counters: [__m128i; VECTORS],
    stride: __m128i,
    stem: [__m128i; 2],
    lane: [__m128i; KINDS],
}

impl BatchGenerator {
    #[inline]
    #[target_feature(enable = "aes,sse2")]
    fn new(root: &Root, first: u64) -> Self {
        let start = _mm_add_epi64(key(root.0), steps(first));
        Self {
            counters: std::array::from_fn(|n| _mm_add_epi64(start, steps(n as u64))),
            stride: steps(COUNTERS as u64),
            stem: [key(STEM_KEYS[0]), key(STEM_KEYS[1])],
            lane: [
                key(LANE_KEYS[0]),
                key(LANE_KEYS[1]),
                key(LANE_KEYS[2]),
                key(LANE_KEYS[3]),
                key(LANE_KEYS[4]),
                key(LANE_KEYS[5]),
                key(LANE_KEYS[6]),
                key(LANE_KEYS[7]),
            ],
        }
    }

    /// Hands the next batch to `put`, vector by vector with their numbers: all lanes of a kind, then of the next of its chain.
    #[inline]
    #[target_feature(enable = "aes,sse2")]
    fn next(&mut self, mut put: impl FnMut(usize, __m128i)) {
        let mut stems = self.counters;
        for stem in &mut stems {
            *stem = _mm_aesenc_si128(_mm_aesenc_si128(*stem, self.stem[0]), self.stem[1]);
        }
        for counter in &mut self.counters {
            *counter = _mm_add_epi64(*counter, self.stride);
        }
        for chain in CHAINS {
            let mut lanes = stems;
            for kind in chain {
                for (n, lane) in lanes.iter_mut().enumerate() {
                    *lane = if kind.is_multiple_of(2) {
                        _mm_aesenc_si128(*lane, self.lane[kind])
                    } else {
                        _mm_aesdec_si128(*lane, self.lane[kind])
                    };
                    put(kind * VECTORS + n, *lane);
                }
            }
        }
    }
}

#[inline]
#[target_feature(enable = "aes,sse2")]
fn fill_wide(root: &Root, first: u64, batches: &mut [[u8; BATCH]]) {
    let mut generator = BatchGenerator::new(root, first);
    for batch in batches {
        let (places, _) = batch.as_chunks_mut::<WIDTH>();
        generator.next(|n, lanes| {
            // SAFETY: the place is as wide as a vector; the store asks for no alignment.
            unsafe { _mm_storeu_si128(places[n].as_mut_ptr().cast(), lanes) };
        });
    }
}

#[target_feature(enable = "aes,sse2")]
fn wrong_wide(root: &Root, first: u64, batches: &[[u8; BATCH]]) -> Option<usize> {
    let mut generator = BatchGenerator::new(root, first);
    for (n, batch) in batches.iter().enumerate() {
        let (places, _) = batch.as_chunks::<WIDTH>();
        let mut difference = _mm_setzero_si128();
        generator.next(|n, lanes| {
            // SAFETY: the place is as wide as a vector; the load asks for no alignment.
            let found = unsafe { _mm_loadu_si128(places[n].as_ptr().cast()) };
            difference = _mm_or_si128(difference, _mm_xor_si128(found, lanes));
        });
        let same = _mm_cmpeq_epi8(difference, _mm_setzero_si128());
        if _mm_movemask_epi8(same) != 0xffff {
            return Some(n);
        }
    }
    None
}
