//! A volume of our own that does what VDO does: zeros are not stored, duplicates are stored once after comparison, LZ4 fragments
//! share blocks, space is taken when it is written; with a block map, a journal, slabs, and three write policies.
//!
//! [`Volume`] does no I/O. A shell drives it: it submits requests, does the operations that it is given on whatever device it has,
//! completes them in any order, and hands replies on.
//!
//! ```
//! use volume::{Block, Device, Geometry, Memory, Request, Settings, Sizes, Task, Verb, create, pump, start};
//!
//! let sizes = Sizes { device: 500, logical: 10_000, slab: 128, journal: 16, index: 0, reserved: 0 };
//! let mut device = Memory::new(sizes.device);
//! create(&mut device, Geometry::new(sizes).unwrap(), [7; 16]).unwrap();
//! let (mut volume, _) = start(&mut device, &Settings::default()).unwrap();
//!
//! let data = std::sync::Arc::new(Block([42; 4096]));
//! volume.submit(Request { id: 1, verb: Verb::Write { lbn: 9, data, fua: true } });
//! let mut replies = Vec::new();
//! pump(
//!     &mut volume,
//!     &mut |volume, operation| {
//!         let result = device.perform(&operation.task);
//!         volume.complete(operation.id, result);
//!     },
//!     &mut |_, reply| replies.push(reply),
//! );
//! assert!(replies[0].id == 1 && replies[0].result.is_ok());
//! ```
#![forbid(unsafe_code)]

mod block;
mod change;
mod check;
mod core;
mod device;
mod format;
#[cfg(test)]
mod harness;
mod index;
mod memory;
mod pump;
mod rebuild;
mod recover;
mod start;

pub use block::{BLOCK, Block, Data, Lbn, Pbn};
pub use change::{ChangeError, change};
pub use check::{Problem, Report, check};
pub use core::{
    DeviceStats, Discards, Failure, IndexStats, Operation, OperationId, Order, Policy, Reply,
    Request, RequestStats, Settings, Stats, Task, Traffic, Verb, Volume,
};
pub use device::{Device, DeviceError};
pub use format::{Geometry, GeometryError, Mapping, Nonce, Sizes, State, SuperblockError};
pub use memory::Memory;
pub use pump::{pump, turn};
pub use rebuild::{Rebuilt, rebuild};
pub use recover::RecoveryError;
pub use start::{Recovery, Summary, create, inspect, start};
