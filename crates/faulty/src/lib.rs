//! A file in memory whose faults are data: what tests load instead of a device that breaks by luck.
//!
//! [`Store`] is the file and its faults, without any kernel; [`Faulty`] mounts it through FUSE, so that every
//! backend can be driven against it. Only tests use this crate.
#![forbid(unsafe_code)]

mod fault;
mod fuse;
mod mount;
mod store;

pub use fault::{Fault, On, What, When};
pub use mount::{Faulty, MountError};
pub use store::{Answer, Injected, Store};

/// Size of the blocks that corruption works on, bytes.
pub const BLOCK: usize = 4096;
/// Size of the sectors that a torn block consists of, bytes.
pub const SECTOR: usize = 512;
