//! The guest's side: the same program as process 1, and as the session that process 1 starts and outlives.
//!
//! Process 1 mounts, loads modules, starts the program once more as the *session*, reaps whatever ends, and powers
//! the machine off when the session ends, also when it is killed. The session talks to the host.

mod config;
mod init;
mod kernel_log;
mod port;
mod session;
mod setup;
mod shell;
mod supplies;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

pub(crate) use config::{GuestConfig, MISSION, ORDER, Up};
pub use session::{GuestSession, Sender};
pub use shell::shell;

use config::BEGAN;

/// Tells whether this process runs in a guest of the lab, so that `main` must hand over to [`main`] before anything else.
pub fn is_guest() -> bool {
    let one = Some(rustix::process::Pid::INIT);
    let first = rustix::process::getpid() == rustix::process::Pid::INIT;
    let session = rustix::process::getppid() == one && std::env::var_os(BEGAN).is_some();
    (first || session) && Path::new("/").join(ORDER).is_file()
}

/// Runs the guest's side: `work` is called once, in the session, with the mission's bytes. In process 1 it is not
/// called, and this never returns: it ends with the machine's power.
///
/// An error of `work`, with its causes, or a panic reaches the host as [`crate::Ending::Failed`].
pub fn main<E: Into<Box<dyn Error>>>(
    work: impl FnOnce(&mut GuestSession, &[u8]) -> Result<(), E>,
) -> ExitCode {
    if rustix::process::getpid() == rustix::process::Pid::INIT {
        init::run();
        return ExitCode::FAILURE;
    }
    match session::run(work) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            init::say(&format!("the session failed: {}", sys::causes::chain(&error)));
            ExitCode::FAILURE
        }
    }
}
