//! Steady-state detection: whether the figures of a load have settled, judged interval by interval while it runs.

use std::collections::VecDeque;

use results::model::{IntervalRow, SteadyFacts};
use stats::{SteadyRule, Window};
use units::Unit;
use workload::{LoadSpec, Steady, SteadyMetric};

/// Factor from the tolerated drift of a window to its tolerated spread, as in the rule by which storage is qualified (SNIA PTS 2.0.1: 20 % and 10 %).
const SPREAD: f64 = 2.0;

/// Watches one metric of a load.
#[derive(Debug)]
pub(crate) struct SteadyDetector {
    wanted: Steady,
    rule: SteadyRule,
    /// The newest values, one per interval, at most one window.
    values: VecDeque<f64>,
    last: Option<Window>,
    settled_ns: Option<u64>,
}

impl SteadyDetector {
    /// Returns a detector as the load asks for it; `None` when it asks for none.
    pub(crate) fn of(spec: &LoadSpec) -> Option<Self> {
        let steady = spec.steady?;
        let intervals = steady.window.0.div_ceil(spec.interval.0.max(1)).max(2);
        let rule = SteadyRule {
            window: intervals as usize,
            slope_percent: steady.tolerance_percent,
            spread_percent: steady.tolerance_percent * SPREAD,
        };
        let values = VecDeque::with_capacity(rule.window);
        Some(Self { wanted: steady, rule, values, last: None, settled_ns: None })
    }

    /// Takes the rows of whole intervals, in order; tells whether the metric has settled. `start_ns` is the time at which the load's first interval
    /// began.
    pub(crate) fn add_rows(&mut self, rows: &[IntervalRow], start_ns: u64) -> bool {
        for interval in rows.chunk_by(|a, b| a.start_ns == b.start_ns) {
            if self.values.len() == self.rule.window {
                self.values.pop_front();
            }
            self.values.push_back(value(self.wanted.metric, interval));
            self.last = self.rule.last_window(self.values.make_contiguous());
            let holds = self.last.as_ref().is_some_and(|window| self.rule.holds(window));
            if holds && self.settled_ns.is_none() {
                self.settled_ns = interval.first().map(|row| row.end_ns.saturating_sub(start_ns));
            }
            if self.settled_ns.is_some() {
                return true;
            }
        }
        false
    }

    /// Returns the result.
    pub(crate) fn facts(&self) -> SteadyFacts {
        SteadyFacts {
            metric: self.wanted.metric.to_string(),
            settled_ns: self.settled_ns,
            window_ns: self.wanted.window.0,
            slope_percent: self.last.map(|w| w.slope_percent),
            spread_percent: self.last.map(|w| w.spread_percent),
            slope_limit_percent: self.rule.slope_percent,
            spread_limit_percent: self.rule.spread_percent,
        }
    }

    /// Returns what a window has too much of, with its limit.
    fn too_much(&self, Window { slope_percent, spread_percent }: Window) -> String {
        let of = |word: &str, found: f64, limit: f64| {
            let show = |percent| Unit::Percent.show(percent);
            // A NaN keeps no limit.
            let over = found > limit || found.is_nan();
            over.then(|| format!("{word} by {} (at most {})", show(found), show(limit)))
        };
        let drifted = of("drifted", slope_percent.abs(), self.rule.slope_percent);
        let spread = of("spread", spread_percent, self.rule.spread_percent);
        Vec::from_iter(drifted.into_iter().chain(spread)).join(" and ")
    }

    /// Returns a notice if the load ended before it settled, or before that could be known.
    pub(crate) fn notice(&self) -> Option<String> {
        if self.settled_ns.is_some() {
            return None;
        }
        let (rule, seen, window) = (self.wanted, self.values.len(), self.rule.window);
        Some(if let Some(last) = self.last {
            let why = self.too_much(last);
            format!(
                "The load never settled by the rule {rule}: over its last window the figures still {why}; run it for longer"
            )
        } else if seen < window {
            format!(
                "Whether the load settled by the rule {rule} is not known: it ended after {seen} of the {window} intervals of the window; run it for longer"
            )
        } else {
            format!(
                "Whether the load settled by the rule {rule} is not known: in the last window there were intervals in which no I/O ended; make interval longer"
            )
        })
    }
}

