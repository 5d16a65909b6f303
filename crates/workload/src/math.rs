//! Logarithm and power to base 2, as polynomials without branches, so that loops over arrays become vector code.

use std::f64::consts::LN_2;

/// The bits of the square root of one half: mantissas are scaled to lie between this and the square root of two.
const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
const ONE: u64 = 0x3ff0_0000_0000_0000;
const MANTISSA: u64 = (1 << 52) - 1;

/// The logarithm to base 2 of a normal number above zero; absolute error below 3e-16 near 1, relative elsewhere.
#[inline(always)]
pub(crate) fn log2(x: f64) -> f64 {
    let shifted = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let exponent = (shifted >> 52) as i32 - 1023;
    let m = f64::from_bits((shifted & MANTISSA).wrapping_add(SQRT_HALF));
    // ln m = 2 artanh f; f is at most 0.172, so that ten terms suffice.
    let f = (m - 1.0) / (m + 1.0);
    let s = f * f;
    let sum = ten(&ODD, s);
    f64::from(exponent) + f * sum * (2.0 / LN_2)
}

/// A number that, when added, moves the nearest whole number into the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// The whole number nearest to `x`, which must be below 2^51, as an integer and as a float.
#[inline(always)]
pub(crate) fn nearest(x: f64) -> (u64, f64) {
    let moved = x + ROUND;
    (moved.to_bits().wrapping_sub(ROUND.to_bits()), moved - ROUND)
}

/// 2 to the power `y`, for `y` from -1000 to 1000 (clamped to that); relative error below 5e-16.
#[inline(always)]
pub fn exp2(y: f64) -> f64 {
    let y = y.clamp(-1000.0, 1000.0);
    let rounded = y + ROUND;
    let rest = y - (rounded - ROUND);
    let sum = thirteen(&TERMS, rest);
    f64::from_bits(sum.to_bits().wrapping_add(rounded.to_bits() << 52))
}

/// Sum of `terms[k]` x^k by pairs (Estrin's scheme), which keeps the chain of dependent operations short. It is written out, because loops over the
/// terms would keep the compiler from vectorising the loop around it.
#[inline(always)]
fn eight(t: &[f64], x: f64, x2: f64, x4: f64) -> f64 {
    let low = (t[0] + t[1] * x) + (t[2] + t[3] * x) * x2;
    let high = (t[4] + t[5] * x) + (t[6] + t[7] * x) * x2;
    low + high * x4
}

/// Polynomial of ten terms, by Estrin's scheme.
#[inline(always)]
fn ten(t: &[f64; 10], x: f64) -> f64 {
    let x2 = x * x;
    let x4 = x2 * x2;
    eight(t, x, x2, x4) + (t[8] + t[9] * x) * (x4 * x4)
}

/// Polynomial of thirteen terms, by Estrin's scheme.
#[inline(always)]
fn thirteen(t: &[f64; 13], x: f64) -> f64 {
    let x2 = x * x;
    let x4 = x2 * x2;
    let high = (t[8] + t[9] * x) + (t[10] + t[11] * x) * x2;
    eight(t, x, x2, x4) + (high + t[12] * x4) * (x4 * x4)
}

/// 1, 1/3, 1/5, ...
const ODD: [f64; 10] = {
    let mut terms = [1.0; 10];
    let mut k = 1;
    while k < 10 {
        terms[k] = 1.0 / (2 * k + 1) as f64;
        k += 1;
    }
    terms
};

/// Taylor's terms of 2^x: ln(2)^k / k!.
const TERMS: [f64; 13] = {
    let mut terms = [1.0; 13];
    let mut k = 1;
    while k < 13 {
        terms[k] = terms[k - 1] * LN_2 / k as f64;
        k += 1;
    }
    terms
};

/// 1, -1/2, 1/3, -1/4, ...
const ALTERNATING: [f64; 10] = {
    let mut terms = [1.0; 10];
    let mut k = 1;
    while k < 10 {
        terms[k] = (if k % 2 == 0 { 1.0 } else { -1.0 }) / (k + 1) as f64;
        k += 1;
    }
    terms
};

/// ln(1 + t) / t for small t, accurate to 1e-16 for |t| below 0.03.
#[inline]
pub(crate) fn log1p_over(t: f64) -> f64 {
    ten(&ALTERNATING, t)
}

/// A random number in (0, 1) with fine resolution near 0: a multiple of 2^-63, never 0.
#[inline]
pub(crate) fn open_unit(bits: u64) -> f64 {
    // Signed, because only the signed conversion is a single instruction everywhere.
    ((bits >> 1) as i64 | 1) as f64 * (1.0 / (1u64 << 63) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_and_power_agree_with_the_library() {
        let mut rng = units::Seed(1).generator();
        for _ in 0..200_000 {
            let exponent = (rng.unit() - 0.5) * 120.0;
            let x = exponent.exp2();
            assert!((log2(x) - x.log2()).abs() <= 4e-16 * x.log2().abs().max(1.0), "{x}");
            assert!((exp2(exponent) / x - 1.0).abs() < 1e-15, "{exponent}");
            let near = 1.0 + (rng.unit() - 0.5) * 1e-6;
            assert!((log2(near) - near.log2()).abs() <= 1e-21 + 4e-16 * near.log2().abs());
            let t = (rng.unit() - 0.5) * 0.06;
            assert!((log1p_over(t) - t.ln_1p() / t).abs() < 1e-15, "{t}");
        }
        assert_eq!(
            (log2(1.0), log2(8.0), exp2(0.0), exp2(10.0), exp2(-3.0)),
            (0.0, 3.0, 1.0, 1024.0, 0.125)
        );
        assert!(exp2(1e300).is_finite() && exp2(-1e300) > 0.0);
    }

    #[test]
    fn open_units_are_never_0_nor_above_1() {
        assert!(open_unit(0) > 0.0 && open_unit(u64::MAX) <= 1.0);
    }
}
