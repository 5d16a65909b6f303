//! A result on a terminal: verdict, figures, findings; plain lines that can be kept in a log.

mod grid;
pub(crate) mod ink;
mod jobs;
mod ladders;
mod table;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use analysis::{Expectation, ExpectationOutcome};
use results::model::{Finding, Severity, plain_and_raw};
use stats::Verdict;
use units::Test;
use units::show::significant;

use self::ink::{Ink, Tint, tint, wrapped};
use self::table::{short, table};

use crate::view::{Cause, EffectRow, FigureRow, Grid, View, effect_name};
use crate::wording::{self, NONE};

/// Highest number of lines up to which all figures are shown: a reader would not scroll through more.
const MAX_LINES: usize = 120;
/// Metrics that are shown for every operation and command where not all figures are shown.
const MAIN: [&str; 4] = ["iops", "throughput_bytes_per_s", "latency_p99_ns", "elapsed_s"];

/// Returns the summary, in lines of at most `width` characters as far as long words allow; with colour only if asked for. Long tables are reduced to
/// what the experiment asks about and the main figures of each operation.
pub fn text(view: &View, width: usize, colour: bool) -> String {
    let lines = view.rows_alone().count() * (view.variants.len().max(2) - 1);
    let main = |row: &&FigureRow| row.headline() || row.part || MAIN.contains(&row.metric.as_str());
    let shown: Vec<&FigureRow> =
        view.rows_alone().filter(|row| lines <= MAX_LINES || main(row)).collect();
    let grids: Vec<&Grid> = view.grids.iter().filter(|grid| grid.headline).collect();
    render(view, &shown, &grids, width, colour)
}

/// Returns the same as [`text`], but with every figure.
pub fn full_text(view: &View, width: usize, colour: bool) -> String {
    let rows: Vec<&FigureRow> = view.rows_alone().collect();
    render(view, &rows, &view.grids.iter().collect::<Vec<_>>(), width, colour)
}

fn render(view: &View, rows: &[&FigureRow], grids: &[&Grid], width: usize, colour: bool) -> String {
    let ink = Ink { colour };
    let width = width.max(40);
    let mut out = String::new();
    let verdict = view.verdicts.first().and_then(|s| s.verdict.as_deref());
    // While a run goes on, its result is not sealed yet.
    if view.seal == "none" && view.going_on.is_none() {
        let text = "not sealed: whether its files were changed is not known";
        out.push_str(&ink.paint(Tint::Dim, &wrapped(text, width, "")));
        out.push('\n');
    }
    let tint = if view.seal == "broken" { Tint::Red } else { tint(verdict) };
    out.push_str(&ink.paint(tint, &wrapped(&view.summary, width, "")));
    out.push('\n');
    why(&mut out, view, width, &ink);
    out.push_str(&grid::grids(view, grids, width, &ink));
    if view.variants.len() < 2 {
        out.push_str(&table(view, rows, width, &ink, None));
    } else {
        for index in 1..view.variants.len() {
            out.push_str(&table(view, rows, width, &ink, Some(index)));
        }
    }
    let gridded: BTreeSet<usize> = grids.iter().flat_map(|grid| grid.rows()).collect();
    let left_out = view.figures.len() - rows.len() - gridded.len();
    if left_out > 0 {
        let text = format!("{left_out} more figures of each variant: fathom show RESULT --all");
        out.push_str(&ink.paint(Tint::Dim, &wrapped(&text, width, "")));
        out.push_str("\n\n");
    }
    let base = view.run_fact("base").map(|base| format!("Compared with {base}.\n"));
    if let Some(text) = base {
        out.push_str(&ink.paint(Tint::Yellow, &wrapped(&text, width, "")));
        out.push('\n');
    }
    if let Some(text) = comparison_methods(view) {
        out.push_str(&ink.paint(Tint::Dim, &wrapped(&text, width, "")));
        out.push_str("\n\n");
    }
    for line in unclear_reasons(view) {
        out.push_str(&ink.paint(Tint::Yellow, &wrapped(&line, width, "  ")));
        out.push('\n');
    }
    expectations(&mut out, view, width, &ink);
    for row in &view.splits {
        let _ = writeln!(out, "{}", wrapped(&format!("Split or merge, {}:", row.label), width, ""));
        for answer in &row.answers {
            let _ = writeln!(out, "  {}", wrapped(answer, width - 2, "    "));
        }
    }
    for row in &view.effects {
        effects(&mut out, row, width, &ink);
    }
    for course in &view.courses {
        let Some(text) = &course.text else { continue };
        let line = wrapped(&format!("{}, {text}", course.scope.name()), width, "    ");
        out.push_str(&line);
        out.push('\n');
    }
    for cache in &view.caches {
        out.push_str(&wrapped(&cache.text, width, "    "));
        out.push('\n');
    }
    out.push_str(&ladders::tables(view, width, &ink));
    out.push_str(&jobs::table(view, width, &ink));
    for (name, text) in &view.driven {
        let line = wrapped(&format!("{name}: {text}"), width, "    ");
        out.push_str(&ink.paint(Tint::Dim, &line));
        out.push('\n');
    }
    findings(&mut out, &view.findings, width, &ink);
    out
}

