//! Time in whole nanoseconds that does not drift when it is added up: the fraction that is cut off each time is kept.

use crate::Rate;

/// A point in time, as nanoseconds and the numerator of a fraction of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExactTime {
    pub(crate) ns: u64,
    rest: u64,
    denominator: u64,
}

impl ExactTime {
    /// Time 0, counted in nanoseconds / `denominator`.
    pub(crate) fn new(denominator: u64) -> Self {
        Self { ns: 0, rest: 0, denominator: denominator.max(1) }
    }

    /// Goes on by what an I/O of `length` bytes costs.
    #[inline]
    pub(crate) fn pay(&mut self, cost: &Cost, length: u32) {
        let (mut whole, mut rest) = cost.io;
        if cost.byte > 0 {
            (whole, rest) = cost.split(cost.byte * u128::from(length));
        }
        self.go_on(whole, rest);
    }

    /// Goes on by `whole` nanoseconds and `rest` parts of one.
    #[inline]
    pub(crate) fn go_on(&mut self, whole: u64, rest: u64) {
        let sum = u128::from(self.rest) + u128::from(rest);
        let carry = sum >= u128::from(self.denominator);
        self.rest =
            self.rest.wrapping_add(rest).wrapping_sub(if carry { self.denominator } else { 0 });
        self.ns = self.ns.saturating_add(whole).saturating_add(u64::from(carry));
    }

    /// Goes to a whole nanosecond.
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
    /// At the part of `rate` that is left to one of `jobs` jobs.
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

    /// So many parts as whole nanoseconds and parts of one.
    pub(crate) fn split(&self, parts: u128) -> (u64, u64) {
        let denominator = u128::from(self.denominator);
        // Division of 128 bits is slow, and seldom needed.
        match u64::try_from(parts) {
            Ok(parts) => (parts / self.denominator, parts % self.denominator),
            Err(_) => ((parts / denominator) as u64, (parts % denominator) as u64),
        }
    }

    /// Parts of a nanosecond that an I/O of `length` bytes costs.
    pub(crate) fn parts(&self, length: u32) -> u128 {
        let io = u128::from(self.io.0) * u128::from(self.denominator) + u128::from(self.io.1);
        io + self.byte * u128::from(length)
    }
}
