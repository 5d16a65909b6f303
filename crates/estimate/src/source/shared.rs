//! Extents that several files share on the disk (`cp --reflink`, snapshots): they are stored once already, so VDO cannot save them again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;

use reduce::BLOCK;
use sys::extents::{Place, extents};

use super::blank::clean;

/// The outcome of a look at a part of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Its whole blocks whose places were met before, in order.
    pub before: Vec<Range<u64>>,
    /// Bytes that it shares in compressed extents: the kernel does not say which part of an extent they are, so equal ones are found by content.
    pub encoded_bytes: u64,
}

/// The places of all shared extents that were met, by file system.
#[derive(Debug, Default)]
pub struct Shared {
    /// The end of each known stretch.
    known: BTreeMap<(u64, u64), u64>,
}

impl Shared {
    /// Returns the whole blocks of `part` of a file, in order, whose places were met before; `length` is the file's. From now on the others
    /// count as met too. Data that waits to be written has no place yet. Where the file system lists no extents there are none.
    pub fn take_met(
        &mut self,
        file: &File,
        file_system: u64,
        (part, length): (Range<u64>, u64),
    ) -> Met {
        let (mut met, mut encoded_bytes): (Vec<Range<u64>>, _) = (Vec::new(), 0);
        for (place, extent, parts) in shared_extents(file, part).unwrap_or_default() {
            for part in parts {
                if place.encoded {
                    encoded_bytes += part.end - part.start;
                    continue;
                }
                let from = place.offset + (part.start - extent.start);
                let to = from + (part.end - part.start);
                for known in self.add(file_system, from..to) {
                    let (start, end) =
                        (part.start + (known.start - from), part.start + (known.end - from));
                    match met.last_mut() {
                        Some(last) if last.end == start => last.end = end,
                        _ => met.push(start..end),
                    }
                }
            }
        }
        let before = met.into_iter().filter_map(|range| whole_blocks(range, length)).collect();
        Met { before, encoded_bytes }
    }

    /// Adds a stretch, and returns the parts of it that were known, in order.
    fn add(&mut self, space: u64, stretch: Range<u64>) -> Vec<Range<u64>> {
        let mut known = Vec::new();
        let mut all = stretch.clone();
        while let Some((&(_, start), &end)) =
            self.known.range((space, 0)..=(space, stretch.end)).next_back()
            && end >= stretch.start
        {
            let part = start.max(stretch.start)..end.min(stretch.end);
            if !part.is_empty() {
                known.push(part);
            }
            all = all.start.min(start)..all.end.max(end);
            self.known.remove(&(space, start));
        }
        self.known.insert((space, all.start), all.end);
        known.reverse();
        known
    }
}

/// A shared extent: its place, its bytes in the file, and those of them that do not wait to be written elsewhere.
type Settled = (Place, Range<u64>, Vec<Range<u64>>);

/// The shared extents of a part of a file. If it is unknown which pages wait to be written, they are written first.
fn shared_extents(file: &File, part: Range<u64>) -> io::Result<Vec<Settled>> {
    let mut found = extents(file, part.clone())?;
    if found.iter().all(|extent| extent.shared_place().is_none()) {
        return Ok(Vec::new());
    }
    let is_known = sys::cached::unsaved(file, part.start, part.end - part.start).is_some();
    if !is_known {
        file.sync_data()?;
        found = extents(file, part)?;
    }
    let shared =
        found.into_iter().filter_map(|extent| Some((extent.shared_place()?, extent.range)));
    let settled = shared.map(|(place, range)| {
        let parts = if is_known { clean(file, range.clone()) } else { vec![range.clone()] };
        (place, range, parts)
    });
    Ok(settled.collect())
}

fn whole_blocks(range: Range<u64>, length: u64) -> Option<Range<u64>> {
    let block = BLOCK as u64;
    let start = range.start.next_multiple_of(block);
    let end = if range.end >= length { length } else { range.end - range.end % block };
    (start < end).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_as_met_from_the_second_time_on_and_only_in_its_own_space() {
        let mut shared = Shared::default();
        let here = 1;
        assert!(shared.add(here, 100..200).is_empty());
        assert!(shared.add(here, 300..400).is_empty());
        assert!(shared.add(2, 100..200).is_empty());
        assert_eq!(shared.add(here, 150..350), [150..200, 300..350]);
        assert_eq!(shared.add(here, 0..500), vec![100..400; 1]);
        assert_eq!(shared.add(here, 500..600), []);
        assert_eq!(shared.add(here, 0..600), vec![0..600; 1]);
        assert_eq!(shared.known.len(), 2);
    }

    #[test]
    fn only_whole_blocks_and_the_last_one_are_left_out() {
        assert_eq!(whole_blocks(100..20_000, 100_000), Some(4096..16_384));
        assert_eq!(whole_blocks(100..20_000, 20_000), Some(4096..20_000));
        assert_eq!(whole_blocks(100..8000, 100_000), None);
    }
}
