//! The arguments of the commands that read results: show, report, pack, unpack, push, export, compare, trend and doctor.

use std::path::PathBuf;

use clap::Args;
use units::{Nanos, Percent};

use super::gates::Gates;

/// `fathom show`
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Directory of the result, or a log of I/Os (`fathom load --io-log`), which is shown as CSV.
    pub result: PathBuf,
    /// Show every figure, also where the tables are long.
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub all: bool,
    /// Show the layers' own counters at the start and end of the stages of each cell, as their tools print them (`vdostats`, `dmsetup status`);
    /// with --all every counter (`vdostats --verbose`), with --json as JSON.
    #[arg(long, conflicts_with_all = ["csv", "strict", "fail_on"])]
    pub layer_counters: bool,
    /// The figures as JSON (docs/json.md).
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// The result table as CSV.
    #[arg(long)]
    pub csv: bool,
    /// The headline, the figures and what was found wrong as Markdown, for an issue or a mail; with --all every figure.
    #[arg(long, conflicts_with_all = ["json", "csv", "layer_counters"])]
    pub markdown: bool,
    #[command(flatten)]
    pub gates: Gates,
}

/// `fathom report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Directories of results.
    #[arg(required = true)]
    pub results: Vec<PathBuf>,
    /// The page to write.
    #[arg(short, long, value_name = "FILE.html", value_parser = super::new_path())]
    pub output: PathBuf,
}

/// `fathom pack`
#[derive(Debug, Args)]
#[command(after_help = "\
The file is a tar archive, compressed with zstd: zstd -d and tar read it, too. show, report, compare, trend and doctor take it as it is. The same result \
makes the same bytes, wherever it is packed. Exit code 5 where the result is incomplete or was changed: it is packed as it is.

Examples:
  fathom pack my-result
  fathom show my-result.fathom; fathom report *.fathom -o all.html")]
pub struct PackArgs {
    /// Directory of the result.
    pub result: PathBuf,
    /// The file to write [default: ./NAME.fathom].
    #[arg(short, long, value_name = "FILE.fathom", value_parser = super::new_path())]
    pub output: Option<PathBuf>,
}

/// `fathom unpack`
#[derive(Debug, Args)]
pub struct UnpackArgs {
    /// The packed result.
    pub file: PathBuf,
    /// The directory to make; it must not exist [default: ./NAME].
    #[arg(long, value_name = "DIR", value_parser = super::new_path())]
    pub out: Option<PathBuf>,
}

