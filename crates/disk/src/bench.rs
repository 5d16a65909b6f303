//! What a disk reaches: a closed loop in model time. Each of `depth` submitters waits for its reply, thinks, and asks again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{Seed, SplitMix64};

use crate::profile::Shape;
use crate::request::{Event, Op, Request};
use crate::{Disk, Profile};

/// A load.
#[derive(Debug, Clone)]
pub struct Load {
    /// Operations and their shares.
    pub ops: Vec<(Op, f64)>,
    /// Where they go.
    pub shape: Shape,
    /// Bytes of each.
    pub block: u64,
    /// Requests in flight.
    pub depth: u32,
    /// From a reply to the next request, nanoseconds.
    pub think: u64,
    /// Model time before figures count, nanoseconds.
    pub ramp: u64,
    /// Model time that counts.
    pub duration: u64,
    /// Requests after which it ends in any case.
    pub most: u64,
    /// Of places and operations.
    pub seed: Seed,
}

impl Load {
    /// A load of one operation with what is usual: no ramp, 100 s or 200,000 requests.
    pub fn of(op: Op, shape: Shape, block: u64, depth: u32) -> Self {
        Self {
            ops: vec![(op, 1.0)],
            shape,
            block,
            depth,
            think: 0,
            ramp: 0,
            duration: 100_000_000_000,
            most: 200_000,
            seed: Seed(1),
        }
    }
}

/// What a load reached.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Reached {
    /// Requests a second.
    pub iops: f64,
    /// Bytes a second.
    pub throughput_bytes_per_s: f64,
    /// Nanoseconds that half of the requests took at most.
    pub latency_p50_ns: u64,
    /// Nanoseconds that 99 of 100 took at most.
    pub latency_p99_ns: u64,
    /// Requests that these are of.
    pub requests: u64,
}

/// Submitters at work.
struct Loop<'a> {
    load: &'a Load,
    disk: Disk,
    random: SplitMix64,
    size: u64,
    /// The next place of a sequential load.
    place: u64,
    /// When each submitter asks next.
    asks: BinaryHeap<Reverse<(u64, u64)>>,
    /// When each asked last.
    asked: Vec<u64>,
    latencies: Vec<u64>,
    last: u64,
}

/// Runs `load` on a fresh disk of `size` bytes.
pub fn run(profile: &Profile, size: u64, load: &Load) -> Reached {
    run_on(Disk::new(profile, size), size, load).0
}

/// Runs `load` on a disk, and gives it back together with when it ended.
pub fn run_on(disk: Disk, size: u64, load: &Load) -> (Reached, Disk, u64) {
    let first = match load.shape {
        Shape::Random(_) => 0,
        Shape::Sequential(from) => (size as f64 * from) as u64 / load.block * load.block,
    };
    let mut state = Loop {
        load,
        disk,
        random: load.seed.generator(),
        size,
        place: first,
        asks: (0..u64::from(load.depth)).map(|i| Reverse((0, i))).collect(),
        asked: vec![0; load.depth as usize],
        latencies: Vec::new(),
        last: 0,
    };
    state.drive();
    let Loop { mut latencies, disk, last, .. } = state;
    latencies.sort_unstable();
    let at = |share: f64| {
        let place = (latencies.len() as f64 * share) as usize;
        latencies.get(place.min(latencies.len().saturating_sub(1))).copied().unwrap_or(0)
    };
    let seconds = (last.saturating_sub(load.ramp)) as f64 / 1e9;
    let iops = if seconds > 0.0 { latencies.len() as f64 / seconds } else { 0.0 };
    let reached = Reached {
        iops,
        throughput_bytes_per_s: iops * load.block as f64,
        latency_p50_ns: at(0.5),
        latency_p99_ns: at(0.99),
        requests: latencies.len() as u64,
    };
    (reached, disk, last)
}

impl Loop<'_> {
    fn drive(&mut self) {
        let mut events = Vec::new();
        let end = self.load.ramp.saturating_add(self.load.duration);
        let mut submitted = 0;
        loop {
            let asks = self.asks.peek().map(|Reverse((at, _))| *at);
            match (asks, self.disk.next()) {
                (Some(at), next) if next.is_none_or(|next| at <= next) => {
                    if at >= end || submitted >= self.load.most {
                        return;
                    }
                    let Some(Reverse((_, who))) = self.asks.pop() else { return };
                    submitted += 1;
                    let request = self.request(who, at);
                    self.disk.submit(request, &mut events);
                }
                (_, Some(next)) if next < end => self.disk.advance(next, &mut events),
                _ => return,
            }
            for event in events.drain(..) {
                self.done(event);
            }
        }
    }

    fn request(&mut self, who: u64, arrival: u64) -> Request {
        self.asked[who as usize] = arrival;
        let op = self.op();
        let block = self.load.block;
        let offset = match self.load.shape {
            Shape::Random(part) => {
                let blocks = (self.size as f64 * part) as u64 / block;
                self.random.below(blocks.max(1)) * block
            }
            Shape::Sequential(_) => {
                let place = self.place;
                let behind = place + 2 * block > self.size;
                self.place = if behind { 0 } else { place + block };
                place
            }
        };
        let length = if op == Op::Flush { 0 } else { block };
        Request { id: who, arrival, op, offset, length, fua: false }
    }

    fn op(&mut self) -> Op {
        let mut drawn = match self.load.ops.as_slice() {
            [(op, _)] => return *op,
            ops => self.random.unit() * ops.iter().map(|(_, share)| share).sum::<f64>(),
        };
        for &(op, share) in &self.load.ops {
            drawn -= share;
            if drawn < 0.0 {
                return op;
            }
        }
        self.load.ops.last().map_or(Op::Read, |(op, _)| *op)
    }

    fn done(&mut self, event: Event) {
        let Event::Done { id, at, .. } = event else { return };
        if at > self.load.ramp && at <= self.load.ramp.saturating_add(self.load.duration) {
            self.latencies.push(at - self.asked[id as usize]);
            self.last = self.last.max(at);
        }
        self.asks.push(Reverse((at + self.load.think, id)));
    }
}
