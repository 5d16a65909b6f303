//! `fathom disk`: models of disks, in model time. Touches nothing.

mod bench;
mod replay;
mod serve;
mod show;
pub mod table;
pub mod trace;
mod trace_text;

pub use bench::run as bench;
pub use replay::run as replay;
pub use serve::run as serve;
pub use show::{list, show};

use crate::failure::Failure;

impl From<disk::Error> for Failure {
    fn from(error: disk::Error) -> Self {
        let help = error.help();
        let failure = match &error {
            disk::Error::Trace { .. } => Self::data(error),
            error if error.is_usage() => Self::usage(error.to_string()),
            _ => Self::environment(error),
        };
        failure.with_help(help)
    }
}
