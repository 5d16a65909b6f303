//! A chart that a kind of layer defines for its reports.

use units::Unit;

/// One chart of a layer over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chart {
    /// Its id, unique in the layer.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Explanation of what it shows and how to read it.
    pub help: &'static str,
    /// Its lines.
    pub series: &'static [Series],
    /// Unit of the plotted values.
    pub unit: Unit,
    /// Tells whether the rate of change per second is plotted, not the value.
    pub rate: bool,
}

/// One line of a chart, or one line per field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series {
    /// The layer's probe, by the part of its id after the layer's name (`stats` of `vdo.stats`).
    pub probe: &'static str,
    /// The field; `*` draws one line for every field of the sample, labelled by its name.
    pub field: &'static str,
    /// Label of the line; empty with `*`.
    pub label: &'static str,
}
