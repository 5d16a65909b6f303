//! Arguments of `fathom load`: every key of a load stage is an option here, with dashes for underscores.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use units::{Bytes, Nanos, Percent, Seed};
use workload::LoadSpec;

use super::content::ContentArgs;
use super::tree::{OpsArg, TreeArgs};

/// Duration of a load without any other stop.
const DURATION: Nanos = Nanos::from_secs(10);

const EXAMPLES: &str = "\
Examples:
  A new file, written at random, half of it duplicates that LZ4 shrinks to 40 %:
    fathom load scratch.dat --size 1G --ops randwrite=100 --duration 5s --dedupe 50% --compress 2.5x
  A mix on a device whose data may go, with two block sizes:
    fathom load /dev/sdx --destroy-data --ops randread=70,randwrite=30 --block-size 4k=80,64k=20 --jobs 4
  The cost of the engine itself:
    fathom load null --size 16G --ops randread=100 --depth 128 --duration 3s
  Open loop: 5000 I/Os a second whatever the target does, latency from when each should have begun:
    fathom load /dev/sdx --ops randread=100 --rate 5000/s --arrival poisson --duration 60s
  Two devices, 70 % of the I/Os on the first, every I/O in a log:
    fathom load /dev/sdx=70 /dev/sdy=30 --ops randread=100 --io-log ios.fio && fathom show ios.fio
  A tree of up to 10,000 files in a new or empty directory; --equilibrium in place of --duration waits until it has come to rest:
    fathom load scratch --tree --ops create=40,randread=40,delete=20 --duration 5s
  Read back and check what was written:
    fathom load scratch.dat --size 1G --ops randwrite=50,randread=50 --pattern permutation --verify both --passes 2

Exit codes: 0 ok; 2 usage; 3 the environment lacks something; 4 refused, to keep data safe; 5 more than \
half of the I/Os failed, or nothing was measured, or a block was wrong, or no block that was to be checked could be; 130 interrupted.";

/// `fathom load`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LoadArgs {
    /// Block devices or files, each with its share of the I/Os in percent if not equal; `null` stands for no target. New files and
    /// `null` need --size. With --tree: a directory.
    #[arg(required = true, value_name = "TARGET[=SHARE]", value_parser = OsStringValueParser::new().try_map(TargetArg::read))]
    pub targets: Vec<TargetArg>,
    #[command(flatten)]
    pub io: IoArgs,
    #[command(flatten)]
    pub pace: PaceArgs,
    #[command(flatten)]
    pub stop: StopArgs,
    #[command(flatten)]
    pub content: ContentArgs,
    #[command(flatten)]
    pub tree: TreeArgs,
    #[command(flatten)]
    pub verify: VerifyArgs,
    #[command(flatten)]
    pub record: RecordArgs,
    /// Write to the target even if it holds data.
    #[arg(long)]
    pub destroy_data: bool,
    /// Seed of everything random [default: a fresh one, printed and stored].
    #[arg(long)]
    pub seed: Option<Seed>,
    /// JSON lines on standard output, text for people on standard error (docs/json.md).
    #[arg(long)]
    pub json: bool,
}

/// Operations, and the places they go to.
#[derive(Debug, Args)]
#[command(next_help_heading = "Operations and places")]
pub struct IoArgs {
    /// Operations and their shares in percent: read, write, randread, randwrite, discard, randdiscard, writezeroes,
    /// randwritezeroes, flush [default: randread=100]. With --tree: weights of operations on files.
    #[arg(long, value_name = "OP=SHARE,...")]
    pub ops: Option<OpsArg>,
    /// Block size or pattern of single operations: `write.block_size=64k;randread.pattern=zipf:1.2`.
    #[arg(long, value_name = "OP.KEY=VALUE;...", default_value = "")]
    pub each: workload::PerOperation,
    /// Pattern of all operations: sequential, interleaved, strided:N, random, permutation, zipf:T, pareto:H, normal:S%,
    /// zones:..., single [default: random or sequential by the operation's name].
    #[arg(long, value_name = "PATTERN")]
    pub pattern: Option<workload::Pattern>,
    /// Layout of often visited blocks: scattered or contiguous.
    #[arg(long, value_name = "WHERE")]
    pub hot: Option<workload::Hot>,
    /// Size of one I/O: 4k, sizes with shares (4k=50,64k=50), or a range (4k..64k).
    #[arg(long, value_name = "SIZE", default_value = "4k")]
    pub block_size: workload::BlockSize,
    /// I/Os start at multiples of this [default: the largest unit that divides all sizes].
    #[arg(long, value_name = "BYTES")]
    pub align: Option<Bytes>,
    /// Bytes of the target to use, or a share of it (50%); size of the file when it is new [default: all of it].
    #[arg(long, value_name = "BYTES")]
    pub size: Option<workload::Portion>,
    /// Start of the used range, in bytes or as a share of the target.
    #[arg(long, value_name = "BYTES")]
    pub offset: Option<workload::Portion>,
    /// With a stride: visit the last block of the range too.
    #[arg(long)]
    pub last_block: bool,
    /// Make writes durable: fsync:N or fdatasync:N after every N writes, fua:N for every Nth write, dsync for all.
    #[arg(long, value_name = "HOW[:N]")]
    pub sync: Option<workload::SyncPolicy>,
    /// Go through the page cache instead of past it.
    #[arg(long)]
    pub buffered: bool,
}

