//! A load on a given target, in numbers: what the backends share.

use content::{Contents, Domain, Part, Scope};
use reduce::Addresses;
use units::Bytes;
use workload::{Amount, LoadSpec, Range, Stream};

use crate::census::{AHEAD, QUEUED_BYTES, QUEUED_NAMES, SAMPLE};
use crate::error::{EngineError, Kind};
use crate::event::Progress;
use crate::job::{Job, MakeFill};
use crate::load::Load;
use crate::memory::zeroed;
use crate::pressed::{Room, Shift};
use crate::sample::{Common, Rooms, Sampler};
use crate::tally::Shape;
use crate::verify::Lane;

/// Most addresses of which it is told what they hold: 1 GiB of memory, taken where it is written (16 TiB in blocks of 4 KiB).
const MOST_ADDRESSES: u64 = 1 << 32;

/// A load on a target of known size.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    /// The part of each target that is used.
    pub ranges: Vec<Range>,
    /// The content of each target.
    pub contents: Vec<Contents>,
    /// Targets as they were given.
    pub targets: Vec<String>,
    /// Operations as given, in the order of their indices.
    pub names: Vec<String>,
    pub stage: usize,
    pub jobs: usize,
    pub depth: usize,
    pub block_bytes: usize,
    pub interval_ns: u64,
    /// Time that is measured, the ramp left out.
    pub duration_ns: Option<u64>,
    /// Time at the start that is not measured, nanoseconds.
    pub ramp_ns: u64,
    /// I/Os that are submitted together, at least.
    pub batch: usize,
    pub writes: bool,
    /// What all jobs do together; `None` when only time ends the load.
    amount: Option<Amount>,
    /// Bytes of a block of content.
    pub unit: usize,
    /// Whether all I/Os are whole blocks of content.
    whole: bool,
    /// Whether all writes begin where such a block does.
    aligned: bool,
    /// Whether content is asked for of what the addresses hold.
    live: bool,
    /// Share of writes among I/Os, 0 to 1.
    write_share: f64,
}

