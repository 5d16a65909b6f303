//! The HDR interval log of a sealed cell.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use results::sink::{DirSink, Sink};
use results::{histogram, model::Row, seal};

/// The interval log of these rows.
fn interval_log(cell: &str, rows: &[Row]) -> Result<Vec<u8>, seal::LogError> {
    let log: Vec<u8> = rows.iter().flat_map(results::encode_row).collect();
    let mut bytes = Vec::new();
    seal::interval_log(cell, &mut Cursor::new(log), &mut bytes)?;
    Ok(bytes)
}

/// A log of rows of any length that is never whole: one row again and again. It notes how many rows were read in all.
struct Endless {
    row: Vec<u8>,
    rows: u64,
    at: u64,
    read: Rc<Cell<u64>>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.row.len() as u64;
        let from = (self.at % length) as usize;
        let left = if self.at == length * self.rows { 0 } else { self.row.len() - from };
        let part = left.min(buffer.len());
        buffer[..part].copy_from_slice(&self.row[from..from + part]);
        self.at += part as u64;
        self.read.set(self.read.get() + part as u64);
        Ok(part)
    }
}

impl Seek for Endless {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        assert_eq!(to, SeekFrom::Start(0));
        self.at = 0;
        self.read.set(0);
        Ok(0)
    }
}

/// Counts lines, and the most that was read before the line of it was written, bytes.
struct Lines {
    lines: u64,
    row: u64,
    read: Rc<Cell<u64>>,
    furthest: u64,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        // Lines that are not rows count as rows: they are few.
        self.furthest = self.furthest.max(self.read.get().saturating_sub(self.lines * self.row));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_log_of_hours_is_sealed_row_by_row_and_never_held() {
    let truth = fixture::with(1, 40_000.0);
    let interval = |row: &&Row| matches!(row, Row::Interval(row) if row.histogram.is_some());
    let row = results::encode_row(truth.cells[0].rows.iter().find(interval).unwrap());
    let read = Rc::new(Cell::new(0));
    let length = row.len() as u64;
    let rows = 4 * 3600;
    let mut log = Endless { row, rows, at: 0, read: Rc::clone(&read) };
    let mut lines = Lines { lines: 0, row: length, read, furthest: 0 };
    assert_eq!(seal::interval_log("c", &mut log, &mut lines).unwrap(), []);
    assert!(lines.lines >= rows, "{} lines", lines.lines);
    let held = lines.furthest;
    assert!(rows * length > 4 << 20, "{} bytes are few", rows * length);
    assert!(
        held < 256 << 10,
        "{held} of {} bytes were read ahead of what is written",
        rows * length
    );
}

#[test]
fn a_sealed_cell_holds_every_latency_under_its_operation() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    let truth = fixture::with(1, 40_000.0);
    fixture::write(&truth, &mut DirSink::create(&at).unwrap()).unwrap();
    for cell in &truth.cells {
        seal::seal(&at, &cell.entry.folder).unwrap();
        let log = fs::read(at.join("cells").join(&cell.entry.folder).join("latency.hlog")).unwrap();
        let mut sums = BTreeMap::<String, u64>::new();
        for entry in IntervalLogIterator::new(&log) {
            if let LogEntry::Interval(line) = entry.unwrap() {
                let all = histogram::decode(line.encoded_histogram()).unwrap();
                let tag = line.tag().unwrap().as_str().to_owned();
                *sums.entry(tag).or_default() += all.len();
            }
        }
        let expected =
            [("randwrite".to_owned(), fixture::BLOCKS), ("allocate:write".to_owned(), 324)];
        assert_eq!(sums, BTreeMap::from(expected));
    }
}

#[test]
fn sealing_again_gives_the_same_file_and_damage_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    let truth = fixture::with(1, 40_000.0);
    let mut sink = DirSink::create(&at).unwrap();
    fixture::write(&truth, &mut sink).unwrap();
    let folder = &truth.cells[0].entry.folder;
    let hlog = at.join("cells").join(folder).join("latency.hlog");
    assert!(!hlog.exists());
    assert_eq!(seal::seal(&at, folder).unwrap(), []);
    let first = fs::read(&hlog).unwrap();
    assert_eq!(seal::seal(&at, folder).unwrap(), []);
    assert_eq!(fs::read(&hlog).unwrap(), first);
    sink.append(&format!("cells/{folder}/rows.log"), b"half a row").unwrap();
    assert_eq!(seal::seal(&at, folder).unwrap().len(), 1);
    assert_eq!(fs::read(&hlog).unwrap(), first);
}

#[test]
fn a_cell_without_rows_is_sealed_without_a_log() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(seal::seal(dir.path(), "00-none-r1").unwrap(), []);
    assert!(!dir.path().join("cells").exists());
}

#[test]
fn a_broken_histogram_stops_the_seal_and_loses_no_row() {
    let truth = fixture::with(1, 40_000.0);
    let mut rows = truth.cells[0].rows.clone();
    for row in &mut rows {
        if let Row::Interval(row) = row {
            row.histogram = Some("junk".into());
        }
    }
    let error = interval_log("c", &rows).unwrap_err().to_string();
    assert!(error.contains("Histogram cannot be read"), "{error}");
}

#[test]
fn a_kill_while_a_cell_is_sealed_leaves_a_readable_result_that_can_be_sealed_again() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    let truth = fixture::with(1, 40_000.0);
    let mut sink = DirSink::create(&at).unwrap();
    fixture::write(&truth, &mut sink).unwrap();
    let folder = &truth.cells[1].entry.folder;
    let hlog = format!("cells/{folder}/latency.hlog");
    let whole = interval_log(folder, &truth.cells[1].rows).unwrap();
    for cut in (0..whole.len()).step_by(whole.len() / 20) {
        fs::write(at.join(format!("{hlog}.new")), &whole[..cut]).unwrap();
        let read = results::read::open(&at).unwrap();
        assert!(read.cells[1].rows == truth.cells[1].rows && read.complete());
        assert!(!at.join(&hlog).exists(), "a part never stands under the whole's name");
    }
    seal::seal(&at, folder).unwrap();
    assert_eq!(fs::read(at.join(&hlog)).unwrap(), whole);
    assert!(!at.join(format!("{hlog}.new")).exists());
}
