//! Time in nanoseconds with an exact fraction, so that sums do not drift.

use crate::Rate;

/// A point in time, as nanoseconds and the numerator of a fraction of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExactTime {
    pub(crate) ns: u64,
    rest: u64,
    denominator: u64,
}

impl ExactTime {
    /// Creates time 0, with fractions of 1/`denominator` nanoseconds.
    pub(crate) fn new(denominator: u64) -> Self {
        Self { ns: 0, rest: 0, denominator: denominator.max(1) }
    }

    /// Adds the cost of an I/O of `length` bytes.
    #[inline]
    pub(crate) fn pay(&mut self, cost: &Cost, length: u32) {
        let (mut whole, mut rest) = cost.io;
        if cost.byte > 0 {
            (whole, rest) = cost.split(cost.byte * u128::from(length));
        }
        self.add(whole, rest);
    }

    /// Adds `whole` nanoseconds and `rest` parts of a nanosecond.
    #[inline]
    pub(crate) fn add(&mut self, whole: u64, rest: u64) {
        let sum = u128::from(self.rest) + u128::from(rest);
        let carry = sum >= u128::from(self.denominator);
        self.rest =
            self.rest.wrapping_add(rest).wrapping_sub(if carry { self.denominator } else { 0 });
        self.ns = self.ns.saturating_add(whole).saturating_add(u64::from(carry));
    }

    /// Sets the time to a whole nanosecond.
    pub(crate) fn set(&mut self, ns: u64) {
        (self.ns, self.rest) = (ns, 0);
    }
}

/// The time that one I/O costs at a rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// Per I/O: whole nanoseconds, and parts of one.
    io: (u64, u64),
    /// Per byte, parts of a nanosecond.
    byte: u128,
    /// Parts in a nanosecond.
    pub(crate) denominator: u64,
}

impl Cost {
    /// Computes the cost for one of `jobs` jobs that share `rate` equally.
    pub(crate) fn new(rate: Rate, jobs: u32) -> Self {
        let jobs = u128::from(jobs.max(1));
        let (io, byte, denominator) = match rate {
            Rate::Ios(thousandths) => (jobs * 1_000_000_000_000, 0, thousandths.max(1)),
            Rate::Bytes(bytes) => (0, jobs * 1_000_000_000, bytes.0.max(1)),
        };
        let mut cost = Self { io: (0, 0), byte, denominator };
        cost.io = cost.split(io);
        cost
    }

    /// Splits `parts` into whole nanoseconds and the remaining parts.
    pub(crate) fn split(&self, parts: u128) -> (u64, u64) {
        let denominator = u128::from(self.denominator);
        // Division of 128 bits is slow, and rarely needed.
        match u64::try_from(parts) {
            Ok(parts) => (parts / self.denominator, parts % self.denominator),
            Err(_) => ((parts / denominator) as u64, (parts % denominator) as u64),
        }
    }

    /// Returns the cost of an I/O of `length` bytes in parts of a nanosecond.
    pub(crate) fn parts(&self, length: u32) -> u128 {
        let io = u128::from(self.io.0) * u128::from(self.denominator) + u128::from(self.io.1);
        io + self.byte * u128::from(length)
    }
}
