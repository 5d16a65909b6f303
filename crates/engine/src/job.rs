//! What one worker does next, and the bytes it writes.

use workload::{OpName, Stream};

use crate::load::Load;
use crate::ring::Transfer;
use crate::sample::{Counts, Sampler};

/// The source of written bytes: the real one, or in tests one that is broken on purpose.
pub(crate) trait Fill: Send {
    /// Fills `buffer` with the next contents.
    fn fill(&mut self, buffer: &mut [u8]);
}

impl Fill for content::Source {
    fn fill(&mut self, buffer: &mut [u8]) {
        self.fill_next(buffer);
    }
}

/// Makes the source of bytes of one job.
pub(crate) type MakeFill<'a> = &'a dyn Fn(&Load, u32) -> Box<dyn Fill>;

/// The source that loads have outside of tests.
pub(crate) fn content(load: &Load, job: u32) -> Box<dyn Fill> {
    let spec = &load.spec;
    Box::new(content::Source::new(&spec.content, load.seed, job, spec.jobs))
}

/// One I/O to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next {
    /// Index of its operation in the load.
    pub operation: usize,
    pub transfer: Transfer,
}

/// The operations and the content of one worker.
pub(crate) struct Job {
    stream: Stream,
    /// Index in the load of each operation, by its place in [`OpName::ALL`].
    places: [usize; OpName::ALL.len()],
    fill: Box<dyn Fill>,
    sampler: Sampler,
}

impl Job {
    /// Job number `number` of `load`, which does what `stream` says.
    pub(crate) fn new(
        load: &Load,
        stream: Stream,
        number: u32,
        sampler: Sampler,
        make: MakeFill,
    ) -> Self {
        let spec = &load.spec;
        let place = |op| spec.operations().position(|o| o == op).unwrap_or_default();
        Self {
            stream,
            places: OpName::ALL.map(place),
            fill: make(load, number),
            sampler,
        }
    }

    /// The next I/O; `None` when bytes or passes are done.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Next> {
        let io = self.stream.next()?;
        let transfer = Transfer {
            write: io.op.is_write(),
            offset: io.offset,
            length: io.length,
            done: 0,
        };
        Some(Next { operation: self.places[io.op as usize], transfer })
    }

    /// Fills a buffer that is about to be written, and lets the census see it.
    #[inline]
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        self.fill.fill(buffer);
        self.sampler.see(buffer);
    }

    /// Blocks handed to the kernel so far.
    pub(crate) fn counts(&self) -> Counts {
        self.sampler.counts
    }
}
