//! The lines of single repeats, and the line of their median.

use std::collections::BTreeMap;

use super::Series;

/// The points of one repeat.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Line {
    /// The repeat.
    pub repeat: u32,
    /// Seconds since the start of the measured part, rising.
    pub x: Vec<f64>,
    /// Values; `None` where nothing was measured.
    pub y: Vec<Option<f64>>,
}

impl Line {
    /// Adds a point.
    pub fn push(&mut self, x: f64, y: Option<f64>) {
        self.x.push(x);
        self.y.push(y);
    }
}

/// The look of the series that belong to one line of a chart.
#[derive(Debug, Clone)]
pub struct Look {
    /// Its name in the legend.
    pub name: String,
    /// Variant whose colour it has.
    pub variant: Option<usize>,
    /// Number of its colour; in a variant's colour, the number of its dash.
    pub hue: usize,
}

/// Returns each repeat as a thin series and, last, their median as a bold one. A single repeat is bold itself.
pub fn with_median(look: &Look, lines: Vec<Line>) -> Vec<Series> {
    drawn(look, lines, false)
}

/// Does the same as [`with_median`] for values that never fall: the bold line ends where the first repeat ends, because the median of the remaining
/// ones could fall there, which no counter does.
pub fn with_median_of_all(look: &Look, lines: Vec<Line>) -> Vec<Series> {
    drawn(look, lines, true)
}

fn drawn(look: &Look, lines: Vec<Line>, of_all: bool) -> Vec<Series> {
    let series = |repeat, x, y| Series {
        name: look.name.clone(),
        variant: look.variant,
        hue: look.hue,
        repeat,
        x,
        y,
    };
    let mut lines: Vec<_> = lines.into_iter().filter(|l| !l.x.is_empty()).collect();
    match lines.len() {
        0 => Vec::new(),
        1 => lines.pop().map(|l| series(None, l.x, l.y)).into_iter().collect(),
        _ => {
            let (x, y) = median_line(&lines, of_all);
            let mut all: Vec<_> =
                lines.into_iter().map(|l| series(Some(l.repeat), l.x, l.y)).collect();
            all.push(series(None, x, y));
            all
        }
    }
}

/// Returns the median over the repeats, on a grid whose step is the usual distance between points. Each point lies at the mean time of the runs' own
/// points that it is computed from. There is a gap where fewer than half of the repeats have a value. The line ends when half of the runs or more
/// have ended, because a single run that is left is not a median; with `of_all`, when the first run has ended.
fn median_line(lines: &[Line], of_all: bool) -> (Vec<f64>, Vec<Option<f64>>) {
    let step = step(lines);
    let mut bins: BTreeMap<i64, Vec<(f64, f64)>> = BTreeMap::new();
    let mut ends: Vec<i64> = Vec::new();
    for line in lines {
        let line_bins: BTreeMap<i64, (f64, f64)> = line
            .x
            .iter()
            .zip(&line.y)
            .filter_map(|(x, y)| y.map(|y| ((x / step).round() as i64, (*x, y))))
            .collect();
        ends.extend(line_bins.keys().next_back());
        line_bins.into_iter().for_each(|(bin, point)| bins.entry(bin).or_default().push(point));
    }
    let least = if of_all { ends.len() } else { ends.len() / 2 + 1 };
    bins.retain(|bin, _| ends.iter().filter(|end| *end >= bin).count() >= least);
    let (Some(first), Some(last)) = (bins.keys().next(), bins.keys().next_back()) else {
        return (Vec::new(), Vec::new());
    };
    let (mut x, mut y): (Vec<_>, Vec<_>) = (*first..=*last)
        .map(|bin| {
            let points = bins.get(&bin).filter(|points| points.len() * 2 >= lines.len());
            let Some(points) = points else { return (bin as f64 * step, None) };
            let mean = points.iter().map(|(x, _)| x).sum::<f64>() / points.len() as f64;
            (mean, median(points.iter().map(|(_, y)| *y).collect()))
        })
        .unzip();
    let end = y.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    x.truncate(end);
    y.truncate(end);
    (x, y)
}

/// Returns the usual distance between points, seconds.
fn step(lines: &[Line]) -> f64 {
    let gaps = lines.iter().flat_map(|l| l.x.windows(2).map(|w| w[1] - w[0]));
    median(gaps.filter(|gap| *gap > 0.0).collect()).unwrap_or(1.0)
}

/// Returns the median; `None` if there are no values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle)?;
    Some(if values.len() % 2 == 1 { *upper } else { (values[middle - 1] + upper) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(repeat: u32, y: &[Option<f64>]) -> Line {
        Line { repeat, x: (1..=y.len()).map(|i| i as f64).collect(), y: y.to_vec() }
    }

    #[test]
    fn the_median_ends_where_most_repeats_ended_and_keeps_gaps() {
        let look = Look { name: "plain".into(), variant: Some(0), hue: 0 };
        let lines = vec![
            line(1, &[Some(1.0), None, Some(3.0), Some(9.0)]),
            line(2, &[Some(2.0), None, Some(5.0)]),
            line(3, &[Some(9.0), Some(1.0), Some(4.0)]),
        ];
        let series = with_median(&look, lines);
        let bold = series.last().unwrap();
        assert!(bold.bold() && series.len() == 4);
        assert_eq!(bold.x, [1.0, 2.0, 3.0]);
        assert_eq!(bold.y, [Some(2.0), None, Some(4.0)]);
    }

    #[test]
    fn the_median_of_what_grows_ends_with_the_first_repeat_and_never_falls() {
        let look = Look { name: "data".into(), variant: None, hue: 0 };
        let fast = line(1, &[Some(10.0), Some(20.0), Some(30.0)]);
        let slow = line(2, &[Some(5.0), Some(10.0), Some(15.0), Some(20.0), Some(25.0)]);
        let bold = |series: Vec<Series>| series.last().unwrap().y.clone();
        let lines = || vec![fast.clone(), slow.clone()];
        assert_eq!(bold(with_median_of_all(&look, lines())), [Some(7.5), Some(15.0), Some(22.5)]);
        // Of two runs the line ends with the shorter one; of three it goes on while two are left.
        assert_eq!(bold(with_median(&look, lines())).len(), 3);
        let three = vec![fast.clone(), slow.clone(), slow.clone()];
        assert_eq!(bold(with_median(&look, three))[3..], [Some(20.0), Some(25.0)]);
    }

    #[test]
    fn the_median_stands_at_the_times_of_the_runs_it_is_made_of() {
        let look = Look { name: "plain".into(), variant: Some(0), hue: 0 };
        let at = |repeat: u32, x: [f64; 3]| Line { repeat, x: x.to_vec(), y: vec![Some(1.0); 3] };
        let series = with_median(&look, vec![at(1, [0.2, 1.2, 2.2]), at(2, [0.4, 1.4, 2.4])]);
        let bold = series.last().unwrap();
        assert_eq!(bold.y, [Some(1.0); 3]);
        for (found, expected) in bold.x.iter().zip([0.3, 1.3, 2.3]) {
            assert!((found - expected).abs() < 1e-9, "{:?}", bold.x);
        }
    }

    #[test]
    fn a_single_repeat_is_its_own_median_and_none_gives_nothing() {
        let look = Look { name: "plain".into(), variant: Some(0), hue: 0 };
        assert!(with_median(&look, vec![line(1, &[Some(1.0)])])[0].bold());
        assert!(with_median(&look, vec![line(1, &[])]).is_empty());
    }
}
