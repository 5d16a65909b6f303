//! Layouts: the places of random bytes and of zeros in a block.

/// The places of a block's random bytes; all others are zero. A random byte depends on the id and on its offset only, so
/// layouts that share a place share its byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockLayout {
    random: usize,
    run: usize,
    period: usize,
}

impl BlockLayout {
    /// Runs start at multiples of this many bytes, which is what a path makes at a time.
    pub const GRAIN: usize = super::fan::BATCH;

    /// `random` random bytes (all of a block when it is shorter), then zeros.
    pub const fn head(random: usize) -> Self {
        Self { random, run: usize::MAX, period: usize::MAX }
    }

    /// Chunks of `chunk` bytes, in turn random and zero, until `random` random bytes have been given out; zeros after them.
    /// `chunk` is rounded up to whole [`GRAIN`](Self::GRAIN)s.
    pub const fn interleaved(random: usize, chunk: usize) -> Self {
        let chunk = if chunk == 0 {
            1
        } else if chunk > 1 << 30 {
            1 << 30
        } else {
            chunk
        };
        let chunk = chunk.next_multiple_of(Self::GRAIN);
        Self { random, run: chunk, period: 2 * chunk }
    }

    /// Chunks of `chunk` bytes (rounded up to whole [`GRAIN`](Self::GRAIN)s), each with at most `run` random bytes at its
    /// head and zeros after them, until `random` random bytes have been given out.
    pub const fn chunks(random: usize, run: usize, chunk: usize) -> Self {
        let period = Self::interleaved(random, chunk).run;
        Self { random, run: if run < period { run } else { period }, period }
    }

    /// Returns how many random bytes stand in front of a block of `length` bytes, where all others are zeros behind them.
    #[inline]
    pub(crate) fn head_of(self, length: usize) -> Option<usize> {
        (self.run == usize::MAX).then_some(self.random.min(length))
    }

    /// The runs of a block of `length` bytes: offset of the first byte, random bytes, zero bytes after them.
    #[inline]
    pub(super) fn runs(self, length: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let (mut at, mut left) = (0, self.random);
        std::iter::from_fn(move || {
            if at >= length {
                return None;
            }
            let random = left.min(self.run).min(length - at);
            left -= random;
            let end = if left == 0 { length } else { at.saturating_add(self.period).min(length) };
            let start = std::mem::replace(&mut at, end);
            Some((start, random, end - start - random))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(layout: BlockLayout, length: usize) -> Vec<(usize, usize, usize)> {
        layout.runs(length).collect()
    }

    #[test]
    fn a_head_is_one_run() {
        assert_eq!(runs(BlockLayout::head(100), 4096), [(0, 100, 3996)]);
        assert_eq!(runs(BlockLayout::head(0), 512), [(0, 0, 512)]);
        assert_eq!(runs(BlockLayout::head(9999), 512), [(0, 512, 0)]);
    }

    #[test]
    fn chunks_take_turns_until_the_random_bytes_are_given_out() {
        let layout = BlockLayout::interleaved(2600, 1024);
        assert_eq!(runs(layout, 8192), [(0, 1024, 1024), (2048, 1024, 1024), (4096, 552, 3544)]);
        assert_eq!(runs(layout, 3072), [(0, 1024, 1024), (2048, 1024, 0)]);
        assert_eq!(BlockLayout::interleaved(2600, 1000), layout);
        assert_eq!(
            runs(BlockLayout::chunks(250, 100, 1024), 4096),
            [(0, 100, 924), (1024, 100, 924), (2048, 50, 1998)]
        );
    }
}
