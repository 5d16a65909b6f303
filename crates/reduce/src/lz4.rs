//! LZ4 sizes, computed with liblz4 1.8.0.
//!
//! The kernel's LZ4 produces the sizes of liblz4 1.7.3 to 1.8.0, byte for byte; newer versions differ in one block of twenty. That is why the version
//! is pinned.

use std::ffi::{c_char, c_int, c_void};

// Links the library through this crate, which does not declare the two functions that get their memory from the caller.
use lz4_sys as _;

use crate::BLOCK;
use crate::sizer::{Sizer, TEXT};

unsafe extern "C" {
    fn LZ4_sizeofState() -> c_int;
    fn LZ4_compress_fast_extState(
        state: *mut c_void,
        source: *const c_char,
        dest: *mut c_char,
        source_size: c_int,
        dest_size: c_int,
        acceleration: c_int,
    ) -> c_int;
}

/// Restores the block that `packed` was compressed from, and tells whether it could: if the bytes are not LZ4, or yield less or more than a block,
/// the content of `block` is unspecified.
///
/// The bytes come from a disk and may be anything, and liblz4 1.8.0 reads out of bounds for empty input. So a decoder without `unsafe` reads them:
/// all decoders produce the same block from the same bytes, only compressors differ.
#[must_use]
pub fn expand(packed: &[u8], block: &mut [u8; BLOCK]) -> bool {
    lz4_flex::block::decompress_into(packed, block).is_ok_and(|made| made == BLOCK)
}

/// LZ4_COMPRESSBOUND(4096), the room with which compression never fails.
const BOUND: usize = BLOCK + BLOCK / 255 + 16;

/// LZ4 for blocks of 4096 bytes; its memory is allocated once.
pub struct Lz4 {
    state: Box<[u64]>,
    out: Box<[u8; BOUND]>,
    /// Output buffer for longer texts.
    long_out: Vec<u8>,
    sizer: Sizer,
    /// A buffer with a block at its beginning and zeros behind it.
    text: Box<[u8; TEXT]>,
}

/// liblz4 returned an impossible size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "liblz4 gave {size} as a compressed size; this build's liblz4 is not the one it was made for"
)]
pub struct Lz4Error {
    /// The size that it returned.
    pub size: i32,
}

impl Default for Lz4 {
    fn default() -> Self {
        Self::new()
    }
}

impl Lz4 {
    /// Number of bytes that [`Lz4::size_in`] takes, of which the first 4096 are the block.
    pub const WINDOW: usize = TEXT;

    /// Allocates the memory that compression needs (about 360 KiB of address space, of which 70 KiB are used).
    pub fn new() -> Self {
        // SAFETY: takes nothing, returns a constant of the library.
        let bytes = unsafe { LZ4_sizeofState() };
        let words = usize::try_from(bytes).unwrap_or(0).div_ceil(size_of::<u64>());
        Self {
            state: vec![0; words].into_boxed_slice(),
            out: Box::new([0; BOUND]),
            long_out: Vec::new(),
            sizer: Sizer::default(),
            text: Box::new([0; TEXT]),
        }
    }

    /// The LZ4 size of `block` in bytes as the kernel would produce it; 4096 if LZ4 does not make it smaller. Equal to [`Lz4::library_size`], but
    /// without producing the output.
    #[inline]
    pub fn size(&mut self, block: &[u8; BLOCK]) -> Result<usize, Lz4Error> {
        self.text[..BLOCK].copy_from_slice(block);
        Ok(self.sizer.size(&self.text).min(BLOCK))
    }

    /// The same as [`Lz4::size`] for the block at the beginning of `window`, without copying it. The bytes behind the block do not matter.
    #[inline]
    pub fn size_in(&mut self, window: &[u8; Self::WINDOW]) -> usize {
        self.sizer.size(window).min(BLOCK)
    }

