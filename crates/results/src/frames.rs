//! Frames, the form in which rows are stored in `rows.log`: a cut or a damaged byte costs only the frame it hits.
//!
//! A frame is a mark of four bytes, the length of its payload and a CRC-32 over length and payload (both
//! 32 bits, little-endian), and the payload: one row as JSON. The mark begins with a byte that never occurs
//! in UTF-8, so no payload contains it, and a reader that lost its place finds the next frame by it.

use std::io::{self, Read};

use crate::model::Row;

/// The mark at the beginning of every frame.
pub const MARK: [u8; 4] = [0xF5, b'F', b'r', 0xF6];
/// Number of bytes before the payload.
pub const HEADER: usize = 12;
/// The longest payload that a reader accepts, bytes.
pub const LONGEST: usize = 16 << 20;
/// Bytes of a log that are read at once.
const PART: usize = 64 << 10;

/// A part of a log that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Its beginning, bytes from the start of the log.
    pub offset: u64,
    /// Its length, bytes; the reader skipped them.
    pub bytes: u64,
    /// The kind of damage.
    pub kind: DamageKind,
}

/// The kind of damage of a part of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DamageKind {
    /// The log ends inside a frame, as after a kill.
    CutOff,
    /// Bytes that are not a frame, or a frame with a wrong checksum.
    Corrupt,
    /// An intact frame with a kind of row that this version does not know.
    UnknownRow,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let what = match self.kind {
            DamageKind::CutOff => "the log was cut off inside a row",
            DamageKind::Corrupt => "bytes are damaged",
            DamageKind::UnknownRow => "a row is of a kind this version does not know",
        };
        write!(f, "{what} ({} bytes lost at byte {})", self.bytes, self.offset)
    }
}

/// Encodes `row` as a frame. A row that cannot be written as JSON or is longer than [`LONGEST`] (Fathom makes
/// none) becomes an empty frame, which readers count as damage.
pub fn encode(row: &Row) -> Vec<u8> {
    let mut frame = vec![0; HEADER];
    if serde_json::to_writer(&mut frame, row).is_err() || frame.len() - HEADER > LONGEST {
        frame.truncate(HEADER);
    }
    let length = ((frame.len() - HEADER) as u32).to_le_bytes();
    let sum = checksum(length, &frame[HEADER..]);
    frame[..4].copy_from_slice(&MARK);
    frame[4..8].copy_from_slice(&length);
    frame[8..12].copy_from_slice(&sum.to_le_bytes());
    frame
}

/// Reads every intact row of `log`, in order, and the damage between them.
pub fn read(log: impl Read) -> io::Result<(Vec<Row>, Vec<Damage>)> {
    let mut rows = Vec::new();
    let damage = each(log, |row| -> io::Result<()> {
        rows.push(row);
        Ok(())
    })?;
    Ok((rows, damage))
}

/// Passes every intact row of `log` to `on`, in order, and returns the damage between them. However long the log is, no more than one frame
/// and one read buffer are in memory.
pub fn each<E: From<io::Error>>(
    log: impl Read,
    mut on: impl FnMut(Row) -> Result<(), E>,
) -> Result<Vec<Damage>, E> {
    let mut window = Window::new(log);
    let mut damage = Vec::new();
    // The beginning of bytes that are not a frame, and the kind of damage.
    let mut lost: Option<(u64, DamageKind)> = None;
    loop {
        window.reach_frame()?;
        let (at, bytes) = (window.at, window.bytes());
        if bytes.is_empty() {
            damage.extend(lost.map(|(from, kind)| damaged(from, at, kind)));
            return Ok(damage);
        }
        let taken = match frame_at(bytes) {
            Frame::Whole(payload) => {
                // A frame that ends beyond the log counts as cut off only if no intact frame follows it.
                let before = lost.take();
                damage.extend(before.map(|(from, _)| damaged(from, at, DamageKind::Corrupt)));
                let end = HEADER + payload.len();
                match serde_json::from_slice(payload) {
                    Ok(row) => on(row)?,
                    Err(_) => damage.push(damaged(at, at + end as u64, DamageKind::UnknownRow)),
                }
                end
            }
            Frame::None(kind) => {
                lost.get_or_insert((at, kind));
                let mark = bytes[1..].iter().position(|byte| *byte == MARK[0]);
                mark.map_or(bytes.len(), |next| next + 1)
            }
        };
        window.take(taken);
    }
}

