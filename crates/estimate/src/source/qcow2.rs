//! qcow2 images, read as their guest sees them: versions 2 and 3, compressed clusters, backing files.
//!
//! Follows the format's specification (docs/interop/qcow2.rst of QEMU). Unsupported features are refused by name: encryption, external data files,
//! extended L2 entries. Images whose header says that they are corrupt or still open are refused too. Clusters whose table or entry is
//! damaged are counted as lost; all others are read.

mod header;

use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::blank::{Blank, blanks};
use super::raw_base::{RawBase, file_bytes};
use super::recognise::{HEAD, quoted, recognise};
use super::tally::Beneath;
use super::uncached_file::UncachedFile;
use crate::Error;
use header::{Header, Link, MAGIC, big64};

/// Bits of an entry that are a host offset.
const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
const COMPRESSED: u64 = 1 << 62;
/// In a version 3 image: the cluster reads as zeros.
const ZERO: u64 = 1;
/// The longest chain of backing files that is followed.
const CHAIN: usize = 64;
/// Bits that are 0 in every entry of the first table, and (`RESERVED`) in every entry of a second table whose cluster is not compressed.
const RESERVED_FIRST: u64 = 0x7f00_0000_0000_01ff;
const RESERVED: u64 = 0x3f00_0000_0000_01fe;

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
    /// Bits that are 0 in an entry of a second table.
    reserved: u64,
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

/// A part of an image, bytes that the guest sees.
#[derive(Debug)]
pub enum Next {
    /// It may hold data.
    Data(Range<u64>),
    /// Its content is unknown: the table with its clusters is damaged or cannot be read.
    Lost(Range<u64>, io::Error),
}

