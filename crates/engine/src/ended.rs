//! The work of workers until they ended: of each one, and of all together.

use results::model::DepthFigures;

use crate::sample::Counts;

/// I/Os in flight over time, and the numbers of calls.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Depth {
    /// The time from which figures count; I/Os in flight before it are not included.
    from_ns: u64,
    /// Integral of the I/Os in flight over time, in I/Os times nanoseconds.
    area: u128,
    /// The time since which `in_flight` has had its value, nanoseconds.
    since_ns: u64,
    in_flight: usize,
    pub most: usize,
    /// Calls that submitted something, and the I/Os that they submitted.
    calls: u64,
    submitted: u64,
    /// Looks that found completions, and the completions found.
    looks: u64,
    reaped: u64,
}

impl Depth {
    /// Counts from `from_ns` on.
    pub(crate) fn new(from_ns: u64) -> Self {
        Self { from_ns, ..Self::default() }
    }

    /// Notes that `fresh` I/Os are about to be submitted; then `in_flight` are on their way.
    #[inline]
    pub(crate) fn submitting(&mut self, now_ns: u64, fresh: usize, in_flight: usize) {
        self.pass(now_ns);
        self.in_flight = in_flight;
        self.most = self.most.max(in_flight);
        self.calls += u64::from(fresh > 0);
        self.submitted += fresh as u64;
    }

    /// Notes that `reaped` of `before` I/Os have ended.
    #[inline]
    pub(crate) fn reaped(&mut self, now_ns: u64, reaped: usize, before: usize) {
        self.pass(now_ns);
        self.in_flight = before - reaped.min(before);
        self.looks += u64::from(reaped > 0);
        self.reaped += reaped as u64;
    }

    /// Returns the time of the last submission or completion, nanoseconds.
    pub(crate) fn since_ns(&self) -> u64 {
        self.since_ns
    }

    #[inline]
    fn pass(&mut self, now_ns: u64) {
        let counted_ns = now_ns.saturating_sub(self.since_ns.max(self.from_ns));
        self.area += self.in_flight as u128 * u128::from(counted_ns);
        self.since_ns = now_ns;
    }
}

/// The work of one worker until it ended.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// Its number among all workers.
    pub worker: usize,
    /// First stamp before a submission and last stamp after reaping, nanoseconds; `None` when nothing was submitted.
    pub span_ns: Option<(u64, u64)>,
    /// Tells whether it ended because the duration was over.
    pub by_time: bool,
    /// The moment at which its time was over or it was stopped, nanoseconds; `None` when it ended because it had done all its work.
    pub over_ns: Option<u64>,
    /// Blocks handed to the kernel.
    pub counts: Counts,
    /// Transfers that moved less than asked, whose rest was submitted again.
    pub short: u64,
    /// I/Os that the kernel turned away (EAGAIN, EINTR) and that were submitted again.
    pub retried: u64,
    /// I/Os that never completed.
    pub unfinished: usize,
    /// Completions that the kernel lost.
    pub overflowed: u32,
    pub depth: Depth,
}

/// Returns how long each of `jobs` jobs of `workers` workers each was at work, nanoseconds, in a load that lasted from `start_ns` to `end_ns`: until
/// its last worker had done its part or was stopped. A job with a worker that did not come back was at work all the time.
pub(crate) fn worked_ns(
    ended: &[Ended],
    (jobs, workers): (usize, usize),
    (start_ns, end_ns): (u64, u64),
) -> Vec<u64> {
    let of_job = |job| {
        let ends = || ended.iter().filter(|end| end.worker / workers.max(1) == job);
        let moments =
            ends().flat_map(|end| end.over_ns.into_iter().chain(end.span_ns.map(|s| s.1)));
        let last_ns = if ends().count() < workers { Some(end_ns) } else { moments.max() };
        last_ns.unwrap_or(start_ns).min(end_ns).saturating_sub(start_ns)
    };
    (0..jobs).map(of_job).collect()
}

/// The work of all workers together.
#[derive(Default)]
pub(crate) struct Sum {
    pub span_ns: Option<(u64, u64)>,
    pub by_time: bool,
    /// The latest such moment of all workers: the end of its time, or a stop.
    over_ns: Option<u64>,
    pub counts: Counts,
    short: u64,
    retried: u64,
    pub unfinished: usize,
    overflowed: u64,
    /// Integral of the I/Os in flight over time, in I/Os times nanoseconds, summed over all workers.
    area: u128,
    /// The largest number of I/Os that one worker had in flight.
    pub depth_most: usize,
    calls: (u64, u64),
    looks: (u64, u64),
}

