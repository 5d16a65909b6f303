//! Interleaved repeats: A B, B A, A B, ... and the ratios within the pairs.

use stats::Figure;

/// The order of `contestants` (by position) in repeat `repeat` (from 0): forwards, backwards, forwards, ...
///
/// A drift during the repeats then affects all of them alike.
pub fn order(contestants: usize, repeat: usize) -> Vec<usize> {
    let forwards = 0..contestants;
    if repeat.is_multiple_of(2) { forwards.collect() } else { forwards.rev().collect() }
}

/// Median of `ours[i] / theirs[i]` over repeats, with the 95 % bootstrap interval of that median.
///
/// The two runs of a pair belong to one repeat, minutes apart at most, so that what else the machine does mostly cancels.
/// Pairs without a value on a side are left out.
pub fn ratio(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Figure {
    let pairs = ours.iter().zip(theirs);
    let ratios: Vec<f64> = pairs
        .filter_map(|(ours, theirs)| Some((*ours)? / (*theirs)?))
        .filter(|ratio| ratio.is_finite())
        .collect();
    stats::figure(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_repeat_goes_backwards() {
        assert_eq!(order(3, 0), [0, 1, 2]);
        assert_eq!(order(3, 1), [2, 1, 0]);
        assert_eq!(order(2, 2), [0, 1]);
    }

    #[test]
    fn a_ratio_is_taken_within_a_repeat_so_that_what_both_suffer_cancels() {
        // A neighbour halves both sides in the second and fourth repeat.
        let ours = [Some(10.0), Some(5.0), Some(10.0), Some(5.0), None];
        let theirs = [Some(20.0), Some(10.0), Some(20.0), Some(10.0), Some(1.0)];
        let figure = ratio(&ours, &theirs);
        assert_eq!((figure.median, figure.low, figure.high), (Some(0.5), Some(0.5), Some(0.5)));
        assert_eq!(figure.n, 4);
        assert_eq!(ratio(&ours, &[Some(0.0); 5]).median, None);
    }
}
