//! `fathom advise`

use std::path::PathBuf;

use advise::Price;
use clap::Args;
use units::Bytes;

/// Chunk sizes that a cache can have here, bytes: from a block of VDO and bcache to the largest of dm-cache.
const CHUNKS: std::ops::RangeInclusive<u64> = 4 << 10..=1 << 30;

fn chunk(text: &str) -> Result<Bytes, String> {
    let chunk = text.parse::<Bytes>().map_err(|error| error.to_string())?;
    if CHUNKS.contains(&chunk.0) && chunk.0.is_multiple_of(*CHUNKS.start()) {
        return Ok(chunk);
    }
    Err("a chunk is 4 KiB to 1 GiB, in whole blocks of 4 KiB".into())
}

/// `fathom advise`
#[derive(Debug, Args)]
#[command(after_help = "\
Reads recordings of one device and writes nothing. The format is recognised by content: blktrace's files (all of one device, one per \
processor), logs of fio's write_iolog, or of write_lat_log with offsets (one per job), a log of I/Os of `fathom load`, or the trace of a \
modelled disk.

The curve assumes a cache that evicts the least recently used chunk and is empty at the start; dm-cache and bcache choose otherwise. \
A trace has no content: `fathom estimate` says from the data whether VDO saves anything.

Ten minutes of a device are recorded with `blktrace -d /dev/vg/lv -o lv -w 600`; fio does it with --write_lat_log=NAME --log_offset=1.

Examples:
  fathom load work.img --size 1G --ops randread=70,randwrite=30 --duration 5s --io-log work.log
  fathom advise work.log
  fathom advise work.log --chunk 32k --price ssd=0.1/GiB -o work.html
  fathom advise work.log --json

docs/advise.md says how the figures come about and how exact they are.")]
pub struct AdviseArgs {
    /// Files recorded on one device; if there are several, each holds the I/Os of one processor or of one job.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Size of a cache chunk, the unit that it takes in and throws out. dm-cache's default is 64 KiB, bcache's 4 KiB.
    #[arg(long, value_name = "SIZE", default_value = "64k", value_parser = chunk)]
    pub chunk: Bytes,
    /// The price of a medium for the cache, in any money; can be given several times.
    #[arg(long, value_name = "MEDIUM=PRICE/SIZE")]
    pub price: Vec<Price>,
    /// Write a page with the curve, and the prices of the cache sizes on it.
    #[arg(short, long, value_name = "FILE.html", value_parser = super::new_path())]
    pub output: Option<PathBuf>,
    /// JSON on standard output (docs/json.md).
    #[arg(long)]
    pub json: bool,
}
