//! The device mapper's control node: messages to targets, status and table lines, names, removal.
//!
//! One ioctl instead of a `dmsetup` process: cheap enough to be sampled every second.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;

// <linux/dm-ioctl.h>: the same header for all commands, followed by data in both directions.
const HEADER: usize = 312;
const VERSION_AT: usize = 0;
const DATA_SIZE_AT: usize = 12;
const DATA_START_AT: usize = 16;
const TARGET_COUNT_AT: usize = 20;
const FLAGS_AT: usize = 28;
const NAME_AT: usize = 48;
const NAME_LEN: usize = 128;

const LIST_DEVICES: libc::c_ulong = 2;
const DEV_REMOVE: libc::c_ulong = 4;
const TABLE_STATUS: libc::c_ulong = 12;
const LIST_VERSIONS: libc::c_ulong = 13;
const TARGET_MSG: libc::c_ulong = 14;

const STATUS_TABLE: u32 = 1 << 4;
const BUFFER_FULL: u32 = 1 << 8;
const NO_FLUSH: u32 = 1 << 11;
const DATA_OUT: u32 = 1 << 16;

/// Initial room for answers, bytes; it is doubled until the answer fits.
const ROOM: usize = 16 << 10;
/// Most room for an answer, bytes.
const MOST_ROOM: usize = 16 << 20;

/// The open control node.
#[derive(Debug)]
pub struct Dm(File);

/// One line of a device's status or table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetLine {
    /// First sector of 512 bytes.
    pub start: u64,
    /// Length in sectors.
    pub length: u64,
    /// The target's type (`vdo`, `linear`).
    pub kind: String,
    /// The target's own part of the line.
    pub parameters: String,
}

/// As `dmsetup status` and `dmsetup table` print it.
impl std::fmt::Display for TargetLine {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} {} {} {}", self.start, self.length, self.kind, self.parameters)
    }
}

impl Dm {
    /// Opens `/dev/mapper/control`; fails if the device mapper is not loaded, or without root.
    pub fn open() -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).open("/dev/mapper/control").map(Self)
    }

    /// The answer of a device's first target to `message`; empty if it gives none.
    pub fn message(&self, device: &str, message: &str) -> io::Result<String> {
        // The target is selected by one of its sectors: eight bytes of 0 before the words.
        let mut data = vec![0; 8];
        data.extend(message.as_bytes());
        data.push(0);
        let answer = self.call(TARGET_MSG, device, 0, &data)?;
        if flags(&answer)? & DATA_OUT == 0 {
            return Ok(String::new());
        }
        Ok(text(body(&answer)?))
    }

    /// The status of every target of a device, without flushing anything.
    pub fn status(&self, device: &str) -> io::Result<Vec<TargetLine>> {
        lines(&self.call(TABLE_STATUS, device, NO_FLUSH, &[])?)
    }

    /// The live table of a device.
    pub fn table(&self, device: &str) -> io::Result<Vec<TargetLine>> {
        lines(&self.call(TABLE_STATUS, device, NO_FLUSH | STATUS_TABLE, &[])?)
    }

    /// Removes a device. Fails with `ENXIO` if there is none of that name, with `EBUSY` if it is in use.
    pub fn remove(&self, device: &str) -> io::Result<()> {
        self.call(DEV_REMOVE, device, 0, &[]).map(drop)
    }

    /// Names of all devices.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let answer = self.call(LIST_DEVICES, "", 0, &[])?;
        // dm_name_list: device number, distance to the next entry, name. A single entry with number 0 means that there are no devices.
        let found = entries(body(&answer)?, 8, 12)?;
        Ok(found
            .into_iter()
            .filter(|(head, _)| head[..8] != [0; 8])
            .map(|(_, name)| name)
            .collect())
    }

    /// All loaded target types, with their versions.
    pub fn targets(&self) -> io::Result<Vec<(String, [u32; 3])>> {
        let answer = self.call(LIST_VERSIONS, "", 0, &[])?;
        // dm_target_versions: distance to the next entry, three numbers, name.
        entries(body(&answer)?, 0, 16)?
            .into_iter()
            .map(|(head, name)| Ok((name, [u32_at(head, 4)?, u32_at(head, 8)?, u32_at(head, 12)?])))
            .collect()
    }

    /// Performs one command; returns the whole answer, in a buffer that is large enough.
    fn call(
        &self,
        command: libc::c_ulong,
        device: &str,
        flags_in: u32,
        data: &[u8],
    ) -> io::Result<Vec<u8>> {
        let mut room = ROOM.max(HEADER + data.len());
        loop {
            let mut buffer = request(device, flags_in, data, room)?;
            // _IOWR(0xfd, command, struct dm_ioctl)
            let code = 0xc000_fd00 | (HEADER as libc::c_ulong) << 16 | command;
            // SAFETY: the buffer is as long as its header says, and the kernel writes no more than that.
            if unsafe { libc::ioctl(self.0.as_raw_fd(), code, buffer.as_mut_ptr()) } == -1 {
                return Err(io::Error::last_os_error());
            }
            if flags(&buffer)? & BUFFER_FULL == 0 {
                return Ok(buffer);
            }
            room *= 2;
            if room > MOST_ROOM {
                return Err(malformed());
            }
        }
    }
}

