//! The volume at work, without I/O: requests and completions in, device operations and replies out.
//!
//! Zones own their state, have one inbox each, and send messages; nothing is shared. Nothing here knows a file, a socket, a thread
//! or a clock: a test reads the imports.
// A request travels from zone to zone in one box, and waits in lists in the same.
#![allow(clippy::vec_box)]

mod ack;
mod batch;
mod bio;
mod cache;
mod chapters;
mod cpu;
mod dirty;
mod door;
mod hash;
mod inboxes;
mod journal;
mod locks;
mod logical;
mod message;
mod packer;
mod physical;
mod request;
mod rules;
mod saver;
mod settings;
mod space;
mod stats;
mod store;
mod tree;
mod undone;
mod vio;
mod volume;

#[cfg(test)]
pub(crate) use message::Zone;
pub use request::{Failure, Operation, OperationId, Reply, Request, Task, Verb};
pub(crate) use rules::{Rule, Rules};
pub use settings::{Discards, Order, Policy, Settings};
pub use stats::{DeviceStats, IndexStats, RequestStats, Stats, Traffic};
pub(crate) use volume::Contents;
pub use volume::Volume;
