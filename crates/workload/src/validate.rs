//! Checks that a load makes sense, before its target is known.

use units::{Bytes, Nanos};

use crate::deck::{self, MOST_CARDS};
use crate::{
    Arrival, BlockSize, DepthUnit, Limit, LoadSpec, OpName, Pattern, Portion, Rate, WorkloadError,
};

/// Most jobs of a load.
const MOST_JOBS: u32 = 1024;
/// Most I/Os in flight per worker: what an io_uring can hold.
const MOST_DEPTH: u32 = 32_768;
/// Bytes of a sector of the block layer, the smallest I/O.
pub(crate) const SECTOR: u64 = 512;
/// The largest I/O.
const LARGEST: u64 = 64 * Bytes::MIB;
/// Highest rate in I/Os per second; beyond it nanoseconds are too coarse for the distances.
const MOST_RATE: u64 = 100_000_000;
/// Largest size and offset of a range: half of the largest offset that the kernel can represent, so that their sum fits as well.
const LARGEST_RANGE: Bytes = Bytes(1 << 62);
/// The longest time.
const MAX_TIME: Nanos = Nanos::from_secs(365 * 24 * 3600);
/// The shortest and the longest interval; each interval gives a row for every operation.
const INTERVALS: std::ops::RangeInclusive<Nanos> = Nanos(1_000_000)..=Nanos::from_secs(3600);
/// Most jobs for which rows per job are kept.
const MOST_PER_JOB: u32 = 64;
/// Most intervals in a steady-state window.
const MOST_INTERVALS: u64 = 1_000_000;
/// Fewest intervals in a steady-state window.
const LEAST_INTERVALS: u64 = 5;

fn senseless<T: std::fmt::Display>(
    key: &'static str,
    value: T,
    why: &'static str,
    help: &'static str,
) -> WorkloadError {
    WorkloadError::Senseless { key, value: value.to_string(), why, help }
}

