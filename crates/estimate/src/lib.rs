//! Estimates what a deduplicating, compressing volume would save on given data, and the size that it needs.
//!
//! [`estimate`] reads files, trees, devices, images or standard input once, in order, and puts every block into the model
//! of a volume ([`reduce::Model`]); [`size`] gives the size of a volume without reading data. Nothing is written.
#![forbid(unsafe_code)]

mod answer;
mod calibrate;
mod compare;
mod error;
mod extrapolate;
mod ladder;
mod neighbours;
mod ordered_model;
mod page;
mod profile;
mod queue;
mod request;
#[cfg(test)]
mod round_trip;
mod scan;
mod sizing;
mod source;
mod vocabulary;
mod worker;

pub use answer::{
    Answer, Blocks, Count, Directory, IndexAnswer, PackerAnswer, PartitionOffBlocks, SCHEMA,
    Sampled, Spread, VdoAnswer,
};
pub use compare::{Comparison, Other, RecordDedupe, TABLE_ENTRY_BYTES};
pub use error::Error;
pub use extrapolate::Estimate;
pub use page::page;
pub use request::{Format, Request};
pub use scan::{OnProgress, Progress, estimate};
pub use sizing::{Sizing, SizingOptions, SizingRequest, size};
pub use source::{Sources, Trouble};
pub use vocabulary::share_vocabulary;
