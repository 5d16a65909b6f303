//! The volume as clients see it.

/// The one export there is.
#[derive(Debug, Clone, Copy)]
pub struct Export {
    /// Its size.
    pub bytes: u64,
    /// It takes no writes.
    pub read_only: bool,
}
