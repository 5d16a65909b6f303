//! A chart as data: its content, not its looks. Every renderer draws the same points.

use serde::Serialize;

use super::Mark;

/// One chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// Unique in its view (`throughput-randwrite`).
    pub id: String,
    /// The title, which names the quantity drawn.
    pub title: String,
    /// The part of the page that it belongs to.
    #[serde(skip)]
    pub part: Part,
    /// An explanation of how to read it, in one or two sentences.
    #[serde(skip)]
    pub reading: String,
    /// The way in which its points are joined.
    pub shape: Shape,
    /// Names on the horizontal axis: of the places 0, 1, ... for bars, of the positions of the points for marked lines; empty for an axis with
    /// numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Its series, drawn in this order.
    pub series: Vec<Series>,
}

/// The part of the page that a chart belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The load: throughput, latency.
    Load,
    /// The layers during the load.
    Layers,
    /// The machine during the load: CPU, devices.
    Machine,
}

/// The way in which the points of a chart are joined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Straight lines; a missing value is a gap.
    Lines,
    /// Straight lines with a mark at each point; the names belong to the distinct horizontal positions, in their order.
    Marked,
    /// Stacked areas.
    Stacked,
    /// Bars side by side at each place.
    Bars,
    /// A box for each series, at its place. Its points are the least value, the first quartile, the lower end of the notch, the median, the
    /// upper end of the notch, the third quartile, and the greatest value.
    Boxes,
    /// Cells of a grid: each point is the lower left corner of one; all are as wide as columns are apart, and their upper end is [`CELL`] times
    /// their lower end.
    Cells,
    /// Cells of an even grid on proportional axes, one series for each class; the values are their lower left corners.
    Density(Raster),
}

/// An even grid: its cells and the numbers that it spans, in the units of its axes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Raster {
    /// Width of a cell.
    pub width: f64,
    /// Height of a cell.
    pub height: f64,
    /// The end of the horizontal axis, which begins at 0.
    pub right: f64,
    /// The lower end of the vertical axis.
    pub low: f64,
    /// Its upper end.
    pub top: f64,
}

/// The upper end of a cell over its lower end.
pub const CELL: f64 = std::f64::consts::SQRT_2;

/// One axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// Quantity on the axis, with its unit.
    pub label: String,
    /// The scale of its numbers.
    pub scale: Scale,
    /// The unit of the stored numbers; axes and tables print them in a readable form.
    pub unit: units::Unit,
}

/// The rule by which numbers become positions on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Proportional.
    Linear,
    /// Logarithmic.
    Log,
    /// A quantile `q` is placed at `-log10(1 - q)`, so that 90 %, 99 %, 99.9 % are equally far apart.
    Nines,
}

/// One line or area.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Index of the variant whose colour it has; `None` takes the colour of `hue`.
    pub variant: Option<usize>,
    /// Colour among series that are not variants.
    pub hue: usize,
    /// The repeat it shows; `None` for a summary of all repeats.
    pub repeat: Option<u32>,
    /// Horizontal positions.
    pub x: Vec<f64>,
    /// Vertical positions; `None` where nothing was measured.
    pub y: Vec<Option<f64>>,
}

/// Ratio of the largest to the smallest value from which a chart's axis is logarithmic: on a linear one the smallest would lie on the axis.
const LOW: f64 = 50.0;

/// The fewest points of a line over time: one or two are just figures.
const POINTS: usize = 3;

/// Returns the scale on which all values of these lines can be read.
pub(super) fn scale(series: &[Series]) -> Scale {
    let values = || series.iter().flat_map(|line| line.y.iter().flatten()).copied();
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    if least > 0.0 && most >= LOW * least { Scale::Log } else { Scale::Linear }
}

impl Series {
    /// Tells whether it summarises all repeats and is drawn bold.
    pub fn bold(&self) -> bool {
        self.repeat.is_none()
    }
}

impl Chart {
    /// The only variant that it shows, which is the beginning of its id.
    pub fn of_variant(&self) -> Option<usize> {
        self.id.split_once('-')?.0.parse().ok()
    }

