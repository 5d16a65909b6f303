//! Change points within one run: a step from one level to another, a gradual change, the warm-up that is not typical of the rest, and
//! growth at the end.

use crate::autocorrelation::effective_sample_size;
use crate::quantile::{Sorted, median};
use crate::spread::mean;
use crate::student;

/// Fewest values of a series: fewer say too little about where it changes.
pub const LEAST_VALUES: usize = 40;
/// Smallest change that counts, as a share of the level before.
pub const LEAST_CHANGE: f64 = 0.1;

/// A step counts only above this many standard errors: it is the best of all places, so that two would be reached by chance.
const STANDARD_ERRORS: f64 = 5.0;
/// On either side of a step there is at least this share of the values.
const EITHER_SIDE: f64 = 0.1;
/// A step found at the edge of the searched range may turn out to lie nearer the end, down to this many values from it: fewer are outliers.
const NEAREST: usize = 4;
/// The 95 % quantile of the likelihood ratio statistic of a step's true place (Hansen 2000, table I): -2 ln(1 - √0.95).
const LIKELIHOOD_RATIO: f64 = 7.35;
/// Smaller values are raised to this share of the median: a second without I/O has no logarithm.
const FLOOR: f64 = 0.01;

/// Two levels of a series, and the place where the first ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Number of values before the step.
    pub at: usize,
    /// Lower bound of `at`, with 95 % confidence.
    pub low: usize,
    /// Upper bound of `at`.
    pub high: usize,
    /// The level before: the geometric mean.
    pub before: f64,
    /// The level after.
    pub after: f64,
}

/// The course of a series from its beginning to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Course {
    /// No change that counts: it may fluctuate, and drift by less than [`LEAST_CHANGE`].
    Level,
    /// From one level to another at once.
    Step(Step),
    /// From one level to another little by little.
    Gradual(Gradual),
}

/// A gradual change from one level to another, with no single place that is the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gradual {
    /// The median of the first tenth of the values.
    pub before: f64,
    /// The median of the last tenth.
    pub after: f64,
    /// Number of values before the halfway point, by logarithms: from there on five successive running medians of five lie beyond
    /// √(before × after). `None` where there are no such five.
    pub half: Option<usize>,
}

/// The relative growth of a series for each unit of its positions: 0.01 is 1 %; negative where it falls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// The slope of the straight line through the means of parts of the logarithms.
    pub rate: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Returns the course of a series of values that are not negative; `None` for fewer than [`LEAST_VALUES`], and where most are zero.
///
/// The step is the place with the least squares of the logarithms about the means of the two sides (Bai and Perron 1998). It counts where
/// the two levels are more than five standard errors apart (widened for the autocorrelation of the residuals, Geyer 1992), and the change is
/// not clearly below [`LEAST_CHANGE`]. Where a straight line leaves smaller squares, the change is gradual.
pub fn course(values: &[f64]) -> Option<Course> {
    let logs = logarithms(values)?;
    let n = logs.len();
    let sums = Sums::of(&logs);
    let edge = ((n as f64 * EITHER_SIDE).ceil() as usize).max(2);
    let left = |at: usize| sums.squares(0, at) + sums.squares(at, n);
    let at = (edge..=n - edge).min_by(|a, b| left(*a).total_cmp(&left(*b)))?;
    let (before, after) = (sums.mean(0, at), sums.mean(at, n));
    let residuals: Vec<f64> = (logs.iter().enumerate())
        .map(|(place, y)| y - if place < at { before } else { after })
        .collect();
    let (line, slope_error, slope) = line(&logs);
    if line < left(at) {
        return Some(gradual(values, &logs, slope, slope_error));
    }
    let worth = effective_sample_size(&residuals) / n as f64;
    let variance = left(at) / (n as f64 - 2.0) / worth;
    let error = (variance * (1.0 / at as f64 + 1.0 / (n - at) as f64)).sqrt();
    let change = after - before;
    // A true change of exactly this much is estimated below it as often as above.
    let surely_less = change.abs() + 2.0 * error < LEAST_CHANGE.ln_1p();
    if surely_less || change.abs() <= STANDARD_ERRORS * error {
        return Some(Course::Level);
    }
    // The levels differ. If the best place is the last one that was tried, the true one may be nearer to the end.
    let is_inner = edge < at && at < n - edge;
    let nearest = if is_inner { edge } else { edge.min(NEAREST) };
    let at = (nearest..=n - nearest).min_by(|a, b| left(*a).total_cmp(&left(*b)))?;
    if !is_inner && (at == nearest || at == n - nearest) {
        return Some(Course::Level);
    }
    let variance = left(at) / (n as f64 - 2.0) / worth;
    // The places that the likelihood does not exclude.
    let near = |place: &usize| left(*place) - left(at) <= LIKELIHOOD_RATIO * variance;
    let low = (nearest..=at).find(near).unwrap_or(at);
    let high = (at..=n - nearest).rfind(near).unwrap_or(at);
    let [before, after] = [sums.mean(0, at), sums.mean(at, n)].map(f64::exp);
    Some(Course::Step(Step { at, low, high, before, after }))
}