impl LoadSpec {
    /// Checks that this load makes sense on some target; fails with the first mistake, which names the key and the remedy.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        self.validate_ops()?;
        self.validate_own()?;
        self.validate_numbers()?;
        self.validate_sizes()?;
        self.placed().try_for_each(|op| validate_pattern(&self.pattern_of(op)))?;
        if self.hot.is_some() && !self.placed().any(|op| self.pattern_of(op).own_hot().is_some()) {
            return Err(senseless(
                "hot",
                self.hot.unwrap_or_default(),
                "no pattern of this load visits some blocks more often than others",
                "leave hot out, or set a pattern such as zipf:1.2",
            ));
        }
        self.validate_pace()?;
        self.validate_stops()?;
        // Also for a load that only reads: nonsense in `content` is reported before anything is made.
        self.content.validate()?;
        if self.has_content() {
            let written = self.placed().filter(|op| op.is_write());
            let mut sizes =
                written.flat_map(|op| self.block_size_of(op).sizes().collect::<Vec<_>>());
            if !self.content.is_plain()
                && let Some(block_size) = sizes.find(|s| !s.0.is_multiple_of(self.content.block.0))
            {
                return Err(WorkloadError::ContentBlock { block_size, unit: self.content.block });
            }
        }
        Ok(())
    }

    fn validate_ops(&self) -> Result<(), WorkloadError> {
        if self.ops.is_empty() {
            return Err(WorkloadError::NoOps);
        }
        shares("ops", self.ops.shares().map(|(op, share)| (op.to_string(), share.0)))?;
        if self.placed().next().is_none() && self.pattern.is_some() {
            return Err(senseless(
                "pattern",
                self.pattern.clone().unwrap_or(Pattern::Uniform),
                "flush has no place",
                "leave pattern out, or add an operation that reads or writes",
            ));
        }
        Ok(())
    }

    fn validate_own(&self) -> Result<(), WorkloadError> {
        for op in self.each.names() {
            if !op.has_place() {
                let why = "a flush has neither block size nor pattern";
                return Err(WorkloadError::OperationOverride {
                    op,
                    why,
                    help: "leave each.flush out",
                });
            }
            if !self.ops.names().any(|other| other == op) {
                let help = "give it a share in ops, or leave it out of each";
                return Err(WorkloadError::OperationOverride {
                    op,
                    why: "the mix has no such operation",
                    help,
                });
            }
        }
        Ok(())
    }

    fn validate_numbers(&self) -> Result<(), WorkloadError> {
        let numbers = [
            ("jobs", Some(u64::from(self.jobs))),
            ("depth", Some(u64::from(self.depth))),
            ("batch", Some(u64::from(self.batch))),
            ("align", self.align.map(|n| n.0)),
            ("size", self.size.map(|size| u64::from(!size.is_zero()))),
            ("duration", self.duration.map(|n| n.0)),
            ("bytes", self.bytes.map(|n| n.0)),
            ("ios", self.ios),
            ("passes", self.passes.map(u64::from)),
            ("interval", Some(self.interval.0)),
        ];
        if let Some((key, _)) = numbers.into_iter().find(|(_, value)| *value == Some(0)) {
            return Err(WorkloadError::Zero { key });
        }
        let depth = if self.depth_unit == DepthUnit::Ios { self.depth } else { self.depth_ios() };
        let most = [
            ("jobs", u64::from(self.jobs), u64::from(MOST_JOBS)),
            ("depth", u64::from(depth), u64::from(MOST_DEPTH)),
            ("align", self.align.unwrap_or_default().0, LARGEST),
        ];
        if let Some((key, value, most)) = most.into_iter().find(|(_, value, most)| value > most) {
            return Err(WorkloadError::TooMany { key, value, most });
        }
        self.validate_reach()?;
        if self.depth_unit == DepthUnit::Blocks4k
            && u64::from(self.depth) * 4096 < self.largest_io().0
        {
            return Err(senseless(
                "depth",
                self.depth,
                "so many units of 4 KiB are less than one I/O",
                "use a larger depth, a smaller block_size, or depth_unit = \"ios\"",
            ));
        }
        if self.batch > depth {
            return Err(senseless(
                "batch",
                self.batch,
                "so many I/Os are never free at once at this depth",
                "set batch to the depth or less",
            ));
        }
        let offset = self.offset.and_then(Portion::bytes).unwrap_or_default();
        aligned("offset", offset, self.sector())
    }

    /// Returns the unit of sizes and offsets on every target, bytes: a sector, unless everything goes through the page cache.
    fn sector(&self) -> u64 {
        if self.direct || self.placed().any(whole_blocks) { SECTOR } else { 1 }
    }

    /// Refuses times and ranges that are out of bounds.
    fn validate_reach(&self) -> Result<(), WorkloadError> {
        let times = [
            ("duration", self.duration),
            ("ramp", self.ramp),
            ("think", self.think.map(|think| think.time)),
            ("steady", self.steady.map(|steady| steady.window)),
        ];
        for (key, time) in times {
            if let Some(value) = time.filter(|&time| time > MAX_TIME) {
                return Err(WorkloadError::Time { key, value, bound: "at most a year (8760h)" });
            }
        }
        if !INTERVALS.contains(&self.interval) {
            let bound = "a time from 1ms to 1h";
            return Err(WorkloadError::Time { key: "interval", value: self.interval, bound });
        }
        for (key, size) in [("size", self.size), ("offset", self.offset)] {
            if let Some(value) = size.and_then(Portion::bytes).filter(|&size| size > LARGEST_RANGE)
            {
                return Err(WorkloadError::TooLarge { key, value, most: LARGEST_RANGE });
            }
        }
        Ok(())
    }

    fn validate_sizes(&self) -> Result<(), WorkloadError> {
        if self.ops.names().all(|op| !op.has_place()) {
            return Ok(());
        }
        validate_size("block_size", &self.block_size, self.align, self.sector())?;
        for op in self.placed() {
            if self.each.of(op).is_some_and(|options| options.block_size.is_some()) {
                validate_size("each", self.block_size_of(op), self.align, self.sector())?;
            }
        }
        aligned("align", self.align.unwrap_or_default(), self.sector())?;
        let mut fixed = self.placed().map(|op| self.block_size_of(op).fixed());
        if let Some(Some(size)) = fixed.next()
            && fixed.all(|other| other == Some(size))
        {
            return aligned("bytes", self.bytes.unwrap_or_default(), size.0);
        }
        Ok(())
    }

    fn validate_pace(&self) -> Result<(), WorkloadError> {
        if self.per_job && self.jobs > MOST_PER_JOB {
            return Err(senseless(
                "per_job",
                self.per_job,
                "figures per job are kept for at most 64 jobs",
                "use fewer jobs, or leave per_job out: how far the slowest job is behind is reported anyway",
            ));
        }
        if let Some(rate) = self.rate {
            validate_rate("rate", rate)?;
            if self.limit.is_some() || self.think.is_some() {
                let (key, value) = match (&self.limit, &self.think) {
                    (Some(limit), _) => ("limit", limit.to_string()),
                    (_, think) => ("think", think.map(|t| t.to_string()).unwrap_or_default()),
                };
                return Err(senseless(
                    key,
                    value,
                    "with rate the load is an open loop, which waits for nothing",
                    "leave rate out, or leave out this key",
                ));
            }
        } else if self.arrival == Arrival::Poisson {
            return Err(senseless(
                "arrival",
                self.arrival,
                "without rate the load is a closed loop, in which nothing arrives",
                "add rate, as in rate = \"5000/s\"",
            ));
        }
        let Limit { ios, bytes } = self.limit.unwrap_or_default();
        for rate in [ios.map(Rate::Ios), bytes.map(Rate::Bytes)].into_iter().flatten() {
            validate_rate("limit", rate)?;
        }
        if let (Some(ramp), Some(duration)) = (self.ramp, self.duration)
            && ramp >= duration
        {
            return Err(senseless(
                "ramp",
                crate::text::duration(ramp),
                "the load would end before anything counts",
                "make ramp shorter than duration",
            ));
        }
        self.validate_window()
    }

    fn validate_stops(&self) -> Result<(), WorkloadError> {
        if self.duration.is_none() && !self.has_amount() && self.steady.is_none() {
            return Err(WorkloadError::NoStop);
        }
        if self.placed().next().is_none() && (self.bytes.is_some() || self.passes.is_some()) {
            let key = if self.bytes.is_some() { "bytes" } else { "passes" };
            let value = self.bytes.map_or_else(
                || self.passes.unwrap_or_default().to_string(),
                |bytes| bytes.to_string(),
            );
            let help = "end it by duration or ios";
            return Err(senseless(key, value, "flushes alone never reach that", help));
        }
        if self.passes.is_some()
            && let Some(pattern) =
                self.placed().map(|op| self.pattern_of(op)).find(|p| !p.has_passes())
        {
            return Err(WorkloadError::EndlessPass { pattern: Box::new(pattern) });
        }
        let strided =
            self.placed().any(|op| matches!(self.pattern_of(op), Pattern::Strided { .. }));
        if self.last_block && !strided {
            return Err(WorkloadError::LastBlock);
        }
        let Some(steady) = self.steady else { return Ok(()) };
        if steady.tolerance_percent <= 0.0 || steady.tolerance_percent > 100.0 {
            let why = "the tolerance has to be above 0 % and not above 100 %";
            return Err(senseless("steady", steady, why, "use a tolerance such as 5%"));
        }
        if steady.window < Nanos(self.interval.0.saturating_mul(LEAST_INTERVALS)) {
            let why = "the window holds fewer than five intervals";
            let help = "make the window longer, or interval shorter";
            return Err(senseless("steady", steady, why, help));
        }
        if steady.window.0 / self.interval.0.max(1) > MOST_INTERVALS {
            let why = "the window holds more than a million intervals";
            let help = "make the window shorter, or interval longer";
            return Err(senseless("steady", steady, why, help));
        }
        let ramp = self.ramp.unwrap_or_default();
        if self.duration.is_some_and(|all| steady.window.0 > all.0.saturating_sub(ramp.0)) {
            let why = "the load would end before one window is over";
            let help =
                "make duration longer, or ramp or the window shorter: the window follows ramp";
            return Err(senseless("steady", steady, why, help));
        }
        Ok(())
    }
}

