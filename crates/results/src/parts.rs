//! Files of a result that are taken as a whole: none is read further than a run can have written it.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::whole::Lacks;

/// The most that is read of the experiment, bytes: no longer one can be run.
pub(crate) const LONGEST_EXPERIMENT: u64 = 1 << 20;
/// The most that is read of any other file, bytes: some ten times of what the largest plan comes to.
pub(crate) const LONGEST: u64 = 256 << 20;

/// A file that may be missing.
///
/// # Errors
/// It cannot be read, or is longer than `longest` bytes.
pub(crate) fn optional(path: &Path, longest: u64) -> io::Result<Option<Vec<u8>>> {
    match sys::input::read(path, longest) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file that may be missing, called `name`; of one that is too long nothing is taken, and `lacks` says so.
///
/// # Errors
/// It cannot be read.
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

/// Tells whether an error says that a file is not there.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
