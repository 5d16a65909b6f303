//! Counts the I/Os and bytes of a load before it runs.

use units::{Bytes, Seed};

use crate::{LoadSpec, Range, Share, Stream};

/// Total number of I/Os and bytes of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// I/Os of the mix, over all jobs.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl LoadSpec {
    /// Returns the I/Os and bytes of the load on `range`, over all jobs; `None` when only time or a settled metric ends it.
    pub fn amount(&self, range: &Range) -> Option<Amount> {
        if !self.has_amount() {
            return None;
        }
        let jobs = if self.share == Share::Shared { 1 } else { self.jobs.max(1) };
        let mut amount = Amount { ios: 0, bytes: 0 };
        for job in 0..jobs {
            // The seed changes which I/Os are drawn, but not how many.
            let stream = Stream::new(self, range, Seed(0), job, self.jobs);
            amount.ios = amount.ios.saturating_add(stream.total_ios()?);
            amount.bytes = amount.bytes.saturating_add(stream.total_bytes()?);
        }
        Some(amount)
    }

    /// The load on one of several targets, which gets `share` (0 to 1) of its I/Os and bytes.
    #[must_use]
    pub fn part(&self, share: f64) -> Self {
        let mut part = self.clone();
        if share < 1.0 {
            let unit = self.largest_io().0.max(1);
            let scale = |n: u64| (n as f64 * share).round() as u64;
            part.ios = part.ios.map(|ios| scale(ios).max(1));
            part.bytes = part.bytes.map(|bytes| Bytes(scale(bytes.0 / unit).max(1) * unit));
        }
        part
    }

    /// Returns the I/Os and bytes of the load on a target of `target_bytes` bytes. They are exact, except where several sizes come in random order: there
    /// they may differ by one I/O.
    /// `None` when only time ends it, or the load does not fit.
    pub fn plan(&self, target_bytes: u64) -> Option<Amount> {
        self.amount(&self.check_target(target_bytes, 1).ok()?)
    }
}
