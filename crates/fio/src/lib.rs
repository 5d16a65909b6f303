//! Job files of fio: what they say, line by line, and the loads that do it; and what fio said, as a result.
//!
//! Every option of a job file is either done, or has no effect on what is measured and is noted, or is a [`Problem`] that names its line. None is
//! passed over in silence. The meaning of an option follows fio's documentation; what fio really does where that is something else stands
//! in [`FioLoad::in_fio`].
#![forbid(unsafe_code)]

mod at_once;
mod content;
mod documents;
mod driven;
mod extent;
mod groups;
pub mod import;
pub mod imported;
mod ini;
mod job;
mod meaning;
mod options;
mod value;

pub use groups::{FioLoad, Target, loads};
pub use ini::{Entry, JobFile, Section, read};
pub use job::{Setting, Shape};

/// Something in a job file that has no counterpart here, or cannot be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The problem with its remedy, in words.
    pub what: String,
}

impl Problem {
    pub(crate) fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

#[cfg(test)]
mod import_tests;
#[cfg(test)]
mod otherwise_tests;
#[cfg(test)]
mod tests;
