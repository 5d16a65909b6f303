//! What is written: the keys of a load's `content`.

use clap::Args;
use content::ContentSpec;
use units::Percent;

/// What is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Content of what is written")]
pub struct ContentArgs {
    /// Share of blocks that are duplicates of others.
    #[arg(long, value_name = "PERCENT", default_value = "0%")]
    pub dedupe: Percent,
    /// How far `recent` reaches, in distinct blocks [default: 16384].
    #[arg(long, value_name = "BLOCKS")]
    pub dedupe_window: Option<u64>,
    /// How far LZ4 compresses a block: 2.5x, 60%, a spread, or none.
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub compress: content::Compress,
    /// Share of zero blocks.
    #[arg(long, value_name = "PERCENT", default_value = "0%")]
    pub zero: Percent,
}

impl ContentArgs {
    /// The content that is asked for.
    pub fn spec(&self) -> ContentSpec {
        let defaults = ContentSpec::default();
        ContentSpec {
            dedupe: self.dedupe,
            window: self.dedupe_window.unwrap_or(defaults.window),
            compress: self.compress,
            zero: self.zero,
        }
    }
}
