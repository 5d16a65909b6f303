//! Errors and their causes as one line.

use std::error::Error;

/// Returns an error and its causes in one line, for records that keep text. A cause that an error names itself is named once.
pub fn chain(error: &dyn Error) -> String {
    let all = std::iter::successors(Some(error), |&error| error.source());
    let mut all: Vec<_> = all.map(ToString::to_string).collect();
    all.dedup_by(|cause, named| {
        named.starts_with(&*cause) || named.contains(&format!(": {cause}"))
    });
    all.join(": ")
}
