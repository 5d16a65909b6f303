//! Writing the parts of a result, each in its place, over any sink.

use serde::Serialize;

use crate::frames;
use crate::model::{CellRecord, CellState, Manifest, Row};
use crate::sink::{Sink, SinkError};
use crate::transcript::TranscriptEntry;

/// Path of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// Path of the experiment as given.
pub const EXPERIMENT: &str = "experiment.toml";
/// Path of the transcript.
pub const TRANSCRIPT: &str = "transcript.jsonl";
/// The folder of the cells.
pub const CELLS: &str = "cells";
/// The folder of the lab's own files.
pub const LAB: &str = "lab";
/// A cell's record, in its folder.
pub const CELL_RECORD: &str = "cell.json";
/// A cell's rows, in its folder.
pub const ROWS: &str = "rows.log";
/// A cell's latencies, in its folder, once it has ended.
pub const LATENCY: &str = "latency.hlog";

/// Name of a cell's folder below `cells/`: `07-plain-r4`. Characters of the variant's name other than letters,
/// digits, dots and dashes become dashes; the index keeps folders distinct.
pub fn cell_folder(index: usize, variant: &str, repeat: u32) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let name: String = variant.chars().map(safe).take(60).collect();
    format!("{index:02}-{}-r{repeat}", name.trim_matches(['-', '.']))
}

/// Writes the manifest. It comes first of all: without it a directory is not a result.
pub fn write_manifest(sink: &mut dyn Sink, manifest: &Manifest) -> Result<(), SinkError> {
    sink.put(MANIFEST, &pretty(MANIFEST, manifest)?)
}

/// Writes the experiment as it was given.
pub fn write_experiment(sink: &mut dyn Sink, toml: &str) -> Result<(), SinkError> {
    sink.put(EXPERIMENT, toml.as_bytes())
}

/// Adds one line to the transcript.
pub fn append_transcript(sink: &mut dyn Sink, entry: &TranscriptEntry) -> Result<(), SinkError> {
    let mut line = serde_json::to_vec(entry)
        .map_err(|source| SinkError::Encode { path: TRANSCRIPT.to_owned(), source })?;
    line.push(b'\n');
    sink.append(TRANSCRIPT, &line)
}

/// Writes a file of the lab (`console.log`, `kernel.log`).
pub fn write_lab_file(sink: &mut dyn Sink, name: &str, bytes: &[u8]) -> Result<(), SinkError> {
    sink.put(&format!("{LAB}/{name}"), bytes)
}

/// Writes one cell.
#[derive(Debug, Clone)]
pub struct CellWriter {
    folder: String,
}

impl CellWriter {
    /// Creates a writer for the cell in this folder below `cells/` ([`cell_folder`]).
    pub fn new(folder: &str) -> Self {
        Self { folder: format!("{CELLS}/{folder}") }
    }

    /// Adds rows.
    pub fn rows(&self, sink: &mut dyn Sink, rows: &[Row]) -> Result<(), SinkError> {
        let bytes: Vec<u8> = rows.iter().flat_map(frames::encode).collect();
        if bytes.is_empty() {
            Ok(())
        } else {
            sink.append(&format!("{}/{ROWS}", self.folder), &bytes)
        }
    }

    /// Writes the cell's record.
    pub fn record(&self, sink: &mut dyn Sink, record: &CellRecord) -> Result<(), SinkError> {
        let path = format!("{}/{CELL_RECORD}", self.folder);
        let bytes = pretty(&path, record)?;
        sink.put(&path, &bytes)
    }
}

impl CellState {
    /// Tells whether a cell in this state will not change any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Interrupted | Self::Skipped)
    }
}

fn pretty(path: &str, value: &impl Serialize) -> Result<Vec<u8>, SinkError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|source| SinkError::Encode { path: path.to_owned(), source })?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::cell_folder;

    #[test]
    fn folders_are_safe_and_stay_apart() {
        assert_eq!(cell_folder(7, "plain", 4), "07-plain-r4");
        assert_eq!(cell_folder(0, "400G, default cache", 1), "00-400G--default-cache-r1");
        assert_eq!(cell_folder(0, "../..", 1), "00--r1");
        assert_eq!(cell_folder(123, "a/b", 10), "123-a-b-r10");
        assert_ne!(cell_folder(1, "a b", 1), cell_folder(2, "a/b", 1));
    }
}
