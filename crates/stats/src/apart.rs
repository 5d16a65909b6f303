//! Runs that went badly and that ranks do not see: three of twelve may be ten times as slow, and the median of all pairs stays where it is.

use units::Better;

use crate::evidence::fisher;
use crate::quantile::Sorted;
use crate::verdict::Claim;

/// Runs stand apart where the gap to the others is more than this many times the range of the others.
const MIN_GAP_RATIO: f64 = 2.0;
/// Highest p-value (Fisher's exact test) at which runs apart count as more frequent on one side; above it, both sides are taken to have them.
const BY_CHANCE: f64 = 0.12;

/// Outliers: runs of either side that stand apart from all others in a bad direction, and contradict a claim.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Apart {
    /// Indices (into the pairs) of the base's runs that stand apart.
    pub base: Vec<usize>,
    /// The same for the new side.
    pub new: Vec<usize>,
}

impl Apart {
    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.base.is_empty() && self.new.is_empty()
    }

    /// Returns the runs that contradict `claim`: `same` claims that neither side has runs that went badly, a difference that the better side
    /// has none. Where neither direction is good, runs apart in either direction are bad, and contradict only `same`.
    pub(crate) fn against(
        claim: Claim,
        better: Better,
        pairs: &[(f64, f64)],
        zone: (f64, f64),
    ) -> Self {
        let mut all = Self::default();
        for (sign, found) in Self::bad(better, pairs, zone) {
            // The sides that the claim says are no worse.
            let (base, new) = match (claim, better) {
                (Claim::Within, _) => (true, true),
                (_, Better::Neither) => (false, false),
                (claim, _) => {
                    ((claim == Claim::More) == (sign > 0.0), (claim == Claim::Less) == (sign > 0.0))
                }
            };
            let (of_base, of_new) = (found.base.len(), found.new.len());
            if base && one_sided(of_base, of_new, pairs.len()) {
                all.base.extend(&found.base);
            }
            if new && one_sided(of_new, of_base, pairs.len()) {
                all.new.extend(&found.new);
            }
        }
        all
    }

    /// Tells whether any run, of base or new, stands apart in a bad direction.
    pub(crate) fn any(better: Better, pairs: &[(f64, f64)], zone: (f64, f64)) -> bool {
        Self::bad(better, pairs, zone).any(|(_, found)| !found.is_empty())
    }

    /// Returns the runs that stand apart in each bad direction: 1 is above, -1 below.
    fn bad(
        better: Better,
        pairs: &[(f64, f64)],
        zone: (f64, f64),
    ) -> impl Iterator<Item = (f64, Self)> {
        let bad: &[f64] = match better {
            Better::Lower => &[1.0],
            Better::Higher => &[-1.0],
            Better::Neither => &[1.0, -1.0],
        };
        bad.iter().map(move |sign| {
            let turned: Vec<(f64, f64)> = pairs.iter().map(|(b, n)| (sign * b, sign * n)).collect();
            (*sign, Self::above(&turned, (zone.1 - zone.0) / 2.0))
        })
    }

    /// Returns the runs that lie far above all others, measured from the median of their side: fewer than half of each side. Gaps up to `least`
    /// do not count.
    fn above(pairs: &[(f64, f64)], least: f64) -> Self {
        let (base, new): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let middle = |side: &[f64]| Sorted::from(side).median().unwrap_or_default();
        let middles = [middle(&base), middle(&new)];
        let of = |side: usize, values: &[f64]| -> Vec<(f64, usize, usize)> {
            values.iter().enumerate().map(|(run, v)| (v - middles[side], side, run)).collect()
        };
        let mut all = of(0, &base);
        all.extend(of(1, &new));
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let is_split = |at: &usize| {
            let (rest, top) = all.split_at(*at);
            let [first, .., last] = rest else { return false };
            let few =
                |side: usize| 2 * top.iter().filter(|one| one.1 == side).count() < pairs.len();
            let gap = top.first().map_or(0.0, |lowest| lowest.0 - last.0);
            few(0) && few(1) && gap > least && gap > MIN_GAP_RATIO * (last.0 - first.0)
        };
        let Some(at) = (2..all.len()).find(is_split) else { return Self::default() };
        let runs = |side: usize| {
            let of_side = all[at..].iter().filter(|one| one.1 == side);
            let mut runs: Vec<usize> = of_side.map(|one| one.2).collect();
            runs.sort_unstable();
            runs
        };
        Self { base: runs(0), new: runs(1) }
    }
}

