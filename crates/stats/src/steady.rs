//! Tests whether a series has reached a steady state: drift and spread over a window.

use crate::spread::mean;

/// Number of parts of a window. The rule applies to their means, as SNIA's does to the means of five rounds: single intervals spread too far
/// even in a flat series.
const PARTS: usize = 5;

/// Drift and spread of a window of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// The rise of the least-squares line from the first value to the last, percent of the mean; negative when it falls.
    pub slope_percent: f64,
    /// Largest minus smallest value, percent of the mean.
    pub spread_percent: f64,
}

/// The rule by which a series counts as settled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyRule {
    /// Number of values in a window; at least 2. With more than five, the rule applies to the means of five parts of the window.
    pub window: usize,
    /// The drift that is allowed either way, percent of the mean.
    pub slope_percent: f64,
    /// The spread that is allowed, percent of the mean.
    pub spread_percent: f64,
}

impl Default for SteadyRule {
    /// Five values that drift by 10 % and spread by 20 % at most: the rule of SNIA's Solid State Storage Performance
    /// Test Specification 2.0.1 (2018), 2.1.24.
    fn default() -> Self {
        Self { window: 5, slope_percent: 10.0, spread_percent: 20.0 }
    }
}

/// Drift and spread of `values` as one window, by the means of its five parts where there are more than five. `None` for fewer than two
/// values, for values that are not finite, and where their mean is not above 0: there is no percentage then.
pub fn window(values: &[f64]) -> Option<Window> {
    let n = values.len();
    let centre = mean(values);
    if n < 2 || values.iter().any(|v| !v.is_finite()) || centre <= 0.0 {
        return None;
    }
    let values: Vec<f64> = match n {
        0..=PARTS => values.to_vec(),
        _ => (0..PARTS).map(|i| mean(&values[i * n / PARTS..(i + 1) * n / PARTS])).collect(),
    };
    let n = values.len();
    let middle = (n - 1) as f64 / 2.0;
    let at = |i: usize| i as f64 - middle;
    let (products, squares) = values
        .iter()
        .enumerate()
        .fold((0.0, 0.0), |(p, s), (i, v)| (p + at(i) * (v - centre), s + at(i) * at(i)));
    let gained = products / squares * (n - 1) as f64;
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
    Some(Window {
        slope_percent: gained / centre * 100.0,
        spread_percent: (high - low) / centre * 100.0,
    })
}

impl SteadyRule {
    /// Returns drift and spread of the last whole window of `values`; `None` before there is one.
    pub fn last_window(&self, values: &[f64]) -> Option<Window> {
        values.len().checked_sub(self.window.max(2)).and_then(|from| window(&values[from..]))
    }

    /// Tells whether a window satisfies the rule.
    pub fn holds(&self, window: &Window) -> bool {
        window.slope_percent.abs() <= self.slope_percent
            && window.spread_percent <= self.spread_percent
    }

