//! The state of a file tree after a load of it.

use serde::{Deserialize, Serialize};

/// State of a file tree at the end of a load, as the load recorded it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeFacts {
    /// Number of names that have a file, not counting hard and soft links.
    pub files: u64,
    /// Number of directories that the load made and that still exist: those of the tree, and those of `mkdir`.
    pub directories: u64,
    /// Sizes of all files together, each counted once.
    pub bytes: u64,
    /// Equilibrium that the load approaches, by formula and as observed.
    pub equilibrium: EquilibriumFacts,
}

/// Counts of outcomes that only operations on file trees have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outcomes {
    /// Operations that were attempted, successful or not.
    pub attempted: u64,
    /// Attempted operations that failed as predicted.
    pub expected: u64,
    /// Operations that were not attempted.
    pub skipped: u64,
}

/// State of a file tree at one moment of a load, as the load recorded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Population {
    /// Number of names that have a file, not counting links.
    pub files: u64,
    /// Sizes of all files together, each counted once.
    pub bytes: u64,
}

/// The equilibrium of a load of a file tree.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EquilibriumFacts {
    /// Number of files in equilibrium; `None` if it never settles.
    pub predicted_files: Option<f64>,
    /// Bytes of all files in equilibrium; `None` if they never settle.
    pub predicted_bytes: Option<f64>,
    /// Operations of all workers until files and bytes are in equilibrium; `None` if one never is.
    pub predicted_operations: Option<u64>,
    /// Reason why there is no equilibrium, in words.
    pub never: Option<String>,
    /// Operations of all workers after which the number of files was observed to be stable; `None` if it was not.
    pub files_at_rest_after: Option<u64>,
    /// The same for the bytes of all files.
    pub bytes_at_rest_after: Option<u64>,
}
