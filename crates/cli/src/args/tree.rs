//! The options that `fathom load` has for `--tree` alone.

use std::path::Path;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tree::{Distribution, Pick, Size};
use units::Percent;

/// Options of loads of devices and files that mean nothing for a tree.
const NOT_OF_TREES: [&str; 34] = [
    "each",
    "pattern",
    "hot",
    "block_size",
    "align",
    "size",
    "offset",
    "last_block",
    "sync",
    "buffered",
    "share",
    "depth",
    "depth_unit",
    "batch",
    "think",
    "rate",
    "arrival",
    "limit",
    "backend",
    "cpus",
    "ramp",
    "bytes",
    "passes",
    "steady",
    "max_errors",
    "verify",
    "verify_state",
    "split_latency",
    "per_job",
    "worst",
    "latency_log",
    "page",
    "io_log",
    "destroy_data",
];

/// A load of a file tree.
#[derive(Debug, Args)]
#[command(next_help_heading = "File trees")]
pub struct TreeArgs {
    /// Load a tree of files in the directory TARGET, which is made or has to be empty: --ops gives weights of create, read, randread,
    /// write, randwrite, append, truncate, delete, rename, softlink, hardlink, mkdir, rmdir, readdir, stat, fsync, fdatasync,
    /// fallocate, punch, reflink, copy_file_range, or @TABLE, a file of them as fs-drift takes it (docs/tree.md).
    #[arg(long, conflicts_with_all = NOT_OF_TREES, requires = "ops")]
    pub tree: bool,
    /// Number of names that files can have; the weights decide how many of them exist at a time.
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "tree")]
    pub max_files: u64,
    /// Bytes of a file when it is made, and of what an operation reads or writes: 8k, 4k-64k, lognormal:MEDIAN:SIGMA.
    #[arg(long, value_name = "SIZE", default_value = "8k", requires = "tree")]
    pub file_size: Size,
    /// Bytes of a single read or write.
    #[arg(long, value_name = "SIZE", default_value = "64k", requires = "tree")]
    pub record_size: Size,
    /// Levels of directories; files lie in the lowest.
    #[arg(long, value_name = "N", default_value_t = 2, requires = "tree")]
    pub levels: u32,
    /// Directories in each directory.
    #[arg(long, value_name = "N", default_value_t = 10, requires = "tree")]
    pub dirs: u32,
    /// Names that operations go to: any (with a file or without, so that some operations miss and the tree comes to rest), or live
    /// (only names with a file; for new files only names without one).
    #[arg(long, value_name = "NAMES", default_value = "any", requires = "tree", value_parser = pick())]
    pub pick: Pick,
    /// Distribution of names: uniform, zipf:EXPONENT, gaussian:SIGMA:VELOCITY:AHEAD.
    #[arg(long, value_name = "HOW", default_value = "uniform", requires = "tree")]
    pub names: Distribution,
    /// Share of writing operations that are followed by an fsync of the file, whose time is counted separately.
    #[arg(long, value_name = "PERCENT", default_value = "0%", requires = "tree")]
    pub fsync: Percent,
    /// Share of the other writing operations that are followed by an fdatasync of the file.
    #[arg(long, value_name = "PERCENT", default_value = "0%", requires = "tree")]
    pub fdatasync: Percent,
    /// Stop when the number of files, and their bytes, have come to rest.
    #[arg(long, requires = "tree")]
    pub equilibrium: bool,
    /// Take a directory that is not empty: the tree is made in a new directory of its own in it, and nothing else is touched.
    #[arg(long, requires = "tree")]
    pub into_existing: bool,
    /// Print what would be made, and at how many files and bytes it would come to rest; touch nothing.
    #[arg(long, requires = "tree")]
    pub dry_run: bool,
}

fn pick() -> impl TypedValueParser<Value = Pick> {
    let words = PossibleValuesParser::new(["any", "live"]);
    words.map(|word| if word == "live" { Pick::Live } else { Pick::Any })
}

/// Operations of a load as they were typed: shares of those of a device, or weights of those of a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct OpsArg {
    text: String,
    /// The operations on a device, or the mistake in the text; `Err(None)` if some of them exist only for trees.
    blocks: Result<workload::Ops, Option<String>>,
}

