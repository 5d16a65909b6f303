//! The trace of a disk: 32 bytes for each request, in blocks with checksums.
//!
//! A file begins with [`MAGIC`], the length of a header and the header (JSON). Then come blocks: the number of records, their checksum (CRC-32), the
//! records, all little-endian. The last block has no records, and says instead how many were left out because the trace was full. A trace that was
//! cut off is readable up to its last whole block.

use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::attributes::Attributes;
use crate::error::{Error, Result};
use crate::fault::Fault;
use crate::like::Like;
use crate::request::Op;

/// The first bytes of a trace; the last of them is the version of the layout.
pub const MAGIC: [u8; 8] = *b"FATHTRC\x01";
/// Bytes of a record.
pub const RECORD: usize = 32;
/// Records of a block.
const BLOCK: usize = 4096;
/// Longest header that is accepted, bytes.
const LONGEST_HEADER: u32 = 1 << 20;
/// The number of records that marks the last block.
const CLOSING: u32 = u32::MAX;

/// The head of a trace: its disk, and how that was set up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The disk's role.
    pub role: String,
    /// Its size in bytes.
    pub size: u64,
    /// The kind of disk that it was modelled after.
    pub like: Like,
    /// Its faults.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Its limits, whose delays are part of the latencies, and the properties that it reported about itself.
    #[serde(default, skip_serializing_if = "Attributes::is_usual")]
    pub attributes: Attributes,
}

/// One request in a trace, with its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Record {
    /// Its arrival, nanoseconds since the disk was switched on.
    pub arrival_ns: u64,
    /// The operation that it asked for.
    pub op: Op,
    /// Tells whether its bytes were to survive a power cut before the reply.
    pub fua: bool,
    /// Tells whether it failed.
    pub failed: bool,
    /// Its first byte on the disk (below 2^56).
    pub offset: u64,
    /// Its length in bytes.
    pub length: u32,
    /// Time from its arrival to the instant that the model computed, nanoseconds.
    pub latency_ns: u64,
    /// Time from there until the reply was sent, nanoseconds (anything above 4.29 s counts as 4.29 s).
    pub late_ns: u32,
}

impl Record {
    fn encode(&self) -> [u8; RECORD] {
        let op = Op::ALL.iter().position(|op| *op == self.op).unwrap_or(0) as u64;
        let flags = op | u64::from(self.fua) << 4 | u64::from(self.failed) << 5;
        let mut bytes = [0; RECORD];
        bytes[..8].copy_from_slice(&self.arrival_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&(self.offset & (u64::MAX >> 8) | flags << 56).to_le_bytes());
        bytes[16..20].copy_from_slice(&self.length.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.late_ns.to_le_bytes());
        bytes[24..].copy_from_slice(&self.latency_ns.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let place = long(8)?;
        let flags = place >> 56;
        Some(Self {
            arrival_ns: long(0)?,
            op: *Op::ALL.get((flags & 15) as usize)?,
            fua: flags >> 4 & 1 == 1,
            failed: flags >> 5 & 1 == 1,
            offset: place & (u64::MAX >> 8),
            length: short(16)?,
            latency_ns: long(24)?,
            late_ns: short(20)?,
        })
    }
}

/// Writes a trace with a limited number of requests.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    block: Vec<u8>,
    left: u64,
    dropped: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    pub fn begin(mut out: W, header: &Header, most: u64) -> io::Result<Self> {
        let header = serde_json::to_vec(header)?;
        out.write_all(&MAGIC)?;
        out.write_all(&(header.len() as u32).to_le_bytes())?;
        out.write_all(&header)?;
        Ok(Self { out, block: Vec::with_capacity(BLOCK * RECORD), left: most, dropped: 0 })
    }

    /// Adds a request.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        if self.left == 0 {
            self.dropped += 1;
            return Ok(());
        }
        self.left -= 1;
        self.block.extend_from_slice(&record.encode());
        if self.block.len() == BLOCK * RECORD { self.flush() } else { Ok(()) }
    }

    /// Writes what was added so far.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            let count = (self.block.len() / RECORD) as u32;
            self.out.write_all(&count.to_le_bytes())?;
            self.out.write_all(&crc32fast::hash(&self.block).to_le_bytes())?;
            self.out.write_all(&self.block)?;
            self.block.clear();
        }
        self.out.flush()
    }

    /// Ends the trace.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        self.out.write_all(&CLOSING.to_le_bytes())?;
        self.out.write_all(&crc32fast::hash(&self.dropped.to_le_bytes()).to_le_bytes())?;
        self.out.write_all(&self.dropped.to_le_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A whole trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The disk whose requests it has.
    pub header: Header,
    /// Its requests, in the order of their replies.
    pub records: Vec<Record>,
    /// Requests that were left out because the trace was full; `None` where it was cut off.
    pub dropped: Option<u64>,
}

