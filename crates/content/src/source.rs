//! A job's content: which id comes next, and the bytes of an id.

use reduce::BLOCK;
use units::Seed;

use crate::fill::{Generator, Layout, Mismatch, Path};
use crate::schedule::{Cursor, Next, Schedule};
use crate::{ContentSpec, texture};

/// What a block holds. Equal ids are equal bytes within a load; other ids are other bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub u64);

impl ContentId {
    /// The content of a zero block.
    pub const ZERO: Self = Self(0);
}

/// What one job writes: content ids in order, and the bytes that they stand for. Deterministic from what it is made of.
///
/// Each job refers to its own blocks only. So the share of duplicates is right (within one block a job) whatever
/// the jobs' speeds are, and jobs that stop at different moments leave no duplicate without its original.
#[derive(Debug, Clone)]
pub struct Source {
    cursor: Cursor,
    /// Id of the job's first content.
    first: u64,
    /// From one content of the job to the next.
    step: u64,
    layout: Layout,
    generator: Generator,
}

impl Source {
    /// The content of job number `job` of `jobs` (counted from 0) under `seed`.
    pub fn new(spec: &ContentSpec, seed: Seed, job: u32, jobs: u32) -> Self {
        Self::with_path(spec, seed, job, jobs, Path::best())
    }

    /// The same, made by `path`; the bytes are equal. `path` has to be one of [`Path::available`]; another falls
    /// back to the best.
    pub fn with_path(spec: &ContentSpec, seed: Seed, job: u32, jobs: u32, path: Path) -> Self {
        // The upper half of all ids, with room above: no content ever gets the id of zero.
        let start = 1 << 63 | seed.derive("content").0 >> 2;
        Self {
            cursor: Cursor::new(Schedule::new(spec), seed.derive(&format!("duplicates {job}"))),
            first: start + u64::from(job),
            step: u64::from(jobs.max(1)),
            layout: Layout::head(texture::calibrate(spec.lz4_target_bytes()).random),
            generator: Generator::with_path(path),
        }
    }

    /// The content of the next block.
    #[inline]
    pub fn next_id(&mut self) -> ContentId {
        match self.cursor.next() {
            Next::Zero => ContentId::ZERO,
            Next::New(content) | Next::Again(content) => {
                ContentId(self.first.wrapping_add(content.wrapping_mul(self.step)))
            }
        }
    }

    /// Fills `block` with the bytes of `id`: a pure function of the id and of how far blocks compress.
    #[inline]
    pub fn fill(&self, id: ContentId, block: &mut [u8; BLOCK]) {
        self.generator.fill(id, self.layout, block);
    }

    /// Whether `block` holds the bytes of `id`, found out without a second buffer.
    ///
    /// # Errors
    /// The first byte that differs.
    #[inline]
    pub fn matches(&self, id: ContentId, block: &[u8; BLOCK]) -> Result<(), Mismatch> {
        self.generator.matches(id, self.layout, block)
    }

    /// Fills a buffer with the next contents, one for every 4096 bytes; a rest gets the head of one more.
    pub fn fill_next(&mut self, buffer: &mut [u8]) {
        let (blocks, rest) = buffer.as_chunks_mut::<BLOCK>();
        for block in blocks {
            let id = self.next_id();
            self.fill(id, block);
        }
        if !rest.is_empty() {
            let mut block = [0; BLOCK];
            let id = self.next_id();
            self.fill(id, &mut block);
            rest.copy_from_slice(&block[..rest.len()]);
        }
    }

    /// How the bytes are made.
    pub fn path(&self) -> Path {
        self.generator.path()
    }

    /// Random bytes at the head of each block that is not zero.
    pub fn random_bytes(&self) -> usize {
        self.layout.random_bytes()
    }
}
