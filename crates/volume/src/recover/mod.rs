//! The contents of a volume's device with the journal replayed: for a start and for a check.

mod counts;
mod replay;
mod ring;
mod tree;

pub use replay::RecoveryError;
pub(crate) use replay::{Replayed, replay, superblock};
