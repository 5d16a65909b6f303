//! The content of one target: made once from the spec, shared by all jobs that write it and by those that verify it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use units::Seed;

use crate::fill::{BlockCheck, BlockLayout, Generator, Mismatch, Path, Root, Text};
use crate::id::Ids;
use crate::layouts::Layouts;
use crate::live::Live;
use crate::next_block::FirstIds;
use crate::rounds::Cursor;
use crate::sizes::Sizes;
use crate::texts::Texts;
use crate::texture::{Body, Textures};
use crate::written::Written;
use crate::{ContentError, ContentId, ContentKind, ContentSpec, Domain, Parts, Scope};

/// The use of a content: the target (or stage) it is for, with its jobs and blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Number of the target (or of the stage, where stages share a seed), below [`Parts::GENERATORS`]. Contents with other
    /// numbers never share an id.
    pub generator: u16,
    /// Jobs that write it, below [`Parts::SERIES`]. With [`Domain::All`]: those of all targets.
    pub jobs: u32,
    /// Blocks of the target (in units of the content's block); 0 when that is not known. The live scope needs it.
    pub blocks: u64,
}

/// The rule that gives each block its content.
#[derive(Debug)]
pub(crate) enum Order {
    Written(Written),
    Live(Live),
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub order: Order,
    ids: Ids,
    generator: u16,
    pub jobs: u32,
    pub unit: usize,
    /// All jobs take positions from one counter.
    pub shared: bool,
    pub counter: AtomicU64,
    layouts: Layouts,
    texts: Arc<Texts>,
    /// Random bytes at the head of each block that is not zero, where all blocks have one layout and none is misaligned.
    head: Option<usize>,
    /// Tells whether contents of the pool are kept out of the packer.
    plain_pool: bool,
    /// By how many bytes duplicates are misaligned with blocks; 0 when they are not.
    shift: usize,
    filler: Generator,
    /// A cursor that has not moved, for callers without a cursor.
    pub nowhere: Cursor,
}

/// The content of one target. Cheap to clone; clones are the same content and share its counter.
#[derive(Debug, Clone)]
pub struct Contents(pub(crate) Arc<Inner>);

impl Contents {
    /// The content of `part` under `seed`. Finds textures by trying, which takes some milliseconds.
    ///
    /// # Errors
    /// A content that cannot be written, a profile that was not read, more jobs than ids tell apart.
    pub fn new(spec: &ContentSpec, seed: Seed, part: Part) -> Result<Self, ContentError> {
        Self::with_path(spec, seed, part, Path::best())
    }

    /// Contents made by the given code path; all paths make equal bytes. A path that the processor lacks falls back to the best.
    ///
    /// # Errors
    /// As [`Contents::new`].
    pub fn with_path(
        spec: &ContentSpec,
        seed: Seed,
        part: Part,
        path: Path,
    ) -> Result<Self, ContentError> {
        spec.validate()?;
        let Part { generator, jobs, blocks } = part;
        if jobs > u32::from(Parts::SERIES) || generator >= Parts::GENERATORS {
            return Err(ContentError::TooMany { jobs, generator });
        }
        if spec.scope == Scope::Live && spec.dedupe.0 > 0.0 {
            let live = Live::new(spec, blocks, spec.sizes().most_sharing(), seed);
            if live.references(spec) < 2.0 {
                return Err(ContentError::PoolTooSmall { dedupe: spec.dedupe, blocks });
            }
        }
        Ok(Self::build(spec, seed, part, path))
    }

    /// For a validated spec; impossible values are cut to the nearest possible ones.
    pub(crate) fn build(spec: &ContentSpec, seed: Seed, part: Part, path: Path) -> Self {
        let Part { generator, jobs, blocks } = part;
        let (sizes, unit) = (spec.sizes(), spec.unit());
        let plain_pool = matches!(sizes, Sizes::Mixed(_)) && spec.scope == Scope::Live;
        let order_seed = seed.derive(&format!("duplicates {generator}"));
        let order = match spec.scope {
            Scope::Written => Order::Written(Written::new(spec, order_seed)),
            Scope::Live => {
                let sharing = if plain_pool { 1 } else { sizes.most_sharing() };
                Order::Live(Live::new(spec, blocks, sharing, order_seed))
            }
        };
        let mut textures = Textures::of(spec);
        let layouts = Layouts::new(&sizes, &mut textures, seed);
        let head = match &layouts {
            Layouts::One(Body::Runs(layout)) if spec.misaligned.is_none() => layout.head_of(unit),
            _ => None,
        };
        Self(Arc::new(Inner {
            order,
            ids: Ids::new(seed),
            generator,
            jobs: jobs.max(1),
            unit,
            shared: spec.scope == Scope::Written && spec.domain != Domain::Job,
            counter: AtomicU64::new(0),
            layouts,
            texts: Arc::new(textures.into_texts()),
            head,
            plain_pool,
            shift: spec.misaligned.map_or(0, |by| by.0 as usize),
            filler: Generator::with_path(path),
            nowhere: Cursor::default(),
        }))
    }

