//! The resolved load: a load on targets of known size, with all quantities as numbers.
//!
//! It is computed once from the [`Load`] and the sizes of its targets. The backends read depth, block size, times and amounts from
//! it, and it makes the jobs, the sampling queues and the census, sized for what will be written.

use content::{Contents, Domain, Part, Scope};
use reduce::Addresses;
use units::Bytes;
use workload::{Amount, LoadSpec, Range, Stream};

use crate::census::{AHEAD, QUEUED_BYTES, QUEUED_NAMES, SAMPLE};
use crate::error::{EngineError, ErrorKind};
use crate::event::Progress;
use crate::job::{Job, MakeFill};
use crate::load::Load;
use crate::memory::zeroed;
use crate::sample::{BlockSampler, Capacities, SharedSampling};
use crate::spsc_queue::{Capacity, Shift};
use crate::tally::Shape;
use crate::verify::TargetLoad;

/// Most addresses whose content is tracked: 2 bits each make 1 GiB, allocated where it is written (16 TiB in blocks of 4 KiB).
const MOST_ADDRESSES: u64 = 1 << 32;

/// A load on a target of known size.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedLoad {
    /// The part of each target that is used.
    pub ranges: Vec<Range>,
    /// The content of each target.
    pub contents: Vec<Contents>,
    /// Targets as the user named them.
    pub targets: Vec<String>,
    /// Names of the operations, in the order of their indices.
    pub names: Vec<String>,
    pub stage: usize,
    pub jobs: usize,
    pub depth: usize,
    pub block_bytes: usize,
    pub interval_ns: u64,
    /// Measured time, without the ramp.
    pub duration_ns: Option<u64>,
    /// Time at the start that is not measured, nanoseconds.
    pub ramp_ns: u64,
    /// Smallest number of I/Os that are submitted together.
    pub batch: usize,
    pub writes: bool,
    /// I/Os and bytes of all jobs together; `None` when only time ends the load.
    amount: Option<Amount>,
    /// Bytes of a block of content (4096, unless the spec says otherwise).
    pub unit: usize,
    /// Tells whether every I/O is a whole number of content blocks.
    whole: bool,
    /// Tells whether every write begins at the start of a content block.
    aligned: bool,
    /// Tells whether the content's shares describe what the addresses hold (live scope) rather than what is written.
    live: bool,
    /// Share of writes among I/Os, 0 to 1.
    write_share: f64,
    /// Notices about the ends of targets that no I/O reaches.
    pub tails: Vec<String>,
}

/// Returns the notice about the end of a target's range that no I/O reaches.
fn tail(spec: &LoadSpec, target: &str, range: &Range) -> Option<String> {
    let (tail, bytes) = (spec.unreached_tail(range), Bytes(range.bytes));
    let block = spec.largest_io();
    (tail > Bytes(0)).then(|| {
        format!(
            "The last {} of {bytes} of {target} are never reached: the range is not a whole number of blocks of {}",
            exact(tail),
            exact(block)
        )
    })
}

/// Formats a size exactly, without rounding.
fn exact(size: Bytes) -> String {
    match size.0.is_multiple_of(1024) {
        true => size.to_string(),
        false => format!("{} B", units::show::grouped(size.0)),
    }
}

