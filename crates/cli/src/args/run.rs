//! `fathom run`, and what every run takes.

use std::path::PathBuf;

use clap::Args;
use experiment::Repeat;
use units::Seed;

use super::gates::Gates;

/// The arguments of every run.
#[derive(Debug, Args)]
pub struct Common {
    /// Name of a shipped experiment, or path of an experiment file.
    pub experiment: String,
    /// Directory of the result; it must not exist [default: ./NAME-UTCTIME].
    #[arg(long, value_name = "DIR", value_parser = super::new_path())]
    pub out: Option<PathBuf>,
    /// Go on with a run that was stopped or is incomplete: its cells that ended well are kept, the others run again.
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Repeats of each variant, instead of the experiment's: a number, or auto for as many as are needed to decide (auto:12 for at most
    /// 12, auto:30m for at most 30 minutes).
    #[arg(long, value_name = "N|auto")]
    pub repeat: Option<Repeat>,
    /// Before each cell wait until other processes take less than this share of the CPUs, at most for this time over all cells together
    /// [default: 10m]; after that, run the cell and mark it.
    #[arg(long, value_name = "SHARE[:TIME]")]
    pub quiet: Option<::run::QuietMachine>,
    /// Scale of the experiment [default: lab in the lab, full on this machine's devices, where the experiment has it].
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// These variants only, comma separated; can be given several times.
    #[arg(long, value_name = "VARIANT,...")]
    pub only: Vec<String>,
    /// Set a key, whatever the file says, to a value as in a file: vdo.block_map_cache=16M, device.data.size=20G; can be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::setting)]
    pub set: Vec<(String, String)>,
    /// Seed of everything random [default: a fresh one, printed and stored].
    #[arg(long)]
    pub seed: Option<Seed>,
    /// Events as JSON lines on standard output, text for people on standard error.
    #[arg(long)]
    pub json: bool,
    /// At the end send the result to this directory, s3://BUCKET/PREFIX or http(s)://SERVER/PATH/, as fathom push does.
    #[arg(long, value_name = "DEST")]
    pub push: Option<String>,
    #[command(flatten)]
    pub gates: Gates,
    /// Fail or interrupt a cell at a step on purpose, to test teardown.
    #[cfg_attr(feature = "faults", arg(long, hide = true, value_name = "FAULT@CELL:STEP"))]
    #[cfg_attr(not(feature = "faults"), arg(skip))]
    pub inject: Vec<::run::Injection>,
}

/// The devices of this machine that an experiment may use; none with `--simulate`.
#[derive(Debug, Clone, Args)]
pub struct HostArgs {
    /// Device for a role of the experiment; refused when it is in use or carries a signature.
    #[arg(long, value_name = "ROLE=PATH", value_parser = role, conflicts_with = "simulate")]
    pub device: Vec<(String, PathBuf)>,
    /// Device for a role, whatever is on it: its data may be destroyed. Still refused when it is in use.
    #[arg(long, value_name = "ROLE=PATH", value_parser = role, conflicts_with = "simulate")]
    pub destroy_data: Vec<(String, PathBuf)>,
    /// Use simulated layers and virtual time: nothing is touched and no figure is real.
    #[arg(long)]
    pub simulate: bool,
    /// Execute the commands of an experiment that is not one of Fathom's own.
    #[arg(long)]
    pub allow_commands: bool,
}

/// `fathom run`
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fathom run vdo-vs-plain --device data=/dev/disk/by-id/nvme-scratch"
)]
pub struct RunArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub host: HostArgs,
    /// Slow the simulation down to this many real seconds for each simulated one.
    #[cfg_attr(feature = "faults", arg(long, hide = true, value_name = "FACTOR"))]
    #[cfg_attr(not(feature = "faults"), arg(skip))]
    pub pace: Option<f64>,
}

/// Reads `key=value`.
pub fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if key.contains('.') && !value.is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write NAME.KEY=VALUE, as in vdo.block_map_cache=16M".into()),
    }
}

/// Reads `role=path`.
pub fn role(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((role, path)) if !role.is_empty() && !path.is_empty() => {
            Ok((role.to_owned(), path.into()))
        }
        _ => Err("write ROLE=PATH, as in data=/dev/disk/by-id/nvme-scratch".into()),
    }
}
