//! `fathom lab ...`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use units::{Bytes, Nanos};

use super::{Common, JsonArgs};

/// `fathom lab ...`
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Run an experiment in the lab.
    Run(Box<LabRunArgs>),
    /// List the kernels that guests can boot.
    Kernels(LabKernelsArgs),
    /// List guest images and running labs.
    List(JsonArgs),
    /// Open a shell in a fresh guest.
    Shell(LabShellArgs),
    /// Remove cached packages and corpora, and cached guest images that no lab is using.
    Clean(JsonArgs),
}

/// `fathom lab run`
#[derive(Debug, Args)]
#[command(after_help = "Example: fathom lab run vdo-vs-plain --repeat 1 --out first-look")]
pub struct LabRunArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub machine: GuestArgs,
    /// Kernel of the guests, by version, release or path; with several, comma separated, each variant runs on each [default: the
    /// experiment's, or that of the guests' distribution].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// Keep the virtual disks as files in this directory; modelled ones are in memory and cannot be kept.
    #[arg(long, value_name = "DIR", value_parser = super::new_path())]
    pub keep_disks: Option<PathBuf>,
    /// Give up after this time [default: five times the plan's estimate, at least 10 minutes; four times that with an emulated CPU].
    #[arg(long)]
    pub deadline: Option<Nanos>,
}

/// `fathom lab kernels`
#[derive(Debug, Args)]
#[command(after_help = "Example: fathom lab kernels --fresh")]
pub struct LabKernelsArgs {
    /// Fetch the lists of all suites again, which takes a minute.
    #[arg(long)]
    pub fresh: bool,
    /// Mirror to take Debian's packages from [default: the one this machine uses].
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
    /// JSON on standard output instead of text.
    #[arg(long)]
    pub json: bool,
}

/// The guest's machine, kernel command line and QEMU.
#[derive(Debug, Clone, Args)]
pub struct GuestArgs {
    /// Memory of the guest [default: what the layers need, at least 1G].
    #[arg(long)]
    pub memory: Option<Bytes>,
    /// CPUs of the guest [default: those of the host, at most 4].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub cpus: Option<u32>,
    /// Boot with the kernel's own defaults instead of a command line tuned for a fast boot.
    #[arg(long)]
    pub plain_command_line: bool,
    /// Emulate the CPU even where hardware virtualisation works.
    #[arg(long)]
    pub tcg: bool,
    /// Start the QEMU of this Debian suite, unpacked into the cache, instead of this machine's.
    #[arg(long, value_name = "SUITE")]
    pub qemu: Option<String>,
    /// Mirror to take Debian's packages from [default: the one this machine uses].
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
}

/// `fathom lab shell`
#[derive(Debug, Args)]
pub struct LabShellArgs {
    /// Raise this experiment's stack first.
    #[arg(long)]
    pub experiment: Option<String>,
    /// The variant whose stack is raised [default: the last].
    #[arg(long, requires = "experiment")]
    pub variant: Option<String>,
    #[command(flatten)]
    pub machine: GuestArgs,
}