impl std::str::FromStr for OpsArg {
    type Err = Box<dyn std::error::Error + Send + Sync>;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with('@') {
            let mix = mix(text).map_err(|(message, help)| format!("{message}; {help}"))?;
            return Ok(Self { text: mix.to_string(), blocks: Err(None) });
        }
        let blocks = text.parse::<workload::Ops>();
        if text.parse::<tree::Mix>().is_err() {
            blocks.as_ref().map_err(Clone::clone)?;
        }
        let names = text.split(',').map(|part| part.split('=').next().unwrap_or_default());
        let of_devices = names.into_iter().all(|name| name.parse::<workload::OpName>().is_ok());
        let blocks = blocks.map_err(|error| of_devices.then(|| error.to_string()));
        Ok(Self { text: text.to_owned(), blocks })
    }
}

impl OpsArg {
    /// Returns the operations on a device.
    ///
    /// # Errors
    /// The mistake in words; `None` if some of the operations exist only for trees.
    pub fn blocks(&self) -> Result<&workload::Ops, Option<&str>> {
        self.blocks.as_ref().map_err(Option::as_deref)
    }

    /// Returns the operations on a tree.
    ///
    /// # Errors
    /// The mistake in words, and the remedy.
    pub fn tree(&self) -> Result<tree::Mix, (String, String)> {
        mix(&self.text)
    }
}

/// Reads a table of weights as fs-drift has them.
///
/// # Errors
/// The mistake with its line, and the remedy.
fn table(path: &Path) -> Result<tree::Mix, (String, String)> {
    let shown = path.display();
    let text = sys::input::read_text(path, tree::LONGEST_TABLE).map_err(|error| {
        let help = "name a file of operations and weights, as in @table.csv";
        (format!("{shown} cannot be read: {error}"), help.to_owned())
    })?;
    let read = tree::Mix::from_table(&text);
    read.map_err(|error| (format!("{shown}: {}", error.message), error.help.to_owned()))
}

/// Reads weights of operations on a tree, or the table of them that is named after `@`.
///
/// # Errors
/// The mistake in words, and the remedy: for a name that no operation has, the nearest one.
pub fn mix(text: &str) -> Result<tree::Mix, (String, String)> {
    if let Some(path) = text.strip_prefix('@') {
        return table(Path::new(path));
    }
    let all = tree::TreeOp::ALL.map(tree::TreeOp::name);
    let names = text.split(',').map(|part| part.split('=').next().unwrap_or_default().trim());
    let unknown = names.filter(|name| !name.is_empty());
    let unknown = unknown.into_iter().find_map(|name| {
        let error = name.parse::<tree::TreeOp>().err()?;
        Some((name.to_owned(), error.example))
    });
    if let Some((name, example)) = unknown {
        let near = all.into_iter().map(|op| (strsim::damerau_levenshtein(&name, op), op)).min();
        let help = match near {
            Some((distance, op)) if distance <= 2 => format!("did you mean '{op}'?"),
            _ => format!("take {example}"),
        };
        return Err((format!("There is no operation '{name}' on a file tree"), help));
    }
    text.parse().map_err(|error: units::QuantityError| {
        let message = format!("'{text}' is no {}", error.what);
        (message, format!("write {}", error.example))
    })
}

#[cfg(test)]
mod tests {
    use super::{OpsArg, mix};

    #[test]
    fn operations_are_of_a_device_or_of_a_tree_and_a_slip_is_told_with_the_nearest() {
        let of = |text: &str| text.parse::<OpsArg>();
        assert!(of("randread=70,randwrite=30").unwrap().blocks().is_ok());
        assert!(of("create=40,randread=60").unwrap().blocks().is_err());
        assert!(of("trim=100").is_err());
        assert!(of("randread=40").unwrap().tree().is_ok());
        assert!(of("@/no/such/table").unwrap_err().to_string().contains("No such file"));
        let (message, help) = mix("creat=40,delete=60").unwrap_err();
        assert!(message.contains("'creat'") && help == "did you mean 'create'?", "{message}");
        let (_, help) = mix("randdiscard=1").unwrap_err();
        assert!(help.contains("copy_file_range"), "{help}");
        let (message, help) = mix("create").unwrap_err();
        assert!(
            message.contains("'create' is no") && help.contains("create=40"),
            "{message}: {help}"
        );
    }
}
