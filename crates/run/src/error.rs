//! Errors that stop a run that has begun, and errors as records keep them.

use crate::RunOutcome;

/// Error that stops a run that has begun.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The result could not be written.
    #[error(transparent)]
    Sink(#[from] results::sink::SinkError),
    /// The run ended, but its result was moved or changed while it ran.
    #[error("{source}")]
    Spoiled {
        /// The end of the run.
        outcome: RunOutcome,
        /// The fault of the result.
        source: results::sink::SinkError,
    },
    /// The guest or the host does not know a message of the other.
    #[error("The guest and the host do not understand each other: {0}")]
    Language(#[source] Cause),
    /// The program of the guest does not know its mission.
    #[error(
        "The programs of host and guest differ: the mission is not understood ({0}); start both from one build"
    )]
    Mission(#[source] Cause),
    /// Nobody takes what the run produces any more.
    #[error("Nobody listens any more: {0}")]
    Gone(#[source] Cause),
    /// No guest could be started.
    #[error("The guest does not start: {0}")]
    Guest(#[source] Cause),
    /// The figures that were measured so far cannot be read back.
    #[error("The run cannot be looked at: {0}; a fixed number of repeats needs no look")]
    Look(#[source] Cause),
    /// A device that is to be cleaned is gone or replaced.
    #[error(transparent)]
    Device(#[from] host::StepError),
    /// The plan does not fit this program.
    #[error("The plan does not fit this version of fathom: {0}")]
    Plan(#[source] Cause),
}

/// The reason why something could not be done, with its causes.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a stage could not be done.
#[derive(Debug, thiserror::Error)]
#[error("stage {stage}")]
pub(crate) struct StageError {
    pub stage: String,
    pub source: Cause,
}
