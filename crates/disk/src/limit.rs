//! Limits of a disk: token buckets in model time.
//!
//! A bucket holds what the limit gives in 100 ms, as QEMU's throttling does. A request that finds its bucket empty waits before it comes to the disk;
//! reads do not wait for writes, nor writes for reads, unless one limit is for both.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::request::{Op, Request};
use crate::throughput::Throughput;

/// The burst that is let through at once after a pause: as much as the limit allows in this time, in nanoseconds.
const BURST: f64 = 100e6;
/// The smallest and the largest value of each limit.
const IOPS: (u64, u64) = (1, 100_000_000);
const THROUGHPUT: (u64, u64) = (64 << 10, 1 << 40);

/// The most that a disk does in a second: for reads and writes together, or for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Reads and writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u64>,
    /// Reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<u64>,
    /// Writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<u64>,
    /// Bytes of reads and writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// Bytes of reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_throughput: Option<Throughput>,
    /// Bytes of writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_throughput: Option<Throughput>,
}

impl Limit {
    /// Tells whether it limits nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses limits that make no sense.
    pub fn check(&self) -> Result<()> {
        for (key, value) in self.each_iops() {
            let (least, most) = IOPS;
            if value.is_some_and(|n| !(least..=most).contains(&n)) {
                let what = format!("cannot be {}", value.unwrap_or(0));
                let help = format!("give a whole number from {least} to {most}");
                return Err(Error::bad(format!("limit.{key}"), what, help));
            }
        }
        for (key, value) in self.each_throughput() {
            let (least, most) = (Throughput(THROUGHPUT.0), Throughput(THROUGHPUT.1));
            if let Some(value) = value.filter(|value| !(least..=most).contains(value)) {
                let help = format!("give {least} to {most}, as in \"100M/s\"");
                return Err(Error::bad(format!("limit.{key}"), format!("cannot be {value}"), help));
            }
        }
        // QEMU refuses the combination, too: it would not be clear which limit holds.
        let parts = self.read_iops.is_some() || self.write_iops.is_some();
        let flows = self.read_throughput.is_some() || self.write_throughput.is_some();
        for (key, twice) in [
            ("iops", self.iops.is_some() && parts),
            ("throughput", self.throughput.is_some() && flows),
        ] {
            if twice {
                let what = "limits reads and writes together, and another key limits one of them";
                let help = format!("give either {key}, or read_{key} and write_{key}");
                return Err(Error::bad(format!("limit.{key}"), what, help));
            }
        }
        Ok(())
    }

    /// Limits of requests, by their keys.
    fn each_iops(&self) -> [(&'static str, Option<u64>); 3] {
        [("iops", self.iops), ("read_iops", self.read_iops), ("write_iops", self.write_iops)]
    }

    /// Limits of bytes, by their keys.
    fn each_throughput(&self) -> [(&'static str, Option<Throughput>); 3] {
        [
            ("throughput", self.throughput),
            ("read_throughput", self.read_throughput),
            ("write_throughput", self.write_throughput),
        ]
    }
}

impl fmt::Display for Limit {
    /// `120 reads/s, 100 MiB/s of writes`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let whose = ["I/Os", "reads", "writes"];
        let requests = self.each_iops().into_iter().zip(whose);
        let requests = requests.filter_map(|((_, n), of)| Some(format!("{} {of}/s", n?)));
        let whose = ["", " of reads", " of writes"];
        let bytes = self.each_throughput().into_iter().zip(whose);
        let bytes = bytes.filter_map(|((_, n), of)| Some(format!("{}{of}", n?)));
        f.write_str(&requests.chain(bytes).collect::<Vec<_>>().join(", "))
    }
}

/// The token buckets of a limit, filled as time goes by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buckets {
    all: Vec<Bucket>,
    /// Instants at which the last read and the last write are let through: none overtakes another of its kind.
    last: [u64; 2],
}

#[derive(Debug, Clone)]
struct Bucket {
    /// The operation that it limits; `None`: reads and writes.
    op: Option<Op>,
    /// Tells whether it counts bytes, or requests.
    bytes: bool,
    /// Nanoseconds that each byte or request takes.
    each: f64,
    /// Instant at which everything taken so far is paid for.
    paid: f64,
}

