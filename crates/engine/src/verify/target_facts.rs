//! A target as verification sees it.

use sys::identity::Identity;
use units::Bytes;

use super::table::Promises;

/// A target as verification sees it.
#[derive(Debug, Clone)]
pub(crate) struct TargetFacts {
    pub size: Bytes,
    pub promises: Promises,
    pub identity: Identity,
}
