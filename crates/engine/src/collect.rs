//! Rows and totals, put together by interval from the workers' buffers.

use std::collections::{BTreeMap, BTreeSet};

use results::model::{IntervalRow, JobRow, counted_operations};

use crate::by_job::JobTallies;
use crate::error::EngineError;
use crate::interval_recorder::{BUFFERS, IntervalReader};
use crate::pace::Pace;
use crate::record::{SlowIo, Worst};
use crate::tally::{Shape, Tally};

/// Finished rows: of all jobs together, and of each job where figures per job are kept.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Rows {
    pub all: Vec<IntervalRow>,
    pub jobs: Vec<JobRow>,
}

impl Rows {
    /// The share of the I/Os, 0 to 1, that count in CPU time per I/O: all except flushes ([`counted_operations`]); 1 where there are none.
    pub(crate) fn counted_part(&self) -> f64 {
        let names = self.all.iter().map(|row| &row.operation);
        let counted: BTreeSet<_> = counted_operations(names).collect();
        let of = |row: &&IntervalRow| counted.contains(&row.operation);
        let all: u64 = self.all.iter().map(|row| row.ios).sum();
        let ios: u64 = self.all.iter().filter(of).map(|row| row.ios).sum();
        if ios > 0 { ios as f64 / all as f64 } else { 1.0 }
    }
}

/// Merges what all workers did, interval by interval.
pub(crate) struct Collector {
    readers: Vec<IntervalReader>,
    pace: Pace,
    stage: usize,
    names: Vec<String>,
    shape: Shape,
    /// The worst I/Os of each worker so far.
    worst: Vec<Worst>,
    /// Intervals that some worker has left and another has not.
    pending: BTreeMap<u64, JobTallies>,
    /// The first interval without a row.
    next: u64,
    total: JobTallies,
}

impl Collector {
    pub(crate) fn new(
        readers: Vec<IntervalReader>,
        pace: Pace,
        stage: usize,
        names: Vec<String>,
        shape: Shape,
    ) -> Self {
        let worst = vec![Worst::new(shape.worst); readers.len()];
        let total = JobTallies::new(shape);
        Self { readers, pace, stage, names, shape, worst, pending: BTreeMap::new(), next: 0, total }
    }

    /// Takes what the workers have finished, and gives the rows of all intervals that every worker has left.
    pub(crate) fn rows(&mut self) -> Result<Rows, EngineError> {
        // Read before the buffers: a worker leaves the buffer of an interval before it reports the next one. So `gather` finds everything before
        // `reached`, except what a worker without a free buffer still holds.
        let reached = self.readers.iter().map(IntervalReader::reached).min().unwrap_or(u64::MAX);
        self.gather();
        let mut rows = Rows::default();
        while self.next < reached && reached != u64::MAX {
            self.row(None, &mut rows)?;
        }
        Ok(rows)
    }

    /// The first interval whose row has not been given out.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// All remaining rows of a load that ended at `end_ns`. A row lasts as long as an interval, the last one until the end; I/Os counted in an
    /// interval that begins at the end itself belong to the row before it.
    pub(crate) fn last_rows(&mut self, end_ns: u64) -> Result<Rows, EngineError> {
        self.gather();
        let mut rows = Rows::default();
        let last = self.pace.interval(end_ns.saturating_sub(1)).max(self.next);
        for late in self.pending.split_off(&(last + 1)).into_values() {
            self.pending.entry(last).or_insert_with(|| JobTallies::new(self.shape)).merge(&late);
        }
        // The interval that begins at the end itself gets no row, unless I/Os wait for it.
        let last_begins_at_end = self.pace.span_ns(last, None).0 >= end_ns;
        while self.next <= last && !(last_begins_at_end && self.pending.is_empty()) {
            self.row(Some(end_ns), &mut rows)?;
        }
        Ok(rows)
    }

    /// Returns the notice that I/Os stand in rows of earlier intervals than their own; `None` where each stands in its own.
    pub(crate) fn notice(&self) -> Option<String> {
        let merged: u64 = self.readers.iter().map(IntervalReader::merged).sum();
        let text = |merged| {
            format!(
                "Fathom could not collect rows fast enough: {merged} times a worker began an interval of {} while the {} before it were not \
                 collected. Its I/Os count in an earlier row, and a row of 0 need not be a stall. Totals are right; a longer interval helps.",
                units::Nanos(self.pace.interval_ns),
                BUFFERS - 1
            )
        };
        (merged > 0).then(|| text(merged))
    }

    /// Returns the totals over all intervals that have rows.
    pub(crate) fn total(&self) -> &Tally {
        &self.total.all
    }

    /// The worst I/Os of all workers, longest first.
    pub(crate) fn worst(&self) -> Vec<SlowIo> {
        Worst::of_all(self.shape.worst, self.worst.iter())
    }

