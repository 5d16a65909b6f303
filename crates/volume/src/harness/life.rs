//! One life of a volume: clients at work until the power is cut.

use std::collections::{BTreeMap, BTreeSet};

use units::SplitMix64;

use crate::block::{Data, Lbn};
use crate::core::{Failure, Policy, Reply, Request, Verb, Volume};
use crate::harness::content::{self, ERROR};
use crate::harness::device::Disk;
use crate::harness::oracle::Oracle;
use crate::harness::run::Grow;

/// A load of clients.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub addresses: Vec<Lbn>,
    pub depth: usize,
    pub requests: u64,
    /// Flushes among a thousand requests.
    pub flushes: u64,
    /// Values that many addresses share.
    pub shared: u64,
    /// Tells if the policy changes now and then.
    pub changes: bool,
    /// Tells if all requests end before the life does.
    pub to_the_end: bool,
    /// The growth of the volume in this life, if any.
    pub grow: Option<Grow>,
}

enum Asked {
    Write { lbn: Lbn, number: u64, durable: bool },
    Discard { parts: Vec<(Lbn, u64)> },
    Read { lbn: Lbn, least: u64 },
    Flush { snapshot: Vec<(Lbn, u64)> },
    Grow { snapshot: Vec<(Lbn, u64)> },
}

pub(super) struct Life<'a> {
    pub volume: &'a mut Volume,
    pub disk: &'a mut Disk,
    pub oracle: &'a mut Oracle,
    pub random: &'a mut SplitMix64,
    pub policy: Policy,
    open: BTreeMap<u64, Asked>,
    discarding: BTreeSet<Lbn>,
    next: u64,
    pub no_space: u64,
    /// Growths that succeeded.
    pub grown: u64,
}

impl<'a> Life<'a> {
    pub fn new(
        volume: &'a mut Volume,
        disk: &'a mut Disk,
        oracle: &'a mut Oracle,
        random: &'a mut SplitMix64,
        policy: Policy,
    ) -> Self {
        let (open, discarding) = (BTreeMap::new(), BTreeSet::new());
        let (next, no_space, grown) = (1, 0, 0);
        Self { volume, disk, oracle, random, policy, open, discarding, next, no_space, grown }
    }

    /// Runs until enough was asked.
    pub fn run(&mut self, load: &Load) -> Result<(), String> {
        while self.next <= load.requests || (load.to_the_end && !self.open.is_empty()) {
            let may_ask = self.next <= load.requests && self.open.len() < load.depth;
            if may_ask && (self.disk.under_way() == 0 || self.random.below(3) > 0) {
                self.ask(load);
            } else if self.disk.under_way() > 0 {
                let (id, result) = self.disk.end(self.random);
                self.volume.complete(id, result);
            }
            self.pump()?;
            let stuck = self.disk.under_way() == 0 && !self.open.is_empty();
            if stuck && (self.open.len() >= load.depth || self.next > load.requests) {
                // Without a flush a write may wait in the packer, never a reply.
                return Err(format!("hang: {} requests wait for nothing", self.open.len()));
            }
        }
        Ok(())
    }

    /// Tells if the volume was asked to grow, and has not answered.
    pub fn is_growing(&self) -> bool {
        self.open.values().any(|request| matches!(request, Asked::Grow { .. }))
    }

    /// Reads addresses, one after the other.
    pub fn read(&mut self, lbn: Lbn) -> Result<u64, String> {
        let id = u64::MAX;
        self.volume.submit(Request { id, verb: Verb::Read { lbn } });
        loop {
            while let Some(operation) = self.volume.next_operation() {
                self.disk.begin(operation);
            }
            if let Some(reply) = self.volume.next_reply() {
                return Ok(match reply.result {
                    Ok(Some(data)) => content::value(&data),
                    Ok(None) => return Err("a read without data".into()),
                    Err(_) => ERROR,
                });
            }
            if self.disk.under_way() == 0 {
                return Err(format!("hang: a read of {lbn} waits for nothing"));
            }
            let (id, result) = self.disk.end(self.random);
            self.volume.complete(id, result);
        }
    }

    /// Stops the volume; tells if it is clean.
    pub fn stop(&mut self) -> bool {
        self.volume.submit(Request { id: u64::MAX, verb: Verb::Stop });
        loop {
            while let Some(operation) = self.volume.next_operation() {
                self.disk.begin(operation);
            }
            if let Some(reply) = self.volume.next_reply() {
                return reply.result.is_ok();
            }
            let (id, result) = self.disk.end(self.random);
            self.volume.complete(id, result);
        }
    }

