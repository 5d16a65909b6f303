//! The command line of `fathom-bench`.

use std::path::PathBuf;

use clap::{Args, Parser};
use cli::{GuestArgs, new_path};
use units::{Bytes, Nanos};

/// Measures Fathom for its developers: against other programs, against models, and against known truth.
#[derive(Debug, Parser)]
#[command(name = "fathom-bench", version, max_term_width = 100)]
pub enum Cli {
    /// The time that the lab takes from the command to the first step of a plan.
    Lab(LabArgs),
    /// The load engine against fio: same targets, same depths, interleaved repeats.
    Engine(EngineArgs),
    /// `fathom estimate` against LZ4 alone, and against duperemove if it is installed.
    Estimate(EstimateArgs),
    /// I/O calls and nothing else, for `engine`: the cost of the calls alone.
    #[command(hide = true)]
    Floor(FloorArgs),
    /// Loads that only read, by turns in one process, for `engine`: the cost of each.
    #[command(hide = true)]
    Turns(TurnsArgs),
    /// The content generator: its speed against plain stores and fio, requested against achieved content, and its content on real dm-vdo.
    Content(ContentArgs),
    /// Modelled disks in a guest against their models.
    Disks(DisksArgs),
    /// The sampled curve of `fathom advise` against the complete one, and the speed of computing it.
    Curve(CurveArgs),
    /// Verdicts against known truth: in simulated experiments, or with two equal variants in the lab.
    Verdicts(VerdictsArgs),
    /// Show a comparison that `engine` stored.
    Show(ShowArgs),
}

/// `fathom-bench curve`
#[derive(Debug, Args)]
pub struct CurveArgs {
    /// I/Os of each load; all are in memory.
    #[arg(long, default_value_t = 40_000_000, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    pub ios: u64,
    /// Chunks that they go to.
    #[arg(long, default_value_t = 16 << 20, value_parser = clap::value_parser!(u64).range(100..=1 << 30))]
    pub chunks: u64,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `fathom-bench show`
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Directory that `fathom-bench engine` left, or the file in it that holds the whole comparison.
    pub comparison: PathBuf,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// The peer that the engine is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Peer {
    /// The best that fio can do on the target.
    Fio,
}

/// The target that the engine is measured on in the lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LabTarget {
    /// A VDO volume.
    Vdo,
    /// A linear volume of device-mapper.
    Linear,
    /// The kernel's null block device.
    #[value(alias = "null_blk")]
    NullBlk,
}

impl LabTarget {
    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vdo => "dm-vdo",
            Self::Linear => "dm-linear",
            Self::NullBlk => "null_blk",
        }
    }
}

/// `fathom-bench engine`
#[derive(Debug, Args)]
#[command(after_help = "\
Makes a loop device over tmpfs, a zram device (both need root), a file in --dir and one on tmpfs, and removes them \
again; a --target of yours is only read.

Examples:
  fathom-bench engine --quick
  fathom-bench engine --only null,zram --depth 1,32 --repeat 9 --out against-fio
  fathom-bench engine --target /dev/nvme0n1")]
pub struct EngineArgs {
    /// The peer that the engine is measured against.
    #[arg(long, value_enum, default_value = "fio")]
    pub against: Peer,
    /// The fio to use [default: the first on the search path].
    #[arg(long, value_name = "PATH")]
    pub fio: Option<PathBuf>,
    /// Some four minutes instead of some thirty: fewer cases, shorter runs, fewer repeats.
    #[arg(long)]
    pub quick: bool,
    /// Targets to make, comma separated: null, loop, zram, file, tmpfs [default: all, or none with --target].
    #[arg(long, value_delimiter = ',', value_name = "KIND,...", value_parser = ["null", "loop", "zram", "file", "tmpfs"])]
    pub only: Vec<String>,
    /// A block device or file of your own; it is only read. Can be given several times.
    #[arg(long, value_name = "PATH")]
    pub target: Vec<PathBuf>,
    /// Depths, comma separated, among 1, 32 and 128 [default: all three].
    #[arg(long, value_delimiter = ',', value_name = "DEPTH,...", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Vec<u32>,
    /// Cases whose name holds this text only (`zram uniform reads`).
    #[arg(long, value_name = "TEXT")]
    pub case: Option<String>,
    /// Size of the targets that are made [default: 1G, quick 256M].
    #[arg(long)]
    pub size: Option<Bytes>,
    /// Length of a run that counts [default: 1100ms, quick 700ms].
    #[arg(long)]
    pub duration: Option<Nanos>,
    /// Repeats [default: 5, quick 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,
    /// Directory for the file on a disk.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Directory of the results; it must not exist [default: ./engine-vs-fio-UTCTIME].
    #[arg(long, value_name = "DIR", value_parser = new_path())]
    pub out: Option<PathBuf>,
    /// Compare on real layers in guests of the lab instead, with the fio of the guest's distribution.
    #[arg(long, conflicts_with_all = ["only", "target", "fio", "size"])]
    pub lab: bool,
    /// Layers to compare on, comma separated.
    #[arg(
        long,
        requires = "lab",
        value_enum,
        value_delimiter = ',',
        default_value = "vdo,linear,null-blk"
    )]
    pub target_layer: Vec<LabTarget>,
    /// Print every run and every command line.
    #[arg(short, long)]
    pub verbose: bool,
    /// JSON on standard output, text for people on standard error.
    #[arg(long)]
    pub json: bool,
}

