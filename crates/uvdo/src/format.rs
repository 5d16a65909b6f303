//! Making a volume on a backing, and checking one.

use std::io::Read;

use serde_json::{Value, json};
use units::Bytes;
use volume::{BLOCK, Geometry, Rebuilt, RecoveryError, Report, Sizes, SuperblockError, Verb};

use crate::backing::Backing;
use crate::error::{Error, Result};

/// Blocks of VDO's journal, and of what it has behind that.
const JOURNAL: u64 = 32_768;
const RESERVED: u64 = 64;
/// Smallest and largest slabs, in blocks: 32 MiB and 32 GiB.
const SLABS: [u64; 2] = [1 << 13, 1 << 23];
/// The largest slab that is chosen without being asked for: 2 GiB, as lvm's.
const USUAL_SLAB: u64 = 1 << 19;
/// Bytes of memory for a record of the index.
const RECORD: u64 = 8;
/// Most records of the index for which a volume has room by default: 64 MiB of memory.
const USUAL_RECORDS: u64 = 8 << 20;
/// Fewest slabs of a volume whose slab size is not given, where that is possible.
const USUAL_SLABS: u64 = 4;

/// Sizes that a volume is asked to have.
#[derive(Debug, Clone, Copy, Default)]
pub struct CreateOptions {
    /// Size of the volume; without it as much as the device stores without any saving.
    pub logical_size: Option<Bytes>,
    /// Memory of the index that is kept on the device; without it as much as remembers all blocks of the device, at most 64 MiB.
    pub index_memory: Option<Bytes>,
    /// Size of a slab; without it the largest size up to 2 GiB at which four slabs fit.
    pub slab_size: Option<Bytes>,
}

/// Sizes in which a volume is asked to grow.
#[derive(Debug, Clone, Copy, Default)]
pub struct GrowOptions {
    /// Takes all that the backing has now.
    pub physical: bool,
    /// Size of the volume.
    pub logical_size: Option<Bytes>,
}

impl GrowOptions {
    /// The question to a running server.
    pub fn to_question(self) -> String {
        let logical = self.logical_size.map(|bytes| format!(" logical={}", bytes.0));
        let physical = if self.physical { " physical" } else { "" };
        format!("grow{physical}{}", logical.unwrap_or_default())
    }

    /// Reads a question; `None` if it is about something else.
    pub fn from_question(question: &str) -> Option<Self> {
        let mut options = Self::default();
        for word in question.strip_prefix("grow ")?.split(' ') {
            match word.strip_prefix("logical=") {
                Some(bytes) => options.logical_size = Some(Bytes(bytes.parse().ok()?)),
                None if word == "physical" => options.physical = true,
                None => return None,
            }
        }
        Some(options)
    }
}

/// Lays a volume out on a backing.
pub fn layout(backing: &Backing, options: &CreateOptions) -> Result<Geometry> {
    let device = backing.blocks();
    let slab = match options.slab_size {
        Some(bytes) => slab(bytes)?,
        None => {
            let mut slab = USUAL_SLAB;
            while slab > SLABS[0] && device.saturating_sub(JOURNAL) / slab < USUAL_SLABS {
                slab /= 2;
            }
            slab
        }
    };
    let records = options.index_memory.map(|bytes| bytes.0 / RECORD);
    let index = Geometry::index_for(records.unwrap_or(device.min(USUAL_RECORDS)));
    let sizes = |logical| {
        let (journal, reserved) = (JOURNAL, RESERVED);
        Geometry::new(Sizes { device, logical, slab, journal, index, reserved })
            .map_err(|source| Error::Sizes { path: backing.path().to_owned(), source })
    };
    let logical = match options.logical_size {
        Some(bytes) => whole_blocks("--logical-size", bytes)?,
        None => sizes(1)?.data_total(),
    };
    sizes(logical)
}

