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
pub struct DoctorArgs {
    /// Directory of a result; without one, this machine is examined.
    pub result: Option<PathBuf>,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}
