//! Faults of a disk, as data: errors at places or rates, a slow member, stalls, a disk that vanishes, a full one.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Percent, Seed, SplitMix64};

use crate::error::{Error, Result};
use crate::request::{Failure, Op, Request};

/// The requests that an error concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum On {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Flushes.
    Flush,
    /// Reads, writes and flushes.
    #[default]
    Any,
}

impl On {
    fn concerns(self, op: Op) -> bool {
        match self {
            Self::Read => op == Op::Read,
            Self::Write => op == Op::Write,
            Self::Flush => op == Op::Flush,
            Self::Any => op != Op::Discard,
        }
    }
}

/// The kind of a fault: its effect, without figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Requests fail.
    Error,
    /// All times are longer.
    Slow,
    /// No request gets a reply for a while.
    Stall,
    /// Everything fails from some point on.
    Vanish,
    /// There is less room than the disk's size.
    Full,
    /// Flushes are confirmed but not done.
    Lie,
}

/// A fault. Times count from when the disk is switched on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "lowercase", deny_unknown_fields)]
pub enum Fault {
    /// Requests that touch a place, or a share of them, fail with an I/O error.
    Error {
        /// The requests that it concerns.
        #[serde(default)]
        on: On,
        /// The first byte concerned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Bytes>,
        /// The first byte after that range.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Bytes>,
        /// The share of them that fails; all, if it is not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<Percent>,
        /// Number of concerned requests that succeed first.
        #[serde(default)]
        after: u64,
    },
    /// All times of the model are longer by a factor.
    Slow {
        /// The factor.
        factor: f64,
    },
    /// Replies that are due within a period are sent at its end.
    Stall {
        /// The instant at which it begins.
        at: Nanos,
        /// Its length.
        lasts: Nanos,
        /// Interval at which it comes again, from beginning to beginning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        every: Option<Nanos>,
    },
    /// Every request fails from then on.
    Vanish {
        /// The instant from which on they fail.
        at: Nanos,
    },
    /// Writes that need more room than there is fail for lack of space.
    Full {
        /// Bytes that fit.
        at: Bytes,
    },
    /// Flushes are confirmed at once and do nothing; FUA writes are treated like other writes.
    Lie {},
}

impl fmt::Display for Fault {
    /// `stall, at 2s, lasts 500ms`: its keys as they are written.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Ok(serde_json::Value::Object(mut keys)) = serde_json::to_value(self) else {
            return Err(fmt::Error);
        };
        let text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        f.write_str(&keys.remove("fault").map(text).unwrap_or_default())?;
        keys.into_iter().try_for_each(|(key, value)| write!(f, ", {key} {}", text(value)))
    }
}

impl Fault {
    /// Returns its kind.
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Error { .. } => FaultKind::Error,
            Self::Slow { .. } => FaultKind::Slow,
            Self::Stall { .. } => FaultKind::Stall,
            Self::Vanish { .. } => FaultKind::Vanish,
            Self::Full { .. } => FaultKind::Full,
            Self::Lie {} => FaultKind::Lie,
        }
    }

    /// Tells whether a disk of `size` can have it; `place` says where it was written.
    pub fn check(&self, place: &str, size: u64) -> Result<()> {
        let bad = |key: &str, what: String, help: &str| {
            Err(Error::bad(format!("{place}.{key}"), what, help))
        };
        match self {
            Self::Error { from, to, .. } => {
                let end = to.map_or(size, |to| to.0);
                let begin = from.map_or(0, |from| from.0);
                if end > size {
                    let what = format!("{} lies behind the end of the disk", Bytes(end));
                    return bad("to", what, "give at most the disk's size");
                }
                if begin >= end {
                    let what = format!("{} is not before {}", Bytes(begin), Bytes(end));
                    return bad(
                        "from",
                        what,
                        "let it begin before it ends, and before the disk does",
                    );
                }
            }
            Self::Slow { factor } if !(1.0..=1000.0).contains(factor) => {
                return bad(
                    "factor",
                    format!("cannot be {factor}"),
                    "give a number from 1 to 1000",
                );
            }
            Self::Stall { lasts, every, .. } if every.is_some_and(|every| every.0 <= lasts.0) => {
                let what = "a stall cannot come again before it ends".into();
                return bad("every", what, "give a time above lasts");
            }
            Self::Full { at } if at.0 == 0 || at.0 > size => {
                let what = format!("a disk of {} cannot be full at {at}", Bytes(size));
                return bad("at", what, "give a size below the disk's");
            }
            _ => {}
        }
        Ok(())
    }
}

