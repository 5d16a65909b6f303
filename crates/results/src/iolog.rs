//! The log of every I/O: a small header, then 40 bytes for each I/O, little-endian.
//!
//! `docs/results.md` shows the layout. A complete log ends with a closing record, which also tells how many I/Os are not in it. A log that was
//! cut off has none, and is readable up to its last whole record. Records that cannot be I/Os of the log are damage: they are left out and
//! counted.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};

/// The first bytes of every log.
pub const MAGIC: [u8; 8] = *b"FATHOMIO";
/// Version of the layout.
const VERSION: u32 = 1;
/// Length of a record.
pub const RECORD: usize = 40;
/// The operation of the closing record.
const CLOSING: u16 = u16::MAX;
/// The longest header that is accepted, bytes.
const LONGEST_HEADER: u32 = 1 << 20;
/// The longest accepted time between the ends of two consecutive I/Os in a log, nanoseconds: 30 days.
const LONGEST_STEP_NS: u64 = 30 * 24 * 3600 * 1_000_000_000;
/// The highest error number (`MAX_ERRNO` of the kernel).
const MOST_ERROR: i32 = 4095;

/// The header of a log: the names that its records refer to by number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Names of the operations; records refer to them by index.
    pub operations: Vec<String>,
    /// The targets; records refer to them by index.
    pub targets: Vec<String>,
}

/// One I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoRecord {
    /// Time at which it was submitted, or should have been (open loop), nanoseconds since the run's epoch.
    pub start_ns: u64,
    /// Time from `start_ns` to its completion, nanoseconds.
    pub latency_ns: u64,
    /// Its offset on the target, bytes.
    pub offset: u64,
    /// Its length, bytes.
    pub length: u32,
    /// 0, or its error number; -1 when it moved fewer bytes than asked.
    pub error: i32,
    /// The job that did it, from 0.
    pub job: u16,
    /// Index of its operation in the header.
    pub operation: u16,
    /// Index of its target in the header.
    pub target: u16,
}

impl IoRecord {
    /// Returns its bytes in the log.
    pub fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[..8].copy_from_slice(&self.start_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.latency_ns.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.length.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.error.to_le_bytes());
        bytes[32..34].copy_from_slice(&self.job.to_le_bytes());
        bytes[34..36].copy_from_slice(&self.operation.to_le_bytes());
        bytes[36..38].copy_from_slice(&self.target.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; RECORD]) -> Self {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let word = |at: usize| std::array::from_fn(|i| bytes[at + i]);
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Self {
            start_ns: long(0),
            latency_ns: long(8),
            offset: long(16),
            length: u32::from_le_bytes(word(24)),
            error: i32::from_le_bytes(word(28)),
            job: short(32),
            operation: short(34),
            target: short(36),
        }
    }
}

/// Returns the end of an I/O, nanoseconds since the run's epoch; `None` if its bytes cannot be a record of this log.
fn end_of(
    record: &IoRecord,
    bytes: &[u8; RECORD],
    header: &Header,
    last: Option<u64>,
) -> Option<u64> {
    // Unused bytes are zero, and no I/O consists only of zeros.
    let whole = bytes[38..] == [0, 0] && *bytes != [0; RECORD];
    let named = usize::from(record.operation) < header.operations.len()
        && usize::from(record.target) < header.targets.len();
    let error = (-1..=MOST_ERROR).contains(&record.error);
    record.offset.checked_add(record.length.into())?;
    let end = record.start_ns.checked_add(record.latency_ns)?;
    let near = last.is_none_or(|last| end.abs_diff(last) <= LONGEST_STEP_NS);
    (whole && named && error && near).then_some(end)
}

/// The columns of [`IoRecord::csv`], with their units; times count from the run's epoch.
pub const CSV_HEADER: &str =
    "start_ns,latency_ns,operation,offset_bytes,length_bytes,job,target,error";

impl IoRecord {
    /// Returns one line of CSV, without the line end.
    pub fn csv(&self, header: &Header) -> String {
        let name = |names: &[String], place: u16| {
            names.get(usize::from(place)).map_or_else(|| place.to_string(), |name| quoted(name))
        };
        format!(
            "{},{},{},{},{},{},{},{}",
            self.start_ns,
            self.latency_ns,
            name(&header.operations, self.operation),
            self.offset,
            self.length,
            self.job,
            name(&header.targets, self.target),
            self.error,
        )
    }
}

/// A field of CSV, in quotes where it needs them.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The end of a complete log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// Number of I/Os in the log.
    pub recorded: u64,
    /// Number of I/Os that are not in the log, for example because the disk did not keep up.
    pub dropped: u64,
}

