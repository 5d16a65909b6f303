//! The standard normal distribution, as far as the tests need it.

/// The chance that a standard normal variable exceeds `z >= 0`, to within 1.2e-7 of the value.
///
/// The rational Chebyshev fit of the complementary error function of Press et al., *Numerical
/// Recipes in C*, 2nd edition, section 6.2.
pub(crate) fn upper_tail(z: f64) -> f64 {
    const COEFFICIENTS: [f64; 10] = [
        0.170_872_77,
        -0.822_152_23,
        1.488_515_87,
        -1.135_203_98,
        0.278_868_07,
        -0.186_288_06,
        0.096_784_18,
        0.374_091_96,
        1.000_023_68,
        -1.265_512_23,
    ];
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + x / 2.0);
    let exponent = COEFFICIENTS.iter().fold(0.0, |sum, c| sum * t + c);
    0.5 * t * (exponent - x * x).exp()
}

#[cfg(test)]
mod tests {
    use super::upper_tail;

    #[test]
    fn tails_equal_those_of_scipy() {
        // scipy.stats.norm.sf([0, 1, 1.96, 3, 6])
        for (z, expected) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457_07),
            (1.96, 0.024_997_895_148_220_428),
            (3.0, 0.001_349_898_031_630_094_6),
            (6.0, 9.865_876_450_376_946e-10),
        ] {
            let got = upper_tail(z);
            assert!((got / expected - 1.0).abs() < 2e-7, "{z}: {got}");
        }
    }
}
