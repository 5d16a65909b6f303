//! What can be typed. Values are checked here as far as they can be checked alone.

mod catalogue;
mod clean;
mod content;
mod estimate;
mod load;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use units::{Bytes, Nanos, Seed};

pub use catalogue::CatalogueArgs;
pub use clean::{CleanArgs, LayersArgs};
pub use estimate::{BenchEstimateArgs, EstimateArgs};
pub use load::{LoadArgs, TargetArg};

/// Exit codes, as `--help` shows them.
const EXIT_CODES: &str = "\
Exit codes: 0 ok; 2 usage; 3 the environment lacks something (fathom doctor says what); 4 refused, to keep \
data safe; 5 incomplete data; 6 teardown failed; 130 interrupted.";

/// A performance laboratory for Linux storage layers that deduplicate, compress, thin-provision and cache.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an experiment in the lab, a disposable virtual machine with the real layers in it.
    #[command(subcommand)]
    Lab(LabCommand),
    /// Run an experiment on this machine's devices.
    Run(RunArgs),
    /// Load devices or files, and say what they did.
    Load(Box<LoadArgs>),
    /// Show a result on the terminal.
    Show(ShowArgs),
    /// Make one self-contained page of results.
    Report(ReportArgs),
    /// Say what this machine can do, or what is wrong with a result.
    Doctor(DoctorArgs),
    /// Print what an experiment would do: commands, time, bytes. Touches nothing.
    Explain(ExplainArgs),
    /// List the experiments that come with Fathom, or run several of them in the lab.
    Catalogue(CatalogueArgs),
    /// List the layers that stacks are made of; show one's manual page, settings, metrics, needs.
    Layers(LayersArgs),
    /// Say what a killed run left on this machine, and take it down.
    Clean(CleanArgs),
    /// Say what a deduplicating, compressing volume would save on data, and how large it has to be.
    Estimate(Box<EstimateArgs>),
    /// Measure Fathom itself.
    #[command(subcommand)]
    Bench(BenchCommand),
}

/// `fathom lab ...`
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Run an experiment in the lab.
    Run(LabRunArgs),
    /// List guest images and running labs.
    List(JsonArgs),
    /// Open a shell in a fresh guest.
    Shell(LabShellArgs),
    /// Remove cached guest images that no lab is using.
    Clean(JsonArgs),
}

/// Output for programs.
#[derive(Debug, Args)]
pub struct JsonArgs {
    /// JSON on standard output, people's text on standard error.
    #[arg(long)]
    pub json: bool,
}

/// What every run takes.
#[derive(Debug, Args)]
pub struct Common {
    /// Name of a shipped experiment, or path of an experiment file.
    pub experiment: String,
    /// Directory of the result; it must not exist [default: ./NAME-UTCTIME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with a run that was stopped or is incomplete: its cells that ended well are kept, the others run again.
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Repeats of each variant, instead of the experiment's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Scale of the experiment [default: lab in the lab, full on this machine's devices, where the experiment has it].
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// These variants only, comma separated; can be given several times.
    #[arg(long, value_name = "VARIANT,...")]
    pub only: Vec<String>,
    /// Seed of everything random [default: a fresh one, printed and stored].
    #[arg(long)]
    pub seed: Option<Seed>,
    /// Events as JSON lines on standard output, people's text on standard error.
    #[arg(long)]
    pub json: bool,
    /// End with exit code 1 when an expectation of the experiment is missed, or its figure is not there.
    #[arg(long)]
    pub strict: bool,
    /// Fail or interrupt a cell at a step on purpose, to test teardown.
    #[arg(long, hide = true, value_name = "FAULT@CELL:STEP")]
    pub inject: Vec<run::Injection>,
}

/// `fathom run`
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fathom run vdo-vs-plain --device data=/dev/disk/by-id/nvme-scratch"
)]
pub struct RunArgs {
    #[command(flatten)]
    pub common: Common,
    /// Device for a role of the experiment; refused when it is in use or carries a signature.
    #[arg(long, value_name = "ROLE=PATH", value_parser = role)]
    pub device: Vec<(String, PathBuf)>,
    /// The same for a device whose data may be destroyed.
    #[arg(long, value_name = "ROLE=PATH", value_parser = role)]
    pub destroy_data: Vec<(String, PathBuf)>,
    /// Use simulated layers and virtual time: nothing is touched and no figure is real.
    #[arg(long)]
    pub simulate: bool,
    /// Execute the commands of an experiment that is not one of Fathom's own.
    #[arg(long)]
    pub allow_commands: bool,
    /// Slow the simulation down to this many real seconds for each simulated one.
    #[arg(long, hide = true, value_name = "FACTOR")]
    pub pace: Option<f64>,
}

