//! `fathom uvdo`

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use units::Bytes;

/// `fathom uvdo ...`
#[derive(Debug, Subcommand)]
#[command(after_help = "\
A uvdo volume does what VDO does, without kernel modules and without root: zeros are not stored, duplicates are stored once after \
comparison, LZ4 fragments share blocks, space is taken when it is written. It is a reference for experiments, not a place for the \
only copy of your data.

Examples:
  fathom uvdo create volume.img --size 2G --logical-size 10G
  fathom uvdo start volume.img /tmp/volume &
  nbdinfo 'nbd+unix:///?socket=/tmp/volume/nbd.sock'
  nbdcopy disk.img 'nbd+unix:///?socket=/tmp/volume/nbd.sock'
  fio --name=w --ioengine=nbd --uri='nbd+unix:///?socket=/tmp/volume/nbd.sock' --rw=randwrite --bs=4k --iodepth=32 --size=1G
  fathom uvdo status /tmp/volume
  fathom uvdo grow /tmp/volume --logical-size 20G
  fathom uvdo stop /tmp/volume
  fathom uvdo check volume.img")]
pub enum UvdoCommand {
    /// Make an empty volume on a device or a file, and say what it takes.
    Create(CreateArgs),
    /// Serve a volume to NBD clients, in the foreground, until it is stopped.
    Start(StartArgs),
    /// Stop a volume: all that was written is made durable, and its next start has nothing to recover.
    Stop(UvdoPlaceArgs),
    /// Show how full a volume is, what it saves, its policy and its mode.
    Status(UvdoPlaceArgs),
    /// Print statistics as dm-vdo's `dmsetup message ... stats` does.
    Stats(StatsArgs),
    /// Change the write policy of a volume while it runs.
    Policy(PolicyArgs),
    /// Let a volume grow, while it runs or not.
    Grow(GrowArgs),
    /// Rebuild reference counts and the dedupe index of a volume that is not running; then it takes writes again.
    Rebuild(UvdoRebuildArgs),
    /// Read all records of a volume that is not running, and check that they agree. Writes nothing.
    Check(UvdoCheckArgs),
}

/// `fathom uvdo create`
#[derive(Debug, Args)]
#[command(after_help = "\
What is on BACKING is lost, so a device that carries a signature and a file with data in it are refused without --destroy-data; what \
is in use is always refused. The smallest volume takes 165 MiB: its journal has 128 MiB, as VDO's.

Examples:
  fathom uvdo create volume.img --size 2G --logical-size 10G
  fathom uvdo create /dev/vdb --slab-size 2G --json")]
pub struct CreateArgs {
    /// A block device, or a file; a new file needs --size.
    #[arg(value_parser = super::new_path())]
    pub backing: PathBuf,
    /// Size of a new file. It takes no space before something is written.
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Size of the volume as its clients see it; it may be larger than the backing [default: what is stored without any saving].
    #[arg(long, value_name = "SIZE")]
    pub logical_size: Option<Bytes>,
    /// Memory of the dedupe index for which the volume has room, so that it outlives a stop; 0 for none [default: enough to remember
    /// as many blocks as BACKING has, at most 64M].
    #[arg(long, value_name = "SIZE")]
    pub index_memory: Option<Bytes>,
    /// Size of a slab, a power of two from 32M to 32G [default: the largest up to 2G such that four fit].
    #[arg(long, value_name = "SIZE")]
    pub slab_size: Option<Bytes>,
    /// Make the volume even if the backing holds data.
    #[arg(long)]
    pub destroy_data: bool,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// A write policy, or the choice by the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyArg {
    /// Sync on a device without a volatile cache, else async.
    Auto,
    /// A write is acknowledged when it is durable.
    Sync,
    /// A write is acknowledged when there is room for it; a flush makes it durable.
    Async,
    /// As async, but after a power cut a block written since the last flush may hold anything.
    AsyncUnsafe,
}

/// The way in which blocks of a discard go through the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiscardArg {
    /// One after the other, as VDO's.
    Serial,
    /// Together.
    Batch,
}

/// `fathom uvdo start`
#[derive(Debug, Args)]
#[command(after_help = "\
The line on standard output says that clients may connect. Ctrl-C stops as `fathom uvdo stop` does; a second one ends at once, as a power \
cut would, and the next start recovers.

