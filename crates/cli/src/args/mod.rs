//! The command line. Each value is checked by itself here; combinations that depend on files or devices are checked later.

mod advise;
mod age;
mod bisect;
mod catalogue;
mod clean;
mod content;
mod disk;
mod estimate;
mod explain;
mod fio;
mod gates;
mod lab;
mod load;
mod load_keys;
mod results;
mod run;
mod tree;
mod uvdo;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

pub use advise::AdviseArgs;
pub use age::AgeArgs;
pub use bisect::{BisectArgs, BisectFigureArgs, BisectListArgs, BisectStepArgs};
pub use catalogue::CatalogueArgs;
pub use clean::{CleanArgs, LayersArgs};
pub use disk::{
    DiskBenchArgs, DiskCommand, DiskReplayArgs, DiskServeArgs, DiskShowArgs, TraceCommand,
    TraceShowArgs,
};
pub use estimate::EstimateArgs;
pub use explain::ExplainArgs;
pub use fio::{FioArgs, ImportArgs};
pub use gates::Gates;
pub use lab::{GuestArgs, LabCommand, LabKernelsArgs, LabRunArgs, LabShellArgs};
pub use load::{LoadArgs, TargetArg};
pub use load_keys::as_options;
pub use results::{
    BetterArg, CompareArgs, DoctorArgs, ExportArgs, ExportFormat, PackArgs, PushArgs, ReportArgs,
    ShowArgs, TrendArgs, UnpackArgs,
};
pub use run::{Common, HostArgs, RunArgs, setting};
pub use tree::{OpsArg, mix};
pub use uvdo::{
    CreateArgs, DiscardArg, GrowArgs, PolicyArg, PolicyArgs, StartArgs, StatsArgs, UvdoCheckArgs,
    UvdoCommand, UvdoPlaceArgs, UvdoRebuildArgs,
};

/// Exit codes, as `--help` shows them.
const EXIT_CODES: &str = "\
Exit codes: 0 ok; 1 a condition of --strict or --fail-on was not met; 2 usage; 3 the environment \
lacks something (fathom doctor says what); 4 refused, to keep data safe; 5 incomplete data; 6 teardown failed; 7 nothing to bisect, 8 not decided (fathom bisect); 130 interrupted.";

/// A performance laboratory for Linux storage layers that deduplicate, compress, thin-provision and cache.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// Append to FILE a log of Fathom's own work, for developers: steps, commands, guests; FATHOM_LOG=FILE does the same.
    #[arg(long, global = true, value_name = "FILE", value_parser = new_path())]
    pub log: Option<PathBuf>,
    /// The command.
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
    /// Run a job file of fio, and name the places where fio itself does something else than the file says.
    Fio(FioArgs),
    /// Convert fio's output into a result, which can be shown and compared like any other.
    Import(ImportArgs),
    /// Show a result on the terminal.
    Show(ShowArgs),
    /// Make one self-contained page of results.
    Report(ReportArgs),
    /// Compare two results, variant by variant.
    Compare(CompareArgs),
    /// Find changes in a series of results of one experiment, such as the same test on every release.
    Trend(TrendArgs),
    /// Find what made a figure worse in a list of variants or kernels, or what mended it, and name it.
    Bisect(Box<BisectArgs>),
    /// Pack a result into one file, which the other commands read directly.
    Pack(PackArgs),
    /// Unpack a packed result into a directory.
    Unpack(UnpackArgs),
    /// Send results to a directory, an S3 bucket or a web server, each as one file.
    Push(PushArgs),
    /// Write a result as files that other programs read: CSV, JSON lines, Parquet, HdrHistogram's logs, fio's JSON.
    Export(ExportArgs),
    /// Report what this machine can do, what makes a result unreliable and what limits it, which questions a plan cannot answer, or what is
    /// wrong with an existing stack.
    Doctor(DoctorArgs),
    /// Print what an experiment would do: commands, time, bytes. Touches nothing.
    Explain(ExplainArgs),
    /// List the experiments that come with Fathom, or run several of them in the lab.
    Catalogue(CatalogueArgs),
    /// List the layers that stacks are made of; show one's manual page, settings, metrics, needs.
    Layers(LayersArgs),
    /// Show modelled disks, measure their speed, and replay a load on them, all in model time.
    #[command(subcommand)]
    Disk(DiskCommand),
    /// Traces of modelled disks.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// A deduplicating, compressing volume of Fathom's own in user space, on a file or a device.
    #[command(subcommand)]
    Uvdo(UvdoCommand),
    /// Show what a killed run left on this machine, and take it down.
    Clean(CleanArgs),
    /// Estimate what a deduplicating, compressing volume would save on data, and how large it has to be.
    Estimate(Box<EstimateArgs>),
    /// Show how fragmented the files of a directory and the free space of its file system are.
    Age(AgeArgs),
    /// Analyse a recording of a device's I/O: whether a cache pays and up to which size, and what VDO would need.
    Advise(AdviseArgs),
    /// Print where the benches of Fathom itself are.
    #[command(hide = true, disable_help_flag = true)]
    Bench(BenchArgs),
}