/// The part of a log that is in memory.
struct Window<R> {
    log: R,
    buffer: Vec<u8>,
    /// Index of the first byte of the buffer that is not consumed yet.
    from: usize,
    /// The offset of that byte in the log.
    at: u64,
    ended: bool,
}

impl<R: Read> Window<R> {
    fn new(log: R) -> Self {
        Self { log, buffer: Vec::new(), from: 0, at: 0, ended: false }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.from..]
    }

    fn take(&mut self, bytes: usize) {
        self.from += bytes;
        self.at += bytes as u64;
    }

    /// Reads until the bytes at the start can be judged: a whole frame, or just a header if that is not valid; less at the end of the log.
    fn reach_frame(&mut self) -> io::Result<()> {
        self.reach(HEADER)?;
        let bytes = self.bytes();
        if bytes.len() >= HEADER && bytes[..4] == MARK {
            let payload = u32::from_le_bytes(word(bytes, 4)) as usize;
            if payload <= LONGEST {
                self.reach(HEADER + payload)?;
            }
        }
        Ok(())
    }

    fn reach(&mut self, bytes: usize) -> io::Result<()> {
        if self.ended || self.bytes().len() >= bytes {
            return Ok(());
        }
        self.buffer.drain(..self.from);
        self.from = 0;
        let more = bytes.max(PART) - self.buffer.len();
        let read = self.log.by_ref().take(more as u64).read_to_end(&mut self.buffer)?;
        self.ended = read < more;
        Ok(())
    }
}

enum Frame<'a> {
    Whole(&'a [u8]),
    None(DamageKind),
}

/// Classifies the start of `bytes`.
fn frame_at(bytes: &[u8]) -> Frame<'_> {
    if bytes.len() < HEADER {
        let mark = bytes.len().min(MARK.len());
        let cut = bytes[..mark] == MARK[..mark];
        return Frame::None(if cut { DamageKind::CutOff } else { DamageKind::Corrupt });
    }
    let (length, sum) = (word(bytes, 4), word(bytes, 8));
    let payload = u32::from_le_bytes(length) as usize;
    if bytes[..4] != MARK || payload > LONGEST {
        return Frame::None(DamageKind::Corrupt);
    }
    match bytes.get(HEADER..HEADER + payload) {
        None => Frame::None(DamageKind::CutOff),
        Some(text) if checksum(length, text) == u32::from_le_bytes(sum) => Frame::Whole(text),
        Some(_) => Frame::None(DamageKind::Corrupt),
    }
}

