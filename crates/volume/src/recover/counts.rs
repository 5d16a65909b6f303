//! Counts as they are on the device, with entries added where they are missing.

use crate::block::Block;
use crate::core::{Rule, Rules};
use crate::device::{Device, DeviceError};
use crate::format::{
    COUNTS_PER_SECTOR, CountSector, Entry, Geometry, MAP_PAGE, Mapping, Nonce, PageKey, SECTORS,
};

/// All counts, and the sequence number of each sector.
pub(crate) struct Counts {
    geometry: Geometry,
    pub counts: Vec<u8>,
    seqs: Vec<u64>,
    changed: Vec<bool>,
    /// Sectors whose checksum is wrong, by their blocks.
    pub damaged: Vec<u64>,
}

impl Counts {
    /// Reads all counts.
    pub fn read(
        device: &mut dyn Device,
        geometry: Geometry,
        nonce: &Nonce,
    ) -> Result<Self, DeviceError> {
        let blocks = geometry.count_total();
        let mut all = Self {
            geometry,
            counts: vec![0; geometry.data_total() as usize],
            seqs: vec![0; blocks as usize * SECTORS],
            changed: vec![false; blocks as usize],
            damaged: Vec::new(),
        };
        let mut block = Block::default();
        for number in 0..blocks {
            let pbn = geometry.count_block(number);
            device.read(pbn, &mut block)?;
            let counted = geometry.counted_in(number);
            for (at, counts) in all.counts[counted].chunks_mut(COUNTS_PER_SECTOR).enumerate() {
                match CountSector::read(&block, nonce, pbn, at) {
                    Some(sector) => {
                        counts.copy_from_slice(&sector.counts[..counts.len()]);
                        all.seqs[number as usize * SECTORS + at] = sector.seq;
                    }
                    None => all.damaged.push(pbn),
                }
            }
        }
        Ok(all)
    }

    /// Adds an entry of journal block `seq` to the sectors that do not have it.
    pub fn replay(&mut self, seq: u64, entry: &Entry, rules: Rules) {
        let page = PageKey::from_key(entry.key).is_some();
        self.change(seq, entry.new, rules, |count| match page {
            true => MAP_PAGE,
            false => count.saturating_add(1).min(MAP_PAGE - 1),
        });
        self.change(seq, entry.old, rules, |count| match count {
            MAP_PAGE => MAP_PAGE,
            count => count.saturating_sub(1),
        });
    }

    fn change(&mut self, seq: u64, mapping: Mapping, rules: Rules, act: impl Fn(u8) -> u8) {
        let Some(number) = mapping.block().and_then(|pbn| self.geometry.number(pbn)) else {
            return;
        };
        let block = self.geometry.count_block_of(number);
        let first = self.geometry.counted_in(block).start;
        let sector = block as usize * SECTORS + (number - first) / COUNTS_PER_SECTOR;
        if seq > self.seqs[sector] || !rules.hold(Rule::CountedOnce) {
            self.counts[number] = act(self.counts[number]);
            self.changed[block as usize] = true;
        }
    }

    /// Replaces the counts by the right ones; returns how many were wrong.
    pub fn recount(&mut self, counts: &[u8]) -> u64 {
        let mut others = 0;
        for block in 0..self.geometry.count_total() {
            let numbers = self.geometry.counted_in(block);
            let pairs = self.counts[numbers.clone()].iter().zip(&counts[numbers.clone()]);
            let changed = pairs.filter(|(is, should)| is != should).count() as u64;
            let damaged = self.damaged.contains(&self.geometry.count_block(block));
            self.changed[block as usize] |= changed > 0 || damaged;
            others += changed;
        }
        self.counts.copy_from_slice(counts);
        others
    }

    /// Writes the blocks that changed, as of journal block `seq`.
    pub fn write(
        &self,
        device: &mut dyn Device,
        nonce: &Nonce,
        seq: u64,
    ) -> Result<(), DeviceError> {
        for number in (0..self.geometry.count_total()).filter(|n| self.changed[*n as usize]) {
            let mut block = Block::default();
            let pbn = self.geometry.count_block(number);
            let counts = &self.counts[self.geometry.counted_in(number)];
            for (at, part) in counts.chunks(COUNTS_PER_SECTOR).enumerate() {
                let mut sector = CountSector { seq, counts: [0; COUNTS_PER_SECTOR] };
                sector.counts[..part.len()].copy_from_slice(part);
                sector.write(&mut block, nonce, pbn, at);
            }
            device.write(pbn, &block)?;
        }
        Ok(())
    }
}
