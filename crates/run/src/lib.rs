//! Executes a Plan, here or in a guest: cells one after the other, each on a fresh stack that is taken down
//! on every path, with rows, samples and the transcript going into the result as they arise.
//!
//! [`local`] runs on this machine (or on its simulated twin); [`remote`] is the host's half of a run in a
//! guest, [`guest`] the guest's. Both halves execute cells by the same code and keep the manifest by the
//! same [`Ledger`].
#![forbid(unsafe_code)]

mod cell;
mod event;
pub mod guest;
mod inject;
mod ledger;
pub mod local;
mod message;
mod mission;
mod outcome;
mod recorder;
pub mod remote;
mod simulated;

pub use event::{Event, OperationBrief};
pub use inject::{Fault, Injection};
pub use ledger::{Ledger, Start};
pub use mission::Mission;
pub use outcome::Outcome;

/// What stops a run that has begun.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The result could not be written.
    #[error(transparent)]
    Sink(#[from] results::sink::SinkError),
    /// A cell's series could not be sealed.
    #[error("Cannot seal cell {cell} of the result")]
    Seal {
        /// Folder of the cell.
        cell: String,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What the guest sent, or was sent, is not what this version speaks.
    #[error("The guest and the host do not understand each other: {0}")]
    Language(String),
    /// No guest could be started.
    #[error("The guest does not start: {0}")]
    Guest(String),
    /// The plan does not fit this program.
    #[error("The plan does not fit this version of fathom: {0}")]
    Plan(String),
}
