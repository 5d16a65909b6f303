//! qcow2 images, read as their guest sees them: versions 2 and 3, compressed clusters, backing files.
//!
//! Follows the format's specification (docs/interop/qcow2.rst of QEMU). Unsupported features are refused by name: encryption, external data files,
//! extended L2 entries. Images whose header says that they are corrupt or still open are refused too.

use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::blank::{Blank, blanks};
use super::raw_base::{RawBase, file_bytes};
use super::uncached_file::UncachedFile;
use crate::Error;

const MAGIC: &[u8; 4] = b"QFI\xfb";
/// Bits of an entry that are a host offset.
const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
const COMPRESSED: u64 = 1 << 62;
/// Incompatible features of a version 3 image: opened for writing and never closed; known to be corrupt.
const DIRTY: u64 = 1;
const CORRUPT: u64 = 1 << 1;
/// In a version 3 image: the cluster reads as zeros.
const ZERO: u64 = 1;
/// The longest chain of backing files that is followed.
const CHAIN: u32 = 64;
/// The header extension that names the format of the backing file.
const BACKING_FORMAT: u32 = 0xe279_2aca;

/// An open image.
#[derive(Debug)]
pub struct Image {
    path: PathBuf,
    file: UncachedFile,
    bits: u32,
    size: u64,
    /// Bytes of the file itself.
    length: u64,
    level1: Vec<u64>,
    zstd: bool,
    backing: Option<Box<Base>>,
    /// The L2 table that was used last, with its offset: clusters are read in order.
    level2: Mutex<(u64, Arc<Vec<u64>>)>,
}

/// The backing file of an image.
#[derive(Debug)]
enum Base {
    Raw(RawBase),
    Qcow2(Image),
}

/// The content of a cluster.
enum Cluster {
    /// Not allocated: reads as the backing file, or as zeros.
    None,
    Zero,
    At(u64),
    Compressed {
        at: u64,
        length: usize,
    },
}

fn big32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

fn big64(bytes: &[u8], at: usize) -> u64 {
    u64::from(big32(bytes, at)) << 32 | u64::from(big32(bytes, at + 4))
}

/// The remedy for an image of the format's first version.
const FIRST: &str = "convert it: qemu-img convert -f qcow -O qcow2 IMAGE COPY.qcow2, then fathom estimate COPY.qcow2; --format raw takes its bytes as they lie";

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged image: {what}"))
}

impl Image {
    /// Tells whether a file is such an image.
    pub fn is_one(file: &UncachedFile) -> bool {
        let mut head = [0; 4];
        file.read(&mut head, 0).is_ok() && Self::begins(&head)
    }

    /// Tells whether these are the first bytes of such an image.
    pub fn begins(head: &[u8]) -> bool {
        head.starts_with(MAGIC)
    }