fn gradual(values: &[f64], logs: &[f64], slope: f64, error: f64) -> Course {
    let whole = slope * (logs.len() - 1) as f64;
    if (whole.exp() - 1.0).abs() < LEAST_CHANGE || slope.abs() <= STANDARD_ERRORS * error {
        return Course::Level;
    }
    let tenth = (values.len() / 10).max(3);
    let middle = |part: &[f64]| part.iter().copied().collect::<Sorted>().median();
    let (Some(before), Some(after)) =
        (middle(&values[..tenth]), middle(&values[values.len() - tenth..]))
    else {
        return Course::Level;
    };
    Course::Gradual(Gradual { before, after, half: halfway(values, before, after) })
}

/// Returns the place where a series is halfway from one level to the other: see [`Gradual::half`].
fn halfway(values: &[f64], before: f64, after: f64) -> Option<usize> {
    const MEDIANS: usize = 5;
    let border = (before * after).sqrt();
    let beyond = |part: &[f64]| {
        let mut sorted = part.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = median(&sorted);
        if after < before { middle < border } else { middle > border }
    };
    let medians: Vec<bool> = values.windows(5).map(beyond).collect();
    // A running median of five belongs to the middle one of its values.
    medians.windows(MEDIANS).position(|all| all.iter().all(|b| *b)).map(|first| first + 2)
}

/// Number of parts a series is cut into to find its growth: neighbouring values depend on each other, means of such parts hardly do.
const PARTS: usize = 6;
/// Fewest values for a growth: with less than five per part, the parts' means still depend on each other.
const LEAST_GROWING: usize = 5 * PARTS;

