//! The bytes of contents, of this load and of those before it.

use std::sync::Arc;

use content::{BLOCK, ContentId, Contents, Generator, Layout, Look};

/// Knows what bytes its ids stand for.
pub trait Maker: Send + Sync {
    /// The content that the head of `block` names.
    fn identify(&self, block: &[u8]) -> Option<ContentId> {
        content::identify(block)
    }

    /// The content that `block` holds whole.
    #[inline]
    fn whole(&self, block: &[u8]) -> Option<ContentId> {
        self.identify(block).filter(|&id| self.matches(id, block))
    }

    /// Whether `block` holds the bytes of `id`.
    fn matches(&self, id: ContentId, block: &[u8]) -> bool;

    /// How its blocks are looked at, where they differ in nothing but their id.
    fn look(&self) -> Option<Look> {
        None
    }

    /// Fills `block` with the bytes of `id`.
    fn fill(&self, id: ContentId, block: &mut [u8]);

    /// Whether it is this one that makes `id`.
    fn makes(&self, id: ContentId) -> bool;
}

/// Contents that differ in nothing but their id: all have one layout.
#[derive(Debug, Clone, Copy)]
pub struct Plain(pub Layout);

impl Maker for Plain {
    fn whole(&self, block: &[u8]) -> Option<ContentId> {
        Generator::best().whole(self.0, block)
    }

    fn matches(&self, id: ContentId, block: &[u8]) -> bool {
        Generator::best().matches(id, self.0, block).is_ok()
    }

    fn look(&self) -> Option<Look> {
        Some(Look::new(Generator::best(), self.0, BLOCK))
    }

    fn fill(&self, id: ContentId, block: &mut [u8]) {
        Generator::best().fill(id, self.0, block);
    }

    fn makes(&self, _: ContentId) -> bool {
        true
    }
}

impl Maker for Contents {
    fn identify(&self, block: &[u8]) -> Option<ContentId> {
        Contents::identify(self, block)
    }

    fn whole(&self, block: &[u8]) -> Option<ContentId> {
        Contents::whole(self, block)
    }

    fn matches(&self, id: ContentId, block: &[u8]) -> bool {
        Contents::matches(self, id, block).is_ok()
    }

    fn look(&self) -> Option<Look> {
        Contents::look(self)
    }

    fn fill(&self, id: ContentId, block: &mut [u8]) {
        Contents::fill(self, id, block);
    }

    fn makes(&self, id: ContentId) -> bool {
        self.parts(id).is_some()
    }
}

/// All contents that may stand on the targets of a load: of each target, then of loads before it.
#[derive(Clone)]
pub struct Makers(Vec<Arc<dyn Maker>>);

impl Makers {
    /// Contents of this maker alone.
    pub fn of(maker: impl Maker + 'static) -> Self {
        Self(vec![Arc::new(maker)])
    }

    /// Contents of these makers: one for each target, then those of earlier loads.
    pub fn new(makers: Vec<Arc<dyn Maker>>) -> Self {
        Self(makers)
    }

    /// How blocks of the first one's contents are looked at, where these differ in nothing but their id.
    pub(super) fn look(&self) -> Option<Look> {
        self.0.first()?.look()
    }

    /// The content that `block` holds, whole; that of target `target` first. `None` when it is not whole.
    #[inline]
    pub fn whole(&self, target: usize, block: &[u8]) -> Option<ContentId> {
        let own = self.0.get(target).or_else(|| self.0.first())?;
        match own.whole(block) {
            None if self.0.len() > 1 => self.whole_of_others(block),
            found => found,
        }
    }

    #[cold]
    fn whole_of_others(&self, block: &[u8]) -> Option<ContentId> {
        self.0.iter().find_map(|maker| maker.whole(block))
    }

    /// What the makers take `block` for, by its head or its tail, and be it spoilt elsewhere.
    pub(crate) fn named(&self, block: &[u8]) -> impl Iterator<Item = ContentId> {
        self.0.iter().filter_map(|maker| maker.identify(block))
    }

    /// The bytes of `id`, `length` of them, as each maker would make them; those that make it, if any do.
    pub(crate) fn made(&self, id: ContentId, length: usize) -> Vec<Vec<u8>> {
        let made = |maker: &Arc<dyn Maker>| {
            let mut block = vec![0; length];
            maker.fill(id, &mut block);
            block
        };
        let own: Vec<_> = self.0.iter().filter(|maker| maker.makes(id)).map(made).collect();
        if own.is_empty() { self.0.iter().map(made).collect() } else { own }
    }

    /// Whether any of them makes `id`.
    pub(crate) fn make(&self, id: ContentId) -> bool {
        id == ContentId::ZERO || self.0.iter().any(|maker| maker.makes(id))
    }
}
