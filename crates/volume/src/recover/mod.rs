//! The contents of a volume's device with the journal replayed: for a start and for a check.

mod counts;
mod index;
mod replay;
mod ring;
mod tree;

pub(crate) use counts::Counts;
pub(crate) use index::load as load_index;
pub use replay::RecoveryError;
pub(crate) use replay::{Replayed, replay, superblock};
pub(crate) use tree::Tree;
