//! Detection of rest: over a window of operations, not of seconds.

/// Number of parts of a window.
const PARTS: usize = 5;
/// Largest change over the window of the line fitted through the means of its parts, as a share of their mean.
const MOST_DRIFT: f64 = 0.02;
/// Largest difference between the means of the parts, as a share of their mean.
const MOST_SPREAD: f64 = 0.04;

/// Watches a level over windows of at least one time constant: in shorter ones it looks flat long before it is reached.
#[derive(Debug, Clone)]
pub struct RestWatch {
    part: u64,
    sum: f64,
    seen: u64,
    means: [f64; PARTS],
    parts: usize,
    operations: u64,
    settled: Option<u64>,
}

impl RestWatch {
    /// A watch with windows of so many operations.
    pub fn new(window: u64) -> Self {
        Self {
            part: window.div_ceil(PARTS as u64).max(1),
            sum: 0.0,
            seen: 0,
            means: [0.0; PARTS],
            parts: 0,
            operations: 0,
            settled: None,
        }
    }

    /// Number of operations after which it had come to rest, if it has.
    pub fn settled(&self) -> Option<u64> {
        self.settled
    }

    /// Notes the level after an operation.
    #[inline]
    pub fn note(&mut self, level: f64) {
        self.operations += 1;
        self.sum += level;
        self.seen += 1;
        if self.seen == self.part {
            self.end_part();
        }
    }

    fn end_part(&mut self) {
        self.means.rotate_left(1);
        self.means[PARTS - 1] = self.sum / self.seen as f64;
        (self.sum, self.seen) = (0.0, 0);
        self.parts = (self.parts + 1).min(PARTS);
        if self.settled.is_none() && self.parts == PARTS && is_at_rest(&self.means) {
            self.settled = Some(self.operations);
        }
    }
}

fn is_at_rest(means: &[f64; PARTS]) -> bool {
    let mean = means.iter().sum::<f64>() / PARTS as f64;
    let (least, most) =
        means.iter().fold((f64::MAX, f64::MIN), |(a, b), &mean| (a.min(mean), b.max(mean)));
    // The slope of a line through five points, times the four steps between them.
    let slope: f64 =
        means.iter().zip([-2.0, -1.0, 0.0, 1.0, 2.0]).map(|(mean, at)| mean * at).sum();
    let drift = (slope / 10.0 * 4.0).abs();
    mean == 0.0 || drift <= MOST_DRIFT * mean && most - least <= MOST_SPREAD * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approach(window: u64) -> (u64, f64) {
        let mut watch = RestWatch::new(window);
        let level = |n: u64| 1.0 - (-(n as f64) / 1000.0).exp();
        let mut n = 0;
        while watch.settled().is_none() && n < 100_000 {
            n += 1;
            watch.note(level(n));
        }
        (n, level(n))
    }

    #[test]
    fn a_window_of_one_time_constant_sees_rest_where_it_is_and_a_short_one_too_early() {
        let (operations, level) = approach(1000);
        assert!((3000..5000).contains(&operations) && level > 0.97, "{operations}: {level}");
        let (_, level) = approach(50);
        assert!(level < 0.9, "{level}");
    }

    #[test]
    fn what_rises_or_swings_is_not_at_rest() {
        let mut rising = RestWatch::new(100);
        (0..10_000).for_each(|n| rising.note(100.0 + f64::from(n)));
        assert_eq!(rising.settled().filter(|&n| n < 3000), None);
        let mut swinging = RestWatch::new(100);
        (0..10_000).for_each(|n| swinging.note(if n / 40 % 2 == 0 { 1.0 } else { 2.0 }));
        assert_eq!(swinging.settled(), None);
    }
}
