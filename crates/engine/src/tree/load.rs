//! A load of a file tree that is to be run.

use std::path::PathBuf;

use content::ContentSpec;
use units::{Nanos, Seed};

/// One load of a file tree: what to do, from which seed, in which directory.
#[derive(Debug, Clone)]
pub struct TreeLoad {
    /// Operations, names, sizes, workers.
    pub spec: tree::TreeSpec,
    /// Everything random comes from it.
    pub seed: Seed,
    /// The directory. It has to be empty, unless the tree is to lie in a directory of its own there.
    pub directory: PathBuf,
    /// The path that is opened, which may be another than its name.
    pub way: PathBuf,
    /// Makes a directory of its own in it for the tree, so that nothing that is there is touched.
    pub into_existing: bool,
    /// Content of what is written.
    pub content: ContentSpec,
    /// The end of the load.
    pub stop: TreeStop,
    /// Length of an interval row.
    pub interval: Nanos,
    /// Index of the stage in its cell, for the rows.
    pub stage: usize,
}

/// The end of a load of a file tree: the first that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeStop {
    /// After this time.
    pub duration: Option<Nanos>,
    /// After this many operations of all workers, whatever came of them.
    pub ios: Option<u64>,
    /// When files, and their bytes, have come to rest.
    pub equilibrium: bool,
}

impl TreeLoad {
    /// Operations of a worker, where their number ends the load.
    pub(crate) fn operations_of(&self, worker: u32) -> Option<u64> {
        let (all, workers) = (self.stop.ios?, u64::from(self.spec.workers.max(1)));
        Some(all / workers + u64::from(u64::from(worker) < all % workers))
    }
}
