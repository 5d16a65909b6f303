//! Chapters of the index as they are on the device. Parts that cannot be read count as missing.

use crate::block::Block;
use crate::device::{Device, DeviceError};
use crate::format::{ChapterBlock, Superblock};
use crate::index::Index;

/// Loads the chapters that are kept, the oldest first.
pub(crate) fn load(
    device: &mut dyn Device,
    superblock: &Superblock,
    index: &mut Index,
) -> Result<(), DeviceError> {
    let Superblock { geometry, nonce, .. } = superblock;
    let mut bytes = Block::default();
    let mut part = |chapter: u64, part: u64| {
        let Some(pbn) = geometry.chapter_block(chapter, part) else { return Ok(None) };
        // A missing part of the index costs only saving: a part that cannot be read counts as missing.
        if device.read(pbn, &mut bytes).is_err() {
            return Ok(None);
        }
        let found = ChapterBlock::read(&bytes, nonce);
        Ok(found.filter(|f| f.part == part && geometry.chapter_block(f.chapter, part) == Some(pbn)))
    };
    let mut numbers = Vec::new();
    for slot in 0..geometry.chapters() {
        numbers.extend(part(slot, 0)?.map(|block| block.chapter));
    }
    numbers.sort_unstable();
    let newest = numbers.last().copied().unwrap_or(0);
    for number in numbers.into_iter().filter(|number| number + geometry.chapters() > newest) {
        let mut records = Vec::new();
        for at in 0..geometry.chapter_blocks() {
            let same = part(number, at)?.filter(|block| block.chapter == number);
            records.extend(same.into_iter().flat_map(|block| block.records));
        }
        index.load(number, &records);
    }
    Ok(())
}