/// A request for `device` in a buffer of `room` bytes.
fn request(device: &str, flags: u32, data: &[u8], room: usize) -> io::Result<Vec<u8>> {
    if device.len() >= NAME_LEN {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    let mut buffer = vec![0u8; room];
    let mut put = |at: usize, bytes: &[u8]| buffer[at..at + bytes.len()].copy_from_slice(bytes);
    put(VERSION_AT, &4u32.to_ne_bytes());
    put(DATA_SIZE_AT, &(room as u32).to_ne_bytes());
    put(DATA_START_AT, &(HEADER as u32).to_ne_bytes());
    put(FLAGS_AT, &flags.to_ne_bytes());
    put(NAME_AT, device.as_bytes());
    put(HEADER, data);
    Ok(buffer)
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the device mapper's answer is malformed")
}

fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    let four = bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).ok_or_else(malformed)?;
    Ok(u32::from_ne_bytes(four))
}

fn u64_at(bytes: &[u8], at: usize) -> io::Result<u64> {
    let eight = bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).ok_or_else(malformed)?;
    Ok(u64::from_ne_bytes(eight))
}

fn flags(answer: &[u8]) -> io::Result<u32> {
    u32_at(answer, FLAGS_AT)
}

/// Returns what follows the header.
fn body(answer: &[u8]) -> io::Result<&[u8]> {
    let start = u32_at(answer, DATA_START_AT)? as usize;
    let size = (u32_at(answer, DATA_SIZE_AT)? as usize).min(answer.len());
    answer.get(start..size.max(start)).ok_or_else(malformed)
}

/// The text up to the first NUL.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// A chain of entries: heads of `head` bytes, each followed by a name; four bytes at `next_at` in a head are the distance to the next entry.
fn entries(mut rest: &[u8], next_at: usize, head: usize) -> io::Result<Vec<(&[u8], String)>> {
    let mut found = Vec::new();
    while rest.len() >= head {
        let next = u32_at(rest, next_at)? as usize;
        found.push((&rest[..head], text(&rest[head..])));
        if next == 0 {
            break;
        }
        rest = rest.get(next.max(head)..).ok_or_else(malformed)?;
    }
    Ok(found)
}

/// The targets in an answer to status or table: for each a `dm_target_spec` and a text.
fn lines(answer: &[u8]) -> io::Result<Vec<TargetLine>> {
    const SPEC: usize = 40;
    let all = body(answer)?;
    let (mut at, mut found) = (0, Vec::new());
    for _ in 0..u32_at(answer, TARGET_COUNT_AT)? {
        let spec = all.get(at..).filter(|rest| rest.len() >= SPEC).ok_or_else(malformed)?;
        found.push(TargetLine {
            start: u64_at(spec, 0)?,
            length: u64_at(spec, 8)?,
            kind: text(&spec[24..SPEC]),
            parameters: text(&spec[SPEC..]),
        });
        // The offset is counted from the start of the first one.
        at = u32_at(spec, 20)? as usize;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(targets: u32, data: &[u8]) -> Vec<u8> {
        let mut buffer = request("", DATA_OUT, data, HEADER + data.len()).unwrap();
        buffer[TARGET_COUNT_AT..TARGET_COUNT_AT + 4].copy_from_slice(&targets.to_ne_bytes());
        buffer
    }

    fn spec(start: u64, length: u64, next: u32, kind: &str, parameters: &str) -> Vec<u8> {
        let mut bytes = [start.to_ne_bytes(), length.to_ne_bytes()].concat();
        bytes.extend(0i32.to_ne_bytes());
        bytes.extend(next.to_ne_bytes());
        bytes.extend(format!("{kind:\0<16}").bytes());
        bytes.extend(format!("{parameters}\0").bytes());
        bytes
    }

    #[test]
    fn every_target_of_a_table_becomes_a_line_as_dmsetup_prints_it() {
        let mut data = spec(0, 100, 56, "linear", "8:0 0");
        data.resize(56, 0);
        data.extend(spec(100, 50, 112, "vdo", "/dev/dm-0 normal - online"));
        let found = lines(&answer(2, &data)).unwrap();
        let shown: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["0 100 linear 8:0 0", "100 50 vdo /dev/dm-0 normal - online"]);
        assert!(lines(&answer(3, &data)).is_err(), "a target that is not there");
    }

    #[test]
    fn names_and_versions_are_chains_of_entries() {
        let mut data = 7u64.to_ne_bytes().to_vec();
        data.extend(24u32.to_ne_bytes());
        data.extend(b"vg-pool\0");
        data.resize(24, 0);
        data.extend(8u64.to_ne_bytes());
        data.extend(0u32.to_ne_bytes());
        data.extend(b"vg-lv\0");
        let found = entries(&data, 8, 12).unwrap();
        assert_eq!(found.iter().map(|(_, n)| n.as_str()).collect::<Vec<_>>(), ["vg-pool", "vg-lv"]);
        data[8..12].copy_from_slice(&4000u32.to_ne_bytes());
        assert!(entries(&data, 8, 12).is_err(), "a chain that leaves the answer");
    }

    #[test]
    fn a_request_carries_name_version_and_data_where_the_kernel_looks() {
        let buffer = request("vg-lv", NO_FLUSH, b"stats", 400).unwrap();
        assert_eq!(u32_at(&buffer, VERSION_AT).unwrap(), 4);
        assert_eq!(u32_at(&buffer, DATA_SIZE_AT).unwrap(), 400);
        assert_eq!(text(&buffer[NAME_AT..]), "vg-lv");
        assert_eq!(text(body(&buffer).unwrap()), "stats");
        assert!(request(&"x".repeat(128), 0, b"", 400).is_err());
    }

    #[test]
    fn the_real_control_node_lists_its_targets() {
        match Dm::open() {
            Ok(dm) => {
                assert!(dm.targets().unwrap().iter().any(|(name, _)| name == "linear"));
                dm.names().unwrap();
                assert!(dm.status("fathom-no-such-device").is_err());
            }
            Err(error) => println!("SKIP the_real_control_node_lists_its_targets: {error}"),
        }
    }
}
