//! What a kind of layer is: its name, keys, needs, figures, charts, rules and manual page.

use std::collections::BTreeMap;

use results::model::{ContentFigures, Finding, LayerFigures, SampleRow};
use units::{Metric, Unit};

use crate::figures::FigureFacts;
use crate::{Layer, SettingError};

/// One kind of layer: an entry of the registry.
pub struct Kind {
    /// The word in an experiment's `layer = ...`.
    pub name: &'static str,
    /// What it is, one sentence.
    pub about: &'static str,
    /// Its settings.
    pub keys: &'static [Key],
    /// Reads its settings from a table that holds nothing else.
    pub parse: fn(&toml::Table) -> Result<Box<dyn Layer>, SettingError>,
    /// Its figures, described.
    pub metrics: &'static [Metric],
    /// What a report draws of its samples.
    pub charts: &'static [Chart],
    /// What a machine must have for it.
    pub needs: Needs,
    /// Its manual page, Markdown.
    pub manual: &'static str,
    /// Its figures from the samples of a cell; every metric is a key, `None` where the samples do not say.
    pub figures: fn(&FigureFacts) -> LayerFigures,
    /// What the doctor knows about it: findings from the facts of one cell.
    pub rules: fn(&RuleFacts) -> Vec<Finding>,
}

/// One setting of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name in the experiment.
    pub name: &'static str,
    /// Its value when it is not written; words when it follows from something else.
    pub default: &'static str,
    /// What it may be, in words.
    pub allowed: &'static str,
    /// A value that it may have, as it is written in TOML.
    pub example: &'static str,
    /// What it does.
    pub help: &'static str,
}

impl Key {
    /// What kind of value it takes: `switch`, `number` or `size`.
    pub fn takes(&self) -> &'static str {
        match self.default.parse::<u64>() {
            _ if self.allowed == "on or off" => "switch",
            Ok(_) => "number",
            Err(_) => "size",
        }
    }
}

/// One chart of a layer over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chart {
    /// Its id, unique in the layer.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What it shows and how to read it.
    pub help: &'static str,
    /// Its lines.
    pub series: &'static [Series],
    /// Unit of the plotted values.
    pub unit: Unit,
    /// Whether the rate of change per second is plotted, not the value.
    pub rate: bool,
}

/// One line of a chart, or one line per field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series {
    /// Which of the layer's probes: the part after the layer's name (`stats` of `vdo.stats`).
    pub probe: &'static str,
    /// The field; `*` draws one line for every field of the sample, labelled by its name.
    pub field: &'static str,
    /// What the line is called; empty with `*`.
    pub label: &'static str,
}

/// What a machine must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Debian packages.
    pub packages: &'static [&'static str],
    /// Kernel modules.
    pub modules: &'static [&'static str],
    /// Programs.
    pub tools: &'static [&'static str],
}

/// What a layer's rules see of one cell.
pub struct RuleFacts<'a> {
    /// The layer's name in the experiment.
    pub layer: &'a str,
    /// Its settings, defaults included.
    pub settings: &'a BTreeMap<String, String>,
    /// The cell's samples, all sources, in order of time.
    pub samples: &'a [SampleRow],
    /// Its figures.
    pub figures: &'a LayerFigures,
    /// Content that was asked for from the first measured stage to the end, as far as several loads agree.
    pub asked: Option<&'a ContentFigures>,
    /// Content that was achieved meanwhile; `None` when nobody measured it.
    pub achieved: Option<&'a ContentFigures>,
    /// Facts of the cell by name (`vdo.instance`).
    pub facts: &'a BTreeMap<String, String>,
}
