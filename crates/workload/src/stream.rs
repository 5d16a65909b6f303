//! The stream of one job's I/Os.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use units::Seed;

use crate::io_generator::IoGenerator;
use crate::{BATCH, Io, LoadSpec, Range};

/// The I/Os of one job, in order; ends with the passes, I/Os or bytes asked for, never by time. Deterministic from what
/// it is made of (with [`crate::Share::Shared`], all jobs together are); takes no memory while it runs.
#[derive(Debug, Clone)]
pub struct Stream {
    generator: IoGenerator,
    ios: Box<[Io; BATCH]>,
    read: usize,
    filled: usize,
}

impl Stream {
    /// The I/Os of job number `job` of `jobs` (counted from 0). `range` comes from [`LoadSpec::check_target`]. Jobs of
    /// [`crate::Share::Shared`] have to be made together, by [`Stream::for_jobs`]: one alone does everything.
    pub fn new(spec: &LoadSpec, range: &Range, seed: Seed, job: u32, jobs: u32) -> Self {
        let generator = IoGenerator::new(spec, range, seed, job, jobs);
        Self { generator, ios: Box::new([Io::FLUSH; BATCH]), read: 0, filled: 0 }
    }

    /// The I/Os of all jobs of a load. Jobs that work on one stream take chunks of it from one counter.
    pub fn for_jobs(spec: &LoadSpec, range: &Range, seed: Seed) -> Vec<Self> {
        let cursor = Arc::new(AtomicU64::new(0));
        let job = |job| {
            let mut stream = Self::new(spec, range, seed, job, spec.jobs);
            stream.generator.share(&cursor);
            stream
        };
        (0..spec.jobs.max(1)).map(job).collect()
    }

    /// I/Os of the mix that are left, added flushes aside; `None` when only time ends it. Of a stream that jobs share,
    /// what is left for all of them.
    pub fn left(&self) -> Option<u64> {
        let unread = &self.ios[self.read..self.filled];
        let unread = unread.iter().filter(|io| !io.added).count() as u64;
        self.generator.left().map(|left| left + unread)
    }

    /// I/Os of the mix in all; `None` when only time ends it.
    pub fn total_ios(&self) -> Option<u64> {
        self.generator.total_ios()
    }

    /// Bytes of all its I/Os; `None` when only time ends it.
    pub fn total_bytes(&self) -> Option<u64> {
        self.generator.total_ios().map(|ios| self.generator.bytes(ios))
    }

    /// Goes to I/O number `n` of the mix without making those before it. Without effect on jobs that share a stream.
    pub fn seek(&mut self, n: u64) {
        if self.generator.seek(n) {
            (self.read, self.filled) = (0, 0);
        }
    }

    /// Puts the next I/Os into `out`; gives how many there were, fewer than asked for only at the end.
    pub fn fill(&mut self, out: &mut [Io]) -> usize {
        let mut done = 0;
        while done < out.len() {
            if self.read == self.filled {
                if let Some(batch) = out[done..].first_chunk_mut() {
                    let count = self.generator.make(batch);
                    done += count;
                    if count == 0 {
                        break;
                    }
                    continue;
                }
                self.refill();
            }
            let count = (self.filled - self.read).min(out.len() - done);
            if count == 0 {
                break;
            }
            out[done..done + count].copy_from_slice(&self.ios[self.read..self.read + count]);
            self.read += count;
            done += count;
        }
        done
    }

    /// Returns which I/O of this job, of those that its pattern makes in pass number `pass`, covers the byte at `offset` of the
    /// target: known for one pattern with passes and one block size, `None` where another job or no I/O goes there.
    #[inline]
    pub fn index_in_pass(&self, pass: u32, offset: u64) -> Option<u64> {
        self.generator.only_offsets()?.index_of(pass, offset)
    }

    /// Returns where its first I/O goes and how long each is, bytes, where every pass goes from there on without a gap: I/O number n of a
    /// pass begins n lengths behind the first.
    pub fn row(&self) -> Option<(u64, u64)> {
        self.generator.only_offsets()?.row()
    }

    /// I/Os of this job in a pass; `None` without passes, and where several patterns leave it open.
    pub fn pass_ios(&self) -> Option<u64> {
        self.generator.only_offsets()?.share()
    }

    #[inline(never)]
    fn refill(&mut self) {
        self.read = 0;
        self.filled = self.generator.make(&mut self.ios);
    }
}

impl Iterator for Stream {
    type Item = Io;

    #[inline]
    fn next(&mut self) -> Option<Io> {
        if self.read == self.filled {
            self.refill();
            if self.filled == 0 {
                return None;
            }
        }
        let io = self.ios[self.read & (BATCH - 1)];
        self.read += 1;
        Some(io)
    }
}
