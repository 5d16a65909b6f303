//! Errors as one line.

use std::error::Error;

/// Returns an error and its causes in one line, for records that keep text. A cause that an error names itself is named once.
pub fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    for cause in std::iter::successors(error.source(), |&error| error.source()) {
        let cause = cause.to_string();
        if !line.ends_with(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}
