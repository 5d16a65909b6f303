//! `fathom show`, `fathom report` and `fathom doctor`: what is made of a result.

use std::path::PathBuf;

use clap::Args;

/// `fathom show`
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Directory of the result, or a log of I/Os (`fathom load --io-log`), which is shown as CSV.
    pub result: PathBuf,
    /// The figures as JSON (docs/json.md).
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// The result table as CSV.
    #[arg(long)]
    pub csv: bool,
    /// End with exit code 1 when an expectation of the experiment is missed, or its figure is not there.
    #[arg(long)]
    pub strict: bool,
}

/// `fathom report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Directories of results.
    #[arg(required = true)]
    pub results: Vec<PathBuf>,
    /// The page to write.
    #[arg(short, long, value_name = "FILE.html")]
    pub output: PathBuf,
}

/// `fathom doctor`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples: fathom doctor my-result --all; fathom doctor vdo-vs-plain; fathom doctor --rules"
)]
pub struct DoctorArgs {
    /// Directory of a result: what to mistrust in it, and what limits it. Name of a shipped experiment or path of a file: what its
    /// plan cannot show. Without either, this machine is examined.
    pub subject: Option<String>,
    /// List every rule: when it looks, at what, its threshold and its source.
    #[arg(long, conflicts_with = "subject")]
    pub rules: bool,
    /// Of what limits a result, show all, not the five that explain most.
    #[arg(long)]
    pub all: bool,
    /// Scale of an experiment [default: lab, where the experiment has it].
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// JSON on standard output; it holds all that was found.
    #[arg(long)]
    pub json: bool,
}
