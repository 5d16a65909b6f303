//! `fathom trend`: one experiment run again and again, and what changed between which results.

mod csv;
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::{LeftOut, TrendKind, TrendResult, TrendSeries, Trends, trends};
use serde_json::{Value, json as object};
use stats::{LevelShift, Trend, Verdict};
use units::{Unit, show::significant};

use crate::args::TrendArgs;
use crate::failure::Failure;
use crate::terminal::{Style, Text, answer, json};
use words::{SEED, changes, lines, more_needed, outcome, verdict_of};

pub fn run(args: &TrendArgs) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.csv {
        return csv::run(args, path);
    }
    let paths = args.results.iter().flat_map(|path| super::report::results_in(path));
    let (mut whole, mut left_out) = (Vec::new(), Vec::new());
    for path in paths {
        match read(path) {
            Ok(result) => whole.push(result),
            Err(one) => left_out.push(one),
        }
    }
    let none = whole.is_empty();
    let mut all = trends(whole, SEED);
    all.left_out.splice(..0, left_out);
    if none {
        return Err(nothing(&all.left_out));
    }
    if args.json {
        let series: Vec<_> = all.series.iter().map(document).collect();
        let left_out = all
            .left_out
            .iter()
            .map(|o| object!({ "result": o.path.display().to_string(), "why": o.why }));
        let left_out: Vec<_> = left_out.collect();
        let document = object!({ "series": series, "left_out": left_out });
        json(&serde_json::to_string_pretty(&document).map_err(Failure::data)?);
    } else {
        answer(&text(&all));
    }
    let last = |series: &TrendSeries| Some(verdict(series, changes(&series.trend).last()?));
    let fails = all.series.iter().filter_map(last).any(|verdict| args.fail_on.contains(&verdict));
    Ok(ExitCode::from(u8::from(fails)))
}

/// Reads one result; an error where it does not count.
fn read(path: PathBuf) -> Result<TrendResult, LeftOut> {
    match results::open(&path) {
        Ok(result) => TrendResult::of(&result),
        Err(error) => Err(LeftOut { path, why: sys::causes::chain(&error) }),
    }
}

/// Returns the message for when no result counts.
fn nothing(left_out: &[LeftOut]) -> Failure {
    let error = match left_out {
        [] => "No result was named".to_owned(),
        [one] => format!("{} does not count: {}", one.path.display(), one.why),
        all => {
            let each = all.iter().map(|one| format!("{}: {}", one.path.display(), one.why));
            format!("None of these results counts: {}", each.collect::<Vec<_>>().join("; "))
        }
    };
    let misnamed = left_out.iter().all(|one| !one.path.exists());
    let failure = if misnamed { Failure::usage(error) } else { Failure::data(error) };
    failure.with_help(
        "name directories of complete, unchanged results; fathom run --resume completes one that was cut off",
    )
}

fn verdict(series: &TrendSeries, shift: &LevelShift) -> Verdict {
    verdict_of(series.better, shift)
}

fn document(series: &TrendSeries) -> Value {
    let TrendSeries { kind, name, runs, trend, left_out, threshold, .. } = series;
    let run = |at: usize| runs.get(at).map(|(run, _)| run.path.display().to_string());
    let change = |shift: &LevelShift| {
        object!({
            "last_before": run(shift.at - 1), "first_after": run(shift.at), "percent": percent(series, shift),
            "by": (!series.is_relative()).then_some(shift.by),
            "p": shift.p, "verdict": verdict(series, shift),
        })
    };
    let (outcome, follows) = outcome(trend);
    let more = (*trend == Trend::TooFew).then(|| more_needed(series.runs.len()));
    let runs = runs.iter().map(|(run, value)| {
        object!({
            "result": run.path.display().to_string(), "started_utc": run.started_utc, "kernel": run.kernel,
            "tool_version": run.tool_version, "sealed": run.sealed, "value": value,
        })
    });
    object!({
        "experiment": kind.experiment, "scale": kind.scale, "machine": kind.machine,
        "metric": name.metric, "stage": name.scope.stage, "operation": name.scope.as_operation(),
        "layer": name.scope.as_layer(), "variant": name.variant, "over": name.over,
        "threshold": threshold,
        "results": runs.collect::<Vec<_>>(), "left_out": left_out, "outcome": outcome,
        "more_results_needed": more,
        "correlation": follows, "changes": changes(trend).iter().map(change).collect::<Vec<_>>(),
    })
}

