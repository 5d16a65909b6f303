//! Student's t distribution with whole degrees of freedom.

use std::f64::consts::PI;

use crate::Interval;
use crate::spread::mean;

/// The 95 % interval of the mean of `values`, assumed normal (Student 1908); `None` for fewer than two.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    let (n, centre) = (values.len(), mean(values));
    if n < 2 || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    let error = (squares / (n - 1) as f64 / n as f64).sqrt();
    let half = critical(0.05, n - 1) * error;
    Some(Interval { low: centre - half, high: centre + half })
}

/// The least number of pairs whose 95 % interval reaches no farther than `distance` from their mean, where single pairs have the standard
/// deviation `deviation`; `None` above 1000.
pub fn repeats_for(deviation: f64, distance: f64) -> Option<usize> {
    (2..=1000).find(|n| critical(0.05, n - 1) * deviation <= distance * (*n as f64).sqrt())
}

/// The 80 % interval of the variance of a normal population, as factors of the variance of a sample with `freedom` degrees of freedom, at
/// least 1: from the quantiles of χ² by Wilson and Hilferty (1931), from four on within 1 %.
pub(crate) fn variance_range(freedom: usize) -> (f64, f64) {
    /// The normal quantile of 90 %.
    const Z: f64 = 1.2816;
    let share = 2.0 / (9.0 * freedom as f64);
    let by = |z: f64| (1.0 - share + z * share.sqrt()).powi(-3);
    (by(Z), by(-Z))
}

/// The chance that |T| exceeds `t` with `freedom` degrees of freedom, at least 1; relative error below 1e-12.
///
/// It is the regularised incomplete beta function I(x; a, 1/2) with x = ν / (ν + t²) and a = ν / 2 (Abramowitz and
/// Stegun 1964, 26.7.1 with 26.5.27).
pub(crate) fn two_sided(t: f64, freedom: usize) -> f64 {
    let (a, square) = (freedom as f64 / 2.0, t * t);
    if square.is_infinite() {
        return 0.0;
    }
    let x = 2.0 * a / (2.0 * a + square);
    let rest = square / (2.0 * a + square);
    let front = (a * x.ln()).exp() * rest.sqrt() / beta_with_half(freedom);
    // The fraction converges fast only on this side; I(x; a, b) = 1 - I(1 - x; b, a).
    if x < (a + 1.0) / (a + 2.5) {
        front * fraction(a, 0.5, x) / a
    } else {
        1.0 - front * fraction(0.5, a, rest) / 0.5
    }
}

/// The chance that T exceeds `t`.
pub(crate) fn upper_tail(t: f64, freedom: usize) -> f64 {
    let half = two_sided(t, freedom) / 2.0;
    if t > 0.0 { half } else { 1.0 - half }
}

/// The `t` that |T| exceeds with the chance `alpha`, by Newton's method: the tail is convex, so that the iteration rises from below and never
/// overshoots.
pub(crate) fn critical(alpha: f64, freedom: usize) -> f64 {
    let n = freedom as f64;
    let scale = n.sqrt() * beta_with_half(freedom);
    let mut t = 0.0;
    for _ in 0..200 {
        // Twice the density (Abramowitz and Stegun 26.7.1, differentiated).
        let slope = 2.0 * (1.0 + t * t / n).powf(-(n + 1.0) / 2.0) / scale;
        let step = (two_sided(t, freedom) - alpha) / slope;
        t += step;
        if step <= t * 1e-14 {
            break;
        }
    }
    t
}

/// The beta function B(ν/2, 1/2), from B(1/2, 1/2) = π and B(1, 1/2) = 2 by B(a + 1, b) = B(a, b) a / (a + b).
fn beta_with_half(freedom: usize) -> f64 {
    let (first, mut a) = if freedom % 2 == 1 { (PI, 0.5) } else { (2.0, 1.0) };
    let mut beta = first;
    for _ in 0..freedom.saturating_sub(1) / 2 {
        beta *= a / (a + 0.5);
        a += 1.0;
    }
    beta
}

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method (1976).
pub(crate) fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut h = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            step = d * c;
            h *= step;
        }
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scipy::rows;

    #[test]
    fn tails_and_critical_values_equal_those_of_scipy() {
        for row in rows("t.sf") {
            let [freedom, t, expected] = row[..] else { panic!("{row:?}") };
            let got = upper_tail(t, freedom as usize);
            assert!((got - expected).abs() <= 1e-11 * expected, "{freedom} {t}: {got} {expected}");
        }
        for row in rows("t.isf") {
            let [freedom, alpha, expected] = row[..] else { panic!("{row:?}") };
            let got = critical(alpha, freedom as usize);
            assert!((got / expected - 1.0).abs() < 1e-10, "{freedom} {alpha}: {got} {expected}");
        }
    }

    #[test]
    fn the_range_of_a_variance_is_that_of_chi_square() {
        // R: 4 / qchisq(c(0.9, 0.1), 4) and 26 / qchisq(c(0.9, 0.1), 26)
        for (freedom, expected) in [(4, (0.514_2, 3.760_4)), (26, (0.731_1, 1.503_7))] {
            let (low, high) = variance_range(freedom);
            let near =
                (low / expected.0 - 1.0).abs() < 0.01 && (high / expected.1 - 1.0).abs() < 0.01;
            assert!(near, "{freedom}: {low} {high}");
        }
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_the_textbook() {
        // R: t.test(c(4, 5, 6, 5, 5))$conf.int
        let Interval { low, high } = mean_interval(&[4.0, 5.0, 6.0, 5.0, 5.0]).unwrap();
        assert!(
            (low - 4.122_011_2).abs() < 1e-6 && (high - 5.877_988_8).abs() < 1e-6,
            "{low} {high}"
        );
        assert!(mean_interval(&[1.0]).is_none());
    }

    #[test]
    fn beyond_everything_nothing_is_left() {
        assert_eq!(two_sided(f64::INFINITY, 4), 0.0);
        assert_eq!(upper_tail(f64::NEG_INFINITY, 4), 1.0);
        assert_eq!(two_sided(0.0, 4), 1.0);
    }
}
