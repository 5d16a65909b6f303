//! The store as a file that any program can open.

use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};

use fuser::{BackgroundSession, Config, MountOption};
use rustix::mount::UnmountFlags;

use crate::fuse::{Files, NAME, Shared};
use crate::{Fault, Injected, Store};

/// Threads that answer the kernel.
const THREADS: usize = 2;

/// The error when this machine cannot mount such a file, without root or FUSE. A test that gets it prints SKIP and the error.
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
        Self::mounted(size, faults, true)
    }

    /// Mounts the same file without asynchronous direct I/O: a call waits in the kernel for each of its requests, even one that came
    /// through a queue. Only this way can a queue see a direct *write* that moved less than asked: where FUSE completes
    /// asynchronously it turns that into EIO itself (`fuse_get_res_by_io` in the kernel's `fs/fuse/file.c`).
    pub fn mount_synchronous(size: usize, faults: Vec<Fault>) -> Result<Self, MountError> {
        Self::mounted(size, faults, false)
    }

    fn mounted(size: usize, faults: Vec<Fault>, asynchronous: bool) -> Result<Self, MountError> {
        let folder = tempfile::tempdir()?;
        let shared = Shared::new(Store::new(size, faults));
        let mut config = Config::default();
        let name = MountOption::FSName("fathom-faulty".into());
        config.mount_options = vec![name, MountOption::NoAtime];
        config.n_threads = Some(THREADS);
        let files = Files { shared: Arc::clone(&shared), asynchronous };
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

    /// Replaces the faults.
    pub fn arm(&self, faults: Vec<Fault>) {
        self.store().arm(faults);
    }

    /// Returns what was injected so far.
    pub fn injected(&self) -> Vec<Injected> {
        self.store().injected().to_vec()
    }

    /// Makes the file go away while it is in use: the kernel ends all requests with errors, including future ones.
    pub fn vanish(&self) -> Result<(), MountError> {
        use std::os::unix::fs::MetadataExt;
        let device = std::fs::metadata(self.folder.path())?.dev();
        let connection = format!("/sys/fs/fuse/connections/{}/abort", rustix::fs::minor(device));
        let abort = || std::fs::write(&connection, "1");
        if abort().is_err() {
            // FUSE's control file system is rarely mounted.
            let folder = tempfile::tempdir()?;
            let none = rustix::mount::MountFlags::empty();
            rustix::mount::mount(
                "fusectl",
                folder.path(),
                "fusectl",
                none,
                None::<&std::ffi::CStr>,
            )
            .map_err(std::io::Error::from)?;
            let file = folder.path().join(format!("{}/abort", rustix::fs::minor(device)));
            let written = std::fs::write(file, "1");
            let _ = rustix::mount::unmount(folder.path(), UnmountFlags::DETACH);
            written?;
        }
        Ok(())
    }

    /// Ends all stalls, including future ones.
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
