//! Sealing: what is made of a cell's rows once it has ended, `latency.hlog`.
//!
//! An HDR interval log holds one line per operation and interval, tagged with the operation, and opens in
//! any HdrHistogram tool. It is made from `rows.log` by whoever owns the directory, and replaces nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use crate::frames::{self, Damage};
use crate::histogram::{self, HistogramError};
use crate::model::{IntervalRow, Row, StageEdge};
use crate::sink::{SinkError, replace};
use crate::writer::{CELLS, LATENCY, ROWS};

/// Latencies are stored in nanoseconds; the readable maximum of a line is in milliseconds, as is the custom.
const NANOS_PER_MILLI: f64 = 1e6;

/// Why a cell could not be sealed. Its rows are untouched: nothing is lost.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// A file could not be read.
    #[error("Cannot read {path} to seal the cell; its rows are left as they are")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A histogram of a row could not be read.
    #[error(transparent)]
    Histogram(#[from] HistogramError),
    /// The interval log could not be made.
    #[error("Cannot make the latency log of {cell}: {why}; its rows are left as they are")]
    Log {
        /// The cell's folder.
        cell: String,
        /// The codec's error.
        why: String,
    },
    /// The log could not be written.
    #[error(transparent)]
    Write(#[from] SinkError),
}

/// Makes `latency.hlog` of the cell in `cells/<folder>` from its rows, atomically, and says which rows were
/// lost to damage. A cell without rows gets none. Sealing again gives the same file.
pub fn seal(root: &Path, folder: &str) -> Result<Vec<Damage>, SealError> {
    let cell = root.join(CELLS).join(folder);
    let path = cell.join(ROWS);
    let log = match sys::input::read(&path, u64::MAX) {
        Ok(log) => log,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(SealError::Read { path, source }),
    };
    let (rows, damage) = frames::read(&log);
    let bytes = interval_log(folder, &rows)?;
    replace(&cell.join(LATENCY), &bytes)?;
    Ok(damage)
}

/// The interval log of `rows`.
pub fn interval_log(cell: &str, rows: &[Row]) -> Result<Vec<u8>, SealError> {
    let broken = |why: String| SealError::Log { cell: cell.to_owned(), why };
    let mut edges = BTreeMap::new();
    for row in rows {
        if let Row::Stage(edge) = row {
            edges.insert(edge.stage, edge);
        }
    }
    let mut bytes = Vec::new();
    let mut codec = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment(&format!("[Fathom: latencies of cell {cell}, values in nanoseconds]"))
        .add_comment("[Times are seconds since the epoch of the run, see manifest.json]")
        .with_base_time(std::time::UNIX_EPOCH)
        .with_max_value_divisor(NANOS_PER_MILLI);
    let mut log =
        builder.begin_log_with(&mut bytes, &mut codec).map_err(|e| broken(e.to_string()))?;
    for row in rows {
        let Row::Interval(row) = row else { continue };
        let Some(text) = &row.histogram else { continue };
        let latencies = histogram::decode(text)?;
        let name = tag(row, edges.get(&row.stage).copied());
        let start = Duration::from_nanos(row.start_ns);
        let length = Duration::from_nanos(row.end_ns.saturating_sub(row.start_ns));
        log.write_histogram(&latencies, start, length, Tag::new(&name))
            .map_err(|e| broken(format!("{e:?}")))?;
    }
    Ok(bytes)
}

/// The operation's name in measured stages; with the stage's name before it in others, so that what was
/// only preparation does not mix with what was measured.
fn tag(row: &IntervalRow, edge: Option<&StageEdge>) -> String {
    let name = match edge {
        Some(edge) if edge.measured => row.operation.clone(),
        Some(edge) => format!("{}:{}", edge.name, row.operation),
        None => format!("stage-{}:{}", row.stage, row.operation),
    };
    name.replace([',', ' ', '\r', '\n'], "-")
}
