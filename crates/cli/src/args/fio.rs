//! The arguments of `fathom fio` and `fathom import`.

use std::path::PathBuf;

use clap::Args;
use units::Nanos;

/// `fathom fio`
#[derive(Debug, Args)]
#[command(after_help = "\
Jobs that run at once are one load, and must differ in their targets alone; those behind a stonewall follow it. A file that is to be read and is \
missing is written first. Every option of a job file is honoured; one that Fathom has no counterpart for is named with its line, and nothing runs. \
Options that change nothing are listed, and so is what fio really does where that differs from what its options say.

Examples:
  fathom fio job.fio --dry-run             # the loads, as commands and as stages of an experiment; touches nothing
  fathom fio job.fio                       # runs them one after the other
  fathom fio job.fio --duration 10s        # each for ten seconds in place of its runtime

Exit codes: those of fathom load; 2 where the job file has mistakes, or options that Fathom has no counterpart for.")]
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

/// `fathom import`
#[derive(Debug, Args)]
#[command(after_help = "\
A name is a variant, each further file under it a repeat; the first name is the base of comparisons. Percentiles of several jobs need json+, whose \
bins are added up; plain json has them for a single job only. Fio's logs are not read. Of the states of a run \
(--status-interval) the last counts; fio before version 3 has other units, and is refused. So are repeats of a variant whose \
options differ, as fio tells them; where variants differ in theirs, the doctor says so. What verify read back is no part of the load; \
a run whose verification failed is a repeat that failed, and the exit code is 5. Runs are ordered by their time: \
alternate the variants, and run each five times or more, for a verdict.

Examples:
  fio job.fio --output-format=json+ --output=a.json
  fathom import a.json --out one
  fathom import plain=p1.json plain=p2.json vdo=v1.json vdo=v2.json --out both; fathom report both -o both.html")]
pub struct ImportArgs {
    /// Output of fio --output-format=json+, or json.
    #[arg(required = true, value_name = "[NAME=]FILE")]
    pub files: Vec<String>,
    /// Directory of the result; it must not exist.
    #[arg(long, value_name = "DIR", value_parser = super::new_path())]
    pub out: PathBuf,
}