/// The place of the benches of Fathom itself, in words.
pub const BENCH: &str =
    "fathom bench is a program of its own, for developers: cargo run --release -p bench -- --help";

/// Arguments that the benches took when they were a command of this program.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// All of them, which are ignored.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

/// Output for programs.
#[derive(Debug, Args)]
pub struct JsonArgs {
    /// JSON on standard output, text for people on standard error.
    #[arg(long)]
    pub json: bool,
}

/// Reads the name of a file or directory to create. Refuses `-`: it would be a file of that name, where standard output is meant.
pub fn new_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.as_os_str() == "-" {
        true => {
            Err("write ./- for a file or directory of that name, /dev/stdout for standard output")
        }
        false => Ok(path),
    })
}

/// The words of the command line, as far as they are text.
pub fn words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use clap::{CommandFactory, Parser};

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

    /// Returns what is wrong with the command that `text` names after the word `fathom`; `None` when it can be typed.
    fn unknown(text: &str) -> Option<String> {
        // Words that may follow `fathom` in a sentence about the program.
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

    /// The lines of the help of `command`, and of those below it, that show what can be typed.
    fn examples(command: &clap::Command, found: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in help.lines() {
            let shown = ["Examples:", "Example:"].iter().find_map(|word| line.strip_prefix(word));
            let typed = shown.unwrap_or(line).split(';').map(str::trim);
            found.extend(typed.filter(|text| text.starts_with("fathom ")).map(str::to_owned));
        }
        command.get_subcommands().for_each(|sub| examples(sub, found));
    }

    #[test]
    fn every_example_of_every_help_is_a_command_that_is_taken() {
        let mut found = Vec::new();
        examples(&super::Cli::command(), &mut found);
        assert!(found.len() > 40, "only {} examples", found.len());
        for line in found {
            let shown = line.split("   ").next().unwrap_or_default();
            for typed in shown.split("&&") {
                let typed = typed.split(['|', '>', '&', '#']).next().unwrap_or_default();
                let words = typed.split_whitespace().map(|word| word.trim_matches('\''));
                let taken = super::Cli::try_parse_from(words);
                let taken = taken.unwrap_or_else(|error| panic!("{line}\n{error}"));
                if let super::Command::Load(args) = taken.command {
                    if args.tree.tree {
                        let ops = args.io.ops.as_ref().unwrap().tree();
                        ops.unwrap_or_else(|error| panic!("{line}\n{error:?}"));
                        continue;
                    }
                    args.spec().validate().unwrap_or_else(|error| panic!("{line}\n{error}"));
                }
            }
        }
    }

    /// The paragraphs of all helps whose lines are broken by hand: the terminal breaks them once more.
    fn hand_broken(command: &clap::Command, found: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let prose = |line: &str| {
            !line.is_empty() && !line.starts_with([' ', '(']) && !line.starts_with("Example")
        };
        let lines: Vec<&str> = help.lines().collect();
        let two = lines.windows(2).filter(|two| prose(two[0]) && prose(two[1]));
        let without_headings = two.filter(|two| !two[0].ends_with(':'));
        found.extend(without_headings.map(|two| format!("{}: {}", command.get_name(), two[0])));
        command.get_subcommands().for_each(|sub| hand_broken(sub, found));
    }

    #[test]
    fn no_paragraph_of_a_help_is_broken_by_hand() {
        let mut found = Vec::new();
        hand_broken(&super::Cli::command(), &mut found);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
