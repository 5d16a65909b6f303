//! Tests of what `open` returns, and of its errors.

use std::fs;

use results::model::{CellState, ResumeFacts};
use results::read::{ReadError, open};
use results::sink::DirSink;

#[test]
fn a_result_is_read_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    let mut truth = fixture::with(2, 7_600.0);
    fixture::write(&truth, &mut DirSink::create(&at).unwrap()).unwrap();
    results::checksums::write(&at).unwrap();
    let read = open(&at).unwrap();
    truth.path.clone_from(&at);
    assert!(read.complete());
    assert!(read == truth, "every row, record and fact");
    let repeats: Vec<_> = read.cells_of("vdo").map(|cell| cell.entry.repeat).collect();
    assert_eq!(repeats, [1, 2]);
}

#[test]
fn what_is_no_result_is_named_with_what_one_is() {
    let dir = tempfile::tempdir().unwrap();
    let missing = open(&dir.path().join("nothing")).unwrap_err();
    assert!(matches!(missing, ReadError::Missing(_)), "{missing}");
    assert!(missing.to_string().contains("nothing"));
    fs::write(dir.path().join("holiday.jpg"), b"").unwrap();
    let other = open(dir.path()).unwrap_err();
    assert!(matches!(other, ReadError::NotAResult(_)), "{other}");
    assert!(other.to_string().contains("holds no manifest.json"));
    let file = open(&dir.path().join("holiday.jpg")).unwrap_err();
    assert!(matches!(file, ReadError::NotAResult(_)), "{file}");
}

#[test]
fn a_later_layout_is_refused_with_the_version_that_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = r#"{"schema": 7, "tool_version": "9.1.0", "cells": "other"}"#;
    fs::write(dir.path().join("manifest.json"), manifest).unwrap();
    let error = open(dir.path()).unwrap_err();
    assert!(matches!(error, ReadError::Newer { found: 7, .. }), "{error}");
    assert!(error.to_string().contains("read it with fathom 9.1.0 or later"), "{error}");
}

#[test]
fn a_damaged_manifest_is_not_taken_for_another_kind_of_directory() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("manifest.json"), "{\"schema\": 1").unwrap();
    assert!(matches!(open(dir.path()), Err(ReadError::Manifest { .. })));
}

#[test]
fn a_failed_cell_a_lost_record_and_damaged_rows_make_a_result_incomplete() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    let mut truth = fixture::with(2, 40_000.0);
    let reason = "the guest crashed".to_owned();
    truth.cells[1].entry.state = CellState::Failed;
    truth.cells[1].entry.reason = Some(reason.clone());
    truth.cells[1].record = None;
    truth.manifest.cells[1] = truth.cells[1].entry.clone();
    fixture::write(&truth, &mut DirSink::create(&at).unwrap()).unwrap();
    let folder = |i: usize| at.join("cells").join(&truth.cells[i].entry.folder);
    fs::write(folder(0).join("cell.json"), "{").unwrap();
    let rows = folder(2).join("rows.log");
    let mut log = fs::read(&rows).unwrap();
    log[100] ^= 1;
    fs::write(&rows, log).unwrap();
    let read = open(&at).unwrap();
    assert_eq!(
        read.incomplete.unwrap(),
        "2 of 4 cells give no figures: 1 failed (the guest crashed), 1 without a readable record; \
         rows are damaged in 1 places"
    );
    assert_eq!(read.cells[1].reason(), Some(reason.as_str()));
    assert!(!read.cells[0].recovered.is_empty(), "its rows still describe it");
    assert!(read.cells[3].done());
}

#[test]
fn the_cell_that_was_stopped_is_told_from_those_that_never_began() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    let mut truth = fixture::with(2, 40_000.0);
    for index in 1..4 {
        let first = index == 1;
        let reason = if first { "stopped by the user" } else { "stopped before it began" };
        let cell = &mut truth.cells[index];
        cell.entry.state = CellState::Interrupted;
        cell.entry.reason = Some(reason.to_owned());
        match cell.record.as_mut().filter(|_| first) {
            Some(record) => record.state = CellState::Interrupted,
            None => cell.record = None,
        }
        // Of the last only the record is lost.
        if index == 2 {
            cell.rows.clear();
        }
        truth.manifest.cells[index] = truth.cells[index].entry.clone();
    }
    fixture::write(&truth, &mut DirSink::create(&at).unwrap()).unwrap();
    let incomplete = open(&at).unwrap().incomplete.unwrap();
    let wanted = "3 of 4 cells give no figures: 2 interrupted (stopped by the user), 1 not begun";
    assert!(incomplete.starts_with(wanted), "{incomplete}");
}

#[test]
fn a_cell_whose_guest_died_failed_whatever_its_own_record_says() {
    let mut cell = fixture::with(1, 40_000.0).cells.remove(0);
    assert!(cell.done());
    cell.entry.state = CellState::Running;
    assert!(cell.done(), "the record was written before the manifest");
    for recorded in [CellState::Running, CellState::Done] {
        cell.record.as_mut().unwrap().state = recorded;
        cell.entry.state = CellState::Failed;
        assert!(cell.state() == CellState::Failed && !cell.done());
    }
    cell.record.as_mut().unwrap().state = CellState::Running;
    cell.entry.state = CellState::Done;
    assert!(!cell.done(), "there is no record of its end");
}

