//! The check of whole blocks, for contents that all have one layout.

use std::sync::Arc;

use super::generator::Generator;
use super::layout::BlockLayout;
use super::root::Root;
use crate::texts::Texts;
use crate::{BLOCK, ContentId, LANE};

/// Checks blocks of contents that differ in nothing but their id. Small and without pointers: after a system call most caches are
/// cold.
#[derive(Debug, Clone)]
pub struct BlockCheck {
    generator: Generator,
    layout: BlockLayout,
    unit: usize,
    /// Random bytes at the head of a block, where they can be compared in one pass.
    one_run: Option<usize>,
    /// The texts of blocks, and their number.
    texts: Option<(Arc<Texts>, u32)>,
}

impl BlockCheck {
    /// Creates the check for blocks of `unit` bytes.
    pub fn new(generator: Generator, layout: BlockLayout, unit: usize) -> Self {
        // One lane alone fits some root whatever it holds: a second one has to agree.
        let one_run = generator.one_run(layout, unit).filter(|&random| random >= 2 * LANE);
        Self { generator, layout, unit, one_run, texts: None }
    }

    /// Creates the check for blocks of `count` texts, from the first on.
    pub(crate) fn of_texts(generator: Generator, texts: Arc<Texts>, count: u32) -> Self {
        let layout = BlockLayout::head(BLOCK);
        Self { generator, layout, unit: BLOCK, one_run: None, texts: Some((texts, count)) }
    }

    /// Bytes of a block.
    pub fn unit(&self) -> usize {
        self.unit
    }

    /// The root of `id`, as from [`Root::of`], but without looking up which instructions the processor has.
    #[inline]
    pub fn root_of(&self, id: ContentId) -> Root {
        self.generator.root(id)
    }

    /// The number of the root of the content that `block` holds whole; `None` for zeros, and when it holds none of this layout
    /// whole.
    #[inline]
    pub fn number(&self, block: &[u8]) -> Option<u64> {
        #[cfg(target_arch = "x86_64")]
        if let (Some(random), true) = (self.one_run, block.len() == self.unit) {
            return super::vaes512::rooted(block, random).map(|root| Root(root.get()).number());
        }
        self.root(block).map(Root::number)
    }

    fn root(&self, block: &[u8]) -> Option<Root> {
        let Some((texts, count)) = &self.texts else {
            let id = self.generator.identify_whole(self.layout, block)?;
            return (id != ContentId::ZERO).then(|| self.generator.root(id));
        };
        let id = crate::identify(block).filter(|id| *id != ContentId::ZERO)?;
        let root = self.generator.root(id);
        let text = texts.text_of(0, *count, id);
        self.generator.matches_text(&root, text, block).is_ok().then_some(root)
    }

    /// Tells whether `block` holds the bytes that grow from `root`.
    #[inline]
    pub fn grows(&self, root: Root, block: &[u8]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let (Some(random), true) = (self.one_run, block.len() == self.unit) {
            return super::vaes512::grows(root, block, random);
        }
        self.root(block) == Some(root)
    }
}