impl Next {
    /// Returns the part, as far as it reaches before `end`; `None` if it begins there or later.
    fn before(self, end: u64) -> Option<Self> {
        let cut = |part: Range<u64>| (part.start < end).then(|| part.start..part.end.min(end));
        match self {
            Self::Data(part) => cut(part).map(Self::Data),
            Self::Lost(part, error) => cut(part).map(|part| Self::Lost(part, error)),
        }
    }
}

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
        Self::open_link(path, Link { top: path, depth: 0 })
    }

    fn open_link(path: &Path, link: Link) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let file = UncachedFile::open(path).map_err(unreadable)?;
        let header = Header::read(path, &file, link)?;
        let mut bytes = vec![0; header.entries * 8];
        file.read(&mut bytes, header.table).map_err(unreadable)?;
        let level1 = (0..header.entries).map(|at| big64(&bytes, at * 8)).collect();
        let backing = backing(path, &header, link)?.map(Box::new);
        let Header { bits, size, zstd, .. } = header;
        let reserved = if header.zeros { RESERVED } else { RESERVED | ZERO };
        let level2 = Mutex::new((0, Arc::new(Vec::new())));
        let length = file_bytes(&file).map_err(unreadable)?;
        let path = path.to_owned();
        Ok(Self { path, file, bits, size, length, level1, reserved, zstd, backing, level2 })
    }

    /// Returns the path of the image.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that the guest sees.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of a cluster.
    pub fn cluster_bytes(&self) -> u64 {
        1 << self.bits
    }

    /// Bytes of the smallest cluster in the chain of images.
    pub fn least_cluster_bytes(&self) -> u64 {
        let own = self.cluster_bytes();
        match self.backing.as_deref() {
            Some(Base::Qcow2(base)) => own.min(base.least_cluster_bytes()),
            Some(Base::Raw(_)) | None => own,
        }
    }

    /// Bytes of the guest that a second table covers.
    fn table_bytes(&self) -> u64 {
        1 << (2 * self.bits - 3)
    }

    fn table(&self, at: u64) -> io::Result<Arc<Vec<u64>>> {
        let mut last = self.level2.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if last.0 != at {
            let mut bytes = vec![0; 1 << self.bits];
            if self.file.read(&mut bytes, at)? < bytes.len() {
                return Err(damaged("it is cut off: a table of clusters lies beyond its end"));
            }
            let entries = (0..bytes.len() / 8).map(|entry| big64(&bytes, entry * 8)).collect();
            *last = (at, Arc::new(entries));
        }
        Ok(Arc::clone(&last.1))
    }

    /// Returns the second table for the cluster at `offset`, if there is one.
    fn table_of(&self, offset: u64) -> io::Result<Option<Arc<Vec<u64>>>> {
        let first = usize::try_from(offset / self.table_bytes()).ok();
        let entry = first.and_then(|at| self.level1.get(at)).copied().unwrap_or(0);
        let table = entry & OFFSET;
        if entry & RESERVED_FIRST != 0 {
            return Err(damaged(&format!("the entry {entry:#x} of its first table is not valid")));
        }
        if !table.is_multiple_of(self.cluster_bytes()) {
            return Err(damaged(&format!(
                "a table of clusters at {table:#x}, where no cluster begins"
            )));
        }
        if table == 0 { Ok(None) } else { self.table(table).map(Some) }
    }

    fn cluster(&self, offset: u64) -> io::Result<Cluster> {
        self.table_of(offset)?.map_or(Ok(Cluster::None), |table| self.entry(&table, offset))
    }

    /// Returns the content at `offset`, and the end, at most `end`, of the part that follows it in the file too.
    fn run(&self, offset: u64, end: u64) -> io::Result<(Cluster, u64)> {
        let first = self.cluster(offset)?;
        let start = offset - offset % self.cluster_bytes();
        let mut stop = start + self.cluster_bytes();
        if let Cluster::At(host) = first {
            let follows = |stop| matches!(self.cluster(stop), Ok(Cluster::At(next)) if next == host + (stop - start));
            while stop < end && follows(stop) {
                stop += self.cluster_bytes();
            }
        }
        Ok((first, stop.min(end)))
    }

    /// The cluster at `offset`, by its entry in this table.
    fn entry(&self, table: &[u64], offset: u64) -> io::Result<Cluster> {
        let entry = table[(offset >> self.bits) as usize & (table.len() - 1)];
        if entry & COMPRESSED != 0 {
            let split = 62 - (self.bits - 8);
            let at = entry & ((1 << split) - 1);
            let sectors = 1 + (entry >> split & ((1 << (self.bits - 8)) - 1));
            let length = (sectors * 512 - at % 512) as usize;
            return Ok(Cluster::Compressed { at, length });
        }
        let place = entry & OFFSET;
        if entry & self.reserved != 0 {
            return Err(damaged(&format!(
                "the entry {entry:#x} of a table of clusters is not valid"
            )));
        }
        if !place.is_multiple_of(self.cluster_bytes()) {
            return Err(damaged(&format!("a cluster at {place:#x}, where none begins")));
        }
        Ok(match place {
            _ if entry & ZERO != 0 => Cluster::Zero,
            0 => Cluster::None,
            place => Cluster::At(place),
        })
    }

    /// Reads the guest's data at `offset`; returns fewer bytes than asked for only at the end of the image.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = (self.size.saturating_sub(offset)).min(buffer.len() as u64) as usize;
        let mut done = 0;
        while done < length {
            let at = offset + done as u64;
            let within = at % self.cluster_bytes();
            let (cluster, end) = self.run(at, offset + length as u64)?;
            let here = (end - at) as usize;
            let part = &mut buffer[done..done + here];
            match cluster {
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
            let (cluster, end) = self.run(at, part.end)?;
            match cluster {
                Cluster::At(host) => all.extend(self.blanks_of_run(at..end, host + within)),
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
    fn blanks_of_run(&self, part: Range<u64>, place: u64) -> Vec<Blank> {
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

    /// The next part from `offset` on that may hold data, at most a cluster, or that is lost; everything before it is zero.
    pub fn next(&self, mut offset: u64) -> Option<Next> {
        while offset < self.size {
            let start = offset - offset % self.cluster_bytes();
            let end = (start + self.cluster_bytes()).min(self.size);
            let table_end = offset - offset % self.table_bytes() + self.table_bytes();
            let table = match self.table_of(offset) {
                Err(error) => return Some(Next::Lost(offset..table_end.min(self.size), error)),
                Ok(None) if self.backing.is_none() => {
                    offset = table_end;
                    continue;
                }
                Ok(table) => table,
            };
            match table.map_or(Ok(Cluster::None), |table| self.entry(&table, offset)) {
                // Errors are reported when the part is read.
                Ok(Cluster::At(_) | Cluster::Compressed { .. }) | Err(_) => {
                    return Some(Next::Data(offset..end));
                }
                Ok(Cluster::Zero) => {}
                // This image may have data of its own before the base has data again.
                Ok(Cluster::None) => {
                    let base = self.backing.as_ref().and_then(|base| base.next(offset));
                    if let Some(next) = base.and_then(|next| next.before(end)) {
                        return Some(next);
                    }
                }
            }
            offset = end;
        }
        None
    }
}

impl Base {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Raw(raw) => raw.read(buffer, offset),
            Self::Qcow2(image) => image.read(buffer, offset),
        }
        .map_err(|error| Beneath::name(self.path(), error))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Raw(raw) => raw.path(),
            Self::Qcow2(image) => image.path(),
        }
    }

    fn blanks(&self, part: Range<u64>) -> io::Result<Vec<Blank>> {
        match self {
            Self::Raw(raw) => Ok(raw.blanks(part)),
            Self::Qcow2(image) => image.blanks(part),
        }
    }

    fn next(&self, offset: u64) -> Option<Next> {
        Some(match self {
            Self::Raw(raw) => Next::Data(raw.next_data(offset)?),
            Self::Qcow2(image) => match image.next(offset)? {
                Next::Lost(part, error) => Next::Lost(part, Beneath::name(self.path(), error)),
                data => data,
            },
        })
    }
}

