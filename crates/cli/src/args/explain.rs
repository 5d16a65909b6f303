//! `fathom explain`

use clap::Args;
use experiment::Repeat;

/// `fathom explain`
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Name of a shipped experiment, or path of an experiment file; without one, the shipped are listed.
    pub experiment: Option<String>,
    /// Repeats of each variant, instead of the experiment's: a number, or auto for as many as are needed to decide (auto:12 for at most
    /// 12, auto:30m for at most 30 minutes).
    #[arg(long, value_name = "N|auto", requires = "experiment")]
    pub repeat: Option<Repeat>,
    /// Scale of the experiment [default: lab, where the experiment has it].
    #[arg(long, value_name = "NAME", requires = "experiment")]
    pub scale: Option<String>,
    /// These variants only, comma separated; can be given several times.
    #[arg(long, value_name = "VARIANT,...", requires = "experiment")]
    pub only: Vec<String>,
    /// Set a key, whatever the file says, to a value as in a file: vdo.block_map_cache=16M, device.data.size=20G; can be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::setting, requires = "experiment")]
    pub set: Vec<(String, String)>,
    /// JSON on standard output.
    #[arg(long, requires = "experiment")]
    pub json: bool,
}
