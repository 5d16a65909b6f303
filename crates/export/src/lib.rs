//! Exports a result as tables (CSV, JSON lines, Parquet), as interval logs of HdrHistogram, and as JSON in fio's format.
//!
//! A table is data: its name, its columns, and a function that yields its rows one by one. A format consumes rows one by one. So a table is
//! never completely in memory, and formats do not depend on particular tables.
#![forbid(unsafe_code)]

mod columns;
mod delimited;
pub mod fio;
mod lines;
mod over_time;
mod parquets;
mod table;
mod tables;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use results::ResultSet;
use results::hlog::IntervalLog;
use results::model::Row;
use results::seal::{EPOCH, Tags};

pub use table::{Column, Kind, Table, Value};
pub use tables::TABLES;

use table::Begin;

/// A file format that other programs read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One file per table, RFC 4180.
    Csv,
    /// One file per table, with one JSON object per line.
    Jsonl,
    /// One file per table, compressed with zstd.
    Parquet,
    /// One file per cell: its latencies as an interval log of HdrHistogram.
    Hlog,
    /// One file per cell: its loads in the format of fio's `json+`.
    FioJson,
}

/// The reason why a result cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The system refused.
    #[error("Cannot write {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Nothing in the result can be exported in this format.
    #[error("{0}")]
    Nothing(String),
}

/// A file that was made.
#[derive(Debug, PartialEq, Eq)]
pub struct Made {
    /// Its name in the folder.
    pub name: String,
    /// The number of rows of a table, of lines of a log, of loads of a JSON file.
    pub rows: u64,
    /// Things that the format cannot express, in sentences.
    pub left_out: Vec<String>,
}

/// Writes `set` into `folder`, an existing empty directory, and returns the files made; `on` is called with each file when it is done.
///
/// # Errors
/// When a file cannot be written, or nothing in the result can be exported in this format.
pub fn export(
    set: &ResultSet,
    format: Format,
    folder: &Path,
    mut on: impl FnMut(&Made),
) -> Result<Vec<Made>, ExportError> {
    let mut made = Vec::new();
    let mut done = |one: Made| {
        on(&one);
        made.push(one);
    };
    match format {
        Format::Csv | Format::Jsonl | Format::Parquet => {
            for table in TABLES {
                done(write_table(set, table, format, folder)?);
            }
        }
        Format::Hlog | Format::FioJson => {
            for cell in &set.cells {
                let name = &cell.entry.folder;
                let one = match format {
                    Format::Hlog => interval_log(cell, folder, &format!("{name}.hlog"))?,
                    _ => fio_file(set, cell, folder, &format!("{name}.json"))?,
                };
                one.into_iter().for_each(&mut done);
            }
            if made.is_empty() {
                let what = "no cell of this result has a load that was measured";
                return Err(ExportError::Nothing(what.to_owned()));
            }
        }
    }
    Ok(made)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> ExportError {
    |source| ExportError::Io { path: path.to_owned(), source }
}

fn create(path: &Path) -> Result<BufWriter<File>, ExportError> {
    File::create_new(path).map(BufWriter::new).map_err(failed(path))
}

fn write_table(
    set: &ResultSet,
    table: &'static Table,
    format: Format,
    folder: &Path,
) -> Result<Made, ExportError> {
    let (ending, begin): (_, Begin) = match format {
        Format::Jsonl => ("jsonl", lines::begin),
        Format::Parquet => ("parquet", parquets::begin),
        _ => ("csv", delimited::begin),
    };
    let name = format!("{}.{ending}", table.name);
    let path = folder.join(&name);
    let mut rows = begin(create(&path)?, table).map_err(failed(&path))?;
    let mut count = 0;
    (table.rows)(set, &mut |row| {
        count += 1;
        rows.row(row)
    })
    .map_err(failed(&path))?;
    rows.end().map_err(failed(&path))?;
    Ok(Made { name, rows: count, left_out: Vec::new() })
}

fn interval_log(
    cell: &results::CellData,
    folder: &Path,
    name: &str,
) -> Result<Option<Made>, ExportError> {
    let intervals = cell.rows.iter().filter_map(|row| match row {
        Row::Interval(row) if row.histogram.is_some() => Some(row),
        _ => None,
    });
    if intervals.clone().next().is_none() {
        return Ok(None);
    }
    let path = folder.join(name);
    let entry = &cell.entry;
    let what = format!("{}, repeat {}", entry.variant, entry.repeat);
    let mut tags = Tags::default();
    cell.rows.iter().for_each(|row| tags.note(row));
    let mut log = IntervalLog::begin(create(&path)?, &what, EPOCH).map_err(failed(&path))?;
    let mut rows = 0;
    for row in intervals {
        rows += 1;
        log.add_as(row, &tags.operation_of(row)).map_err(failed(&path))?;
    }
    log.flush().map_err(failed(&path))?;
    Ok(Some(Made { name: name.to_owned(), rows, left_out: Vec::new() }))
}

fn fio_file(
    set: &ResultSet,
    cell: &results::CellData,
    folder: &Path,
    name: &str,
) -> Result<Option<Made>, ExportError> {
    let Some((value, left_out)) = fio::json_plus(set, cell) else { return Ok(None) };
    let rows = value["jobs"].as_array().map_or(0, |jobs| jobs.len() as u64);
    let path = folder.join(name);
    let mut file = create(&path)?;
    serde_json::to_writer_pretty(&mut file, &value)
        .map_err(io::Error::from)
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.flush())
        .map_err(failed(&path))?;
    Ok(Some(Made { name: name.to_owned(), rows, left_out }))
}

#[cfg(test)]
mod tests;