/// Tells whether this side has runs apart and the other none, or so many more than the other that it is hardly chance (Fisher 1934).
fn one_sided(here: usize, other: usize, runs: usize) -> bool {
    here > 0 && (other == 0 || fisher(here, other, runs) <= BY_CHANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONE: (f64, f64) = (-0.03, 0.03);

    /// Twelve runs near 0; those named are farther up by so much.
    fn side(apart: &[usize], by: f64) -> Vec<f64> {
        let value = |run: usize| f64::from(run as u32 % 4) * 0.005;
        (0..12).map(|run| value(run) + if apart.contains(&run) { by } else { 0.0 }).collect()
    }

    fn against(claim: Claim, better: Better, base: &[f64], new: &[f64]) -> Apart {
        let pairs: Vec<_> = base.iter().copied().zip(new.iter().copied()).collect();
        Apart::against(claim, better, &pairs, ZONE)
    }

    #[test]
    fn runs_ten_times_slower_on_one_side_speak_against_same_and_against_better() {
        let (quiet, bad) = (side(&[], 0.0), side(&[2, 5, 11], 2.3));
        let same = against(Claim::Within, Better::Lower, &quiet, &bad);
        assert_eq!(same, Apart { base: vec![], new: vec![2, 5, 11] });
        assert_eq!(against(Claim::Within, Better::Lower, &bad, &quiet).base, [2, 5, 11]);
        // A tenth less in nine runs, ten times as much in three.
        let less: Vec<f64> = bad.iter().map(|v| v - 0.1).collect();
        assert_eq!(against(Claim::Less, Better::Lower, &quiet, &less).new, [2, 5, 11]);
        assert!(against(Claim::More, Better::Lower, &quiet, &bad).is_empty(), "worse it is");
        assert_eq!(against(Claim::More, Better::Lower, &bad, &quiet).base, [2, 5, 11]);
        // One of many, and runs that are as far from each other.
        assert_eq!(against(Claim::Within, Better::Lower, &quiet, &side(&[4], 2.3)).new, [4]);
        let mut wild = quiet.clone();
        (wild[9], wild[10], wild[11]) = (3.7, 8.5, 11.5);
        assert_eq!(against(Claim::Within, Better::Lower, &quiet, &wild).new, [9, 10, 11]);
    }

    #[test]
    fn good_runs_runs_on_both_sides_and_a_little_noise_speak_against_nothing() {
        let (quiet, bad) = (side(&[], 0.0), side(&[2, 5, 11], 2.3));
        for (base, new) in
            [(&quiet, &side(&[2], -2.3)), (&bad, &side(&[1, 7], 2.3)), (&quiet, &quiet)]
        {
            assert!(
                against(Claim::Within, Better::Lower, base, new).is_empty(),
                "{base:?} {new:?}"
            );
        }
        assert!(against(Claim::Within, Better::Lower, &quiet, &side(&[3], 0.025)).is_empty());
        assert!(against(Claim::Within, Better::Lower, &[0.0; 12], &[0.0; 12]).is_empty());
        // Where neither is good either is bad.
        assert_eq!(against(Claim::Within, Better::Neither, &quiet, &side(&[2], -2.3)).new, [2]);
        assert!(against(Claim::Less, Better::Neither, &quiet, &side(&[2], -2.3)).is_empty());
        assert_eq!(against(Claim::Within, Better::Higher, &quiet, &side(&[2], -2.3)).new, [2]);
    }
}
