//! The stream of one job's I/Os.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use units::Seed;

use crate::io_generator::IoGenerator;
use crate::{BATCH, Io, LoadSpec, Range};

/// The I/Os of one job, in order. It ends after the passes, I/Os or bytes asked for, never by time. The I/Os follow from its arguments alone (with
/// [`crate::Share::Shared`] those of all jobs together do); it allocates nothing while it runs.
#[derive(Debug, Clone)]
pub struct Stream {
    generator: IoGenerator,
    ios: Box<[Io; BATCH]>,
    read: usize,
    filled: usize,
}

impl Stream {
    /// Creates the stream of job number `job` of `jobs` (counted from 0). `range` comes from [`LoadSpec::check_target`]. Jobs of
    /// [`crate::Share::Shared`] have to be made together, by [`Stream::for_jobs`]: one alone does everything.
    pub fn new(spec: &LoadSpec, range: &Range, seed: Seed, job: u32, jobs: u32) -> Self {
        let generator = IoGenerator::new(spec, range, seed, job, jobs);
        Self { generator, ios: Box::new([Io::FLUSH; BATCH]), read: 0, filled: 0 }
    }

    /// Creates the streams of all jobs of a load. Jobs that share one stream take chunks of it from a common counter.
    pub fn for_jobs(spec: &LoadSpec, range: &Range, seed: Seed) -> Vec<Self> {
        let cursor = Arc::new(AtomicU64::new(0));
        let job = |job| {
            let mut stream = Self::new(spec, range, seed, job, spec.jobs);
            stream.generator.share(&cursor);
            stream
        };
        (0..spec.jobs.max(1)).map(job).collect()
    }

    /// Returns the I/Os of the mix that are left, without added flushes; `None` if only time ends the stream. For a shared stream this is what is
    /// left for all jobs.
    pub fn left(&self) -> Option<u64> {
        let unread = &self.ios[self.read..self.filled];
        let unread = unread.iter().filter(|io| !io.added).count() as u64;
        self.generator.left().map(|left| left + unread)
    }

    /// Returns the total I/Os of the mix; `None` if only time ends the stream.
    pub fn total_ios(&self) -> Option<u64> {
        self.generator.total_ios()
    }

    /// Returns the bytes of all I/Os; `None` if only time ends the stream.
    pub fn total_bytes(&self) -> Option<u64> {
        self.generator.total_ios().map(|ios| self.generator.bytes(ios))
    }

    /// Skips to I/O number `n` of the mix without generating those before it. Does nothing for jobs that share a stream.
    pub fn seek(&mut self, n: u64) {
        if self.generator.seek(n) {
            (self.read, self.filled) = (0, 0);
        }
    }

    /// Fills `out` with the next I/Os; returns their number, less than the length of `out` only at the end.
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

    /// Returns the number, within pass `pass`, of this job's I/O that covers the byte at `offset`; `None` if another job's I/O or none covers it.
    /// Known only for a single pattern with passes and one block size.
    #[inline]
    pub fn index_in_pass(&self, pass: u32, offset: u64) -> Option<u64> {
        self.generator.only_offsets()?.index_of(pass, offset)
    }

    /// Returns offset and length of the first I/O, bytes, if every pass is contiguous: I/O number n of a pass then begins n lengths after the first.
    pub fn contiguous_run(&self) -> Option<(u64, u64)> {
        self.generator.only_offsets()?.contiguous_run()
    }

    /// Returns the I/Os of this job in a pass; `None` without passes or with several patterns.
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