impl Buckets {
    pub(crate) fn new(limit: &Limit) -> Self {
        let whose = [None, Some(Op::Read), Some(Op::Write)];
        let requests = limit.each_iops().into_iter().zip(whose);
        let requests = requests.filter_map(|((_, n), of)| Some((of, false, n?)));
        let bytes = limit.each_throughput().into_iter().zip(whose);
        let bytes = bytes.filter_map(|((_, n), op)| Some((op, true, n?.0)));
        let bucket = |(op, bytes, rate): (_, _, u64)| Bucket {
            op,
            bytes,
            each: 1e9 / rate.max(1) as f64,
            paid: 0.0,
        };
        Self { all: requests.chain(bytes).map(bucket).collect(), last: [0; 2] }
    }

    /// Returns when a request may come to the disk: at its arrival, or later.
    pub(crate) fn admits(&mut self, request: &Request) -> u64 {
        // A flush covers only what was replied to, and none of that waits here.
        if self.all.is_empty() || request.op == Op::Flush {
            return request.arrival;
        }
        let now = request.arrival as f64;
        let mut at = now;
        let concerns = |bucket: &&mut Bucket| {
            bucket.op.map_or(request.op != Op::Discard, |of| of == request.op)
        };
        for bucket in self.all.iter_mut().filter(concerns) {
            at = at.max(bucket.paid - BURST);
            let amount = if bucket.bytes { request.length as f64 } else { 1.0 };
            bucket.paid = bucket.paid.max(now) + amount * bucket.each;
        }
        // Discards cost nothing, but keep their order among the writes.
        let last = &mut self.last[usize::from(request.op != Op::Read)];
        *last = (*last).max(at.ceil() as u64);
        *last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn ask(op: Op, arrival: u64, length: u64) -> Request {
        Request { id: 0, arrival, op, offset: 0, length, fua: false }
    }

    fn buckets(text: &str) -> Buckets {
        let limit: Limit = toml::from_str(text).unwrap();
        limit.check().unwrap();
        Buckets::new(&limit)
    }

    #[test]
    fn a_limit_gives_a_tenth_of_a_second_at_once_and_then_its_rate() {
        let mut limited = buckets("iops = 100");
        let at: Vec<u64> = (0..200).map(|_| limited.admits(&ask(Op::Read, 0, 4096))).collect();
        assert!(at[..11].iter().all(|at| *at == 0) && at[11] > 0);
        assert!(at[110].abs_diff(SECOND) <= 2, "{}", at[110]);
        // After a pause the bucket is full again, and no fuller.
        let later: Vec<u64> =
            (0..12).map(|_| limited.admits(&ask(Op::Write, 60 * SECOND, 4096))).collect();
        assert!(later[10] == 60 * SECOND && later[11] > 60 * SECOND, "{later:?}");
    }

    #[test]
    fn reads_that_are_limited_let_writes_pass() {
        let mut limited = buckets("read_iops = 10");
        let reads: Vec<u64> = (0..20).map(|_| limited.admits(&ask(Op::Read, 0, 4096))).collect();
        assert!(reads[19].abs_diff(18 * SECOND / 10) < 10, "{reads:?}");
        assert_eq!(limited.admits(&ask(Op::Write, 5, 4096)), 5);
        assert_eq!(limited.admits(&ask(Op::Flush, 6, 0)), 6);
    }

    #[test]
    fn bytes_are_counted_and_discards_are_free_but_overtake_no_write() {
        let mut limited = buckets("write_throughput = \"1M/s\"");
        let writes: Vec<u64> =
            (0..11).map(|_| limited.admits(&ask(Op::Write, 0, 1 << 20))).collect();
        assert!(writes[10].abs_diff(SECOND * 99 / 10) < 20, "{writes:?}");
        assert_eq!(limited.admits(&ask(Op::Discard, 1, 1 << 30)), writes[10]);
        assert_eq!(limited.admits(&ask(Op::Read, 2, 1 << 30)), 2);
    }
}
