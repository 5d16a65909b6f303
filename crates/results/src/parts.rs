//! Files of a result that are read whole, but only up to the greatest length that a run can have written.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::whole::Lacks;

/// The greatest length of the experiment that is read, bytes: a longer one cannot be run.
pub(crate) const LONGEST_EXPERIMENT: u64 = 1 << 20;
/// The greatest length of any other file that is read, bytes: some ten times the largest plan.
pub(crate) const LONGEST: u64 = 256 << 20;

/// Reads a file that may be missing.
///
/// # Errors
/// When it cannot be read, or is longer than `longest` bytes.
pub(crate) fn optional(path: &Path, longest: u64) -> io::Result<Option<Vec<u8>>> {
    match sys::input::read(path, longest) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a file that may be missing, called `name`; one that is too long is not read, and is noted in `lacks`.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn limited(
    (path, name): (&Path, &str),
    longest: u64,
    lacks: &mut Lacks,
) -> io::Result<Option<Vec<u8>>> {
    optional(path, longest).or_else(|error| match error.kind() {
        ErrorKind::FileTooLarge => {
            let most = units::Bytes(longest);
            let what = format!("a file is longer than {most}, the most that is read of it");
            lacks.add(what, name);
            Ok(None)
        }
        _ => Err(error),
    })
}

/// Tells whether an error means that a file does not exist.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
