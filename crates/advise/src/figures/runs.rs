//! Sequential runs: how far I/Os of one operation go on where an earlier one ended.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::access::Access;
use crate::error::Result;
use crate::streams::Streams;

use super::histogram::histogram;

/// The ends of the classes of lengths, bytes; a last class has none.
pub const RUN_CLASSES: [u64; 6] = [16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];

/// Runs of one class of lengths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RunClass {
    /// The shortest length in it, bytes.
    pub from_bytes: u64,
    /// Runs.
    pub runs: u64,
    /// The bytes of all of them.
    pub bytes: u64,
}

/// The runs of one operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFigures {
    /// Runs; an I/O that continues nothing is a run of its own.
    pub runs: u64,
    /// Half of the runs are at most this long, bytes.
    pub p50_bytes: u64,
    /// Nine of ten runs are at most this long.
    pub p90_bytes: u64,
    /// The longest run.
    pub longest_bytes: u64,
    /// The share of all bytes that are in runs of at least 64 KiB.
    pub in_64kib_percent: f64,
    /// The share of all bytes that are in runs of at least 1 MiB.
    pub in_1mib_percent: f64,
    /// Runs by their length.
    pub classes: Vec<RunClass>,
}

/// Counts the runs of one operation.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    streams: Streams,
    ended: Lengths,
}

#[derive(Debug, Clone)]
struct Lengths {
    all: Histogram<u64>,
    classes: [RunClass; RUN_CLASSES.len() + 1],
}

impl Runs {
    pub fn new() -> Result<Self> {
        let mut classes = [RunClass::default(); RUN_CLASSES.len() + 1];
        classes.iter_mut().skip(1).zip(RUN_CLASSES).for_each(|(one, from)| one.from_bytes = from);
        let ended = Lengths { all: histogram()?, classes };
        Ok(Self { streams: Streams::default(), ended })
    }

    pub fn add(&mut self, access: &Access) {
        if access.bytes > 0 {
            let ended = self.streams.take(access.offset, access.bytes).ended;
            ended.into_iter().for_each(|length| self.ended.add(length));
        }
    }

    /// Returns the figures; `None` without I/Os.
    pub fn figures(&self) -> Option<RunFigures> {
        let mut lengths = self.ended.clone();
        self.streams.lengths().for_each(|length| lengths.add(length));
        let Lengths { all, classes } = lengths;
        let bytes: f64 = classes.iter().map(|class| class.bytes as f64).sum();
        let from = |least: u64| {
            let those = classes.iter().filter(|class| class.from_bytes >= least);
            100.0 * those.map(|class| class.bytes as f64).sum::<f64>() / bytes
        };
        (!all.is_empty()).then(|| RunFigures {
            runs: all.len(),
            p50_bytes: all.value_at_quantile(0.5),
            p90_bytes: all.value_at_quantile(0.9),
            longest_bytes: all.max(),
            in_64kib_percent: from(64 << 10),
            in_1mib_percent: from(1 << 20),
            classes: classes.to_vec(),
        })
    }
}

impl Lengths {
    fn add(&mut self, length: u64) {
        self.all.saturating_record(length);
        let class = RUN_CLASSES.iter().filter(|end| length >= **end).count();
        self.classes[class].runs += 1;
        self.classes[class].bytes = self.classes[class].bytes.saturating_add(length);
    }
}

#[cfg(test)]
mod tests {
    use disk::Op;

    use super::*;

    #[test]
    fn streams_side_by_side_are_runs_of_their_own_and_jumps_are_short_ones() {
        let mut runs = Runs::new().unwrap();
        let mut add = |offset, bytes| {
            runs.add(&Access { at_ns: 0, op: Op::Read, offset, bytes });
        };
        // Two streams of 1 MiB each, in turns.
        for step in 0..256u64 {
            add(step * 4096, 4096);
            add((1 << 40) + step * 4096, 4096);
        }
        // 100 jumps of 4 KiB, most of which end before the trace does.
        (0..100u64).for_each(|jump| add((2 << 40) + (jump << 30), 4096));
        let figures = runs.figures().unwrap();
        assert_eq!((figures.runs, figures.longest_bytes >> 10), (102, 1024));
        assert_eq!((figures.p50_bytes >> 12, figures.p90_bytes >> 12), (1, 1));
        let all = (2 << 20) as f64 + 100.0 * 4096.0;
        let long = 100.0 * (2 << 20) as f64 / all;
        assert!((figures.in_1mib_percent - long).abs() < 1e-9);
        assert!((figures.in_64kib_percent - long).abs() < 1e-9);
        assert_eq!((figures.classes[0].runs, figures.classes[4].runs), (100, 2));
        assert_eq!(Runs::new().unwrap().figures(), None);
    }

    #[test]
    fn a_length_at_the_border_of_a_class_is_in_the_longer_one() {
        let mut runs = Runs::new().unwrap();
        for (jump, bytes) in [(1u64, 64 << 10), (2, (64 << 10) - 512), (3, 1 << 20), (4, 1 << 30)] {
            runs.add(&Access { at_ns: 0, op: Op::Write, offset: jump << 40, bytes });
        }
        let classes = runs.figures().unwrap().classes;
        let counts: Vec<_> = classes.iter().map(|class| class.runs).collect();
        assert_eq!(counts, [0, 1, 1, 0, 1, 0, 1]);
    }
}
