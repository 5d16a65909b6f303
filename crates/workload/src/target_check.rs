//! Checks that a load fits a target: its alignment, its range, and a place for every job.

use units::Bytes;

use crate::grid::Grid;
use crate::pieces::Pieces;
use crate::validate::whole_blocks;
use crate::walk::{self, Walk};
use crate::{LoadSpec, OpName, Pattern, Range, Share, WorkloadError};

impl LoadSpec {
    /// The part of a target of `target_bytes` bytes that this load uses. `logical_block` is the smallest I/O of the
    /// target, bytes (512 or 4096 for block devices).
    pub fn check_target(
        &self,
        target_bytes: u64,
        logical_block: u32,
    ) -> Result<Range, WorkloadError> {
        let block = u64::from(logical_block.max(1));
        let unit = if self.direct { block } else { 1 };
        let target = Bytes(target_bytes);
        let (offset, size) = self.range_in(target_bytes);
        let (offset, size) = (Bytes(offset), size.map(Bytes));
        let aligned = |key, value: Bytes, unit: u64| match value.0.is_multiple_of(unit) {
            true => Ok(()),
            false => Err(WorkloadError::Unaligned { key, value, unit: Bytes(unit) }),
        };
        for op in self.placed() {
            let unit = if whole_blocks(op) { block } else { unit };
            let is_overridden =
                self.each.of(op).is_some_and(|options| options.block_size.is_some());
            let key = if is_overridden { "each" } else { "block_size" };
            self.block_size_of(op).sizes().try_for_each(|size| aligned(key, size, unit))?;
            aligned("align", self.align.unwrap_or_default(), unit)?;
            aligned("offset", offset, unit)?;
        }
        if self.offset.is_some() && offset.0 >= target_bytes {
            return Err(WorkloadError::Outside {
                key: "offset",
                value: offset,
                offset: Bytes(0),
                target,
            });
        }
        let room = target_bytes.saturating_sub(offset.0);
        let size = size.unwrap_or(Bytes(room));
        if size.0 > room {
            return Err(WorkloadError::Outside { key: "size", value: size, offset, target });
        }
        let range = Range { start: offset.0, bytes: size.0 };
        self.check_places(&range)?;
        Ok(range)
    }

    /// Returns the number of bytes at the end of a range that no I/O reaches because the range is not a multiple of the distance between two places;
    /// 0 for a load that always accesses the same block.
    pub fn unreached_tail(&self, range: &Range) -> Bytes {
        let roams = |op: &OpName| !matches!(self.pattern_of(*op), Pattern::Single { .. });
        let reached = self.placed().filter(roams).filter_map(|op| self.reach(op, range)).max();
        Bytes(reached.map_or(0, |end| (range.start + range.bytes).saturating_sub(end)))
    }

    /// Returns the end of an operation's last possible I/O in a range.
    fn reach(&self, op: OpName, range: &Range) -> Option<u64> {
        let jobs = u64::from(self.jobs.max(1));
        let grid = Grid::of(self, op, range, (jobs - 1, jobs))?;
        let last = grid.places.saturating_sub(1);
        let end = |size: Bytes| grid.offset(last, size.0) + size.0;
        if grid.cut {
            let unit = Pieces::unit(self.block_size_of(op), grid.align).max(1);
            return Some(grid.start + grid.bytes / unit * unit);
        }
        self.block_size_of(op).sizes().map(end).max()
    }

    /// Checks that every job finds a place for its I/Os.
    fn check_places(&self, range: &Range) -> Result<(), WorkloadError> {
        for op in self.placed() {
            let jobs = u64::from(self.jobs.max(1));
            let pattern = self.pattern_of(op);
            let places = (0..jobs)
                .step_by(jobs.saturating_sub(1).max(1) as usize)
                .map(|job| Grid::of(self, op, range, (job, jobs)).map_or(0, |grid| grid.places));
            let places = places.min().unwrap_or_default();
            // The last job has the smallest share of a pass.
            let last = (jobs - 1, jobs);
            let least = match pattern.has_passes() && self.share == Share::Split {
                true => Walk::new(&pattern, places, self.last_block, last).1,
                false => places,
            };
            if least == 0 {
                return Err(WorkloadError::TooSmall {
                    range: Bytes(range.bytes),
                    blocks: walk::pass(&pattern, places, self.last_block),
                    block_size: self.block_size_of(op).largest(),
                    jobs: self.jobs,
                });
            }
            match pattern {
                Pattern::Single { block } if block >= places => {
                    return Err(WorkloadError::Senseless {
                        key: "pattern",
                        value: pattern.to_string(),
                        why: "the range ends before this block",
                        help: "use a smaller block number, or a larger size",
                    });
                }
                Pattern::Zones(ref zones) => {
                    let align = self.align_of(op);
                    let fill = zones.sizes(places * align);
                    if !fill.is_some_and(|sizes| sizes.iter().all(|size| *size >= align)) {
                        let range = Bytes(range.bytes);
                        return Err(WorkloadError::Zones { pattern: Box::new(pattern), range });
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
