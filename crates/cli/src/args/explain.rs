//! `fathom explain`

use clap::Args;

/// `fathom explain`
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Name of a shipped experiment, or path of an experiment file; without one, the shipped are listed.
    pub experiment: Option<String>,
    /// Repeats of each variant, instead of the experiment's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Scale of the experiment [default: lab, where the experiment has it].
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// These variants only, comma separated; can be given several times.
    #[arg(long, value_name = "VARIANT,...")]
    pub only: Vec<String>,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}