/// The faults of a disk while it serves requests.
#[derive(Debug, Clone)]
pub(crate) struct Faults {
    list: Vec<Fault>,
    /// Number of requests that each fault has concerned.
    concerned: Vec<u64>,
    random: SplitMix64,
    /// Sectors that were written, where a disk may become full.
    used: HashSet<u64>,
    size: u64,
}

/// Bytes of the unit that room is counted in.
const SECTOR: u64 = 4096;

impl Faults {
    pub(crate) fn none(size: u64) -> Self {
        let random = Seed(0).generator();
        Self { list: Vec::new(), concerned: Vec::new(), random, used: HashSet::new(), size }
    }

    pub(crate) fn new(list: &[Fault], size: u64, seed: Seed) -> Result<Self> {
        for (i, fault) in list.iter().enumerate() {
            fault.check(&format!("faults[{i}]"), size)?;
        }
        Ok(Self {
            list: list.to_vec(),
            concerned: vec![0; list.len()],
            random: seed.derive("faults").generator(),
            ..Self::none(size)
        })
    }

    /// Returns the factor by which all times are longer.
    pub(crate) fn slower(&self) -> f64 {
        let factor = |fault: &Fault| if let Fault::Slow { factor } = fault { *factor } else { 1.0 };
        self.list.iter().map(factor).product()
    }

    /// Tells whether flushes are not done.
    pub(crate) fn lies(&self) -> bool {
        self.list.iter().any(|fault| fault.kind() == FaultKind::Lie)
    }

