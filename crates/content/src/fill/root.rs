//! Between the id of a content and its bytes: the number that all of them grow from.

use super::{Generator, Path, portable};
use crate::ContentId;

/// What all bytes of a content grow from, one for each id: the first of its counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Root(pub(super) u128);

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

    /// A number that looks random, by which contents can be told apart.
    #[inline]
    pub fn number(self) -> u64 {
        self.0 as u64
    }
}

impl Generator {
    /// The roots of `ids`, put where they are kept. Each is stored whole: whoever loads one that was stored in halves waits for them.
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

    /// The root of `id` in registers: [`Root::of`], without asking what the processor can.
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