    fn pump(&mut self) -> Result<(), String> {
        loop {
            let mut any = false;
            while let Some(operation) = self.volume.next_operation() {
                any = true;
                self.disk.begin(operation);
            }
            if let Some(violation) = self.disk.violation.take() {
                return Err(format!("two operations at one place: {violation}"));
            }
            while let Some(reply) = self.volume.next_reply() {
                any = true;
                self.replied(reply)?;
            }
            if !any {
                return Ok(());
            }
        }
    }

    fn ask(&mut self, load: &Load) {
        let lbn = load.addresses[self.random.below(load.addresses.len() as u64) as usize];
        let id = self.next;
        let drawn = self.random.below(1000);
        let (verb, request) = if let Some(Grow { device, logical, ends, .. }) =
            load.grow.filter(|grow| grow.at == id)
        {
            self.disk.watched.0 = ends;
            (Verb::Grow { device, logical }, Asked::Grow { snapshot: self.oracle.snapshot() })
        } else if drawn < load.flushes {
            (Verb::Flush, Asked::Flush { snapshot: self.oracle.snapshot() })
        } else if load.changes && drawn > 995 {
            let policies = [Policy::Sync, Policy::Async, Policy::AsyncUnsafe];
            self.policy = policies[self.random.below(3) as usize];
            (Verb::Policy(self.policy), Asked::Flush { snapshot: self.oracle.snapshot() })
        } else if drawn < 850 && !self.discarding.contains(&lbn) {
            self.write(lbn, load)
        } else if drawn < 900 {
            match self.discard(lbn) {
                Some(request) => request,
                None => return,
            }
        } else {
            (Verb::Read { lbn }, Asked::Read { lbn, least: self.oracle.last_acked(lbn) })
        };
        self.next += 1;
        self.open.insert(id, request);
        self.volume.submit(Request { id, verb });
    }

    fn write(&mut self, lbn: Lbn, load: &Load) -> (Verb, Asked) {
        let value = match self.random.below(10) {
            0 => 0,
            1..=5 => 1 + self.random.below(load.shared),
            _ => 1 << 20 | self.random.below(1 << 40),
        };
        let fua = self.random.below(100) < 6;
        let number = self.oracle.write(lbn, value, self.policy);
        let durable = fua || self.policy == Policy::Sync;
        let block = content::block(value);
        let verb = match self.random.below(10) {
            // All of it, but by reading, changing and writing.
            0 => Verb::Patch { lbn, at: 0, bytes: block.0.to_vec(), fua },
            _ => Verb::Write { lbn, data: Data::new(block), fua },
        };
        (verb, Asked::Write { lbn, number, durable })
    }

    fn discard(&mut self, lbn: Lbn) -> Option<(Verb, Asked)> {
        let blocks = 1 + self.random.below(4);
        let range = lbn..lbn + blocks;
        let busy = self.open.values().any(|request| match request {
            Asked::Write { lbn, .. } => range.contains(lbn),
            Asked::Discard { parts } => parts.iter().any(|(lbn, _)| range.contains(lbn)),
            _ => false,
        });
        if busy {
            return None;
        }
        let policy = self.policy;
        let parts = range.map(|lbn| (lbn, self.oracle.write(lbn, 0, policy)));
        let parts: Vec<_> = parts.collect();
        self.discarding.extend(parts.iter().map(|(lbn, _)| *lbn));
        Some((Verb::Discard { lbn, blocks }, Asked::Discard { parts }))
    }

    fn replied(&mut self, reply: Reply) -> Result<(), String> {
        let Some(request) = self.open.remove(&reply.id) else {
            return Err(format!("a reply to nothing, or a second one: {}", reply.id));
        };
        match (request, reply.result) {
            (Asked::Write { lbn, number, .. }, Err(Failure::NoSpace)) => {
                self.no_space += 1;
                self.oracle.failed(lbn, number);
            }
            (Asked::Write { lbn, number, durable }, Ok(_)) => {
                self.oracle.acked(lbn, number, durable);
            }
            (Asked::Discard { parts }, Ok(_)) => {
                let durable = self.policy == Policy::Sync;
                for (lbn, number) in parts {
                    self.discarding.remove(&lbn);
                    self.oracle.acked(lbn, number, durable);
                }
            }
            (Asked::Read { lbn, least }, result) => {
                let value = match result {
                    Ok(Some(data)) => content::value(&data),
                    _ => ERROR,
                };
                self.oracle.read(lbn, least, value)?;
            }
            (Asked::Flush { snapshot }, Ok(_)) => self.oracle.flushed(&snapshot),
            (Asked::Grow { snapshot }, Ok(_)) => {
                self.oracle.flushed(&snapshot);
                self.grown += 1;
            }
            (Asked::Grow { .. }, Err(Failure::Growth(_))) => {}
            (_, Err(failure)) => return Err(format!("request {}: {failure}", reply.id)),
        }
        Ok(())
    }
}
