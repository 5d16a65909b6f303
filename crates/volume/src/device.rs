//! A device as formatting, recovery and check see it: one operation after the other.

use crate::block::{Block, Pbn};

/// A device that does one thing at a time.
///
/// Starting, checking and formatting go through it; a started volume does not ([`crate::Volume`]).
pub trait Device {
    /// Reads a block.
    fn read(&mut self, pbn: Pbn, block: &mut Block) -> Result<(), DeviceError>;
    /// Writes a block.
    fn write(&mut self, pbn: Pbn, block: &Block) -> Result<(), DeviceError>;
    /// Makes durable all that was written.
    fn flush(&mut self) -> Result<(), DeviceError>;
}

/// An operation that a device failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("block {pbn}: {reason}")]
pub struct DeviceError {
    /// The block; of a flush the last that was written.
    pub pbn: Pbn,
    /// The reason, as the device gave it.
    pub reason: String,
}
