//! Box plots of the throughput of a load's intervals, in the form of the thesis's figures: made from the points of the chart over time.

use stats::{effective_sample_size, spread};

use super::{Axis, Chart, Scale, Series, Shape};

/// Fewest intervals for a box: with fewer, the points themselves say as much.
const FEWEST: usize = 5;
/// Half a notch, in interquartile ranges over the root of the number of independent values (McGill, Tukey and Larsen 1978): if two notches do not
/// overlap, the medians differ.
const NOTCH: f64 = 1.57;

/// Returns the box plot of a chart of throughput or I/Os over time; `None` for other charts, and where a variant has too few intervals.
pub fn of(over_time: &Chart) -> Option<Chart> {
    let kinds = ["throughput-", "iops-"];
    let id = kinds.iter().find_map(|kind| over_time.id.strip_prefix(kind))?;
    let mut variants: Vec<usize> = over_time.series.iter().filter_map(|s| s.variant).collect();
    variants.dedup();
    let (mut series, mut names) = (Vec::new(), Vec::new());
    for variant in variants {
        let lines: Vec<&Series> =
            over_time.series.iter().filter(|s| s.variant == Some(variant)).collect();
        let single = lines.iter().all(|line| line.bold());
        let runs = lines.iter().filter(|line| single || !line.bold());
        let runs: Vec<Vec<f64>> =
            runs.map(|line| line.y.iter().flatten().copied().collect()).collect();
        let place = names.len() as f64;
        let points = five_and_notch(&runs)?;
        let name = lines.first()?.name.clone();
        names.push(name.clone());
        series.push(Series {
            name,
            variant: Some(variant),
            hue: 0,
            repeat: None,
            x: vec![place; points.len()],
            y: points.map(Some).to_vec(),
        });
    }
    (!series.is_empty()).then(|| Chart {
        id: format!("boxes-{id}"),
        title: format!("{}, interval by interval", over_time.title.trim_end_matches(" over time")),
        reading: "A box holds the middle half of the intervals of all repeats, with their median; the lines reach to the slowest and the fastest. Intervals of one \
                  run are not independent: notches that do not meet decide nothing, verdicts do. A long box, or a long line down, is a load that does not run evenly."
            .to_owned(),
        shape: Shape::Boxes,
        names,
        x: Axis { label: "Variant".to_owned(), scale: Scale::Linear, unit: units::Unit::Count },
        y: Axis { scale: Scale::Linear, ..over_time.y.clone() },
        series,
        ..over_time.clone()
    })
}

/// Returns, over all runs: least value, first quartile, lower end of the notch, median, upper end of the notch, third quartile, greatest value.
fn five_and_notch(runs: &[Vec<f64>]) -> Option<[f64; 7]> {
    let all: Vec<f64> = runs.iter().flatten().copied().collect();
    let found = spread(&all).filter(|found| found.n >= FEWEST)?;
    let independent: f64 = runs.iter().map(|run| effective_sample_size(run)).sum();
    let half = NOTCH * (found.q3 - found.q1) / independent.max(1.0).sqrt();
    let notch = [found.median - half, found.median + half];
    // A notch wider than its box would distort the box.
    let [low, high] = notch.map(|end| end.clamp(found.q1, found.q3));
    Some([found.min, found.q1, low, found.median, high, found.q3, found.max])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_the_quartiles_of_all_repeats_and_a_notch_that_stays_within() {
        let points = five_and_notch(&[
            (1..=50).map(f64::from).collect(),
            (51..=99).map(f64::from).collect(),
        ])
        .unwrap();
        assert_eq!(
            (points[0], points[1], points[3], points[5], points[6]),
            (1.0, 25.5, 50.0, 74.5, 99.0)
        );
        assert!(
            points[1] <= points[2]
                && points[2] < points[3]
                && points[3] < points[4]
                && points[4] <= points[5]
        );
        assert_eq!(five_and_notch(&[vec![1.0, 2.0, 3.0, 4.0]]), None, "too few");
    }

    #[test]
    fn each_variant_has_one_box_under_its_name() {
        let set = fixture::result();
        let over_time = super::super::throughput::charts(&set).remove(0);
        let chart = of(&over_time).unwrap();
        assert_eq!(chart.names, ["plain", "vdo"]);
        assert_eq!(
            chart.series.iter().map(|s| (s.x[0], s.y.len())).collect::<Vec<_>>(),
            [(0.0, 7), (1.0, 7)]
        );
        assert!(
            chart.id.starts_with("boxes-") && chart.title.ends_with("interval by interval"),
            "{}",
            chart.title
        );
    }
}