    /// Opens an image and its chain of backing files.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_link(path, CHAIN)
    }

    fn open_link(path: &Path, left: u32) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let refused = |what: &str, help: &str| Error::Image {
            path: path.to_owned(),
            what: what.to_owned(),
            help: help.to_owned(),
        };
        let check = "see what qemu-img check says of it; --format raw takes its bytes as they lie";
        let mend = "see what qemu-img check -r all IMAGE mends of a copy; --format raw takes its bytes as they lie";
        let convert = "convert it: qemu-img convert -O raw IMAGE FILE.raw; --format raw takes its bytes as they lie";
        let file = UncachedFile::open(path).map_err(unreadable)?;
        let mut head = vec![0; 4096];
        let length = file.read(&mut head, 0).map_err(unreadable)?;
        head.truncate(length);
        let version = big32(&head, 4);
        if length < 72 || !head.starts_with(MAGIC) || !(2..=3).contains(&version) {
            return Err(match head.starts_with(MAGIC) && version == 1 {
                true => refused("a qcow image of version 1, which is not read", FIRST),
                false => refused("not a qcow2 image of version 2 or 3", check),
            });
        }
        let (bits, size) = (big32(&head, 20), big64(&head, 24));
        let (entries, table) = (big32(&head, 36) as usize, big64(&head, 40));
        let features = if version == 3 { big64(&head, 72) } else { 0 };
        // AES, or LUKS.
        if (1..=2).contains(&big32(&head, 32)) {
            return Err(refused(
                "the image is encrypted: its guest's data cannot be read",
                convert,
            ));
        }
        if big32(&head, 32) != 0 {
            return Err(refused("its header is not that of a qcow2 image", check));
        }
        if features & CORRUPT != 0 {
            return Err(refused(
                "the image is marked as corrupt: what it says of its clusters may be wrong",
                mend,
            ));
        }
        if features & DIRTY != 0 {
            return Err(refused(
                "the image was not closed: a machine still runs on it, or ended without closing it",
                "shut the machine down; after a crash, see what qemu-img check -r all IMAGE mends of a copy",
            ));
        }
        if features & (1 << 2) != 0 || features & (1 << 4) != 0 || features >> 5 != 0 {
            return Err(refused("the image keeps data in a way that is not supported", convert));
        }
        let covered = (entries as u64).saturating_mul(1 << (2 * bits.min(21) - 3));
        if !(9..=21).contains(&bits) || entries > 1 << 22 || covered < size {
            return Err(refused("damaged image: its header contradicts itself", check));
        }
        let mut bytes = vec![0; entries * 8];
        if file.read(&mut bytes, table).map_err(unreadable)? < bytes.len() {
            return Err(refused("damaged image: its first table is cut off", check));
        }
        let level1 = (0..entries).map(|at| big64(&bytes, at * 8)).collect();
        let zstd = features & (1 << 3) != 0 && head.get(104) == Some(&1);
        let backing = backing(path, &head, version, left)?.map(Box::new);
        let level2 = Mutex::new((0, Arc::new(Vec::new())));
        let length = file_bytes(&file).map_err(unreadable)?;
        Ok(Self { path: path.to_owned(), file, bits, size, length, level1, zstd, backing, level2 })
    }

    /// Returns the path of the image.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that the guest sees.
    pub fn size(&self) -> u64 {
        self.size
    }

    fn cluster_bytes(&self) -> u64 {
        1 << self.bits
    }

    fn table(&self, at: u64) -> io::Result<Arc<Vec<u64>>> {
        let mut last = self.level2.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if last.0 != at {
            let mut bytes = vec![0; 1 << self.bits];
            if self.file.read(&mut bytes, at)? < bytes.len() {
                return Err(damaged("a table is cut off"));
            }
            let entries = (0..bytes.len() / 8).map(|entry| big64(&bytes, entry * 8)).collect();
            *last = (at, Arc::new(entries));
        }
        Ok(Arc::clone(&last.1))
    }

    fn cluster(&self, offset: u64) -> io::Result<Cluster> {
        let number = offset >> self.bits;
        let per_table = self.bits - 3;
        let first = usize::try_from(number >> per_table).ok().and_then(|at| self.level1.get(at));
        let table = first.copied().unwrap_or(0) & OFFSET;
        if table == 0 {
            return Ok(Cluster::None);
        }
        let entry = self.table(table)?[(number & ((1 << per_table) - 1)) as usize];
        Ok(if entry & COMPRESSED != 0 {
            let split = 62 - (self.bits - 8);
            let at = entry & ((1 << split) - 1);
            let sectors = 1 + (entry >> split & ((1 << (self.bits - 8)) - 1));
            Cluster::Compressed { at, length: (sectors * 512 - at % 512) as usize }
        } else if entry & ZERO != 0 {
            Cluster::Zero
        } else if entry & OFFSET == 0 {
            Cluster::None
        } else {
            Cluster::At(entry & OFFSET)
        })
    }

    /// Reads the guest's data at `offset`; returns fewer bytes than asked for only at the end of the image.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = (self.size.saturating_sub(offset)).min(buffer.len() as u64) as usize;
        let mut done = 0;
        while done < length {
            let at = offset + done as u64;
            let within = at % self.cluster_bytes();
            let here = (self.cluster_bytes() - within).min((length - done) as u64) as usize;
            let part = &mut buffer[done..done + here];
            match self.cluster(at)? {
                Cluster::Zero => part.fill(0),
                Cluster::At(host) => {
                    if self.file.read(part, host + within)? < part.len() {
                        return Err(damaged("it is cut off: a cluster lies beyond its end"));
                    }
                }
                Cluster::Compressed { at, length } => {
                    let cluster = self.unpack(at, length)?;
                    let from = within as usize;
                    part.copy_from_slice(&cluster[from..from + here]);
                }
                Cluster::None => {
                    let read = match &self.backing {
                        None => 0,
                        Some(base) => base.read(part, at)?,
                    };
                    part[read..].fill(0);
                }
            }
            done += here;
        }
        Ok(length)
    }

    /// Returns the ranges of `part` that the image or a backing file maps to parts of its file that were never written.
    pub fn blanks(&self, part: Range<u64>) -> io::Result<Vec<Blank>> {
        let mut all = Vec::new();
        let mut at = part.start;
        while at < part.end {
            let within = at % self.cluster_bytes();
            let end = (at - within + self.cluster_bytes()).min(part.end);
            match self.cluster(at)? {
                Cluster::At(host) => all.extend(self.blanks_of_cluster(at..end, host + within)),
                Cluster::None => {
                    if let Some(base) = &self.backing {
                        all.extend(base.blanks(at..end)?);
                    }
                }
                Cluster::Zero | Cluster::Compressed { .. } => {}
            }
            at = end;
        }
        Ok(all)
    }

    /// Returns the never written ranges of `part`, which is mapped to offset `place` of the file.
    fn blanks_of_cluster(&self, part: Range<u64>, place: u64) -> Vec<Blank> {
        let length = part.end - part.start;
        // Beyond the end of a truncated file data is lost, not preallocated.
        if length > self.length.saturating_sub(place) {
            return Vec::new();
        }
        let moved = |blank: Blank| Blank {
            range: blank.range.start - place + part.start..blank.range.end - place + part.start,
            preallocated: true,
        };
        blanks(self.file.file(), place..place + length, true).into_iter().map(moved).collect()
    }

    fn unpack(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut packed = vec![0; length];
        let read = self.file.read(&mut packed, at)?;
        let mut cluster = vec![0; 1 << self.bits];
        let packed = &packed[..read];
        let unpacked = if self.zstd {
            zstd::stream::read::Decoder::with_buffer(packed)
                .and_then(|mut decoder| decoder.read_exact(&mut cluster))
        } else {
            flate2::read::DeflateDecoder::new(packed).read_exact(&mut cluster)
        };
        unpacked.map_err(|_| damaged("a compressed cluster cannot be unpacked"))?;
        Ok(cluster)
    }

    /// Returns offset and length of the next range from `offset` on that may hold data, at most a cluster; all before it is zero.
    pub fn next_data(&self, mut offset: u64) -> io::Result<Option<(u64, u64)>> {
        while offset < self.size {
            let start = offset - offset % self.cluster_bytes();
            let end = (start + self.cluster_bytes()).min(self.size);
            match self.cluster(offset)? {
                Cluster::At(_) | Cluster::Compressed { .. } => {
                    return Ok(Some((offset, end - offset)));
                }
                Cluster::Zero => offset = end,
                Cluster::None => match &self.backing {
                    Some(base) => match base.next_data(offset)? {
                        Some((at, length)) if at < end => {
                            let length = length.min(end - at);
                            return Ok(Some((at, length)));
                        }
                        // This image may have data of its own before the base has data again.
                        _ => offset = end,
                    },
                    None => offset = self.skip_table(offset, end),
                },
            }
        }
        Ok(None)
    }

    /// Returns the end of the range that a missing L2 table would cover, else `end`, that of this cluster.
    fn skip_table(&self, offset: u64, end: u64) -> u64 {
        let covered = 1u64 << (2 * self.bits - 3);
        let at = (offset / covered) as usize;
        let missing = self.level1.get(at).is_none_or(|entry| entry & OFFSET == 0);
        if missing { (offset / covered + 1) * covered } else { end }
    }
}

