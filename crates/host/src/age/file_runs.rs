//! The runs of one file: the parts of it that lie together on the device.

use sys::extents::{Extent, Place};

/// A run that may go on.
#[derive(Debug, Clone, Copy)]
struct Run {
    bytes: u64,
    /// The last extent of it: its place and its bytes.
    last: (Place, u64),
}

/// Sums over a file's extents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) extents: u64,
    pub(super) runs: u64,
    /// Bytes of the file for which the file system reported an extent: all but holes.
    pub(super) told_bytes: u64,
    pub(super) shared_bytes: u64,
    pub(super) unwritten_bytes: u64,
    pub(super) encoded_bytes: u64,
    pub(super) inline_bytes: u64,
    pub(super) waiting_bytes: u64,
    pub(super) beyond_end_bytes: u64,
}

/// Puts extents of one file together, in order.
#[derive(Debug)]
pub(super) struct FileRuns {
    size: u64,
    /// The end of the file, in whole blocks.
    end: u64,
    open: Option<Run>,
    counts: Counts,
}

impl FileRuns {
    /// A file of `size` bytes in blocks of `block`.
    pub(super) fn new(size: u64, block: u64) -> Self {
        let end = size.checked_next_multiple_of(block.max(1)).unwrap_or(size);
        Self { size, end, open: None, counts: Counts::default() }
    }

    /// Takes the next extent; the length of a run that ended goes to `ended`.
    pub(super) fn add(&mut self, extent: &Extent, ended: &mut impl FnMut(u64)) {
        let range = extent.range.start.min(self.end)..extent.range.end.min(self.end);
        let bytes = range.end - range.start;
        let counts = &mut self.counts;
        counts.beyond_end_bytes += extent.range.end - extent.range.start - bytes;
        if bytes == 0 {
            return;
        }
        // The last block may have more room than the file has bytes.
        let in_file = range.end.min(self.size).saturating_sub(range.start);
        counts.told_bytes += in_file;
        let Some(place) = extent.place else {
            let waits = if extent.waiting { in_file } else { 0 };
            counts.waiting_bytes += waits;
            counts.inline_bytes += in_file - waits;
            return;
        };
        counts.extents += 1;
        counts.shared_bytes += if extent.shared { bytes } else { 0 };
        counts.unwritten_bytes += if extent.unwritten { bytes } else { 0 };
        counts.encoded_bytes += if place.encoded { bytes } else { 0 };
        match &mut self.open {
            Some(run) if follows(run.last, place) => {
                *run = Run { bytes: run.bytes + bytes, last: (place, bytes) };
            }
            open => {
                if let Some(run) = open.replace(Run { bytes, last: (place, bytes) }) {
                    ended(run.bytes);
                }
                counts.runs += 1;
            }
        }
    }

    /// Ends the file.
    pub(super) fn finish(self, ended: &mut impl FnMut(u64)) -> Counts {
        if let Some(run) = self.open {
            ended(run.bytes);
        }
        self.counts
    }
}

/// Tells whether what is at `place` lies right behind the extent `last`. The length of a compressed extent on the device is not reported, only
/// known to be no more than that of its data, and each part of it is reported as beginning where the whole extent begins.
fn follows(last: (Place, u64), place: Place) -> bool {
    let (at, bytes) = last;
    let end = at.offset.saturating_add(bytes);
    if at.encoded { (at.offset..=end).contains(&place.offset) } else { place.offset == end }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: u64 = 1024;

    fn extent(from: u64, to: u64, at: u64) -> Extent {
        let place = Some(Place { offset: at * K, encoded: false });
        let range = from * K..to * K;
        Extent { range, unwritten: false, place, shared: false, waiting: false }
    }

    fn counted(size: u64, extents: &[Extent]) -> (Counts, Vec<u64>) {
        let (mut runs, mut lengths) = (FileRuns::new(size, 4096), Vec::new());
        let mut ended = |bytes| lengths.push(bytes / K);
        extents.iter().for_each(|one| runs.add(one, &mut ended));
        let counts = runs.finish(&mut ended);
        (counts, lengths)
    }

    #[test]
    fn extents_that_lie_together_are_one_run_and_a_hole_alone_is_no_fragment() {
        let unwritten = Extent { unwritten: true, ..extent(8, 16, 108) };
        let all = [extent(0, 8, 100), unwritten, extent(64, 68, 116), extent(68, 72, 500)];
        let (counts, lengths) = counted(72 * K, &all);
        assert_eq!((counts.extents, counts.runs, counts.unwritten_bytes), (4, 2, 8 * K));
        assert_eq!((lengths, counts.told_bytes), (vec![20, 4], 24 * K));
    }

    #[test]
    fn the_room_that_is_left_in_the_last_block_is_no_data() {
        let (counts, lengths) = counted(64 * K + 100, &[extent(64, 68, 100)]);
        assert_eq!((counts.told_bytes, lengths), (100, vec![4]));
        let inline = Extent { place: None, ..extent(0, 4, 0) };
        assert_eq!(counted(100, &[inline]).0.inline_bytes, 100);
    }

    #[test]
    fn space_beyond_the_end_is_told_apart_and_neither_it_nor_what_waits_is_a_run() {
        let waiting = Extent { place: None, waiting: true, ..extent(4, 8, 0) };
        let inline = Extent { place: None, ..extent(8, 12, 0) };
        let all = [extent(0, 4, 100), waiting, inline, extent(12, 64, 200), extent(64, 96, 900)];
        let (counts, lengths) = counted(13 * K, &all);
        assert_eq!(lengths, [4, 4]);
        assert_eq!((counts.runs, counts.beyond_end_bytes), (2, (48 + 32) * K));
        assert_eq!((counts.waiting_bytes, counts.inline_bytes), (4 * K, 4 * K));
    }

    #[test]
    fn compressed_extents_are_together_where_no_whole_one_fits_between() {
        let packed = |from, to, at| {
            let place = Some(Place { offset: at * K, encoded: true });
            Extent { place, ..extent(from, to, at) }
        };
        let all = [packed(0, 128, 100), packed(128, 256, 140), packed(256, 384, 400)];
        let (counts, lengths) = counted(384 * K, &all);
        assert_eq!((counts.runs, lengths), (2, vec![256, 128]));
        assert_eq!(counted(0, &[]), (Counts::default(), vec![]));
    }
}
