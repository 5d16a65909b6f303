//! The guest's side: the same program as process 1, and as the session that process 1 starts and outlives.
//!
//! Process 1 mounts, loads modules, starts the program once more as the *session*, reaps whatever ends, and powers
//! the machine off when the session ends, also when it is killed. The session talks to the host.

mod init;
mod kernel_log;
mod port;
mod session;
mod setup;
mod shell;
mod supplies;

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

pub use session::{GuestSession, Sender};
pub use shell::shell;

use crate::spec::Purpose;
use crate::supply::Mount;

/// Where the order for the guest is in its root.
pub(crate) const ORDER: &str = "lab/order.json";
/// Where the session's opaque bytes are.
pub(crate) const MISSION: &str = "lab/mission";
/// Set in the environment of the session by process 1: nanoseconds of the monotonic clock when process 1 began.
const BEGAN: &str = "FATHOM_GUEST_BEGAN";

/// What the host tells the guest's own part of the lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// What the machine is for.
    pub(crate) purpose: Purpose,
    /// Roles of the disks to wait for.
    pub(crate) roles: Vec<String>,
    /// Roles of disks that are told whether they turn, which virtio has no word for.
    pub(crate) rotational: Vec<(String, bool)>,
    /// What is mounted before the session starts.
    pub(crate) supplies: Vec<Mount>,
    /// Rows and columns of the host's terminal.
    pub(crate) terminal: (u16, u16),
}

/// What the guest says when it is up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Up {
    /// The kernel's release.
    pub(crate) kernel: String,
    /// Milliseconds of the guest's clock when process 1 began.
    pub(crate) kernel_ms: f64,
    /// Milliseconds from then to the moment this is sent.
    pub(crate) setup_ms: f64,
    /// Nanoseconds of the guest's monotonic clock when this is sent.
    pub(crate) clock_ns: u64,
}

/// Whether this process runs in a guest of the lab, so that `main` must hand over to [`main`] before anything else.
pub fn is_guest() -> bool {
    let one = Some(rustix::process::Pid::INIT);
    let first = rustix::process::getpid() == rustix::process::Pid::INIT;
    let session = rustix::process::getppid() == one && std::env::var_os(BEGAN).is_some();
    (first || session) && Path::new("/").join(ORDER).is_file()
}

/// Runs the guest's side: `work` is called once, in the session, with the mission's bytes. In process 1 it is not
/// called, and this never returns: it ends with the machine's power.
///
/// An error or a panic of `work` reaches the host as [`crate::Ending::Failed`].
pub fn main<E: Display>(work: impl FnOnce(&mut GuestSession, &[u8]) -> Result<(), E>) -> ExitCode {
    if rustix::process::getpid() == rustix::process::Pid::INIT {
        init::run();
        return ExitCode::FAILURE;
    }
    match session::run(work) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            init::say(&format!("the session failed: {error}"));
            ExitCode::FAILURE
        }
    }
}
