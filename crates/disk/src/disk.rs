//! A whole disk: its model, limited, slowed down and made faulty where that is asked for.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::fault::{Fault, Faults};
use crate::limit::{Buckets, Limit};
use crate::model::Model;
use crate::profile::Profile;
use crate::request::{Event, Op, Request};

/// A disk in model time.
///
/// ```
/// use disk::{Disk, Event, Op, Request, profile};
///
/// let mut disk = Disk::new(profile("hdd").unwrap(), 1 << 40);
/// let mut events = Vec::new();
/// let read = Request { id: 7, arrival: 0, op: Op::Read, offset: 1 << 39, length: 4096, fua: false };
/// disk.submit(read, &mut events);
/// while let Some(next) = disk.next() {
///     disk.advance(next, &mut events);
/// }
/// // Half of the disk lies between: a seek and most of a turn.
/// assert!(matches!(events[0], Event::Done { id: 7, at, failed: None } if at > 8_000_000));
/// ```
#[derive(Debug, Clone)]
pub struct Disk {
    model: Model,
    faults: Faults,
    limit: Buckets,
    /// Requests that the limit holds back, by the instant at which they are let through and by their order.
    held: BTreeMap<(u64, u64), Request>,
    held_so_far: u64,
    /// Factor by which all times of the model are longer.
    slower: f64,
}

impl Disk {
    /// A disk of `size` bytes without faults.
    pub fn new(profile: &Profile, size: u64) -> Self {
        Self {
            model: Model::new(profile, size),
            faults: Faults::none(size),
            limit: Buckets::default(),
            held: BTreeMap::new(),
            held_so_far: 0,
            slower: 1.0,
        }
    }

    /// Adds faults, drawn by `seed`.
    pub fn with_faults(self, faults: &[Fault], size: u64, seed: units::Seed) -> Result<Self> {
        let faults = Faults::new(faults, size, seed)?;
        let slower = self.slower * faults.slower();
        Ok(Self { faults, slower, ..self })
    }

    /// Limits IOPS and throughput.
    #[must_use]
    pub fn limited(self, limit: &Limit) -> Self {
        Self { limit: Buckets::new(limit), ..self }
    }

    /// Multiplies all times by `factor`.
    #[must_use]
    pub fn slower(self, factor: f64) -> Self {
        Self { slower: self.slower * factor, ..self }
    }

    /// Takes a request; returns false where it fails, in which case it does nothing. Requests come in the order of their arrival, each after
    /// [`Self::advance`] up to it.
    pub fn submit(&mut self, mut request: Request, events: &mut Vec<Event>) -> bool {
        let failed = self.faults.fails(&request);
        let lie = self.faults.lies();
        if failed.is_some() || (lie && request.op == Op::Flush) {
            events.push(Event::Done { id: request.id, at: request.arrival, failed });
            return failed.is_none();
        }
        request.fua &= !lie;
        let at = self.limit.admits(&request);
        if at > request.arrival {
            self.held_so_far += 1;
            self.held.insert((at, self.held_so_far), request);
        } else {
            self.give(request, events);
        }
        true
    }

    /// Gives a request to the model.
    fn give(&mut self, request: Request, events: &mut Vec<Event>) {
        let first = events.len();
        let arrival = (request.arrival as f64 / self.slower) as u64;
        self.model.submit(Request { arrival, ..request }, events);
        self.real_times(events, first);
    }

    /// Returns the instant of the next decision, if no request comes before.
    pub fn next(&self) -> Option<u64> {
        // Divided by the factor again, the time must not fall below the model's.
        let rounding = u64::from(self.slower != 1.0);
        let model = self.model.next().map(|at| (at * self.slower).ceil() as u64 + rounding);
        model.into_iter().chain(self.held.keys().next().map(|(at, _)| *at)).min()
    }

    /// Makes the decisions that are due up to `now`.
    pub fn advance(&mut self, now: u64, events: &mut Vec<Event>) {
        while let Some(held) = self.held.first_entry().filter(|held| held.key().0 <= now) {
            let (at, request) = (held.key().0, held.remove());
            self.advance_model(at, events);
            self.give(Request { arrival: at, ..request }, events);
        }
        self.advance_model(now, events);
    }

    fn advance_model(&mut self, now: u64, events: &mut Vec<Event>) {
        let first = events.len();
        self.model.advance(now as f64 / self.slower, events);
        self.real_times(events, first);
    }

    /// Converts the model's times to those of the disk.
    fn real_times(&self, events: &mut [Event], first: usize) {
        for event in &mut events[first..] {
            let (Event::Done { at, .. } | Event::Stable { at, .. }) = event;
            *at = self.faults.delayed((*at as f64 * self.slower) as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Load, run_on};
    use crate::{Shape, profile};

    /// Returns what a load of random I/Os reaches on a disk with a limit.
    fn reached(name: &str, op: Op, depth: u32, limit: &str) -> f64 {
        let disk =
            Disk::new(profile(name).unwrap(), 1 << 34).limited(&toml::from_str(limit).unwrap());
        let load = Load { ramp: 1_000_000_000, ..Load::of(op, Shape::Random(1.0), 4096, depth) };
        run_on(disk, 1 << 34, &load, &mut |_| {}).0.iops
    }

    #[test]
    fn a_limited_disk_does_what_its_limit_says_and_not_more_than_it_can() {
        let near = |found: f64, wanted: f64| {
            assert!((found / wanted - 1.0).abs() < 0.02, "{found} {wanted}");
        };
        near(reached("nvme", Op::Read, 1, "iops = 1000"), 1000.0);
        near(reached("nvme", Op::Read, 32, "read_iops = 120"), 120.0);
        near(reached("nvme", Op::Write, 8, "throughput = \"4M/s\""), 1024.0);
        near(reached("memory", Op::Read, 8, "read_throughput = \"1M/s\""), 256.0);
        near(reached("hdd", Op::Read, 8, "read_iops = 5000"), reached("hdd", Op::Read, 8, ""));
        near(reached("ssd", Op::Write, 1, "read_iops = 1"), reached("ssd", Op::Write, 1, ""));
    }
}
