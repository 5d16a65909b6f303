//! Measures the speed that a disk reaches, with a closed loop in model time: each of `depth` submitters waits for its reply, thinks, and asks again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{Seed, SplitMix64};

use crate::profile::Shape;
use crate::request::{Event, Op, Request};
use crate::trace::Record;
use crate::{Disk, Profile};

/// A closed loop of requests: their kinds, and how many at a time.
#[derive(Debug, Clone)]
pub struct Load {
    /// Operations, the places that they go to, and their shares.
    pub ops: Vec<(Op, Shape, f64)>,
    /// Bytes of each request.
    pub block: u64,
    /// Requests in flight.
    pub depth: u32,
    /// Time from a reply to the next request, nanoseconds.
    pub think: u64,
    /// Model time before figures count, nanoseconds.
    pub ramp: u64,
    /// Model time that counts.
    pub duration: u64,
    /// Requests after which it ends in any case.
    pub most: u64,
    /// Seed of places and operations.
    pub seed: Seed,
}

impl Load {
    /// A load of one operation with the usual settings: no ramp, 100 s or 200,000 requests.
    pub fn of(op: Op, shape: Shape, block: u64, depth: u32) -> Self {
        Self {
            ops: vec![(op, shape, 1.0)],
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

/// The throughput and latencies that a load reached.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct LoadResult {
    /// Requests a second.
    pub iops: f64,
    /// Bytes a second.
    pub throughput_bytes_per_s: f64,
    /// Median latency, nanoseconds.
    pub latency_p50_ns: u64,
    /// 99th percentile of the latency, nanoseconds.
    pub latency_p99_ns: u64,
    /// Number of requests that these figures rest on.
    pub requests: u64,
}

/// Submitters at work.
struct Loop<'a> {
    load: &'a Load,
    disk: Disk,
    random: SplitMix64,
    size: u64,
    /// The next offset of each sequential operation.
    places: Vec<u64>,
    /// Instants of the submitters' next requests.
    arrivals: BinaryHeap<Reverse<(u64, u64)>>,
    /// The last request of each submitter.
    last_requests: Vec<Request>,
    latencies: Vec<u64>,
    last: u64,
    /// Instant of the last event, in model time: nanoseconds.
    now: u64,
    submitted: u64,
    ended: u64,
    seen: &'a mut dyn FnMut(&Record),
}

/// Runs `load` on a fresh disk of `size` bytes.
pub fn run(profile: &Profile, size: u64, load: &Load) -> LoadResult {
    run_on(Disk::new(profile, size), size, load, &mut |_| {}).0
}

/// Runs `load` on a disk, and shows every request that ends; returns the disk with the instant that it has reached.
pub fn run_on(
    disk: Disk,
    size: u64,
    load: &Load,
    seen: &mut dyn FnMut(&Record),
) -> (LoadResult, Disk, u64) {
    let first = |(_, shape, _): &(Op, Shape, f64)| match shape {
        Shape::Random(_) => 0,
        Shape::Sequential(from) => (size as f64 * from) as u64 / load.block * load.block,
    };
    let none = Request { id: 0, arrival: 0, op: Op::Read, offset: 0, length: 0, fua: false };
    let mut state = Loop {
        load,
        disk,
        random: load.seed.generator(),
        size,
        places: load.ops.iter().map(first).collect(),
        arrivals: (0..u64::from(load.depth)).map(|i| Reverse((0, i))).collect(),
        last_requests: vec![none; load.depth as usize],
        latencies: Vec::new(),
        last: 0,
        now: 0,
        submitted: 0,
        ended: 0,
        seen,
    };
    state.drive();
    let Loop { mut latencies, disk, last, now, .. } = state;
    latencies.sort_unstable();
    let at = |share: f64| {
        let place = (latencies.len() as f64 * share) as usize;
        latencies.get(place.min(latencies.len().saturating_sub(1))).copied().unwrap_or(0)
    };
    let seconds = (last.saturating_sub(load.ramp)) as f64 / 1e9;
    let iops = if seconds > 0.0 { latencies.len() as f64 / seconds } else { 0.0 };
    let reached = LoadResult {
        iops,
        throughput_bytes_per_s: iops * load.block as f64,
        latency_p50_ns: at(0.5),
        latency_p99_ns: at(0.99),
        requests: latencies.len() as u64,
    };
    (reached, disk, now)
}

impl Loop<'_> {
    fn drive(&mut self) {
        let mut events = Vec::new();
        let end = self.load.ramp.saturating_add(self.load.duration);
        loop {
            // No two requests come at the same instant, so that a trace keeps their order.
            let asks = self.arrivals.peek().map(|Reverse((at, _))| (*at).max(self.now + 1));
            let asks = asks.filter(|at| *at < end && self.submitted < self.load.most);
            match (asks, self.disk.next()) {
                // Decisions that are due before the request are made first, as with real requests.
                (Some(at), next) if next.is_none_or(|next| at < next) => {
                    let Some(Reverse((_, who))) = self.arrivals.pop() else { return };
                    self.submitted += 1;
                    self.now = at;
                    let request = self.request(who, at);
                    self.disk.submit(request, &mut events);
                }
                // After the end, what is in flight ends too.
                (asks, Some(next)) if asks.is_some() || self.ended < self.submitted => {
                    self.now = next;
                    self.disk.advance(next, &mut events);
                }
                _ => return,
            }
            for event in events.drain(..) {
                self.done(event);
            }
        }
    }

    fn request(&mut self, who: u64, arrival: u64) -> Request {
        let chosen = self.chosen();
        let (block, size) = (self.load.block, self.size);
        let (op, shape) =
            self.load.ops.get(chosen).map_or((Op::Flush, Shape::Random(1.0)), |o| (o.0, o.1));
        let offset = match (shape, self.places.get_mut(chosen)) {
            (Shape::Sequential(_), Some(place)) => {
                let at = *place;
                *place = if at + 2 * block > size { 0 } else { at + block };
                at
            }
            (Shape::Random(part) | Shape::Sequential(part), _) => {
                let blocks = (size as f64 * part) as u64 / block;
                self.random.below(blocks.max(1)) * block
            }
        };
        let (offset, length) = if op == Op::Flush { (0, 0) } else { (offset, block) };
        let request = Request { id: who, arrival, op, offset, length, fua: false };
        self.last_requests[who as usize] = request;
        request
    }

    /// Draws the operation that is next; returns its index.
    fn chosen(&mut self) -> usize {
        let ops = &self.load.ops;
        if ops.len() == 1 {
            return 0;
        }
        let mut drawn = self.random.unit() * ops.iter().map(|(.., share)| share).sum::<f64>();
        let mut shares = ops.iter().map(|(.., share)| *share);
        let found = shares.position(|share| {
            drawn -= share;
            drawn < 0.0
        });
        found.unwrap_or(ops.len().saturating_sub(1))
    }

    fn done(&mut self, event: Event) {
        let Event::Done { id, at, failed } = event else { return };
        let Some(&Request { arrival, op, offset, length, fua, .. }) =
            self.last_requests.get(id as usize)
        else {
            return;
        };
        self.ended += 1;
        let latency_ns = at - arrival;
        if at > self.load.ramp && at <= self.load.ramp.saturating_add(self.load.duration) {
            self.latencies.push(latency_ns);
            self.last = self.last.max(at);
        }
        (self.seen)(&Record {
            arrival_ns: arrival,
            op,
            fua,
            failed: failed.is_some(),
            offset,
            length: length as u32,
            latency_ns,
            late_ns: 0,
        });
        self.arrivals.push(Reverse((at + self.load.think, id)));
    }
}