/// `fathom lab run`
#[derive(Debug, Args)]
#[command(after_help = "Example: fathom lab run vdo-vs-plain --repeat 1 --out first-look")]
pub struct LabRunArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub machine: GuestArgs,
    /// Keep the virtual disks as files in this directory.
    #[arg(long, value_name = "DIR")]
    pub keep_disks: Option<PathBuf>,
    /// Give up after this time [default: five times the plan's estimate, at least 10 minutes].
    #[arg(long)]
    pub deadline: Option<Nanos>,
}

/// What the guest is like.
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

/// `fathom explain`
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Name of a shipped experiment, or path of an experiment file; without one, the shipped are listed.
    pub experiment: Option<String>,
    /// Repeats of each variant, instead of the experiment's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Scale of the experiment [default: lab, where the experiment has it].
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// These variants only, comma separated; can be given several times.
    #[arg(long, value_name = "VARIANT,...")]
    pub only: Vec<String>,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `fathom bench ...`
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// How long the lab takes from the command to the first step of a plan.
    Lab(BenchLabArgs),
    /// The load engine beside fio: same targets, same depths, interleaved repeats.
    Engine(BenchEngineArgs),
    /// `fathom estimate` beside LZ4 alone, and duperemove where it is installed.
    Estimate(BenchEstimateArgs),
    /// Calls of pread and nothing else, for `bench engine`: what they alone cost.
    #[command(hide = true)]
    Floor(BenchFloorArgs),
    /// Loads that only read, by turns in one process, for `bench engine`: what each costs.
    #[command(hide = true)]
    Turns(BenchTurnsArgs),
    /// The content generator: bytes per second beside plain stores and fio; asked beside achieved; real dm-vdo.
    Content(BenchContentArgs),
}

/// Whom the engine is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Peer {
    /// The best that fio can do on the target.
    Fio,
}

/// What the engine is measured on in the lab.
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
    /// As it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vdo => "dm-vdo",
            Self::Linear => "dm-linear",
            Self::NullBlk => "null_blk",
        }
    }
}

/// `fathom bench engine`
#[derive(Debug, Args)]
#[command(after_help = "\
Makes a loop device over tmpfs, a zram device (both need root), a file in --dir and one on tmpfs, and removes them
again; a --target of yours is only read.

Examples:
  fathom bench engine --quick
  fathom bench engine --only null,zram --depth 1,32 --repeat 9 --out against-fio
  fathom bench engine --target /dev/nvme0n1")]
pub struct BenchEngineArgs {
    /// Whom the engine is measured against.
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
    #[arg(long, value_name = "DIR")]
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
    /// JSON on standard output, people's text on standard error.
    #[arg(long)]
    pub json: bool,
}

/// `fathom bench floor`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fathom bench floor /dev/loop0 --size 256M --duration 1s
  fathom bench floor /dev/loop0 --size 256M --backend io_uring --depth 32 --duration 1s")]
pub struct BenchFloorArgs {
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
    /// Writes random bytes, new ones in each block, in place of reading; needs --destroy-data.
    #[arg(long, requires = "destroy_data")]
    pub write: bool,
    /// The data on the target may be destroyed.
    #[arg(long)]
    pub destroy_data: bool,
    /// One block after the other in place of random ones.
    #[arg(long)]
    pub sequential: bool,
    /// Through the page cache instead of past it.
    #[arg(long)]
    pub buffered: bool,
    /// How long [default: submitted once].
    #[arg(long)]
    pub duration: Option<Nanos>,
}

/// `fathom bench turns`
#[derive(Debug, Args)]
pub struct BenchTurnsArgs {
    /// How often each load is run.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Arguments of `fathom load`, for each load, with `--then` between them.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub loads: Vec<String>,
}

/// `fathom bench content`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fathom bench content --against fio --json
  fathom bench content --accuracy --against fio
  fathom bench content --lab --out grid")]
