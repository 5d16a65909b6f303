//! The bytes of contents, of this load and of those before it.

use std::sync::Arc;

use content::{ContentId, Generator, Layout};

type Of = Arc<dyn Fn(ContentId) -> Layout + Send + Sync>;

/// Knows what bytes an id stands for. Loads may differ in how far their blocks compress.
#[derive(Clone)]
pub(crate) struct Makers {
    generator: Generator,
    now: Of,
    earlier: Vec<Of>,
}

impl Makers {
    /// Contents whose layout is `layout`.
    pub(crate) fn new(layout: impl Fn(ContentId) -> Layout + Send + Sync + 'static) -> Self {
        Self { generator: Generator::best(), now: Arc::new(layout), earlier: Vec::new() }
    }

    /// These, and those of an earlier load.
    pub(crate) fn and_earlier(
        mut self,
        layout: impl Fn(ContentId) -> Layout + Send + Sync + 'static,
    ) -> Self {
        self.earlier.push(Arc::new(layout));
        self
    }

    /// Whether `block` holds the bytes of `id`.
    #[inline]
    pub(crate) fn matches(&self, id: ContentId, block: &[u8]) -> bool {
        self.generator.matches(id, (self.now)(id), block).is_ok()
            || self.earlier.iter().any(|of| self.generator.matches(id, of(id), block).is_ok())
    }

    /// The bytes of `id`, `length` of them, as each load would make them.
    pub(crate) fn made(&self, id: ContentId, length: usize) -> Vec<Vec<u8>> {
        let made = |of: &Of| {
            let mut block = vec![0; length];
            self.generator.fill(id, of(id), &mut block);
            block
        };
        std::iter::once(&self.now).chain(&self.earlier).map(made).collect()
    }
}