impl ResolvedLoad {
    /// Resolves `load` for targets with these sizes and I/O alignments, both in bytes.
    pub(crate) fn of(load: &Load, sizes: &[(Bytes, u64)]) -> Result<Self, EngineError> {
        let spec = &load.spec;
        let unfit = |object: &str, error: workload::WorkloadError| {
            let help = error.help();
            EngineError::new(ErrorKind::Usage, format!("The load does not fit {object}"), help)
                .because(error)
        };
        let targets: Vec<_> = load.targets.iter().map(|aim| aim.target.name()).collect();
        let first = targets.first().map_or("no target", String::as_str);
        spec.validate().map_err(|e| unfit(first, e))?;
        let range = |(name, &(size, alignment)): (&String, &(Bytes, u64))| {
            let alignment = u32::try_from(alignment).unwrap_or(u32::MAX);
            spec.check_target(size.0, alignment).map_err(|e| unfit(name, e))
        };
        let ranges: Vec<_> = targets.iter().zip(sizes).map(range).collect::<Result<_, _>>()?;
        let writes = spec.ops.shares().filter(|(op, _)| op.is_write());
        let write_share = writes.map(|(_, share)| share.fraction()).sum();
        let resolved = Self {
            tails: targets
                .iter()
                .zip(&ranges)
                .filter_map(|(name, r)| tail(spec, name, r))
                .collect(),
            targets,
            contents: contents(load, &ranges)?,
            ranges,
            names: spec.operations().map(|name| name.to_string()).collect(),
            stage: load.stage,
            jobs: spec.jobs as usize,
            depth: spec.depth_ios() as usize,
            block_bytes: spec.largest_io().0 as usize,
            interval_ns: spec.interval.0,
            duration_ns: spec.duration.map(|d| d.0 - d.0.min(spec.ramp.unwrap_or_default().0)),
            ramp_ns: spec.ramp.unwrap_or_default().0,
            batch: spec.batch.max(1) as usize,
            writes: spec.has_content(),
            amount: None,
            unit: spec.content.unit(),
            whole: spec.ops.names().all(|op| {
                let mut sizes = spec.block_size_of(op).sizes();
                sizes.all(|size| size.0.is_multiple_of(spec.content.block.0))
            }),
            aligned: {
                let mut writes = spec.ops.names().filter(|op| op.is_write());
                writes.all(|op| spec.align_of(op).is_multiple_of(spec.content.block.0))
            },
            live: spec.content.scope == Scope::Live,
            write_share,
        };
        let amounts = resolved.ranges.iter().enumerate();
        let amounts = amounts.map(|(at, range)| resolved.part(load, at).amount(range));
        let amount = amounts.reduce(|a, b| {
            let (a, b) = a.zip(b)?;
            Some(Amount {
                ios: a.ios.saturating_add(b.ios),
                bytes: a.bytes.saturating_add(b.bytes),
            })
        });
        Ok(Self { amount: amount.flatten(), ..resolved })
    }

    /// The spec of target number `target`: amounts are divided by the targets' shares.
    fn part(&self, load: &Load, target: usize) -> LoadSpec {
        let all: f64 = load.targets.iter().map(|aim| aim.share.0).sum();
        load.spec.part(load.targets[target].share.0 / all)
    }

