//! Reads job files of fio and translates them into loads; also turns output of fio into results.
//!
//! Every option of a job file is either translated, or noted because it has no effect on the measurement, or a [`Problem`] that names its line.
//! None is silently ignored. The meaning of an option follows fio's documentation; if fio really does something else, [`FioLoad::in_fio`] says so.
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

/// Something in a job file that has no counterpart here, or is impossible.
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
