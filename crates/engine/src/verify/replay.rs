//! What a load wrote, made again from its seed: nothing has to be kept for each block then.
//!
//! Each job's I/Os and contents follow from the seed. Only the order of jobs among each other does not; where it
//! matters, what comes of this differs from the table, which whoever uses it has to look at.

use std::sync::Arc;

use content::{ContentId, Contents, Domain, Part, Source};
use serde::{Deserialize, Serialize};
use units::Seed;
use workload::{Io, LoadSpec, OpKind, Range, Share, Stream};

use super::hand::Hand;
use super::verifier::Verifier;

/// A load on all its targets, up to where it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Replay {
    seed: Seed,
    targets: Vec<Lane>,
}

/// The load on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lane {
    /// What is done there.
    pub(crate) spec: LoadSpec,
    /// What I/Os come from.
    pub(crate) seed: Seed,
    pub(crate) range: Range,
    /// I/Os of each job that were begun, flushes aside.
    #[serde(default)]
    pub(crate) made: Vec<u64>,
}

/// What an I/O does to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// An I/O begins: so many bytes from this offset on.
    Begins(u64, u32, OpKind),
    /// So many bytes from the start of the I/O stands this content, so many bytes of it.
    Writes(u64, usize, ContentId),
    /// All has been told of it.
    Ends,
}

impl Replay {
    /// The load of `seed` that did this on its targets; `None` when its jobs depend on each other.
    pub(crate) fn of(seed: Seed, targets: Vec<Lane>) -> Option<Self> {
        let known = |lane: &Lane| {
            let spec = &lane.spec;
            let alone = spec.jobs == 1 || spec.share != Share::Shared;
            alone && spec.content.domain == Domain::Job && spec.content.profile.is_none()
        };
        targets.iter().all(known).then_some(Self { seed, targets })
    }

    /// What contents come from.
    pub(crate) fn seed(&self) -> Seed {
        self.seed
    }

    /// The load on each target.
    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.targets
    }

    /// I/Os in all.
    pub(crate) fn ios(&self) -> u64 {
        self.targets.iter().flat_map(|lane| &lane.made).sum()
    }

    /// Tells what was done, target by target and job by job; false when a content cannot be made any more.
    pub(crate) fn tell(&self, on: &mut dyn FnMut(usize, Change)) -> bool {
        (0..).zip(&self.targets).all(|(target, lane)| self.tell_lane(target, lane, on))
    }

    fn tell_lane(&self, target: u16, lane: &Lane, on: &mut dyn FnMut(usize, Change)) -> bool {
        let unit = lane.spec.content.unit();
        let blocks = lane.range.bytes / unit as u64;
        let part = Part { generator: target, jobs: lane.spec.jobs, blocks };
        let Ok(contents) = Contents::new(&lane.spec.content, self.seed, part) else { return false };
        let streams = Stream::for_jobs(&lane.spec, &lane.range, lane.seed);
        let job = |((job, stream), &made): ((u32, Stream), &u64)| {
            let ios = stream.filter(|io| io.op.kind() != OpKind::Flush).take(made as usize);
            (ios.peekable(), contents.source(job))
        };
        let mut jobs: Vec<_> = (0..).zip(streams).zip(&lane.made).map(job).collect();
        let mut pass = 0;
        // Pass by pass, as in the next one a block may be another job's.
        while jobs.iter_mut().any(|(ios, _)| ios.peek().is_some()) {
            for (ios, source) in &mut jobs {
                while let Some(io) = ios.next_if(|io| io.pass <= pass) {
                    tell_io(&io, target.into(), lane.range.start, source, on);
                }
            }
            pass += 1;
        }
        true
    }

    /// Lets `verifier`, in which nothing is in flight, know what was done; false as for [`Replay::tell`].
    pub(crate) fn apply(&self, verifier: &Arc<Verifier>) -> bool {
        let largest = self.targets.iter().map(|lane| lane.spec.largest_io().0).max();
        let mut hand = Hand::new(Arc::clone(verifier), 1, largest.unwrap_or_default() as usize);
        let mut writing = false;
        self.tell(&mut |target, change| match change {
            Change::Begins(offset, length, kind) => {
                writing = kind == OpKind::Write;
                match kind {
                    OpKind::Write => hand.write(0, target, offset, length.into()),
                    OpKind::Discard => hand.clear(0, target, offset, length.into(), false),
                    OpKind::WriteZeroes => hand.clear(0, target, offset, length.into(), true),
                    OpKind::Read | OpKind::Flush => {}
                }
            }
            Change::Writes(at, length, id) => hand.writes(0, at, length, id),
            Change::Ends => {
                if writing {
                    hand.begin(0);
                }
                hand.ended(0, true, &[], 0);
            }
        })
    }
}

fn tell_io(
    io: &Io,
    target: usize,
    start: u64,
    source: &mut Source,
    on: &mut dyn FnMut(usize, Change),
) {
    let unit = source.contents().unit();
    on(target, Change::Begins(io.offset, io.length, io.op.kind()));
    if io.op.kind() == OpKind::Write {
        let address = (io.offset - start) / unit as u64;
        for (n, at) in (0..).zip((0..io.length as usize).step_by(unit)) {
            let id = source.next_id(address + n);
            on(target, Change::Writes(at as u64, unit.min(io.length as usize - at), id));
        }
    }
    on(target, Change::Ends);
}