fn aligned(key: &'static str, value: Bytes, unit: u64) -> Result<(), WorkloadError> {
    match value.0.is_multiple_of(unit.max(1)) {
        true => Ok(()),
        false => Err(WorkloadError::Unaligned { key, value, unit: Bytes(unit) }),
    }
}

fn shares(
    key: &'static str,
    parts: impl Iterator<Item = (String, f64)> + Clone,
) -> Result<(), WorkloadError> {
    if let Some((part, share)) = parts.clone().find(|(_, share)| deck::steps(*share).is_none()) {
        return Err(WorkloadError::Share { key, part, share });
    }
    let sum = parts.map(|(_, share)| share).sum::<f64>();
    if (sum - 100.0).abs() > 1e-6 { Err(WorkloadError::ShareSum { key, sum }) } else { Ok(()) }
}

fn validate_size(
    key: &'static str,
    size: &BlockSize,
    align: Option<Bytes>,
    sector: u64,
) -> Result<(), WorkloadError> {
    if size.smallest().0 == 0 {
        return Err(WorkloadError::Zero { key });
    }
    if size.largest().0 > LARGEST {
        return Err(WorkloadError::TooMany { key, value: size.largest().0, most: LARGEST });
    }
    size.sizes().try_for_each(|size| aligned(key, size, sector))?;
    match size {
        BlockSize::Fixed(_) => Ok(()),
        BlockSize::Weighted(sizes) => {
            shares(key, sizes.iter().map(|(size, share)| (crate::text::size(*size), *share)))
        }
        BlockSize::Between(low, high) => {
            let step = align.map_or_else(|| size.common(), |align| align.0.max(1));
            [low, high].into_iter().try_for_each(|end| aligned(key, *end, step))?;
            let most = MOST_CARDS as u64;
            let value = (high.0 - low.0) / step + 1;
            if value <= most {
                return Ok(());
            }
            let why = "the range holds more than 65536 sizes";
            Err(senseless(key, size, why, "set a larger align: sizes are multiples of it"))
        }
    }
}

