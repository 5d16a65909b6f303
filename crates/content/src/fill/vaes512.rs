//! The AES fan 512 bits wide: four counters at a time.

use std::arch::x86_64::{
    __m128i, __m512i, _mm512_add_epi64, _mm512_aesdec_epi128, _mm512_aesenc_epi128,
    _mm512_broadcast_i32x4, _mm512_loadu_si512, _mm512_mask_mov_epi8, _mm512_maskz_mov_epi8,
    _mm512_or_si512, _mm512_set_epi64, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_storeu_si512,
    _mm512_ternarylogic_epi64, _mm512_test_epi64_mask, _mm512_testn_epi8_mask, _mm512_xor_si512,
};
use std::hint::black_box;
use std::num::NonZero;

use super::aesni::{key, number, steps};
use super::entry::entry;
use super::fan::{BATCH, COUNTERS, KINDS, LANE_KEYS, LAST, Lane, STEM_KEYS, STEP};
use super::invert::aes;
use super::root::Root;

/// Bytes of a vector.
const WIDTH: usize = size_of::<__m512i>();

entry!(
    path: "vaes-512", features: "aes,avx2,vaes,avx512f",
    stores: "avx512f", _mm512_set1_epi8, _mm512_storeu_si512
);

/// The id whose content `block` holds: `random` bytes of it, a lane at least, then zeros. The block consists of whole batches.
#[inline]
pub(super) fn named(block: &[u8], random: usize) -> Option<u64> {
    // SAFETY: as for `fill`.
    unsafe { named_wide(block, random) }
}

/// The root of such a block. `NonZero`, so that the option stays in registers.
#[inline]
pub(super) fn rooted(block: &[u8], random: usize) -> Option<NonZero<u128>> {
    // SAFETY: as for `fill`.
    unsafe { rooted_wide(block, random) }
}

/// Tells whether `block` holds the bytes that grow from `root`.
#[inline]
pub(super) fn grows(root: Root, block: &[u8], random: usize) -> bool {
    // SAFETY: as for `fill`.
    unsafe { grows_wide(root, block, random) }
}

/// Makes the batches of one block, in order.
struct BatchGenerator {
    counters: __m512i,
    stride: __m512i,
    stem: [__m512i; 2],
    lane: [__m512i; KINDS],
}

impl BatchGenerator {
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,avx512f")]
    fn new(root: &Root, first: u64) -> Self {
        Self::from(key(root.0), first)
    }