/// The growth of `values` over their positions, which rise; `None` for fewer than 30, and where most are zero.
///
/// The straight line by least squares through the means of six consecutive parts of the logarithms, with Student's interval of four
/// degrees of freedom (batch means: Law 2015, 9.5.3). In series of 30 values with correlations of 0.3 and 0.6 this interval misses the truth
/// in 5.4 % and 8.8 %; one from the single values, widened by their effective sample size, would miss it in 8 % and 14 %.
pub fn growth(values: &[f64], positions: &[f64]) -> Option<Growth> {
    let n = values.len();
    if n < LEAST_GROWING || positions.len() != n {
        return None;
    }
    let logs = floored(values)?;
    let part = |part: usize| {
        let range = part * n / PARTS..(part + 1) * n / PARTS;
        (mean(&positions[range.clone()]), mean(&logs[range]))
    };
    let parts: Vec<(f64, f64)> = (0..PARTS).map(part).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = parts.iter().copied().unzip();
    let (middle, centre) = (mean(&x), mean(&y));
    let spread: f64 = x.iter().map(|x| (x - middle).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let rate = parts.iter().map(|(x, y)| (x - middle) * (y - centre)).sum::<f64>() / spread;
    let left = |(x, y): &(f64, f64)| (y - centre - rate * (x - middle)).powi(2);
    let squares: f64 = parts.iter().map(left).sum();
    let freedom = PARTS - 2;
    let half = student::critical(0.05, freedom) * (squares / freedom as f64 / spread).sqrt();
    Some(Growth { rate, low: rate - half, high: rate + half })
}

/// Returns how many values at the start of a series are not typical of the rest: as many as must be left out for the smallest standard error
/// of the rest's mean, in batches of five (MSER-5, White, Cobb and Spratt 2000). `None` where that is more than half, so that the rest is no
/// basis either, and for fewer than [`LEAST_VALUES`]. A start that differs from the rest by less than [`LEAST_CHANGE`], or by less than
/// two standard deviations of the rest's batches, is typical.
pub fn warm_up(values: &[f64]) -> Option<usize> {
    const BATCH: usize = 5;
    if values.len() < LEAST_VALUES || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(mean).collect();
    let sums = Sums::of(&batches);
    let n = batches.len();
    // The last five batches are never left out: so few have a small spread by chance.
    let error = |from: usize| sums.squares(from, n) / ((n - from) as f64).powi(2);
    let best = (0..=n.saturating_sub(5)).min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    if best == 0 {
        return Some(0);
    }
    let (start, rest) = (sums.mean(0, best), sums.mean(best, n));
    let deviation = (sums.squares(best, n) / (n - best - 1) as f64).sqrt();
    let near = (start - rest).abs() < 2.0 * deviation;
    if near || (rest > 0.0 && (start / rest - 1.0).abs() < LEAST_CHANGE) {
        return Some(0);
    }
    (best * 2 <= n).then_some(best * BATCH)
}

/// Logarithms of the values; `None` where there are too few.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    if values.len() < LEAST_VALUES { None } else { floored(values) }
}

/// Logarithms, with values below [`FLOOR`] times the median raised to that; `None` where the median is zero.
fn floored(values: &[f64]) -> Option<Vec<f64>> {
    if values.iter().any(|v| !v.is_finite() || *v < 0.0) {
        return None;
    }
    let least = Sorted::from(values).median().filter(|middle| *middle > 0.0)? * FLOOR;
    Some(values.iter().map(|v| v.max(least).ln()).collect())
}

/// Fits a straight line; returns the sum of squares about it, the standard error of its slope, and the slope per value.
fn line(logs: &[f64]) -> (f64, f64, f64) {
    let n = logs.len() as f64;
    let (centre, middle) = (mean(logs), (n - 1.0) / 2.0);
    let at = |place: usize| place as f64 - middle;
    let spread = n * (n * n - 1.0) / 12.0;
    let slope =
        logs.iter().enumerate().map(|(place, y)| at(place) * (y - centre)).sum::<f64>() / spread;
    let residuals: Vec<f64> =
        logs.iter().enumerate().map(|(place, y)| y - centre - slope * at(place)).collect();
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let worth = effective_sample_size(&residuals) / n;
    (squares, (squares / (n - 2.0) / worth / spread).sqrt(), slope)
}

/// Prefix sums, which give the mean and the squares of any part at once.
struct Sums {
    /// The mean of all values, which the sums are taken about: squares of large numbers would lose digits by cancellation.
    centre: f64,
    /// Sum and sum of squares of the first n values, by n.
    first: Vec<(f64, f64)>,
}

impl Sums {
    fn of(values: &[f64]) -> Self {
        let centre = mean(values);
        let mut first = vec![(0.0, 0.0)];
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in values {
            let from = value - centre;
            sum += from;
            squares += from * from;
            first.push((sum, squares));
        }
        Self { centre, first }
    }

    fn sums(&self, from: usize, to: usize) -> (f64, f64) {
        let ((a, b), (c, d)) = (self.first[from], self.first[to]);
        (c - a, d - b)
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        self.centre + self.sums(from, to).0 / (to - from).max(1) as f64
    }

