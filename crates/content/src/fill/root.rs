//! The root of a content: the number, made from its id, that all of its bytes grow from.

/// The root of a content, one for each id: the first counter of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Root(pub(super) u128);

impl Root {
    /// A number that looks random and distinguishes contents.
    #[inline]
    pub fn number(self) -> u64 {
        self.0 as u64
    }
}
