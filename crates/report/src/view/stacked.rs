//! Prepares series for stacked areas: at common moments, and no more than can be told apart by colour.

use std::collections::{BTreeMap, BTreeSet};

use super::Series;

/// Most areas that can be told apart by colour.
const AREAS: usize = 9;

/// Returns the series at common moments: those whose names are the first [`AREAS`] in `order`, each with a colour that is the same in all charts
/// with this order, and the sum of all others as one more series.
pub fn stacked(series: Vec<Series>, order: &[&str]) -> Vec<Series> {
    let place = |name: &str| order.iter().position(|known| *known == name).unwrap_or(usize::MAX);
    let mut series = aligned(series);
    for one in &mut series {
        one.hue = place(&one.name).min(AREAS);
    }
    series.sort_by_key(|one| one.hue);
    let coloured = series.iter().take_while(|one| one.hue < AREAS).count();
    let rest = series.split_off(coloured);
    if let [first, ..] = rest.as_slice() {
        let at = |place: usize| rest.iter().filter_map(move |s| s.y[place]).reduce(|a, b| a + b);
        let y = (0..first.x.len()).map(at).collect();
        series.push(Series { name: format!("{} others", rest.len()), y, ..first.clone() });
    }
    series
}

/// Returns the series at all moments that any of them has. An area would fall to zero where its series has no value, so values between two measured
/// ones are interpolated; before its first and after its last value a series has none.
fn aligned(series: Vec<Series>) -> Vec<Series> {
    // Moments in the same millisecond count as one.
    let moment = |x: f64| (x * 1000.0).round() as i64;
    let known: Vec<BTreeMap<i64, f64>> = series
        .iter()
        .map(|s| s.x.iter().zip(&s.y).filter_map(|(x, y)| Some((moment(*x), (*y)?))).collect())
        .collect();
    let moments: BTreeSet<i64> = known.iter().flat_map(BTreeMap::keys).copied().collect();
    // The exact place of each moment, taken from the first series that has it.
    let mut places: BTreeMap<i64, f64> = BTreeMap::new();
    for x in series.iter().flat_map(|s| &s.x) {
        places.entry(moment(*x)).or_insert(*x);
    }
    let x: Vec<f64> = moments.iter().map(|at| places[at]).collect();
    let with = |(mut one, known): (Series, BTreeMap<i64, f64>)| {
        one.y = moments.iter().map(|at| interpolated(&known, *at)).collect();
        one.x.clone_from(&x);
        one
    };
    series.into_iter().zip(known).map(with).collect()
}

/// Returns the value at a moment, interpolated linearly between its neighbours.
fn interpolated(known: &BTreeMap<i64, f64>, at: i64) -> Option<f64> {
    let (before, low) = known.range(..=at).next_back()?;
    let (after, high) = known.range(at..).next()?;
    let share = if after == before { 0.0 } else { (at - before) as f64 / (after - before) as f64 };
    Some(low + share * (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(f64, Option<f64>)]) -> Series {
        let (x, y) = points.iter().copied().unzip();
        Series { name: name.to_owned(), variant: None, hue: 0, repeat: None, x, y }
    }

    #[test]
    fn what_colours_cannot_tell_apart_is_summed_up() {
        let one = |n: usize| {
            let second = if n == 0 { None } else { Some(1.0) };
            series(&format!("thread {n}"), &[(1.0, Some(n as f64)), (2.0, second)])
        };
        let names: Vec<String> = (0..12).rev().map(|n| format!("thread {n}")).collect();
        let order: Vec<&str> = names.iter().map(String::as_str).collect();
        let series = stacked((0..12).map(one).collect(), &order);
        assert_eq!(series.len(), 10);
        assert_eq!((series[0].name.as_str(), series[0].hue), ("thread 11", 0));
        assert_eq!((series[9].name.as_str(), series[9].hue), ("3 others", 9));
        // Of few, each has the colour that it has among many.
        let few = stacked([3, 10].map(one).into(), &order);
        assert_eq!((few[0].name.as_str(), few[0].hue, few[1].hue), ("thread 10", 1, 8));
        assert_eq!(series[9].y, [Some(0.0 + 1.0 + 2.0), Some(2.0)]);
    }

    #[test]
    fn series_of_different_moments_share_them_all_and_none_falls_to_zero_between_its_points() {
        let slow = series("slow", &[(1.0, Some(8.0)), (3.0, Some(6.0)), (5.0, Some(6.0))]);
        let late = series("late", &[(2.0, Some(1.0)), (3.0002, None), (4.0, Some(3.0))]);
        let stacked = stacked(vec![late, slow], &["slow", "late"]);
        assert_eq!(stacked[0].name, "slow");
        assert_eq!(stacked[0].x, [1.0, 2.0, 3.0002, 4.0, 5.0]);
        assert_eq!(stacked[0].x, stacked[1].x);
        assert_eq!(stacked[0].y, [8.0, 7.0, 6.0, 6.0, 6.0].map(Some));
        assert_eq!(stacked[1].y, [None, Some(1.0), Some(2.0), Some(3.0), None]);
    }
}
