//! A load of a file tree that is to be run.

use std::path::PathBuf;

use content::ContentSpec;
use units::{Nanos, Seed};

/// One load of a file tree: its operations, its seed and its directory.
#[derive(Debug, Clone)]
pub struct TreeLoad {
    /// Operations, names, sizes, workers.
    pub spec: tree::TreeSpec,
    /// The source of everything random.
    pub seed: Seed,
    /// The directory. It has to be empty, unless `into_existing` makes a new directory in it for the tree.
    pub directory: PathBuf,
    /// The path that is opened, which may differ from `directory`, the name.
    pub way: PathBuf,
    /// Tells whether to make a new directory for the tree in it, so that nothing that exists there is touched.
    pub into_existing: bool,
    /// Content of the written data.
    pub content: ContentSpec,
    /// The end of the load.
    pub stop: TreeStop,
    /// Length of an interval row.
    pub interval: Nanos,
    /// Index of the stage in its cell, for the rows.
    pub stage: usize,
}

/// The end of a load of a file tree: whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeStop {
    /// Ends after this time.
    pub duration: Option<Nanos>,
    /// Ends after this many operations of all workers, whatever their outcome.
    pub ios: Option<u64>,
    /// Ends when the number of files, and their bytes, have come to rest.
    pub equilibrium: bool,
}

impl TreeLoad {
    /// Number of operations of a worker, if the load ends by their number.
    pub(crate) fn operations_of(&self, worker: u32) -> Option<u64> {
        let (all, workers) = (self.stop.ios?, u64::from(self.spec.workers.max(1)));
        Some(all / workers + u64::from(u64::from(worker) < all % workers))
    }
}