    /// The number of values after which the series had first settled; `None` when it never did.
    pub fn settled_after(&self, values: &[f64]) -> Option<usize> {
        let size = self.window.max(2);
        values
            .windows(size)
            .position(|part| window(part).is_some_and(|w| self.holds(&w)))
            .map(|first| first + size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sorted;
    use crate::simulation::Series;
    use units::Seed;

    const RULE: SteadyRule = SteadyRule { window: 4, slope_percent: 10.0, spread_percent: 20.0 };

    #[test]
    fn slope_and_spread_are_those_of_the_definition() {
        let w = window(&[90.0, 100.0, 110.0]).unwrap();
        assert!((w.slope_percent - 20.0).abs() < 1e-9 && (w.spread_percent - 20.0).abs() < 1e-9);
        let w = window(&[110.0, 90.0, 90.0, 110.0]).unwrap();
        assert!(w.slope_percent.abs() < 1e-9 && (w.spread_percent - 20.0).abs() < 1e-9);
        // y = 2, 4, 5, 4, 5: the line gains 0.6 a step.
        let w = window(&[2.0, 4.0, 5.0, 4.0, 5.0]).unwrap();
        assert!((w.slope_percent - 60.0).abs() < 1e-9 && (w.spread_percent - 75.0).abs() < 1e-9);
    }

    #[test]
    fn a_series_settles_when_its_start_has_left_the_window() {
        let series = [400.0, 300.0, 200.0, 150.0, 104.0, 100.0, 98.0, 101.0, 100.0];
        assert_eq!(RULE.settled_after(&series), Some(8));
        assert!(RULE.holds(&RULE.last_window(&series).unwrap()));
        assert_eq!(RULE.settled_after(&series[..7]), None);
    }

    #[test]
    fn a_drift_within_the_spread_and_a_spread_without_a_drift_are_both_found() {
        let drift = [92.0, 97.0, 103.0, 108.0];
        let w = window(&drift).unwrap();
        assert!(w.spread_percent <= RULE.spread_percent && w.slope_percent > RULE.slope_percent);
        assert!(!RULE.holds(&w));
        let saw = [80.0, 120.0, 120.0, 80.0];
        assert!(!RULE.holds(&window(&saw).unwrap()));
    }

    /// Runs of `n` values that follow `level`, the value after which each of them settled by `5%:60s`.
    fn settled_at(n: usize, spread: f64, level: impl Fn(usize) -> f64) -> Vec<Option<usize>> {
        let rule = SteadyRule { window: 60, slope_percent: 5.0, spread_percent: 10.0 };
        let noise = Series { values: n, spread, carry: 0.3, change: None };
        let run = |seed| {
            let noise = noise.draw(&mut Seed(seed).generator());
            let values: Vec<f64> = noise.iter().enumerate().map(|(at, v)| v * level(at)).collect();
            rule.settled_after(&values)
        };
        (0..1_000).map(run).collect()
    }

    #[test]
    fn a_flat_series_whose_intervals_spread_by_nine_percent_settles_soon() {
        let runs = settled_at(300, 0.09, |_| 1.0);
        let soon = runs.iter().filter(|at| at.is_some_and(|at| at <= 85)).count();
        assert!(soon >= 950, "{soon} of 1000");
    }

    #[test]
    fn a_decay_settles_when_little_of_it_is_left_and_a_slow_one_before() {
        // From 2 to 1: what the window in which it settled still lay above the end, percent.
        let above = |time: f64| {
            let level = |at: usize| 1.0 + (-(at as f64) / time).exp();
            let runs = settled_at(1_000, 0.09, level);
            let window = |end: usize| (end - 60..end).map(level).sum::<f64>() / 60.0 - 1.0;
            runs.into_iter().flatten().map(|end| 100.0 * window(end)).collect::<Sorted>()
        };
        let fast = above(20.0).median().unwrap();
        assert!(fast <= 3.0, "{fast}");
        let slow = above(60.0).median().unwrap();
        // Wanted were 11: the rule cannot tell so slow a decay from noise.
        assert!(slow <= 12.0, "{slow}");
    }

    #[test]
    fn a_long_window_is_held_to_the_rule_by_the_means_of_its_five_parts() {
        let saw: Vec<f64> = (0..50).map(|i| if i % 2 == 0 { 80.0 } else { 120.0 }).collect();
        let w = window(&saw).unwrap();
        assert!(w.spread_percent < 1e-9 && w.slope_percent.abs() < 1e-9, "{w:?}");
        let stairs: Vec<f64> = (0..52).map(|i| f64::from(100 + 10 * (i / 11))).collect();
        let w = window(&stairs).unwrap();
        assert!((w.slope_percent - w.spread_percent).abs() < 3.0, "{w:?}");
    }

    #[test]
    fn nothing_is_said_of_too_few_values_of_nothing_and_of_what_is_no_number() {
        assert_eq!(RULE.last_window(&[1.0, 1.0, 1.0]), None);
        assert_eq!(RULE.settled_after(&[]), None);
        assert_eq!(window(&[0.0, 0.0, 0.0]), None);
        assert_eq!(window(&[1.0, f64::NAN]), None);
        assert_eq!(RULE.settled_after(&[0.0; 20]), None);
        assert_eq!(RULE.settled_after(&[5.0; 4]), Some(4));
    }
}
