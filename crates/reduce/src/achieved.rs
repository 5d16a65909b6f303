//! The measured reducibility of written bytes.

use serde::{Deserialize, Serialize};

/// Shares of duplicates and savings of written blocks, measured from their bytes. A figure without data is `None`, never 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Achieved {
    /// Share of duplicates among all written blocks, percent. A zero block is neither unique nor a duplicate (VDO does not store zero blocks), but is
    /// included in the total.
    pub duplicate_percent: Option<f64>,
    /// Standard error of `duplicate_percent` from sampling, points; 0 when every block was seen.
    pub duplicate_error_points: Option<f64>,
    /// Share of duplicates among all blocks that the addresses hold at the end, percent, by the same rule; `None` where the addresses of blocks were
    /// not reported.
    pub live_duplicate_percent: Option<f64>,
    /// Standard error of `live_duplicate_percent` from sampling, points; 0 when every block was seen.
    pub live_duplicate_error_points: Option<f64>,
    /// Number of blocks that the addresses hold at the end, zero blocks included: written, and neither discarded nor zeroed since.
    pub blocks_live: Option<u64>,
    /// Saving of LZ4 on distinct blocks that are not zero, percent: 100 (1 - mean size / size of a block).
    pub lz4_saving_percent: Option<f64>,
    /// Standard error of `lz4_saving_percent` from sampling, points; 0 when the sizes of all contents were measured, `None` when there are too few.
    pub lz4_saving_error_points: Option<f64>,
    /// Zero blocks among all written blocks, percent.
    pub zero_percent: Option<f64>,
    /// Mean LZ4 size of a distinct block that is not zero, bytes.
    pub lz4_size_mean_bytes: Option<f64>,
    /// Smallest LZ4 size seen, bytes.
    pub lz4_size_min_bytes: Option<u64>,
    /// Largest LZ4 size seen, bytes; the size of a whole block for one that LZ4 cannot make smaller.
    pub lz4_size_max_bytes: Option<u64>,
    /// Saving of VDO's packer on distinct blocks in the order of writing, without flushes, percent; `None` for blocks that are not of 4096 bytes, and
    /// where too little is known about the order in which different sizes follow each other.
    pub packer_saving_percent: Option<f64>,
    /// Standard error of `packer_saving_percent`, as for `lz4_saving_percent`.
    pub packer_saving_error_points: Option<f64>,
    /// Mean number of blocks in a physical block, over the shared physical blocks.
    pub fragments_per_packed_block: Option<f64>,
    /// Number of written blocks.
    pub blocks_written: u64,
    /// Zero blocks among `blocks_written`; counted, not sampled.
    pub blocks_zero: u64,
    /// Number of blocks in the sample that the figures of duplicates are based on, without zero blocks.
    pub blocks_sampled: u64,
    /// Number of distinct blocks in the sample.
    pub distinct_sampled: u64,
    /// Number of distinct blocks whose LZ4 size was measured.
    pub blocks_sized: u64,
    /// The sample holds one content in 2^this.
    pub sample_shift: u32,
}
