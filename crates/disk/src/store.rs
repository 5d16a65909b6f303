//! The data that a disk holds: a medium, and apart from it the data that a power cut may take.
//!
//! Sectors are kept in memory once they hold anything but zeroes, and only up to a limit. A write makes a version of each of its sectors; a version
//! goes to the medium when the model says that it survives ([`Store::stable`]), and older ones of the sector go with it.

use std::collections::BTreeMap;

use units::{Bytes, Seed, SplitMix64};

/// Bytes that are kept or lost together: today's drives write 4 KiB, even those that accept 512 bytes.
pub(crate) const SECTOR: usize = 4096;
/// Bytes of the unit in which a request may be torn, where tearing is asked for.
const TORN_AT: usize = 512;
/// Sectors of a leaf of the table.
const LEAF: usize = 512;

pub(crate) type Page = Box<[u8; SECTOR]>;

/// The effects of a power cut on versions of sectors that were not safe: the share of versions for each of the three.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    /// It is on the medium all the same.
    pub keep: f64,
    /// It is gone.
    pub drop: f64,
    /// Its first bytes, a multiple of 512, are on the medium, followed by the bytes that were there before.
    pub tear: f64,
}

impl Default for Cut {
    /// Keeps half of the versions, whole, and drops the others.
    fn default() -> Self {
        Self { keep: 0.5, drop: 0.5, tear: 0.0 }
    }
}

/// Bytes that a power cut found and took; each version of a sector that was not safe counts as a whole sector.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CutStats {
    /// Bytes that were not safe.
    pub at_risk: u64,
    /// Bytes of them that are gone.
    pub lost: u64,
    /// Bytes of them that are there in part.
    pub torn: u64,
}

/// Reason why something cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It lies beyond the disk.
    #[error("bytes beyond the end of the disk")]
    Beyond,
    /// The disk may hold no more.
    #[error("the disk holds as much as it may")]
    Full,
}

/// A version of a sector and the number of the write that made it; without a page it is zeroes.
#[derive(Debug, Clone)]
struct Version {
    number: u64,
    page: Option<Page>,
}

/// A page of a disk in saved contents.
pub(crate) struct SavedPage<'a> {
    /// The number of its sector.
    pub sector: u64,
    /// The number of the write that made it; `None` for what is on the medium.
    pub version: Option<u64>,
    /// Its bytes; `None`: zeroes.
    pub page: Option<&'a [u8; SECTOR]>,
}

/// The contents of a disk.
#[derive(Debug, Clone)]
pub struct Store {
    size: u64,
    /// Sectors that may be held, medium and versions together.
    most: u64,
    held: u64,
    medium: Vec<Option<Box<[Option<Page>]>>>,
    /// Versions of each sector that are not safe, the oldest first.
    volatile: BTreeMap<u64, Vec<Version>>,
}

impl Store {
    /// An empty disk of `size` bytes that holds at most `most` bytes.
    pub fn new(size: u64, most: Bytes) -> Self {
        let leaves = size.div_ceil((SECTOR * LEAF) as u64) as usize;
        Self {
            size,
            most: most.0 / SECTOR as u64,
            held: 0,
            medium: vec![None; leaves],
            volatile: BTreeMap::new(),
        }
    }

