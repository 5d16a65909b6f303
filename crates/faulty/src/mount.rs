//! The store as a file that any program can open.

use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};

use fuser::{BackgroundSession, Config, MountOption};
use rustix::mount::UnmountFlags;

use crate::fuse::{Files, NAME, Shared};
use crate::{Fault, Injected, Store};

/// Threads that answer the kernel.
const THREADS: usize = 2;

/// This machine mounts no such file: no root, no FUSE. A test that meets it prints SKIP and this.
#[derive(Debug, thiserror::Error)]
#[error("a file with faults cannot be mounted (needs root and /dev/fuse): {0}")]
pub struct MountError(#[from] std::io::Error);

/// A mounted file with faults. Dropping it ends stalls and unmounts; who still has the file open gets errors.
#[derive(Debug)]
pub struct Faulty {
    shared: Arc<Shared>,
    path: PathBuf,
    session: Option<BackgroundSession>,
    folder: tempfile::TempDir,
}

impl Faulty {
    /// Mounts a file of `size` zero bytes with `faults`.
    pub fn mount(size: usize, faults: Vec<Fault>) -> Result<Self, MountError> {
        let folder = tempfile::tempdir()?;
        let shared = Shared::new(Store::new(size, faults));
        let mut config = Config::default();
        let name = MountOption::FSName("fathom-faulty".into());
        config.mount_options = vec![name, MountOption::NoAtime];
        config.n_threads = Some(THREADS);
        let files = Files { shared: Arc::clone(&shared) };
        let session = fuser::spawn_mount(files, folder.path(), &config)?;
        let path = folder.path().join(NAME);
        Ok(Self { shared, path, session: Some(session), folder })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes and faults behind it. Requests wait while it is held.
    pub fn store(&self) -> MutexGuard<'_, Store> {
        self.shared.store()
    }

    /// Puts other faults in place of those there are.
    pub fn arm(&self, faults: Vec<Fault>) {
        self.store().arm(faults);
    }

    /// What was injected so far.
    pub fn injected(&self) -> Vec<Injected> {
        self.store().injected().to_vec()
    }

    /// Ends all stalls, those to come too.
    pub fn release(&self) {
        self.shared.release();
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.release();
        // Lazily: an engine that gave up an I/O still has the file open.
        let _ = rustix::mount::unmount(self.folder.path(), UnmountFlags::DETACH);
        drop(self.session.take());
    }
}