    /// Bytes that are used, over all targets.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes(self.ranges.iter().map(|range| range.bytes).sum())
    }

    /// The figures that the recorders keep apart.
    pub(crate) fn shape(&self, load: &Load) -> Shape {
        Shape {
            operations: self.names.len(),
            targets: load.targets.len(),
            split: load.recording.split_latency,
            open: load.spec.rate.is_some(),
            mixed: load.spec.operations().any(|op| load.spec.block_size_of(op).fixed().is_none()),
            worst: load.recording.worst,
            jobs: self.jobs,
            per_job: load.spec.per_job,
            outcomes: false,
        }
    }

    /// Estimate of the content blocks that will be written; `None` when time may end the load first.
    pub(crate) fn content_blocks(&self) -> Option<u64> {
        if !self.writes {
            return Some(0);
        }
        let amount = self.amount.filter(|_| self.duration_ns.is_none())?;
        Some((amount.bytes as f64 / self.unit as f64 * self.write_share) as u64)
    }

    /// Capacities of the queues between one job and the census. Where the amount is known there is room for every block whose LZ4 size is measured,
    /// so that the choice of these blocks does not depend on the speed of the census thread.
    pub(crate) fn capacities(&self) -> Capacities {
        let (known, jobs) = (self.content_blocks(), self.jobs.max(1));
        let blocks = known.map_or(usize::MAX, |blocks| (blocks as usize).max(1));
        let names = (QUEUED_NAMES / jobs).max(64);
        let few = (QUEUED_BYTES / self.unit / jobs).max(16 * reduce::BLOCK / self.unit).max(1);
        // Twice the mean, since jobs do not get equal parts of the sample.
        let most = (2 * reduce::most_sized(self.unit) / jobs).max(few);
        let sized = if known.is_some() { most } else { few };
        Capacities {
            names: Capacity { places: blocks.min(names), bytes: 0, holds_all: blocks <= names },
            blocks: Capacity {
                places: blocks.min(sized),
                bytes: self.unit,
                holds_all: known.is_some(),
            },
            beginning: self.kept_of_the_beginning(blocks, jobs),
        }
    }

    /// Returns how many first blocks each job keeps, for the census to pack in order; 0 where VDO's packer, which takes 4096 bytes at a time, would
    /// not see the blocks.
    fn kept_of_the_beginning(&self, blocks: usize, jobs: usize) -> usize {
        let packed = self.writes && self.whole && self.unit == reduce::BLOCK;
        if packed { reduce::BEGINNING.div_ceil(jobs).min(blocks) } else { 0 }
    }

    /// Tells whether every written buffer is a whole number of blocks: only then can the achieved content be measured.
    pub(crate) fn blocks_are_whole(&self) -> bool {
        self.whole
    }

    /// Returns the number of doublings by which the sample of live blocks is larger than that of written ones; 0 in the written scope, which does
    /// not measure live blocks.
    pub(crate) fn ahead(&self) -> u32 {
        if self.live { AHEAD } else { 0 }
    }

    /// State that the samplers of all jobs share.
    pub(crate) fn sampling(&self) -> SharedSampling {
        let blocks = self.content_blocks();
        let planned = Shift::picking(SAMPLE << self.ahead(), blocks).get();
        let sampled = blocks.map(|blocks| blocks >> planned);
        let sizes = Shift::picking(reduce::most_sized(self.unit) as u64, sampled);
        SharedSampling::new(planned, sizes, std::sync::Arc::new(self.addresses()))
    }

    /// A census of the content that is written, and of the content that the addresses hold at the end.
    pub(crate) fn census(&self, common: &SharedSampling) -> reduce::Census {
        reduce::Census::of_blocks(self.unit, SAMPLE as usize)
            .and_live(common.addresses.clone(), self.ahead())
    }

    /// The map of what each address holds; empty where nothing is written, blocks do not lie on addresses, or memory is short.
    fn addresses(&self) -> Addresses {
        let blocks = self.first_addresses().1;
        if !(self.writes && self.whole && self.aligned) || blocks > MOST_ADDRESSES {
            return Addresses::default();
        }
        let words = zeroed(Addresses::words(blocks));
        words.map(|words| Addresses::over(words, self.jobs == 1)).unwrap_or_default()
    }

    /// Addresses are the content blocks of all targets, numbered together: returns the number of each target's first block, and the number of all
    /// blocks.
    fn first_addresses(&self) -> (Vec<u64>, u64) {
        let mut next = 0;
        let first = |range: &Range| {
            let first = next;
            next += range.bytes.div_ceil(self.unit as u64);
            first
        };
        let firsts = self.ranges.iter().map(first).collect();
        (firsts, next)
    }

    /// The jobs, one for each sampler.
    pub(crate) fn make_jobs(
        &self,
        load: &Load,
        samplers: Vec<BlockSampler>,
        make: MakeFill,
    ) -> Vec<Job> {
        let streams = |target: usize| {
            let (part, seed) = (self.part(load, target), load.seed_of(target));
            Stream::for_jobs(&part, &self.ranges[target], seed).into_iter()
        };
        let mut streams: Vec<_> = (0..self.ranges.len()).map(streams).collect();
        let (firsts, _) = self.first_addresses();
        let job = |(number, sampler)| {
            let targets = self.ranges.iter().zip(&self.contents).zip(&firsts).zip(&mut streams);
            let targets = targets.filter_map(|(((range, contents), first), streams)| {
                Some((streams.next()?, *range, contents.source(number), *first))
            });
            Job::new(load, number, targets.collect(), sampler, make)
        };
        (0..).zip(samplers).map(job).collect()
    }

    /// Returns what the load does on each target, for verification to replay.
    pub(crate) fn target_loads(&self, load: &Load) -> Vec<TargetLoad> {
        let target_load = |(target, &range): (usize, &Range)| TargetLoad {
            spec: self.part(load, target),
            seed: load.seed_of(target),
            range,
            made: Vec::new(),
        };
        self.ranges.iter().enumerate().map(target_load).collect()
    }

    /// Progress when `bytes` are done after `elapsed_ns`.
    pub(crate) fn progress(&self, elapsed_ns: u64, bytes: u64) -> Progress {
        let total = self.amount.map(|amount| amount.bytes);
        Progress::of(elapsed_ns, self.duration_ns, bytes, total)
    }
}

/// The content of each target: a separate one, or one that all share (domain `all`).
fn contents(load: &Load, ranges: &[Range]) -> Result<Vec<Contents>, EngineError> {
    let spec = &load.spec.content;
    let make = |generator: u16, bytes: u64| {
        let part = Part { generator, jobs: load.spec.jobs, blocks: bytes / spec.unit() as u64 };
        Contents::new(spec, load.seed, part).map_err(|error| {
            let help = error.help();
            EngineError::new(ErrorKind::Usage, "The content cannot be written", help).because(error)
        })
    };
    if spec.domain == Domain::All {
        let all = make(0, ranges.iter().map(|range| range.bytes).sum())?;
        return Ok(vec![all; ranges.len()]);
    }
    (0..).zip(ranges).map(|(place, range)| make(place, range.bytes)).collect()
}
