//! Executes a Plan, here or in a guest: cells one after the other, each on a fresh stack that is taken down
//! on every path, with rows, samples and the transcript going into the result as they arise.
//!
//! [`local`] runs on this machine (or on its simulated twin); [`remote`] is the host's half of a run in a
//! guest, [`guest`] the guest's. Both halves execute cells by the same code and keep the manifest by the
//! same [`Ledger`].
#![forbid(unsafe_code)]

mod admission;
mod asked;
mod cell;
pub mod clean;
mod command;
mod copier;
mod event;
mod figures;
mod fill;
pub mod guest;
mod inject;
mod ledger;
mod loader;
pub mod local;
mod looks;
mod message;
mod mission;
mod outcome;
mod quiet;
mod recorder;
pub mod remote;
mod resume;
mod simulated;
mod source;
mod state;
mod watch;

pub use admission::{
    AdmissionError, Claimed, Offered, check_apart, check_commands, check_needs, claim,
};
pub use asked::{Asked, FULL, LAB, fresh_seed, result_directory};
pub use event::{Claim, Event, OperationBrief};
pub use inject::{Fault, Injection};
pub use ledger::{Ledger, Start};
pub use message::{Answer, Message};
pub use mission::{Cells, Held, Mission, NoVariant};
pub use outcome::Outcome;
pub use quiet::Quiet;
pub use resume::{Earlier, ResumeError};
pub use source::{Source, SourceError};

/// What stops a run that has begun.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The result could not be written.
    #[error(transparent)]
    Sink(#[from] results::sink::SinkError),
    /// What the guest sent, or was sent, is not what this version speaks.
    #[error("The guest and the host do not understand each other: {0}")]
    Language(String),
    /// What the guest was told to do is nothing that its program knows.
    #[error(
        "The programs of host and guest differ: the mission is not understood ({0}); start both from one build"
    )]
    Mission(String),
    /// Nobody takes what the run produces any more.
    #[error("Nobody listens any more: {0}")]
    Gone(String),
    /// No guest could be started.
    #[error("The guest does not start: {0}")]
    Guest(String),
    /// What was measured so far cannot be read back.
    #[error("The run cannot be looked at: {0}; a fixed number of repeats needs no look")]
    Look(String),
    /// The plan does not fit this program.
    #[error("The plan does not fit this version of fathom: {0}")]
    Plan(String),
}

/// Paths by name.
pub(crate) type Paths = std::collections::BTreeMap<String, String>;

/// An executor of `machine` that knows the block device of each role and the directory of each tree.
pub(crate) fn executor(
    machine: impl host::Machine + 'static,
    scene: &cell::Scene,
    devices: &Paths,
    trees: &Paths,
) -> host::Executor {
    let mut executor = host::Executor::new(machine, scene.clock, scene.interrupt);
    for (role, path) in devices {
        executor.bind(&format!("device.{role}"), path);
    }
    for (name, path) in trees {
        executor.bind(&format!("tree.{name}"), path);
    }
    executor
}

/// An error and its causes in one line, for records that keep text.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
