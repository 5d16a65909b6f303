//! `fathom clean` and `fathom layers`.

use std::path::PathBuf;

use clap::Args;

/// `fathom clean`
#[derive(Debug, Args)]
#[command(after_help = "\
Without --yes it only says what is there and which commands remove it. Without a result it is about what a killed fathom doctor --latency left. Nothing is touched that does not carry the \
run's mark. Exit code 6: something is still there.

Example: fathom clean vdo-vs-plain-20261121 --yes")]
pub struct CleanArgs {
    /// Directory of the result; without it, what killed measurements of fathom doctor left.
    pub result: Option<PathBuf>,
    /// Take it down.
    #[arg(long)]
    pub yes: bool,
    /// JSON on standard output, text for people on standard error.
    #[arg(long)]
    pub json: bool,
}

/// `fathom layers`
#[derive(Debug, Args)]
#[command(after_help = "Example: fathom layers vdo")]
pub struct LayersArgs {
    /// The layer whose manual page, settings, metrics and needs are shown; without one, all are listed.
    pub name: Option<String>,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}
