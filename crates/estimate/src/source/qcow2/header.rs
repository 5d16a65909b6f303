//! The header of an image, which says where everything lies. It is checked as QEMU checks it before it opens an image.

use std::io;
use std::path::Path;

use crate::Error;
use crate::source::raw_base::file_bytes;
use crate::source::recognise::quoted;
use crate::source::uncached_file::UncachedFile;

/// The first bytes of an image.
pub const MAGIC: &[u8; 4] = b"QFI\xfb";
/// Incompatible features of a version 3 image: it was opened for writing and never closed; it is known to be corrupt; its clusters
/// are not packed by deflate.
const DIRTY: u64 = 1;
const CORRUPT: u64 = 1 << 1;
const PACKED: u64 = 1 << 3;
/// Autoclear feature: the data lies raw in another file.
const RAW_DATA: u64 = 1 << 1;
/// The header extension that names the format of the backing file.
const BACKING_FORMAT: u32 = 0xe279_2aca;
/// Bytes of the header of version 2, and the fewest of version 3.
const SHORT: usize = 72;
const LONG: usize = 104;
/// Limits of QEMU: entries of the first table, bytes of the table of reference counts, snapshots, bytes of the backing file's name.
const ENTRIES: usize = 1 << 22;
const REFERENCES: u64 = 8 << 20;
const SNAPSHOTS: u32 = 1 << 16;
const NAME: usize = 1023;

/// The remedy for an image of the format's first version.
const FIRST: &str = "convert it: qemu-img convert -f qcow -O qcow2 IMAGE COPY.qcow2, then fathom estimate COPY.qcow2; --format raw takes its bytes as they lie";
const CHECK: &str = "see what qemu-img check finds; --format raw takes its bytes as they lie";
const MEND: &str = "see what qemu-img check -r all IMAGE repairs in a copy; --format raw takes its bytes as they lie";
const CONVERT: &str =
    "convert it: qemu-img convert -O raw IMAGE FILE.raw; --format raw takes its bytes as they lie";

/// A place in a chain of backing files.
#[derive(Debug, Clone, Copy)]
pub struct Link<'a> {
    /// The image that was named.
    pub top: &'a Path,
    /// Images above this one.
    pub depth: usize,
}

/// The facts of a header that was found sound.
#[derive(Debug)]
pub struct Header {
    /// log2 of the bytes of a cluster.
    pub bits: u32,
    /// Bytes that the guest sees.
    pub size: u64,
    /// Number of entries in the first table.
    pub entries: usize,
    /// Offset of the first table.
    pub table: u64,
    /// Tells whether an entry may say that a cluster reads as zeros: from version 3 on.
    pub zeros: bool,
    /// Tells whether clusters are packed by zstd, and not by deflate.
    pub zstd: bool,
    /// Name of the backing file.
    pub backing: Option<String>,
    /// Its format, where the header tells.
    pub backing_format: Option<Vec<u8>>,
}

pub fn big32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

pub fn big64(bytes: &[u8], at: usize) -> u64 {
    u64::from(big32(bytes, at)) << 32 | u64::from(big32(bytes, at + 4))
}

impl Header {
    /// Reads the header of the image at `path`, which is open as `file`. What it does not support and what QEMU refuses is an error.
    pub fn read(path: &Path, file: &UncachedFile, link: Link) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let refused = |what: &str, help: &str| Error::Image {
            path: path.to_owned(),
            what: what.to_owned(),
            help: help.to_owned(),
        };
        let mut head = vec![0; 4096];
        let length = file.read(&mut head, 0).map_err(unreadable)?;
        head.truncate(length);
        let version = big32(&head, 4);
        if length < SHORT || !head.starts_with(MAGIC) || !(2..=3).contains(&version) {
            return Err(match head.starts_with(MAGIC) && version == 1 {
                true => refused("a qcow image of version 1, which is not read", FIRST),
                false => refused("not a qcow2 image of version 2 or 3", CHECK),
            });
        }
        if let Some((what, help)) = unsupported(&head, link) {
            return Err(refused(what, &help));
        }
        let damaged = |what: &str| {
            let what = format!("damaged image: its header contradicts itself: {what}");
            refused(&what, CHECK)
        };
        let bits = big32(&head, 20);
        if !(9..=21).contains(&bits) {
            return Err(damaged("no cluster has that size"));
        }
        let head = cluster(file, bits).map_err(unreadable)?;
        let bytes = file_bytes(file).map_err(unreadable)?;
        sound(&head, bits, bytes).map_err(damaged)?;
        let (backing, backing_format) =
            (name(&head).map_err(damaged)?, format(&head, 1 << bits).map_err(damaged)?);
        Ok(Self {
            bits,
            size: big64(&head, 24),
            entries: big32(&head, 36) as usize,
            table: big64(&head, 40),
            zeros: is_long(&head),
            zstd: features(&head) & PACKED != 0,
            backing,
            backing_format: backing_format.map(<[u8]>::to_vec),
        })
    }
}

/// The first cluster of a file, as far as there is one.
fn cluster(file: &UncachedFile, bits: u32) -> io::Result<Vec<u8>> {
    let mut head = vec![0; 1 << bits];
    let length = file.read(&mut head, 0)?;
    head.truncate(length);
    Ok(head)
}

fn is_long(head: &[u8]) -> bool {
    big32(head, 4) == 3
}

fn features(head: &[u8]) -> u64 {
    if is_long(head) { big64(head, 72) } else { 0 }
}

