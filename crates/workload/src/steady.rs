//! The rule for when a load counts as settled, without its evaluation.

use std::fmt;

use units::{Nanos, QuantityError};

use crate::text::{self, choice};

choice! {
    /// The figure of each interval that has to settle.
    SteadyMetric is a "steady-state metric", Iops unless said:
    /// I/Os per second.
    Iops = "iops",
    /// Bytes per second.
    Throughput = "throughput",
    /// Mean latency.
    Latency = "latency",
    /// 99th percentile of latency.
    P99 = "p99",
}

/// Ends a load when a metric has kept within a tolerance of its mean over a window of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// The metric that has to settle.
    pub metric: SteadyMetric,
    /// The drift that is allowed over the window, percent of the metric's mean over the window.
    pub tolerance_percent: f64,
    /// The window, of whole intervals.
    pub window: Nanos,
}

impl std::str::FromStr for Steady {
    type Err = QuantityError;

    /// Reads `iops:5%:60s`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let parts: Vec<_> = text.split(':').collect();
        let rule = match parts[..] {
            [metric, tolerance, window] => {
                match (metric.parse(), text::percent(tolerance), window.parse()) {
                    (Ok(metric), Some(tolerance_percent), Ok(window)) => {
                        Some(Self { metric, tolerance_percent, window })
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        rule.ok_or_else(|| QuantityError {
            text: text.to_owned(),
            what: "steady-state rule",
            example: "METRIC:TOLERANCE:WINDOW with the metric iops, throughput, latency or p99, as in iops:5%:60s",
        })
    }
}

impl fmt::Display for Steady {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}%:{}", self.metric, self.tolerance_percent, text::duration(self.window))
    }
}

units::as_text!(Steady, "a steady-state rule such as \"iops:5%:60s\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_back_from_what_it_prints() {
        for text in ["iops:5%:60s", "p99:0.5%:600s", "latency:12.5%:1500ms"] {
            assert_eq!(text.parse::<Steady>().unwrap().to_string(), text);
        }
        assert_eq!("iops:5:60".parse(), "iops:5%:60s".parse::<Steady>());
    }

    #[test]
    fn refuses_what_is_not_a_rule_and_says_how_to_write_one() {
        for text in
            ["", "iops", "iops:5%", "iops:5%:60s:", "speed:5%:60s", "iops:-5%:60s", "iops:5%:x"]
        {
            assert!(text.parse::<Steady>().unwrap_err().to_string().contains("iops:5%:60s"));
        }
    }
}