    /// Its size, bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns every page that it holds: those of the medium, then the versions that are not safe, the oldest of each sector first.
    pub(crate) fn pages(&self) -> impl Iterator<Item = SavedPage<'_>> {
        let leaves =
            (0u64..).zip(&self.medium).filter_map(|(leaf, pages)| Some((leaf, pages.as_ref()?)));
        let medium = leaves.flat_map(|(leaf, pages)| {
            (leaf * LEAF as u64..).zip(pages).filter_map(|(sector, page)| {
                Some(SavedPage { sector, version: None, page: Some(page.as_deref()?) })
            })
        });
        let versions = self.volatile.iter().flat_map(|(&sector, versions)| {
            versions.iter().map(move |version| SavedPage {
                sector,
                version: Some(version.number),
                page: version.page.as_deref(),
            })
        });
        medium.chain(versions)
    }

    /// Takes over a page that another store held, on the medium or as a version; returns false where it lies beyond the disk.
    pub(crate) fn restore(
        &mut self,
        sector: u64,
        version: Option<u64>,
        page: Option<Page>,
    ) -> bool {
        if sector >= self.size.div_ceil(SECTOR as u64) {
            return false;
        }
        match version {
            Some(number) => self.version(sector, number, page),
            None => {
                self.held += u64::from(page.is_some());
                self.put(sector, page);
            }
        }
        true
    }

    /// Bytes of memory that its sectors take.
    pub fn held(&self) -> Bytes {
        Bytes(self.held * SECTOR as u64)
    }

    /// Bytes that are not safe.
    pub fn volatile(&self) -> Bytes {
        Bytes(self.volatile.values().map(|versions| versions.len() * SECTOR).sum::<usize>() as u64)
    }

    /// Tells whether `length` bytes at `offset` could be written.
    pub fn check(&self, offset: u64, length: u64) -> Result<(), StoreError> {
        if offset.checked_add(length).is_none_or(|end| end > self.size) {
            return Err(StoreError::Beyond);
        }
        let sectors = (offset + length).div_ceil(SECTOR as u64) - offset / SECTOR as u64;
        if self.held + sectors > self.most { Err(StoreError::Full) } else { Ok(()) }
    }

    /// Does the write numbered `number`: later ones have higher numbers.
    pub fn write(&mut self, number: u64, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.check(offset, bytes.len() as u64)?;
        let mut rest = bytes;
        let mut at = offset;
        while !rest.is_empty() {
            let (sector, inside) = (at / SECTOR as u64, (at % SECTOR as u64) as usize);
            let (part, behind) = rest.split_at(rest.len().min(SECTOR - inside));
            let mut page = match self.newest(sector) {
                Some(page) if part.len() < SECTOR => page.clone(),
                _ => Box::new([0; SECTOR]),
            };
            page[inside..inside + part.len()].copy_from_slice(part);
            let zeroes = page.iter().all(|byte| *byte == 0);
            self.version(sector, number, (!zeroes).then_some(page));
            at += part.len() as u64;
            rest = behind;
        }
        Ok(())
    }

    /// Zeroes the whole sectors in a range, as the write numbered `number`.
    pub fn discard(&mut self, number: u64, offset: u64, length: u64) -> Result<(), StoreError> {
        let end = offset.checked_add(length).filter(|end| *end <= self.size);
        let end = end.ok_or(StoreError::Beyond)? / SECTOR as u64;
        for sector in offset.div_ceil(SECTOR as u64)..end {
            if self.newest(sector).is_some() {
                self.version(sector, number, None);
            }
        }
        Ok(())
    }

    /// Reads what was written last.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), StoreError> {
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > self.size) {
            return Err(StoreError::Beyond);
        }
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (sector, inside) = (at / SECTOR as u64, (at % SECTOR as u64) as usize);
            let (part, behind) = rest.split_at_mut(rest.len().min(SECTOR - inside));
            match self.newest(sector) {
                Some(page) => part.copy_from_slice(&page[inside..inside + part.len()]),
                None => part.fill(0),
            }
            at += part.len() as u64;
            rest = behind;
        }
        Ok(())
    }

    /// Makes a range safe from now on, as it stood after the write numbered `upto`.
    pub fn stable(&mut self, offset: u64, length: u64, upto: u64) {
        let sectors = offset / SECTOR as u64..offset.saturating_add(length).div_ceil(SECTOR as u64);
        let there: Vec<u64> = self.volatile.range(sectors).map(|(sector, _)| *sector).collect();
        for sector in there {
            let Some(mut versions) = self.volatile.remove(&sector) else { continue };
            let later = versions.split_off(versions.partition_point(|v| v.number <= upto));
            let older = versions.iter().filter(|v| v.page.is_some()).count() as u64;
            if let Some(Version { page, .. }) = versions.pop() {
                self.held -= older - u64::from(page.is_some());
                self.put(sector, page);
            }
            if !later.is_empty() {
                self.volatile.insert(sector, later);
            }
        }
    }

    /// Cuts the power: one of each sector's versions survives, as `cut` and `seed` decide, or none, and the medium stays.
    pub fn cut(&mut self, cut: Cut, seed: Seed) -> CutStats {
        let mut random = seed.derive("power cut").generator();
        let mut stats = CutStats::default();
        for (sector, versions) in std::mem::take(&mut self.volatile) {
            for Version { page, .. } in versions {
                self.held -= u64::from(page.is_some());
                stats.at_risk += SECTOR as u64;
                let drawn = random.unit() * (cut.keep + cut.drop + cut.tear);
                if drawn < cut.keep {
                    self.held += u64::from(page.is_some());
                    self.put(sector, page);
                } else if drawn >= cut.keep + cut.drop {
                    stats.torn += SECTOR as u64;
                    self.tear(sector, page.as_deref(), &mut random);
                } else {
                    stats.lost += SECTOR as u64;
                }
            }
        }
        stats
    }

    /// Tears a version: only some of its first bytes replace what is on the medium.
    fn tear(&mut self, sector: u64, new: Option<&[u8; SECTOR]>, random: &mut SplitMix64) {
        let bytes = (1 + random.below((SECTOR / TORN_AT - 1) as u64) as usize) * TORN_AT;
        let mut page = self.on_medium(sector).cloned().unwrap_or_else(|| Box::new([0; SECTOR]));
        page[..bytes].copy_from_slice(&new.unwrap_or(&[0; SECTOR])[..bytes]);
        self.held += 1;
        self.put(sector, Some(page));
    }

    fn version(&mut self, sector: u64, number: u64, page: Option<Page>) {
        self.held += u64::from(page.is_some());
        self.volatile.entry(sector).or_default().push(Version { number, page });
    }

    /// Replaces the present page on the medium; the new page is counted as held already.
    fn put(&mut self, sector: u64, page: Option<Page>) {
        let (leaf, place) = ((sector / LEAF as u64) as usize, (sector % LEAF as u64) as usize);
        let Some(slot) = self.medium.get_mut(leaf) else { return };
        if slot.is_none() && page.is_none() {
            return;
        }
        let leaf = slot.get_or_insert_with(|| vec![None; LEAF].into_boxed_slice());
        self.held -= u64::from(leaf[place].is_some());
        leaf[place] = page;
    }

    fn on_medium(&self, sector: u64) -> Option<&Page> {
        let leaf = self.medium.get((sector / LEAF as u64) as usize)?.as_ref()?;
        leaf.get((sector % LEAF as u64) as usize)?.as_ref()
    }

    fn newest(&self, sector: u64) -> Option<&Page> {
        match self.volatile.get(&sector).and_then(|versions| versions.last()) {
            Some(version) => version.page.as_ref(),
            None => self.on_medium(sector),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_last_is_read_at_any_place_and_length() {
        let mut store = Store::new(1 << 20, Bytes(1 << 20));
        let mut plain = vec![0u8; 1 << 20];
        let mut random = Seed(3).generator();
        for number in 1..2000 {
            let length = (random.below(40) + 1) as usize * 512;
            let offset = random.below(((1 << 20) - length) as u64 / 512) * 512;
            let place = offset as usize..offset as usize + length;
            let byte = if number % 5 == 0 { 0 } else { number as u8 };
            match number % 7 {
                0 => store.stable(offset, length as u64, number),
                _ if store.write(number, offset, &vec![byte; length]).is_ok() => {
                    plain[place].fill(byte);
                }
                _ => store.stable(0, 1 << 20, number),
            }
        }
        let mut read = vec![1; 1 << 20];
        store.read(0, &mut read).unwrap();
        assert!(read == plain);
        store.stable(0, 1 << 20, u64::MAX);
        let used = plain.chunks(SECTOR).filter(|s| s.iter().any(|b| *b != 0)).count();
        assert_eq!(store.held(), Bytes((used * SECTOR) as u64));
    }

    #[test]
    fn a_store_holds_no_more_than_it_may_and_zeroes_take_nothing() {
        let mut store = Store::new(1 << 30, Bytes(8192));
        for (number, expected) in [(1, Ok(())), (2, Ok(())), (3, Err(StoreError::Full))] {
            assert_eq!(store.write(number, number * 4096, &[1; SECTOR]), expected);
        }
        store.stable(0, 1 << 30, 2);
        store.discard(4, 4096, 4096).unwrap();
        store.stable(0, 1 << 30, 4);
        assert_eq!(store.held(), Bytes(4096));
        store.write(5, 1 << 20, &[0; SECTOR]).unwrap();
        assert_eq!(store.held(), Bytes(4096));
        assert_eq!(store.write(6, (1 << 30) - 512, &[0; 1024]), Err(StoreError::Beyond));
        assert_eq!(store.read(1 << 30, &mut [0]), Err(StoreError::Beyond));
    }
}
