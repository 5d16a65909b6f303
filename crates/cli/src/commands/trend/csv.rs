//! `fathom trend --csv FILE`: the same test on the user's own series.

use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::process::ExitCode;

use analysis::{ColumnSeries, Columns, are_relative, columns, trend_of};
use serde_json::{Value, json as object};
use stats::{LevelShift, MOST_RESULTS, Trend};
use units::{Better, show::significant};

use super::words::{SEED, changes, lines, more_needed, outcome, verdict_of};
use crate::args::{BetterArg, TrendArgs};
use crate::failure::Failure;
use crate::terminal::{Style, Text, answer, json};

/// Largest text that is read, bytes.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// A series with the outcome of the test.
struct Tested<'a> {
    series: &'a ColumnSeries,
    trend: Trend,
    better: Better,
    /// Tells whether changes are relative to the value before.
    relative: bool,
}

pub fn run(args: &TrendArgs, path: &Path) -> Result<ExitCode, Failure> {
    let name = match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    let text = read(path, &name)?;
    let all = columns(&text).map_err(|error| {
        Failure::data(format!("{name} cannot be read as CSV: {error}")).with_help(
            "the first column is a label or a time, each other one a series of numbers with a decimal point; \
            leave out other columns, and leave missing values empty",
        )
    })?;
    let better = match args.better {
        None => Better::Neither,
        Some(BetterArg::Higher) => Better::Higher,
        Some(BetterArg::Lower) => Better::Lower,
    };
    let threshold = args.threshold.fraction();
    let tested = all.series.iter().map(|series| {
        let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
        let trend = trend_of(&values, threshold, SEED);
        Tested { series, trend, better, relative: are_relative(&values) }
    });
    let tested: Vec<Tested> = tested.collect();
    if args.json {
        let series: Vec<Value> = tested.iter().map(|one| document(one, threshold)).collect();
        let document = object!({
            "file": name, "label": all.label, "newest_first": all.falls, "series": series,
        });
        json(&serde_json::to_string_pretty(&document).map_err(Failure::data)?);
    } else {
        answer(&words(&name, &all, &tested));
    }
    let last = |one: &Tested| Some(verdict_of(one.better, changes(&one.trend).last()?));
    let fails = tested.iter().filter_map(last).any(|verdict| args.fail_on.contains(&verdict));
    Ok(ExitCode::from(u8::from(fails)))
}

/// The text of a file, or of standard input.
fn read(path: &Path, name: &str) -> Result<String, Failure> {
    let stdin = path == Path::new("-");
    let bytes = if stdin { of_stdin() } else { sys::input::read(path, MAX_TEXT_BYTES) };
    let bytes = bytes.map_err(|error| {
        let message = format!("{name} cannot be read: {error}");
        match error.kind() {
            ErrorKind::PermissionDenied => {
                Failure::environment(message).with_help(sys::denied::help())
            }
            ErrorKind::NotFound => Failure::usage(message).with_help("check the path"),
            _ => Failure::usage(message)
                .with_help("name a file of CSV, or hand it to standard input: --csv -"),
        }
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        Failure::data(format!("{name} is not text: line {line} is not UTF-8"))
            .with_help("iconv -t UTF-8 writes a text of another encoding anew")
    })
}

fn of_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        let why =
            format!("it is longer than {}, the most that is read", units::Bytes(MAX_TEXT_BYTES));
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// The change in percent of what was before; `None` where some value is not above 0.
fn percent(one: &Tested, shift: &LevelShift) -> Option<f64> {
    one.relative.then(|| 100.0 * (shift.by.exp() - 1.0))
}

fn document(one: &Tested, threshold: f64) -> Value {
    let Tested { series, trend, better, relative } = one;
    let label = |at: usize| series.points.get(at).map(|point| &point.label);
    let change = |shift: &LevelShift| {
        object!({
            "last_before": label(shift.at - 1), "first_after": label(shift.at),
            "percent": percent(one, shift), "by": (!relative).then_some(shift.by),
            "p": shift.p, "verdict": verdict_of(*better, shift),
        })
    };
    let (outcome, follows) = outcome(trend);
    let values = series
        .points
        .iter()
        .map(|point| object!({ "label": point.label, "line": point.line, "value": point.value }));
    object!({
        "name": series.name, "threshold": threshold, "values": values.collect::<Vec<_>>(),
        "missing_lines": series.missing, "outcome": outcome,
        "more_values_needed": (*trend == Trend::TooFew).then(|| more_needed(series.points.len())),
        "correlation": follows, "changes": changes(trend).iter().map(change).collect::<Vec<_>>(),
    })
}

fn words(name: &str, all: &Columns, tested: &[Tested]) -> Text {
    let style = Style::of_stdout();
    let mut text = Text::default();
    text.line(name);
    for one in tested {
        text.line(style.dim("  of").and(figure(one.series)));
        let lines = lines(&one.trend, one.series.points.len(), |shift| changed(one, shift));
        lines.into_iter().for_each(|line| text.line(format!("     {line}")));
    }
    if all.falls {
        let why = "each label sorts before the previous one, and the oldest has to come first";
        text.line(style.note("newest first?").and(why));
    }
    text
}

/// `p99: 140 values, of which the last 100 count (2 lines have none, the first is 7)`.
fn figure(series: &ColumnSeries) -> String {
    let there = series.points.len();
    let values = if there == 1 { "value" } else { "values" };
    let last = match there > MOST_RESULTS {
        true => format!(", of which the last {MOST_RESULTS} count"),
        false => String::new(),
    };
    let missing = match &series.missing[..] {
        [] => String::new(),
        [line] => format!(" (line {line} has none)"),
        [first, ..] => format!(" ({} lines have none, the first is {first})", series.missing.len()),
    };
    format!("{}: {there} {values}{last}{missing}", series.name)
}

/// `worse: rises by 8.2 % between Mon and Tue, p 0.0002`.
fn changed(one: &Tested, shift: &LevelShift) -> String {
    let label = |at: usize| one.series.points.get(at).map_or("", |point| point.label.as_str());
    let by = match percent(one, shift) {
        Some(percent) => format!("{} %", significant(percent.abs(), 2)),
        None => significant(shift.by.abs(), 3),
    };
    format!(
        "{}: {} by {by} between {} and {}, p {}",
        verdict_of(one.better, shift).word(),
        if shift.by < 0.0 { "falls" } else { "rises" },
        label(shift.at - 1),
        label(shift.at),
        significant(shift.p, 1)
    )
}
