//! The logs that a load may write beside its summary.

use std::fs::File;
use std::io::{BufWriter, Read};
use std::path::{Path, PathBuf};

use results::hlog::IntervalLog;
use results::model::IntervalRow;

use crate::failure::Failure;

/// The latencies of every interval, written as they come.
pub struct LatencyLog {
    path: PathBuf,
    log: Option<IntervalLog<BufWriter<File>>>,
}

impl LatencyLog {
    /// Begins the log of a load on `what`.
    pub fn create(path: &Path, what: &str) -> Result<Self, Failure> {
        let refused = |error: std::io::Error| {
            Failure::usage(format!("--latency-log {} cannot be written: {error}", path.display()))
                .with_help("name a file in a directory that you may write to")
        };
        let file = File::create(path).map_err(refused)?;
        let log = IntervalLog::begin(BufWriter::new(file), what).map_err(refused)?;
        Ok(Self { path: path.to_owned(), log: Some(log) })
    }

    /// Adds the rows of an interval. The error is told once, and ends the log; the load goes on.
    pub fn add(&mut self, rows: &[IntervalRow]) -> Option<String> {
        let log = self.log.as_mut()?;
        let added = rows.iter().try_for_each(|row| log.add(row)).and_then(|()| log.flush());
        let error = added.err()?;
        self.log = None;
        Some(format!("The latency log {} ends here: {error}", self.path.display()))
    }
}

/// Refuses a log where something else is: only a log that Fathom wrote (its files begin with `mark`) is replaced, and
/// never a target.
pub fn check(option: &str, path: &Path, mark: &[u8], targets: &[PathBuf]) -> Result<(), Failure> {
    let at = path.display();
    if !path.parent().is_none_or(|dir| dir == Path::new("") || dir.is_dir()) {
        return Err(Failure::usage(format!("{option} {at} cannot be made"))
            .with_help("its directory is not there: make it first"));
    }
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    let same = |target: &PathBuf| {
        let whole = |p: &Path| std::fs::canonicalize(p).ok();
        whole(target).is_some_and(|target| whole(path) == Some(target))
    };
    if targets.iter().any(same) {
        return Err(Failure::usage(format!("{option} {at} is the target itself"))
            .with_help("name another file"));
    }
    let mut start = vec![0; mark.len()];
    let ours = found.is_file()
        && (found.len() == 0
            || File::open(path).and_then(|mut f| f.read_exact(&mut start)).is_ok()
                && start == mark);
    if ours {
        return Ok(());
    }
    Err(Failure::refused(format!("{option} {at} is there already, and is no such log"))
        .with_help("name another file, or remove it"))
}
