//! Options for the content of what is written: the keys of a load's `content`.

use std::path::PathBuf;

use clap::Args;
use content::ContentSpec;
use units::{Bytes, Percent};

/// The content of what is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Content of what is written")]
pub struct ContentArgs {
    /// Share of blocks that are duplicates of others.
    #[arg(long, value_name = "PERCENT", default_value = "0%")]
    pub dedupe: Percent,
    /// Base of the shares: written (all blocks in order), or live (what the addresses hold in the end, however often overwritten).
    #[arg(long, value_name = "SCOPE", default_value = "written")]
    pub dedupe_scope: content::Scope,
    /// Distance from a duplicate back to its original: previous, recent, all, or distances with weights (1..100=30,100..10000=70).
    #[arg(long, value_name = "DISTANCE")]
    pub dedupe_distance: Option<content::Distance>,
    /// Reach of `recent`, in distinct blocks [default: 16384].
    #[arg(long, value_name = "BLOCKS")]
    pub dedupe_window: Option<u64>,
    /// Source of duplicates: blocks of the same job, of the same target, or of all.
    #[arg(long, value_name = "DOMAIN", default_value = "job")]
    pub dedupe_domain: content::Domain,
    /// Distribution of duplicates over contents: uniform, or zipf:T, where few contents come again most often.
    #[arg(long, value_name = "HOW", default_value = "uniform")]
    pub popularity: content::Popularity,
    /// Compression of a block by LZ4: 2.5x, 60%, a spread (1.5x..4x), or none.
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub compress: content::Compress,
    /// Share of distinct blocks that VDO's packer is to save; used instead of --compress.
    #[arg(long, value_name = "PERCENT")]
    pub vdo_saving: Option<Percent>,
    /// Make-up of a compressible block: tail (random bytes, then zeros), interleaved:CHUNK, natural (as much work for LZ4 as real data)
    /// [default: tail].
    #[arg(long, value_name = "TEXTURE")]
    pub texture: Option<content::Texture>,
    /// Share of zero blocks.
    #[arg(long, value_name = "PERCENT", default_value = "0%")]
    pub zero: Percent,
    /// Size of the blocks that these options count in.
    #[arg(long, value_name = "BYTES", default_value = "4k")]
    pub content_block: Bytes,
    /// Shift duplicates by this many bytes against the boundaries of blocks.
    #[arg(long, value_name = "BYTES")]
    pub misaligned: Option<Bytes>,
    /// Reproduce the reducibility of real data: a file that `fathom estimate --profile` wrote.
    #[arg(long, value_name = "FILE")]
    pub content_profile: Option<PathBuf>,
}

impl ContentArgs {
    /// Returns the content that is asked for.
    pub fn spec(&self) -> ContentSpec {
        ContentSpec {
            dedupe: self.dedupe,
            scope: self.dedupe_scope,
            distance: self.dedupe_distance.clone(),
            window: self.dedupe_window,
            popularity: self.popularity,
            domain: self.dedupe_domain,
            compress: self.compress.clone(),
            vdo_saving: self.vdo_saving,
            texture: self.texture,
            zero: self.zero,
            block: self.content_block,
            misaligned: self.misaligned,
            profile: self.content_profile.clone().map(content::ProfileSource::File),
        }
    }
}