    /// Starts the counter at `first` from a root that is in a register.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,avx512f")]
    fn from(root: __m128i, first: u64) -> Self {
        let step = |n: u64, half: usize| STEP[half].wrapping_mul(n).cast_signed();
        let fan = _mm512_set_epi64(
            step(3, 1),
            step(3, 0),
            step(2, 1),
            step(2, 0),
            step(1, 1),
            step(1, 0),
            0,
            0,
        );
        // All that waits for the root is one addition.
        let beyond_root = _mm512_add_epi64(fan, _mm512_broadcast_i32x4(steps(first)));
        Self {
            counters: _mm512_add_epi64(_mm512_broadcast_i32x4(root), beyond_root),
            stride: _mm512_broadcast_i32x4(steps(COUNTERS as u64)),
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

    /// The stems of the next batch.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,avx512f")]
    fn stems(&mut self) -> __m512i {
        let stem = _mm512_aesenc_epi128(self.counters, self.stem[0]);
        self.counters = _mm512_add_epi64(self.counters, self.stride);
        _mm512_aesenc_epi128(stem, self.stem[1])
    }

    /// The next batch, a vector for each kind of lane.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,avx512f")]
    fn next(&mut self) -> [__m512i; KINDS] {
        let stem = self.stems();
        let zero = _mm512_aesenc_epi128(stem, self.lane[0]);
        let one = _mm512_aesdec_epi128(stem, self.lane[1]);
        let two = _mm512_aesenc_epi128(one, self.lane[2]);
        let three = _mm512_aesdec_epi128(zero, self.lane[3]);
        let four = _mm512_aesenc_epi128(three, self.lane[4]);
        let five = _mm512_aesdec_epi128(two, self.lane[5]);
        let six = _mm512_aesenc_epi128(five, self.lane[6]);
        let seven = _mm512_aesdec_epi128(four, self.lane[7]);
        [zero, one, two, three, four, five, six, seven]
    }

    /// The next batch, where each lane is made from the block's own previous lane instead of the computed one, so that no lane waits for
    /// another. If all agree, the block equals [`BatchGenerator::next`]; in a wrong chain the first wrong lane differs.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,avx512f")]
    fn next_after(&mut self, found: &[__m512i; KINDS]) -> [__m512i; KINDS] {
        let stem = self.stems();
        [
            _mm512_aesenc_epi128(stem, self.lane[0]),
            _mm512_aesdec_epi128(stem, self.lane[1]),
            _mm512_aesenc_epi128(found[1], self.lane[2]),
            _mm512_aesdec_epi128(found[0], self.lane[3]),
            _mm512_aesenc_epi128(found[3], self.lane[4]),
            _mm512_aesdec_epi128(found[2], self.lane[5]),
            _mm512_aesenc_epi128(found[5], self.lane[6]),
            _mm512_aesdec_epi128(found[4], self.lane[7]),
        ]
    }
}

#[inline]
#[target_feature(enable = "aes,avx2,vaes,avx512f")]
fn wide_key(of: u128) -> __m512i {
    _mm512_broadcast_i32x4(key(of))
}

#[inline]
#[target_feature(enable = "aes,avx2,vaes,avx512f")]
fn fill_wide(root: &Root, first: u64, batches: &mut [[u8; BATCH]]) {
    let mut generator = BatchGenerator::new(root, first);
    for batch in batches {
        let (places, _) = batch.as_chunks_mut::<WIDTH>();
        for (place, lanes) in places.iter_mut().zip(generator.next()) {
            // SAFETY: `place` is as wide as a vector; the store asks for no alignment.
            unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), lanes) };
        }
    }
}

#[target_feature(enable = "aes,avx2,vaes,avx512f")]
fn wrong_wide(root: &Root, first: u64, batches: &[[u8; BATCH]]) -> Option<usize> {
    differs(BatchGenerator::new(root, first), batches)
}

/// Inverting the root to the id and comparing the block both start from the root, and overlap. ([`rooted`] first, then the id, takes 8 ns
/// more.)
#[target_feature(enable = "aes,avx2,vaes,avx512f,avx512bw")]
fn named_wide(block: &[u8], random: usize) -> Option<u64> {
    let base = aes::base_of(block.first_chunk()?);
    // The longer work first: the other overlaps with it.
    let is_whole = is_of(base, block, random);
    aes::id_of(base).filter(|_| is_whole)
}

#[target_feature(enable = "aes,avx2,vaes,avx512f,avx512bw")]
fn rooted_wide(block: &[u8], random: usize) -> Option<NonZero<u128>> {
    let base = aes::base_of(block.first_chunk()?);
    is_of(base, block, random).then(|| NonZero::new(number(base)))?
}

#[target_feature(enable = "aes,avx2,vaes,avx512f,avx512bw")]
fn grows_wide(root: Root, block: &[u8], random: usize) -> bool {
    is_of(key(root.0), block, random)
}

/// Tells whether `block` is what grows from `base`: differences are collected by OR, with one test at the end.
#[inline]
#[target_feature(enable = "aes,avx2,vaes,avx512f,avx512bw")]
fn is_of(base: __m128i, block: &[u8], random: usize) -> bool {
    let (batches, _) = block.as_chunks::<BATCH>();
    let (whole, rest) = batches.split_at(random / BATCH);
    let mut generator = BatchGenerator::from(base, 0);
    let mut difference = [_mm512_setzero_si512(); 2];
    for batch in whole {
        let found = vectors(batch);
        let due = generator.next_after(&found);
        for n in 0..KINDS {
            // What differed so far, or what differs here.
            difference[n % 2] =
                _mm512_ternarylogic_epi64::<0xf6>(difference[n % 2], found[n], due[n]);
        }
    }
    let mut zeros = rest;
    if !random.is_multiple_of(BATCH)
        && let Some((last, after)) = rest.split_first()
    {
        let (found, due) = (vectors(last), ends(generator.next(), random));
        for n in 0..KINDS {
            difference[n % 2] =
                _mm512_ternarylogic_epi64::<0xf6>(difference[n % 2], found[n], due[n]);
        }
        zeros = after;
    }
    for batch in zeros {
        let found = vectors(batch);
        for n in (0..KINDS).step_by(2) {
            difference[n / 2 % 2] =
                _mm512_ternarylogic_epi64::<0xfe>(difference[n / 2 % 2], found[n], found[n + 1]);
        }
    }
    let any = _mm512_or_si512(difference[0], difference[1]);
    _mm512_test_epi64_mask(any, any) == 0
}

