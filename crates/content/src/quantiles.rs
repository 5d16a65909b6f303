//! Sizes dealt out by weights, and the quantiles of the normal distribution.

/// Returns `length` sizes in ascending order, distributed by the weights in `counts`.
pub(crate) fn quantiles(counts: &[(f64, f64)], unit: usize, length: usize) -> Vec<u32> {
    let mut counts: Vec<_> = counts.iter().filter(|c| c.1 > 0.0).copied().collect();
    counts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = counts.iter().map(|c| c.1).sum();
    let mut sorted = Vec::with_capacity(length);
    let mut sum = 0.0;
    for (size, weight) in counts {
        sum += weight;
        let end = (sum / all * length as f64).round() as usize;
        sorted.resize(end.max(sorted.len()), size.min(unit as f64) as u32);
    }
    sorted.resize(length, sorted.last().copied().unwrap_or(unit as u32));
    sorted
}

/// The mean of some sizes; 0 where there are none.
pub(crate) fn mean(sizes: &[u32]) -> f64 {
    sizes.iter().map(|&size| f64::from(size)).sum::<f64>() / sizes.len().max(1) as f64
}

/// The standard normal's quantile (Acklam's rational approximation, relative error 1.2e-9).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -39.696_830_286_653_76,
        220.946_098_424_520_5,
        -275.928_510_446_968_7,
        138.357_751_867_269,
        -30.664_798_066_147_16,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -54.476_098_798_224_06,
        161.585_836_858_040_9,
        -155.698_979_859_886_6,
        66.801_311_887_719_72,
        -13.280_681_552_885_72,
        1.0,
    ];
    const C: [f64; 6] = [
        -0.007_784_894_002_430_293,
        -0.322_396_458_041_136_5,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        0.007_784_695_709_041_462,
        0.322_467_129_070_039_8,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    let horner = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, &c| sum * x + c);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        horner(&C, q) / horner(&D, q)
    };
    if p < 0.02425 {
        return tail(p);
    }
    if p > 1.0 - 0.02425 {
        return -tail(1.0 - p);
    }
    let q = p - 0.5;
    horner(&A, q * q) * q / horner(&B, q * q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_normal_are_those_of_tables() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959_964), (0.01, -2.326_348), (0.8413447, 1.0)] {
            assert!((normal_quantile(p) - z).abs() < 1e-5, "{p}");
        }
    }
}
