//! The AES pair 256 bits wide: two pairs, 64 bytes, at a time.

use std::arch::x86_64::{
    __m256i, _mm_aesenc_si128, _mm256_add_epi64, _mm256_aesdec_epi128, _mm256_aesenc_epi128,
    _mm256_broadcastsi128_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_permute2x128_si256,
    _mm256_set_epi64x, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_storeu_si256,
    _mm256_testz_si256, _mm256_xor_si256,
};

use super::aesni::{halves, key};
use super::{BASE_KEYS, BATCH, LANE_KEYS, MARK, PAIR, PAIR_KEYS, STEP};

/// Pairs in a vector.
const WIDE: usize = 2;
/// Vectors of counters in a batch.
const VECTORS: usize = BATCH / PAIR / WIDE;

/// Fills whole batches with the bytes of `id` from pair `first` on. Only for a processor that has the instructions.
#[inline]
pub(super) fn fill(id: u64, first: u64, batches: &mut [[u8; BATCH]]) {
    // SAFETY: `Generator` holds `Path::Vaes256` only when `Path::available` lists it.
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
    counters: [__m256i; VECTORS],
    stride: __m256i,
    pair: [__m256i; 2],
    lane: [__m256i; 2],
}

impl Maker {
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes")]
    fn new(id: u64, first: u64) -> Self {
        let mut base = halves(id, MARK);
        for round in BASE_KEYS {
            base = _mm_aesenc_si128(base, key(round));
        }
        let base = _mm256_broadcastsi128_si256(base);
        let steps = |from: u64| {
            let step =
                |n: u64, half: usize| STEP[half].wrapping_mul(from.wrapping_add(n)).cast_signed();
            _mm256_set_epi64x(step(1, 1), step(1, 0), step(0, 1), step(0, 0))
        };
        let counters = std::array::from_fn(|v| {
            _mm256_add_epi64(base, steps(first.wrapping_add((v * WIDE) as u64)))
        });
        let whole = |half: usize| STEP[half].wrapping_mul((VECTORS * WIDE) as u64);
        Self {
            counters,
            stride: _mm256_broadcastsi128_si256(halves(whole(0), whole(1))),
            pair: [wide_key(PAIR_KEYS[0]), wide_key(PAIR_KEYS[1])],
            lane: [wide_key(LANE_KEYS[0]), wide_key(LANE_KEYS[1])],
        }
    }

    /// The next batch, in order.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes")]
    fn next(&mut self) -> [[__m256i; 2]; VECTORS] {
        let mut batch = [[_mm256_setzero_si256(); 2]; VECTORS];
        for (counter, lanes) in self.counters.iter_mut().zip(&mut batch) {
            let pair = _mm256_aesenc_epi128(*counter, self.pair[0]);
            let pair = _mm256_aesenc_epi128(pair, self.pair[1]);
            *counter = _mm256_add_epi64(*counter, self.stride);
            let one = _mm256_aesenc_epi128(pair, self.lane[0]);
            let two = _mm256_aesdec_epi128(pair, self.lane[1]);
            *lanes = [
                _mm256_permute2x128_si256::<0x20>(one, two),
                _mm256_permute2x128_si256::<0x31>(one, two),
            ];
        }
        batch
    }
}

#[inline]
#[target_feature(enable = "aes,avx2,vaes")]
fn wide_key(of: u128) -> __m256i {
    _mm256_broadcastsi128_si256(key(of))
}

#[target_feature(enable = "aes,avx2,vaes")]
fn fill_wide(id: u64, first: u64, batches: &mut [[u8; BATCH]]) {
    let mut maker = Maker::new(id, first);
    for batch in batches {
        let (places, _) = batch.as_chunks_mut::<32>();
        for (place, vector) in places.iter_mut().zip(maker.next().as_flattened()) {
            // SAFETY: `place` is 32 bytes; the store asks for no alignment.
            unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), *vector) };
        }
    }
}

#[target_feature(enable = "aes,avx2,vaes")]
fn wrong_wide(id: u64, first: u64, batches: &[[u8; BATCH]]) -> Option<usize> {
    let mut maker = Maker::new(id, first);
    for (n, batch) in batches.iter().enumerate() {
        let (places, _) = batch.as_chunks::<32>();
        let mut difference = _mm256_setzero_si256();
        for (place, vector) in places.iter().zip(maker.next().as_flattened()) {
            // SAFETY: `place` is 32 bytes; the load asks for no alignment.
            let found = unsafe { _mm256_loadu_si256(place.as_ptr().cast()) };
            difference = _mm256_or_si256(difference, _mm256_xor_si256(found, *vector));
        }
        if _mm256_testz_si256(difference, difference) == 0 {
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

#[target_feature(enable = "avx2")]
fn store_wide(value: u8, bytes: &mut [u8]) {
    const WIDTH: usize = size_of::<__m256i>();
    if bytes.len() < WIDTH {
        bytes.fill(value);
        return;
    }
    let (address, last) = (bytes.as_ptr().addr(), bytes.len() - WIDTH);
    let vector = _mm256_set1_epi8(value.cast_signed());
    let mut place = |at: usize| {
        debug_assert!(at + WIDTH <= bytes.len());
        // SAFETY: `at` is at most the length less the width; the store asks for no alignment.
        unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().add(at).cast(), vector) };
    };
    // The first and the last store may overlap others; those between are aligned, so none crosses a cache line.
    place(0);
    let first = WIDTH - address % WIDTH;
    (first..=last).step_by(WIDTH).for_each(&mut place);
    place(last);
}
