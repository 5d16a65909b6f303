//! A load on a given target, in numbers: what the backends share.

use units::Bytes;
use workload::{Range, Stream};

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
    /// I/Os of all jobs together; `None` when only time ends the load.
    ios: Option<u64>,
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
        let stream = |job| Stream::new(spec, &range, load.seed, job, spec.jobs);
        let writes = spec.ops.shares().filter(|(op, _)| op.is_write());
        Ok(Self {
            range,
            names: spec.ops.names().map(|name| name.to_string()).collect(),
            stage: load.stage,
            jobs: spec.jobs as usize,
            depth: spec.depth as usize,
            block_bytes: range.block_size as usize,
            interval_ns: spec.interval.0,
            duration_ns: spec.duration.map(|d| d.0),
            writes: spec.writes(),
            ios: (0..spec.jobs).map(|job| stream(job).left()).sum(),
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
        let ios = self.ios.filter(|_| self.duration_ns.is_none())?;
        let per_io = (self.block_bytes / reduce::BLOCK) as f64;
        Some((ios as f64 * self.write_share * per_io) as u64)
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
        self.block_bytes.is_multiple_of(reduce::BLOCK)
    }

    /// One job for each sampler.
    pub(crate) fn make_jobs(
        &self,
        load: &Load,
        samplers: Vec<Sampler>,
        make: MakeFill,
    ) -> Vec<Job> {
        (0..)
            .zip(samplers)
            .map(|(n, sampler)| Job::new(load, self.range, n, sampler, make))
            .collect()
    }

    /// How far the load has come when `bytes` are done after `elapsed_ns`.
    pub(crate) fn progress(&self, elapsed_ns: u64, bytes: u64) -> Progress {
        let total = self.ios.map(|ios| ios * self.block_bytes as u64);
        Progress::of(elapsed_ns, self.duration_ns, bytes, total)
    }
}