/// Depth and pace of the I/Os.
#[derive(Debug, Args)]
#[command(next_help_heading = "Depth and pace")]
pub struct PaceArgs {
    /// Workers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub jobs: u32,
    /// Division of the work among jobs: split, shared, own, parts (docs/workload.md).
    #[arg(long, value_name = "HOW", default_value = "split")]
    pub share: workload::Share,
    /// I/Os in flight per worker.
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub depth: u32,
    /// Unit of the depth: ios, or 4k for units of 4 KiB.
    #[arg(long, value_name = "UNIT", default_value = "ios")]
    pub depth_unit: workload::DepthUnit,
    /// I/Os that are submitted together.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub batch: u32,
    /// A pause of each job between I/Os, or after every N: 1ms, 1ms:8.
    #[arg(long, value_name = "TIME[:N]")]
    pub think: Option<workload::Think>,
    /// Open loop: start I/Os at this rate over all jobs, whatever the target does: 5000/s, 100M/s.
    #[arg(long, value_name = "RATE")]
    pub rate: Option<workload::Rate>,
    /// Start times of the I/Os of a rate: fixed (equal distances) or poisson.
    #[arg(long, value_name = "KIND", default_value = "fixed")]
    pub arrival: workload::Arrival,
    /// Closed loop: not more than this over all jobs: 5000/s, 100M/s, or both with a comma.
    #[arg(long, value_name = "RATE")]
    pub limit: Option<workload::Limit>,
    /// Interface to the kernel: io_uring, libaio, sync, or auto (a short probe of loads that read decides).
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub backend: workload::Backend,
    /// Hold the workers on these CPUs: 0,1 or 0-3 [default: wherever the kernel lets them run].
    #[arg(long, value_name = "N,...")]
    pub cpus: Option<workload::Cpus>,
}

/// Start and end of a load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Start and end")]
pub struct StopArgs {
    /// Exclude this much time at the start from all figures.
    #[arg(long, value_name = "TIME")]
    pub ramp: Option<Nanos>,
    /// Stop after this time [default: 10s, when no other stop is given].
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Stop after this many bytes, over all jobs.
    #[arg(long, value_name = "BYTES")]
    pub bytes: Option<Bytes>,
    /// Stop after this many I/Os, over all jobs.
    #[arg(long, value_name = "N")]
    pub ios: Option<u64>,
    /// Stop after this many passes over the range.
    #[arg(long, value_name = "N")]
    pub passes: Option<u32>,
    /// Stop when a metric has settled: METRIC:TOLERANCE:WINDOW, as in iops:5%:60s.
    #[arg(long, value_name = "RULE")]
    pub steady: Option<workload::Steady>,
    /// Stop when more I/Os than this have failed.
    #[arg(long, value_name = "N")]
    pub max_errors: Option<u64>,
}

/// Checks of what was written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Verification")]
pub struct VerifyArgs {
    /// Check what was written: read (whatever is read while the load runs), after (a pass after it), both, off.
    #[arg(long, value_name = "WHEN", num_args = 0..=1, default_missing_value = "read", default_value = "off")]
    pub verify: workload::Verify,
    /// Keep the expected content of the target in this file, so that a later load can verify it.
    #[arg(long, value_name = "FILE", value_parser = super::new_path())]
    pub verify_state: Option<PathBuf>,
    /// Accept a state of another target with the same content as this one, and no larger.
    #[arg(long, requires = "verify_state")]
    pub verify_state_of_another: bool,
    /// Memory for each block: 4 bytes, or 1 that misses one lost write in 119 and cannot tell stale from misplaced.
    #[arg(long, value_name = "BYTES", default_value_t = 4, value_parser = clap::builder::PossibleValuesParser::new(["1", "4"]).map(|n| if n == "1" { 1u8 } else { 4 }))]
    pub verify_bytes: u8,
}