/// The batch in which the `random` bytes of a block end, with zeros after them.
#[inline]
#[target_feature(enable = "aes,avx2,vaes,avx512f,avx512bw")]
fn ends(made: [__m512i; KINDS], random: usize) -> [__m512i; KINDS] {
    let bytes = random % BATCH;
    let last = bytes.wrapping_sub(1);
    let mut due = made;
    for (n, due) in due.iter_mut().enumerate() {
        let here = bytes.saturating_sub(n * WIDTH).min(WIDTH) as u32;
        let kept = u64::MAX.checked_shr(u64::BITS - here).unwrap_or(0);
        // The last random byte before zeros must not be zero; the lane that names the block is kept.
        let end =
            if last / WIDTH == n && random > size_of::<Lane>() { 1 << (last % WIDTH) } else { 0 };
        let zero = end & _mm512_testn_epi8_mask(*due, *due);
        let marked = _mm512_mask_mov_epi8(*due, zero, _mm512_set1_epi8(LAST.cast_signed()));
        *due = _mm512_maskz_mov_epi8(kept, marked);
    }
    due
}

/// A batch as it was found.
#[inline]
#[target_feature(enable = "avx512f")]
fn vectors(batch: &[u8; BATCH]) -> [__m512i; KINDS] {
    let mut found = [_mm512_setzero_si512(); KINDS];
    for (found, place) in found.iter_mut().zip(batch.as_chunks::<WIDTH>().0) {
        // SAFETY: `place` is as wide as a vector; the load asks for no alignment.
        *found = unsafe { _mm512_loadu_si512(place.as_ptr().cast()) };
    }
    found
}

/// Number of the first batch that is not what `generator` makes.
#[inline]
#[target_feature(enable = "aes,avx2,vaes,avx512f")]
fn differs(mut generator: BatchGenerator, batches: &[[u8; BATCH]]) -> Option<usize> {
    for (n, batch) in batches.iter().enumerate() {
        let (places, _) = batch.as_chunks::<WIDTH>();
        let mut difference = _mm512_setzero_si512();
        for (place, lanes) in places.iter().zip(generator.next()) {
            // SAFETY: `place` is as wide as a vector; the load asks for no alignment.
            let found = unsafe { _mm512_loadu_si512(place.as_ptr().cast()) };
            difference = _mm512_or_si512(difference, _mm512_xor_si512(found, lanes));
        }
        if _mm512_test_epi64_mask(difference, difference) != 0 {
            return Some(n);
        }
    }
    None
}

/// Tells whether all bytes are zero. Only for a processor that has the instructions.
#[inline]
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    // SAFETY: as for `fill`.
    unsafe { is_zero_wide(bytes) }
}

#[target_feature(enable = "avx512f")]
fn is_zero_wide(bytes: &[u8]) -> bool {
    let (pieces, rest) = bytes.as_chunks::<{ 8 * WIDTH }>();
    for piece in pieces {
        let mut any = _mm512_setzero_si512();
        for place in piece.as_chunks::<WIDTH>().0 {
            // SAFETY: `place` is as wide as a vector; the load asks for no alignment.
            any = _mm512_or_si512(any, unsafe { _mm512_loadu_si512(place.as_ptr().cast()) });
        }
        if _mm512_test_epi64_mask(any, any) != 0 {
            return false;
        }
    }
    let (places, rest) = rest.as_chunks::<WIDTH>();
    let mut any = _mm512_setzero_si512();
    for place in places {
        // SAFETY: as above.
        any = _mm512_or_si512(any, unsafe { _mm512_loadu_si512(place.as_ptr().cast()) });
    }
    _mm512_test_epi64_mask(any, any) == 0 && rest.iter().all(|&byte| byte == 0)
}
