//! Making blocks from their roots.
//!
//! Every register saved between the stores of two blocks costs one more store. So the usual case, random bytes and then zeros, is a chain of
//! tail calls, and everything else is in separate functions.

use super::generator::{Generator, Path};
use super::layout::BlockLayout;
use super::portable;
use super::root::Root;
#[cfg(target_arch = "x86_64")]
use super::{aesni, vaes256, vaes512};
use crate::ContentId;

impl Generator {
    /// Fills `block`, of any length, with the bytes of `id`. The zero content gives zeros whatever the layout says.
    #[inline]
    pub fn fill(self, id: ContentId, layout: BlockLayout, block: &mut [u8]) {
        if id == ContentId::ZERO {
            return self.store(0, block);
        }
        let mut root = [Root::default()];
        self.roots(&[id], &mut root);
        self.grow(&root[0], &layout, block);
    }

    /// Fills `block`, of any length, with what grows from `root`.
    #[inline]
    pub(crate) fn grow(self, root: &Root, layout: &BlockLayout, block: &mut [u8]) {
        match layout.head_of(block.len()) {
            Some(random) => self.grow_head(root, random, block),
            None => self.grow_runs(root, layout, block),
        }
    }

    /// Fills the first `random` bytes (at most the block) from the root, the rest with zeros.
    #[inline]
    pub(crate) fn grow_head(self, root: &Root, random: usize, block: &mut [u8]) {
        self.fill_run(root, 0, block, random.min(block.len()));
    }

    #[inline(never)]
    fn grow_runs(self, root: &Root, layout: &BlockLayout, block: &mut [u8]) {
        for (at, random, zeros) in layout.runs(block.len()) {
            self.fill_run(root, at, &mut block[at..at + random + zeros], random);
        }
    }

    /// Stores `value` into every byte, by the widest instructions of the path: the limit of what a fill can reach.
    #[inline]
    pub fn store(self, value: u8, bytes: &mut [u8]) {
        match self.path {
            #[cfg(target_arch = "x86_64")]
            Path::AesNi => aesni::store(value, bytes),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes256 => vaes256::store(value, bytes),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes512 => vaes512::store(value, bytes),
            _ => bytes.fill(value),
        }
    }

    /// One run, which starts `at` bytes into the block.
    #[inline]
    fn fill_run(self, root: &Root, at: usize, bytes: &mut [u8], random: usize) {
        match self.path {
            #[cfg(target_arch = "x86_64")]
            Path::AesNi => aesni::fill_run(root, at, bytes, random),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes256 => vaes256::fill_run(root, at, bytes, random),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes512 => vaes512::fill_run(root, at, bytes, random),
            _ => portable::fill_run(root, at, bytes, random),
        }
    }
}

impl Root {
    /// The root of `id`.
    #[inline]
    pub fn of(id: ContentId) -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("aes") {
            // SAFETY: the processor has the instructions, which was asked just now.
            return unsafe { super::aesni::root(id) };
        }
        portable::root(id)
    }
}

impl Generator {
    /// Stores the roots of `ids` into `roots`. Each is stored whole: loading one that was stored in halves would stall.
    #[inline]
    pub(crate) fn roots<const N: usize>(self, ids: &[ContentId; N], roots: &mut [Root; N]) {
        match self.path {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: these paths are held only where the processor has the instructions.
            Path::AesNi | Path::Vaes256 | Path::Vaes512 => unsafe {
                super::aesni::roots(ids, roots);
            },
            _ => *roots = ids.map(portable::root),
        }
    }

    /// The root of `id` in registers, as from [`Root::of`], but without looking up which instructions the processor has.
    #[inline]
    pub(crate) fn root(self, id: ContentId) -> Root {
        match self.path {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Path::AesNi | Path::Vaes256 | Path::Vaes512 => unsafe { super::aesni::root(id) },
            _ => portable::root(id),
        }
    }
}