impl VerifyArgs {
    /// Returns the options of the engine's verification.
    pub fn options(&self) -> engine::verify::Options {
        let width = match self.verify_bytes {
            1 => engine::verify::Width::One,
            _ => engine::verify::Width::Four,
        };
        engine::verify::Options {
            state: self.verify_state.clone(),
            state_of_another: self.verify_state_of_another,
            carried: None,
            width,
        }
    }
}

/// Records that are kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recording")]
pub struct RecordArgs {
    /// Length of an interval row.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: Nanos,
    /// Keep submission and completion latency apart (one more reading of the clock per call).
    #[arg(long)]
    pub split_latency: bool,
    /// Keep figures of each job as well as those of all jobs; at most 64 jobs.
    #[arg(long)]
    pub per_job: bool,
    /// Keep this many of the I/Os that took longest.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub worst: u32,
    /// Write the latencies of every interval to FILE, an interval log that HdrHistogram's tools open.
    #[arg(long, value_name = "FILE", value_parser = super::new_path())]
    pub latency_log: Option<PathBuf>,
    /// Write a page of the load, with its course and its latencies.
    #[arg(long, value_name = "FILE.html", value_parser = super::new_path())]
    pub page: Option<PathBuf>,
    /// Write every I/O to FILE (40 bytes each); `fathom show FILE` makes CSV of it.
    #[arg(long, value_name = "FILE", value_parser = super::new_path())]
    pub io_log: Option<PathBuf>,
}

/// One target as it was typed.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetArg {
    /// A path, or `null`.
    pub path: PathBuf,
    /// Its share of the I/Os, percent; equal when missing.
    pub share: Option<Percent>,
}

impl TargetArg {
    /// Reads `PATH` or `PATH=SHARE`; the path may hold any bytes. The whole text is the path if a file of that name exists, or if the part
    /// after `=` cannot be meant as a share; but that part is a mistake if a file of the name before `=` exists.
    fn read(text: OsString) -> Result<Self, String> {
        if text.is_empty() {
            return Err("a target needs a name: a device, a file, or null".into());
        }
        if text == "-" {
            return Err(
                "a load cannot write to standard output; for a file of the name - give ./-".into(),
            );
        }
        let bytes = text.as_bytes();
        let Some(equals) =
            bytes.iter().rposition(|&b| b == b'=').filter(|_| !Path::new(&text).exists())
        else {
            return Ok(Self { path: text.into(), share: None });
        };
        let (path, share) = (&bytes[..equals], String::from_utf8_lossy(&bytes[equals + 1..]));
        match share.parse::<Percent>() {
            Ok(share) if share.0 > 0.0 && !path.is_empty() => {
                Ok(Self { path: OsStr::from_bytes(path).into(), share: Some(share) })
            }
            _ => {
                let path = Path::new(OsStr::from_bytes(path));
                let number = share.starts_with(|c: char| c.is_ascii_digit() || "+-.%".contains(c));
                if path.exists() || path == Path::new("null") || number || share.is_empty() {
                    let name = text.to_string_lossy();
                    return Err(format!(
                        "'{share}' is not a share: write TARGET=SHARE, as in /dev/sdx=70, or {name}=100 for a file of that name"
                    ));
                }
                Ok(Self { path: text.into(), share: None })
            }
        }
    }

    /// Tells whether it is `null`, which stands for no target at all.
    pub fn is_null(&self) -> bool {
        self.path == Path::new("null")
    }
}

