//! The specification of a file-tree load.

use serde::{Deserialize, Serialize};

use crate::{Distribution, Layout, Mix, Size, TreeError, TreeOp};

/// The names that operations work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pick {
    /// Any name of the range, whether it has a file or not: misses count as outcomes, and the population reaches an equilibrium.
    #[default]
    Any,
    /// Names that have a file; for new files, names that have none.
    Live,
}

/// A load of a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeSpec {
    /// Operations and their weights.
    pub ops: Mix,
    /// Number of possible file names.
    pub files: u64,
    /// Levels of directories.
    pub levels: u32,
    /// Number of directories in each directory.
    pub dirs: u32,
    /// Bytes of a new file, and bytes that an operation reads or writes.
    pub size: Size,
    /// Bytes of a request.
    pub record: Size,
    /// The names that operations work on.
    #[serde(default)]
    pub pick: Pick,
    /// The distribution from which names are drawn.
    #[serde(default = "uniform")]
    pub distribution: Distribution,
    /// Number of workers that the range is divided among.
    pub workers: u32,
    /// Percentage of writing operations after which the file is made durable by fsync.
    #[serde(default)]
    pub fsync_percent: f64,
    /// The same for fdatasync, as a percentage of those without an fsync.
    #[serde(default)]
    pub fdatasync_percent: f64,
}

fn uniform() -> Distribution {
    Distribution::Uniform
}

/// Most indices that a name has room for.
const MOST_FILES: u64 = 1_000_000_000;
/// Most directories at the lowest level.
const MOST_LEAVES: u64 = 1 << 24;

impl TreeSpec {
    /// The shape of the tree.
    pub fn layout(&self) -> Layout {
        Layout::new(self.files, self.levels, self.dirs)
    }

    /// Number of names in a worker's part of the range.
    pub fn names_of(&self, worker: u32) -> u32 {
        let (all, workers) = (self.files, u64::from(self.workers.max(1)));
        (all.saturating_sub(u64::from(worker)).div_ceil(workers)) as u32
    }

    /// The operations in the order of the mix, followed by the calls that make files durable after others.
    pub fn operations(&self) -> Vec<TreeOp> {
        let mut all: Vec<_> =
            self.ops.weights().filter(|(_, weight)| *weight > 0.0).map(|(op, _)| op).collect();
        let after =
            [(self.fsync_percent, TreeOp::Fsync), (self.fdatasync_percent, TreeOp::Fdatasync)];
        for (percent, op) in after {
            if percent > 0.0 && !all.contains(&op) {
                all.push(op);
            }
        }
        all
    }

    /// Checks that the load can be run.
    ///
    /// # Errors
    /// Fails if it cannot: with the key, the mistake and the remedy.
    pub fn validate(&self) -> Result<(), TreeError> {
        self.ops.validate()?;
        let percent = |percent: f64| (0.0..=100.0).contains(&percent);
        let (files, workers) = (self.files, self.workers);
        let wrong = [
            (
                files == 0 || files > MOST_FILES,
                "files",
                format!("a tree cannot have {files} names"),
                "take 1 to 1,000,000,000",
            ),
            (
                workers == 0 || u64::from(workers) > files,
                "workers",
                format!("{workers} workers cannot share {files} names"),
                "each needs a name of its own: take fewer workers or more names",
            ),
            (
                self.levels > 8 || self.dirs == 0 || self.layout().leaves() > MOST_LEAVES,
                "levels",
                format!("{} levels of {} directories cannot be made", self.levels, self.dirs),
                "take at most 8 levels and 16,777,216 directories at the lowest one",
            ),
            (
                !self.size.is_valid() || !self.record.is_valid(),
                "size",
                format!("sizes cannot be {} and {}", self.size, self.record),
                "take at least 1 byte, as in size = \"4k-64k\", record = \"4k\"",
            ),
            (
                !self.distribution.is_valid(),
                "distribution",
                format!("names cannot be drawn by {}", self.distribution),
                "write uniform, zipf:EXPONENT or gaussian:SIGMA:VELOCITY:AHEAD",
            ),
            (
                !percent(self.fsync_percent) || !percent(self.fdatasync_percent),
                "fsync_percent",
                format!("{} % and {} % are not shares", self.fsync_percent, self.fdatasync_percent),
                "take 0 to 100",
            ),
            (
                self.ops.has(TreeOp::Rmdir) && !self.ops.has(TreeOp::Mkdir),
                "ops",
                "rmdir removes what mkdir made, and there is no mkdir".to_owned(),
                "add mkdir, as in mkdir=10,rmdir=10",
            ),
        ];
        match wrong.into_iter().find(|(is, ..)| *is) {
            Some((_, key, message, help)) => Err(TreeError::new(key, message, help)),
            None => Ok(()),
        }
    }
}
