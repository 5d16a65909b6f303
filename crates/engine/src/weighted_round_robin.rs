//! Divides the I/Os of a load among its targets: smooth weighted round robin.

/// Draws targets so that after any number of draws each is within one I/O of its share (smooth weighted round robin).
#[derive(Debug, Clone)]
pub(crate) struct WeightedRoundRobin {
    /// Per target: its weight, and the credit it has saved up.
    targets: Vec<(f64, f64)>,
    open: f64,
}

impl WeightedRoundRobin {
    pub(crate) fn new(weights: impl Iterator<Item = f64>) -> Self {
        let targets: Vec<_> = weights.map(|weight| (weight, 0.0)).collect();
        let open = targets.iter().map(|t| t.0).sum();
        Self { targets, open }
    }

    /// The next target; `None` when all are closed.
    #[inline]
    pub(crate) fn draw(&mut self) -> Option<usize> {
        if let [(weight, _)] = self.targets[..] {
            return (weight > 0.0).then_some(0);
        }
        let mut best: Option<(usize, f64)> = None;
        for (at, (weight, credit)) in self.targets.iter_mut().enumerate() {
            if *weight > 0.0 {
                *credit += *weight;
                if best.is_none_or(|(_, most)| *credit > most) {
                    best = Some((at, *credit));
                }
            }
        }
        let (at, _) = best?;
        self.targets[at].1 -= self.open;
        Some(at)
    }

    /// Draws this target no more; the credit of the others stays among them.
    pub(crate) fn close(&mut self, target: usize) {
        self.targets[target] = (0.0, 0.0);
        self.open = self.targets.iter().map(|t| t.0).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::WeightedRoundRobin;

    #[test]
    fn every_prefix_of_draws_is_within_one_of_the_shares() {
        let shares = [50.0, 30.0, 15.0, 5.0];
        let mut drawn = WeightedRoundRobin::new(shares.into_iter());
        let mut counts = [0.0; 4];
        for n in 1..=10_000 {
            counts[drawn.draw().unwrap()] += 1.0;
            for (count, share) in counts.iter().zip(shares) {
                assert!(
                    (count - share / 100.0 * f64::from(n)).abs() <= 1.0,
                    "{counts:?} after {n}"
                );
            }
        }
    }

    #[test]
    fn a_closed_target_gets_nothing_and_the_others_share_on() {
        let mut shares = WeightedRoundRobin::new([50.0, 25.0, 25.0].into_iter());
        shares.draw();
        shares.close(0);
        let drawn: Vec<_> = (0..100).map(|_| shares.draw().unwrap()).collect();
        assert!(drawn.iter().filter(|&&t| t == 1).count().abs_diff(50) <= 1, "{drawn:?}");
        assert!(!drawn.contains(&0));
        shares.close(1);
        shares.close(2);
        assert_eq!(shares.draw(), None);
    }
}
