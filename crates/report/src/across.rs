//! The comparison of two results, on a terminal and as JSON: the output of `fathom compare`.

use analysis::{Across, AcrossRow, Fact, MetricComparison};
use serde_json::{Value, json};
use stats::Verdict;
use units::printable;

use crate::terminal::ink::{Ink, tint, wrapped};
use crate::wording::{self, NONE};

/// Version of the document's format.
pub const SCHEMA: u32 = 1;

/// Returns the figures that both results have, a block for each metric and a line for each variant: those asked about, or `all`. Lines have at most
/// `width` characters, as far as long words allow.
pub fn text(across: &Across, all: bool, width: usize, colour: bool) -> String {
    let ink = Ink { colour };
    let shown: Vec<&AcrossRow> =
        across.rows.iter().filter(|row| all || row.comparison.is_asked_about()).collect();
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(&wrapped(&printable(text), width, ""));
        out.push('\n');
    };
    if !across.differ.is_empty() {
        let facts: Vec<String> = across.differ.iter().map(fact).collect();
        line(&format!("What else differs, and may be the reason: {}.", facts.join("; ")));
    }
    let only = [
        (&across.only_old, "first"),
        (&across.only_new, "second"),
        (&across.figures_only_old, "first"),
        (&across.figures_only_new, "second"),
    ];
    for (names, which) in only.into_iter().filter(|(names, _)| !names.is_empty()) {
        line(&format!("Only the {which} result has {}.", units::show::names(names)));
    }
    if shown.is_empty() {
        line(
            "No variant that both results have has a figure that is asked about; --all shows every figure.",
        );
    }
    let mut tables: Vec<(&str, String)> = Vec::new();
    for row in &shown {
        let of = (row.comparison.metric.as_str(), row.comparison.scope.name());
        if !tables.contains(&of) {
            tables.push(of);
        }
    }
    for (metric, scope) in &tables {
        let is_of_table = |row: &&&AcrossRow| {
            row.comparison.metric == *metric && row.comparison.scope.name() == *scope
        };
        let rows: Vec<&AcrossRow> = shown.iter().filter(is_of_table).copied().collect();
        let label = layers::metric(metric).map_or(*metric, |metric| metric.name);
        let head = format!("{label} of {scope}");
        out.push_str(&format!("\n{}\n{}", printable(&head), block(&rows, width, &ink)));
    }
    out
}

/// Describes the runs left out of the comparison because the other result has no such repeat; `None` where there are none.
fn left_out(c: &MetricComparison) -> Option<String> {
    (c.dropped > 0).then(|| {
        let runs = if c.dropped == 1 { "run" } else { "runs" };
        format!("{} {runs} left out: the other result lacks these repeats", c.dropped)
    })
}

/// Number of columns of a block.
const COLUMNS: usize = 8;
/// The columns that hold numbers, and the one that holds the verdict.
const NUMBERS: std::ops::RangeInclusive<usize> = 1..=3;
const VERDICT: usize = 5;

/// Returns a line for each variant, in aligned columns; remarks follow on a line of their own if there is no room beside the figures.
fn block(rows: &[&AcrossRow], width: usize, ink: &Ink) -> String {
    let columns = |row: &AcrossRow| {
        let c = &row.comparison;
        let unit = row.unit;
        let figure = |figure: &stats::Figure| {
            figure.median.map_or(NONE.to_owned(), |median| wording::value(unit, median))
        };
        let mut open = wording::left_open(c);
        open.extend(left_out(c));
        [
            printable(&c.new).into_owned(),
            figure(&row.old),
            figure(&row.new),
            wording::compared_beside(unit, c, (row.old.median, row.new.median)),
            wording::ratio_interval(unit, c).unwrap_or_default(),
            c.verdict
                .map_or_else(String::new, |verdict| wording::verdict(verdict.word()).to_owned()),
            format!("{} + {} runs", c.n, c.n),
            open.join(", "),
        ]
    };
    let head = ["", "first", "second", "ratio", "95 % interval", "", "", ""].map(str::to_owned);
    let mut lines = vec![(head, None)];
    lines.extend(rows.iter().map(|row| (columns(row), row.comparison.verdict)));
    let widths: Vec<usize> = (0..COLUMNS)
        .map(|at| lines.iter().map(|(line, _)| line[at].chars().count()).max().unwrap_or(0))
        .collect();
    let used = widths.iter().filter(|column| **column > 0);
    let below = used.map(|column| column + 2).sum::<usize>() > width;
    let beside = if below { COLUMNS - 1 } else { COLUMNS };
    let mut out = String::new();
    for (line, verdict) in &lines {
        let mut text = String::from(" ");
        for (at, (cell, width)) in
            line.iter().zip(&widths).enumerate().take(beside).filter(|(_, (_, w))| **w > 0)
        {
            let gap = " ".repeat(width - cell.chars().count());
            let cell = match (at, verdict) {
                (VERDICT, Some(verdict)) => ink.paint(tint(Some(verdict.word())), cell),
                _ => cell.clone(),
            };
            // Numbers are aligned on the right, words on the left.
            let padded =
                if NUMBERS.contains(&at) { format!("{gap}{cell}") } else { format!("{cell}{gap}") };
            text.push_str(&format!(" {padded} "));
        }
        out.push_str(text.trim_end());
        out.push('\n');
        if let Some(open) = line.last().filter(|open| below && !open.is_empty()) {
            out.push_str(&format!("    {}\n", wrapped(open, width.saturating_sub(4), "    ")));
        }
    }
    out
}

