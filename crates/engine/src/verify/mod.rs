//! Verification: what a read returns is compared with what its address must hold.
//!
//! The table stores a short hash (*tag*) of the expected content of each block, or computes it from what loads wrote. A block that was read names its
//! own content (its first 16 bytes are the encrypted id): its bytes are compared with those of that id, and the id's tag with the table. Nothing is
//! added to the data for this.

mod carried;
mod computed;
mod diagnosis;
mod expectations;
mod expected_block;
mod expected_blocks;
mod fast_check;
mod file;
mod header;
mod known_contents;
mod options;
mod overlap;
mod overlaps;
mod rebuild;
mod refine;
mod replay;
mod session;
mod state;
mod table;
mod target_facts;
mod verifier;
mod worker_verifier;
mod write_ahead;
mod written_load;

pub use carried::{Carried, CarriedTargets};
pub use expected_blocks::Width;
pub use file::MAGIC as MARK;
pub use known_contents::{BlockContents, KnownContents, OneLayout};
pub use options::Options;
pub(crate) use replay::TargetLoad;
pub(crate) use session::{Session, checks, unread, wanted};
pub use table::Promises;
pub(crate) use target_facts::TargetFacts;
pub use verifier::Verifier;
pub use worker_verifier::WorkerVerifier;
pub use write_ahead::{note_flushed, note_lost};

#[cfg(test)]
mod tests;
