//! The expectations of an experiment, and the figures of its source, in words.

use analysis::{Evidence, Expectation, ExpectationOutcome, Reported, ReportedRow};
use results::model::{Bound, ExpectedFigure, FigureName, Grounds, ReportedSpread};
use stats::Spread;
use units::{Unit, show};

use super::figures::{NONE, SOURCE_DIGITS, value};

/// An expectation in words.
pub struct Expected {
    /// The figure: `IOPS of randread in warm, cached over slow`.
    pub figure: String,
    /// The expected range: `above 1.5`, `20 to 40`.
    pub bound: String,
    /// The figure that was found.
    pub found: Option<String>,
    /// Its interval.
    pub interval: Option<String>,
}

/// Describes an expectation and what was found.
pub fn expected(expectation: &Expectation) -> Expected {
    let ExpectedFigure { figure, bound, of, .. } = &expectation.expected;
    let show = |number: f64| value(expectation.unit, number);
    let bound_text = match *bound {
        Bound::Above(least) => format!("above {}", show(least)),
        Bound::Below(most) => format!("below {}", show(most)),
        Bound::Near { value, by } => format!("{} to {}", show(value - by), show(value + by)),
    };
    Expected {
        figure: of.as_ref().map_or_else(|| full_name(figure), |other| ratio_name(figure, other)),
        bound: bound_text,
        found: expectation.found.map(show).or_else(|| {
            // Without a figure, only an expected turn of throughput can be missed.
            let never_turned = expectation.outcome == ExpectationOutcome::Missed;
            never_turned.then(|| "throughput does not turn".to_owned())
        }),
        interval: expectation
            .low
            .zip(expectation.high)
            .map(|(low, high)| format!("[{}, {}]", show(low), show(high))),
    }
}

/// Returns the name of a kind of source, as a label.
pub fn grounds(grounds: Grounds) -> &'static str {
    match grounds {
        Grounds::Document => "Source",
        Grounds::Appendix => "The source's appendix",
        Grounds::DataSheet => "Data sheet",
        Grounds::Layer => "The layer's documentation",
        Grounds::Formula => "Computed",
        Grounds::Conclusion => "A conclusion, which no document states",
        Grounds::Measurement => "Measured before",
        Grounds::Model => "The model is built to do so",
    }
}

/// Returns the words for a figure that is as expected: “as the source found” only where its document states the same quantity.
pub fn as_expected(grounds: Grounds) -> &'static str {
    match grounds {
        Grounds::Document => "as the source found",
        Grounds::Appendix => "as in the source's appendix",
        Grounds::DataSheet => "as the data sheet says",
        Grounds::Layer => "as the layer's documentation says",
        Grounds::Formula => "as computed",
        Grounds::Conclusion => "as concluded",
        Grounds::Measurement => "as measured before",
        Grounds::Model => "as the model is built",
    }
}

/// Returns a ratio: `0.868×`.
pub fn times(ratio: f64) -> String {
    format!("{}×", Unit::Ratio.show(ratio))
}

