//! Seeks: jumps from the end of one read or write to the beginning of the next.

use hdrhistogram::Histogram;
use serde::Serialize;

use super::grid::COLUMNS;
use super::histogram::histogram;
use crate::access::Access;
use crate::error::Result;

/// The seeks of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeekFigures {
    /// Reads and writes that do not begin where the read or write before them ended.
    pub seeks: u64,
    /// Their share of the reads and writes that have one before them.
    pub percent: f64,
    /// The share of the seeks that go to lower addresses.
    pub backward_percent: Option<f64>,
    /// Half of the seeks are at most this far, bytes between the end of one I/O and the beginning of the next.
    pub p50_bytes: Option<u64>,
    /// Nine of ten seeks are at most this far.
    pub p90_bytes: Option<u64>,
    /// 99 of 100 seeks are at most this far.
    pub p99_bytes: Option<u64>,
    /// The farthest seek.
    pub farthest_bytes: Option<u64>,
}

/// Counts the seeks of all reads and writes of a device.
#[derive(Debug, Clone)]
pub(crate) struct Seeks {
    last_end: Option<u64>,
    steps: u64,
    backward: u64,
    distances: Histogram<u64>,
    /// Seeks in each part of the time.
    pub by_column: [u64; COLUMNS],
}

impl Seeks {
    pub fn new() -> Result<Self> {
        let (last_end, by_column) = (None, [0; COLUMNS]);
        Ok(Self { last_end, steps: 0, backward: 0, distances: histogram()?, by_column })
    }

    /// Takes the next read or write.
    pub fn add(&mut self, access: &Access, column: usize) {
        let Some(from) = self.last_end.replace(access.end()) else { return };
        self.steps += 1;
        if from == access.offset {
            return;
        }
        self.backward += u64::from(access.offset < from);
        self.distances.saturating_record(from.abs_diff(access.offset));
        if let Some(seeks) = self.by_column.get_mut(column) {
            *seeks += 1;
        }
    }

    /// Returns the figures; `None` with fewer than two reads and writes.
    pub fn figures(&self) -> Option<SeekFigures> {
        let seeks = self.distances.len();
        let quantile = |q| (seeks > 0).then(|| self.distances.value_at_quantile(q));
        (self.steps > 0).then(|| SeekFigures {
            seeks,
            percent: 100.0 * seeks as f64 / self.steps as f64,
            backward_percent: (seeks > 0).then(|| 100.0 * self.backward as f64 / seeks as f64),
            p50_bytes: quantile(0.5),
            p90_bytes: quantile(0.9),
            p99_bytes: quantile(0.99),
            farthest_bytes: quantile(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use disk::Op;

    use super::*;

    #[test]
    fn a_seek_goes_from_the_end_of_an_io_to_the_next_one_also_backwards() {
        let mut seeks = Seeks::new().unwrap();
        let mut add = |op, offset, bytes, column| {
            seeks.add(&Access { at_ns: 0, op, offset, bytes }, column);
        };
        add(Op::Read, 0, 4096, 0);
        // A write may go on where a read ended.
        add(Op::Write, 4096, 4096, 0);
        add(Op::Read, 8192 + (1 << 20), 4096, 3);
        add(Op::Read, 0, 4096, 4);
        add(Op::Read, 0, 4096, 4);
        let figures = seeks.figures().unwrap();
        assert_eq!((figures.seeks, figures.percent), (3, 75.0));
        assert_eq!(figures.backward_percent, Some(200.0 / 3.0));
        assert_eq!((seeks.by_column[3], seeks.by_column[4]), (1, 2));
        let near = |value: Option<u64>, wanted: u64| {
            let off = value.unwrap().abs_diff(wanted) as f64 / wanted as f64;
            assert!(off < 0.002, "{value:?} {wanted}");
        };
        near(figures.farthest_bytes, 8192 + (1 << 20) + 4096);
        near(figures.p50_bytes, 1 << 20);
    }

    #[test]
    fn what_is_in_order_has_no_seek_and_one_io_has_no_figures() {
        let mut seeks = Seeks::new().unwrap();
        let io = |step: u64| Access { at_ns: 0, op: Op::Read, offset: step * 512, bytes: 512 };
        seeks.add(&io(7), 0);
        assert_eq!(seeks.figures(), None);
        (8..20).for_each(|step| seeks.add(&io(step), 0));
        let figures = seeks.figures().unwrap();
        assert_eq!((figures.seeks, figures.percent, figures.p50_bytes), (0, 0.0, None));
    }
}
