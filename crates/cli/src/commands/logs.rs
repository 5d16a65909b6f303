//! The logs that a load may write in addition to its summary.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use results::draft::Draft;
use results::hlog::IntervalLog;
use results::model::IntervalRow;

use crate::failure::Failure;
use crate::outputs::Output;

/// The latencies of every interval, written as they come.
pub struct LatencyLog {
    path: PathBuf,
    /// The new file; until the load begins, an earlier file at `path` stays there.
    draft: Option<Draft>,
    log: Option<IntervalLog<BufWriter<File>>>,
}

impl LatencyLog {
    /// Begins the log of a load on `what`.
    pub fn create(output: &Output, what: &str) -> Result<Self, Failure> {
        let refused = |error: std::io::Error| output.not_written(&error);
        let draft = output.begin()?;
        let file = BufWriter::new(draft.file().try_clone().map_err(refused)?);
        let since = "the load was prepared";
        let mut log = IntervalLog::begin(file, what, since).map_err(refused)?;
        log.flush().map_err(refused)?;
        Ok(Self { path: output.path.to_owned(), draft: Some(draft), log: Some(log) })
    }

    /// Puts the log in its place when the load begins.
    pub fn place(&mut self) -> Option<String> {
        let error = self.draft.take()?.finish().err()?;
        self.end_text(&error)
    }

    /// Adds the rows of an interval. The first error is returned and ends the log; the load goes on.
    pub fn add(&mut self, rows: &[IntervalRow]) -> Option<String> {
        let log = self.log.as_mut()?;
        let added = rows.iter().try_for_each(|row| log.add(row)).and_then(|()| log.flush());
        let error = added.err()?;
        self.end_text(&error)
    }

    fn end_text(&mut self, error: &std::io::Error) -> Option<String> {
        self.log = None;
        Some(format!("The latency log {} ends here: {error}", self.path.display()))
    }
}