/// Writes the beginning of a log.
pub fn begin(out: &mut impl Write, header: &Header) -> io::Result<()> {
    let text = serde_json::to_vec(header)?;
    out.write_all(&MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(&(text.len() as u32).to_le_bytes())?;
    out.write_all(&text)
}

/// Writes the end of a log.
pub fn close(out: &mut impl Write, closing: Closing) -> io::Result<()> {
    let (start_ns, latency_ns) = (closing.recorded, closing.dropped);
    let last = IoRecord { start_ns, latency_ns, operation: CLOSING, ..IoRecord::default() };
    out.write_all(&last.encode())
}

/// The reason why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum IoLogError {
    /// It is something else.
    #[error("This is not a log of I/Os: it does not begin with FATHOMIO")]
    NotALog,
    /// It was written by a later version.
    #[error("This log of I/Os has layout {0}; this fathom reads layout {VERSION}")]
    Newer(u32),
    /// Its header is damaged.
    #[error("The header of this log of I/Os is damaged")]
    Header,
    /// The system refused.
    #[error("The log of I/Os cannot be read")]
    Io(#[from] io::Error),
}

/// Reads a log, record by record.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    header: Header,
    closing: Option<Closing>,
    /// The time at which the last I/O ended.
    last: Option<u64>,
    good: u64,
    damaged: u64,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header of a log.
    pub fn new(mut input: R) -> Result<Self, IoLogError> {
        let mut fixed = [0; 16];
        input.read_exact(&mut fixed).map_err(|_| IoLogError::NotALog)?;
        if fixed[..8] != MAGIC {
            return Err(IoLogError::NotALog);
        }
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| fixed[at + i]));
        if word(8) != VERSION {
            return Err(IoLogError::Newer(word(8)));
        }
        if word(12) > LONGEST_HEADER {
            return Err(IoLogError::Header);
        }
        let mut text = Vec::new();
        (&mut input).take(word(12).into()).read_to_end(&mut text)?;
        let header = serde_json::from_slice(&text).map_err(|_| IoLogError::Header)?;
        Ok(Self { input, header, closing: None, last: None, good: 0, damaged: 0 })
    }

    /// Returns the header, with the names of operations and targets.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the closing record once all records were read; `None` for a log that was cut off.
    pub fn closing(&self) -> Option<Closing> {
        self.closing
    }

    /// Returns the number of damaged records so far: those that cannot be I/Os of this log, and, once it has ended, those that are missing
    /// from it by its closing record. Damage that looks like an I/O is not noticed.
    pub fn damaged(&self) -> u64 {
        let there = self.good.saturating_add(self.damaged);
        let missing = self.closing.map_or(0, |closing| closing.recorded.saturating_sub(there));
        self.damaged.saturating_add(missing)
    }

    /// Returns the closing record if these bytes are one, with nothing after them.
    fn end(&mut self, record: &IoRecord, bytes: &[u8; RECORD]) -> io::Result<Option<Closing>> {
        let closing = Closing { recorded: record.start_ns, dropped: record.latency_ns };
        let mut whole = Vec::new();
        close(&mut whole, closing)?;
        Ok((whole == bytes && self.input.fill_buf()?.is_empty()).then_some(closing))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = io::Result<IoRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.closing.is_none() {
            let mut bytes = [0; RECORD];
            match self.input.read_exact(&mut bytes) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return None,
                Err(error) => return Some(Err(error)),
            }
            let record = IoRecord::decode(&bytes);
            if let Some(end) = end_of(&record, &bytes, &self.header, self.last) {
                self.last = Some(end);
                self.good += 1;
                return Some(Ok(record));
            }
            match self.end(&record, &bytes) {
                Ok(None) => self.damaged += 1,
                Ok(closing) => self.closing = closing,
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        Header { operations: vec!["randread".into()], targets: vec!["/dev/x".into()] }
    }

    fn log(records: &[IoRecord], closing: Option<Closing>) -> Vec<u8> {
        let mut bytes = Vec::new();
        begin(&mut bytes, &header()).unwrap();
        records.iter().for_each(|r| bytes.extend(r.encode()));
        closing.into_iter().for_each(|c| close(&mut bytes, c).unwrap());
        bytes
    }

    fn record() -> impl Strategy<Value = IoRecord> {
        // Ends of I/Os lie within the longest step of each other.
        let times = (0..LONGEST_STEP_NS / 2, 1..LONGEST_STEP_NS / 2);
        let place = (0..u64::MAX >> 1, any::<u32>(), -1..=MOST_ERROR);
        (times, place, any::<u16>()).prop_map(
            |((start_ns, latency_ns), (offset, length, error), job)| IoRecord {
                start_ns,
                latency_ns,
                offset,
                length,
                error,
                job,
                operation: 0,
                target: 0,
            },
        )
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(records in prop::collection::vec(record(), 0..50)) {
            let closing = Closing { recorded: records.len() as u64, dropped: 3 };
            let bytes = log(&records, Some(closing));
            let mut reader = Reader::new(bytes.as_slice()).unwrap();
            prop_assert_eq!(reader.header(), &header());
            let read: Vec<_> = reader.by_ref().collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(read, records);
            prop_assert_eq!((reader.closing(), reader.damaged()), (Some(closing), 0));
        }

        #[test]
        fn a_log_that_was_cut_off_is_readable_and_says_so(
            records in prop::collection::vec(record(), 1..20), cut in 1usize..RECORD,
        ) {
            let bytes = log(&records, None);
            let mut reader = Reader::new(&bytes[..bytes.len() - cut]).unwrap();
            let read: Vec<_> = reader.by_ref().collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(&read[..], &records[..records.len() - 1]);
            prop_assert_eq!(reader.closing(), None);
        }
    }

    #[test]
    fn a_record_has_a_field_for_every_column_and_names_for_numbers() {
        let header = Header { targets: vec!["/dev/x".into(), "a,\"b\"".into()], ..header() };
        let record = IoRecord {
            start_ns: 5,
            latency_ns: 61_000,
            offset: 8192,
            length: 4096,
            error: -1,
            job: 3,
            operation: 0,
            target: 1,
        };
        assert_eq!(record.csv(&header), "5,61000,randread,8192,4096,3,\"a,\"\"b\"\"\",-1");
        let plain = IoRecord { target: 0, ..record }.csv(&header);
        assert_eq!(plain.split(',').count(), CSV_HEADER.split(',').count());
    }

    #[test]
    fn what_can_be_no_io_is_left_out_and_counted() {
        let io =
            |n: u64| IoRecord { start_ns: n, latency_ns: 9, length: 4096, ..Default::default() };
        let records = [io(1), io(2), io(3), io(4)];
        let closing = Closing { recorded: 4, dropped: 0 };
        let whole = log(&records, Some(closing));
        let first = whole.len() - 5 * RECORD;
        type Harm = (&'static str, fn(&mut [u8]));
        let harms: [Harm; 8] = [
            ("zeros", |bytes| bytes.fill(0)),
            ("ones, as in the end of a log", |bytes| bytes.fill(255)),
            ("text", |bytes| bytes.fill(b'x')),
            ("another operation", |bytes| bytes[34] = 1),
            ("another target", |bytes| bytes[36] = 7),
            ("years later", |bytes| bytes[7] = 1),
            ("an error that is none", |bytes| bytes[28..32].fill(0x80)),
            ("the end of a log", |bytes| {
                let mut end = Vec::new();
                close(&mut end, Closing { recorded: 2, dropped: 0 }).unwrap();
                bytes.copy_from_slice(&end);
            }),
        ];
        for (name, harm) in harms {
            let mut bytes = whole.clone();
            harm(&mut bytes[first + RECORD..first + 2 * RECORD]);
            let mut reader = Reader::new(bytes.as_slice()).unwrap();
            let read: Vec<_> = reader.by_ref().collect::<Result<_, _>>().unwrap();
            assert_eq!(read, [io(1), io(3), io(4)], "{name}");
            assert_eq!((reader.damaged(), reader.closing()), (1, Some(closing)), "{name}");
        }
        let mut shorter = whole.clone();
        shorter.drain(first..first + 2 * RECORD);
        let mut reader = Reader::new(shorter.as_slice()).unwrap();
        assert_eq!((reader.by_ref().count(), reader.damaged()), (2, 2));
    }

    #[test]
    fn what_is_no_log_is_refused() {
        for junk in [&b""[..], b"FATHOM", b"something else altogether"] {
            assert!(matches!(Reader::new(junk), Err(IoLogError::NotALog)));
        }
        let mut later = log(&[], None);
        later[8] = 9;
        assert!(matches!(Reader::new(later.as_slice()), Err(IoLogError::Newer(9))));
        let mut damaged = log(&[], None);
        damaged[16] = b'!';
        assert!(matches!(Reader::new(damaged.as_slice()), Err(IoLogError::Header)));
    }
}