    /// Number of bytes to which liblz4 compresses `text` of any length, as a whole; its own length if LZ4 does not make it smaller. Keeps memory for
    /// the output.
    pub fn size_of(&mut self, text: &[u8]) -> Result<usize, Lz4Error> {
        let room = text.len() + text.len() / 255 + 16;
        let (Ok(length), Ok(bound)) = (c_int::try_from(text.len()), c_int::try_from(room)) else {
            return Err(Lz4Error { size: c_int::MAX });
        };
        if self.long_out.len() < room {
            self.long_out.resize(room, 0);
        }
        // SAFETY: the state has the size that the library requires; source and destination are valid for the given lengths, and do not overlap.
        let size = unsafe {
            LZ4_compress_fast_extState(
                self.state.as_mut_ptr().cast(),
                text.as_ptr().cast(),
                self.long_out.as_mut_ptr().cast(),
                length,
                bound,
                1,
            )
        };
        match usize::try_from(size) {
            Ok(bytes) if (1..=room).contains(&bytes) => Ok(bytes.min(text.len())),
            _ => Err(Lz4Error { size }),
        }
    }

    /// The block as compressed by liblz4, with as many bytes as [`Lz4::size`] returns; the block itself if LZ4 does not make it smaller.
    pub fn compressed<'a>(&'a mut self, block: &'a [u8; BLOCK]) -> Result<&'a [u8], Lz4Error> {
        let size = self.library_size(block)?;
        Ok(if size < BLOCK { &self.out[..size] } else { block })
    }