    /// Returns why a request fails, if it does.
    pub(crate) fn fails(&mut self, request: &Request) -> Option<Failure> {
        let Self { list, concerned, random, used, size } = self;
        for (fault, concerned) in list.iter().zip(concerned) {
            match fault {
                Fault::Error { on, from, to, rate, after } => {
                    let (from, to) = (from.map_or(0, |b| b.0), to.map_or(*size, |b| b.0));
                    let anywhere = request.op == Op::Flush;
                    let there = anywhere || (request.offset < to && from < request.end());
                    if !on.concerns(request.op) || !there {
                        continue;
                    }
                    *concerned += 1;
                    let drawn = rate.is_none_or(|rate| random.unit() < rate.fraction());
                    if *concerned > *after && drawn {
                        return Some(Failure::Io);
                    }
                }
                Fault::Vanish { at } if request.arrival >= at.0 => return Some(Failure::Io),
                Fault::Full { at } if request.op == Op::Write => {
                    let sectors = request.offset / SECTOR..request.end().div_ceil(SECTOR);
                    let new = sectors.clone().filter(|s| !used.contains(s)).count() as u64;
                    if (used.len() as u64 + new) * SECTOR > at.0 {
                        return Some(Failure::Full);
                    }
                    used.extend(sectors);
                }
                Fault::Full { .. } if request.op == Op::Discard => {
                    let sectors = request.offset.div_ceil(SECTOR)..request.end() / SECTOR;
                    used.retain(|s| !sectors.contains(s));
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the instant at which something happens that was due at `at`: the end of a stall, where it falls into one.
    pub(crate) fn delayed(&self, at: u64) -> u64 {
        self.list.iter().fold(at, |now, fault| {
            let Fault::Stall { at, lasts, every } = fault else { return now };
            let Some(since) = now.checked_sub(at.0) else { return now };
            let since = every.map_or(since, |every| since % every.0.max(1));
            if since < lasts.0 { now + (lasts.0 - since) } else { now }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Disk, Event, profile};

    const SIZE: u64 = 1 << 30;

    fn faulty(text: &str) -> Result<Disk> {
        #[derive(Deserialize)]
        struct Device {
            faults: Vec<Fault>,
        }
        let device: Device = toml::from_str(&format!("faults = {text}")).unwrap();
        Disk::new(profile("nvme").unwrap(), SIZE).with_faults(&device.faults, SIZE, Seed(1))
    }

    /// Returns when a read or write at `offset` ends, and how.
    fn ask(disk: &mut Disk, op: Op, arrival: u64, offset: u64) -> (u64, Option<Failure>) {
        let mut events = Vec::new();
        disk.submit(Request { id: 0, arrival, op, offset, length: 4096, fua: false }, &mut events);
        let done = events.into_iter().find_map(|event| match event {
            Event::Done { at, failed, .. } => Some((at - arrival, failed)),
            Event::Stable { .. } => None,
        });
        done.unwrap()
    }

    #[test]
    fn errors_come_at_their_place_and_at_their_rate() {
        let mut disk =
            faulty(r#"[{ fault = "error", on = "read", from = "1M", to = "2M" }]"#).unwrap();
        assert_eq!(ask(&mut disk, Op::Read, 0, (1 << 20) - 4096).1, None);
        assert_eq!(ask(&mut disk, Op::Read, 0, 1 << 20).1, Some(Failure::Io));
        assert_eq!(ask(&mut disk, Op::Write, 0, 1 << 20).1, None);
        let mut disk = faulty(r#"[{ fault = "error", rate = "10%" }]"#).unwrap();
        let failed = (0..10_000).filter(|_| ask(&mut disk, Op::Write, 0, 0).1.is_some()).count();
        assert!((900..1100).contains(&failed), "{failed}");
        let mut disk = faulty(r#"[{ fault = "error", after = 2 }]"#).unwrap();
        let first: Vec<_> = (0..4).map(|_| ask(&mut disk, Op::Read, 0, 0).1.is_some()).collect();
        assert_eq!(first, [false, false, true, true]);
    }

    #[test]
    fn a_slow_disk_takes_that_many_times_as_long() {
        let usual = ask(&mut faulty("[]").unwrap(), Op::Read, 0, 0).0;
        let slow =
            ask(&mut faulty(r#"[{ fault = "slow", factor = 8 }]"#).unwrap(), Op::Read, 0, 0).0;
        assert!(slow.abs_diff(8 * usual) <= 8, "{usual} {slow}");
    }

    #[test]
    fn a_stall_ends_when_it_should_and_comes_again() {
        let mut disk =
            faulty(r#"[{ fault = "stall", at = "1s", lasts = "2s", every = "10s" }]"#).unwrap();
        let second = 1_000_000_000;
        for (at, ends) in [(2, 3), (12, 13)] {
            let (took, _) = ask(&mut disk, Op::Read, at * second, 0);
            assert_eq!(at * second + took, ends * second);
        }
        assert!(ask(&mut disk, Op::Read, 14 * second, 0).0 < second);
    }

    #[test]
    fn a_disk_vanishes_and_another_one_is_full() {
        let mut disk = faulty(r#"[{ fault = "vanish", at = "5s" }]"#).unwrap();
        assert_eq!(ask(&mut disk, Op::Flush, 4_999_999_999, 0).1, None);
        assert_eq!(ask(&mut disk, Op::Flush, 5_000_000_000, 0).1, Some(Failure::Io));
        let mut disk = faulty(r#"[{ fault = "full", at = "8k" }]"#).unwrap();
        let failures = [0, 4096, 0, 8192, 4096].map(|at| ask(&mut disk, Op::Write, 0, at).1);
        assert_eq!(failures, [None, None, None, Some(Failure::Full), None]);
        assert_eq!(ask(&mut disk, Op::Read, 0, 8192).1, None);
    }

    #[test]
    fn a_fault_that_cannot_be_is_refused_with_its_place() {
        for (text, place) in [
            (r#"[{ fault = "error", to = "2G" }]"#, "faults[0].to"),
            (r#"[{ fault = "error" }, { fault = "error", from = "1G" }]"#, "faults[1].from"),
            (r#"[{ fault = "slow", factor = 0.5 }]"#, "faults[0].factor"),
            (r#"[{ fault = "stall", at = "1s", lasts = "2s", every = "1s" }]"#, "faults[0].every"),
            (r#"[{ fault = "full", at = "2G" }]"#, "faults[0].at"),
        ] {
            let error = faulty(text).unwrap_err();
            assert!(error.to_string().starts_with(place), "{error}");
            assert!(!error.help().is_empty());
        }
    }
}
