//! Everything that goes into a volume and comes out of it.

use crate::block::{Data, Lbn, Pbn};
use crate::core::settings::Policy;
use crate::format::GeometryError;

/// A client's request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Chosen by the client; the reply carries it.
    pub id: u64,
    /// The wish.
    pub verb: Verb,
}

/// A client's wish.
#[derive(Debug, Clone)]
pub enum Verb {
    /// The bytes of a block.
    Read {
        /// A block of the volume.
        lbn: Lbn,
    },
    /// New bytes for a block.
    Write {
        /// A block of the volume.
        lbn: Lbn,
        /// The bytes.
        data: Data,
        /// Reply only when they are durable.
        fua: bool,
    },
    /// New bytes for a part of a block; the rest of it stays.
    Patch {
        /// A block of the volume.
        lbn: Lbn,
        /// The first byte of the block that changes.
        at: usize,
        /// The bytes, not beyond the end of the block.
        bytes: Vec<u8>,
        /// Reply only when they are durable.
        fua: bool,
    },
    /// Blocks that are no longer needed, and read as zeros from then on.
    Discard {
        /// The first.
        lbn: Lbn,
        /// Their number.
        blocks: u64,
    },
    /// The promise that everything replied to before survives a power cut.
    Flush,
    /// Another write policy from here on. What is under way ends first.
    Policy(Policy),
    /// More blocks for the volume, or a device that has become larger: the new sizes in blocks, `None` for one that stays. Requests under way
    /// end first.
    Grow {
        /// Blocks of the device.
        device: Option<u64>,
        /// Blocks of the volume.
        logical: Option<u64>,
    },
    /// The stop of the volume: everything is written out and the superblock says that the volume is clean. Nothing may follow.
    Stop,
}

/// The end of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The request's.
    pub id: u64,
    /// The bytes that were read; nothing for other requests.
    pub result: Result<Option<Data>, Failure>,
}

/// The reason that a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No block is free, and the data is neither zeros nor a duplicate.
    #[error("no space left: discard blocks, or let the volume grow")]
    NoSpace,
    /// The device failed, or gave bytes that are not the volume's.
    #[error("the device failed an operation, or what it gave is damaged")]
    Io,
    /// Something that the volume relies on failed before.
    #[error("the volume is read-only because its device failed earlier: check it")]
    ReadOnly,
    /// Beyond the end of the volume.
    #[error("the request goes beyond the end of the volume")]
    Beyond,
    /// It cannot grow to these sizes.
    #[error(transparent)]
    Growth(#[from] GeometryError),
}

/// The name of an operation under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub u64);

/// A job for the device. Operations may be done in any order and at the same time; each is answered by
/// [`crate::Volume::complete`].
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its name.
    pub id: OperationId,
    /// The job.
    pub task: Task,
}

/// A job for the device.
#[derive(Debug, Clone)]
pub enum Task {
    /// Reads a block.
    Read {
        /// Its place.
        pbn: Pbn,
    },
    /// Writes a block.
    Write {
        /// Its place.
        pbn: Pbn,
        /// The bytes.
        data: Data,
        /// Complete only when they are durable (a device without FUA: write, then flush).
        fua: bool,
    },
    /// Makes durable all writes that were completed before.
    Flush,
}