/// Opens the backing file that a header names.
fn backing(path: &Path, header: &Header, link: Link) -> Result<Option<Base>, Error> {
    let Some(name) = &header.backing else { return Ok(None) };
    let refused = |what: String, help: String| Error::Image { path: path.to_owned(), what, help };
    let top = quoted(link.top.as_os_str());
    let convert = || {
        format!(
            "copy it through QEMU: qemu-img convert -O qcow2 {top} COPY.qcow2, then fathom estimate COPY.qcow2"
        )
    };
    let name = name.strip_prefix("file:").unwrap_or(name);
    let protocol = name.split_once(':').map_or("", |(before, _)| before);
    if !protocol.is_empty() && !protocol.contains('/') {
        let what = format!(
            "its backing file has a name of the kind \"{protocol}:\", which is not supported"
        );
        return Err(refused(what, convert()));
    }
    if link.depth >= CHAIN {
        return Err(refused(
            "its chain of backing files has no end".into(),
            "see what qemu-img info says about each of them".into(),
        ));
    }
    let base = path.parent().unwrap_or(Path::new("")).join(name);
    let lost = |source| Error::Backing { path: path.to_owned(), backing: base.clone(), source };
    let file = UncachedFile::open(&base).map_err(lost)?;
    let raw = match header.backing_format.as_deref() {
        Some(b"raw") => true,
        Some(b"qcow2") => false,
        Some(_) => {
            return Err(refused("its backing file is neither raw nor qcow2".into(), convert()));
        }
        None => !Image::is_one(&file),
    };
    if !raw {
        let link = Link { depth: link.depth + 1, ..link };
        return Image::open_link(&base, link).map(|image| Some(Base::Qcow2(image)));
    }
    if header.backing_format.is_none() {
        let mut head = vec![0; HEAD];
        let length = file.read(&mut head, 0).map_err(lost)?;
        if let Some(format) = recognise(&head[..length], &[]) {
            let what =
                format!("its backing file is a {}, but the header names no format", format.name);
            let image = quoted(path.as_os_str());
            let base = quoted(name.as_ref());
            let help = format!(
                "name its format, raw for plain bytes: qemu-img rebase -u -F FORMAT -b {base} {image}"
            );
            return Err(refused(what, help));
        }
    }
    RawBase::new(&base, file).map(|raw| Some(Base::Raw(raw))).map_err(lost)
}
