//! `fathom disk` and `fathom trace`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use disk::Like;
use units::{Bytes, Nanos, Percent, Seed};

/// `fathom disk ...`
#[derive(Debug, Subcommand)]
pub enum DiskCommand {
    /// List the kinds of disks that there are models of.
    List(super::JsonArgs),
    /// Show a kind of disk: its parameters, what it reaches, what data sheets say.
    Show(DiskShowArgs),
    /// Load a modelled disk, in model time: no device, no waiting.
    Bench(DiskBenchArgs),
    /// Compute how long the requests of a trace would have taken on other disks, in model time.
    Replay(DiskReplayArgs),
    /// Serve a disk to the virtual machine that connects to standard input, for the lab.
    #[command(hide = true)]
    Serve(DiskServeArgs),
}

/// `fathom disk serve`
#[derive(Debug, Args)]
pub struct DiskServeArgs {
    /// The disk, as JSON.
    pub service: String,
}

/// `fathom disk show`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fathom disk show hdd
  fathom disk show hdd,rpm=5400,write_cache=false
  fathom disk show ssd,power_loss_protection=true --json")]
pub struct DiskShowArgs {
    /// Its name (fathom disk list), and other values for some of its parameters.
    #[arg(value_name = "NAME[,KEY=VALUE...]")]
    pub like: Like,
    /// Size of the disk. A hard disk is laid over its whole stroke at any size, unless `stroke` says otherwise.
    #[arg(long, default_value = "4T")]
    pub size: Bytes,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `fathom disk bench`
#[derive(Debug, Args)]
#[command(after_help = "\
As many submitters as the depth each wait for a reply, think, and send the next request; the time is the model's, and figures are the same \
on every machine.

Examples:
  fathom disk bench hdd --ops randread=100 --depth 1,8,32
  fathom disk bench hdd,write_cache=false --ops randread=70,randwrite=30 --depth 16 --think 200us
  fathom disk bench hdd,stroke=0.4% --size 16G --depth 1,32
  fathom disk bench nvme --ops write=100 --block-size 1M --depth 2 --trace writes.trace")]
pub struct DiskBenchArgs {
    /// Its name (fathom disk list), and other values for some of its parameters.
    #[arg(value_name = "NAME[,KEY=VALUE...]")]
    pub like: Like,
    /// Operations and their shares in percent: read, write, discard (one after the other), randread, randwrite, randdiscard (at
    /// random), flush.
    #[arg(long, value_name = "OP=SHARE,...", default_value = "randread=100")]
    pub ops: workload::Ops,
    /// Requests in flight; several, comma separated, are a row each, on a fresh disk.
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub depth: Vec<u32>,
    /// Size of a request.
    #[arg(long, value_name = "SIZE", default_value = "4k")]
    pub block_size: Bytes,
    /// Size of the disk.
    #[arg(long, default_value = "4T")]
    pub size: Bytes,
    /// Part at the start of the disk to which random requests go.
    #[arg(long, value_name = "PERCENT", default_value = "100%")]
    pub range: Percent,
    /// Time from a reply to the next request of a submitter.
    #[arg(long, value_name = "TIME", default_value = "0us")]
    pub think: Nanos,
    /// Model time at the start that is left out of the figures.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub ramp: Nanos,
    /// Model time that is measured; a load ends after two million requests in any case.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub duration: Nanos,
    /// Seed of the random addresses.
    #[arg(long, default_value = "1")]
    pub seed: Seed,
    /// Write every request of the first depth to a trace.
    #[arg(long, value_name = "FILE", value_parser = super::new_path())]
    pub trace: Option<PathBuf>,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `fathom disk replay`
#[derive(Debug, Args)]
#[command(after_help = "\
Requests are sent at the times of the trace: on a slower disk they queue up, as if nobody waited for a reply. Where the load did wait, the \
slower disk's latencies are upper limits.

Examples:
  fathom disk replay result/lab/data.trace --like hdd,cache_size=128M
  fathom disk replay writes.trace --like ssd --like hdd --like hdd,rpm=5400 --json")]
pub struct DiskReplayArgs {
    /// A trace of a modelled disk.
    pub trace: PathBuf,
    /// The disk to replay it against: a name, and other values for some of its parameters. Can be given several times.
    #[arg(long, required = true, value_name = "NAME[,KEY=VALUE...]")]
    pub like: Vec<Like>,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `fathom trace ...`
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show recorded I/O: where and when, sequential runs, seeks, what is touched and what comes again.
    Show(TraceShowArgs),
}

/// `fathom trace show`
#[derive(Debug, Args)]
#[command(after_help = "\
Reads recordings of one device and writes nothing but the page. The format is recognised by content: blktrace's files (all of one device, \
one per processor), logs of fio's write_iolog, or of write_lat_log with offsets (one per job), a log of I/Os of `fathom load`, or the \
trace of a modelled disk, of which the latencies of the model are shown, too.

A minute of a device is recorded with `blktrace -d /dev/vg/lv -o lv -w 60`.

Examples:
  fathom load work.img --size 1G --ops randread=70,randwrite=30 --duration 5s --io-log work.log
  fathom trace show work.log
  fathom trace show work.log -o trace.html
  fathom trace show writes.trace
  fathom trace show writes.trace --csv | head
  fathom trace show /srv/lv.blktrace.* -o lv.html

docs/traces.md defines the figures.")]
pub struct TraceShowArgs {
    /// Files recorded on one device; if there are several, each holds the I/Os of one processor or of one job.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write a page with pictures of addresses over time, seeks, runs and touched data.
    #[arg(short, long, value_name = "FILE.html", value_parser = super::new_path(), conflicts_with = "csv")]
    pub output: Option<PathBuf>,
    /// Every I/O as a line of CSV.
    #[arg(long)]
    pub csv: bool,
    /// JSON on standard output (docs/json.md).
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
}
