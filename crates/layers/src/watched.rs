//! Counters of a node of a standing stack over time.

use results::model::Fields;

/// Share of a CPU from which a thread counts as using all of it: the rest is lost to the imprecision of looks and clock ticks.
pub const FULL_CPU: f64 = 0.9;

/// A node over the time that it was watched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Watched {
    /// Time from the first look at it to the last one, seconds.
    pub seconds: f64,
    /// I/O of its block device over that time.
    pub io: IoGrowth,
    /// The same from each look to the next.
    pub rows: Vec<IoGrowth>,
    /// Growth of its own counters; `None` for a counter that was reset in between.
    pub grown: Fields,
    /// Its own levels at the last look.
    pub levels: Fields,
    /// Its threads that did something, the busiest first.
    pub threads: Vec<ThreadUse>,
    /// The time at which it was found gone, seconds since the first look at all, and how that is known.
    pub gone: Option<(f64, String)>,
}

/// Work of a block device between two looks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IoGrowth {
    /// The first look, seconds since the first look at all.
    pub from_s: f64,
    /// The second one.
    pub to_s: f64,
    /// Growth of its counters, by the names that the parser of `/proc/diskstats` gives; `None` for a counter that was reset or does not exist.
    pub grown: Fields,
}

impl IoGrowth {
    /// Returns how much a counter grew.
    pub fn number(&self, field: &str) -> Option<f64> {
        self.grown.get(field).copied().flatten()
    }

    /// Returns the growth of a counter per second.
    pub fn rate(&self, field: &str) -> Option<f64> {
        let seconds = self.to_s - self.from_s;
        (seconds > 0.0).then_some(self.number(field)? / seconds)
    }

    /// Returns the mean time of an I/O, nanoseconds, from the counter `ios` of I/Os and the counter `ms` of their total time; `None` where
    /// there were none, or their total time is less than the millisecond that the kernel counts in.
    pub fn latency_ns(&self, ios: &str, ms: &str) -> Option<f64> {
        let ios = self.number(ios).filter(|ios| *ios > 0.0)?;
        Some(self.number(ms).filter(|ms| *ms > 0.0)? * 1e6 / ios)
    }

    /// Returns the part of the time with any I/O under way, percent, at most 100, since the kernel may count a little too much.
    pub fn busy_percent(&self) -> Option<f64> {
        Some((self.rate("busy_ms")? / 10.0).min(100.0))
    }

    /// I/Os under way on average.
    pub fn in_flight(&self) -> Option<f64> {
        Some(self.rate("weighted_ms")? / 1e3)
    }

    /// Tells whether no I/O ended, as far as anything was counted.
    pub fn is_idle(&self) -> bool {
        ["reads", "writes", "discards", "flushes"]
            .iter()
            .all(|field| self.number(field).unwrap_or(0.0) == 0.0)
    }
}

/// CPU time that a thread took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadUse {
    /// Its name; for a kernel worker with its work.
    pub name: String,
    /// Its number.
    pub id: String,
    /// Percent of one CPU, over the whole time.
    pub cpu_percent: f64,
    /// The highest value of the same from one look to the next.
    pub most_percent: f64,
    /// The part of the time in which it had at least [`FULL_CPU`] of a CPU, percent.
    pub full_percent: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_io_is_no_latency_and_what_began_anew_is_no_rate() {
        let fields = [
            ("reads", Some(0.0)),
            ("read_ms", Some(0.0)),
            ("writes", Some(500.0)),
            ("write_ms", Some(1000.0)),
            ("flushes", Some(3.0)),
            ("flush_ms", Some(0.0)),
            ("busy_ms", Some(2100.0)),
            ("weighted_ms", Some(4000.0)),
            ("read_bytes", None),
        ];
        let grown = fields.map(|(name, value)| (name.to_owned(), value)).into();
        let io = IoGrowth { from_s: 1.0, to_s: 3.0, grown };
        assert_eq!(io.latency_ns("reads", "read_ms"), None);
        assert_eq!(io.latency_ns("writes", "write_ms"), Some(2e6));
        assert_eq!(io.latency_ns("flushes", "flush_ms"), None, "too short to be counted");
        assert_eq!((io.rate("writes"), io.rate("read_bytes")), (Some(250.0), None));
        assert_eq!((io.busy_percent(), io.in_flight()), (Some(100.0), Some(2.0)));
        assert!(!io.is_idle() && IoGrowth::default().is_idle());
    }
}