    /// Tells whether it can be read with a cursor: boxes and cells have no value at a moment.
    pub fn has_cursor(&self) -> bool {
        !matches!(self.shape, Shape::Boxes | Shape::Cells | Shape::Density(_))
    }

    /// Tells whether its series are classes of cells, the weakest first.
    pub fn has_classes(&self) -> bool {
        matches!(self.shape, Shape::Cells | Shape::Density(_))
    }

    /// Returns the upper end of a cell.
    pub fn cell_top(&self, low: f64) -> f64 {
        match self.shape {
            Shape::Density(raster) => low + raster.height,
            _ => low * CELL,
        }
    }

    /// Tells whether there is anything to draw.
    pub fn has_points(&self) -> bool {
        self.series.iter().any(|s| s.y.iter().any(Option::is_some))
    }

    /// Returns the least and the greatest of all finite values; `None` when there are none.
    pub fn y_range(&self) -> Option<(f64, f64)> {
        range(self.series.iter().flat_map(|s| s.y.iter().flatten().copied()))
    }

    /// Returns the least value above zero.
    pub fn least_above_zero(&self) -> Option<f64> {
        let values = self.series.iter().flat_map(|s| s.y.iter().flatten().copied());
        values.filter(|y| *y > 0.0).min_by(f64::total_cmp)
    }

    /// Tells whether one line is so much higher than another that on a linear axis the other would look like zero: only a logarithmic axis shows
    /// both. A line that begins with zeros counts from its first other value.
    pub(super) fn lies_on_the_axis(&self) -> bool {
        let begun = |s: &Series| -> Vec<f64> {
            s.y.iter().flatten().copied().skip_while(|y| *y == 0.0).collect()
        };
        let lines: Vec<Vec<f64>> =
            self.series.iter().filter(|s| s.bold()).map(begun).filter(|y| !y.is_empty()).collect();
        let tops = || lines.iter().map(|y| y.iter().copied().fold(0.0, f64::max));
        let (least, most) = (tops().fold(f64::INFINITY, f64::min), tops().fold(0.0, f64::max));
        let known = lines.iter().flatten().all(|y| *y > 0.0);
        let read_off = matches!(self.shape, Shape::Lines | Shape::Marked | Shape::Boxes);
        // A box stands on its least value.
        let stands = self.shape != Shape::Boxes || self.y_range().is_some_and(|(low, _)| low > 0.0);
        read_off && stands && known && most >= LOW * least
    }

    /// Tells whether it has too few points over time to show how things went on. For a rate only values other than zero count; a level of zero says
    /// as much as any other.
    pub(super) fn is_of_a_moment(&self, rate: bool) -> bool {
        let some = |s: &Series| s.y.iter().flatten().filter(|y| !rate || **y != 0.0).count();
        let over_time = self.x.unit == units::Unit::Seconds && self.part != Part::Load;
        over_time && self.series.iter().all(|s| some(s) < POINTS)
    }

    /// Returns the name at a horizontal position, where the axis has names.
    pub fn place(&self, x: f64) -> Option<&str> {
        let index = match self.shape {
            // The names belong to the distinct positions of all points.
            Shape::Marked => {
                let mut all: Vec<f64> =
                    self.series.iter().flat_map(|s| s.x.iter().copied()).collect();
                all.sort_by(f64::total_cmp);
                all.dedup();
                all.iter().position(|place| *place == x)?
            }
            _ => x.round() as usize,
        };
        self.names.get(index).map(String::as_str)
    }

    /// Returns the least and the greatest horizontal position, including those of marks, so that marks stay visible. `None` when there are none.
    pub fn x_range(&self, marks: &[Mark]) -> Option<(f64, f64)> {
        let marked = marks.iter().flat_map(|m| [Some(m.x), m.low, m.high]).flatten();
        let drawn = || self.series.iter().flat_map(|s| s.x.iter().copied());
        // A chart without points has no place for marks.
        range(drawn()).and_then(|_| range(drawn().chain(marked)))
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|v| v.is_finite()).fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((low, high)) => Some((f64::min(low, v), f64::max(high, v))),
    })
}
