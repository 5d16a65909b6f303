//! What is written: the keys of a load's `content`.

use std::path::PathBuf;

use clap::Args;
use content::ContentSpec;
use units::{Bytes, Percent};

/// What is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Content of what is written")]
pub struct ContentArgs {
    /// Share of blocks that are duplicates of others.
    #[arg(long, value_name = "PERCENT", default_value = "0%")]
    pub dedupe: Percent,
    /// What shares are of: written (in order), or live (what the addresses hold, however often overwritten).
    #[arg(long, value_name = "SCOPE", default_value = "written")]
    pub dedupe_scope: content::Scope,
    /// How far back duplicates reach: previous, recent, all, or distances with weights (1..100=30,100..10000=70).
    #[arg(long, value_name = "DISTANCE")]
    pub dedupe_distance: Option<content::Distance>,
    /// How far `recent` reaches, in distinct blocks [default: 16384].
    #[arg(long, value_name = "BLOCKS")]
    pub dedupe_window: Option<u64>,
    /// Whose content duplicates may be of: job, target or all.
    #[arg(long, value_name = "DOMAIN", default_value = "job")]
    pub dedupe_domain: content::Domain,
    /// How unequally often contents come again: uniform, zipf:T.
    #[arg(long, value_name = "HOW", default_value = "uniform")]
    pub popularity: content::Popularity,
    /// How far LZ4 compresses a block: 2.5x, 60%, a spread, or none.
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub compress: content::Compress,
    /// What VDO's packer is to save on distinct blocks; in place of --compress.
    #[arg(long, value_name = "PERCENT")]
    pub vdo_saving: Option<Percent>,
    /// What a compressible block is made of: tail (random bytes, then zeros), interleaved:CHUNK, natural (as much work for LZ4 as real data)
    /// [default: tail].
    #[arg(long, value_name = "TEXTURE")]
    pub texture: Option<content::Texture>,
    /// Share of zero blocks.
    #[arg(long, value_name = "PERCENT", default_value = "0%")]
    pub zero: Percent,
    /// The block that all this counts in.
    #[arg(long, value_name = "BYTES", default_value = "4k")]
    pub content_block: Bytes,
    /// Put duplicates out of line with blocks by this much.
    #[arg(long, value_name = "BYTES")]
    pub misaligned: Option<Bytes>,
    /// Reproduce the reducibility of real data: a file that `fathom estimate --profile` wrote.
    #[arg(long, value_name = "FILE")]
    pub content_profile: Option<PathBuf>,
}

impl ContentArgs {
    /// The content that is asked for.
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
