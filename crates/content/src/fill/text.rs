//! Blocks of text: the lane that names the content, a text, and random bytes of the content behind it.

use super::fan::{BATCH, Lane};
use super::generator::{Generator, Mismatch, first_difference};
use super::root::Root;

/// Bytes of the lane in front.
const LANE: usize = size_of::<Lane>();

/// The part of a block that is the same whatever its content is. The tail begins in the last [`BATCH`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    /// As long as the block.
    pub bytes: &'a [u8],
    /// The offset in the block at which the random bytes of the tail begin.
    pub tail: usize,
}

impl Generator {
    /// Fills `block`, a whole block or the head of one.
    #[inline]
    pub(crate) fn fill_text(self, root: &Root, text: Text<'_>, block: &mut [u8]) {
        let length = block.len().min(text.bytes.len());
        let (block, end) = (&mut block[..length], text.tail.min(length));
        block[..end].copy_from_slice(&text.bytes[..end]);
        let lane = LANE.min(end);
        block[..lane].copy_from_slice(&self.batch(root, 0)[..lane]);
        if end < length {
            let last = text.bytes.len() - BATCH;
            block[end..].copy_from_slice(&self.batch(root, last)[end - last..length - last]);
        }
    }

    /// Tells whether `block`, a whole block or the head of one, holds the bytes that [`Generator::fill_text`] makes.
    ///
    /// # Errors
    /// The first byte that differs.
    #[inline]
    pub(crate) fn matches_text(
        self,
        root: &Root,
        text: Text<'_>,
        block: &[u8],
    ) -> Result<(), Mismatch> {
        let (length, end) = (block.len(), text.tail.min(block.len()));
        let lane = LANE.min(end);
        first_difference(0, &block[..lane], &self.batch(root, 0))?;
        first_difference(lane, &block[lane..end], &text.bytes[lane..])?;
        if end < length {
            let last = text.bytes.len() - BATCH;
            first_difference(end, &block[end..], &self.batch(root, last)[end - last..])?;
        }
        Ok(())
    }
}
