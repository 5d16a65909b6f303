//! Pages of the block map, read as they are needed.

use rustc_hash::FxHashMap;

use crate::block::{Block, Pbn};
use crate::device::{Device, DeviceError};
use crate::format::{Geometry, Mapping, Nonce, Page, PageKey, ROOTS};

/// A page in memory.
pub(crate) struct Read {
    pub page: Page,
    pub pbn: Pbn,
    pub changed: bool,
}

/// Pages that were read.
pub(crate) struct Tree {
    geometry: Geometry,
    nonce: Nonce,
    pub pages: FxHashMap<PageKey, Read>,
    /// Blocks that are linked as pages but hold no valid page.
    pub damaged: Vec<Pbn>,
}

impl Tree {
    pub fn new(geometry: Geometry, nonce: Nonce) -> Self {
        Self { geometry, nonce, pages: FxHashMap::default(), damaged: Vec::new() }
    }

    /// Returns a page if it is linked and sound; reads it, and those above it, if it was not read before.
    pub fn page(
        &mut self,
        device: &mut dyn Device,
        key: PageKey,
    ) -> Result<Option<&mut Read>, DeviceError> {
        if !self.pages.contains_key(&key) {
            let pbn = if key.is_root() {
                (key.root < ROOTS && key.index == 0).then_some(self.geometry.roots + key.root)
            } else {
                let parent = self.page(device, key.parent())?;
                parent.and_then(|parent| parent.page.get(key.slot()).block())
            };
            let Some(pbn) = pbn else { return Ok(None) };
            if !key.is_root() && self.geometry.number(pbn).is_none() {
                self.damaged.push(pbn);
                return Ok(None);
            }
            let mut block = Block::default();
            device.read(pbn, &mut block)?;
            match Page::read(&block, &self.nonce, pbn) {
                Some(page) => {
                    self.pages.insert(key, Read { page, pbn, changed: false });
                }
                None => {
                    self.damaged.push(pbn);
                    return Ok(None);
                }
            }
        }
        Ok(self.pages.get_mut(&key))
    }

    /// Sets a mapping; tells if its page was there.
    pub fn set(
        &mut self,
        device: &mut dyn Device,
        key: PageKey,
        slot: usize,
        mapping: Mapping,
    ) -> Result<bool, DeviceError> {
        Ok(match self.page(device, key)? {
            Some(read) => {
                read.page.set(slot, mapping);
                read.changed = true;
                true
            }
            None => false,
        })
    }

    /// Writes the pages that changed.
    pub fn write(&self, device: &mut dyn Device) -> Result<(), DeviceError> {
        for read in self.pages.values().filter(|read| read.changed) {
            device.write(read.pbn, &read.page.sealed(&self.nonce, read.pbn))?;
        }
        Ok(())
    }
}
