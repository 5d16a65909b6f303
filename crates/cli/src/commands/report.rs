//! `fathom report`: one self-contained page of results.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::{Expectation, ExpectationOutcome};
use report::html::Page;
use report::view::{FigureRow, View};
use results::ResultSet;
use stats::Verdict;

use crate::args::{Gates, ReportArgs};
use crate::failure::Failure;
use crate::outputs::{self, Input, Output, OutputKind};
use crate::terminal::say;

/// Returns exit code 5 for a result that was changed or is incomplete: its figures are shown, but must not pass for good.
pub fn exit_code<'a>(views: impl IntoIterator<Item = &'a View>) -> ExitCode {
    let bad = |view: &View| view.seal == "broken" || !view.complete;
    ExitCode::from(if views.into_iter().any(bad) { 5 } else { 0 })
}

/// Returns the same code for a result that is not shown as a view.
pub fn code_of(result: &ResultSet) -> ExitCode {
    let good = result.seal.broken().is_none() && result.complete();
    ExitCode::from(if good { 0 } else { 5 })
}

/// Returns exit code 1 with `--strict` if an expectation is missed, cannot be checked or did not run, or a question has no answer, and with
/// `--fail-on` if a verdict is one of those named; in all other cases `otherwise`. A question whose figure no run has is unclear.
pub fn gated_exit_code(
    view: &View,
    gates: &Gates,
    otherwise: ExitCode,
) -> Result<ExitCode, Failure> {
    let failed = [
        ExpectationOutcome::Missed,
        ExpectationOutcome::Unknown,
        ExpectationOutcome::NoRatio,
        ExpectationOutcome::NotRun,
    ];
    let bad = |held: &Expectation| failed.contains(&held.outcome) || held.few_ios.is_some();
    let missed = view.expectations.iter().any(bad);
    let comparisons = view.figures.iter().flat_map(|row| row.comparisons.iter().flatten());
    let mut verdicts = comparisons.filter_map(|comparison| comparison.verdict);
    let lacks = view.figures.iter().any(|row| {
        let none = row.comparisons.iter().flatten().any(|c| c.is_asked_about() && c.n == 0);
        let modelled = !view.simulated || analysis::is_simulated(&row.metric);
        row.asked && modelled && (!row.known() || none)
    });
    let open = lacks && gates.fail_on.contains(&Verdict::Unclear);
    let named = open || verdicts.any(|verdict| gates.fail_on.contains(&verdict));
    let fails = gates.strict && (missed || lacks) || named;
    match otherwise == ExitCode::SUCCESS {
        true if fails => Ok(ExitCode::from(1)),
        true => judged(view, gates).map(|()| otherwise),
        false => Ok(otherwise),
    }
}

/// Refuses gates that had nothing to judge: passing them would mean nothing.
fn judged(view: &View, gates: &Gates) -> Result<(), Failure> {
    let mut rows = view.figures.iter().filter(|row| row.asked);
    let mut held = view.expectations.iter().map(|held| held.outcome);
    let compared =
        |row: &FigureRow| row.comparisons.iter().flatten().any(|c| c.is_asked_about() && c.n > 0);
    let expected = gates.strict && held.any(|outcome| outcome != ExpectationOutcome::Elsewhere);
    let (gate, judged) = match (gates.strict, !gates.fail_on.is_empty()) {
        (_, true) => ("--fail-on", expected || rows.any(compared)),
        (true, false) => ("--strict", expected || rows.next().is_some()),
        (false, false) => return Ok(()),
    };
    if judged {
        return Ok(());
    }
    let message = match gate {
        "--fail-on" => "No question has a figure of two variants: --fail-on has nothing to judge",
        _ => "Nothing is asked or expected: --strict has nothing to judge",
    };
    Err(Failure::data(message).with_help(
        "run two variants or more of an experiment with a [[question]]; or leave the option out",
    ))
}

/// A result, examined and ready to be shown.
pub fn view_of(path: &Path) -> Result<View, Failure> {
    Ok(view(&results::open(path)?))
}

/// A result in memory, read from a directory or not, examined and ready to be shown.
pub fn view(result: &ResultSet) -> View {
    let analysis = analysis::analyse(result);
    let findings = doctor::examine(result, &analysis);
    report::view::view(result, &analysis, &findings)
}

/// The results in a directory of results, packed ones too, by name (what `fathom-bench engine` leaves); else `path` itself.
pub fn results_in(path: &Path) -> Vec<PathBuf> {
    // A result that has lost its manifest is reported, not passed over.
    let is_result = |path: &Path| {
        path.join(results::writer::MANIFEST).is_file()
            || path.join(results::writer::CELLS).is_dir()
            || results::packed::is_packed(path)
    };
    let inside = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut inside: Vec<_> = inside.map(|entry| entry.path()).filter(|p| is_result(p)).collect();
    if is_result(path) || inside.is_empty() {
        return vec![path.to_owned()];
    }
    inside.sort();
    inside
}

pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let output = Output { option: "-o", path: &args.output, kind: OutputKind::Page(Page::Results) };
    let inputs: Vec<Input> =
        args.results.iter().map(|path| Input { path, what: "which is reported" }).collect();
    outputs::check(&[output], &inputs)?;
    let paths: Vec<PathBuf> = args.results.iter().flat_map(|path| results_in(path)).collect();
    let views = paths.iter().map(|path| view_of(path)).collect::<Result<Vec<_>, _>>()?;
    let lists =
        args.results.iter().filter_map(|path| super::bisect::texts::page_of(path).transpose());
    let lists = lists.collect::<Result<Vec<_>, _>>()?;
    let page = report::html::with_bisections(&lists, &views);
    output.write(page.as_bytes())?;
    let size = units::Bytes(page.len() as u64);
    say(&format!("{} written ({size}); it opens in any browser, offline", args.output.display()));
    Ok(exit_code(&views))
}
