//! What operations did: counts, errors by kind, latencies.

use hdrhistogram::Histogram;
use results::model::{IntervalRow, OperationSummary};

use crate::error::{EngineError, Kind};

/// The longest latency that is told apart, nanoseconds: one hour. Longer ones count as this long.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Kinds of errors that one tally keeps apart; further kinds share the last place.
const KINDS: usize = 12;

/// The place for a transfer that ended before its full length without an error number.
pub(crate) const SHORT: i32 = -1;

/// Failed I/Os by error number, in a fixed place so that counting never allocates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Errors([(i32, u64); KINDS]);

impl Errors {
    /// Counts `count` failures of the kind `errno` ([`SHORT`], or a positive error number).
    pub(crate) fn add(&mut self, errno: i32, count: u64) {
        let last = KINDS - 1;
        let at = self.0.iter().position(|&(e, n)| e == errno || n == 0).unwrap_or(last);
        if self.0[at].1 == 0 {
            self.0[at].0 = errno;
        } else if self.0[at].0 != errno {
            self.0[at].0 = 0;
        }
        self.0[at].1 += count;
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.iter().map(|&(_, n)| n).sum()
    }

    fn merge(&mut self, other: &Self) {
        for &(errno, count) in other.0.iter().filter(|&&(_, n)| n > 0) {
            self.add(errno, count);
        }
    }

    /// Counts by name (`ENOSPC`, `short`, `other`).
    pub(crate) fn by_name(&self) -> std::collections::BTreeMap<String, u64> {
        let mut names = std::collections::BTreeMap::new();
        for &(errno, count) in self.0.iter().filter(|&&(_, n)| n > 0) {
            *names.entry(name(errno)).or_default() += count;
        }
        names
    }
}

/// The name of an error number as programmers write it.
fn name(errno: i32) -> String {
    let known = match errno {
        SHORT => "short",
        0 => "other",
        libc::EIO => "EIO",
        libc::ENOSPC => "ENOSPC",
        libc::EINVAL => "EINVAL",
        libc::EAGAIN => "EAGAIN",
        libc::EINTR => "EINTR",
        libc::ENOMEM => "ENOMEM",
        libc::EPERM => "EPERM",
        libc::EACCES => "EACCES",
        libc::EROFS => "EROFS",
        libc::EFBIG => "EFBIG",
        libc::EDQUOT => "EDQUOT",
        libc::EBUSY => "EBUSY",
        libc::ENODEV => "ENODEV",
        libc::ENXIO => "ENXIO",
        libc::EBADF => "EBADF",
        libc::EFAULT => "EFAULT",
        libc::ETIMEDOUT => "ETIMEDOUT",
        libc::ECANCELED => "ECANCELED",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::EILSEQ => "EILSEQ",
        libc::ENODATA => "ENODATA",
        libc::EREMOTEIO => "EREMOTEIO",
        libc::ENOLINK => "ENOLINK",
        libc::EBADE => "EBADE",
        libc::ESTALE => "ESTALE",
        _ => return format!("errno {errno}"),
    };
    known.to_owned()
}

/// What one operation did.
#[derive(Debug, Clone)]
pub(crate) struct OpTally {
    latency: Histogram<u64>,
    bytes: u64,
    errors: Errors,
}

impl OpTally {
    fn new() -> Result<Self, EngineError> {
        let latency = Histogram::new_with_bounds(1, LONGEST_NS, results::histogram::DIGITS)
            .map_err(|e| {
                EngineError::new(
                    Kind::Environment,
                    "A latency histogram cannot be made",
                    "this is a fault of fathom; please report it",
                )
                .because(e)
            })?;
        Ok(Self { latency, bytes: 0, errors: Errors::default() })
    }

    /// I/Os that completed without error.
    pub(crate) fn ios(&self) -> u64 {
        self.latency.len()
    }

    fn merge(&mut self, other: &Self) {
        if other.ios() > 0 {
            // Both have the same fixed bounds, so that nothing can fall outside.
            let _ = self.latency.add(&other.latency);
        }
        self.bytes += other.bytes;
        self.errors.merge(&other.errors);
    }
}

/// What every operation of a load did, by its index in the load.
#[derive(Debug, Clone)]
pub(crate) struct Tally(Vec<OpTally>);

impl Tally {
    pub(crate) fn new(operations: usize) -> Result<Self, EngineError> {
        (0..operations).map(|_| OpTally::new()).collect::<Result<_, _>>().map(Self)
    }

    /// An I/O of `bytes` completed after `latency_ns`.
    #[inline]
    pub(crate) fn completed(&mut self, operation: usize, latency_ns: u64, bytes: u64) {
        let tally = &mut self.0[operation];
        tally.latency.saturating_record(latency_ns);
        tally.bytes += bytes;
    }