fn word(bytes: &[u8], at: usize) -> [u8; 4] {
    [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
}

fn damaged(from: u64, until: u64, kind: DamageKind) -> Damage {
    Damage { offset: from, bytes: until - from, kind }
}

fn checksum(length: [u8; 4], payload: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&length);
    sum.update(payload);
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SampleRow, StageEdge};
    use proptest::prelude::*;

    /// A log in memory is read without fail.
    fn read(log: &[u8]) -> (Vec<Row>, Vec<Damage>) {
        super::read(log).unwrap()
    }

    fn damage_at(offset: usize, bytes: usize, kind: DamageKind) -> Damage {
        damaged(offset as u64, (offset + bytes) as u64, kind)
    }

    fn rows() -> Vec<Row> {
        let edge =
            StageEdge { stage: 0, name: "löad".into(), measured: true, ended: false, at_ns: 5 };
        let sample = |at_ns| SampleRow {
            at_ns,
            source: "vdo.stats".into(),
            cost_ns: 7,
            cost_cpu_ns: 6,
            mark: None,
            fields: [("dataBlocksUsed".into(), Some(12.0)), ("savingPercent".into(), None)].into(),
            error: None,
        };
        vec![
            Row::Stage(edge.clone()),
            Row::Sample(sample(u64::MAX)),
            Row::Sample(sample(17)),
            Row::Stage(StageEdge { ended: true, ..edge }),
        ]
    }

    /// The log, and where each frame ends in it.
    fn log() -> (Vec<u8>, Vec<usize>) {
        let (mut log, mut ends) = (Vec::new(), Vec::new());
        for row in rows() {
            log.extend(encode(&row));
            ends.push(log.len());
        }
        (log, ends)
    }

    #[test]
    fn a_row_too_long_for_a_frame_is_counted_as_lost() {
        let Row::Stage(mut edge) = rows().remove(0) else { panic!("the first is an edge") };
        edge.name = "x".repeat(LONGEST);
        let (read, damage) = read(&encode(&Row::Stage(edge)));
        assert_eq!((read, damage), (vec![], vec![damage_at(0, HEADER, DamageKind::UnknownRow)]));
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(read(&log().0), (rows(), vec![]));
        assert_eq!(read(&[]), (vec![], vec![]));
    }

    #[test]
    fn a_log_cut_at_any_byte_gives_every_row_before_the_cut_and_says_so() {
        let (log, ends) = log();
        for cut in 0..=log.len() {
            let whole = ends.iter().filter(|&&end| end <= cut).count();
            let (read, damage) = read(&log[..cut]);
            assert_eq!(read, rows()[..whole], "cut at {cut}");
            let rest = cut - if whole == 0 { 0 } else { ends[whole - 1] };
            let expected = (rest > 0).then(|| damage_at(cut - rest, rest, DamageKind::CutOff));
            assert_eq!(damage, Vec::from_iter(expected), "cut at {cut}");
        }
    }

    #[test]
    fn any_flipped_bit_costs_its_own_frame_and_no_other() {
        let (log, ends) = log();
        for bit in 0..log.len() * 8 {
            let mut bad = log.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let hit = ends.iter().position(|&end| bit / 8 < end).unwrap();
            let mut expected = rows();
            expected.remove(hit);
            let (rows, damage) = read(&bad);
            assert_eq!(rows, expected, "bit {bit}");
            assert_eq!(damage.len(), 1, "bit {bit}: {damage:?}");
            let start = if hit == 0 { 0 } else { ends[hit - 1] };
            assert_eq!(damage[0].offset, start as u64);
            assert_eq!(damage[0].bytes, (ends[hit] - start) as u64);
        }
    }

    #[test]
    fn a_row_of_a_later_version_is_passed_over_and_counted() {
        let payload = br#"{"row":"dream"}"#;
        let length = (payload.len() as u32).to_le_bytes();
        let mut bytes = MARK.to_vec();
        bytes.extend(length);
        bytes.extend(checksum(length, payload).to_le_bytes());
        bytes.extend(payload);
        bytes.extend(log().0);
        let (read, damage) = read(&bytes);
        assert_eq!(read, rows());
        assert_eq!(damage, [damage_at(0, HEADER + payload.len(), DamageKind::UnknownRow)]);
        assert!(damage[0].to_string().contains("does not know"));
    }

    proptest! {
        #[test]
        fn nothing_false_is_ever_returned(
            start in 0usize..400, junk in prop::collection::vec(any::<u8>(), 1..40), insert: bool
        ) {
            let (log, ends) = log();
            let start = start.min(log.len() - 1);
            let mut bad = log.clone();
            let end = if insert { start } else { (start + junk.len()).min(log.len()) };
            bad.splice(start..end, junk);
            let (read, _) = read(&bad);
            let before = ends.iter().filter(|&&end| end <= start).count();
            prop_assert_eq!(&read[..before], &rows()[..before]);
            // What else was read are true rows in their order.
            let true_rows = rows();
            let mut rest = true_rows.iter();
            for row in &read {
                prop_assert!(rest.any(|r| r == row), "{row:?} was never written");
            }
        }
    }
}