/// Returns why a figure differs from its expectation: the experiment's explanation, and the figures that support it; `None` where it is as
/// expected, or there is no explanation.
pub fn why_otherwise(expectation: &Expectation) -> Option<String> {
    if expectation.outcome != ExpectationOutcome::Missed {
        return None;
    }
    let shown = |evidence: &Evidence| {
        Some(format!("{}: {}", full_name(&evidence.figure), value(evidence.unit, evidence.median?)))
    };
    let shown: Vec<_> = expectation.evidence.iter().filter_map(shown).collect();
    let shown = (!shown.is_empty()).then(|| shown.join("; "));
    let all: Vec<_> = expectation.expected.differs.clone().into_iter().chain(shown).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Returns why an expectation cannot be judged: too few I/Os of a run; `None` where there are enough.
pub fn why_not_judged(expectation: &Expectation) -> Option<String> {
    let ExpectedFigure { figure, of, .. } = &expectation.expected;
    let mut figures = std::iter::once(figure).chain(of);
    let percentile = figures.any(|figure| !analysis::is_rate(&figure.metric));
    let lacks = match percentile {
        true => "fewer than 10 of them lie beyond this percentile",
        false => "a rate needs at least 10",
    };
    expectation.few_ios.map(|ios| {
        let noun = if ios == 1 { "I/O" } else { "I/Os" };
        format!("a run did {} {noun}, and {lacks}: let the load do more", show::grouped(ios))
    })
}

/// Returns the label of a row of a source's table: those of its metric, stage and variant that differ between the rows.
pub fn reported(row: &ReportedRow, rows: &[ReportedRow]) -> String {
    let FigureName { metric, stage, variant, .. } = &row.figure;
    let several = |other: fn(&FigureName, &FigureName) -> bool| {
        rows.iter().any(|r| other(&r.figure, &row.figure))
    };
    let parts = [
        several(|a, b| a.metric != b.metric).then(|| label(metric)),
        stage.as_deref().filter(|_| several(|a, b| a.stage != b.stage)),
        several(|a, b| a.variant != b.variant).then_some(variant.as_str()),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { variant.clone() } else { parts.join(", ") }
}

/// Columns of a spread within a run.
pub const SPREAD_COLUMNS: [&str; 6] =
    ["median", "1st quartile", "3rd quartile", "least", "greatest", "standard deviation"];

/// Returns the spreads of a source's table, each followed by the one found here: label of the row, `source` or `here`, and the columns.
pub fn spreads(table: &Reported) -> Vec<(String, &'static str, [String; 6])> {
    let mut lines = Vec::new();
    for row in &table.rows {
        let Some(ReportedSpread { q1, q3, min, max, std_dev }) = row.source_spread else {
            continue;
        };
        let source = [row.source, q1, q3, min, max, std_dev].map(|value| {
            format!("{} {}", units::show::significant(value, SOURCE_DIGITS), table.source_unit)
        });
        let show =
            |number: Option<f64>| number.map_or_else(|| NONE.to_owned(), |n| value(row.unit, n));
        let of = |figure: fn(&Spread) -> Option<f64>| show(row.spread.as_ref().and_then(figure));
        let here = [
            of(|s| Some(s.median)),
            of(|s| Some(s.q1)),
            of(|s| Some(s.q3)),
            of(|s| Some(s.min)),
            of(|s| Some(s.max)),
            of(|s| s.std_dev),
        ];
        let name = reported(row, &table.rows);
        lines.extend([(name.clone(), "source", source), (name, "here", here)]);
    }
    lines
}

/// Returns the value found here of a figure that a source reported.
pub fn found_here(row: &ReportedRow) -> String {
    match row.found.median {
        Some(median) => value(row.unit, median),
        None if row.ran => NONE.to_owned(),
        None => ExpectationOutcome::NotRun.word().to_owned(),
    }
}

/// Returns the title of a table of a source's figures: `throughput of randwrite in full, table 5.3`; stage and metric only where all rows have the
/// same.
pub fn reported_title(table: &Reported) -> String {
    let Reported { what, rows, .. } = table;
    let figures = || rows.iter().map(|row| &row.figure);
    let all = |same: fn(&FigureName, &FigureName) -> bool| {
        figures().zip(figures().skip(1)).all(|(a, b)| same(a, b))
    };
    match rows.first().map(|row| &row.figure).filter(|_| all(|a, b| a.metric == b.metric)) {
        None => what.clone(),
        Some(first) if all(|a, b| a.stage == b.stage) => {
            format!("{}, {what}", name_with_stage(first))
        }
        Some(first) => format!("{}, {what}", name_without_stage(first)),
    }
}

/// Describes the ratio of two figures, with what they have in common stated once: `throughput of read in warm, cached over slow`, or
/// `data blocks of vdo in copy-2 over copy-1, vdo`.
fn ratio_name(figure: &FigureName, other: &FigureName) -> String {
    let same = other.metric == figure.metric
        && other.operation == figure.operation
        && other.layer == figure.layer;
    match &other.stage {
        stage if same && *stage == figure.stage => {
            format!("{} over {}", full_name(figure), other.variant)
        }
        Some(stage) if same && other.variant == figure.variant => {
            format!("{} over {stage}, {}", name_with_stage(figure), figure.variant)
        }
        _ => format!("{} over {}", full_name(figure), full_name(other)),
    }
}

/// Returns the name with stage and variant: `IOPS of randread in warm, cached`.
fn full_name(figure: &FigureName) -> String {
    format!("{}, {}", name_with_stage(figure), figure.variant)
}

/// Returns the name with the stage: `IOPS of randread in warm`.
fn name_with_stage(figure: &FigureName) -> String {
    let stage = figure.stage.as_ref().map_or_else(String::new, |stage| format!(" in {stage}"));
    format!("{}{stage}", name_without_stage(figure))
}

/// Returns the name without the stage: `IOPS of randread`.
fn name_without_stage(figure: &FigureName) -> String {
    let label = label(&figure.metric);
    let of = figure.operation.as_ref().or(figure.layer.as_ref());
    let of = of.map_or_else(String::new, |of| format!(" of {of}"));
    format!("{label}{of}")
}

/// Returns a metric's name, or its id if it is not in the catalogue.
fn label(metric: &str) -> &str {
    layers::metric(metric).map_or(metric, |known| known.name)
}