#[test]
fn a_figure_that_a_cell_lacks_is_a_loss_unless_another_version_went_on_with_the_run() {
    let mut truth = fixture::with(2, 40_000.0);
    let (run_id, version) = (truth.manifest.run_id.clone(), truth.manifest.tool_version.clone());
    for record in truth.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        record.run_id = Some(run_id.clone());
        let layers = record.layers.clone();
        let measured = record.stages.iter_mut().filter(|stage| stage.measured);
        measured.for_each(|stage| stage.layers.clone_from(&layers));
    }
    let of_vdo = truth.cells.iter_mut().find(|cell| cell.entry.variant == "vdo").unwrap();
    let stages = of_vdo.record.iter_mut().flat_map(|record| &mut record.stages);
    let figures = stages.flat_map(|stage| stage.layers.values_mut()).next().unwrap();
    assert!(figures.pop_first().is_some());
    let mut lacks = |tool_version: Option<&str>| {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("r");
        let (started_utc, command) = ("2026-11-21T12:00:00Z".to_owned(), Vec::new());
        let tool_version = tool_version.map(str::to_owned);
        truth.manifest.resumed = vec![ResumeFacts { started_utc, command, kept: 3, tool_version }];
        fixture::write(&truth, &mut DirSink::create(&at).unwrap()).unwrap();
        open(&at).unwrap().incomplete.is_some_and(|why| why.contains("figures of"))
    };
    assert!(lacks(Some(&version)));
    assert!(!lacks(Some("0.0.1")) && !lacks(None));
}

#[test]
fn a_copy_of_a_cell_under_the_names_of_another_is_told_by_its_times() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    let mut result = fixture::with(2, 7_600.0);
    // In virtual time all cells take place at the same times.
    result.manifest.simulated = false;
    for (place, cell) in result.cells.iter_mut().enumerate() {
        cell.record.as_mut().unwrap().end_ns = Some(1_000_000_000_000 + place as u64);
    }
    let (of, to) = (0, result.cells.len() - 1);
    let copy = result.cells[of].record.clone().unwrap();
    let record = result.cells[to].record.as_mut().unwrap();
    let names = record.clone();
    *record = copy;
    (record.index, record.variant, record.repeat, record.seed) =
        (names.index, names.variant, names.repeat, names.seed);
    result.cells[to].rows = result.cells[of].rows.clone();
    fixture::write(&result, &mut DirSink::create(&at).unwrap()).unwrap();
    results::checksums::write(&at).unwrap();
    let read = open(&at).unwrap();
    assert!(read.cells[of].record.is_some() && read.cells[to].record.is_none());
    let seal = format!("{:?}", read.seal);
    assert!(seal.contains("has the times of cell"), "{seal}");
}

#[test]
fn no_file_is_read_further_than_a_run_can_have_written_it_and_each_that_is_longer_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    fixture::write(&fixture::with(2, 7_600.0), &mut DirSink::create(&at).unwrap()).unwrap();
    let cell = open(&at).unwrap().manifest.cells[0].folder.clone();
    fs::create_dir_all(at.join("lab")).unwrap();
    fs::write(at.join("lab/console.log"), "x").unwrap();
    let record = format!("cells/{cell}/cell.json");
    for (name, size, most) in [
        ("experiment.toml", 300 << 20, "1 MiB"),
        ("transcript.jsonl", 20 << 30, "256 MiB"),
        (&record, 20 << 30, "256 MiB"),
        ("lab/console.log", 20 << 30, "256 MiB"),
    ] {
        let (path, kept) = (at.join(name), fs::read(at.join(name)).unwrap());
        // Nothing but a hole: it takes no space.
        fs::File::options().write(true).open(&path).unwrap().set_len(size).unwrap();
        let read = open(&at).unwrap();
        let incomplete = read.incomplete.unwrap();
        let wanted = format!("a file is longer than {most}, the most that is read of it ({name})");
        assert!(incomplete.contains(&wanted), "{incomplete}");
        assert!(read.experiment_toml.is_none_or(|text| text.len() < 1 << 20));
        fs::write(&path, kept).unwrap();
    }
    assert!(open(&at).unwrap().complete());
    let manifest = at.join("manifest.json");
    fs::File::options().write(true).open(&manifest).unwrap().set_len(20 << 30).unwrap();
    let Err(ReadError::Io { path, source }) = open(&at) else { panic!("it is read") };
    assert_eq!(path, manifest);
    assert!(source.to_string().contains("longer than 256 MiB"), "{source}");
}

#[test]
fn a_run_that_goes_on_is_told_from_one_that_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    let mut truth = fixture::with(2, 7_600.0);
    truth.manifest.outcome = None;
    let mut held = DirSink::create(&at).unwrap();
    fixture::write(&truth, &mut held).unwrap();
    let expect = |why: &str| {
        let incomplete = open(&at).unwrap().incomplete.unwrap();
        assert!(incomplete.contains(why), "{incomplete}");
    };
    expect("the run still goes on");
    drop(held);
    expect("the run was killed, or this is a copy from before its end");
}
