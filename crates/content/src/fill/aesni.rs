//! The AES pair with the AES instructions of x86-64, a pair at a time.

use std::arch::x86_64::{
    __m128i, _mm_add_epi64, _mm_aesdec_si128, _mm_aesenc_si128, _mm_cmpeq_epi8, _mm_loadu_si128,
    _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8, _mm_setzero_si128,
    _mm_storeu_si128, _mm_xor_si128,
};

use super::{BASE_KEYS, BATCH, LANE_KEYS, MARK, PAIR, PAIR_KEYS, STEP};

/// Pairs in a batch.
const PAIRS: usize = BATCH / PAIR;
/// Pairs that are made at a time: enough that the rounds of one hide the latency of another, few enough for 16 registers.
const TOGETHER: usize = 4;

/// Fills whole batches with the bytes of `id` from pair `first` on. Only for a processor that has the instructions.
#[inline]
pub(super) fn fill(id: u64, first: u64, batches: &mut [[u8; BATCH]]) {
    // SAFETY: `Generator` holds `Path::AesNi` only when `Path::available` lists it.
    unsafe { fill_with_aes(id, first, batches) }
}

/// Number of the first batch that is not as [`fill`] would make it. Only for a processor that has the instructions.
#[inline]
pub(super) fn wrong(id: u64, first: u64, batches: &[[u8; BATCH]]) -> Option<usize> {
    // SAFETY: as for `fill`.
    unsafe { wrong_with_aes(id, first, batches) }
}

#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn halves(low: u64, high: u64) -> __m128i {
    _mm_set_epi64x(high.cast_signed(), low.cast_signed())
}

#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn key(key: u128) -> __m128i {
    halves(key as u64, (key >> 64) as u64)
}

/// What makes pairs, [`TOGETHER`] after [`TOGETHER`].
struct Maker {
    counters: [__m128i; TOGETHER],
    stride: __m128i,
    pair: [__m128i; 2],
    lane: [__m128i; 2],
}

impl Maker {
    #[inline]
    #[target_feature(enable = "aes,sse2")]
    fn new(id: u64, first: u64) -> Self {
        let mut base = halves(id, MARK);
        for round in BASE_KEYS {
            base = _mm_aesenc_si128(base, key(round));
        }
        let step = |n: u64| halves(STEP[0].wrapping_mul(n), STEP[1].wrapping_mul(n));
        Self {
            counters: std::array::from_fn(|n| {
                _mm_add_epi64(base, step(first.wrapping_add(n as u64)))
            }),
            stride: step(TOGETHER as u64),
            pair: [key(PAIR_KEYS[0]), key(PAIR_KEYS[1])],
            lane: [key(LANE_KEYS[0]), key(LANE_KEYS[1])],
        }
    }

    #[inline]
    #[target_feature(enable = "aes,sse2")]
    fn next(&mut self) -> [[__m128i; 2]; TOGETHER] {
        let mut pairs = [[_mm_setzero_si128(); 2]; TOGETHER];
        for (counter, lanes) in self.counters.iter_mut().zip(&mut pairs) {
            let pair = _mm_aesenc_si128(_mm_aesenc_si128(*counter, self.pair[0]), self.pair[1]);
            *counter = _mm_add_epi64(*counter, self.stride);
            *lanes = [_mm_aesenc_si128(pair, self.lane[0]), _mm_aesdec_si128(pair, self.lane[1])];
        }
        pairs
    }
}

#[target_feature(enable = "aes,sse2")]
fn fill_with_aes(id: u64, first: u64, batches: &mut [[u8; BATCH]]) {
    let mut maker = Maker::new(id, first);
    let (groups, _) = batches.as_flattened_mut().as_chunks_mut::<{ TOGETHER * PAIR }>();
    for group in groups {
        let (places, _) = group.as_chunks_mut::<16>();
        for (place, lane) in places.iter_mut().zip(maker.next().as_flattened()) {
            // SAFETY: `place` is 16 bytes; the store asks for no alignment.
            unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), *lane) };
        }
    }
}

#[target_feature(enable = "aes,sse2")]
fn wrong_with_aes(id: u64, first: u64, batches: &[[u8; BATCH]]) -> Option<usize> {
    let mut maker = Maker::new(id, first);
    let (groups, _) = batches.as_flattened().as_chunks::<{ TOGETHER * PAIR }>();
    for (n, group) in groups.iter().enumerate() {
        let (places, _) = group.as_chunks::<16>();
        let mut difference = _mm_setzero_si128();
        for (place, lane) in places.iter().zip(maker.next().as_flattened()) {
            // SAFETY: `place` is 16 bytes; the load asks for no alignment.
            let found = unsafe { _mm_loadu_si128(place.as_ptr().cast()) };
            difference = _mm_or_si128(difference, _mm_xor_si128(found, *lane));
        }
        let same = _mm_cmpeq_epi8(difference, _mm_setzero_si128());
        if _mm_movemask_epi8(same) != 0xffff {
            return Some(n / (PAIRS / TOGETHER));
        }
    }
    None
}

/// Stores `value` into every byte.
#[inline]
pub(super) fn store(value: u8, bytes: &mut [u8]) {
    // SAFETY: as for `fill`.
    unsafe { store_narrow(value, bytes) }
}

#[target_feature(enable = "sse2")]
fn store_narrow(value: u8, bytes: &mut [u8]) {
    const WIDTH: usize = size_of::<__m128i>();
    if bytes.len() < WIDTH {
        bytes.fill(value);
        return;
    }
    let (address, last) = (bytes.as_ptr().addr(), bytes.len() - WIDTH);
    let vector = _mm_set1_epi8(value.cast_signed());
    let mut place = |at: usize| {
        debug_assert!(at + WIDTH <= bytes.len());
        // SAFETY: `at` is at most the length less the width; the store asks for no alignment.
        unsafe { _mm_storeu_si128(bytes.as_mut_ptr().add(at).cast(), vector) };
    };
    // The first and the last store may overlap others; those between are aligned, so none crosses a cache line.
    place(0);
    let first = WIDTH - address % WIDTH;
    (first..=last).step_by(WIDTH).for_each(&mut place);
    place(last);
}
