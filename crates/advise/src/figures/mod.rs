//! Figures of a trace, whatever recorded it: rates, sizes, runs, seeks, what is touched and what comes again, and a picture of addresses over
//! time. The I/Os are streamed; memory does not grow with them.

mod grid;
mod histogram;
mod runs;
mod seeks;
mod sizes;

use disk::Op;
use serde::Serialize;

use crate::access::Access;
use crate::analysis::{Analysis, BLOCK};
use crate::curve::Curve;
use crate::error::Result;
use crate::pattern::OpCounts;
use crate::source::Trace;

pub use grid::{COLUMNS, Extent, Grid, ROWS};
use runs::Runs;
pub use runs::{RUN_CLASSES, RunClass, RunFigures};
pub use seeks::SeekFigures;
use seeks::Seeks;
pub use sizes::SizeCount;
use sizes::Sizes;

/// Sizes that are shown of each operation.
const SIZES: usize = 4;

/// The I/Os of one operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpFigures {
    /// The operation.
    pub op: &'static str,
    /// I/Os, their bytes, and how many are sequential or unaligned.
    #[serde(flatten)]
    pub counts: OpCounts,
    /// I/Os per second on average; `null` if the trace has no times.
    pub per_second: Option<f64>,
    /// I/Os per second in the busiest of 200 equal parts of the time.
    pub most_per_second: Option<f64>,
    /// The most frequent sizes.
    pub sizes: Vec<SizeCount>,
    /// Its sequential runs; `null` for flushes.
    pub runs: Option<RunFigures>,
}

/// Data that was touched again: a touch is one I/O in one block of 4 KiB.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReuseFigures {
    /// The operation.
    pub op: &'static str,
    /// The share of the touches whose block was touched before.
    pub again_percent: f64,
    /// Half of those come again after at most this much other data was touched, bytes.
    pub p50_bytes: Option<f64>,
    /// Nine of ten come again after at most this much.
    pub p90_bytes: Option<f64>,
    /// The share of the touches that come again after less than so many bytes of data, for each doubling of the bytes.
    pub curve: Vec<ReusePoint>,
}

/// A point of the reuse curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReusePoint {
    /// Bytes of different data.
    pub bytes: f64,
    /// The share of the touches, percent.
    pub percent: f64,
}

/// All figures of a trace.
#[derive(Debug)]
pub struct Figures {
    analysis: Analysis,
    extent: Extent,
    timed: bool,
    /// Grids and runs of reads, writes and discards, by the place of the operation in [`Op::ALL`].
    grids: [Grid; Op::ALL.len()],
    runs: [Runs; Op::ALL.len()],
    sizes: [Sizes; Op::ALL.len()],
    ios: [[u64; COLUMNS]; Op::ALL.len()],
    seeks: Seeks,
}

/// Returns the place of an operation in [`Op::ALL`].
fn place(op: Op) -> usize {
    Op::ALL.iter().position(|one| *one == op).unwrap_or(0)
}

impl Figures {
    /// Reads all I/Os of a trace. Now and then `progress` gets their number. A trace whose I/Os have all the same time is put in order by their
    /// numbers instead.
    ///
    /// # Errors
    /// If a file can no longer be read.
    pub fn of(trace: &Trace, progress: &mut dyn FnMut(u64)) -> Result<Self> {
        let times = trace.times_ns();
        let timed = times.0 < times.1;
        let times = if timed { times } else { (0, trace.ios().saturating_sub(1)) };
        let mut figures = Self::new(timed, times, Extent::new(times, &trace.addresses()))?;
        let mut number = 0;
        trace.each(|access| {
            let at_ns = if timed { access.at_ns } else { number };
            figures.take(&Access { at_ns, ..*access });
            number += 1;
            if number % (1 << 16) == 0 {
                progress(number);
            }
        })?;
        Ok(figures)
    }

    fn new(timed: bool, times: (u64, u64), extent: Extent) -> Result<Self> {
        Ok(Self {
            analysis: Analysis::new(&[], times),
            extent,
            timed,
            grids: Default::default(),
            runs: [Runs::new()?, Runs::new()?, Runs::new()?, Runs::new()?],
            sizes: Default::default(),
            ios: [[0; COLUMNS]; Op::ALL.len()],
            seeks: Seeks::new()?,
        })
    }

    fn take(&mut self, access: &Access) {
        self.analysis.take(access);
        let (at, column) = (place(access.op), self.extent.column(access.at_ns));
        self.ios[at][column] += 1;
        if access.op == Op::Flush {
            return;
        }
        self.sizes[at].add(access.bytes);
        self.runs[at].add(access);
        self.grids[at].add(access, &self.extent);
        if access.op != Op::Discard {
            self.seeks.add(access, column);
        }
    }

