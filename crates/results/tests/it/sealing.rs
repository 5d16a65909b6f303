//! The HDR interval log of a sealed cell.

use std::collections::BTreeMap;
use std::fs;

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use results::sink::{DirSink, Sink};
use results::{histogram, model::Row, seal};

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
    let error = seal::interval_log("c", &rows).unwrap_err().to_string();
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
    let whole = seal::interval_log(folder, &truth.cells[1].rows).unwrap();
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