    /// The block that contents count in, bytes.
    pub fn unit(&self) -> usize {
        self.0.unit
    }

    /// Returns how the bytes are made.
    pub fn path(&self) -> Path {
        self.0.filler.path()
    }

    /// The position in the order of writing that the next job gets, where all jobs take theirs from one counter
    /// (`domain` target or all). In these domains it is all the state that a restart needs; for others see [`crate::Source::position`].
    pub fn position(&self) -> u64 {
        self.0.counter.load(Ordering::Relaxed)
    }

    /// Goes on from a position where an earlier run stopped.
    pub fn seek(&self, position: u64) {
        self.0.counter.store(position, Ordering::Relaxed);
    }

    /// Returns where an id comes from; `None` for zero and for ids of another seed.
    #[inline]
    pub fn parts(&self, id: ContentId) -> Option<Parts> {
        self.0.ids.parts(id)
    }

    /// The id with these parts.
    #[inline]
    pub fn id(&self, parts: Parts) -> ContentId {
        self.0.ids.id(parts)
    }

    #[inline]
    pub(crate) fn id_of(&self, kind: ContentKind, series: u16, ordinal: u64) -> ContentId {
        self.id(Parts { generator: self.0.generator, kind, series, ordinal })
    }

    /// The first ids of a series in the written scope.
    #[inline]
    pub(crate) fn first_ids(&self, series: u16) -> FirstIds {
        let first = |kind| self.id_of(kind, series, 0);
        let again = if self.0.shift == 0 { ContentKind::New } else { ContentKind::Shifted };
        FirstIds {
            new: first(ContentKind::New),
            again: first(again),
            pool: first(ContentKind::Pool),
        }
    }

    /// Returns the places of random bytes, and of text, in a block of `id`; for a shifted content those in each of the two blocks from
    /// which it is cut.
    #[inline]
    pub fn layout(&self, id: ContentId) -> BlockLayout {
        match self.body(id) {
            Body::Runs(layout) => layout,
            Body::Texts { .. } => BlockLayout::head(self.0.unit),
        }
    }

    #[inline]
    fn body(&self, id: ContentId) -> Body {
        if let Layouts::One(body) = &self.0.layouts {
            return *body;
        }
        let whole = Body::Runs(BlockLayout::head(self.0.unit));
        let Some(parts) = self.parts(id) else { return whole };
        if parts.kind == ContentKind::Pool && self.0.plain_pool {
            return self.0.layouts.of_pool(&parts);
        }
        let by_series = parts.kind == ContentKind::New && matches!(self.0.order, Order::Live(_));
        self.0.layouts.body_of(&parts, by_series)
    }

    /// The check of its blocks, where all have one layout and none is misaligned.
    pub fn block_check(&self) -> Option<BlockCheck> {
        match &self.0.layouts {
            Layouts::One(Body::Runs(layout)) if self.0.shift == 0 => {
                Some(BlockCheck::new(self.0.filler, *layout, self.0.unit))
            }
            Layouts::One(Body::Texts { count, .. }) if self.0.shift == 0 => {
                Some(BlockCheck::of_texts(self.0.filler, Arc::clone(&self.0.texts), *count))
            }
            _ => None,
        }
    }

    /// Fills `block`, a whole block or the head of one, with the bytes of `id`: a pure function of the id and of the spec.
    #[inline]
    pub fn fill(&self, id: ContentId, block: &mut [u8]) {
        let mut root = [Root::default()];
        self.roots(&[id], &mut root);
        self.grow(id, &root[0], block);
    }

    /// Fills a block whose root is already known.
    #[inline]
    pub(crate) fn grow(&self, id: ContentId, root: &Root, block: &mut [u8]) {
        match self.0.head {
            Some(random) if id != ContentId::ZERO => self.0.filler.grow_head(root, random, block),
            _ => self.grow_any(id, root, block),
        }
    }

