//! The AES pair 512 bits wide: four pairs, 128 bytes, at a time.

use std::arch::x86_64::{
    __m512i, _mm_aesenc_si128, _mm512_add_epi64, _mm512_aesdec_epi128, _mm512_aesenc_epi128,
    _mm512_broadcast_i32x4, _mm512_loadu_si512, _mm512_or_si512, _mm512_permutex2var_epi64,
    _mm512_set_epi64, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_storeu_si512,
    _mm512_test_epi64_mask, _mm512_xor_si512,
};

use super::aesni::{halves, key};
use super::{BASE_KEYS, BATCH, LANE_KEYS, MARK, PAIR, PAIR_KEYS, STEP};

/// Pairs in a vector.
const WIDE: usize = 4;
/// Vectors of counters in a batch.
const VECTORS: usize = BATCH / PAIR / WIDE;

/// Fills whole batches with the bytes of `id` from pair `first` on. Only for a processor that has the instructions.
#[inline]
pub(super) fn fill(id: u64, first: u64, batches: &mut [[u8; BATCH]]) {
    // SAFETY: `Generator` holds `Path::Vaes512` only when `Path::available` lists it.
    unsafe { fill_wide(id, first, batches) }
}

/// Number of the first batch that is not as [`fill`] would make it. Only for a processor that has the instructions.
#[inline]
pub(super) fn wrong(id: u64, first: u64, batches: &[[u8; BATCH]]) -> Option<usize> {
    // SAFETY: as for `fill`.
    unsafe { wrong_wide(id, first, batches) }
}

/// What makes one batch after the other.
struct Maker {
    counters: [__m512i; VECTORS],
    stride: __m512i,
    pair: [__m512i; 2],
    lane: [__m512i; 2],
    /// Which 64-bit words of encrypted (0-7) and decrypted (8-15) lanes make the first and the second vector.
    order: [__m512i; 2],
}

impl Maker {
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,avx512f")]
    fn new(id: u64, first: u64) -> Self {
        let mut base = halves(id, MARK);
        for round in BASE_KEYS {
            base = _mm_aesenc_si128(base, key(round));
        }
        let base = _mm512_broadcast_i32x4(base);
        let steps = |from: u64| {
            let step =
                |n: u64, half: usize| STEP[half].wrapping_mul(from.wrapping_add(n)).cast_signed();
            _mm512_set_epi64(
                step(3, 1),
                step(3, 0),
                step(2, 1),
                step(2, 0),
                step(1, 1),
                step(1, 0),
                step(0, 1),
                step(0, 0),
            )
        };
        let counters = std::array::from_fn(|v| {
            _mm512_add_epi64(base, steps(first.wrapping_add((v * WIDE) as u64)))
        });
        let whole = |half: usize| STEP[half].wrapping_mul((VECTORS * WIDE) as u64);
        Self {
            counters,
            stride: _mm512_broadcast_i32x4(halves(whole(0), whole(1))),
            pair: [wide_key(PAIR_KEYS[0]), wide_key(PAIR_KEYS[1])],
            lane: [wide_key(LANE_KEYS[0]), wide_key(LANE_KEYS[1])],
            order: [
                _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0),
                _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4),
            ],
        }
    }

    /// The next batch, in order.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,avx512f")]
    fn next(&mut self) -> [[__m512i; 2]; VECTORS] {
        let mut batch = [[_mm512_setzero_si512(); 2]; VECTORS];
        for (counter, lanes) in self.counters.iter_mut().zip(&mut batch) {
            let pair = _mm512_aesenc_epi128(*counter, self.pair[0]);
            let pair = _mm512_aesenc_epi128(pair, self.pair[1]);
            *counter = _mm512_add_epi64(*counter, self.stride);
            let one = _mm512_aesenc_epi128(pair, self.lane[0]);
            let two = _mm512_aesdec_epi128(pair, self.lane[1]);
            *lanes = [
                _mm512_permutex2var_epi64(one, self.order[0], two),
                _mm512_permutex2var_epi64(one, self.order[1], two),
            ];
        }
        batch
    }
}

#[inline]
#[target_feature(enable = "aes,avx2,vaes,avx512f")]
fn wide_key(of: u128) -> __m512i {
    _mm512_broadcast_i32x4(key(of))
}

#[target_feature(enable = "aes,avx2,vaes,avx512f")]
fn fill_wide(id: u64, first: u64, batches: &mut [[u8; BATCH]]) {
    let mut maker = Maker::new(id, first);
    for batch in batches {
        let (places, _) = batch.as_chunks_mut::<64>();
        for (place, vector) in places.iter_mut().zip(maker.next().as_flattened()) {
            // SAFETY: `place` is 64 bytes; the store asks for no alignment.
            unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), *vector) };
        }
    }
}

#[target_feature(enable = "aes,avx2,vaes,avx512f")]
fn wrong_wide(id: u64, first: u64, batches: &[[u8; BATCH]]) -> Option<usize> {
    let mut maker = Maker::new(id, first);
    for (n, batch) in batches.iter().enumerate() {
        let (places, _) = batch.as_chunks::<64>();
        let mut difference = _mm512_setzero_si512();
        for (place, vector) in places.iter().zip(maker.next().as_flattened()) {
            // SAFETY: `place` is 64 bytes; the load asks for no alignment.
            let found = unsafe { _mm512_loadu_si512(place.as_ptr().cast()) };
            difference = _mm512_or_si512(difference, _mm512_xor_si512(found, *vector));
        }
        if _mm512_test_epi64_mask(difference, difference) != 0 {
            return Some(n);
        }
    }
    None
}

/// Stores `value` into every byte.
#[inline]
pub(super) fn store(value: u8, bytes: &mut [u8]) {
    // SAFETY: as for `fill`.
    unsafe { store_wide(value, bytes) }
}

#[target_feature(enable = "avx512f")]
fn store_wide(value: u8, bytes: &mut [u8]) {
    const WIDTH: usize = size_of::<__m512i>();
    if bytes.len() < WIDTH {
        bytes.fill(value);
        return;
    }
    let (address, last) = (bytes.as_ptr().addr(), bytes.len() - WIDTH);
    let vector = _mm512_set1_epi8(value.cast_signed());
    let mut place = |at: usize| {
        debug_assert!(at + WIDTH <= bytes.len());
        // SAFETY: `at` is at most the length less the width; the store asks for no alignment.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().add(at).cast(), vector) };
    };
    // The first and the last store may overlap others; those between are aligned, so none crosses a cache line.
    place(0);
    let first = WIDTH - address % WIDTH;
    (first..=last).step_by(WIDTH).for_each(&mut place);
    place(last);
}