    /// Returns the totals, when nothing more is to come.
    pub(crate) fn into_total(self) -> JobTallies {
        self.total
    }

    fn gather(&mut self) {
        let (shape, workers) = (self.shape, self.readers.len() / self.shape.jobs.max(1));
        for (worker, reader) in self.readers.iter_mut().enumerate() {
            reader.take(|interval, tally| {
                self.worst[worker].copy_from(&tally.worst);
                let pending =
                    self.pending.entry(interval).or_insert_with(|| JobTallies::new(shape));
                pending.add(worker / workers.max(1), tally);
            });
        }
        while let Some((&first, _)) = self.pending.first_key_value()
            && first < self.next
            && let Some(late) = self.pending.remove(&first)
        {
            // A worker that could not switch buffers in time kept counting in an interval whose row has been given out.
            match self.pending.get_mut(&self.next) {
                Some(pending) => pending.merge(&late),
                None => drop(self.pending.insert(self.next, late)),
            }
        }
    }

    fn row(&mut self, end_ns: Option<u64>, rows: &mut Rows) -> Result<(), EngineError> {
        let (start_ns, end_ns) = self.pace.span_ns(self.next, end_ns);
        let done = self.pending.remove(&self.next).unwrap_or_else(|| JobTallies::new(self.shape));
        self.next += 1;
        self.total.merge(&done);
        rows.all.extend(done.all.rows(self.stage, &self.names, start_ns, end_ns)?);
        rows.jobs.extend(done.job_rows(self.stage, &self.names, (start_ns, end_ns))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval_recorder;
    use crate::tally::tests::{io, plain};

    fn pace() -> Pace {
        Pace { start_ns: 1000, interval_ns: 10, duration_ns: None }
    }

    fn collector(readers: Vec<IntervalReader>) -> Collector {
        Collector::new(readers, pace(), 0, vec!["read".into()], plain(1))
    }

    #[test]
    fn a_row_is_given_when_every_worker_is_through_with_its_interval() {
        let (mut a, reader_a) = interval_recorder::pair(plain(1));
        let (mut b, reader_b) = interval_recorder::pair(plain(1));
        let mut collector = collector(vec![reader_a, reader_b]);
        a.tally().completed(&io(0, 5, 10));
        b.tally().completed(&io(0, 7, 10));
        a.enter(1);
        assert_eq!(collector.rows().unwrap(), Rows::default());
        b.enter(1);
        let rows = collector.rows().unwrap().all;
        assert_eq!((rows.len(), rows[0].ios, rows[0].bytes), (1, 2, 20));
        assert_eq!((rows[0].start_ns, rows[0].end_ns), (1000, 1010));
    }

    #[test]
    fn an_interval_in_which_nothing_ended_has_a_row_too_and_the_last_one_is_cut() {
        let (mut a, reader) = interval_recorder::pair(plain(1));
        let mut collector = collector(vec![reader]);
        a.tally().completed(&io(0, 5, 10));
        a.enter(3);
        a.tally().completed(&io(0, 5, 10));
        let rows = collector.rows().unwrap().all;
        assert_eq!(rows.iter().map(|r| r.ios).collect::<Vec<_>>(), [1, 0, 0]);
        assert!(a.close());
        let rows = collector.last_rows(1034).unwrap().all;
        assert_eq!((rows.len(), rows[0].ios, rows[0].start_ns, rows[0].end_ns), (1, 1, 1030, 1034));
        assert_eq!(collector.total().ios(), 2);
    }

    #[test]
    fn each_io_counts_in_its_own_interval_though_the_reader_is_late_and_nothing_is_lost_when_it_is_too_late()
     {
        let (mut a, reader) = interval_recorder::pair(plain(1));
        let mut collector = collector(vec![reader]);
        for interval in 1..=4 {
            a.tally().completed(&io(0, 5, 1));
            a.enter(interval);
        }
        let ios = |rows: &[IntervalRow]| rows.iter().map(|r| r.ios).collect::<Vec<_>>();
        assert_eq!(ios(&collector.rows().unwrap().all), [1, 1, 1, 1]);
        assert_eq!(collector.notice(), None);
        let last = 4 + BUFFERS + 2;
        for interval in 5..=last {
            a.tally().completed(&io(0, 5, 1));
            a.enter(interval);
        }
        let rows = ios(&collector.rows().unwrap().all);
        let full = [vec![1; BUFFERS as usize - 1], vec![0; 3]].concat();
        assert_eq!(rows, full);
        assert!(collector.notice().unwrap().contains("3 times"), "{:?}", collector.notice());
        a.tally().completed(&io(0, 5, 1));
        assert!(a.close());
        let rows = ios(&collector.last_rows(1000 + 10 * last + 5).unwrap().all);
        assert_eq!(rows.iter().sum::<u64>(), 4);
        assert_eq!(collector.total().ios(), 4 + BUFFERS + 3);
    }
}
