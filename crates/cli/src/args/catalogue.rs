//! `fathom catalogue`

use std::path::PathBuf;

use clap::Args;
use experiment::Repeat;

use super::GuestArgs;

/// `fathom catalogue`
#[derive(Debug, Args)]
#[command(after_help = "\
Without names the experiments that come with Fathom are listed: what each is about, its cells, and roughly how long it takes. \
With names, or `all`, each is run in the lab, one after another, into DIR/NAME. Complete results in DIR are skipped, \
those that were stopped or are incomplete are continued, and one that fails does not keep the others from running. In the end \
DIR/sources.md says for every expectation what its source found and what was found here, and DIR/index.html is one page of \
all results there.

Examples:
  fathom catalogue
  fathom catalogue vdo-vs-plain --print > mine.toml
  fathom catalogue all --repeat 1 --out first-pass
  fathom catalogue all --repeat auto --out decided
  fathom catalogue vdo-vs-plain cache-first-look --out both

Exit code 5 when an experiment failed or is incomplete; the same command goes on with it.")]
pub struct CatalogueArgs {
    /// Shipped experiments to run, or `all`; without one, they are listed.
    pub names: Vec<String>,
    /// Scale of the experiments [default: lab, where an experiment has it].
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// Repeats of each variant: a number, or auto for as many as are needed to decide (auto:12 for at most 12, auto:30m for at most
    /// 30 minutes each), but with auto, experiments with factors, without questions or with one variant keep their own number [default: 5 where
    /// a repeat takes at most 3 minutes by its plan, else 1].
    #[arg(long, value_name = "N|auto")]
    pub repeat: Option<Repeat>,
    /// Directory of the results; it may exist, with results of an earlier call.
    #[arg(long, value_name = "DIR", requires = "names", value_parser = super::new_path())]
    pub out: Option<PathBuf>,
    /// Print the file of the one experiment that is named, to copy and change it; nothing runs.
    #[arg(long, requires = "names", conflicts_with_all = ["out", "repeat", "scale", "json"])]
    pub print: bool,
    /// JSON on standard output: the list, or events of the runs as JSON lines.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub machine: GuestArgs,
}