/// Describes a fact in both results: `kernel (Linux 6.12.1, then Linux 6.18.2)`.
pub(crate) fn fact(fact: &Fact) -> String {
    match (&fact.old, &fact.new) {
        (None, None) => fact.name.clone(),
        (old, new) => {
            let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
            format!("{} ({}, then {})", fact.name, known(old), known(new))
        }
    }
}

/// Columns of the CSV form: keys of a comparison in [`json`].
const CSV: [&str; 22] = [
    "variant",
    "metric",
    "stage",
    "operation",
    "layer",
    "unit",
    "asked",
    "threshold",
    "base",
    "new",
    "ratio",
    "low",
    "high",
    "difference",
    "p",
    "p_adjusted",
    "verdict",
    "n_base",
    "n_new",
    "n_compared",
    "repeats_that_would_decide",
    "repeats_that_might_decide",
];

/// Returns the comparison as CSV (RFC 4180), a line for each figure of each variant; what is not known is an empty field.
pub fn csv(across: &Across) -> String {
    let document = json(across, true);
    let rows = document["comparisons"].as_array().into_iter().flatten();
    let field = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => crate::csv::quoted(text),
        other => other.to_string(),
    };
    let line = |row: &Value| CSV.map(|key| field(&row[key])).join(",");
    let lines: Vec<_> = std::iter::once(CSV.join(",")).chain(rows.map(line)).collect();
    lines.join("\r\n") + "\r\n"
}

/// Returns the comparison as JSON for scripts, with every figure. `complete`: both results are complete, and as their runs left them.
pub fn json(across: &Across, complete: bool) -> Value {
    let row = |row: &AcrossRow| {
        let c = &row.comparison;
        let ends = c.difference.and_then(|difference| difference.interval);
        json!({
            "variant": c.new, "metric": c.metric, "stage": c.scope.stage, "operation": c.scope.as_operation(), "layer": c.scope.as_layer(),
            "unit": row.unit, "asked": c.is_asked_about(), "threshold": c.threshold, "base": row.old.median, "new": row.new.median,
            "ratio": c.ratio, "low": c.low, "high": c.high, "difference": c.difference.map(|difference| difference.value),
            "difference_low": ends.map(|ends| ends.low), "difference_high": ends.map(|ends| ends.high),
            "p": c.p, "p_adjusted": c.p_adjusted, "verdict": c.verdict.map(Verdict::word), "n_base": row.runs.0, "n_new": row.runs.1, "n_compared": c.n,
            "runs_apart": c.apart.iter().map(|run| json!({"repeat": run.repeat, "cell": run.cell})).collect::<Vec<_>>(),
            "repeats_that_might_decide": c.repeats_that_would_decide.map(|(least, _)| least),
            "repeats_that_would_decide": c.repeats_that_would_decide.map(|(_, most)| most), "method": c.method,
        })
    };
    json!({
        "schema": SCHEMA,
        "complete": complete,
        "comparisons": across.rows.iter().map(row).collect::<Vec<_>>(),
        "differ": across.differ.iter().map(|fact| json!({"name": fact.name, "base": fact.old, "new": fact.new})).collect::<Vec<_>>(),
        "only_base": across.only_old, "only_new": across.only_new,
        "figures_only_base": across.figures_only_old, "figures_only_new": across.figures_only_new,
    })
}
