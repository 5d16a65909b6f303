//! Comparison of the rate that an open loop was asked for with what it did.

use results::model::{OperationSummary, RateFacts};
use units::Bytes;
use units::show::significant;
use workload::{Arrival, LoadSpec, Rate};

/// Least percentage of the due I/Os that a load must have done to count as having kept its rate.
const KEPT_PERCENT: f64 = 95.0;
/// Number of standard deviations by which a random (Poisson) number of arrivals may fall short.
const BY_CHANCE: f64 = 3.0;

/// Compares what a load did in its time with the rate that it was asked for; `None` for a closed loop.
pub(crate) fn facts<'a>(
    spec: &LoadSpec,
    operations: impl Iterator<Item = &'a OperationSummary> + Clone,
    duration_ns: u64,
    by_time: bool,
) -> Option<RateFacts> {
    let rate = spec.rate?;
    let sum = |of: fn(&OperationSummary) -> u64| operations.clone().map(of).sum::<u64>() as f64;
    let ended = sum(|operation| operation.ios);
    // A failed I/O was driven as well.
    let driven = ended + sum(|operation| operation.errors.values().sum());
    let (asked_iops, asked_bytes_per_s) = match rate {
        Rate::Ios(thousandths) => (Some(thousandths as f64 / 1e3), None),
        Rate::Bytes(Bytes(bytes)) => (None, Some(bytes as f64)),
    };
    let per_io = if ended > 0.0 { sum(|operation| operation.bytes) / ended } else { 0.0 };
    let seconds = duration_ns as f64 / 1e9;
    // Converted to I/Os; a rate in bytes is divided by the mean size of an I/O.
    let due = match (asked_iops, asked_bytes_per_s) {
        (Some(ios), _) => ios * seconds,
        (None, Some(bytes)) if per_io > 0.0 => bytes / per_io * seconds,
        _ => 0.0,
    };
    let chance = if spec.arrival == Arrival::Poisson { BY_CHANCE * due.sqrt() } else { 1.0 };
    let short = driven < due * KEPT_PERCENT / 100.0 && driven + chance < due;
    let latest = operations.filter_map(|operation| Some(operation.lateness?.max_ns)).max();
    // A load that ends after a number of I/Os may fall short only because it waits for the last of them, without any of them being late.
    let late =
        latest.is_some_and(|ns| ns as f64 > duration_ns as f64 * (1.0 - KEPT_PERCENT / 100.0));
    Some(RateFacts {
        asked_iops,
        asked_bytes_per_s,
        // `due` is a mean. Where more I/Os were done, more had come due, since no I/O begins before it is due.
        done_percent: (due > 0.0).then(|| (100.0 * driven / due).min(100.0)),
        kept: !(short && (by_time || late)),
    })
}

/// Returns the notice for a load that has not kept its rate.
pub(crate) fn notice(spec: &LoadSpec, facts: &RateFacts) -> Option<String> {
    let (rate, percent) = (spec.rate?, facts.done_percent.filter(|_| !facts.kept)?);
    let percent = significant(percent, 2);
    Some(format!(
        "The rate of {rate} was not kept: {percent} % of what was due was done. Latencies count from when an I/O was due, so that they are those \
         of a backlog, which grows as long as the load lasts; ask for less, or let more be in flight"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_all_that_was_due_is_done() {
        // At 0.5/s two I/Os are due in 3 s: one at once, and one after 2 s.
        let spec: LoadSpec = toml::from_str("rate = '0.5/s'").unwrap();
        let done = |ios: u64| {
            let operation = OperationSummary { ios, ..OperationSummary::default() };
            facts(&spec, std::iter::once(&operation), 3_000_000_000, true).unwrap()
        };
        assert_eq!((done(2).done_percent, done(2).kept), (Some(100.0), true));
        assert!(done(1).done_percent.unwrap() < 70.0);
    }
}
