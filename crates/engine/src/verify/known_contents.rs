//! All contents that blocks may hold, those of this load and of earlier loads, and the bytes of each.

use std::sync::Arc;

use content::{BLOCK, BlockCheck, BlockLayout, ContentId, Contents, Generator};

/// Contents by id: gives the bytes of an id, and the id of a block's bytes.
pub trait BlockContents: Send + Sync {
    /// The id that the beginning of `block` names.
    fn identify(&self, block: &[u8]) -> Option<ContentId> {
        content::identify(block)
    }

    /// The id of `block`, if all of its bytes are those of the content with this id.
    #[inline]
    fn identify_whole(&self, block: &[u8]) -> Option<ContentId> {
        self.identify(block).filter(|&id| self.matches(id, block))
    }

    /// Tells whether `block` holds the bytes of `id`.
    fn matches(&self, id: ContentId, block: &[u8]) -> bool;

    /// The fast check of its blocks, where they differ only by their id.
    fn block_check(&self) -> Option<BlockCheck> {
        None
    }

    /// Fills `block` with the bytes of `id`.
    fn fill(&self, id: ContentId, block: &mut [u8]);

    /// Tells whether `id` is one of these contents.
    fn can_make(&self, id: ContentId) -> bool;
}

/// Contents that differ only by their id, with one layout for all.
#[derive(Debug, Clone, Copy)]
pub struct OneLayout(pub BlockLayout);

impl BlockContents for OneLayout {
    fn identify_whole(&self, block: &[u8]) -> Option<ContentId> {
        Generator::best().identify_whole(self.0, block)
    }

    fn matches(&self, id: ContentId, block: &[u8]) -> bool {
        Generator::best().matches(id, self.0, block).is_ok()
    }

    fn block_check(&self) -> Option<BlockCheck> {
        Some(BlockCheck::new(Generator::best(), self.0, BLOCK))
    }

    fn fill(&self, id: ContentId, block: &mut [u8]) {
        Generator::best().fill(id, self.0, block);
    }

    fn can_make(&self, _: ContentId) -> bool {
        true
    }
}

impl BlockContents for Contents {
    fn identify(&self, block: &[u8]) -> Option<ContentId> {
        Contents::identify(self, block)
    }

    fn identify_whole(&self, block: &[u8]) -> Option<ContentId> {
        Contents::identify_whole(self, block)
    }

    fn matches(&self, id: ContentId, block: &[u8]) -> bool {
        Contents::matches(self, id, block).is_ok()
    }

    fn block_check(&self) -> Option<BlockCheck> {
        Contents::block_check(self)
    }

    fn fill(&self, id: ContentId, block: &mut [u8]) {
        Contents::fill(self, id, block);
    }

    fn can_make(&self, id: ContentId) -> bool {
        self.parts(id).is_some()
    }
}

/// All contents that may be on the targets of a load: those of each target, then those of earlier loads.
#[derive(Clone)]
pub struct KnownContents(Vec<Arc<dyn BlockContents>>);

impl KnownContents {
    /// A set with these contents only.
    pub fn of(block_contents: impl BlockContents + 'static) -> Self {
        Self(vec![Arc::new(block_contents)])
    }

    /// Contents of each target, then those of earlier loads.
    pub fn new(known_contents: Vec<Arc<dyn BlockContents>>) -> Self {
        Self(known_contents)
    }

    /// The fast check of the first target's contents, where there is one.
    pub(super) fn block_check(&self) -> Option<BlockCheck> {
        self.0.first()?.block_check()
    }

    /// The id of the content that `block` holds as a whole; the contents of target `target` are tried first. `None` if it is not wholly one content.
    #[inline]
    pub fn identify_whole(&self, target: usize, block: &[u8]) -> Option<ContentId> {
        let of_target = self.0.get(target).or_else(|| self.0.first())?;
        match of_target.identify_whole(block) {
            None if self.0.len() > 1 => self.whole_of_others(block),
            found => found,
        }
    }

    #[cold]
    fn whole_of_others(&self, block: &[u8]) -> Option<ContentId> {
        self.0.iter().find_map(|block_contents| block_contents.identify_whole(block))
    }

    /// Ids that the head or tail of `block` names, even if it is wrong elsewhere.
    pub(crate) fn named(&self, block: &[u8]) -> impl Iterator<Item = ContentId> {
        self.0.iter().filter_map(|block_contents| block_contents.identify(block))
    }

    /// `length` bytes of the content `id`, from each of the sources that have it; from all sources if none has it.
    pub(crate) fn made(&self, id: ContentId, length: usize) -> Vec<Vec<u8>> {
        let made = |block_contents: &Arc<dyn BlockContents>| {
            let mut block = vec![0; length];
            block_contents.fill(id, &mut block);
            block
        };
        let fitting: Vec<_> =
            self.0.iter().filter(|block_contents| block_contents.can_make(id)).map(made).collect();
        if fitting.is_empty() { self.0.iter().map(made).collect() } else { fitting }
    }

    /// Tells whether any of the sources has `id`.
    pub(crate) fn can_make(&self, id: ContentId) -> bool {
        id == ContentId::ZERO || self.0.iter().any(|block_contents| block_contents.can_make(id))
    }
}