fn length(head: &[u8]) -> usize {
    if is_long(head) { big32(head, 100) as usize } else { SHORT }
}

/// Names the feature of this image that is not read, and the remedy.
fn unsupported(head: &[u8], link: Link) -> Option<(&'static str, String)> {
    let features = features(head);
    // AES, or LUKS.
    if (1..=2).contains(&big32(head, 32)) {
        let what = "the image is encrypted: its guest's data cannot be read";
        return Some((what, decrypt(link)));
    }
    let (what, help) = if big32(head, 32) != 0 {
        ("its header is not that of a qcow2 image", CHECK)
    } else if features & CORRUPT != 0 {
        ("the image is marked as corrupt: what it says about its clusters may be wrong", MEND)
    } else if features & DIRTY != 0 {
        (
            "the image was not closed: a machine still runs on it, or ended without closing it",
            "shut the machine down; after a crash, see what qemu-img check -r all IMAGE repairs in a copy",
        )
    } else if features & !(DIRTY | CORRUPT | PACKED) != 0
        || is_long(head) && big64(head, 88) & RAW_DATA != 0
    {
        ("the image keeps data in a way that is not supported", CONVERT)
    } else {
        return None;
    };
    Some((what, help.to_owned()))
}

/// The command that makes a plain copy of an encrypted image, or of one that rests on it.
fn decrypt(link: Link) -> String {
    // A comma would end the name in QEMU's options, so it is doubled.
    let name = link.top.display().to_string().replace(',', ",,");
    let key = "backing.".repeat(link.depth);
    let image =
        quoted(format!("driver=qcow2,file.filename={name},{key}encrypt.key-secret=key").as_ref());
    format!(
        "make a plain copy: qemu-img convert --object secret,id=key,file=PASSWORD_FILE --image-opts {image} -O raw COPY.raw, then fathom estimate COPY.raw \
         (PASSWORD_FILE holds the password and no newline); --format raw takes its bytes as they lie"
    )
}

/// Refuses a header that contradicts itself or goes beyond limits, for a file of `bytes` bytes.
fn sound(head: &[u8], bits: u32, bytes: u64) -> Result<(), &'static str> {
    let (cluster, length) = (1u64 << bits, length(head));
    let off = |at: usize| !big64(head, at).is_multiple_of(cluster);
    let (size, entries) = (big64(head, 24), big32(head, 36) as usize);
    let covered = (entries as u64).saturating_mul(1 << (2 * bits - 3));
    let references = u64::from(big32(head, 56));
    let end = big64(head, 40).saturating_add(entries as u64 * 8);
    let packing = if is_long(head) && length > LONG { head.get(LONG).copied() } else { None };
    let packing_told = match packing.unwrap_or(0) {
        0 => features(head) & PACKED == 0,
        1 => features(head) & PACKED != 0,
        _ => false,
    };
    let long = is_long(head);
    let faults = [
        (head.len() < if long { LONG } else { SHORT }, "the header is cut off"),
        (long && length < LONG, "the header is too short"),
        (length as u64 > cluster, "the header is longer than a cluster"),
        (length > head.len(), "the header is cut off"),
        (long && big32(head, 96) > 6, "reference counts are wider than 64 bits"),
        (entries > ENTRIES, "its first table is too long"),
        (off(40), "its first table does not begin at a cluster"),
        (covered < size, "its first table does not reach to the end of the disk"),
        (references == 0, "it has no table of reference counts"),
        (references * cluster > REFERENCES, "its table of reference counts is too long"),
        (off(48), "its table of reference counts does not begin at a cluster"),
        (big32(head, 60) > SNAPSHOTS, "it has too many snapshots"),
        (off(64), "its table of snapshots does not begin at a cluster"),
        (!packing_told, "it contradicts itself in how clusters are packed"),
        (entries > 0 && end > bytes, "its first table is cut off"),
    ];
    faults.into_iter().find(|(is, _)| *is).map_or(Ok(()), |(_, fault)| Err(fault))
}

/// The name of the backing file.
fn name(head: &[u8]) -> Result<Option<String>, &'static str> {
    let (at, length) = (big64(head, 8), big32(head, 16) as usize);
    // Without a name there is none.
    if at == 0 || length == 0 && at <= head.len() as u64 {
        return Ok(None);
    }
    let name = usize::try_from(at).ok().and_then(|at| head.get(at..at.checked_add(length)?));
    let name = name.filter(|name| name.len() <= NAME && !name.contains(&0));
    let name = name.ok_or("the name of its backing file is not valid")?;
    Ok(Some(String::from_utf8_lossy(name).into_owned()))
}

/// The format of the backing file, where the header tells. Extensions reach to the name of the backing file, or to the end of the cluster.
fn format(head: &[u8], cluster: u64) -> Result<Option<&[u8]>, &'static str> {
    let end = match big64(head, 8) {
        0 => cluster,
        name => name.min(cluster),
    };
    let mut at = length(head);
    while ((at + 8) as u64) <= end {
        let (kind, length) = (big32(head, at), big32(head, at + 4) as usize);
        if kind == 0 {
            break;
        }
        let next = at + 8 + length;
        if next as u64 > end {
            return Err("an extension of it is too long");
        }
        if kind == BACKING_FORMAT {
            return head.get(at + 8..next).map(Some).ok_or("an extension of it is cut off");
        }
        at += 8 + length.next_multiple_of(8);
    }
    Ok(None)
}