/// The metric over all operations of one interval; NaN when it had none.
fn value(metric: SteadyMetric, rows: &[IntervalRow]) -> f64 {
    let nanos = rows.first().map_or(0, |row| row.end_ns.saturating_sub(row.start_ns));
    let per_second = |n: u64| n as f64 * 1e9 / nanos as f64;
    let ios: u64 = rows.iter().map(|row| row.ios).sum();
    let latencies = || rows.iter().filter_map(|row| Some((row.ios, row.latency?)));
    match metric {
        SteadyMetric::Iops => per_second(ios),
        SteadyMetric::Throughput => per_second(rows.iter().map(|row| row.bytes).sum()),
        SteadyMetric::Latency => {
            latencies().map(|(ios, l)| ios as f64 * l.mean_ns).sum::<f64>() / ios as f64
        }
        // The value of the slowest operation: percentiles are shown per operation and cannot be combined.
        SteadyMetric::P99 => latencies().map(|(_, l)| l.p99_ns as f64).fold(f64::NAN, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::model::LatencySummary;

    const S: u64 = 1_000_000_000;

    fn row(second: u64, ios: u64, ns: u64) -> IntervalRow {
        let latency = LatencySummary {
            mean_ns: ns as f64,
            min_ns: ns,
            p50_ns: ns,
            p99_ns: ns,
            p999_ns: ns,
            max_ns: ns,
        };
        IntervalRow {
            stage: 0,
            operation: "read".into(),
            start_ns: second * S,
            end_ns: (second + 1) * S,
            ios,
            bytes: ios * 512,
            errors: 0,
            outcomes: None,
            latency: (ios > 0).then_some(latency),
            histogram: None,
        }
    }

    fn steady_detector(rule: &str) -> SteadyDetector {
        let steady = Some(rule.parse().unwrap());
        SteadyDetector::of(&LoadSpec { steady, ..LoadSpec::default() }).unwrap()
    }

    #[test]
    fn a_load_settles_when_a_whole_window_keeps_the_rule_and_says_when() {
        let mut s = steady_detector("iops:5%:5s");
        // Two operations per interval: their sum is judged.
        let series = [500, 400, 300, 200, 100, 101, 99, 100, 100];
        let rows = |i: usize| [row(10 + i as u64, series[i] - 50, 7), row(10 + i as u64, 50, 7)];
        assert!((0..8).all(|i| !s.add_rows(&rows(i), 10 * S)));
        assert!(s.add_rows(&rows(8), 10 * S));
        let facts = s.facts();
        assert_eq!((facts.settled_ns, facts.window_ns), (Some(9 * S), 5 * S));
        assert!(facts.spread_percent.unwrap() < 3.0 && s.notice().is_none());
    }

    #[test]
    fn one_that_never_settled_says_so() {
        let mut s = steady_detector("latency:5%:5s");
        let rows: Vec<_> = (0..20).map(|i| row(i, 100, 1_000 + 200 * i)).collect();
        assert!(!s.add_rows(&rows, 0));
        assert_eq!(s.facts().settled_ns, None);
        assert!(s.facts().slope_percent.unwrap() > 5.0);
        assert!(s.notice().unwrap().contains("latency:5%:5s"));
    }

    #[test]
    fn what_could_not_be_judged_is_not_said_to_drift() {
        let mut s = steady_detector("iops:5%:60s");
        assert!(s.notice().unwrap().contains("after 0 of the 60 intervals"));
        let rows: Vec<_> = (0..59).map(|i| row(i, 100 + i, 7)).collect();
        assert!(!s.add_rows(&rows, 0));
        let message = s.notice().unwrap();
        assert!(
            message.contains("after 59 of the 60 intervals") && !message.contains("drift"),
            "{message}"
        );
        assert!(
            !s.add_rows(&[row(59, 500, 7)], 0) && s.notice().unwrap().contains("still drifted")
        );
    }

    #[test]
    fn a_load_that_never_settled_names_what_was_too_much() {
        let notice = |series: [u64; 5]| {
            let mut s = steady_detector("iops:1%:5s");
            let rows: Vec<_> = (0..5).map(|i| row(i, series[i as usize], 7)).collect();
            assert!(!s.add_rows(&rows, 0));
            s.notice().unwrap()
        };
        // It ends where it began, and goes far up and down between.
        let spread = notice([100, 50, 100, 50, 100]);
        assert!(spread.contains("still spread by 62.5 % (at most 2 %)"), "{spread}");
        assert!(!spread.contains("drift"), "{spread}");
        let both = notice([100, 110, 120, 130, 140]);
        assert!(both.contains("still drifted by 33.3 % (at most 1 %) and spread by"), "{both}");
        // A slow drift is within the spread that is allowed.
        let drifted = notice([1000, 1004, 1008, 1012, 1015]);
        assert!(drifted.contains("drifted by") && !drifted.contains("spread"), "{drifted}");
    }

    #[test]
    fn a_window_with_intervals_in_which_no_io_ended_is_not_judged() {
        let mut s = steady_detector("latency:5%:5s");
        let rows: Vec<_> = (0..9).map(|i| row(i, i % 2, 7)).collect();
        assert!(!s.add_rows(&rows, 0));
        assert!(s.notice().unwrap().contains("intervals in which no I/O ended"));
    }

    #[test]
    fn intervals_in_which_nothing_ended_settle_nothing() {
        for rule in ["iops:5%:5s", "throughput:5%:5s", "latency:5%:5s", "p99:5%:5s"] {
            let mut s = steady_detector(rule);
            let rows: Vec<_> = (0..9).map(|i| row(i, 0, 0)).collect();
            assert!(!s.add_rows(&rows, 0), "{rule}");
            let rows: Vec<_> = (9..20).map(|i| row(i, 7, 5)).collect();
            assert!(s.add_rows(&rows, 0), "{rule}");
        }
        assert!(SteadyDetector::of(&LoadSpec::default()).is_none());
    }
}
