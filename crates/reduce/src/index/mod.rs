//! The dedupe index: the fingerprints that are still remembered, and the places of their blocks.
//!
//! Modelled on UDS, the index of dm-vdo. Records go into the open chapter; a full chapter is closed, and the oldest is forgotten. A record found in a
//! closed chapter moves to the open one, so that records in use stay (LRU by chapter).

mod geometry;
mod lookup;
mod window;

pub use geometry::{Geometry, IndexMemory};
pub use lookup::{Advice, Index};
pub use window::{Chapter, DedupeWindow};
