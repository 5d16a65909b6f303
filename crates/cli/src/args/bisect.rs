//! `fathom bisect`

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use units::{Percent, Seed};

use super::{GuestArgs, HostArgs, run::setting};

/// `fathom bisect`: a list, or one step of it.
#[derive(Debug)]
pub enum BisectArgs {
    /// A whole list.
    List(BisectListArgs),
    /// One candidate, for `git bisect run`.
    Step(BisectStepArgs),
}

/// The word that is given instead of an experiment.
const STEP: &str = "step";

const ABOUT_STEP: &str = "Judge one candidate against the good one, for git bisect run: \
    exit code 0 good, 1 bad, 125 cannot decide, 128 something is wrong";

const AFTER: &str = "\
Exit codes: 0 the first bad one (with --fixed the first good one) is named; 7 there is nothing to bisect: the ends are alike, overlap or are the other way \
round, or the good end differs from itself; 8 the remaining candidates could not be decided; others as for fathom run.

Examples:
  fathom bisect mine.toml --metric iops --good v01 --bad v16 --device data=/dev/sdx --out hunt
  fathom bisect vdo-vs-plain --only vdo --metric iops --kernels 6.12,6.16,7.2,7.3 --good 6.12 --bad 7.3";

// Implemented by hand: a step does not take the arguments that a whole list requires.
impl Args for BisectArgs {
    fn augment_args(command: Command) -> Command {
        let step = BisectStepArgs::augment_args(Command::new(STEP)).about(ABOUT_STEP);
        BisectListArgs::augment_args(command)
            .subcommand(step)
            .args_conflicts_with_subcommands(true)
            .subcommand_negates_reqs(true)
            .after_help(AFTER)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for BisectArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.subcommand_matches(STEP) {
            Some(step) => BisectStepArgs::from_arg_matches(step).map(Self::Step),
            None => BisectListArgs::from_arg_matches(matches).map(Self::List),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|new| *self = new)
    }
}

/// The figure, and where it is measured.
#[derive(Debug, Clone, Args)]
pub struct BisectFigureArgs {
    /// Name of a shipped experiment, or path of an experiment file.
    pub experiment: String,
    /// The figure that tells good from bad, by its id (iops, latency_p99_ns, ...).
    #[arg(long, value_name = "ID")]
    pub metric: String,
    /// The measured stage of the figure [default: the only one].
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// The operation of the figure [default: the only one].
    #[arg(long, value_name = "NAME", conflicts_with = "layer")]
    pub operation: Option<String>,
    /// The layer or device of the figure [default: the only one].
    #[arg(long, value_name = "NAME")]
    pub layer: Option<String>,
    /// The most pairs of a step, 5 to 27: a candidate that they do not decide is passed over.
    #[arg(long, value_name = "N", default_value_t = 27, value_parser = clap::value_parser!(u32).range(5..=27))]
    pub repeat: u32,
    /// Measure in the lab, in disposable virtual machines.
    #[arg(long, conflicts_with_all = ["simulate", "device", "destroy_data"])]
    pub lab: bool,
    #[command(flatten)]
    pub machine: GuestArgs,
    #[command(flatten)]
    pub host: HostArgs,
    /// Before each cell wait until other processes take less than this share of the CPUs, as in fathom run.
    #[arg(long, value_name = "SHARE[:TIME]")]
    pub quiet: Option<::run::QuietMachine>,
    /// Scale of the experiment [default: lab in the lab, full on this machine's devices, where the experiment has it].
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// Set a key, whatever the file says, to a value as in a file: vdo.block_map_cache=16M; can be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Seed of everything random [default: a fresh one, printed and stored].
    #[arg(long)]
    pub seed: Option<Seed>,
    /// The outcome as JSON on standard output (docs/json.md), text for people on standard error.
    #[arg(long)]
    pub json: bool,
    /// Slow the simulation down to this many real seconds for each simulated one.
    #[cfg_attr(feature = "faults", arg(long, hide = true, value_name = "FACTOR"))]
    #[cfg_attr(not(feature = "faults"), arg(skip))]
    pub pace: Option<f64>,
}

/// The list, and its ends.
#[derive(Debug, Args)]
pub struct BisectListArgs {
    #[command(flatten)]
    pub figure: BisectFigureArgs,
    /// The variant, or the kernel, that is known to be good.
    #[arg(long, value_name = "NAME")]
    pub good: String,
    /// The variant, or the kernel, that is known to be bad: it comes after the good one in the list, with --fixed before it.
    #[arg(long, value_name = "NAME")]
    pub bad: String,
    /// Look for the fix: the list goes from bad to good, and the first good one is named.
    #[arg(long)]
    pub fixed: bool,
    /// These variants only, in the order of the file, comma separated; can be given several times.
    #[arg(long, value_name = "VARIANT,...")]
    pub only: Vec<String>,
    /// Kernels of the lab's guests, in the order of the list, by version, release or path; fathom lab kernels lists them.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with_all = ["simulate", "device", "destroy_data"])]
    pub kernels: Vec<String>,
    /// The ends must differ by more than this [default: 3%].
    #[arg(long, value_name = "SHARE")]
    pub threshold: Option<Percent>,
    /// Directory of all results and of the progress made: the same command continues there [default: ./NAME-bisect-UTCTIME].
    #[arg(long, value_name = "DIR", value_parser = super::new_path())]
    pub out: Option<PathBuf>,
}

/// `fathom bisect step`
#[derive(Debug, Args)]
#[command(after_help = "\
Example, in a directory under git bisect, of a script that builds what the variant 'candidate' uses:
  git bisect run sh -c 'make || exit 125; fathom bisect step mine.toml --metric iops --good good --candidate candidate --worse-by 10% --destroy-data data=/dev/sdx --out /var/tmp/steps'")]
pub struct BisectStepArgs {
    #[command(flatten)]
    pub figure: BisectFigureArgs,
    /// The variant that is known to be good.
    #[arg(long, value_name = "NAME")]
    pub good: String,
    /// The variant to decide on.
    #[arg(long, value_name = "NAME")]
    pub candidate: String,
    /// A candidate is bad if it is worse than the good one by more than this: ideally half of the difference between the ends.
    #[arg(long, value_name = "SHARE")]
    pub worse_by: Percent,
    /// Directory in which each call makes a directory of its results [default: ./NAME-bisect-UTCTIME].
    #[arg(long, value_name = "DIR", value_parser = super::new_path())]
    pub out: Option<PathBuf>,
}
