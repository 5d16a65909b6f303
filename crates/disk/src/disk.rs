//! A whole disk: its model, slowed down and made faulty where that is asked for.

use crate::error::Result;
use crate::fault::{Fault, Faults};
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
    /// By how much all times of the model are longer.
    slower: f64,
}

impl Disk {
    /// A disk of `size` bytes without faults.
    pub fn new(profile: &Profile, size: u64) -> Self {
        Self { model: Model::new(profile, size), faults: Faults::none(size), slower: 1.0 }
    }

    /// The same disk with faults, drawn by `seed`.
    pub fn with_faults(self, faults: &[Fault], size: u64, seed: units::Seed) -> Result<Self> {
        let faults = Faults::new(faults, size, seed)?;
        let slower = self.slower * faults.slower();
        Ok(Self { faults, slower, ..self })
    }

    /// The same disk with all its times longer by `factor`.
    #[must_use]
    pub fn slower(self, factor: f64) -> Self {
        Self { slower: self.slower * factor, ..self }
    }

    /// Takes a request, and says whether it did: one that fails does nothing. Requests come in the order of their arrival,
    /// each after [`Self::advance`] up to it.
    pub fn submit(&mut self, mut request: Request, events: &mut Vec<Event>) -> bool {
        let failed = self.faults.fails(&request);
        let lie = self.faults.lies();
        if failed.is_some() || (lie && request.op == Op::Flush) {
            events.push(Event::Done { id: request.id, at: request.arrival, failed });
            return failed.is_none();
        }
        request.fua &= !lie;
        let first = events.len();
        let arrival = (request.arrival as f64 / self.slower) as u64;
        self.model.submit(Request { arrival, ..request }, events);
        self.real_times(events, first);
        true
    }

    /// When it has something to decide next, if nothing comes before.
    pub fn next(&self) -> Option<u64> {
        // Divided again it must not fall below what it was.
        let rounding = u64::from(self.slower != 1.0);
        self.model.next().map(|at| (at * self.slower).ceil() as u64 + rounding)
    }

    /// Decides what there is to decide up to `now`.
    pub fn advance(&mut self, now: u64, events: &mut Vec<Event>) {
        let first = events.len();
        self.model.advance(now as f64 / self.slower, events);
        self.real_times(events, first);
    }

    /// From the model's times to those of the disk.
    fn real_times(&self, events: &mut [Event], first: usize) {
        for event in &mut events[first..] {
            let (Event::Done { at, .. } | Event::Stable { at, .. }) = event;
            *at = self.faults.delayed((*at as f64 * self.slower) as u64);
        }
    }
}
