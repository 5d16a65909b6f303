//! A load on a given target, in numbers: what the backends share.

use units::Bytes;
use workload::{Amount, OpKind, Range, Stream};

use crate::census::QUEUED;
use crate::error::{EngineError, Kind};
use crate::event::Progress;
use crate::job::{Job, MakeFill};
use crate::load::Load;
use crate::sample::Sampler;
use crate::tally::Shape;

/// A load on a target of known size.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    pub range: Range,
    /// Operations as given, in the order of their indices.
    pub names: Vec<String>,
    pub stage: usize,
    pub jobs: usize,
    pub depth: usize,
    pub block_bytes: usize,
    pub interval_ns: u64,
    pub duration_ns: Option<u64>,
    pub writes: bool,
    /// What all jobs do together; `None` when only time ends the load.
    amount: Option<Amount>,
    /// Whether all I/Os are whole blocks of content.
    whole: bool,
    /// Share of writes among I/Os, 0 to 1.
    write_share: f64,
}

impl Outline {
    /// `load` on a target of `size` whose I/O must be aligned to `alignment` bytes. `object` names the target in errors.
    pub(crate) fn of(
        load: &Load,
        size: Bytes,
        alignment: u64,
        object: &str,
    ) -> Result<Self, EngineError> {
        let spec = &load.spec;
        let unfit = |error: workload::WorkloadError| {
            let help = error.help();
            EngineError::new(Kind::Usage, format!("The load does not fit {object}"), help)
                .because(error)
        };
        spec.validate().map_err(unfit)?;
        let alignment = u32::try_from(alignment).unwrap_or(u32::MAX);
        let range = spec.check_target(size.0, alignment).map_err(unfit)?;
        let unable = |kind| !matches!(kind, OpKind::Read | OpKind::Write);
        if let Some(op) = spec.operations().find(|op| unable(op.kind())) {
            let help = "leave it out of ops and sync".to_owned();
            return Err(EngineError::new(Kind::Usage, format!("{object} cannot do {op}"), help));
        }
        let writes = spec.ops.shares().filter(|(op, _)| op.is_write());
        Ok(Self {
            range,
            names: spec.operations().map(|name| name.to_string()).collect(),
            stage: load.stage,
            jobs: spec.jobs as usize,
            depth: spec.depth_ios() as usize,
            block_bytes: spec.largest_io().0 as usize,
            interval_ns: spec.interval.0,
            duration_ns: spec.duration.map(|d| d.0),
            writes: spec.has_content(),
            amount: spec.amount(&range),
            whole: spec.ops.names().all(|op| {
                let mut sizes = spec.block_size_of(op).sizes();
                sizes.all(|size| size.0.is_multiple_of(reduce::BLOCK as u64))
            }),
            write_share: writes.map(|(_, share)| share.fraction()).sum(),
        })
    }

    /// What recording keeps apart.
    pub(crate) fn shape(&self, load: &Load) -> Shape {
        Shape {
            operations: self.names.len(),
            targets: 1,
            split: load.recording.split_latency,
            open: false,
            worst: load.recording.worst,
        }
    }

    /// 4 KiB blocks that will be written, about; `None` when time may end the load before.
    pub(crate) fn content_blocks(&self) -> Option<u64> {
        if !self.writes {
            return Some(0);
        }
        let amount = self.amount.filter(|_| self.duration_ns.is_none())?;
        Some((amount.bytes as f64 / reduce::BLOCK as f64 * self.write_share) as u64)
    }

    /// Blocks that the queue between one job and the census holds, and whether that is all the job will write.
    pub(crate) fn queued(&self) -> (usize, bool) {
        let most = (QUEUED / self.jobs.max(1)).max(64);
        match self.content_blocks() {
            Some(blocks) if blocks <= most as u64 => ((blocks as usize).max(1), true),
            _ => (most, false),
        }
    }

    /// Whether every written buffer is a whole number of 4 KiB blocks, so that what was achieved can be measured.
    pub(crate) fn blocks_are_whole(&self) -> bool {
        self.whole
    }

    /// One job for each sampler.
    pub(crate) fn make_jobs(
        &self,
        load: &Load,
        samplers: Vec<Sampler>,
        make: MakeFill,
    ) -> Vec<Job> {
        let streams = Stream::for_jobs(&load.spec, &self.range, load.seed);
        let jobs = (0..).zip(streams).zip(samplers);
        jobs.map(|((n, stream), sampler)| Job::new(load, stream, n, sampler, make)).collect()
    }

    /// How far the load has come when `bytes` are done after `elapsed_ns`.
    pub(crate) fn progress(&self, elapsed_ns: u64, bytes: u64) -> Progress {
        let total = self.amount.map(|amount| amount.bytes);
        Progress::of(elapsed_ns, self.duration_ns, bytes, total)
    }
}