/// Writes the reasons that the counters give, each with its counters.
fn why(out: &mut String, view: &View, width: usize, ink: &Ink) {
    let Some(why) = &view.why else { return };
    out.push_str(&wrapped(&format!("{}:", why.title), width, ""));
    out.push('\n');
    for Cause { text, counters } in &why.causes {
        out.push_str(&format!("  {}", wrapped(text, width - 2, "  ")));
        out.push('\n');
        out.push_str(
            &ink.paint(Tint::Dim, &format!("    {}", wrapped(counters, width - 4, "    "))),
        );
        out.push('\n');
    }
    let caveat = "Counted, not proved: fathom doctor RESULT --prove tries changes that would remove a limit.";
    out.push_str(&ink.paint(Tint::Dim, &format!("  {}", wrapped(caveat, width - 2, "  "))));
    out.push('\n');
}

/// Writes the expectations and their outcomes.
fn expectations(out: &mut String, view: &View, width: usize, ink: &Ink) {
    let here = |held: &&Expectation| held.outcome != ExpectationOutcome::Elsewhere;
    for held in view.expectations.iter().filter(here) {
        let tint = match held.outcome {
            ExpectationOutcome::Met => Tint::Green,
            ExpectationOutcome::Missed => Tint::Red,
            _ => Tint::Yellow,
        };
        let words = wording::expected(held);
        let found = words.found.as_deref().unwrap_or(NONE);
        let range = words.interval.map_or_else(String::new, |interval| format!(" {interval}"));
        let text = format!("{}: expected {}, found {found}{range}", words.figure, words.bound);
        // One wider than the longest outcome, "no ratio".
        out.push_str(&ink.paint(tint, &format!("{:<9}", held.outcome.word())));
        out.push_str(&wrapped(&text, width - 9, "         "));
        if let Some(why) = wording::why_not_judged(held).or_else(|| wording::why_otherwise(held)) {
            out.push_str("\n         ");
            out.push_str(&wrapped(&why, width - 9, "         "));
        }
        out.push('\n');
    }
}

/// Writes the effects of all factors on one metric; of the joint effects of two factors only those with a clear verdict.
fn effects(out: &mut String, row: &EffectRow, width: usize, ink: &Ink) {
    let _ = writeln!(out, "{}", wrapped(&format!("Effects on {}:", row.label), width, ""));
    for effect in &row.found.effects {
        if effect.with.is_some() && effect.verdict == Verdict::Unclear {
            continue;
        }
        let word = effect.verdict.word();
        let ratio = wording::ratio(effect.ratio);
        let (low, high) = (significant(effect.low, 3), significant(effect.high, 3));
        out.push_str(&ink.paint(tint(Some(word)), &format!("  {word:<8}")));
        let line = format!("{ratio} [{low}, {high}] {}", effect_name(effect));
        out.push_str(&wrapped(&line, width.saturating_sub(10), "          "));
        out.push('\n');
    }
    out.push_str(&ink.paint(Tint::Dim, &wrapped(&format!("  {}", row.basis()), width, "  ")));
    out.push_str("\n\n");
}

