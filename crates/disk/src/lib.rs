//! Models of disks: a request comes at an instant, and the model says when it ends.
//!
//! Everything runs in model time. An arrival carries its instant, and each dispatch begins at the computed end of the one before: a caller that
//! drives a model late (because of a timer or a busy host) delays replies, but never the disk. So the same model can compute at once what a disk
//! would do ([`mod@bench`], [`replay`]), and drive a disk that a guest sees.
//!
//! [`Disk`] is the whole: a model of a [`Profile`], limited, slowed down and made faulty where that is asked for. The written data are kept
//! separately by a [`Store`], which knows the part of them that a power cut may take.
#![forbid(unsafe_code)]

mod attributes;
pub mod bench;
pub mod contents;
mod disk;
mod drive;
mod error;
mod fault;
mod flash;
pub mod front;
mod hdd;
mod like;
mod limit;
mod memory;
mod model;
mod profile;
pub mod replay;
mod request;
mod scalar;
mod store;
mod throughput;
pub mod trace;

pub use attributes::{Attributes, Destage, LOGICAL_BLOCKS};
pub use disk::Disk;
pub use drive::{Drive, Reply};
pub use error::{Error, Result};
pub use fault::{Fault, FaultKind, On};
pub use like::Like;
pub use limit::Limit;
pub use memory::check_room;
pub use profile::{
    ModelKind, Parameter, Profile, Published, Quantity, Reach, Shape, profile, profiles,
};
pub use request::{Event, Failure, Op, Request};
pub use scalar::Scalar;
pub use store::{Cut, CutStats, Store, StoreError};
pub use throughput::Throughput;
