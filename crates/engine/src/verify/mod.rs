//! Verification: reads are checked against what their address must hold.
//!
//! A table holds a short hash (a *tag*) of the content that each block must hold. A block that was read names its
//! own content (its first 16 bytes are the encrypted id), is compared with the bytes of that id, and the id's tag with the
//! table. Nothing is put into the data for this.

mod cells;
mod file;
mod hand;
mod header;
mod judge;
mod known;
mod layer;
mod makers;
mod mark;
mod names;
mod overlap;
mod overlaps;
mod quick;
mod replay;
mod session;
mod state;
mod table;
mod verifier;
mod word;
mod words;

pub use file::MAGIC as MARK;
pub use hand::Hand;
pub use makers::{Maker, Makers, Plain};
pub(crate) use replay::Lane;
pub use session::Options;
pub(crate) use session::{Ground, Session, checks, wanted};
pub use table::Promises;
pub use verifier::Verifier;
pub use words::Width;

#[cfg(test)]
mod tests;