impl LoadArgs {
    /// Returns the load that is asked for.
    pub fn spec(&self) -> LoadSpec {
        let (io, pace, stop) = (&self.io, &self.pace, &self.stop);
        let bounded = stop.duration.is_some()
            || stop.bytes.is_some()
            || stop.ios.is_some()
            || stop.passes.is_some();
        LoadSpec {
            ops: match &io.ops {
                None => workload::Ops::only(workload::OpName::Randread),
                // A load without any operation is refused.
                Some(ops) => ops.blocks().cloned().unwrap_or_default(),
            },
            each: io.each.clone(),
            pattern: io.pattern.clone(),
            hot: io.hot,
            block_size: io.block_size.clone(),
            align: io.align,
            share: pace.share,
            jobs: pace.jobs,
            depth: pace.depth,
            depth_unit: pace.depth_unit,
            batch: pace.batch,
            think: pace.think,
            rate: pace.rate,
            arrival: pace.arrival,
            limit: pace.limit,
            ramp: stop.ramp,
            offset: io.offset,
            size: io.size,
            duration: if bounded { stop.duration } else { Some(DURATION) },
            bytes: stop.bytes,
            ios: stop.ios,
            passes: stop.passes,
            steady: stop.steady,
            max_errors: stop.max_errors,
            sync: io.sync,
            backend: pace.backend,
            cpus: pace.cpus.clone(),
            verify: self.verify.verify,
            content: self.content.spec(),
            direct: !io.buffered,
            interval: self.record.interval,
            per_job: self.record.per_job,
            io_log: self.record.io_log.is_some(),
            last_block: io.last_block,
            hot_seed: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    fn load(args: &[&str]) -> Result<Box<LoadArgs>, clap::Error> {
        let all = [&["fathom", "load"], args].concat();
        super::super::Cli::try_parse_from(all).map(|cli| match cli.command {
            super::super::Command::Load(args) => args,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn every_key_of_a_load_stage_is_an_option_and_without_options_the_defaults_hold() {
        let command = super::super::Cli::command();
        let command = command.find_subcommand("load").unwrap();
        let flags: Vec<_> = command.get_arguments().filter_map(|a| a.get_long()).collect();
        let keys = serde_json::to_value(LoadSpec::default()).unwrap();
        // `each` is left out of the text of a load that has none.
        let keys = keys.as_object().unwrap().keys().map(String::as_str).chain(["each"]);
        for key in keys {
            let flag = match key {
                "direct" => "buffered".to_owned(),
                "content" => continue,
                key => key.replace('_', "-"),
            };
            assert!(flags.contains(&flag.as_str()), "{key} has no option");
        }
        let expected = LoadSpec {
            ops: "randread=100".parse().unwrap(),
            duration: Some(DURATION),
            ..LoadSpec::default()
        };
        assert_eq!(load(&["x"]).unwrap().spec(), expected);
    }

    #[test]
    fn a_target_may_have_a_share_and_a_name_with_an_equals_sign() {
        let of = |text: &str| TargetArg::read(text.into());
        assert_eq!(of("a=70").unwrap().share, Some(Percent(70.0)));
        assert_eq!(of("a").unwrap(), TargetArg { path: "a".into(), share: None });
        assert_eq!(of("a=b").unwrap(), TargetArg { path: "a=b".into(), share: None });
        assert_eq!(
            of("a=b=70").unwrap(),
            TargetArg { path: "a=b".into(), share: Some(Percent(70.0)) }
        );
        assert_eq!(of("a=5=100").unwrap().path, Path::new("a=5"));
        for typo in ["a=700", "a=7o", "a=-1", "a=", "/dev/null=b", "null=b"] {
            let message = of(typo).unwrap_err();
            assert!(
                message.contains("is not a share") && message.contains(&format!("{typo}=100")),
                "{message}"
            );
        }
        assert!(of("").is_err() && of("=5").is_err());
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("x=5");
        std::fs::write(&odd, "").unwrap();
        assert_eq!(of(odd.to_str().unwrap()).unwrap().path, odd);
        assert!(of("null=5").unwrap().is_null());
    }

    #[test]
    fn a_target_is_named_in_whatever_bytes() {
        let name = OsStr::from_bytes(b"a\xffb");
        let words = |target: &OsStr| {
            ["fathom", "load"]
                .map(OsStr::new)
                .into_iter()
                .chain([target])
                .map(OsStr::to_owned)
                .collect::<Vec<_>>()
        };
        for (typed, share) in [(b"a\xffb".as_slice(), None), (b"a\xffb=70", Some(Percent(70.0)))] {
            let cli = super::super::Cli::try_parse_from(words(OsStr::from_bytes(typed))).unwrap();
            let super::super::Command::Load(args) = cli.command else { panic!("a load") };
            assert_eq!(args.targets, [TargetArg { path: name.into(), share }]);
        }
    }

    #[test]
    fn verify_alone_checks_what_is_read_while_the_load_runs() {
        assert_eq!(load(&["x", "--verify"]).unwrap().verify.verify, workload::Verify::Read);
        assert_eq!(load(&["x", "--verify", "both"]).unwrap().verify.verify, workload::Verify::Both);
        assert_eq!(load(&["x"]).unwrap().verify.verify, workload::Verify::Off);
    }
}