impl Trace {
    /// Reads a trace.
    pub fn open(path: &Path) -> Result<Self> {
        let io = |source| Error::Io { what: "cannot read", path: path.to_path_buf(), source };
        let file = sys::input::open(path).map_err(io)?;
        Self::read(io::BufReader::new(file))
            .map_err(|why| Error::Trace { path: path.to_path_buf(), why })
    }

    /// Reads a trace; an error says in words what is wrong with it.
    pub fn read(mut input: impl Read) -> std::result::Result<Self, String> {
        let mut start = [0; MAGIC.len() + 4];
        input.read_exact(&mut start).map_err(|_| "is not a trace of a disk".to_owned())?;
        let (magic, length) = start.split_at(MAGIC.len());
        if magic[..7] != MAGIC[..7] {
            return Err("is not a trace of a disk".into());
        }
        if magic[7] != MAGIC[7] {
            return Err(format!("is a trace of version {}, and 1 is known", magic[7]));
        }
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
        if length > LONGEST_HEADER {
            return Err("has a header of more than a mebibyte".into());
        }
        let mut header = vec![0; length as usize];
        input.read_exact(&mut header).map_err(|_| "ends within its header".to_owned())?;
        let header =
            serde_json::from_slice(&header).map_err(|e| format!("has a bad header: {e}"))?;
        let mut trace = Self { header, records: Vec::new(), dropped: None };
        while trace.block(&mut input)? {}
        Ok(trace)
    }

    /// Reads a block; tells whether there may be another.
    fn block(&mut self, input: &mut impl Read) -> std::result::Result<bool, String> {
        let mut word = [0; 4];
        let mut take = |bytes: &mut [u8]| input.read_exact(bytes).is_ok();
        if !take(&mut word) {
            return Ok(false);
        }
        let count = u32::from_le_bytes(word);
        if !take(&mut word) {
            return Ok(false);
        }
        let sum = u32::from_le_bytes(word);
        if count != CLOSING && count as usize > BLOCK {
            return Err(format!("is damaged after {} requests", self.records.len()));
        }
        let mut bytes = vec![0; if count == CLOSING { 8 } else { count as usize * RECORD }];
        if !take(&mut bytes) {
            return Ok(false);
        }
        let records: Option<Vec<_>> = match count {
            CLOSING => Some(Vec::new()),
            _ => bytes.chunks(RECORD).map(Record::decode).collect(),
        };
        match records {
            Some(records) if crc32fast::hash(&bytes) == sum => self.records.extend(records),
            _ => return Err(format!("is damaged after {} requests", self.records.len())),
        }
        if count == CLOSING {
            self.dropped = bytes.try_into().ok().map(u64::from_le_bytes);
        }
        Ok(count != CLOSING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(i: u64) -> Record {
        Record {
            arrival_ns: i * 1000,
            op: Op::ALL[(i % 4) as usize],
            fua: i.is_multiple_of(3),
            failed: i.is_multiple_of(5),
            offset: (i * 0x1234_5000) & (u64::MAX >> 8),
            length: 4096,
            latency_ns: i << 20,
            late_ns: i as u32,
        }
    }

    fn written(count: u64, most: u64) -> Vec<u8> {
        let header = Header {
            role: "data".into(),
            size: 1 << 40,
            like: "hdd,rpm=5400".parse().unwrap(),
            faults: vec![Fault::Slow { factor: 2.0 }],
            attributes: Attributes::default(),
        };
        let mut writer = Writer::begin(Vec::new(), &header, most).unwrap();
        (0..count).for_each(|i| writer.add(&record(i)).unwrap());
        writer.finish().unwrap()
    }

    #[test]
    fn what_is_written_is_read_and_what_did_not_fit_is_counted() {
        let trace = Trace::read(written(10_000, 9_000).as_slice()).unwrap();
        assert_eq!((trace.records.len(), trace.dropped), (9_000, Some(1_000)));
        assert!(trace.records.iter().enumerate().all(|(i, r)| *r == record(i as u64)));
        assert_eq!(trace.header.like.base, "hdd");
        assert_eq!(trace.header.faults, [Fault::Slow { factor: 2.0 }]);
    }

    #[test]
    fn a_trace_that_was_cut_off_is_read_up_to_its_last_whole_block() {
        let bytes = written(10_000, u64::MAX);
        let trace = Trace::read(&bytes[..bytes.len() - 20]).unwrap();
        assert_eq!((trace.records.len(), trace.dropped), (8192, None));
    }

    #[test]
    fn a_flipped_bit_and_another_kind_of_file_are_found() {
        let mut bytes = written(100, u64::MAX);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        assert!(Trace::read(bytes.as_slice()).unwrap_err().contains("damaged after 0"));
        assert!(
            Trace::read(&b"PNG and so on, long enough"[..]).unwrap_err().contains("not a trace")
        );
        let mut bytes = written(1, 1);
        bytes[7] = 9;
        assert!(Trace::read(bytes.as_slice()).unwrap_err().contains("version 9"));
    }
}