    /// Fills a block of any layout, zero blocks among them; not inlined.
    #[inline(never)]
    fn grow_any(&self, id: ContentId, root: &Root, block: &mut [u8]) {
        if id == ContentId::ZERO {
            self.0.filler.store(0, block);
        } else if self.0.shift != 0 && self.is_shifted(id) {
            self.fill_shifted(id, block);
        } else {
            match self.body(id) {
                Body::Runs(layout) => self.0.filler.grow(root, &layout, block),
                Body::Texts { first, count } => {
                    self.0.filler.fill_text(root, self.0.texts.text_of(first, count, id), block);
                }
            }
        }
    }

    /// The text of a content that is not zero, where it has one.
    #[inline]
    fn text(&self, id: ContentId) -> Option<Text<'_>> {
        match self.body(id) {
            Body::Texts { first, count } if id != ContentId::ZERO => {
                Some(self.0.texts.text_of(first, count, id))
            }
            _ => None,
        }
    }

    /// Computes the roots from which the bytes of `ids` grow.
    #[inline]
    pub(crate) fn roots<const N: usize>(&self, ids: &[ContentId; N], roots: &mut [Root; N]) {
        self.0.filler.roots(ids, roots);
    }

    fn is_shifted(&self, id: ContentId) -> bool {
        self.parts(id).is_some_and(|parts| parts.kind == ContentKind::Shifted)
    }

    /// The tail of the content with this ordinal, and the head of the next.
    #[cold]
    fn fill_shifted(&self, id: ContentId, block: &mut [u8]) {
        let Some(parts) = self.parts(id) else { return };
        let first = self.id(Parts { kind: ContentKind::New, ..parts });
        let second = self.id(Parts { kind: ContentKind::New, ordinal: parts.ordinal + 1, ..parts });
        let shift = self.0.shift;
        let mut whole = vec![0; self.0.unit];
        self.fill(first, &mut whole);
        whole.copy_within(shift.., 0);
        let tail = self.0.unit - shift;
        let mut next = vec![0; self.0.unit];
        self.fill(second, &mut next);
        whole[tail..].copy_from_slice(&next[..shift]);
        let length = block.len().min(self.0.unit);
        block[..length].copy_from_slice(&whole[..length]);
    }

    /// Tells whether `block`, a whole block or the head of one, holds the bytes of `id`.
    ///
    /// # Errors
    /// The first byte that differs.
    #[inline]
    pub fn matches(&self, id: ContentId, block: &[u8]) -> Result<(), Mismatch> {
        if self.0.shift != 0 && self.is_shifted(id) {
            let mut made = vec![0; block.len()];
            self.fill_shifted(id, &mut made);
            let differs = made.iter().zip(block).position(|(a, b)| a != b);
            return differs.map_or(Ok(()), |offset| {
                Err(Mismatch { offset, found: block[offset], expected: made[offset] })
            });
        }
        match self.text(id) {
            Some(text) => self.0.filler.matches_text(&self.0.filler.root(id), text, block),
            None => self.0.filler.matches(id, self.layout(id), block),
        }
    }

    /// Tells whether `block`, a whole block or the head of one, holds the bytes of `id`: as [`Contents::matches`], for callers that need
    /// not know where it differs.
    #[inline]
    pub fn holds(&self, id: ContentId, block: &[u8]) -> bool {
        match self.0.shift {
            0 if self.text(id).is_none() => self.0.filler.holds(id, self.layout(id), block),
            _ => self.matches(id, block).is_ok(),
        }
    }

    /// The content that `block`, a whole block or the head of one, holds whole; `None` when it holds none of this content
    /// whole. Shifted duplicates are known when all of the block is there.
    #[inline]
    pub fn identify_whole(&self, block: &[u8]) -> Option<ContentId> {
        match &self.0.layouts {
            Layouts::One(Body::Runs(layout)) if self.0.shift == 0 => {
                self.0.filler.identify_whole(*layout, block)
            }
            _ => self.identify(block).filter(|&id| self.holds(id, block)),
        }
    }

    /// The content whose block starts as `block` does, found from its bytes alone ([`crate::identify`]); shifted
    /// duplicates too, when all of the block is there. The rest of the block is not checked.
    pub fn identify(&self, block: &[u8]) -> Option<ContentId> {
        let found = crate::identify(block);
        let tail = self.0.unit - self.0.shift;
        if found.is_some() || self.0.shift == 0 {
            return found;
        }
        // The next content begins inside of a shifted block.
        let parts = self.parts(crate::identify(block.get(tail..)?)?)?;
        let ordinal = parts.ordinal.checked_sub(1)?;
        Some(self.id(Parts { kind: ContentKind::Shifted, ordinal, ..parts }))
    }
}