    /// The size to which liblz4 compresses the block.
    pub fn library_size(&mut self, block: &[u8; BLOCK]) -> Result<usize, Lz4Error> {
        // SAFETY: the state has the size that the library requires and the alignment of a u64, as it requires; source and destination are valid for
        // the given lengths, and do not overlap.
        let size = unsafe {
            LZ4_compress_fast_extState(
                self.state.as_mut_ptr().cast(),
                block.as_ptr().cast(),
                self.out.as_mut_ptr().cast(),
                BLOCK as c_int,
                BOUND as c_int,
                1,
            )
        };
        match usize::try_from(size) {
            Ok(bytes @ 1..=BOUND) => Ok(bytes.min(BLOCK)),
            _ => Err(Lz4Error { size }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_a_few_bytes_and_noise_is_a_whole_block() {
        let mut lz4 = Lz4::new();
        assert_eq!(lz4.size(&[0; BLOCK]), Ok(26));
        let mut rng = units::Seed(1).generator();
        let noise = std::array::from_fn(|_| rng.next_u64() as u8);
        assert_eq!(lz4.size(&noise), Ok(BLOCK));
    }

    #[test]
    fn random_bytes_before_zeros_cost_26_to_37_bytes_more_and_grow_with_them() {
        let mut lz4 = Lz4::new();
        let mut rng = units::Seed(2).generator();
        let mut before = 0;
        for random in (16..4000).step_by(8) {
            let block = std::array::from_fn(|i| if i < random { rng.next_u64() as u8 } else { 0 });
            let size = lz4.size(&block).unwrap();
            assert!((random + 24..=random + 38).contains(&size), "{random} -> {size}");
            assert!(size + 3 >= before, "{random}: {size} after {before}");
            before = size;
        }
    }

    #[test]
    fn what_is_compressed_expands_to_the_same_block_and_anything_else_is_refused() {
        let mut lz4 = Lz4::new();
        let mut random = units::Seed(4).generator();
        for seed in 0..3000 {
            let block = mixed(seed);
            let size = lz4.size(&block).unwrap();
            let mut packed = lz4.compressed(&block).unwrap().to_vec();
            assert_eq!(packed.len(), size);
            let mut out = [0; BLOCK];
            if size == BLOCK {
                assert_eq!(packed, block);
                continue;
            }
            assert!(expand(&packed, &mut out) && out == block, "seed {seed}");
            assert!(!expand(&packed[..size - 1], &mut out), "seed {seed}");
            // Damaged bytes may yield another block, but nothing is written beyond it.
            let at = random.below(size as u64) as usize;
            packed[at] ^= 1 << random.below(8);
            let _ = expand(&packed, &mut out);
        }
        assert!(!expand(&[], &mut [0; BLOCK]));
    }

    /// Blocks of many kinds: noise, runs, words, copies from near and far, and blocks of a single byte value.
    fn mixed(seed: u64) -> [u8; BLOCK] {
        let mut rng = units::Seed(seed).generator();
        let letters = 1 + rng.below(256);
        let (copy, longest) = (rng.below(101), 4 + rng.below(200));
        let mut block = [0; BLOCK];
        let mut at = 0;
        while at < BLOCK {
            let length = (1 + rng.below(longest) as usize).min(BLOCK - at);
            if at > 0 && rng.below(100) < copy {
                let from = rng.below(at as u64) as usize;
                (0..length).for_each(|i| block[at + i] = block[from + i]);
            } else {
                block[at..at + length].iter_mut().for_each(|b| *b = rng.below(letters) as u8);
            }
            at += length;
        }
        block
    }

    #[test]
    fn sizes_without_output_equal_the_librarys() {
        let mut lz4 = Lz4::new();
        for seed in 0..20_000 {
            let block = mixed(seed);
            assert_eq!(lz4.size(&block), lz4.library_size(&block), "seed {seed}");
        }
    }

    /// Noise is detected with a table that is not cleared: neither earlier blocks nor repetitions within the block itself may change the size.
    #[test]
    fn noise_with_and_without_a_match_has_the_librarys_size_whatever_came_before() {
        let mut lz4 = Lz4::new();
        let mut rng = units::Seed(7).generator();
        let mut smaller = 0;
        for round in 0..20_000u64 {
            let mut block: [u8; BLOCK] = std::array::from_fn(|_| rng.next_u64() as u8);
            // No match, or one of several lengths that repeats earlier bytes; from a position in the part that is searched without gaps, or from
            // anywhere.
            let length = [0, 0, 4, 30, 60][rng.below(5) as usize];
            let most = [12, 64, BLOCK as u64 - 60][rng.below(3) as usize];
            let (from, to) = (rng.below(most) as usize, rng.below(most) as usize);
            block.copy_within(from..from + length, to);
            if round % 50 == 0 {
                block = mixed(round);
            }
            let size = lz4.library_size(&block);
            assert_eq!(lz4.size(&block), size, "round {round}");
            smaller += u32::from(size.is_ok_and(|size| size < BLOCK));
        }
        assert!((1000..8000).contains(&smaller), "{smaller}");
    }

    #[test]
    fn sizes_of_this_programs_own_pages_equal_the_librarys() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let mut lz4 = Lz4::new();
        for (i, block) in program.as_chunks::<BLOCK>().0.iter().enumerate() {
            assert_eq!(lz4.size(block), lz4.library_size(block), "page {i}");
        }
    }

    #[test]
    fn what_stands_behind_a_block_does_not_change_its_size() {
        let mut lz4 = Lz4::new();
        let mut window = vec![0; Lz4::WINDOW];
        for seed in 0..200 {
            let block = mixed(seed);
            window[..BLOCK].copy_from_slice(&block);
            // Bytes behind the block that would make the last match longer, and bytes that would not.
            for behind in [block, mixed(seed + 1), [block[BLOCK - 1]; BLOCK]] {
                window[BLOCK..2 * BLOCK].copy_from_slice(&behind);
                let size = lz4.size_in(window.first_chunk().unwrap());
                assert_eq!(Ok(size), lz4.library_size(&block), "seed {seed}");
            }
        }
    }

    #[test]
    fn a_text_of_any_length_has_a_size_and_a_block_the_same_as_ever() {
        let mut lz4 = Lz4::new();
        let block = mixed(9);
        assert_eq!(lz4.size_of(&block), lz4.size(&block));
        assert!(lz4.size_of(&[7; 131_072]).unwrap() < 700);
        assert_eq!(lz4.size_of(b"abc"), Ok(3));
        assert_eq!(lz4.size_of(&[]), Ok(0));
    }

    #[test]
    fn what_was_compressed_before_does_not_matter() {
        let (a, b) =
            (std::array::from_fn(|i| (i / 7) as u8), std::array::from_fn(|i| (i * i) as u8));
        let fresh = Lz4::new().size(&b);
        let mut used = Lz4::new();
        used.size(&a).unwrap();
        assert_eq!(used.size(&b), fresh);
    }
}