    /// Returns the sum of squares of the values about their own mean.
    fn squares(&self, from: usize, to: usize) -> f64 {
        let (sum, squares) = self.sums(from, to);
        (squares - sum * sum / (to - from).max(1) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scipy::rows;
    use crate::simulation::Series;
    use proptest::prelude::*;
    use units::Seed;

    const FLAT: Series = Series { values: 60, spread: 0.05, carry: 0.3, change: None };

    /// Share of `n` series for which `so` holds.
    fn share(series: Series, n: u64, so: impl Fn(&[f64]) -> bool) -> f64 {
        let count = (0..n).filter(|seed| so(&series.draw(&mut Seed(*seed).generator()))).count();
        count as f64 / n as f64
    }

    fn step(values: &[f64]) -> Option<Step> {
        if let Course::Step(step) = course(values)? { Some(step) } else { None }
    }

    #[test]
    fn a_flat_series_has_no_step_and_a_drop_of_a_fifth_has_one_where_it_is() {
        for (carry, most) in [(0.0, 0.015), (0.5, 0.02), (0.8, 0.09)] {
            let found = share(Series { carry, ..FLAT }, 2_000, |v| step(v).is_some());
            assert!(found <= most, "{carry}: {found}");
        }
        let drop = Series { change: Some((30, 0.8)), ..FLAT };
        let found = share(drop, 1_000, |v| step(v).is_some());
        let near = share(drop, 1_000, |v| step(v).is_some_and(|s| s.at.abs_diff(30) <= 1));
        let covered = share(drop, 1_000, |v| step(v).is_some_and(|s| s.low <= 30 && 30 <= s.high));
        assert!(found >= 0.97 && near >= 0.9 && covered >= 0.93, "{found} {near} {covered}");
        let small = Series { change: Some((30, 0.9)), ..FLAT };
        let found = share(small, 1_000, |v| step(v).is_some());
        assert!(found >= 0.85, "{found}");
    }

    #[test]
    fn a_step_within_the_first_or_last_tenth_is_told_where_it_is_and_a_few_outliers_are_none() {
        let of = |low: std::ops::Range<usize>| {
            let level = |i: usize| if low.contains(&i) { 40.0 } else { 100.0 };
            let values: Vec<f64> = (0..200).map(|i| level(i) + f64::from(i as u32 % 3)).collect();
            step(&values)
        };
        for (low, at) in [(0..12, 12), (185..200, 185), (0..30, 30), (150..200, 150)] {
            let found = of(low).unwrap();
            assert_eq!(found.at, at, "{found:?}");
            assert!(found.low <= at && at <= found.high, "{found:?}");
            let levels = [found.before.min(found.after), found.before.max(found.after)];
            assert!(levels[0] < 43.0 && levels[1] > 99.0, "{found:?}");
        }
        assert_eq!(of(0..3), None);
        assert_eq!(of(198..200), None);
    }

    #[test]
    fn what_falls_little_by_little_is_no_step_and_its_half_is_found() {
        let values: Vec<f64> = (0..60)
            .map(|i| 5.0 + 10.0 * (-f64::from(i) / 20.0).exp() + 0.2 * f64::from(i % 3))
            .collect();
        let Some(Course::Gradual(way)) = course(&values) else { panic!("{:?}", course(&values)) };
        assert!(way.before > 13.0 && way.after < 6.0, "{way:?}");
        // 5 + 10 exp(-x/20) is √(14 × 5.7) = 8.9 at 19.
        assert!(way.half.is_some_and(|at| at.abs_diff(19) <= 3), "{way:?}");
        let growth = growth(&values, &(0..60).map(f64::from).collect::<Vec<_>>()).unwrap();
        assert!(growth.high < 0.0 && growth.low > -0.05, "{growth:?}");
    }

    #[test]
    fn a_slow_start_is_warm_up_and_a_rise_to_the_end_is_not() {
        let start: Vec<f64> =
            (0..60).map(|i| if i < 11 { 50.0 } else { 100.0 } + f64::from(i % 4)).collect();
        assert!(warm_up(&start).is_some_and(|n| n == 10 || n == 15), "{:?}", warm_up(&start));
        let rise: Vec<f64> = (0..60).map(|i| 10.0 + 3.0 * f64::from(i)).collect();
        assert_eq!(warm_up(&rise), None);
        let flat = share(FLAT, 500, |v| warm_up(v) == Some(0));
        assert!(flat > 0.99, "{flat}");
    }

    #[test]
    fn the_interval_of_growth_holds_what_is_true_in_most_series() {
        let at: Vec<f64> = (0..60).map(f64::from).collect();
        for (carry, least) in [(0.0, 0.93), (0.3, 0.925), (0.6, 0.9)] {
            let held = share(Series { carry, ..FLAT }, 1_000, |v| {
                growth(v, &at).is_some_and(|g| g.low <= 0.0 && 0.0 <= g.high)
            });
            assert!(held >= least, "{carry}: {held}");
        }
    }

    #[test]
    fn lines_are_those_of_scipy() {
        for row in rows("linregress") {
            let n = row[0] as usize;
            let (x, rest) = row[1..].split_at(n);
            let (y, expected) = rest.split_at(n);
            let growth = growth(y, x).unwrap();
            assert!((growth.rate - expected[0]).abs() < 1e-9 * expected[0].abs(), "{growth:?}");
            assert!((growth.low - expected[1]).abs() < 1e-9, "{growth:?} {expected:?}");
        }
    }

    #[test]
    fn places_of_steps_are_those_of_trying_all_with_numpy() {
        for row in rows("step") {
            let (values, expected) = row[1..].split_at(row[0] as usize);
            let Some(step) = step(values) else { panic!("{row:?}") };
            assert_eq!(step.at, expected[0] as usize);
            assert!((step.before / expected[1] - 1.0).abs() < 1e-9, "{step:?} {expected:?}");
            assert!((step.after / expected[2] - 1.0).abs() < 1e-9, "{step:?} {expected:?}");
        }
    }

    #[test]
    fn of_few_values_nothing_and_seconds_without_io_are_values() {
        assert_eq!(course(&[1.0; 39]), None);
        assert_eq!(course(&[0.0; 60]), None);
        assert_eq!(course(&[5.0; 60]), Some(Course::Level));
        let stall: Vec<f64> = (0..60).map(|i| if i == 20 { 0.0 } else { 100.0 }).collect();
        assert_eq!(course(&stall), Some(Course::Level));
        let stopped: Vec<f64> = (0..60).map(|i| if i < 40 { 100.0 } else { 0.0 }).collect();
        assert!(step(&stopped).is_some_and(|s| s.at == 40));
        assert_eq!(growth(&[1.0; 29], &[1.0; 29]), None);
        assert_eq!(growth(&[1.0; 36], &[1.0; 36]), None);
    }

    proptest! {
        /// A series times ten has its step at the same place, between levels ten times as high; and read backwards it has it mirrored.
        #[test]
        fn a_step_does_not_depend_on_the_unit_or_the_direction(
            noise in prop::collection::vec(-0.05..0.05f64, 60), at in 10usize..50,
        ) {
            let values: Vec<f64> = noise.iter().enumerate()
                .map(|(i, e)| (if i < at { 100.0 } else { 60.0 }) * e.exp()).collect();
            let found = step(&values);
            let tenfold: Vec<f64> = values.iter().map(|v| v * 10.0).collect();
            let mut backwards = values.clone();
            backwards.reverse();
            let (tenfold, backwards) = (step(&tenfold), step(&backwards));
            prop_assert_eq!(found.map(|s| s.at), tenfold.map(|s| s.at));
            prop_assert_eq!(found.map(|s| 60 - s.at), backwards.map(|s| s.at));
            if let (Some(a), Some(b)) = (found, tenfold) {
                prop_assert!((a.before * 10.0 / b.before - 1.0).abs() < 1e-9);
                prop_assert!(a.low <= a.at && a.at <= a.high);
            }
        }
    }
}
