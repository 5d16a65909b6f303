//! The arguments of `fathom fio`.

use std::path::PathBuf;

use clap::Args;
use units::Nanos;

/// `fathom fio`
#[derive(Debug, Args)]
#[command(after_help = "\
Jobs that run at once are one load, and must differ in their targets alone; those behind a stonewall follow it. A file that is to be read and is
missing, or too short, is written first. Every option of a job file is done, or named with its line where nothing here does it: nothing runs then.
Options that change nothing are listed, and so is what fio really does where that is something else than its options say.

Examples:
  fathom fio job.fio --dry-run             # the loads, as commands and as stages of an experiment; touches nothing
  fathom fio job.fio                       # runs them one after the other
  fathom fio job.fio --duration 10s        # each for ten seconds in place of its runtime

Exit codes: those of fathom load; 2 where the job file has mistakes, or options that nothing here does.")]
pub struct FioArgs {
    /// A job file of fio's; - is standard input.
    pub job: PathBuf,
    /// Print the loads that it means, as commands and as stages of an experiment; touch nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Run each load for this time, whatever its runtime is.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Write to targets even if they hold data.
    #[arg(long)]
    pub destroy_data: bool,
    /// JSON lines on standard output as of fathom load, the summary of each load last; with --dry-run one object.
    #[arg(long)]
    pub json: bool,
}
