//! Executes a Plan, here or in a guest: cells one after the other, each on a fresh stack that is taken down
//! on every path, with rows, samples and the transcript going into the result as they arise.
//!
//! [`local`] runs on this machine (or on its simulated twin); [`remote`] is the host's half of a run in a
//! guest, [`guest`] the guest's. Both halves execute cells by the same code and keep the manifest by the
//! same [`Ledger`].
#![forbid(unsafe_code)]

mod admission;
mod ageing;
mod asked;
mod cell;
pub mod clean;
mod command;
mod copier;
mod crash_timer;
mod error;
mod event;
mod figures;
mod fill;
pub mod guest;
mod inject;
mod known;
mod ledger;
mod loader;
pub mod local;
mod looks;
mod message;
mod metered;
mod mission;
mod one_load;
mod outcome;
mod quiet;
mod reach;
mod recorder;
pub mod remote;
mod resume;
mod scene;
mod simulated;
mod source;
mod start;
mod state;
mod stop;
mod suspended;
mod tree_load;
mod turn;
mod watch;

pub use admission::{
    AdmissionError, ClaimedDevices, DeviceOffer, check_apart, check_commands, check_environment,
    check_guest_environment, check_machine, check_needs, check_root, claim,
};
pub use asked::{FULL, LAB, RunRequest, fresh_seed, result_directory};
pub use error::RunError;
pub use event::{Event, OperationBrief, QuestionState};
pub use inject::{InjectedFault, Injection};
pub use ledger::{Ledger, now_utc};
pub use message::{HostReply, Message};
pub use mission::{Cells, KeptStack, Mission, NoVariant};
pub use one_load::OneLoad;
pub use outcome::RunOutcome;
pub use quiet::QuietMachine;
pub use resume::{Earlier, ResumeError, other_machine};
pub use source::{ExperimentSource, SourceError};
pub use start::Start;
pub use suspended::{CutLoss, SuspendedCell};

pub(crate) use scene::{Paths, executor};
pub(crate) use sys::causes::chain;