impl Outline {
    /// `load` on targets of these sizes, whose I/O must be aligned to so many bytes.
    pub(crate) fn of(load: &Load, sizes: &[(Bytes, u64)]) -> Result<Self, EngineError> {
        let spec = &load.spec;
        let unfit = |object: &str, error: workload::WorkloadError| {
            let help = error.help();
            EngineError::new(Kind::Usage, format!("The load does not fit {object}"), help)
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
        let outline = Self {
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
        let amounts = outline.ranges.iter().enumerate();
        let amounts = amounts.map(|(at, range)| outline.part(load, at).amount(range));
        let amount = amounts.reduce(|a, b| {
            let (a, b) = a.zip(b)?;
            Some(Amount { ios: a.ios + b.ios, bytes: a.bytes + b.bytes })
        });
        Ok(Self { amount: amount.flatten(), ..outline })
    }

    /// What is to be done on the target of that place: of amounts, its share.
    fn part(&self, load: &Load, target: usize) -> LoadSpec {
        let all: f64 = load.targets.iter().map(|aim| aim.share.0).sum();
        load.spec.part(load.targets[target].share.0 / all)
    }

    /// Bytes of all targets together that are used.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes(self.ranges.iter().map(|range| range.bytes).sum())
    }

    /// What recording keeps apart.
    pub(crate) fn shape(&self, load: &Load) -> Shape {
        Shape {
            operations: self.names.len(),
            targets: load.targets.len(),
            split: load.recording.split_latency,
            open: load.spec.rate.is_some(),
            worst: load.recording.worst,
        }
    }

    /// Blocks of content that will be written, about; `None` when time may end the load before.
    pub(crate) fn content_blocks(&self) -> Option<u64> {
        if !self.writes {
            return Some(0);
        }
        let amount = self.amount.filter(|_| self.duration_ns.is_none())?;
        Some((amount.bytes as f64 / self.unit as f64 * self.write_share) as u64)
    }

    /// How much is queued between one job and the census. Where the amount is known, all blocks to be sized have room, so that which they are
    /// does not hang on how fast the census is.
    pub(crate) fn rooms(&self) -> Rooms {
        let (known, jobs) = (self.content_blocks(), self.jobs.max(1));
        let blocks = known.map_or(usize::MAX, |blocks| (blocks as usize).max(1));
        let names = (QUEUED_NAMES / jobs).max(64);
        let few = (QUEUED_BYTES / self.unit / jobs).max(16 * reduce::BLOCK / self.unit).max(1);
        // Twice as many as it is on the mean.
        let most = (2 * reduce::most_sized(self.unit) / jobs).max(few);
        let sized = if known.is_some() { most } else { few };
        Rooms {
            names: Room { places: blocks.min(names), bytes: 0, holds_all: blocks <= names },
            blocks: Room {
                places: blocks.min(sized),
                bytes: self.unit,
                holds_all: known.is_some(),
            },
            beginning: self.kept_of_the_beginning(blocks, jobs),
        }
    }

    /// Blocks of the beginning that one job keeps: of those that VDO's packer would see.
    fn kept_of_the_beginning(&self, blocks: usize, jobs: usize) -> usize {
        let packed = self.writes && self.whole && self.unit == reduce::BLOCK;
        if packed { reduce::BEGINNING.div_ceil(jobs).min(blocks) } else { 0 }
    }

    /// Whether every written buffer is a whole number of blocks, so that what was achieved can be measured.
    pub(crate) fn blocks_are_whole(&self) -> bool {
        self.whole
    }

    /// By how many halvings more of what the addresses hold is looked at than of what is written: in the written scope nothing is asked
    /// of that.
    pub(crate) fn ahead(&self) -> u32 {
        if self.live { AHEAD } else { 0 }
    }

    /// What samplers share.
    pub(crate) fn sampling(&self) -> Common {
        let blocks = self.content_blocks();
        let planned = Shift::picking(SAMPLE << self.ahead(), blocks).get();
        let sampled = blocks.map(|blocks| blocks >> planned);
        let sizes = Shift::picking(reduce::most_sized(self.unit) as u64, sampled);
        Common::new(planned, sizes, std::sync::Arc::new(self.addresses()))
    }

    /// A census of what is written, and of what the addresses hold.
    pub(crate) fn census(&self, common: &Common) -> reduce::Census {
        reduce::Census::of_blocks(self.unit, SAMPLE as usize)
            .and_live(common.addresses.clone(), self.ahead())
    }

    /// Room to tell what each address holds; none where nothing is written, blocks have no addresses, or memory does not suffice.
    fn addresses(&self) -> Addresses {
        let blocks = self.first_addresses().1;
        if !(self.writes && self.whole && self.aligned) || blocks > MOST_ADDRESSES {
            return Addresses::default();
        }
        let words = zeroed(Addresses::words(blocks));
        words.map(|words| Addresses::over(words, self.jobs == 1)).unwrap_or_default()
    }

    /// The address of each target's first block of content, and how many addresses there are.
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

    /// One job for each sampler.
    pub(crate) fn make_jobs(
        &self,
        load: &Load,
        samplers: Vec<Sampler>,
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

    /// What is done on each target, for who wants to make it again.
    pub(crate) fn lanes(&self, load: &Load) -> Vec<Lane> {
        let lane = |(target, &range): (usize, &Range)| Lane {
            spec: self.part(load, target),
            seed: load.seed_of(target),
            range,
            made: Vec::new(),
        };
        self.ranges.iter().enumerate().map(lane).collect()
    }

    /// How far the load has come when `bytes` are done after `elapsed_ns`.
    pub(crate) fn progress(&self, elapsed_ns: u64, bytes: u64) -> Progress {
        let total = self.amount.map(|amount| amount.bytes);
        Progress::of(elapsed_ns, self.duration_ns, bytes, total)
    }
}

/// The content of each target: of its own, or one for all.
fn contents(load: &Load, ranges: &[Range]) -> Result<Vec<Contents>, EngineError> {
    let spec = &load.spec.content;
    let make = |generator: u16, bytes: u64| {
        let part = Part { generator, jobs: load.spec.jobs, blocks: bytes / spec.unit() as u64 };
        Contents::new(spec, load.seed, part).map_err(|error| {
            let help = error.help();
            EngineError::new(Kind::Usage, "The content cannot be written", help).because(error)
        })
    };
    if spec.domain == Domain::All {
        let all = make(0, ranges.iter().map(|range| range.bytes).sum())?;
        return Ok(vec![all; ranges.len()]);
    }
    (0..).zip(ranges).map(|(place, range)| make(place, range.bytes)).collect()
}
