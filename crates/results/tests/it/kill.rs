//! A result cut off at any moment is readable and says that it is incomplete.

use std::collections::BTreeMap;
use std::path::Path;

use results::model::Row;
use results::read::{ReadError, ResultSet, open};
use results::seal;
use results::sink::{DirSink, Sink, SinkError};

/// Every operation in order.
#[derive(Default)]
struct Tape(Vec<(bool, String, Vec<u8>)>);

impl Sink for Tape {
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError> {
        self.0.push((true, path.to_owned(), bytes.to_vec()));
        Ok(())
    }
    fn append(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError> {
        self.0.push((false, path.to_owned(), bytes.to_vec()));
        Ok(())
    }
}

/// Makes the directory that a kill leaves after `whole` operations and `part` bytes of the next one.
fn cut(tape: &Tape, whole: usize, part: usize, dir: &Path) {
    let mut sink = DirSink::create(dir).unwrap();
    let play = |sink: &mut dyn Sink, (put, path, bytes): &(bool, String, Vec<u8>)| {
        if *put { sink.put(path, bytes) } else { sink.append(path, bytes) }.unwrap();
    };
    for operation in &tape.0[..whole] {
        play(&mut sink, operation);
        let folder = operation.1.strip_prefix("cells/").and_then(|p| p.strip_suffix("/cell.json"));
        folder.iter().for_each(|folder| assert_eq!(seal(dir, folder).unwrap(), []));
    }
    if let Some((put, path, bytes)) = tape.0.get(whole) {
        // A replacement that was cut off is a file beside the old one.
        let path = if *put { format!("{path}.new") } else { path.clone() };
        play(&mut sink, &(false, path, bytes[..part.min(bytes.len())].to_vec()));
    }
}

fn nothing_false(read: &ResultSet, truth: &ResultSet) {
    for (cell, true_cell) in read.cells.iter().zip(&truth.cells) {
        assert!(cell.rows == true_cell.rows[..cell.rows.len()], "a row that was never written");
        if let Some(record) = &cell.record {
            assert!(Some(record) == true_cell.record.as_ref(), "a record that was never written");
        }
    }
    assert_eq!(read.transcript, truth.transcript[..read.transcript.len()]);
}

#[test]
fn a_result_cut_off_at_fifty_random_moments_is_readable_and_says_that_it_is_incomplete() {
    let truth = fixture::with(2, 40_000.0);
    let mut tape = Tape::default();
    fixture::write(&truth, &mut tape).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut dice = units::Seed(1).generator();
    let mut cells_read = BTreeMap::new();
    for moment in 0..50 {
        let whole = 1 + dice.below(tape.0.len() as u64 - 1) as usize;
        let part = dice.below(tape.0[whole].2.len() as u64) as usize;
        let at = dir.path().join(moment.to_string());
        cut(&tape, whole, part, &at);
        let read = open(&at).unwrap_or_else(|e| panic!("after {whole} + {part} bytes: {e}"));
        assert!(read.incomplete.as_ref().unwrap().contains("killed"), "{:?}", read.incomplete);
        nothing_false(&read, &truth);
        *cells_read.entry(read.cells.iter().filter(|c| c.done()).count()).or_insert(0) += 1;
    }
    assert!(cells_read.len() > 2, "the moments were spread over the run: {cells_read:?}");
}

#[test]
fn a_kill_before_the_manifest_leaves_what_is_named_empty() {
    let mut tape = Tape::default();
    fixture::write(&fixture::with(1, 40_000.0), &mut tape).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    cut(&tape, 0, 100, &at);
    let error = open(&at).unwrap_err();
    assert!(matches!(error, ReadError::Empty(_)), "{error}");
    assert!(error.to_string().contains("remove it and run again"));
}

#[test]
fn a_cell_that_was_cut_off_gives_what_its_rows_tell() {
    let truth = fixture::with(1, 40_000.0);
    let mut tape = Tape::default();
    fixture::write(&truth, &mut tape).unwrap();
    let record = tape.0.iter().position(|(_, path, _)| path.ends_with("cell.json")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    cut(&tape, record, 0, &at);
    let read = open(&at).unwrap();
    let cell = &read.cells[0];
    assert!(cell.record.is_none() && !cell.done());
    let stage = &cell.recovered[1];
    assert_eq!((stage.name.as_deref(), stage.measured), (Some("random-write"), Some(true)));
    let whole = truth.cells[0].record.as_ref().unwrap().stages[1].load.as_ref().unwrap();
    let (found, expected) = (&stage.operations["randwrite"], &whole.operations["randwrite"]);
    assert!(found == expected, "the load's figures come from its rows");
    assert_eq!(found.ios, fixture::BLOCKS);
    let rows = cell.rows.iter().filter(|row| matches!(row, Row::Interval(_))).count();
    assert!(rows > 2);
    assert!(read.incomplete.unwrap().contains("1 cut off while running, 1 not begun"));
}
