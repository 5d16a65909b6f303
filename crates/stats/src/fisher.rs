//! Tests whether groups differ by more than the values within them: the F distribution, and a one-way analysis of variance.

use std::f64::consts::PI;

use crate::spread::mean;
use crate::student::fraction;

/// The analysis of variance of groups of the same size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Groups {
    /// Standard deviation within the groups, pooled.
    pub deviation: f64,
    /// Degrees of freedom of `deviation`.
    pub freedom: usize,
    /// The F ratio: variance between the groups over variance within them.
    pub ratio: f64,
    /// The probability of a ratio at least this large if the groups do not differ.
    pub p: f64,
}

/// The one-way analysis of variance of groups (Fisher 1925); `None` for fewer than two groups, and where no group has two values.
pub fn groups(groups: &[Vec<f64>]) -> Option<Groups> {
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| !group.is_empty()).collect();
    let all: Vec<f64> = groups.iter().flat_map(|group| group.iter().copied()).collect();
    let freedom = all.len().checked_sub(groups.len()).filter(|freedom| *freedom > 0)?;
    if groups.len() < 2 || all.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let centre = mean(&all);
    let squares = |group: &[f64]| {
        let group_mean = mean(group);
        group.iter().map(|value| (value - group_mean).powi(2)).sum::<f64>()
    };
    let within = groups.iter().map(|group| squares(group)).sum::<f64>() / freedom as f64;
    let between = groups.iter().map(|group| group.len() as f64 * (mean(group) - centre).powi(2));
    let between = between.sum::<f64>() / (groups.len() - 1) as f64;
    let ratio = if within > 0.0 { between / within } else { f64::INFINITY };
    let ratio = if between == 0.0 { 0.0 } else { ratio };
    let p = upper_tail(ratio, groups.len() - 1, freedom);
    Some(Groups { deviation: within.sqrt(), freedom, ratio, p })
}

/// The chance that F exceeds `f` with `above` and `below` degrees of freedom: the regularised incomplete beta function I(x; ν₂/2, ν₁/2)
/// with x = ν₂ / (ν₂ + ν₁ f) (Abramowitz and Stegun 1964, 26.6.2).
fn upper_tail(f: f64, above: usize, below: usize) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    if f.is_infinite() {
        return 0.0;
    }
    let (a, b) = (below as f64 / 2.0, above as f64 / 2.0);
    let x = below as f64 / (below as f64 + above as f64 * f);
    let front = (a * x.ln() + b * (1.0 - x).ln()).exp() / beta(below, above);
    // The fraction converges fast only on this side.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// B(m/2, n/2), from B(1/2, 1/2) = π, B(1/2, 1) = 2 and B(1, 1) = 1 by B(a + 1, b) = B(a, b) a / (a + b).
fn beta(m: usize, n: usize) -> f64 {
    let start = |whole: usize| if whole % 2 == 1 { 0.5 } else { 1.0 };
    let (mut a, mut b) = (start(m), start(n));
    let mut beta = match (m % 2, n % 2) {
        (1, 1) => PI,
        (0, 0) => 1.0,
        _ => 2.0,
    };
    while a < m as f64 / 2.0 {
        beta *= a / (a + b);
        a += 1.0;
    }
    while b < n as f64 / 2.0 {
        beta *= b / (a + b);
        b += 1.0;
    }
    beta
}

/// The 95 % interval of a standard deviation with this many degrees of freedom, as factors of it, from chi squared by the approximation of
/// Wilson and Hilferty (1931): within 1 % from four on.
pub fn deviation_interval(freedom: usize) -> (f64, f64) {
    let n = freedom.max(1) as f64;
    let quantile = |z: f64| {
        let inner = (1.0 - 2.0 / (9.0 * n) + z * (2.0 / (9.0 * n)).sqrt()).max(0.0);
        inner.powi(3)
    };
    (1.0 / quantile(1.959_964).sqrt(), 1.0 / quantile(-1.959_964).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scipy::rows;

    #[test]
    fn tails_equal_those_of_scipy() {
        for row in rows("f.sf") {
            let [above, below, f, expected] = row[..] else { panic!("{row:?}") };
            let got = upper_tail(f, above as usize, below as usize);
            assert!((got - expected).abs() <= 1e-10 * expected, "{row:?}: {got}");
        }
    }

    #[test]
    fn groups_are_those_of_scipy() {
        for row in rows("f_oneway") {
            let (values, expected) = row[2..].split_at((row[0] * row[1]) as usize);
            let samples: Vec<Vec<f64>> =
                values.chunks(row[1] as usize).map(<[f64]>::to_vec).collect();
            let got = groups(&samples).unwrap();
            assert!((got.ratio / expected[0] - 1.0).abs() < 1e-9, "{got:?} {expected:?}");
            assert!((got.p / expected[1] - 1.0).abs() < 1e-8, "{got:?} {expected:?}");
        }
        assert!(groups(&[vec![1.0, 2.0]]).is_none() && groups(&[vec![1.0], vec![2.0]]).is_none());
        let (equal, apart) = (vec![1.0, 1.0], vec![2.0, 2.0]);
        assert_eq!(groups(&[equal.clone(), equal.clone()]).unwrap().p, 1.0);
        assert_eq!(groups(&[equal, apart]).unwrap().p, 0.0);
    }

    #[test]
    fn the_interval_of_a_deviation_is_that_of_the_tables() {
        // scipy: sqrt(16 / chi2.ppf([.975, .025], 16)) is 0.745, 1.522
        let (low, high) = deviation_interval(16);
        assert!((low - 0.745).abs() < 0.003 && (high - 1.522).abs() < 0.006, "{low} {high}");
    }
}
