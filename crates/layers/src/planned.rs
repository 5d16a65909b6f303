//! A stage as rules see it before it runs.

use results::model::{CacheBound, StageData};

/// A stage of a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlannedStage {
    /// Its name.
    pub name: String,
    /// Data that it brings.
    pub data: StageData,
    /// Tells whether its figures are the measured ones.
    pub measured: bool,
    /// Its load, or that of each round of a fill.
    pub load: Option<PlannedLoad>,
    /// The layers, or devices, that it works on.
    pub targets: Vec<String>,
    /// Tells, of a command, whether what it wrote is brought to stable storage and this is measured.
    pub synced: Option<bool>,
    /// Tells whether it is one point of a sweep, whose settings are the sweep's.
    pub swept: bool,
    /// Upper bounds of the hits that caches can have among its reads.
    pub bounds: Vec<CacheBound>,
}

/// A load of a plan, in numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlannedLoad {
    /// Its operations.
    pub operations: Vec<PlannedOperation>,
    /// Length of the range that it works on, bytes; `None` where that is not known.
    pub range_bytes: Option<u64>,
    /// Start of the range on the target, bytes.
    pub offset: u64,
    /// Blocks of 4 KiB that are in flight at once, over all jobs.
    pub blocks_in_flight: u64,
    /// I/Os in flight over all jobs.
    pub ios_in_flight: u64,
    /// `depth` as the experiment has it, in its own unit.
    pub depth: u64,
    /// Blocks of 4 KiB that it writes, where that is known beforehand.
    pub written_blocks: Option<u64>,
    /// Tells whether it runs until a metric has settled.
    pub until_steady: bool,
    /// The window over which that metric has to stay steady, seconds.
    pub steady_window_s: Option<f64>,
    /// Bytes that it writes in a second at the most, where it has a rate or a limit and only writes.
    pub most_written_per_s: Option<f64>,
    /// Length of a row over time, nanoseconds.
    pub interval_ns: u64,
    /// Tells whether it bypasses the page cache.
    pub direct: bool,
    /// Number of writes of a job after which the job makes them durable.
    pub sync_every: Option<u32>,
    /// Duplicates, percent.
    pub dedupe_percent: f64,
    /// Zero blocks, percent.
    pub zero_percent: f64,
    /// Compression as written (`none`, `2.5x`).
    pub compress: String,
    /// Tells whether it is to compress at all.
    pub compresses: bool,
    /// The mean LZ4 size of its blocks, bytes.
    pub lz4_bytes: Option<f64>,
    /// Number of blocks that VDO's packer puts into one physical block; 1 when it cannot pack them.
    pub fragments_per_block: Option<u32>,
    /// Tells whether all blocks have one LZ4 size.
    pub alike: bool,
    /// Doubts about its content, in sentences.
    pub doubts: Vec<String>,
}

/// One operation of a planned load.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedOperation {
    /// Its name (`randwrite`).
    pub name: String,
    /// The kind of work that it asks of the target.
    pub does: OperationKind,
    /// Every size is a multiple of this, bytes.
    pub size_unit: u64,
    /// Every place is a multiple of this from the start of the range, bytes.
    pub align: u64,
    /// The order in which it goes over the range.
    pub order: Order,
}

/// A kind of work that an operation asks of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// Moves bytes from it.
    Reads,
    /// Moves bytes to it.
    Writes,
    /// Gives ranges back.
    Discards,
    /// Anything else.
    Other,
}

/// The order in which an operation goes over its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One block after the other, perhaps with gaps.
    InOrder,
    /// At random, every block as often as any other.
    Even,
    /// At random, some blocks more often.
    Skewed,
    /// One block alone.
    OneBlock,
}

impl PlannedStage {
    /// Tells whether it brings data to its target, or may do so.
    pub fn brings_data(&self) -> bool {
        match self.data {
            StageData::Nothing | StageData::Allocation => false,
            StageData::Load => {
                self.load.as_ref().is_some_and(|load| load.does(OperationKind::Writes))
            }
            StageData::Rounds | StageData::State | StageData::Foreign | StageData::Unknown => true,
        }
    }
}

impl PlannedLoad {
    /// Returns the share of its range, percent, that it writes within its window of a steady metric at `written_per_s` bytes per second; `None`
    /// where it has no such window, or its range is not known.
    pub fn window_percent(&self, written_per_s: f64) -> Option<f64> {
        let range = self.range_bytes.filter(|bytes| *bytes > 0)?;
        Some(100.0 * written_per_s * self.steady_window_s? / range as f64)
    }

    /// Tells whether it has an operation that does this.
    pub fn does(&self, what: OperationKind) -> bool {
        self.operations.iter().any(|op| op.does == what)
    }
}