fn validate_rate(key: &'static str, rate: Rate) -> Result<(), WorkloadError> {
    if rate.is_zero() {
        return Err(WorkloadError::Zero { key });
    }
    match rate {
        Rate::Ios(n) if n > MOST_RATE * 1000 => {
            Err(WorkloadError::TooMany { key, value: n / 1000, most: MOST_RATE })
        }
        _ => Ok(()),
    }
}

fn validate_pattern(pattern: &Pattern) -> Result<(), WorkloadError> {
    let wrong = |why, help| Err(senseless("pattern", pattern, why, help));
    match pattern {
        Pattern::Zipf { theta } if !(*theta > 0.0 && *theta <= 50.0) => {
            wrong("theta has to be above 0 and at most 50", "use a theta such as 0.99 or 1.2")
        }
        Pattern::Pareto { h } if !(*h > 0.0 && *h < 0.5) => wrong(
            "h is the share of blocks that gets the share 1 - h of the I/Os: above 0 and below 0.5",
            "use an h such as 0.2 (80 % of the I/Os to 20 % of the blocks), or pattern = \"random\"",
        ),
        Pattern::Normal { sigma_percent, centre_percent }
            if !(*sigma_percent > 0.0 && *sigma_percent <= 100.0 && *centre_percent <= 100.0) =>
        {
            wrong(
                "the standard deviation has to be above 0 % of the range, and neither it nor the centre above 100 %",
                "use something like normal:5% or normal:5%@30%",
            )
        }
        Pattern::Zones(zones) => {
            let sum = zones.zones().iter().map(|zone| zone.ios_percent).sum::<f64>();
            if (sum - 100.0).abs() > 1e-6 {
                return Err(WorkloadError::ShareSum { key: "pattern", sum });
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Tells whether an operation's starts and lengths have to be multiples of the logical block even without direct I/O: the kernel discards and zeroes
/// only whole blocks.
pub(crate) fn whole_blocks(op: OpName) -> bool {
    op.changes() && !op.is_write()
}
