//! The numbers that an axis spans, and the place of a number on it.

use units::Unit;

use crate::view::{CELL, Chart, Mark, Scale, Shape};

/// Space above the highest point of a linear axis, as a share of its value.
const ABOVE: f64 = 0.06;
/// Space at both ends of an axis that does not begin at zero, as a share of its length.
const EDGE: f64 = 0.03;

/// An axis of time does not begin at zero if more than this share of it would lie before its first point.
const MAX_EMPTY_START: f64 = 0.5;

/// The numbers that an axis spans.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The number at its beginning.
    pub low: f64,
    /// The number at its end, greater than `low`.
    pub high: f64,
    log: bool,
}

impl Range {
    fn linear(low: f64, high: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, log: false }
    }

    /// Returns a logarithmic axis with some space at both ends; `low` is above zero.
    fn log(low: f64, high: f64) -> Self {
        let room = if high > low { (high / low).powf(EDGE) } else { 2.0 };
        Self { low: low / room, high: high * room, log: true }
    }

    /// Returns the horizontal axis of a chart: it covers all points and marks, and usually zero where it is proportional.
    pub fn horizontal(chart: &Chart, marks: &[Mark]) -> Option<Self> {
        let (low, high) = match chart.shape {
            // The whole grid, not its cells, so that all pictures and lines over the same time have one axis.
            Shape::Density(raster) => (0.0, raster.right),
            _ => chart.x_range(marks)?,
        };
        let room = (high - low) * EDGE;
        Some(match (chart.shape, chart.x.scale) {
            (Shape::Bars | Shape::Boxes, _) => {
                Self::linear(-0.5, chart.names.len().max(1) as f64 - 0.5)
            }
            (Shape::Marked, Scale::Linear) if high > low => Self::linear(low - room, high + room),
            (_, Scale::Log) if low > 0.0 => Self::log(low, high),
            (_, Scale::Nines) => Self::linear(0.0, high * 1.02),
            // Zero is left out where preparation or a late start would squeeze the points into a narrow strip.
            (_, Scale::Linear)
                if chart.x.unit == Unit::Seconds && high > low && low > MAX_EMPTY_START * high =>
            {
                Self::linear(low - room, high + room)
            }
            _ => Self::linear(low.min(0.0), if high > 0.0 { high * 1.01 } else { 1.0 }),
        })
    }

    /// Returns the vertical axis of a chart.
    pub fn upwards(chart: &Chart) -> Option<Self> {
        if let Shape::Density(raster) = chart.shape {
            return Some(Self::linear(raster.low, raster.top));
        }
        let (low, high) = chart.y_range()?;
        let high = match chart.shape {
            Shape::Stacked => piled(chart),
            Shape::Cells => high * CELL,
            _ => high,
        };
        Some(match chart.y.scale {
            Scale::Log => match chart.least_above_zero() {
                Some(least) => Self::log(least, high),
                None => Self::linear(0.0, 1.0),
            },
            Scale::Linear | Scale::Nines => {
                let top = if high > 0.0 { high * (1.0 + ABOVE) } else { 0.0 };
                Self::linear(low.min(0.0) * (1.0 + ABOVE), top)
            }
        })
    }

    /// Tells whether it is logarithmic.
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// Returns the place of a number, as a share of the axis; `None` where it has none, as zero on a logarithmic axis.
    pub fn place(&self, number: f64) -> Option<f64> {
        let share = match self.log {
            true if number <= 0.0 => return None,
            true => (number / self.low).ln() / (self.high / self.low).ln(),
            false => (number - self.low) / (self.high - self.low),
        };
        share.is_finite().then_some(share)
    }
}

/// Returns the greatest sum of all series at one place.
fn piled(chart: &Chart) -> f64 {
    let length = chart.series.iter().map(|series| series.y.len()).max().unwrap_or(0);
    let at = |place: usize| -> f64 {
        chart.series.iter().filter_map(|series| *series.y.get(place)?).sum()
    };
    (0..length).map(at).fold(0.0, f64::max)
}