/// Returns the change in percent of what was before; `None` where some values are 0.
fn percent(series: &TrendSeries, shift: &LevelShift) -> Option<f64> {
    series.is_relative().then(|| 100.0 * (shift.by.exp() - 1.0))
}

fn text(all: &Trends) -> Text {
    let style = Style::of_stdout();
    let mut text = Text::default();
    if all.series.is_empty() {
        text.line("No question of these results has a figure of five repeats or more.");
    }
    let mut kind: Option<&TrendKind> = None;
    for series in &all.series {
        if kind != Some(&series.kind) {
            kind = Some(&series.kind);
            text.line(head(&series.kind));
        }
        text.line(style.dim("  of").and(figure(series)));
        let words = lines(&series.trend, series.runs.len(), |shift| changed(series, shift));
        words.into_iter().for_each(|line| text.line(format!("     {line}")));
    }
    for path in unsealed(all) {
        let why = "whether its files were changed is not known";
        text.line(style.note("not sealed:").and(format!("{}: {why}", path.display())));
    }
    for LeftOut { path, why } in &all.left_out {
        text.line(style.note("left out:").and(format!("{}: {why}", path.display())));
    }
    text
}

/// The results in any series that are not sealed, so that nobody knows whether they were changed; each once.
fn unsealed(all: &Trends) -> BTreeSet<&Path> {
    let runs = all.series.iter().flat_map(|series| &series.runs);
    runs.filter(|(run, _)| !run.sealed).map(|(run, _)| run.path.as_path()).collect()
}

fn head(kind: &TrendKind) -> String {
    let scale = kind.scale.as_ref().map_or_else(String::new, |scale| format!(" at scale {scale}"));
    format!("{}{scale}, {}", kind.experiment, kind.machine)
}

/// `IOPS of randwrite, vdo over plain: 15 results`.
fn figure(series: &TrendSeries) -> String {
    let label = layers::metric(&series.name.metric).map_or(&*series.name.metric, |m| m.name);
    let over = series.name.over.as_ref().map_or_else(String::new, |base| format!(" over {base}"));
    let left_out = match series.left_out {
        0 => String::new(),
        n => format!(" ({n} more have no such figure: fewer than five repeats, or other variants)"),
    };
    let (scope, variant, n) = (series.name.scope.name(), &series.name.variant, series.runs.len());
    let results = if n == 1 { "result" } else { "results" };
    format!("{label} of {scope}, {variant}{over}: {n} {results}{left_out}")
}

/// `worse: falls by 8.2 % between A (2026-11-02, Linux 6.12.1) and B (2026-11-03, Linux 6.12.9), p 0.0002`.
fn changed(series: &TrendSeries, shift: &LevelShift) -> String {
    let run = |at: usize| {
        let Some((run, _)) = series.runs.get(at) else { return String::new() };
        let day = run.started_utc.split('T').next().unwrap_or_default();
        let kernel = run.kernel.as_ref().map_or_else(String::new, |name| format!(", {name}"));
        format!("{} ({day}{kernel})", run.path.display())
    };
    let by = match percent(series, shift) {
        Some(percent) => format!("{} %", significant(percent.abs(), 2)),
        None => {
            let unit = layers::metric(&series.name.metric).map_or(Unit::Count, |m| m.unit);
            unit.show(shift.by.abs())
        }
    };
    format!(
        "{}: {} by {by} between {} and {}, p {}",
        verdict(series, shift).word(),
        if shift.by < 0.0 { "falls" } else { "rises" },
        run(shift.at - 1),
        run(shift.at),
        significant(shift.p, 1)
    )
}