impl Sum {
    pub(crate) fn of(ended: &[Ended]) -> Self {
        let mut sum = Self::default();
        for end in ended {
            sum.span_ns = match (sum.span_ns, end.span_ns) {
                (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                (one, other) => one.or(other),
            };
            sum.by_time |= end.by_time;
            sum.over_ns = sum.over_ns.max(end.over_ns);
            sum.counts.add(end.counts);
            sum.short += end.short;
            sum.retried += end.retried;
            sum.unfinished += end.unfinished;
            sum.overflowed += u64::from(end.overflowed);
            sum.area += end.depth.area;
            sum.depth_most = sum.depth_most.max(end.depth.most);
            sum.calls = (sum.calls.0 + end.depth.calls, sum.calls.1 + end.depth.submitted);
            sum.looks = (sum.looks.0 + end.depth.looks, sum.looks.1 + end.depth.reaped);
        }
        sum
    }

    /// Returns the time at which the load ended, nanoseconds: that of the last completion, or that at which its time was over or it was stopped,
    /// whichever is later. A load that is waiting at that moment (for a cap, a pause, an arrival) lasts until then, too.
    pub(crate) fn end_ns(&self, start_ns: u64) -> u64 {
        let last = self.span_ns.map(|(_, last)| last);
        last.max(self.over_ns).unwrap_or(start_ns).max(start_ns)
    }

    /// I/Os per submitting call and completions per look that found any.
    pub(crate) fn per_call(&self) -> (Option<f64>, Option<f64>) {
        let per = |(calls, all): (u64, u64)| (calls > 0).then(|| all as f64 / calls as f64);
        (per(self.calls), per(self.looks))
    }

    /// Mean I/Os in flight per job of a load that lasted `duration_ns`: averaged over all of its time, so that it equals rate times latency; and the
    /// maximum.
    pub(crate) fn in_flight(&self, jobs: usize, duration_ns: u64) -> DepthFigures {
        let mean = self.area as f64 / (duration_ns.max(1) as f64 * jobs.max(1) as f64);
        DepthFigures { mean, max: self.depth_most as u32 }
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        let notice = |count: u64, text: &str| (count > 0).then(|| format!("{count} {text}"));
        [
            notice(self.short, "transfers moved less than asked; their rest was submitted again"),
            notice(
                self.retried,
                "times the kernel turned an I/O away (EAGAIN, EINTR); it was submitted again",
            ),
            notice(
                self.unfinished as u64,
                "I/Os never completed and were given up; they are not counted",
            ),
            notice(self.overflowed, "completions were lost by the kernel (queue overflow)"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_at_work_until_its_last_worker_is_done_or_told_to_stop() {
        let end = |worker, last_ns: Option<u64>, over_ns| Ended {
            worker,
            span_ns: last_ns.map(|last| (0, last)),
            over_ns,
            ..Ended::default()
        };
        let ended = [
            end(2, Some(800), Some(900)),
            end(0, Some(300), None),
            end(1, Some(400), None),
            end(4, None, None),
            end(5, None, None),
            end(6, Some(200), None),
        ];
        // In the second and the fourth job a worker never came back; the third had nothing to do.
        assert_eq!(worked_ns(&ended, (4, 2), (100, 1_000)), [300, 900, 0, 900]);
        // Done within the ramp.
        assert_eq!(worked_ns(&ended[1..3], (1, 2), (500, 1_000)), [0]);
    }

    #[test]
    fn the_mean_depth_is_that_over_time() {
        let mut depth = Depth::default();
        depth.submitting(1_000, 4, 4);
        depth.reaped(2_000, 3, 4);
        depth.submitting(3_000, 1, 2);
        depth.reaped(5_000, 2, 2);
        // 4 for 1 µs, 1 for 1 µs, 2 for 2 µs.
        let sum = Sum::of(&[Ended { depth, ..Ended::default() }]);
        assert_eq!(sum.in_flight(1, 4_000), DepthFigures { mean: 9.0 / 4.0, max: 4 });
        // Over a load that also waits before and after, the mean is lower accordingly.
        assert_eq!(sum.in_flight(3, 6_000).mean, 0.5);
        assert_eq!(sum.per_call(), (Some(2.5), Some(2.5)));
        assert_eq!(Sum::of(&[]).in_flight(1, 0).mean, 0.0);
        let mut ramped = Depth::new(1_500);
        ramped.submitting(1_000, 4, 4);
        ramped.reaped(2_000, 4, 4);
        let sum = Sum::of(&[Ended { depth: ramped, ..Ended::default() }]);
        assert_eq!(sum.in_flight(1, 500), DepthFigures { mean: 4.0, max: 4 });
    }
}