    /// An I/O failed.
    pub(crate) fn failed(&mut self, operation: usize, errno: i32) {
        self.0[operation].errors.add(errno, 1);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(into, from)| into.merge(from));
    }

    pub(crate) fn clear(&mut self) {
        for tally in &mut self.0 {
            if tally.ios() > 0 {
                tally.latency.reset();
            }
            tally.bytes = 0;
            tally.errors = Errors::default();
        }
    }

    /// I/Os that completed, of all operations.
    pub(crate) fn ios(&self) -> u64 {
        self.0.iter().map(OpTally::ios).sum()
    }

    /// I/Os that failed, of all operations.
    pub(crate) fn errors(&self) -> u64 {
        self.0.iter().map(|t| t.errors.total()).sum()
    }

    /// One row for each operation over the interval from `start_ns` to `end_ns`.
    pub(crate) fn rows(
        &self,
        stage: usize,
        names: &[String],
        start_ns: u64,
        end_ns: u64,
    ) -> Vec<IntervalRow> {
        let row = |(tally, name): (&OpTally, &String)| IntervalRow {
            stage,
            operation: name.clone(),
            start_ns,
            end_ns,
            ios: tally.ios(),
            bytes: tally.bytes,
            errors: tally.errors.total(),
            latency: results::histogram::summary(&tally.latency),
            histogram: encoded(&tally.latency),
        };
        self.0.iter().zip(names).map(row).collect()
    }

    /// The summary of each operation over `duration_ns`.
    pub(crate) fn summaries(
        &self,
        names: &[String],
        duration_ns: u64,
    ) -> std::collections::BTreeMap<String, OperationSummary> {
        let per_second =
            |n: u64| (duration_ns > 0 && n > 0).then(|| n as f64 * 1e9 / duration_ns as f64);
        let summary = |(tally, name): (&OpTally, &String)| {
            let summary = OperationSummary {
                ios: tally.ios(),
                bytes: tally.bytes,
                errors: tally.errors.by_name(),
                iops: per_second(tally.ios()),
                throughput_bytes_per_s: per_second(tally.bytes),
                latency: results::histogram::summary(&tally.latency),
                histogram: encoded(&tally.latency),
            };
            (name.clone(), summary)
        };
        self.0.iter().zip(names).map(summary).collect()
    }
}

fn encoded(latency: &Histogram<u64>) -> Option<String> {
    if latency.is_empty() { None } else { results::histogram::encode(latency).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_kind_and_none_is_lost_when_kinds_run_out() {
        let mut errors = Errors::default();
        for errno in 1..=30 {
            errors.add(errno, u64::from(errno.unsigned_abs()));
        }
        errors.add(libc::EIO, 1);
        assert_eq!(errors.total(), 30 * 31 / 2 + 1);
        let names = errors.by_name();
        assert_eq!(names["EIO"], 6);
        assert_eq!(names.values().sum::<u64>(), errors.total());
        assert!(names.contains_key("other"), "{names:?}");
    }

    #[test]
    fn merged_tallies_are_the_tally_of_all_ios() {
        let (mut a, mut b) = (Tally::new(2).unwrap(), Tally::new(2).unwrap());
        a.completed(0, 1_000, 4096);
        b.completed(0, 9_000_000, 4096);
        b.completed(1, 5, 512);
        b.failed(1, libc::ENOSPC);
        b.failed(0, SHORT);
        a.merge(&b);
        assert_eq!((a.ios(), a.errors()), (3, 2));
        let names = ["read".to_owned(), "write".to_owned()];
        let summary = a.summaries(&names, 2_000_000_000);
        assert_eq!(summary["read"].bytes, 8192);
        assert_eq!(summary["read"].iops, Some(1.0));
        assert_eq!(summary["read"].errors["short"], 1);
        assert_eq!(summary["write"].errors["ENOSPC"], 1);
        a.clear();
        let rows = a.rows(3, &names, 7, 8);
        assert_eq!((rows.len(), rows[0].ios, rows[0].errors, rows[0].bytes), (2, 0, 0, 0));
        assert_eq!((rows[1].stage, rows[1].start_ns, rows[1].end_ns), (3, 7, 8));
        assert!(rows.iter().all(|r| r.latency.is_none() && r.histogram.is_none()));
    }

    #[test]
    fn a_latency_beyond_an_hour_counts_as_an_hour() {
        let mut tally = Tally::new(1).unwrap();
        tally.completed(0, u64::MAX, 1);
        let rows = tally.rows(0, &["read".to_owned()], 0, 1);
        let longest = rows[0].latency.unwrap().max_ns;
        assert!((LONGEST_NS..LONGEST_NS + LONGEST_NS / 500).contains(&longest), "{longest}");
    }
}
