//! The measured reducibility of written bytes.

use serde::{Deserialize, Serialize};

/// Shares of duplicates and savings of written blocks, measured from their bytes. No data is `None`, never 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Achieved {
    /// Duplicates among all written blocks, percent. A zero block is neither unique nor a duplicate (VDO stores
    /// none of them), but counts among all.
    pub duplicate_percent: Option<f64>,
    /// Standard error of `duplicate_percent` from sampling, points; 0 when every block was seen.
    pub duplicate_error_points: Option<f64>,
    /// Duplicates among all blocks that the addresses hold at the end, percent, by the same rule; `None` where nobody told which
    /// block went where.
    pub live_duplicate_percent: Option<f64>,
    /// Standard error of `live_duplicate_percent` from sampling, points; 0 when every block was seen.
    pub live_duplicate_error_points: Option<f64>,
    /// Blocks that the addresses hold at the end, zero blocks among them: written, and neither given back nor zeroed since.
    pub blocks_live: Option<u64>,
    /// Saving of LZ4 on distinct blocks that are not zero, percent: 100 (1 - mean size / size of a block).
    pub lz4_saving_percent: Option<f64>,
    /// Standard error of `lz4_saving_percent` from sampling, points; 0 when the sizes of all contents were taken, `None` when too few.
    pub lz4_saving_error_points: Option<f64>,
    /// Zero blocks among all written blocks, percent.
    pub zero_percent: Option<f64>,
    /// Mean LZ4 size of a distinct block that is not zero, bytes.
    pub lz4_size_mean_bytes: Option<f64>,
    /// Smallest LZ4 size seen, bytes.
    pub lz4_size_min_bytes: Option<u64>,
    /// Largest LZ4 size seen, bytes; a whole block's for one that LZ4 cannot make smaller.
    pub lz4_size_max_bytes: Option<u64>,
    /// Saving of VDO's packer on distinct blocks as they were written, without flushes, percent; `None` for blocks that are
    /// not of 4096 bytes, and where too little is known of the order in which different sizes follow each other.
    pub packer_saving_percent: Option<f64>,
    /// Standard error of `packer_saving_percent`, as for `lz4_saving_percent`.
    pub packer_saving_error_points: Option<f64>,
    /// Blocks that share a physical block, on average over the shared ones.
    pub fragments_per_packed_block: Option<f64>,
    /// Blocks that were written.
    pub blocks_written: u64,
    /// Zero blocks among `blocks_written`; counted, not sampled.
    pub blocks_zero: u64,
    /// Blocks in the sample that the duplicates rest on, zero blocks left out.
    pub blocks_sampled: u64,
    /// Distinct blocks in the sample.
    pub distinct_sampled: u64,
    /// Distinct blocks whose LZ4 size was taken.
    pub blocks_sized: u64,
    /// The sample holds one content in 2^this.
    pub sample_shift: u32,
}