/// `fathom-bench floor`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fathom-bench floor /dev/loop0 --size 256M --duration 1s
  fathom-bench floor /dev/loop0 --size 256M --backend io_uring --depth 32 --duration 1s")]
pub struct FloorArgs {
    /// A block device or file; it is only read, unless --write is given.
    pub target: PathBuf,
    /// Bytes of it that are used.
    #[arg(long)]
    pub size: Bytes,
    /// I/Os in flight: threads with one plain call each, or the depth of a queue.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub depth: u32,
    /// The calls that are made: sync, io_uring or libaio.
    #[arg(long, default_value = "sync", value_parser = ["sync", "io_uring", "libaio"])]
    pub backend: String,
    /// Writes random bytes, new ones in each block, instead of reading; needs --destroy-data.
    #[arg(long, requires = "destroy_data")]
    pub write: bool,
    /// The data on the target may be destroyed.
    #[arg(long)]
    pub destroy_data: bool,
    /// One block after the other instead of random ones.
    #[arg(long)]
    pub sequential: bool,
    /// Through the page cache instead of past it.
    #[arg(long)]
    pub buffered: bool,
    /// Run time [default: I/Os are submitted once].
    #[arg(long)]
    pub duration: Option<Nanos>,
}

/// `fathom-bench turns`
#[derive(Debug, Args)]
pub struct TurnsArgs {
    /// Number of runs of each load.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Arguments of `fathom load`, for each load, with `--then` between them.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub loads: Vec<String>,
}

/// `fathom-bench disks`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fathom-bench disks --lab --out disks
  fathom-bench disks --lab --like hdd --like hdd,rpm=5400 --json

Random reads of 4 KiB at depth 1, 2, 8 and 32; exit code 1 if a median is more than 5 % from the model. The model waits as long \
between a reply and the next request as the guest did at depth 1 according to the trace, or 0.2 ms without --lab. Use a quiet machine. \
An emulated guest cannot send requests fast enough to compare flash.")]
pub struct DisksArgs {
    /// Measure in the lab; without it, only the models are computed.
    #[arg(long)]
    pub lab: bool,
    /// The disks, as in `fathom disk list`: hdd or hdd,rpm=5400.
    #[arg(long, value_name = "DISK", default_value = "hdd")]
    pub like: Vec<disk::Like>,
    /// Repeats; each has a fresh stack.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// Seconds of each depth.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Directory of the result; it must not exist [default: none is left].
    #[arg(long, value_name = "DIR", value_parser = new_path())]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub machine: GuestArgs,
    /// JSON on standard output, text for people on standard error.
    #[arg(long)]
    pub json: bool,
}

/// `fathom-bench content`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fathom-bench content --against fio --json
  fathom-bench content --accuracy --against fio
  fathom-bench content --lab --out grid")]
