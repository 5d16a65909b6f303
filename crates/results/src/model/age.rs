//! The age of a file system: how far its files and its free space are in pieces.

use serde::{Deserialize, Serialize};

/// The age of a tree of files, and of the file system that it lies in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Age {
    /// The kind of file system, as the kernel has it in /proc/self/mountinfo.
    pub file_system: String,
    /// Tells whether everything was looked at, in the time that there was.
    pub complete: bool,
    /// Its files.
    pub files: TreeAge,
    /// Free space of the whole file system; `None` where it was not told.
    pub free: Option<FreeSpace>,
    /// The reason why free space was not told.
    pub free_untold: Option<String>,
}

/// The places of the files of a tree. A run is a part of a file whose bytes lie one behind the other on the device, whatever extents the file system
/// keeps it in; space beyond the end of a file is none of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TreeAge {
    /// Regular files, each once, whatever names it has.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Further names of files.
    pub hard_links: u64,
    /// Names of what is neither a regular file nor a directory.
    pub others: u64,
    /// Directories in which another file system begins; they are left out.
    pub left_out: u64,
    /// Files and directories that could not be looked at.
    pub unreadable: u64,
    /// Sizes of all files.
    pub bytes: u64,
    /// Files that have space of their own on the device.
    pub files_with_space: u64,
    /// Extents of these, as the file system keeps them.
    pub extents: u64,
    /// Runs of these.
    pub runs: u64,
    /// Places within files where the next byte lies elsewhere on the device.
    pub discontinuities: u64,
    /// Runs of a file with space, on average.
    pub runs_per_file: Option<f64>,
    /// Files that lie in one run.
    pub files_in_one_run: u64,
    /// Bytes of all runs, in whole blocks.
    pub run_bytes: u64,
    /// Half of these lie in runs of at least so many bytes, a power of two.
    pub half_in_runs_of_bytes: Option<u64>,
    /// Bytes of these that other files lie in, too.
    pub shared_bytes: u64,
    /// Bytes of these that hold no data yet and read as zeros.
    pub unwritten_bytes: u64,
    /// Bytes of these that are stored compressed or encrypted.
    pub encoded_bytes: u64,
    /// Bytes of files for which there is no space.
    pub hole_bytes: u64,
    /// Bytes of files that lie among the file system's own data.
    pub inline_bytes: u64,
    /// Bytes that had no place yet when they were looked at.
    pub waiting_bytes: u64,
    /// Space set aside beyond the ends of files.
    pub beyond_end_bytes: u64,
    /// Files with space by their runs: 1, 2, 4, ...
    pub files_by_runs: Vec<SizeClass>,
    /// Runs by their bytes.
    pub runs_by_bytes: Vec<SizeClass>,
    /// Files in most runs, the first of them first.
    pub most_fragmented: Vec<Fragmented>,
    /// The first troubles, each with the path.
    pub troubles: Vec<String>,
}

/// Free space.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FreeSpace {
    /// All of it.
    pub bytes: u64,
    /// Stretches of it that the file system tells as one.
    pub stretches: u64,
    /// The largest of them.
    pub largest_bytes: u64,
    /// Half of it lies in stretches of at least so many bytes, a power of two.
    pub half_in_stretches_of_bytes: Option<u64>,
    /// Stretches by their bytes.
    pub by_bytes: Vec<SizeClass>,
}

/// Things whose size is at least `from`, and less than twice as much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// A power of two.
    pub from: u64,
    /// Number of them.
    pub count: u64,
    /// Bytes of them all.
    pub bytes: u64,
}

/// A file in many runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragmented {
    /// Its path below the directory.
    pub path: String,
    /// Its runs.
    pub runs: u64,
    /// Its size.
    pub bytes: u64,
}

/// The figures of a file system that a stage made old.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgeingFigures {
    /// The rule that ended the rounds: `rounds`, `runs_per_file`, `bytes`, `duration`, `full`.
    pub ended_by: String,
    /// Rounds that were done.
    pub rounds: u64,
    /// Bytes that were written to files that grew, and to those that fill what came free.
    pub written_bytes: u64,
    /// The file system before, and the directory that the files were to lie in.
    pub before: Age,
    /// The files that grew, and free space at the end.
    pub grown: Age,
    /// The files that fill what came free; `None` where none were asked for.
    pub fillers: Option<Age>,
    /// Used part of the file system when what came free was filled, as it says itself; less than asked for where no space or no inode was left.
    #[serde(default)]
    pub filled_percent: Option<f64>,
    /// Speed at which files of the same size were read that were written one after the other, on the same file system before it was made old; `None` where
    /// there was no room for them, or where a rule ended the rounds early, so that files are smaller than those.
    pub fresh_read_bytes_per_s: Option<f64>,
    /// Speed at which the files that grew were read.
    pub aged_read_bytes_per_s: Option<f64>,
    /// Speed at which the files were read that fill what came free.
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
