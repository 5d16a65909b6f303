//! A device in virtual time, and an I/O on it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::SplitMix64;

use crate::backend::Verb;
use crate::job::Next;
use crate::load::SimModel;
use crate::record::Completion;

/// One I/O in the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SimIo {
    pub start_ns: u64,
    pub intended_ns: u64,
    pub operation: usize,
    pub target: u16,
    pub slot: usize,
    pub bytes: u32,
    pub offset: u64,
    pub writes: bool,
}

impl SimIo {
    pub(super) fn completion(&self, reaped_ns: u64) -> Completion {
        Completion {
            operation: self.operation,
            target: self.target.into(),
            offset: self.offset,
            length: self.bytes,
            intended_ns: self.intended_ns,
            submit_ns: self.start_ns,
            submitted_ns: self.start_ns,
            reaped_ns,
            error: 0,
        }
    }
}

pub(super) struct Device {
    pub(super) model: SimModel,
    /// Time at which each server becomes free, nanoseconds.
    free_ns: BinaryHeap<Reverse<u64>>,
    random: SplitMix64,
}

impl Device {
    pub(super) fn new(model: &SimModel, random: SplitMix64) -> Self {
        let free_ns = (0..model.channels.max(1)).map(|_| Reverse(0)).collect();
        Self { model: model.clone(), free_ns, random }
    }

    /// Returns the time at which an I/O submitted at `now_ns` ends.
    pub(super) fn serve(&mut self, next: &Next, now_ns: u64) -> u64 {
        let moved = if next.transfer.verb.moves() { next.transfer.length } else { 0 };
        let base =
            if next.transfer.verb == Verb::Read { self.model.read } else { self.model.write };
        let blocks = f64::from(moved) / reduce::BLOCK as f64;
        let mean = base.0 as f64 + blocks * self.model.per_block.0 as f64;
        let spread = self.model.jitter.clamp(0.0, 1.0) * (2.0 * self.random.unit() - 1.0);
        let service = ((mean * (1.0 + spread)) as u64).max(1);
        let free_ns = self.free_ns.pop().map_or(0, |Reverse(ns)| ns);
        let end_ns = free_ns.max(now_ns) + service;
        self.free_ns.push(Reverse(end_ns));
        end_ns
    }
}