    /// Returns the parts of the trace that the analysis for caches counts: operations, touched data, working set.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// Tells whether the trace has times; without them all that is over time is over the number of I/Os.
    pub fn timed(&self) -> bool {
        self.timed
    }

    /// Returns the times and addresses of the pictures.
    pub fn extent(&self) -> &Extent {
        &self.extent
    }

    /// Returns the time from the first I/O to the last one, seconds; `None` if the trace has no times.
    pub fn seconds(&self) -> Option<f64> {
        self.timed.then(|| (self.extent.span() - 1) as f64 / 1e9)
    }

    /// Returns the picture of an operation; `None` without I/Os that have an address.
    pub fn grid(&self, op: Op) -> Option<&Grid> {
        Some(&self.grids[place(op)]).filter(|grid| grid.most() > 0)
    }

    /// Returns how many I/Os of an operation there were in each part of the time.
    pub fn ios_over_time(&self, op: Op) -> &[u64] {
        &self.ios[place(op)]
    }

    /// Returns how many seeks there were in each part of the time.
    pub fn seeks_over_time(&self) -> &[u64] {
        &self.seeks.by_column
    }

    /// Returns the seeks; `None` with fewer than two reads and writes.
    pub fn seeks(&self) -> Option<SeekFigures> {
        self.seeks.figures()
    }

    /// Returns the most events of one of the parts of the time, per second; `None` if the trace has no times.
    pub fn most_per_second(&self, events: &[u64]) -> Option<f64> {
        let most = events.iter().copied().max().unwrap_or(0);
        self.seconds().map(|seconds| most as f64 * COLUMNS as f64 / seconds)
    }

    /// Returns the figures of each operation that occurs.
    pub fn ops(&self) -> Vec<OpFigures> {
        let occurs = |op: &Op| self.analysis.pattern().counts_of(*op).ios > 0;
        let of = |op: Op| {
            let counts = *self.analysis.pattern().counts_of(op);
            OpFigures {
                op: op.name(),
                counts,
                per_second: self.seconds().map(|seconds| counts.ios as f64 / seconds),
                most_per_second: self.most_per_second(self.ios_over_time(op)),
                sizes: self.sizes[place(op)].most_frequent(SIZES),
                runs: self.runs[place(op)].figures(),
            }
        };
        Op::ALL.into_iter().filter(occurs).map(of).collect()
    }

    /// Returns the data that had been touched for the first time by the end of each part of the time: the end, nanoseconds since the first I/O,
    /// and the bytes in whole blocks of 4 KiB.
    pub fn growth(&self) -> Vec<(u64, f64)> {
        let (window_ns, windows) = self.analysis.working_set();
        let mut so_far = 0.0;
        let grown = |(at, (_, new)): (usize, (f64, f64))| {
            so_far += new;
            (((at as u64 + 1) * window_ns).min(self.extent.span()), so_far)
        };
        let mut all: Vec<_> = windows.into_iter().enumerate().map(grown).collect();
        // Nothing is read or written behind the last window.
        let early = all.last().is_some_and(|(end, _)| *end < self.extent.span());
        all.extend(early.then_some((self.extent.span(), so_far)));
        if so_far > 0.0 { all } else { Vec::new() }
    }

    /// Returns how reads and writes come again, of those that occur.
    pub fn reuse(&self) -> Vec<ReuseFigures> {
        let curves = self.analysis.blocks().curves();
        let of = |(op, curve): (Op, &Curve)| {
            let again_percent = curve.most_percent()?;
            let after = |share: f64| {
                let chunks = curve.chunks_for(again_percent * share)?;
                (again_percent > 0.0).then_some(chunks * BLOCK as f64)
            };
            let most = self.analysis.touched().bytes.max(1.0);
            let sizes = (0..).map(|step| BLOCK as f64 * 2f64.powi(step));
            let points = sizes.take_while(|bytes| *bytes < most * 2.0).map(|bytes| ReusePoint {
                bytes,
                percent: curve.hits_percent(bytes / BLOCK as f64).unwrap_or(0.0),
            });
            let (p50_bytes, p90_bytes) = (after(0.5), after(0.9));
            Some(ReuseFigures {
                op: op.name(),
                again_percent,
                p50_bytes,
                p90_bytes,
                curve: points.collect(),
            })
        };
        [Op::Read, Op::Write].into_iter().zip(&curves).filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests;
