//! Errors as one line.

use std::error::Error;

/// Returns an error and its causes in one line, for records that keep text.
pub fn chain(error: &dyn Error) -> String {
    let all = std::iter::successors(Some(error), |&error| error.source());
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
