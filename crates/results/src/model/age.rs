//! The age of a file system: how far its files and its free space are fragmented.

use serde::{Deserialize, Serialize};

/// The age of a tree of files, and of the file system that it lies in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Age {
    /// The kind of file system, as in /proc/self/mountinfo.
    pub file_system: String,
    /// Tells whether everything was examined in the time allowed.
    pub complete: bool,
    /// The files of the tree.
    pub files: TreeAge,
    /// Free space of the whole file system; `None` where it is not known.
    pub free: Option<FreeSpace>,
    /// The reason why free space is not known.
    pub free_untold: Option<String>,
}

/// The layout of the files of a tree on the device. A run is a part of a file whose bytes are contiguous on the device, however many extents the file
/// system keeps it in; space beyond the end of a file does not belong to a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TreeAge {
    /// Number of regular files, each counted once even if it has several names.
    pub files: u64,
    /// Number of directories.
    pub directories: u64,
    /// Number of further names of files that were counted already.
    pub hard_links: u64,
    /// Number of names of anything that is neither a regular file nor a directory.
    pub others: u64,
    /// Number of directories that are left out because another file system begins there.
    pub left_out: u64,
    /// Number of files and directories that could not be examined.
    pub unreadable: u64,
    /// Total size of all files.
    pub bytes: u64,
    /// Number of files that have space of their own on the device.
    pub files_with_space: u64,
    /// Number of extents of these files, as the file system keeps them.
    pub extents: u64,
    /// Number of runs of these files.
    pub runs: u64,
    /// Number of places within files where the next byte lies elsewhere on the device.
    pub discontinuities: u64,
    /// Mean number of runs of a file with space.
    pub runs_per_file: Option<f64>,
    /// Number of files that consist of one run.
    pub files_in_one_run: u64,
    /// Bytes of all runs, in whole blocks.
    pub run_bytes: u64,
    /// Half of `run_bytes` lies in runs of at least this many bytes, a power of two.
    pub half_in_runs_of_bytes: Option<u64>,
    /// The part of `run_bytes` that is shared with other files.
    pub shared_bytes: u64,
    /// The part of `run_bytes` that is allocated but not written, and reads as zeros.
    pub unwritten_bytes: u64,
    /// The part of `run_bytes` that is stored compressed or encrypted.
    pub encoded_bytes: u64,
    /// Bytes of files without allocated space: holes.
    pub hole_bytes: u64,
    /// Bytes of files that are stored within the file system's metadata.
    pub inline_bytes: u64,
    /// Bytes that had no place on the device yet when they were examined.
    pub waiting_bytes: u64,
    /// Space allocated beyond the ends of files.
    pub beyond_end_bytes: u64,
    /// Files with space by their number of runs: 1, 2, 4, ...
    pub files_by_runs: Vec<SizeClass>,
    /// Runs by their size in bytes.
    pub runs_by_bytes: Vec<SizeClass>,
    /// The files with the most runs, the most fragmented first.
    pub most_fragmented: Vec<Fragmented>,
    /// The first problems met, each with the path.
    pub troubles: Vec<String>,
}

/// Free space.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FreeSpace {
    /// All free space, bytes.
    pub bytes: u64,
    /// Number of contiguous stretches, as the file system reports them.
    pub stretches: u64,
    /// Size of the largest stretch.
    pub largest_bytes: u64,
    /// Half of the free space lies in stretches of at least this many bytes, a power of two.
    pub half_in_stretches_of_bytes: Option<u64>,
    /// Stretches by their size in bytes.
    pub by_bytes: Vec<SizeClass>,
}

/// A class of things (files or stretches) whose size is at least `from`, and less than twice that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// A power of two.
    pub from: u64,
    /// Number of things in the class.
    pub count: u64,
    /// Total bytes of the class.
    pub bytes: u64,
}

/// A file in many runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragmented {
    /// Its path below the directory.
    pub path: String,
    /// Number of its runs.
    pub runs: u64,
    /// Its size.
    pub bytes: u64,
}

/// The figures of a file system that a stage aged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgeingFigures {
    /// The rule that ended the rounds: `rounds`, `runs_per_file`, `bytes`, `duration`, `full`.
    pub ended_by: String,
    /// Number of rounds that were done.
    pub rounds: u64,
    /// Bytes written to the files that grow, and to those that fill the space freed by others.
    pub written_bytes: u64,
    /// The age before: of the file system, and of the directory that the files are made in.
    pub before: Age,
    /// The files that grew, and free space at the end.
    pub grown: Age,
    /// The files that fill the freed space; `None` where none were asked for.
    pub fillers: Option<Age>,
    /// Used share of the file system, by its own account, after the freed space was filled; less than asked for where it ran out of space or inodes.
    #[serde(default)]
    pub filled_percent: Option<f64>,
    /// Read speed of files of the same size that were written one after the other on the same file system before it was aged; `None` if there was
    /// no room for them, or if a rule ended the rounds early, so that the grown files are smaller than those.
    pub fresh_read_bytes_per_s: Option<f64>,
    /// Read speed of the files that grew.
    pub aged_read_bytes_per_s: Option<f64>,
    /// Read speed of the files that fill the freed space.
    pub filler_read_bytes_per_s: Option<f64>,
}

impl AgeingFigures {
    /// Returns its figures by the ids of the catalogue.
    pub fn metrics(&self) -> [(&'static str, Option<f64>); 10] {
        let (fresh, aged) = (self.fresh_read_bytes_per_s, self.aged_read_bytes_per_s);
        let stretches = |age: &Age| Some(age.free.as_ref()?.stretches as f64);
        let half = |age: &Age| Some(age.free.as_ref()?.half_in_stretches_of_bytes? as f64);
        [
            ("fresh_read_bytes_per_s", fresh),
            ("aged_read_bytes_per_s", aged),
            ("aged_read_percent", fresh.zip(aged).map(|(fresh, aged)| 100.0 * aged / fresh)),
            ("filler_read_bytes_per_s", self.filler_read_bytes_per_s),
            ("filled_percent", self.filled_percent),
            ("runs_per_file", self.grown.files.runs_per_file),
            ("runs_per_filler", self.fillers.as_ref().and_then(|age| age.files.runs_per_file)),
            ("free_stretches_before", stretches(&self.before)),
            ("free_stretches", stretches(&self.grown)),
            ("half_free_in_bytes", half(&self.grown)),
        ]
    }
}
