//! `fathom estimate`

use std::path::PathBuf;

use clap::Args;
use units::{Bytes, Percent};

/// `fathom estimate`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fathom estimate /srv/images                   what VDO would save, and the lvm command for a volume
  fathom estimate disk.qcow2 -o page.html       what a guest sees in an image; with a page
  fathom estimate /dev/vg/data --exact --json   a device, every block compressed, for programs
  fathom estimate --size 10T --saving 60%       the size of a volume, without data")]
pub struct EstimateArgs {
    /// Files, directories, block devices, raw or qcow2 images; - reads standard input.
    #[arg(required_unless_present = "size", conflicts_with = "size")]
    pub paths: Vec<PathBuf>,
    /// Format of the paths [default: recognised by content].
    #[arg(long, value_parser = ["raw", "qcow2"], conflicts_with = "size")]
    pub format: Option<String>,
    /// Leave out other file systems that are mounted below the paths.
    #[arg(long, value_name = "yes|no", value_parser = ["yes", "no"], default_value = "yes", default_missing_value = "yes", num_args = 0..=1,
        require_equals = true, conflicts_with = "size")]
    pub one_file_system: String,
    /// Take the LZ4 size of every distinct block instead of a sample's, and compress every record of 128 KiB.
    #[arg(long, conflicts_with = "size")]
    pub exact: bool,
    /// Memory for the table of distinct blocks; if they need more, they are sampled.
    #[arg(long, value_name = "SIZE", default_value = "1G", conflicts_with = "size")]
    pub memory: Bytes,
    /// Memory of VDO's index: 256M, 512M, 768M, or whole GiB [default: 256M; with --size what the data needs].
    #[arg(long, value_name = "SIZE")]
    pub index_memory: Option<Bytes>,
    /// Give the index a sparse part: ten times the window.
    #[arg(long)]
    pub sparse_index: bool,
    /// Data at the start that is written with deduplication off, so that the index never knows it.
    #[arg(long, value_name = "SIZE", conflicts_with = "size")]
    pub forgotten: Option<Bytes>,
    /// Share of the volume that is to stay free.
    #[arg(long, value_name = "PERCENT", default_value = "20%")]
    pub headroom: Percent,
    /// Size a volume for this much data, without looking at any.
    #[arg(long, requires = "saving")]
    pub size: Option<Bytes>,
    /// Share of the data of --size that is saved.
    #[arg(long, value_name = "PERCENT", requires = "size", conflicts_with = "paths")]
    pub saving: Option<Percent>,
    /// Write how far the data dedupes and compresses, and nothing of its bytes, for content = { profile = "FILE" }.
    #[arg(long, value_name = "FILE", conflicts_with = "size", value_parser = super::new_path())]
    pub profile: Option<PathBuf>,
    /// Write a page with pictures.
    #[arg(short, long, value_name = "FILE.html", conflicts_with = "size", value_parser = super::new_path())]
    pub output: Option<PathBuf>,
    /// JSON on standard output, text for people on standard error.
    #[arg(long)]
    pub json: bool,
}
