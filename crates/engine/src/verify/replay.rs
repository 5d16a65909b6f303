//! The replay of a load: the contents that its jobs wrote and their addresses, determined again from its seed.
//!
//! I/Os and contents of each job follow from the seed; only the order among different jobs does not. Where that matters, a replay differs from the
//! table, and its user has to compare the two.

use content::{ContentId, Contents, Domain, Part, Source};
use serde::{Deserialize, Serialize};
use units::Seed;
use workload::{Io, LoadSpec, OpKind, Range, Share, Stream};

/// A load on all its targets, up to its last I/O.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Replay {
    seed: Seed,
    targets: Vec<TargetLoad>,
}

/// The load on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TargetLoad {
    /// The load's spec on this target.
    pub(crate) spec: LoadSpec,
    /// The seed of its I/Os.
    pub(crate) seed: Seed,
    pub(crate) range: Range,
    /// Number of I/Os that each job began, without flushes.
    #[serde(default)]
    pub(crate) made: Vec<u64>,
}

/// A change that an I/O makes to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// An I/O begins: its offset, its length in bytes, and its kind.
    Begins(u64, u32, OpKind),
    /// Part of the data of the I/O: offset within the I/O, length in bytes, and content.
    Writes(u64, usize, ContentId),
    /// The I/O ends.
    Ends,
}

impl Replay {
    /// The replay of a load; `None` when its jobs depend on each other.
    pub(crate) fn of(seed: Seed, targets: Vec<TargetLoad>) -> Option<Self> {
        let known = |target_load: &TargetLoad| {
            let spec = &target_load.spec;
            let alone = spec.jobs == 1 || spec.share != Share::Shared;
            alone && spec.content.domain == Domain::Job && spec.content.profile.is_none()
        };
        targets.iter().all(known).then_some(Self { seed, targets })
    }

    /// Returns the seed of its contents.
    pub(crate) fn seed(&self) -> Seed {
        self.seed
    }

    /// The load on each target.
    pub(crate) fn target_loads(&self) -> &[TargetLoad] {
        &self.targets
    }

    /// Total number of I/Os.
    pub(crate) fn ios(&self) -> u64 {
        self.targets.iter().flat_map(|target_load| &target_load.made).sum()
    }

    /// Reports every change, target by target and job by job; returns false if a content can no longer be generated.
    pub(crate) fn report_changes(&self, on: &mut dyn FnMut(usize, Change)) -> bool {
        (0..)
            .zip(&self.targets)
            .all(|(target, target_load)| self.tell_target(target, target_load, on))
    }

    fn tell_target(
        &self,
        target: u16,
        target_load: &TargetLoad,
        on: &mut dyn FnMut(usize, Change),
    ) -> bool {
        let unit = target_load.spec.content.unit();
        let blocks = target_load.range.bytes / unit as u64;
        let part = Part { generator: target, jobs: target_load.spec.jobs, blocks };
        let Ok(contents) = Contents::new(&target_load.spec.content, self.seed, part) else {
            return false;
        };
        let streams = Stream::for_jobs(&target_load.spec, &target_load.range, target_load.seed);
        let job = |((job, stream), &made): ((u32, Stream), &u64)| {
            let ios = stream.filter(|io| io.op.kind() != OpKind::Flush).take(made as usize);
            (ios.peekable(), contents.source(job))
        };
        let mut jobs: Vec<_> = (0..).zip(streams).zip(&target_load.made).map(job).collect();
        let mut pass = 0;
        // Pass by pass, since in the next pass a block may belong to another job.
        while jobs.iter_mut().any(|(ios, _)| ios.peek().is_some()) {
            for (ios, source) in &mut jobs {
                while let Some(io) = ios.next_if(|io| io.pass <= pass) {
                    tell_io(&io, target.into(), target_load.range.start, source, on);
                }
            }
            pass += 1;
        }
        true
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
