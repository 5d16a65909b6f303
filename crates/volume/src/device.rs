//! A device as formatting, recovery and check see it: one operation after the other.

use crate::block::{Block, Pbn};
use crate::core::Task;

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

    /// Does an operation of a volume at once: the result is for [`crate::Volume::complete`].
    fn perform(&mut self, task: &Task) -> Option<Option<Box<Block>>> {
        match task {
            Task::Read { pbn } => {
                let mut block = Box::<Block>::default();
                self.read(*pbn, &mut block).ok().map(|()| Some(block))
            }
            Task::Write { pbn, data, fua } => {
                let written = self.write(*pbn, data);
                written.and_then(|()| if *fua { self.flush() } else { Ok(()) }).ok().map(|()| None)
            }
            Task::Flush => self.flush().ok().map(|()| None),
        }
    }
}

/// An operation that a device failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("block {pbn}: {reason}")]
pub struct DeviceError {
    /// The block; for a flush the last one that was written.
    pub pbn: Pbn,
    /// The reason, as the device gave it.
    pub reason: String,
}
