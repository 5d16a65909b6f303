//! A picture of a device over time: how many bytes went to each part of it in each part of the time.

use std::ops::Range;

use crate::access::Access;

/// Parts of the time, from left to right.
pub const COLUMNS: usize = 200;
/// Parts of the addresses, upwards.
pub const ROWS: usize = 100;
/// Addresses begin at 0 if less than this part of them would be empty below.
const BELOW: u64 = 4;

/// Times and addresses that a picture spans, the same for all pictures of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// When it begins, nanoseconds (or a number of I/Os, if the trace has no times).
    first: u64,
    /// How long it is, at least 1.
    span: u64,
    /// The lowest address in bytes.
    low: u64,
    /// Bytes of a row, whole blocks of 4 KiB.
    row: u64,
}

impl Extent {
    /// Creates an extent from the times of the first and the last I/O, and the addresses of all.
    pub fn new((first, last): (u64, u64), addresses: &Range<u64>) -> Self {
        let bytes = addresses.end.saturating_sub(addresses.start);
        let low = if addresses.start <= bytes / BELOW { 0 } else { addresses.start };
        let row = (addresses.end - low).div_ceil(ROWS as u64).max(1).next_multiple_of(4096);
        Self { first, span: last.saturating_sub(first) + 1, low, row }
    }

    /// Returns how long it is, nanoseconds.
    pub fn span(&self) -> u64 {
        self.span
    }

    /// Returns its lowest address.
    pub fn low(&self) -> u64 {
        self.low
    }

    /// Returns the bytes of the device that a row stands for.
    pub fn row_bytes(&self) -> u64 {
        self.row
    }

    /// Returns the column of a moment; what comes early or late goes to the nearest.
    pub fn column(&self, at_ns: u64) -> usize {
        let since = u128::from(at_ns.saturating_sub(self.first));
        let column = since * COLUMNS as u128 / u128::from(self.span);
        (column as usize).min(COLUMNS - 1)
    }
}

/// Bytes of one operation by time and address, in memory that does not grow.
#[derive(Debug, Clone)]
pub struct Grid {
    cells: Vec<u64>,
}

impl Default for Grid {
    fn default() -> Self {
        Self { cells: vec![0; COLUMNS * ROWS] }
    }
}

impl Grid {
    /// Adds the bytes of an I/O to all rows that it covers.
    pub fn add(&mut self, access: &Access, extent: &Extent) {
        if access.bytes == 0 {
            return;
        }
        let column = extent.column(access.at_ns);
        let row_of =
            |byte: u64| ((byte.saturating_sub(extent.low) / extent.row) as usize).min(ROWS - 1);
        for row in row_of(access.offset)..=row_of(access.end() - 1) {
            let from = extent.low + row as u64 * extent.row;
            let (low, end) = (access.offset.max(from), access.end().min(from + extent.row));
            let cell = &mut self.cells[row * COLUMNS + column];
            *cell = cell.saturating_add(end.saturating_sub(low));
        }
    }

    /// Returns the bytes of each column of a row; rows count upwards.
    pub fn row(&self, row: usize) -> &[u64] {
        self.cells.get(row * COLUMNS..(row + 1) * COLUMNS).unwrap_or_default()
    }

    /// Returns the bytes of the fullest cell.
    pub fn most(&self) -> u64 {
        self.cells.iter().copied().max().unwrap_or(0)
    }

    /// Returns the picture with fewer cells: rows upwards, each with its columns. Both numbers divide those of the grid.
    pub fn coarse(&self, columns: usize, rows: usize) -> Vec<Vec<u64>> {
        let (wide, high) = (COLUMNS / columns.max(1), ROWS / rows.max(1));
        let cell = |column: usize, row: usize| -> u64 {
            let of = |row: usize| self.row(row).iter().skip(column * wide).take(wide).sum::<u64>();
            (row * high..(row + 1) * high).map(of).sum()
        };
        (0..rows).map(|row| (0..columns).map(|column| cell(column, row)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use disk::Op;

    use super::*;

    fn write(at_ns: u64, offset: u64, bytes: u64) -> Access {
        Access { at_ns, op: Op::Write, offset, bytes }
    }

    #[test]
    fn bytes_go_to_the_cells_that_an_io_covers_and_none_is_lost() {
        let extent = Extent::new((1000, 2999), &(0..ROWS as u64 * 4096));
        assert_eq!((extent.row_bytes(), extent.low(), extent.span()), (4096, 0, 2000));
        let mut grid = Grid::default();
        grid.add(&write(1000, 0, 4096), &extent);
        // Over the border of two rows, in the last column.
        grid.add(&write(2999, 2 * 4096 - 512, 1024), &extent);
        assert_eq!(
            (grid.row(0)[0], grid.row(1)[COLUMNS - 1], grid.row(2)[COLUMNS - 1]),
            (4096, 512, 512)
        );
        assert_eq!((grid.cells.iter().sum::<u64>(), grid.most()), (5120, 4096));
        // Late and early I/Os stay in the picture.
        grid.add(&write(5000, 0, 512), &extent);
        grid.add(&write(0, 0, 512), &extent);
        assert_eq!((grid.row(0)[0], grid.row(0)[COLUMNS - 1]), (4608, 512));
        let coarse = grid.coarse(50, 10);
        assert_eq!((coarse.len(), coarse[0].len()), (10, 50));
        assert_eq!(coarse.iter().flatten().sum::<u64>(), 6144);
    }

    #[test]
    fn addresses_begin_at_zero_unless_that_leaves_much_empty() {
        let (mib, gib) = (1u64 << 20, 1u64 << 30);
        let extent = |low, end| Extent::new((0, 9), &(low..end));
        assert_eq!(extent(mib, gib).low(), 0);
        assert_eq!(extent(gib - mib, gib).low(), gib - mib);
        // The highest address has a row, however the sizes are rounded.
        for (low, end) in [(0, 1), (0, 4097), (gib - mib, gib + 1), (0, (1 << 63) - 1)] {
            let extent = extent(low, end);
            assert!(extent.low() + extent.row_bytes() * ROWS as u64 >= end, "{low} {end}");
        }
        assert_eq!(extent(0, 0).row_bytes(), 4096);
    }
}
