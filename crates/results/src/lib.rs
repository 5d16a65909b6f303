//! The data model of a result, writing it safely to a directory or a stream, and reading it for ever.
//!
//! A result is a directory (docs/results.md) with everything that a report needs. While a run goes on it
//! only grows: files are replaced whole (`put`) or appended to in frames with a checksum (`append`). So
//! what a kill leaves behind is readable, and shows by itself that it is incomplete.
#![forbid(unsafe_code)]

pub mod checksums;
mod digest;
mod disturbed;
pub mod draft;
pub mod folder;
pub mod frames;
pub mod histogram;
pub mod hlog;
mod identity;
pub mod iolog;
pub mod model;
pub mod packed;
mod parts;
pub mod proofs;
pub mod read;
pub mod recover;
pub mod seal;
pub mod sink;
mod standing;
pub mod transcript;
mod whole;
pub mod writer;

pub use checksums::Seal;
pub use disturbed::disturbances;
pub use frames::{Damage, encode as encode_row};
pub use read::{CellData, ReadError, ResultSet, open, open_held};
pub use seal::{SealError, seal};
pub use transcript::TranscriptEntry;
pub use writer::cell_folder;
