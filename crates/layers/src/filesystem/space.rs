//! Space as statfs reports it, and counters that a file system has in sysfs as names with values.

use results::model::LayerFigures;
use units::{Basis, Better, Metric, Test, Unit};

use crate::counter::counters;
use crate::figures::{FigureFacts, ratio};
use crate::kind::{Chart, FillLevel, Series};
use crate::{ParseError, Parsed};

/// Parser of [`crate::probe::Source::Space`]: numbers `blocks`, `free`, `size`, `used_bytes`.
pub(crate) const STATFS: &str = "filesystem.statfs";

pub(crate) const FILLS: &[FillLevel] =
    &[FillLevel { of: "file system", metric: "filesystem_used_percent", part: None }];

pub(crate) const METRICS: [Metric; 2] = [
    Metric {
        id: "filesystem_used_bytes",
        name: "space used",
        unit: Unit::Bytes,
        better: Better::Lower,
        basis: Basis::Level,
        test: Test::Paired,
        help: "Space that the file system counts as used, its own metadata included.",
    },
    Metric {
        id: "filesystem_used_percent",
        name: "share used",
        unit: Unit::Percent,
        better: Better::Neither,
        basis: Basis::Level,
        test: Test::Paired,
        help: "Share of the file system's space that is used.",
    },
];

pub(crate) const COUNTERS: &[Metric] = counters! { "statfs":
    "blocks", Count, Level, "Blocks that the file system has.";
    "free", Count, Level, "Blocks that are free, those kept for root among them.";
    "size", Bytes, Level, "Size of a block.";
    "used_bytes", Bytes, Level, "Blocks that are not free, in bytes.";
};

pub(crate) const CHART: Chart = Chart {
    id: "space",
    title: "Space used over time",
    help: "Space that the file system counts as used. It may not include data that still waits in memory.",
    series: &[Series { probe: "statfs", field: "used_bytes", label: "used" }],
    unit: Unit::Bytes,
    rate: false,
};

/// A line `blocks N free N size N`.
pub(crate) fn parse_statfs(text: &str) -> Result<Parsed, ParseError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut parsed = Parsed::default();
    for pair in words.chunks(2) {
        let number = pair.get(1).and_then(|word| word.parse::<u64>().ok());
        let number = number.ok_or_else(|| ParseError::form(STATFS, "no number", text))?;
        parsed.numbers.insert(pair[0].to_owned(), Some(number as f64));
    }
    let number = |name: &str| parsed.numbers.get(name).copied().flatten();
    match (number("blocks"), number("free"), number("size")) {
        (Some(blocks), Some(free), Some(size)) => {
            parsed.numbers.insert("used_bytes".to_owned(), Some((blocks - free) * size));
            Ok(parsed)
        }
        _ => Err(ParseError::form(STATFS, "not 'blocks N free N size N'", text)),
    }
}

/// The figures that every file system has.
pub(crate) fn figures(facts: &FigureFacts) -> LayerFigures {
    let end = |field: &str| counted(facts, "statfs", field);
    let used = || Some((end("blocks")? - end("free")?) * end("size")?);
    let percent = || Some(100.0 * (1.0 - ratio(end("free"), end("blocks"))?));
    LayerFigures::from([
        ("filesystem_used_bytes".to_owned(), used()),
        ("filesystem_used_percent".to_owned(), percent()),
    ])
}

/// A field of a probe at the end of the window.
pub(crate) fn counted(facts: &FigureFacts, probe: &str, field: &str) -> Option<f64> {
    facts.ends(probe).and_then(|ends| ends.end(field))
}

/// Reads the fields called `names` from lines `name value`; one that is not there is `None`. A text with none of them is an error.
pub(crate) fn read_fields(
    parser: &'static str,
    names: &[&str],
    text: &str,
) -> Result<Parsed, ParseError> {
    let value = |name: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
        pairs.find(|(known, _)| *known == name).and_then(|(_, value)| value.trim().parse().ok())
    };
    let fields = names.iter().map(|&name| (name.to_owned(), value(name)));
    let parsed = Parsed { numbers: fields.collect(), ..Parsed::default() };
    match parsed.numbers.values().any(Option::is_some) {
        true => Ok(parsed),
        false => Err(ParseError::form(parser, "none of its counters", text)),
    }
}
