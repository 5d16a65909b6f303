//! Sealing a cell: once it has ended, `latency.hlog` is made from its rows.
//!
//! An HDR interval log holds one line per operation and interval, tagged with the operation, and opens in any
//! HdrHistogram tool. It is made from `rows.log` by the process that writes the directory; the rows are kept.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{self, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};

use crate::frames::{self, Damage};
use crate::histogram::{self, HistogramError};
use crate::model::{IntervalRow, Row, StageEdge};
use crate::sink::{SinkError, replace_by};
use crate::writer::{CELLS, LATENCY, ROWS};

/// Nanoseconds per millisecond. Latencies are stored in nanoseconds; the readable maximum of a line is in milliseconds, by convention.
const NANOS_PER_MILLI: f64 = 1e6;

/// Description of the moment from which the times of a cell's rows count.
pub const EPOCH: &str = "the epoch of the run, see manifest.json";

/// The reason why a cell could not be sealed. Its rows are untouched: nothing is lost.
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

/// Makes `latency.hlog` of the cell in `cells/<folder>` from its rows, atomically, and returns which rows were
/// lost to damage. A cell without rows gets none. Sealing again gives the same file. Neither file is ever held in memory.
pub fn seal(root: &Path, folder: &str) -> Result<Vec<Damage>, SealError> {
    let cell = root.join(CELLS).join(folder);
    let (from, to) = (cell.join(ROWS), cell.join(LATENCY));
    let mut rows = match sys::input::open(&from) {
        Ok(rows) => rows,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(SealError::Read { path: from, source }),
    };
    let sealed = replace_by(&to, |file| -> Result<_, LogError> {
        let mut out = BufWriter::new(file);
        let damage = interval_log(folder, &mut rows, &mut out)?;
        out.flush()?;
        Ok(damage)
    });
    sealed.map_err(|error| match error {
        LogError::Read(source) => SealError::Read { path: from, source },
        LogError::Write(source) => SealError::Write(SinkError::Write { path: to, source }),
        LogError::Histogram(error) => error.into(),
        LogError::Make(why) => SealError::Log { cell: folder.to_owned(), why },
    })
}

/// The reason why an interval log was not made.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The rows could not be read.
    #[error("Cannot read the rows")]
    Read(#[source] io::Error),
    /// The log could not be written.
    #[error("Cannot write the log")]
    Write(#[from] io::Error),
    /// A histogram of a row could not be read.
    #[error(transparent)]
    Histogram(#[from] HistogramError),
    /// A histogram could not be written; the codec's error.
    #[error("{0}")]
    Make(String),
}

impl<E: Debug> From<IntervalLogWriterError<E>> for LogError {
    fn from(error: IntervalLogWriterError<E>) -> Self {
        match error {
            IntervalLogWriterError::IoError(error) => Self::Write(error),
            IntervalLogWriterError::SerializeError(error) => Self::Make(format!("{error:?}")),
        }
    }
}

/// An error that ends reading, kept apart from errors of writing.
struct Unread(LogError);

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self(LogError::Read(error))
    }
}

/// Writes the interval log of a log of rows, and returns the damage in the latter. It is read twice, as a stage's name may follow its rows.
pub fn interval_log(
    cell: &str,
    rows: &mut (impl Read + Seek),
    out: &mut impl Write,
) -> Result<Vec<Damage>, LogError> {
    let mut tags = Tags::default();
    let edge = |row| {
        tags.note(&row);
        Ok::<_, Unread>(())
    };
    frames::each(&mut *rows, edge).map_err(|Unread(error)| error)?;
    rows.rewind().map_err(LogError::Read)?;
    let mut codec = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment(&format!("[Fathom: latencies of cell {cell}, values in nanoseconds]"))
        .add_comment(&format!("[Times are seconds since {EPOCH}]"))
        .with_base_time(std::time::UNIX_EPOCH)
        .with_max_value_divisor(NANOS_PER_MILLI);
    let mut log = builder.begin_log_with(out, &mut codec)?;
    let mut line = |row: &IntervalRow| -> Result<(), LogError> {
        let Some(text) = &row.histogram else { return Ok(()) };
        let latencies = histogram::decode(text)?;
        let name = tags.operation_of(row);
        let start = Duration::from_nanos(row.start_ns);
        let length = Duration::from_nanos(row.end_ns.saturating_sub(row.start_ns));
        Ok(log.write_histogram(&latencies, start, length, Tag::new(&name))?)
    };
    let each = |row| match row {
        Row::Interval(row) => line(&row).map_err(Unread),
        _ => Ok(()),
    };
    frames::each(rows, each).map_err(|Unread(error)| error)
}

/// The names by which an interval log distinguishes a cell's operations.
#[derive(Debug, Default)]
pub struct Tags {
    /// Every stage, by its index.
    edges: BTreeMap<usize, StageEdge>,
}

impl Tags {
    /// Takes a row into account: stages are named by rows of their own.
    pub fn note(&mut self, row: &Row) {
        if let Row::Stage(edge) = row {
            self.edges.insert(edge.stage, edge.clone());
        }
    }

    /// Returns the tag of a row: in the only measured stage the operation's name; where there are several, and in other stages, with the
    /// stage's name before it, so that preparation does not mix with what was measured.
    pub fn operation_of(&self, row: &IntervalRow) -> String {
        let alone = self.edges.values().filter(|edge| edge.measured).count() == 1;
        let name = match self.edges.get(&row.stage) {
            Some(edge) if edge.measured && alone => row.operation.clone(),
            Some(edge) => format!("{}:{}", edge.name, row.operation),
            None => format!("stage-{}:{}", row.stage, row.operation),
        };
        name.replace([',', ' ', '\r', '\n'], "-")
    }
}
