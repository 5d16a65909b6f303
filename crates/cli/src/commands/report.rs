//! `fathom report`: one self-contained page of results.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::ExpectationOutcome;
use report::html::Page;
use report::view::View;
use results::ResultSet;
use stats::Verdict;

use crate::args::{Gates, ReportArgs};
use crate::failure::Failure;
use crate::outputs::{self, Input, Output, OutputKind};
use crate::terminal::say;

/// 5 for a result that is not as its run left it, or not whole: its figures are shown, and must not pass for good.
pub fn exit_code<'a>(views: impl IntoIterator<Item = &'a View>) -> ExitCode {
    let bad = |view: &View| view.seal == "broken" || !view.complete;
    ExitCode::from(if views.into_iter().any(bad) { 5 } else { 0 })
}

/// The same of a result that is not shown as a view.
pub fn code_of(result: &ResultSet) -> ExitCode {
    let good = result.seal.broken().is_none() && result.complete();
    ExitCode::from(if good { 0 } else { 5 })
}

/// 1 when expectations count (`--strict`) and one is missed, cannot be checked or did not run, or what is asked has no answer, or a verdict is one that
/// was named (`--fail-on`), unless another code says more. A question of which no run has the figure is unclear.
pub fn gated(view: &View, gates: &Gates, otherwise: ExitCode) -> ExitCode {
    let failed = [
        ExpectationOutcome::Missed,
        ExpectationOutcome::Unknown,
        ExpectationOutcome::NoRatio,
        ExpectationOutcome::NotRun,
    ];
    let missed = view.expectations.iter().any(|held| failed.contains(&held.outcome));
    let comparisons = view.figures.iter().flat_map(|row| row.comparisons.iter().flatten());
    let mut verdicts = comparisons.filter_map(|comparison| comparison.verdict);
    let lacks = view.figures.iter().any(|row| {
        let none = row.comparisons.iter().flatten().any(|c| c.asked() && c.n == 0);
        let modelled = !view.simulated || analysis::is_simulated(&row.metric);
        row.asked && modelled && (!row.known() || none)
    });
    let open = lacks && gates.fail_on.contains(&Verdict::Unclear);
    let named = open || verdicts.any(|verdict| gates.fail_on.contains(&verdict));
    let fails = gates.strict && (missed || lacks) || named;
    if fails && otherwise == ExitCode::SUCCESS { ExitCode::from(1) } else { otherwise }
}

/// A result, examined and ready to be shown.
pub fn view_of(path: &Path) -> Result<View, Failure> {
    Ok(view(&results::open(path)?))
}

/// A result that was read, or that nobody wrote, examined and ready to be shown.
pub fn view(result: &ResultSet) -> View {
    let analysis = analysis::analyse(result);
    let findings = doctor::examine(result, &analysis);
    report::view::view(result, &analysis, &findings)
}

/// The results in a directory of results, packed ones too, by name (what `fathom-bench engine` leaves); else `path` itself.
pub fn results_in(path: &Path) -> Vec<PathBuf> {
    // One that has lost its manifest is named, not passed over.
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
        args.results.iter().filter_map(|path| super::bisect::said::page_of(path).transpose());
    let lists = lists.collect::<Result<Vec<_>, _>>()?;
    let page = report::html::with_bisections(&lists, &views);
    output.write(page.as_bytes())?;
    let size = units::Bytes(page.len() as u64);
    say(&format!("{} written ({size}); it opens in any browser, offline", args.output.display()));
    Ok(exit_code(&views))
}