Examples:
  fathom uvdo start volume.img /tmp/volume --policy sync
  fathom uvdo start /dev/vdb /run/uvdo --block-map-cache 512M --index-memory 256M --memory 2G")]
pub struct StartArgs {
    /// The device or file with the volume.
    pub backing: PathBuf,
    /// Directory for its two sockets, nbd.sock and control.sock; created if missing.
    #[arg(value_parser = super::new_path())]
    pub dir: PathBuf,
    /// Write policy: the moment of acknowledgement, and the loss that a power cut may bring.
    #[arg(long, value_enum, default_value = "auto")]
    pub policy: PolicyArg,
    /// Memory for leaves of the block map: 1 MiB for 812 MiB of the volume.
    #[arg(long, value_name = "SIZE", default_value = "128M")]
    pub block_map_cache: Bytes,
    /// Memory of the dedupe index: 8 bytes for each block that it remembers, at most what the volume was made with. A volume without room
    /// for its index forgets it at every stop.
    #[arg(long, value_name = "SIZE", default_value = "64M")]
    pub index_memory: Bytes,
    /// The largest discard that is taken as one.
    #[arg(long, value_name = "SIZE", default_value = "4k")]
    pub max_discard: Bytes,
    /// The way in which blocks of one discard go through the journal.
    #[arg(long, value_enum, default_value = "serial")]
    pub discard: DiscardArg,
    /// Store duplicates as often as they are written.
    #[arg(long)]
    pub no_deduplication: bool,
    /// Store blocks uncompressed.
    #[arg(long)]
    pub no_compression: bool,
    /// Refuse to start when the volume may take more memory than this.
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
}

/// A running volume.
#[derive(Debug, Args)]
pub struct UvdoPlaceArgs {
    /// The directory that it was started with.
    pub dir: PathBuf,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `fathom uvdo stats`
#[derive(Debug, Args)]
#[command(after_help = "\
Names are dm-vdo's, and mean what they mean there. What has no counterpart is left out, never 0. Two are the volume's own: policy, and \
recovery.entries, the journal entries that its start replayed.")]
pub struct StatsArgs {
    /// The directory that it was started with.
    pub dir: PathBuf,
    /// JSON, nested as dm-vdo's text is.
    #[arg(long, conflicts_with = "metrics")]
    pub json: bool,
    /// OpenMetrics text.
    #[arg(long)]
    pub metrics: bool,
}

/// `fathom uvdo policy`
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// The directory that it was started with.
    pub dir: PathBuf,
    /// The policy from here on: sync, async or async-unsafe. What is under way ends first.
    pub policy: PolicyArg,
}

/// `fathom uvdo grow`
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("sizes").required(true).multiple(true).args(["physical", "logical_size"])),
    after_help = "\
A volume never shrinks. Enlarge its file or device first, then give --physical: the journal moves to the new end, and room for whole \
slabs is added. A power cut on the way leaves either the old sizes or the new ones. Clients of a running volume see its new size when they \
connect again.

Examples:
  truncate -s 4G volume.img && fathom uvdo grow volume.img --physical
  fathom uvdo grow /tmp/volume --logical-size 20G --json"
)]
pub struct GrowArgs {
    /// The directory of a running volume, or the device or file of one that is not running.
    pub volume: PathBuf,
    /// Use all space that the device or file has now, in whole slabs.
    #[arg(long)]
    pub physical: bool,
    /// Size of the volume as its clients see it.
    #[arg(long, value_name = "SIZE")]
    pub logical_size: Option<Bytes>,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `fathom uvdo rebuild`
#[derive(Debug, Args)]
#[command(after_help = "\
For a volume that is read-only, whose counts are damaged, or that lost its index. References are counted in the block map, and all data is \
read and fingerprinted: that takes as long as reading it. A volume whose block map is damaged is refused: what the map lost cannot be \
made anew.

Exit codes: 0 done; 3 it cannot be read or written; 4 it is running, or in use; 5 its map is damaged, or it is not a volume.")]
pub struct UvdoRebuildArgs {
    /// The device or file with the volume.
    pub backing: PathBuf,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `fathom uvdo check`
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 nothing is wrong; 3 it cannot be read; 4 it is running, or in use; 5 something is wrong, or it is not a volume.")]
pub struct UvdoCheckArgs {
    /// The device or file with the volume.
    pub backing: PathBuf,
    /// JSON on standard output.
    #[arg(long)]
    pub json: bool,
}
