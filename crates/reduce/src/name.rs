//! The name of a block: all that the census needs of its bytes, except for their size.

use crate::Fingerprint;
use crate::pick::{level, passes, pick};

/// Identifies the content of a block and the samples that contain it. A writer can name a block while it is in the cache, and pass on these few bytes
/// instead of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    pub(crate) print: Fingerprint,
    pub(crate) pick: u64,
}

impl Name {
    /// The name of a block; zero blocks have to be counted separately ([`crate::is_zero`]).
    pub fn of(block: &[u8]) -> Self {
        Self { print: Fingerprint::of(block), pick: pick(block) }
    }

    /// Tells whether it belongs to the sample of one in 2^`shift` contents.
    #[inline]
    pub fn passes(&self, shift: u32) -> bool {
        passes(self.pick, shift)
    }

    /// Tells whether the size of this block is measured at the sampling shift `shift`. This uses other bits than the sample itself, so that a census
    /// with a large shift still has blocks to measure.
    #[inline]
    pub fn is_sized(&self, shift: u32) -> bool {
        passes(self.pick.swap_bytes(), shift)
    }

    /// The largest shift whose sample contains it.
    pub(crate) fn level(&self) -> u32 {
        level(self.pick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_whether_its_block_is_picked_and_apart_from_that_whether_it_is_sized() {
        let (mut named, mut sized) = (0, 0);
        for id in 0..4096u64 {
            let mut block = [7u8; 512];
            block[..8].copy_from_slice(&id.to_le_bytes());
            let name = Name::of(&block);
            let picked = crate::picked(&block, 2);
            assert!(name.passes(2) == picked && (name.level() >= 2) == picked);
            if !picked {
                continue;
            }
            assert!(name.is_sized(2) || !name.is_sized(3));
            named += 1;
            sized += u32::from(name.is_sized(2));
        }
        assert!((900..1150).contains(&named), "{named}");
        // Whether a size is measured is independent of the sample.
        assert!((200..320).contains(&sized), "{sized} of {named}");
    }
}