/// `fathom push`
#[derive(Debug, Args)]
#[command(after_help = "\
DEST is a directory (also file:///DIR), s3://BUCKET/PREFIX of S3 or a store that speaks its language, or http(s)://SERVER/PATH/ of a server that takes \
HTTP PUT. A directory of a result is packed and stored there as NAME.fathom; a packed result is sent as it is. The destination has all of it or \
nothing. What is there already with the same bytes is not sent again; other bytes stay unless --replace is given. Trouble that may pass is tried \
five times. Parts of a large result that S3 has from an earlier try are not sent again; HTTP PUT begins anew. Exit code 5 where a result is \
incomplete or was changed: it is sent as it is.

S3 takes its keys, region and server from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL, or the keys from \
~/.aws/credentials (AWS_PROFILE). FATHOM_PUSH_AUTHORIZATION is sent to a server of HTTP PUT as the header Authorization. Certificates are the \
system's, or those in the file SSL_CERT_FILE.

Examples:
  fathom push my-result /mnt/results
  fathom push nightly-* s3://lab-results/vdo
  fathom push my-result.fathom https://results.example/vdo/ --json")]
pub struct PushArgs {
    /// Directories of results, or packed results.
    #[arg(required = true)]
    pub results: Vec<PathBuf>,
    /// The destination: a directory, s3://BUCKET/PREFIX, or http(s)://SERVER/PATH/.
    #[arg(required = true)]
    pub dest: String,
    /// Replace what is there under the same name with other bytes.
    #[arg(long)]
    pub replace: bool,
    /// A line of JSON on standard output for each result that was sent (docs/json.md).
    #[arg(long)]
    pub json: bool,
}

/// `fathom export`
#[derive(Debug, Args)]
#[command(after_help = "\
csv, jsonl and parquet make one file of each table: runs, cells, stages, operations, layers, intervals, samples. Every row has run_id and cell, so \
that the tables of many results can be joined; docs/results.md says what each column is. hlog makes one interval log of HdrHistogram of each \
cell, fio-json one file of each cell in the form of fio --output-format=json+. Exit code 5 where the result is incomplete or was changed: what is there \
is exported.

Examples:
  fathom export my-result --to tables --format parquet
  duckdb -c \"select variant, median(iops) from 'tables/operations.parquet' where measured group by all\"
  fathom export my-result --to fio --format fio-json; fio_jsonplus_clat2csv fio/00-plain-r1.json plain.csv")]
pub struct ExportArgs {
    /// Directory of the result, or a packed result.
    pub result: PathBuf,
    /// The directory to make; it must not exist.
    #[arg(long, value_name = "DIR", value_parser = super::new_path())]
    pub to: PathBuf,
    /// The form of the files.
    #[arg(long, value_enum, default_value = "csv")]
    pub format: ExportFormat,
    /// The files that were made as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// A form of exported files.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum ExportFormat {
    /// Tables as CSV (RFC 4180).
    Csv,
    /// Tables as lines of JSON.
    Jsonl,
    /// Tables as Parquet, compressed with zstd.
    Parquet,
    /// Latencies as interval logs of HdrHistogram.
    Hlog,
    /// Loads as fio's json+.
    FioJson,
}

/// `fathom compare`
#[derive(Debug, Args)]
#[command(after_help = "\
Each variant that both results have is compared: its ratio is second over first. What else differs between the results (kernel, processor, \
version of Fathom, the experiment's file) is named. The runs of one were made at another time than those of the other, and whatever changed in between, \
a warmer room or a fuller disk too, is in the difference: a comparison of variants within one experiment, whose runs alternate, or fathom trend \
over many results is more reliable. Exit code 5 where a result is incomplete or was changed.

Examples:
  fathom compare monday/ tuesday/
  fathom compare old-kernel/ new-kernel/ --fail-on worse --json")]
pub struct CompareArgs {
    /// Directory of the first result: the base.
    pub old: PathBuf,
    /// Directory of the second result.
    pub new: PathBuf,
    /// Show every figure, not just what the experiments ask.
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub all: bool,
    /// JSON on standard output (docs/json.md); it holds every figure.
    #[arg(long)]
    pub json: bool,
    /// Every figure as CSV.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// The table as Markdown, for an issue or a mail.
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub markdown: bool,
    /// End with exit code 1 when a verdict is one of these: better, worse, same, differs, unclear; comma separated.
    #[arg(long, value_name = "VERDICT,...", value_delimiter = ',', value_parser = super::gates::parse_verdict)]
    pub fail_on: Vec<stats::Verdict>,
}

/// `fathom trend`
#[derive(Debug, Args)]
#[command(after_help = "\
Results of one experiment at one scale, from machines with the same processor, make series, oldest first: for every question of the \
experiment the ratio to its base, or the median where there is one variant. A result counts if it has five repeats of the figure or more; \
a series needs twenty results to say anything, and the last hundred count. A result that cannot be read, is incomplete, was changed, has \
no figure with five repeats, or is another copy of a run counts in no series, and is named. \
Kernels and versions of Fathom may differ: each change names them on both sides.

Examples:
  fathom trend results/                # every result in the directory
  fathom trend nightly-* --fail-on worse --json
  fathom trend --csv nightly.csv --better lower --fail-on worse

docs/method.md says how a change is found, and how often one is found where there is none.")]
pub struct TrendArgs {
    /// Results, or directories of results.
    #[arg(required_unless_present = "csv", conflicts_with = "csv")]
    pub results: Vec<PathBuf>,
    /// The same test on series of your own: CSV, oldest first; the first column is a label or time, each other one a series; a header line may
    /// come first; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// The relative change that does not matter in the series of a CSV.
    #[arg(long, value_name = "PERCENT", default_value = "3%", conflicts_with = "results")]
    pub threshold: Percent,
    /// The direction that is good in the series of a CSV; without it the verdict on every change is 'differs'.
    #[arg(long, value_enum, conflicts_with = "results")]
    pub better: Option<BetterArg>,
    /// JSON on standard output (docs/json.md).
    #[arg(long)]
    pub json: bool,
    /// End with exit code 1 when the last change of a series is one of these: better, worse, differs; comma separated.
    #[arg(long, value_name = "VERDICT,...", value_delimiter = ',', value_parser = super::gates::parse_verdict)]
    pub fail_on: Vec<stats::Verdict>,
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum BetterArg {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// `fathom doctor`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples: fathom doctor my-result --all; fathom doctor my-result --prove --lab; fathom doctor vdo-vs-plain; \
fathom doctor /srv --watch 60s; fathom doctor /dev/vg/data --metrics"
)]
pub struct DoctorArgs {
    /// Directory of a result, to find what makes it unreliable and what limits it; name of a shipped experiment or path of a file, to
    /// find what its plan cannot show; a block device, a path on a mounted file system, or a sosreport (directory or archive), to find what
    /// the stack there suffers from: read only, no load. Without a subject, this machine is examined.
    pub subject: Option<PathBuf>,
    /// List every rule: when it looks, at what, its threshold and its source.
    #[arg(long, conflicts_with = "subject")]
    pub rules: bool,
    /// Show everything that limits a result, not just the five limits that explain most.
    #[arg(long, requires = "subject", conflicts_with = "rules")]
    pub all: bool,
    /// Scale of an experiment [default: lab, where the experiment has it].
    #[arg(long, value_name = "NAME", requires = "subject", conflicts_with = "rules")]
    pub scale: Option<String>,
    /// Try the change that should remove a limit: compare the variant with and without that one change, on fresh seeds, and
    /// a second time if it was better. Applies to the named rule, or without a name to each limit that is shown.
    #[arg(long, value_name = "RULE", num_args = 0..=1, requires = "subject", conflicts_with = "rules")]
    pub prove: Option<Option<String>>,
    /// Prove in the lab, a disposable virtual machine.
    #[arg(long, requires = "prove")]
    pub lab: bool,
    /// Prove on simulated layers, where no figure is real: to try the procedure.
    #[arg(long, hide = true, requires = "prove", conflicts_with = "lab")]
    pub simulate: bool,
    /// Repeats of each variant in a round of a proof.
    #[arg(long, value_name = "N", default_value_t = 5, requires = "prove", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Directory of the results of a proof; it must not exist [default: ./NAME-proof-UTCTIME].
    #[arg(long, value_name = "DIR", requires = "prove", value_parser = super::new_path())]
    pub out: Option<PathBuf>,
    /// Watch the stack for this time, 1s to 24h, and say what its devices, layers and threads did in it; Ctrl-C ends it early with what was seen.
    #[arg(long, value_name = "DURATION", value_parser = watched, requires = "subject", conflicts_with_all = ["rules", "metrics"])]
    pub watch: Option<Nanos>,
    /// Measure the latency of each block device of the stack, too, and say which layer made the 99th percentile. It costs the CPU some time
    /// for each I/O, and needs root.
    #[arg(long, requires = "watch")]
    pub latency: bool,
    /// Print the counters of the stack and what was found as OpenMetrics, for a collector.
    #[arg(long, requires = "subject", conflicts_with_all = ["rules", "json"])]
    pub metrics: bool,
    /// JSON on standard output; it holds all that was found.
    #[arg(long)]
    pub json: bool,
}

/// Reads how long a stack is watched.
fn watched(text: &str) -> Result<Nanos, String> {
    let length: Nanos = text.parse().map_err(|error: units::QuantityError| error.to_string())?;
    let [least, most] = [1, 24 * 60 * 60].map(Nanos::from_secs);
    if length < least || length > most {
        return Err("a stack is watched from 1s to 24h".to_owned());
    }
    Ok(length)
}
