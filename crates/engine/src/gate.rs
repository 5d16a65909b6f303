//! When the next I/O of a job may start.

use crate::job::Next;

/// What a job answers when it is asked for its next I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "jobs wait as soon as loads have a rate")]
pub(crate) enum Ask {
    Io(Next),
    /// Not yet: ask again at this time, nanoseconds.
    NotBefore(u64),
    /// There is none left.
    Over,
}
