//! The driver of a target, and the reason why `auto` chose it.

use results::model::ProbeFigure;
use serde::{Deserialize, Serialize};

/// A way to drive a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    /// One io_uring for each job.
    IoUring,
    /// One queue of libaio for each job.
    Libaio,
    /// Plain system calls, a thread for each I/O in flight.
    Sync,
    /// No target at all: I/Os end inside the process.
    Null,
    /// A model in virtual time.
    Sim,
}

impl Driver {
    const ALL: [Self; 5] = [Self::IoUring, Self::Libaio, Self::Sync, Self::Null, Self::Sim];

    /// The driver of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|driver| driver.name() == name)
    }

    /// Its name in results and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Libaio => "libaio",
            Self::Sync => "sync",
            Self::Null => "null",
            Self::Sim => "sim",
        }
    }
}

/// The way to drive a load that `auto` chose, with its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The way to drive it.
    pub driver: Driver,
    /// The reason, in words.
    pub reason: String,
    /// Figures that were measured before the choice.
    pub figures: Vec<ProbeFigure>,
}

impl Choice {
    /// A choice that needs no probe.
    pub fn given(driver: Driver, reason: &str) -> Self {
        Self { driver, reason: reason.to_owned(), figures: Vec::new() }
    }
}