/// Returns the number of blocks in the value of an option. Errors give sizes to the byte, since rounded ones may look right.
///
/// # Errors
/// Refuses no block at all, and a part of a block.
pub fn whole_blocks(option: &str, bytes: Bytes) -> Result<u64> {
    let block = BLOCK as u64;
    let what = match (bytes.0 / block, bytes.0 % block) {
        (0, 0) => format!("{option}: 0 bytes hold no block"),
        (blocks, 0) => return Ok(blocks),
        (blocks, rest) => {
            let blocks = if blocks == 1 { "1 block".into() } else { format!("{blocks} blocks") };
            format!("{option}: {} bytes are {blocks} of {block} and {rest} more", bytes.0)
        }
    };
    Err(Error::Value { what, help: "give a multiple of 4k, as in 64k or 100G".into() })
}

fn slab(bytes: Bytes) -> Result<u64> {
    let blocks = bytes.0 / BLOCK as u64;
    let whole = bytes.0.is_multiple_of(BLOCK as u64) && blocks.is_power_of_two();
    if whole && (SLABS[0]..=SLABS[1]).contains(&blocks) {
        return Ok(blocks);
    }
    Err(Error::Value {
        what: format!("--slab-size: {} bytes are not the size of a slab", bytes.0),
        help: "give a power of two from 32M to 32G".into(),
    })
}

/// Returns the new layout of a volume that is to grow on its backing, and the request for it.
pub fn growth(
    backing: &mut Backing,
    geometry: &Geometry,
    options: &GrowOptions,
) -> Result<(Geometry, Verb)> {
    let device = if options.physical { Some(backing.measure()?) } else { None };
    let logical = options.logical_size.map(|bytes| whole_blocks("--logical-size", bytes));
    let logical = logical.transpose()?;
    let sizes = |source| Error::Sizes { path: backing.path().to_owned(), source };
    let grown = geometry.grown(device, logical).map_err(sizes)?;
    Ok((grown, Verb::Grow { device, logical }))
}

/// Grows a volume that is not running.
pub fn grow(backing: &mut Backing, options: &GrowOptions) -> Result<Geometry> {
    let geometry = inspect(backing)?;
    let (_, verb) = growth(backing, &geometry, options)?;
    let path = backing.path().to_owned();
    volume::change(backing, verb).map_err(|source| Error::changed(path, source))
}

/// The sizes of a volume as JSON, in bytes.
pub fn sizes(geometry: &Geometry) -> Value {
    let bytes = |blocks: u64| blocks * BLOCK as u64;
    json!({
        "schema": 1,
        "logical_bytes": bytes(geometry.sizes.logical),
        "physical_bytes": bytes(geometry.sizes.device),
        "data_bytes": bytes(geometry.data_total()),
        "slab_bytes": bytes(geometry.sizes.slab),
        "slabs": geometry.slabs,
    })
}

/// Makes an empty volume. What the backing holds is lost.
pub fn create(backing: &mut Backing, geometry: Geometry) -> Result<()> {
    let mut nonce = [0; 16];
    let random = std::path::Path::new("/dev/urandom");
    let read = std::fs::File::open(random).and_then(|mut file| file.read_exact(&mut nonce));
    read.map_err(|error| Error::io(random, "read", error))?;
    let path = backing.path().to_owned();
    volume::create(backing, geometry, nonce).map_err(|error| Error::device(&path, error))
}

/// Rebuilds counts and the index of a volume that is not running.
pub fn rebuild(backing: &mut Backing) -> Result<Rebuilt> {
    inspect(backing)?;
    let path = backing.path().to_owned();
    volume::rebuild(backing).map_err(|source| Error::Volume { path, source })
}

/// Reads all records of a volume that is not running.
pub fn check(mut backing: Backing) -> Result<Report> {
    inspect(&mut backing)?;
    let path = backing.path().to_owned();
    volume::check(&mut backing).map_err(|source| Error::Volume { path, source })
}

/// Reads the layout of the volume on a backing, and checks that the backing is long enough for it.
pub fn inspect(backing: &mut Backing) -> Result<Geometry> {
    let path = backing.path().to_owned();
    let found = backing.blocks();
    if found == 0 {
        let source = RecoveryError::Superblock(SuperblockError::None);
        return Err(Error::Volume { path, source });
    }
    let inspected = volume::inspect(backing);
    let geometry =
        inspected.map_err(|source| Error::Volume { path: path.clone(), source })?.geometry;
    match geometry.sizes.device {
        made if made > found => Err(Error::Short { path, found, made }),
        _ => Ok(geometry),
    }
}
