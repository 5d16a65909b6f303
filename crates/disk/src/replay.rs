//! Replays a trace: its arrivals against another disk, in model time.
//!
//! Requests come at their recorded times: on a slower disk they queue up, as they do where nobody waits for a reply. A submitter that waits would
//! have asked later; so on a slower disk the latencies are the longest possible, and on a faster one the load stays the recorded one.

use units::Seed;

use crate::Disk;
use crate::error::Result;
use crate::fault::Fault;
use crate::profile::Profile;
use crate::request::{Event, Op, Request};
use crate::trace::Trace;

/// Latencies of an operation.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Latencies {
    /// The operation.
    pub op: Op,
    /// Requests.
    pub requests: u64,
    /// Number of these that failed.
    pub failed: u64,
    /// The mean, nanoseconds.
    pub mean_ns: f64,
    /// Median, nanoseconds.
    pub p50_ns: u64,
    /// Nanoseconds that 99 of 100 took at most.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// Figures of a load that was replayed on a disk.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Replayed {
    /// Time from the first arrival to the last end, seconds.
    pub seconds: f64,
    /// The most requests that were in flight.
    pub most_in_flight: u64,
    /// Latencies of each operation that there was.
    pub latencies: Vec<Latencies>,
}

/// Returns the figures that the trace itself holds, of the disk that it was taken from.
pub fn recorded(trace: &Trace) -> Replayed {
    let of = |r: &crate::trace::Record| (r.op, r.arrival_ns, r.arrival_ns + r.latency_ns, r.failed);
    outcome(&trace.records.iter().map(of).collect::<Vec<_>>())
}

/// Returns the figures of the same arrivals on a disk like `profile`.
pub fn replay(trace: &Trace, profile: &Profile, faults: &[Fault]) -> Result<Replayed> {
    let size = trace.header.size;
    let mut disk = Disk::new(profile, size).with_faults(faults, size, Seed(1))?;
    let mut order: Vec<_> = trace.records.iter().collect();
    order.sort_by_key(|record| record.arrival_ns);
    let mut ends = vec![None; order.len()];
    let mut events = Vec::new();
    let mut settle = |events: &mut Vec<Event>| {
        for event in events.drain(..) {
            if let Event::Done { id, at, failed } = event
                && let Some(end) = ends.get_mut(id as usize)
            {
                *end = Some((at, failed.is_some()));
            }
        }
    };
    for (id, record) in (0..).zip(&order) {
        let (arrival, op, fua) = (record.arrival_ns, record.op, record.fua);
        disk.advance(arrival, &mut events);
        let (offset, length) = (record.offset, u64::from(record.length));
        disk.submit(Request { id, arrival, op, offset, length, fua }, &mut events);
        settle(&mut events);
    }
    while let Some(next) = disk.next() {
        disk.advance(next, &mut events);
        settle(&mut events);
    }
    let ended = order.iter().zip(&ends).filter_map(|(record, end)| {
        end.map(|(at, failed)| (record.op, record.arrival_ns, at, failed))
    });
    Ok(outcome(&ended.collect::<Vec<_>>()))
}

/// Figures of requests: operation, arrival, end, whether it failed.
fn outcome(requests: &[(Op, u64, u64, bool)]) -> Replayed {
    let first = requests.iter().map(|r| r.1).min().unwrap_or(0);
    let last = requests.iter().map(|r| r.2).max().unwrap_or(0);
    let mut steps: Vec<(u64, i64)> =
        requests.iter().flat_map(|r| [(r.1, 1), (r.2.max(r.1 + 1), -1)]).collect();
    steps.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, step) in steps {
        now += step;
        most = most.max(now);
    }
    Replayed {
        seconds: last.saturating_sub(first) as f64 / 1e9,
        most_in_flight: most.unsigned_abs(),
        latencies: Op::ALL.into_iter().filter_map(|op| latencies(op, requests)).collect(),
    }
}

fn latencies(op: Op, requests: &[(Op, u64, u64, bool)]) -> Option<Latencies> {
    let of_op = || requests.iter().filter(|r| r.0 == op);
    let mut sorted: Vec<u64> = of_op().map(|r| r.2.saturating_sub(r.1)).collect();
    sorted.sort_unstable();
    let max_ns = *sorted.last()?;
    let at = |share: f64| {
        let place = ((sorted.len() as f64 * share) as usize).min(sorted.len() - 1);
        sorted.get(place).copied().unwrap_or(0)
    };
    Some(Latencies {
        op,
        requests: sorted.len() as u64,
        failed: of_op().filter(|r| r.3).count() as u64,
        mean_ns: sorted.iter().map(|ns| *ns as f64).sum::<f64>() / sorted.len() as f64,
        p50_ns: at(0.5),
        p99_ns: at(0.99),
        max_ns,
    })
}