pub struct ContentArgs {
    /// Measure accuracy instead of speed: write a grid of requested contents, and examine what was written for each.
    #[arg(long, conflicts_with = "lab")]
    pub accuracy: bool,
    /// Measure the grid on real dm-vdo in the lab instead of speed. It writes 5.2 GiB, which takes some twelve minutes with an
    /// emulated CPU.
    #[arg(long)]
    pub lab: bool,
    /// Measure this peer too.
    #[arg(long, value_enum)]
    pub against: Option<Peer>,
    /// The fio to use [default: the first on the search path].
    #[arg(long, value_name = "PATH", requires = "against")]
    pub fio: Option<PathBuf>,
    /// Repeats of the speeds.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Use a grid of nine requested contents instead of thirty, and less data for each.
    #[arg(long)]
    pub quick: bool,
    /// Directory for the files of --accuracy [default: the one for temporary files].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Directory of the result of --lab; it must not exist [default: ./generator-on-vdo-UTCTIME].
    #[arg(long, value_name = "DIR", value_parser = new_path())]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub machine: GuestArgs,
    /// JSON on standard output, text for people on standard error.
    #[arg(long)]
    pub json: bool,
}

/// `fathom-bench estimate`
#[derive(Debug, Args)]
#[command(after_help = "\
Copies real files and as many random bytes into memory, and removes them again.

With --lab, estimates data and then writes it to real dm-vdo, in the lab:
  fathom-bench estimate --lab --corpus disk.img
  fathom-bench estimate --lab --corpus a.img --corpus b.img,forgotten=64M --json")]
pub struct EstimateArgs {
    /// Measure accuracy instead of speed: how far estimates, and data sets made from profiles, differ from what real dm-vdo stores.
    #[arg(long, requires = "corpus")]
    pub lab: bool,
    /// An image of whole 4 KiB blocks; with forgotten=SIZE, that much of it is written with deduplication off. Can be given several times.
    #[arg(long, value_name = "FILE[,forgotten=SIZE]", value_parser = corpus, requires = "lab")]
    pub corpus: Vec<(PathBuf, Bytes)>,
    /// Directory of the result of --lab; it must not exist [default: it is not kept].
    #[arg(long, value_name = "DIR", requires = "lab", value_parser = new_path())]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub machine: GuestArgs,
    /// Directories that real files come from.
    #[arg(long, value_name = "DIR", default_values = ["/usr/lib", "/usr/share/doc", "/usr/include"])]
    pub tree: Vec<PathBuf>,
    /// Size of the tree.
    #[arg(long, default_value = "4G")]
    pub size: Bytes,
    /// Directory in which the tree is made.
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    pub dir: PathBuf,
    /// Interleaved repeats.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Reads `FILE` or `FILE,forgotten=SIZE`.
fn corpus(text: &str) -> Result<(PathBuf, Bytes), String> {
    let Some((file, forgotten)) = text.split_once(",forgotten=") else {
        return Ok((text.into(), Bytes(0)));
    };
    let size: Bytes = forgotten.parse().map_err(|error| format!("{error}"))?;
    if !size.0.is_multiple_of(4096) {
        return Err(format!("{size} is not a multiple of 4 KiB; give a multiple of 4k"));
    }
    Ok((file.into(), size))
}

/// `fathom-bench verdicts`
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("truth").required(true).args(["simulated", "lab"])))]
#[command(after_help = "\
Exit code 1 if a condition is not met. docs/method.md explains the lines.

Examples:
  fathom-bench verdicts --simulated
  fathom-bench verdicts --simulated --experiments 2000 --json
  fathom-bench verdicts --lab --quick")]
pub struct VerdictsArgs {
    /// Simulate experiments whose truth is known.
    #[arg(long)]
    pub simulated: bool,
    /// Run two equal variants in four fresh guests, and say what this machine can resolve.
    #[arg(long, conflicts_with_all = ["simulated", "experiments", "tables"])]
    pub lab: bool,
    /// With --lab: two guests, three repeats, less data.
    #[arg(long, requires = "lab", conflicts_with = "simulated")]
    pub quick: bool,
    /// Number of experiments for each line.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub experiments: u32,
    /// Print the tables of docs/method.md, each between its marks.
    #[arg(long, conflicts_with = "json")]
    pub tables: bool,
    /// Directory of the results of --lab; it must not exist [default: kept nowhere].
    #[arg(long, value_name = "DIR", requires = "lab", conflicts_with = "simulated", value_parser = new_path())]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub machine: GuestArgs,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `fathom-bench lab`
#[derive(Debug, Args)]
pub struct LabArgs {
    /// Number of guests of each kind to start.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Packages of commands that every second guest gets on a compressed read-only image.
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "git,duperemove,xfsprogs"
    )]
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub packages: Vec<String>,
    /// Starts guests without packages only.
    #[arg(long, conflicts_with = "packages")]
    pub without_packages: bool,
    #[command(flatten)]
    pub machine: GuestArgs,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}
