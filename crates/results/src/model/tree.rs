//! The state of a file tree after a load of it.

use serde::{Deserialize, Serialize};

/// A file tree at the end of a load, by the load's own books.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeFacts {
    /// Names that have a file, links apart.
    pub files: u64,
    /// Directories that the load made and that are there: those of the tree, and those of `mkdir`.
    pub directories: u64,
    /// Sizes of all files together, each counted once.
    pub bytes: u64,
    /// The rest that the load comes to, by formula and as it was seen.
    pub equilibrium: EquilibriumFacts,
}

/// The outcomes of operations on a file tree that other loads do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outcomes {
    /// Operations that were tried, whatever came of them.
    pub attempted: u64,
    /// Those of them that failed as they had to.
    pub expected: u64,
    /// Operations that were not tried.
    pub skipped: u64,
}

/// A file tree at one moment of a load, by the load's own books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Population {
    /// Names that have a file, links apart.
    pub files: u64,
    /// Sizes of all files together, each counted once.
    pub bytes: u64,
}

/// The equilibrium of a load of a file tree.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EquilibriumFacts {
    /// Files that it comes to; `None` where it never comes to rest.
    pub predicted_files: Option<f64>,
    /// Bytes of all files that it comes to; `None` where they never come to rest.
    pub predicted_bytes: Option<f64>,
    /// Operations of all workers until both are reached; `None` where one never is.
    pub predicted_operations: Option<u64>,
    /// The reason why it never comes to rest, in words.
    pub never: Option<String>,
    /// Operations of all workers after which files, and their bytes, were seen at rest; `None` where they were not.
    pub files_at_rest_after: Option<u64>,
    /// The same of the bytes of all files.
    pub bytes_at_rest_after: Option<u64>,
}