impl Base {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Raw(raw) => raw.read(buffer, offset),
            Self::Qcow2(image) => image.read(buffer, offset),
        }
    }

    fn blanks(&self, part: Range<u64>) -> io::Result<Vec<Blank>> {
        match self {
            Self::Raw(raw) => Ok(raw.blanks(part)),
            Self::Qcow2(image) => image.blanks(part),
        }
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<(u64, u64)>> {
        match self {
            Self::Raw(raw) => Ok(raw.next_data(offset)),
            Self::Qcow2(image) => image.next_data(offset),
        }
    }
}

/// Opens the backing file that a header names.
fn backing(path: &Path, head: &[u8], version: u32, left: u32) -> Result<Option<Base>, Error> {
    let (at, length) = (big64(head, 8) as usize, big32(head, 16) as usize);
    if at == 0 {
        return Ok(None);
    }
    let refused = |what: &str| Error::Image {
        path: path.to_owned(),
        what: what.to_owned(),
        help: "see what qemu-img info --backing-chain says of it".into(),
    };
    let name = head.get(at..at.saturating_add(length)).filter(|_| length <= 1023);
    let name = name.ok_or_else(|| refused("damaged image: no name of its backing file"))?;
    let name = String::from_utf8_lossy(name).into_owned();
    let name = name.strip_prefix("file:").unwrap_or(&name);
    let protocol = name.split_once(':').map_or("", |(before, _)| before);
    if !protocol.is_empty() && !protocol.contains('/') {
        return Err(Error::Image {
            path: path.to_owned(),
            what: format!("its backing file has a name of the kind \"{protocol}:\", which is not supported"),
            help: "copy it through QEMU: qemu-img convert -O qcow2 IMAGE COPY.qcow2, then fathom estimate COPY.qcow2"
                .into(),
        });
    }
    if left == 0 {
        return Err(refused("its chain of backing files has no end"));
    }
    let base = path.parent().unwrap_or(Path::new("")).join(name);
    let lost = |source| Error::Backing { path: path.to_owned(), backing: base.clone(), source };
    let file = UncachedFile::open(&base).map_err(lost)?;
    let raw = match format(head, version) {
        Some(format) if format == b"raw" => true,
        Some(format) if format == b"qcow2" => false,
        Some(_) => return Err(refused("its backing file is neither raw nor qcow2")),
        None => !Image::is_one(&file),
    };
    if !raw {
        return Image::open_link(&base, left - 1).map(|image| Some(Base::Qcow2(image)));
    }
    RawBase::new(file).map(|raw| Some(Base::Raw(raw))).map_err(lost)
}

/// Returns the format of the backing file, if the header states it.
fn format(head: &[u8], version: u32) -> Option<&[u8]> {
    let mut at = if version == 3 { big32(head, 100) as usize } else { 72 };
    loop {
        let (kind, length) = (big32(head, at), big32(head, at + 4) as usize);
        let value = head.get(at + 8..at.checked_add(8 + length)?)?;
        match kind {
            0 => return None,
            BACKING_FORMAT => return Some(value),
            _ => at += 8 + length.next_multiple_of(8),
        }
    }
}