/// Writes the doctor's findings, and the first of the limits of layers; `fathom doctor` lists all of these.
fn findings(out: &mut String, findings: &[Finding], width: usize, ink: &Ink) {
    let limits = doctor::limits(findings);
    let others = findings.iter().filter(|finding| finding.explains_percent.is_none());
    for (finding, also) in doctor::joined(others.chain(limits.first.iter().copied())) {
        let (word, tint) = match finding.severity {
            Severity::Error => ("error".to_owned(), Tint::Red),
            Severity::Warning => ("warning".to_owned(), Tint::Yellow),
            Severity::Note => ("note".to_owned(), Tint::Dim),
        };
        let word = finding.explains_percent.map_or(word, |percent| format!("{percent:>4.0} %"));
        out.push_str(&ink.paint(tint, &format!("{word:<8}")));
        let of = finding.subject.as_ref().map_or_else(String::new, |s| format!("[{s}] "));
        out.push_str(&wrapped(
            &format!("{of}{} ({})", finding.message, finding.rule),
            width - 8,
            "        ",
        ));
        out.push('\n');
        let (evidence, raw) = plain_and_raw(&finding.evidence);
        let more = raw.map_or("", |_| " (the page and --json say why)");
        let evidence = format!("{evidence}{more}");
        for line in [&evidence, &finding.remedy].into_iter().filter(|l| !l.is_empty()) {
            out.push_str(
                &ink.paint(Tint::Dim, &format!("        {}", wrapped(line, width - 8, "        "))),
            );
            out.push('\n');
        }
        for other in also {
            let of = other.subject.as_deref().unwrap_or_default();
            let line = format!("Also {of}: {}", doctor::also(finding, other));
            let line = wrapped(&line, width - 8, "        ");
            out.push_str(&ink.paint(Tint::Dim, &format!("        {line}\n")));
        }
    }
    if !limits.others.is_empty() {
        let more =
            format!("        {} more limits: fathom doctor RESULT --all\n", limits.others.len());
        out.push_str(&ink.paint(Tint::Dim, &more));
    }
}

/// Returns reasons other than too few repeats that keep verdicts unclear: `p99 latency of randwrite: cells 3, 9 and 14 (vdo) stand apart from all
/// others; no verdict while they do.`, or that there are too few I/Os.
fn unclear_reasons(view: &View) -> Vec<String> {
    let of = |row: &FigureRow| {
        let figure = format!("{} of {}", row.label, row.scope.name());
        let all = row.comparisons.iter().flatten().filter_map(wording::apart);
        let apart = all.map(|runs| format!("{figure}: {runs}; no verdict while they do."));
        let mut measured =
            row.comparisons.iter().flatten().filter(|c| row.known() || !c.unmeasured());
        let few = measured.find_map(wording::of_few_ios);
        let few = few.map(|why| format!("{figure}: {why}."));
        apart.chain(few).collect::<Vec<_>>()
    };
    let unmeasured = view.unmeasured.iter().map(|text| format!("Not measured: {text}."));
    unmeasured.chain(view.figures.iter().flat_map(of)).collect()
}

/// Describes how the figures asked about were compared: `IOPS and CPU per I/O are paired, repeat by repeat; p99 latency is compared by ranks.`
fn comparison_methods(view: &View) -> Option<String> {
    let asked_rows = || view.figures.iter().filter(|row| row.asked);
    let by = |test: Test| {
        let of = |row: &&FigureRow| row.comparisons.iter().flatten().any(|c| c.test == test);
        let labels: BTreeSet<_> = asked_rows().filter(of).map(|row| short(&row.label)).collect();
        let be = if labels.len() == 1 { "is" } else { "are" };
        let labels = labels.into_iter().collect::<Vec<_>>().join(", ");
        (!labels.is_empty()).then(|| format!("{labels} {be}"))
    };
    let paired = by(Test::Paired).map(|labels| format!("{labels} paired, repeat by repeat"));
    let ranked = by(Test::Ranked).map(|labels| format!("{labels} compared by ranks"));
    let occurred =
        by(Test::Occurrence).map(|labels| format!("{labels} compared by the runs that have any"));
    let parts: Vec<_> = [paired, ranked, occurred].into_iter().flatten().collect();
    let dropped =
        asked_rows().flat_map(|row| row.comparisons.iter().flatten()).map(|c| c.dropped).max()?;
    let left_out = match dropped {
        0 => String::new(),
        n => format!(" Left out, as one side has no value: up to {n} of the repeats."),
    };
    let sequential = view.sequential.as_ref().map_or_else(String::new, |s| format!(" {}", s.text));
    Some(format!("{}.{left_out}{sequential}", parts.join("; ")))
}