pub struct BenchContentArgs {
    /// In place of speed: a grid of asks, and what was really written for each.
    #[arg(long, conflicts_with = "lab")]
    pub accuracy: bool,
    /// In place of speed: the grid on real dm-vdo, in the lab. It writes 5.2 GiB, which takes some twelve minutes where the CPU is
    /// emulated.
    #[arg(long)]
    pub lab: bool,
    /// Measure this one too.
    #[arg(long, value_enum)]
    pub against: Option<Peer>,
    /// The fio to use [default: the first on the search path].
    #[arg(long, value_name = "PATH", requires = "against")]
    pub fio: Option<PathBuf>,
    /// Repeats of the speeds.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// A grid of nine asks in place of thirty, and less data for each.
    #[arg(long)]
    pub quick: bool,
    /// Directory for the files of --accuracy [default: the one for temporary files].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Directory of the result of --lab; it must not exist [default: ./generator-on-vdo-UTCTIME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub machine: GuestArgs,
    /// JSON on standard output, people's text on standard error.
    #[arg(long)]
    pub json: bool,
}

/// `fathom bench lab`
#[derive(Debug, Args)]
pub struct BenchLabArgs {
    /// How many guests to start.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    #[command(flatten)]
    pub machine: GuestArgs,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Reads `role=path`.
fn role(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((role, path)) if !role.is_empty() && !path.is_empty() => {
            Ok((role.to_owned(), path.into()))
        }
        _ => Err("write ROLE=PATH, as in data=/dev/disk/by-id/nvme-scratch".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use clap::CommandFactory;

    /// Sources of the program and documents of its users.
    fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let beside =
                ["target", "tests", "benches", "journal"].iter().any(|other| name == *other);
            if path.is_dir() && !beside && !name.to_string_lossy().starts_with('.') {
                texts(&path, found);
            } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "md") {
                found.push(path);
            }
        }
    }

    /// What is wrong with the command that `text` names after the word `fathom`; `None` when it can be typed.
    fn unknown(text: &str) -> Option<String> {
        // Words by which a sentence about the program goes on.
        const SENTENCES: [&str; 5] = ["and", "over", "reads", "no", "is"];
        let end = text.find(['"', '`', ';', '(', ')', '\n']).unwrap_or(text.len());
        let text = text[..end].split(", ").next()?;
        let mut words = text.split_whitespace().peekable();
        let first = words.peek()?;
        let named = first.chars().all(|c| c.is_ascii_lowercase()) && !SENTENCES.contains(first);
        if !named {
            return None;
        }
        let mut command = super::Cli::command();
        command.build();
        while let Some(word) = words.peek().filter(|_| command.has_subcommands()) {
            let Some(sub) = command.find_subcommand(word) else { break };
            command = sub.clone();
            words.next();
        }
        if command.get_name() == "fathom" {
            return Some(format!("no command '{}'", words.next()?));
        }
        let known = |long: &str| command.get_arguments().any(|a| a.get_long() == Some(long));
        let options =
            words.take_while(|word| *word != "--").filter_map(|word| word.strip_prefix("--"));
        let long = |option: &str| -> String {
            option.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
        };
        let lost = options.map(long).find(|option| !known(option))?;
        Some(format!("'{}' has no --{lost}", command.get_name()))
    }

    #[test]
    fn every_command_that_help_findings_and_documents_name_can_be_typed() {
        assert_eq!(unknown(" clean {result} --yes"), None);
        assert_eq!(unknown(" explain --layers\","), Some("'explain' has no --layers".into()));
        assert_eq!(unknown(" tidy RESULT"), Some("no command 'tidy'".into()));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = vec![root.join("README.md")];
        texts(&root.join("docs"), &mut files);
        texts(&root.join("crates"), &mut files);
        let (mut seen, mut lost) = (0, Vec::new());
        for path in files.iter().filter(|path| !path.ends_with("args/mod.rs")) {
            let text = std::fs::read_to_string(path).unwrap();
            // Tests type what cannot be typed, too.
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (at, _) in text.match_indices("fathom ") {
                let before = text[..at].chars().next_back();
                if before.is_some_and(|c| c.is_alphanumeric() || "-_/.".contains(c)) {
                    continue;
                }
                seen += 1;
                let why = unknown(&text[at + "fathom".len()..]);
                lost.extend(why.map(|why| format!("{}: {why}", path.display())));
            }
        }
        assert!(seen > 100, "only {seen} places name a command");
        assert!(lost.is_empty(), "{lost:#?}");
    }

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
