//! Formats that pack, encrypt or shift the data in them, recognised by their content: read as plain data they would give misleading figures.

use std::ffi::OsStr;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Bytes of the head that tell a format.
pub const HEAD: usize = 4096;
/// Bytes of the end that tell a format.
pub const TAIL: usize = 512;

/// The beginning of a result that was packed into one file.
const PACKAGE: &[u8] = b"\x50\x2a\x4d\x18\x0e\0\0\0fathom result\n";

/// A format that is recognised and not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// The field's name for it.
    pub name: &'static str,
    reader: Reader,
}

/// The reader of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// QEMU, with QEMU's name of the format.
    Qemu(&'static str),
    /// A program that unpacks its standard input, whatever that is called, to standard output.
    Unpacker(&'static str),
    /// A directory, once it is mounted.
    Mount,
    /// A device, once it is opened with the key.
    Luks,
    /// A directory, once this command has unpacked it there: inside the archive, files do not begin at multiples of 4 KiB, so that equal
    /// blocks would not be found.
    Unpacked(&'static str),
    /// Instructions, with `{file}` for the file's name.
    Way(&'static str),
}

fn bytes_at<const N: usize>(head: &[u8], offset: usize) -> Option<[u8; N]> {
    head.get(offset..offset + N)?.try_into().ok()
}

fn little32(head: &[u8], offset: usize) -> Option<u32> {
    bytes_at(head, offset).map(u32::from_le_bytes)
}

fn has(head: &[u8], offset: usize, magic: &[u8]) -> bool {
    head.get(offset..).is_some_and(|rest| rest.starts_with(magic))
}

/// The checksum of a VHD footer: the complement of the sum of all other bytes.
fn is_vhd(footer: &[u8]) -> bool {
    let Some(footer) = footer.get(..512).filter(|f| f.starts_with(b"conectix")) else {
        return false;
    };
    let sum: u32 = footer[..64].iter().chain(&footer[68..]).map(|&byte| u32::from(byte)).sum();
    bytes_at(footer, 64).map(u32::from_be_bytes) == Some(!sum)
}

/// Tells whether this is the trailer of an image of macOS: version 4, of 512 bytes.
fn is_dmg(tail: &[u8]) -> bool {
    has(tail, 0, b"koly\0\0\0\x04\0\0\x02\0")
}

/// Tells whether this is the head of a sparse image of Android: version 1, with the lengths of its headers.
fn is_android_sparse(head: &[u8]) -> bool {
    has(head, 0, &[0x3a, 0xff, 0x26, 0xed, 1, 0]) && has(head, 8, &[28, 0, 12, 0])
}

/// Tells whether this is the head of an LZMA file, the format before xz: the usual parameters, a size of the dictionary, the length or none, and the
/// zero that the coder begins with.
fn is_lzma(head: &[u8]) -> bool {
    const MAX_LZMA_BYTES: u64 = 1 << 48;
    let dictionary = little32(head, 1)
        .is_some_and(|size| size.is_power_of_two() && (1 << 16..=1 << 30).contains(&size));
    let length = bytes_at(head, 5)
        .map(u64::from_le_bytes)
        .is_some_and(|length| length == u64::MAX || (1..MAX_LZMA_BYTES).contains(&length));
    has(head, 0, &[0x5d]) && dictionary && length && has(head, 13, &[0])
}

/// Tells whether this is the head of a tar archive of any kind: the checksum must be the sum of its bytes, with its own bytes as spaces.
fn is_tar(head: &[u8]) -> bool {
    let (Some(header), Some(sum)) = (head.get(..512), bytes_at::<8>(head, 148)) else {
        return false;
    };
    let stored = std::str::from_utf8(&sum).map(|sum| sum.trim_matches([' ', '\0']).to_owned());
    let others = header[..148].iter().chain(&header[156..]);
    let summed = others.map(|&byte| u32::from(byte)).sum::<u32>() + 8 * u32::from(b' ');
    stored.is_ok_and(|digits| u32::from_str_radix(&digits, 8) == Ok(summed))
}

/// Tells whether this is the head of a cpio archive: its magic followed by fields of digits, or in the binary form a name that ends where its
/// length says, for a known type of file.
fn is_cpio(head: &[u8]) -> bool {
    const END: &[u8] = b"TRAILER!!!\0";
    let digits = |hexadecimal: bool| {
        let is = |byte: &u8| {
            if hexadecimal { byte.is_ascii_hexdigit() } else { matches!(byte, b'0'..=b'7') }
        };
        head.get(6..54).is_some_and(|fields| fields.iter().all(is))
    };
    let binary = |read: fn([u8; 2]) -> u16| {
        let field = |offset| bytes_at(head, offset).map_or(0, read);
        let (mode, length) = (field(6), usize::from(field(20)));
        let name = head.get(26..26 + length).filter(|name| name.last() == Some(&0));
        field(0) == 0o070_707
            && name.is_some_and(|name| {
                !name[..length - 1].contains(&0)
                    && (matches!(mode >> 12, 1 | 2 | 4 | 6 | 8 | 10 | 12) || name == END)
            })
    };
    binary(u16::from_le_bytes)
        || binary(u16::from_be_bytes)
        || has(head, 0, b"070707") && digits(false)
        || (has(head, 0, b"070701") || has(head, 0, b"070702")) && digits(true)
}

/// Frames that are skipped to find the first one with data.
const SKIPPED: usize = 64;

/// Returns the place where the packed data begins: behind the frames that readers of zstd and LZ4 skip. `read` returns the eight bytes at a
/// place; without them the search ends.
pub fn behind_frames(mut read: impl FnMut(u64) -> Option<[u8; 8]>) -> u64 {
    let mut place = 0;
    for _ in 0..SKIPPED {
        let Some([a, b, c, d, length @ ..]) = read(place) else { break };
        if u32::from_le_bytes([a, b, c, d]) & !0xf != 0x184d_2a50 {
            break;
        }
        place += 8 + u64::from(u32::from_le_bytes(length));
    }
    place
}

/// Recognises the format of data behind such frames, or without any, among the formats that can begin with them.
pub fn in_frames(body: &[u8]) -> Option<Format> {
    let fifth = body.get(4).copied().unwrap_or(0);
    let known = [
        (has(body, 0, &[0x28, 0xb5, 0x2f, 0xfd]) && fifth & 0x08 == 0, "zstd file", "zstd"),
        (has(body, 0, &[0x04, 0x22, 0x4d, 0x18]) && fifth >> 6 == 1, "lz4 file", "lz4"),
    ];
    let (_, name, program) = known.into_iter().find(|(is, ..)| *is)?;
    Some(Format { name, reader: Reader::Unpacker(program) })
}

/// Tells whether the four bytes at `offset` are a number of this range.
fn number_in_range(head: &[u8], offset: usize, from: u32, to: u32) -> bool {
    little32(head, offset).is_some_and(|value| (from..=to).contains(&value))
}

/// Tells whether the four bytes at `offset` are a power of two in this range.
fn power(head: &[u8], offset: usize, from: u32, to: u32) -> bool {
    number_in_range(head, offset, from, to)
        && little32(head, offset).is_some_and(u32::is_power_of_two)
}

/// One format: whether it is there, its name and its reader.
type Known = (bool, &'static str, Reader);

/// The formats of images of disks.
fn images(head: &[u8], tail: &[u8]) -> [Known; 14] {
    use Reader::{Qemu, Way};
    [
        (is_vhd(head) || is_vhd(tail), "VHD image", Qemu("vpc")),
        (has(head, 0, b"KDMV") && number_in_range(head, 4, 1, 3), "VMDK image", Qemu("vmdk")),
        (has(head, 0, b"COWD") && number_in_range(head, 4, 1, 1), "VMDK image", Qemu("vmdk")),
        (has(head, 0, b"# Disk DescriptorFile"), "description of a VMDK image", Qemu("vmdk")),
        (has(head, 0, b"vhdxfile"), "VHDX image", Qemu("vhdx")),
        (
            number_in_range(head, 64, 0xbeda_107f, 0xbeda_107f)
                && number_in_range(head, 68, 1 << 16, 2 << 16),
            "VDI image",
            Qemu("vdi"),
        ),
        (
            has(head, 0, b"QED\0") && power(head, 4, 1 << 12, 1 << 26) && power(head, 8, 1, 16),
            "QED image",
            Qemu("qed"),
        ),
        (
            (has(head, 0, b"WithoutFreeSpace") || has(head, 0, b"WithouFreSpacExt"))
                && number_in_range(head, 16, 2, 2),
            "Parallels image",
            Qemu("parallels"),
        ),
        (is_dmg(tail), "DMG image", Qemu("dmg")),
        (has(head, 0, b"Bochs Virtual HD Image\0"), "Bochs image", Qemu("bochs")),
        (has(head, 0, b"#!/bin/sh\n#V2.0 Format\n"), "cloop image", Qemu("cloop")),
        (
            is_android_sparse(head),
            "sparse image of Android",
            Way("simg2img {file} COPY.img, then fathom estimate COPY.img"),
        ),
        (
            has(head, 0, b"EVF\x09\x0d\x0a\xff\0"),
            "EWF image",
            Way("ewfmount {file} DIR, then fathom estimate DIR/ewf1"),
        ),
        (
            has(head, 0, b"rbd image v2\n"),
            "export of an RBD image in format 2",
            Way(
                "rbd import --export-format 2 {file} POOL/COPY, then rbd export POOL/COPY - | fathom estimate -",
            ),
        ),
    ]
}

/// The formats of backups of disks.
fn backups(head: &[u8]) -> [Known; 4] {
    use Reader::Way;
    [
        (
            has(head, 0, b"partclone-image"),
            "partclone image",
            Way("partclone.restore -C -W -s {file} -o COPY.img, then fathom estimate COPY.img"),
        ),
        (
            has(head, 0, b"\0ntfsclone-image"),
            "ntfsclone image",
            Way("ntfsclone -r -O COPY.img {file}, then fathom estimate COPY.img"),
        ),
        (
            has(head, 0, b"VMA\0\0\0\0\x01"),
            "VMA archive of Proxmox",
            Way("vma extract {file} DIR, which makes DIR, then fathom estimate DIR"),
        ),
        (
            has(head, 0, b"rbd diff v1\n") || has(head, 0, b"rbd diff v2\n"),
            "difference of two states of an RBD image",
            Way(
                "rbd export POOL/IMAGE@SNAPSHOT - | fathom estimate -, of the state that it leads to; where that is gone, rbd import-diff {file} POOL/COPY \
                 makes it of a copy of the earlier one",
            ),
        ),
    ]
}

/// The formats that pack or encrypt, and archives.
fn packed(head: &[u8]) -> [Known; 20] {
    use Reader::{Luks, Mount, Unpacked, Unpacker, Way};
    let byte = |offset: usize| head.get(offset).copied().unwrap_or(0);
    [
        (
            has(head, 0, b"MSWIM\0\0\0") && number_in_range(head, 8, 208, 208),
            "WIM archive",
            Way("wimapply {file} 1 DIR, then fathom estimate DIR"),
        ),
        (
            has(head, 0, b"7z\xbc\xaf\x27\x1c\0"),
            "7z archive",
            Way("7z x -oDIR {file}, then fathom estimate DIR"),
        ),
        (
            has(head, 0, b"Rar!\x1a\x07\0") || has(head, 0, b"Rar!\x1a\x07\x01\0"),
            "rar archive",
            Way("unrar x {file} DIR/, then fathom estimate DIR"),
        ),
        (has(head, 0, b"LUKS\xba\xbe\0") && matches!(byte(7), 1 | 2), "LUKS volume", Luks),
        (has(head, 0, &[0x1f, 0x8b, 8]) && byte(3) < 0x20, "gzip file", Unpacker("gzip")),
        (has(head, 0, PACKAGE), "result that Fathom packed", Unpacked("fathom unpack")),
        (has(head, 0, b"\xfd7zXZ\0\0") && byte(7) < 0x10, "xz file", Unpacker("xz")),
        (is_lzma(head), "lzma file", Unpacker("xz")),
        (has(head, 0, b"\x89LZO\0\r\n\x1a\n"), "lzop file", Unpacker("lzop")),
        (
            has(head, 0, b"LZIP") && byte(4) <= 1 && (12..=29).contains(&(byte(5) & 0x1f)),
            "lzip file",
            Unpacker("lzip"),
        ),
        (has(head, 0, b"LRZI\0") && byte(5) < 16, "lrzip file", Unpacker("lrzip")),
        // The longest code, and no bit that has no meaning.
        (
            has(head, 0, &[0x1f, 0x9d])
                && byte(2) & 0x60 == 0
                && (9..=16).contains(&(byte(2) & 0x1f)),
            "compress file",
            Unpacker("gzip"),
        ),
        (
            has(head, 0, &[0x02, 0x21, 0x4c, 0x18]) && number_in_range(head, 4, 1, 9 << 20),
            "lz4 file",
            Unpacker("lz4"),
        ),
        (
            has(head, 0, b"BZh") && (b'1'..=b'9').contains(&byte(3)) && has(head, 4, b"1AY&SY"),
            "bzip2 file",
            Unpacker("bzip2"),
        ),
        (
            has(head, 0, b"PK\x03\x04") && byte(5) == 0 && byte(9) == 0,
            "zip archive",
            Way("unzip -d DIR {file}, then fathom estimate DIR"),
        ),
        (
            has(head, 0, b"hsqs") && power(head, 12, 1 << 12, 1 << 20) && has(head, 28, &[4, 0]),
            "squashfs image",
            Mount,
        ),
        (is_tar(head), "tar archive", Unpacked("tar -x -C DIR -f")),
        (is_cpio(head), "cpio archive", Unpacked("cpio -id -D DIR -F")),
        (has(head, 0, b"btrfs-stream\0"), "stream of btrfs send", Unpacked("btrfs receive DIR -f")),
        (
            has(head, 8, &0x2_f5ba_cbac_u64.to_le_bytes()),
            "stream of zfs send",
            Unpacked("zfs receive POOL/NAME <"),
        ),
    ]
}

/// Recognises the format of data that begins with `head` and whose last 512 bytes are `tail` (empty where they are not known). More than the
/// magic is checked, so that data that begins like a format by chance still counts as data.
pub fn recognise(head: &[u8], tail: &[u8]) -> Option<Format> {
    let found = images(head, tail)
        .into_iter()
        .chain(backups(head))
        .chain(packed(head))
        .find(|(is, ..)| *is);
    found.map(|(_, name, reader)| Format { name, reader }).or_else(|| {
        let body = behind_frames(|place| bytes_at(head, usize::try_from(place).ok()?));
        in_frames(head.get(usize::try_from(body).ok()?..)?)
    })
}

/// The kinds of things that are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    File,
    Device,
    Pipe,
}

impl Reader {
    /// Tells whether it takes a device for a file; others look for the length of a file, or for its end.
    fn takes_device(self) -> bool {
        !matches!(self, Self::Way(_) | Self::Unpacked("fathom unpack") | Self::Unpacker("lrzip"))
    }
}

impl Format {
    /// The command that reads what it holds, of the file or device at `path`, or of the piped data.
    pub fn help(self, path: &Path) -> String {
        let device = || path.metadata().is_ok_and(|found| found.file_type().is_block_device());
        let given = match path {
            path if path == Path::new("-") => Given::Pipe,
            _ if device() => Given::Device,
            _ => Given::File,
        };
        self.way(path, given)
    }

    fn way(self, path: &Path, given: Given) -> String {
        let piped = given == Given::Pipe;
        let saved = piped || given == Given::Device && !self.reader.takes_device();
        let own = quoted(path.as_os_str());
        let file = if saved { "FILE" } else { own.as_str() };
        let way = match self.reader {
            // Not piped: a stream would turn holes into zeros, which count as saved.
            Reader::Qemu(name) => format!(
                "qemu-img convert -f {name} -O qcow2 {file} COPY.qcow2, then fathom estimate COPY.qcow2"
            ),
            Reader::Unpacker("lrzip") => format!("lrzcat {file} | fathom estimate -"),
            Reader::Unpacker(program) => format!("{program} -dc < {file} | fathom estimate -"),
            Reader::Mount => format!("mount -o ro {file} DIR, then fathom estimate DIR"),
            Reader::Luks => format!(
                "cryptsetup open --readonly {file} NAME, then fathom estimate /dev/mapper/NAME"
            ),
            Reader::Unpacked(_) if piped => {
                "name the directory that it is made of, as in fathom estimate DIR".into()
            }
            Reader::Unpacked(command) => format!("{command} {file}, then fathom estimate DIR"),
            Reader::Way(way) => way.replace("{file}", file),
        };
        let from = match given {
            _ if !saved || !way.contains("FILE") => String::new(),
            // Piped data has no name, and can be read only once.
            Given::Pipe => " (FILE: the piped data, saved to a file)".to_owned(),
            _ => format!(
                " (FILE: made by head -c BYTES {own} > FILE, where BYTES is the length of what lies there)"
            ),
        };
        format!("read what it holds{from}: {way}; or --format raw, to take its bytes as they lie")
    }
}

/// Tells whether a stream that ends with these bytes was an image that holds its data as it is before them.
pub fn ends_as_plain_image(tail: &[u8]) -> bool {
    is_vhd(tail)
}

/// Quotes a name for a shell, in a form that no program takes for an option.
pub fn quoted(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    let name = if name.starts_with('-') { format!("./{name}").into() } else { name };
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@".contains(c);
    if name.chars().all(plain) { name.into() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(head: &[u8], given: Given) -> String {
        let mut head = head.to_vec();
        head.resize(HEAD, 0);
        recognise(&head, &[]).unwrap().way(Path::new("/dev/loop7"), given)
    }

    #[test]
    fn a_device_is_handed_to_those_that_read_one_and_saved_to_a_file_for_all_others() {
        let zip = b"PK\x03\x04\x14\0\0\0\x08\0";
        let direct: [(&[u8], &str); 4] = [
            (b"\x28\xb5\x2f\xfd\x04", ": zstd -dc < /dev/loop7 | fathom estimate -;"),
            (b"\x1f\x8b\x08\0", ": gzip -dc < /dev/loop7 | fathom estimate -;"),
            (b"LUKS\xba\xbe\0\x02", "--readonly /dev/loop7 NAME"),
            (b"vhdxfile", "-O qcow2 /dev/loop7 COPY.qcow2"),
        ];
        for (head, part) in direct {
            let said = way(head, Given::Device);
            assert!(said.contains(part) && !said.contains("head -c"), "{said}");
        }
        for (head, part) in
            [(&zip[..], ": unzip -d DIR FILE, then"), (PACKAGE, "fathom unpack FILE")]
        {
            let said = way(head, Given::Device);
            assert!(said.contains(part), "{said}");
            assert!(said.contains("(FILE: made by head -c BYTES /dev/loop7 > FILE"), "{said}");
        }
        assert!(way(zip, Given::File).contains(": unzip -d DIR /dev/loop7, then"));
        assert!(way(zip, Given::Pipe).contains("(FILE: the piped data"));
    }
}
