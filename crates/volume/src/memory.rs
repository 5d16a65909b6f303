//! A device in memory: for trials, and for loads that measure the volume alone.

use crate::block::{Block, Pbn};
use crate::device::{Device, DeviceError};

/// Blocks in memory; those never written are zeros.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    blocks: Vec<Option<Box<Block>>>,
}

impl Memory {
    /// Creates a device of `blocks` blocks.
    pub fn new(blocks: u64) -> Self {
        Self { blocks: vec![None; blocks as usize] }
    }

    fn beyond(pbn: Pbn) -> DeviceError {
        DeviceError { pbn, reason: "beyond the end of the device".into() }
    }
}

impl Device for Memory {
    fn read(&mut self, pbn: Pbn, block: &mut Block) -> Result<(), DeviceError> {
        match self.blocks.get(pbn as usize).ok_or_else(|| Self::beyond(pbn))? {
            Some(bytes) => block.clone_from(bytes),
            None => *block = Block::default(),
        }
        Ok(())
    }

    fn write(&mut self, pbn: Pbn, block: &Block) -> Result<(), DeviceError> {
        let place = self.blocks.get_mut(pbn as usize).ok_or_else(|| Self::beyond(pbn))?;
        *place = Some(Box::new(block.clone()));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}
