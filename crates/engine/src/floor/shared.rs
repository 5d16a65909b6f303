//! Parts that all drivers of the floor share: the choice of the next blocks, their content, and the flag that ends the run.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64};

use content::{BlockLayout, ContentId, Generator};
use units::Seed;

use crate::error::{EngineError, ErrorKind};

/// Bytes of a call.
pub(super) const BLOCK: usize = 4096;

/// Multiplier and increment of the random order, a linear congruence modulo 2^64 (D. E. Knuth, The Art of Computer Programming,
/// vol. 2, 3.3.4). Only its high bits are used.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
const INCREMENT: u64 = 1_442_695_040_888_963_407;

/// State that the threads share.
pub(super) struct FloorRun {
    pub(super) blocks: u64,
    pub(super) sequential: bool,
    pub(super) writes: bool,
    /// The next block, where several threads share one sequence.
    pub(super) cursor: AtomicU64,
    pub(super) over: AtomicBool,
    /// The barrier of all threads and the one that measures the time.
    pub(super) start: Barrier,
}

/// Generates blocks in random order, a different one for each thread.
pub(super) fn at_random(blocks: u64, number: u32) -> impl FnMut() -> u64 {
    let mut state = Seed(u64::from(number)).generator().next_u64();
    move || {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        ((u128::from(state) * u128::from(blocks)) >> 64) as u64
    }
}

/// Generates blocks in order, beginning again after the last.
pub(super) fn in_order(blocks: u64) -> impl FnMut() -> u64 {
    let mut next = 0;
    move || {
        let block = next;
        next = if block + 1 == blocks { 0 } else { block + 1 };
        block
    }
}

/// Generates the content to be written: incompressible bytes, different for each block.
pub(super) struct BlockFiller {
    generator: Generator,
    next: ContentId,
}

impl BlockFiller {
    pub(super) fn new(thread: u32) -> Self {
        Self { generator: Generator::best(), next: ContentId(u64::from(thread) << 40 | 1) }
    }

    #[inline]
    pub(super) fn make(&mut self, block: &mut [u8]) {
        self.generator.fill(self.next, BlockLayout::head(BLOCK), block);
        self.next.0 += 1;
    }
}

/// Returns the error for an I/O at offset `at` that gave `result`: a number of bytes or a negative error number.
#[cold]
pub(super) fn short(at: u64, result: isize) -> EngineError {
    let help =
        "check the target by other means first: all of its blocks must be readable and writable";
    let what = format!("A block at offset {at} was not moved whole");
    let error = EngineError::new(ErrorKind::Target, what, help);
    if result < 0 {
        error.because(std::io::Error::from_raw_os_error(-result as i32))
    } else {
        error.because(format!("{result} bytes were moved"))
    }
}
