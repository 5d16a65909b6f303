//! The figures that sources reported, compared with those found here: one Markdown page about several results, made from their expectations.

use std::fmt::Write as _;

use analysis::{Expectation, ExpectationOutcome, Reported};
use results::model::Grounds;
use units::Unit;

use crate::view::View;
use crate::wording::{self, NONE, SOURCE_DIGITS};

/// The beginning of every such page.
pub const MARK: &str = "# What the sources found, and what was found here\n";

/// The name of the number of repeats in the run's own table.
const REPEATS: &str = "repeats of each variant";

/// The facts about the run of each result that the page shows, by their names in the run's own table.
const TOLD: [&str; 8] = [
    "source",
    "scale",
    REPEATS,
    "a repeat took",
    "disturbed cells",
    "accelerator",
    "kernel",
    "started",
];

/// Returns the page. Each result has a section, even if it expects nothing.
pub fn markdown(views: &[View]) -> String {
    let mut page = MARK.to_owned();
    page.push_str(
        "\nMade by `fathom catalogue` from the results beside it. A figure is the median over the repeats, with its 95 % interval \
         from five repeats on and its range below that. What differs says why, where that is known, with the figures that show it. \
         Unless `--repeat` said otherwise, five repeats were run of what takes at most three minutes a repeat by its plan \
         (`fathom explain`), and one of what takes longer.\n",
    );
    for view in views {
        experiment(&mut page, view);
    }
    page
}

fn experiment(page: &mut String, view: &View) {
    let _ = write!(page, "\n## {}\n\n{}\n\n", plain(&view.experiment), plain(&view.about));
    for name in TOLD {
        let found = view.run.iter().find(|(key, value)| key == name && !value.is_empty());
        if let Some((key, value)) = found {
            let why = if key == REPEATS { why_once(view, value) } else { "" };
            let _ = writeln!(page, "* {key}: {}{why}", plain(value));
        }
    }
    for (not, what) in [
        (view.simulated, "simulated: no figure is real"),
        (!view.complete, "incomplete: cells are missing, and nothing here is final"),
        (view.seal == "broken", "changed: files are not as the run left them"),
    ] {
        if not {
            let _ = writeln!(page, "* {what}");
        }
    }
    let mut rules: Vec<&str> = view.findings.iter().map(|finding| &*finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    if !rules.is_empty() {
        let rules: Vec<_> = rules.iter().map(|rule| format!("`{rule}`")).collect();
        let _ = writeln!(page, "* the doctor found: {}", rules.join(", "));
    }
    for table in &view.reported {
        reported(page, table);
    }
    if asks_of_threads(view) {
        thread_kinds(page, view);
    }
    if view.expectations.is_empty() {
        page.push_str("\nIt expects nothing: no source gives a figure.\n");
        return;
    }
    page.push_str(
        "\n| figure | expected | found | outcome | rests on |\n| --- | --- | --- | --- | --- |\n",
    );
    for held in &view.expectations {
        page.push_str(&row(held));
    }
}

/// Returns why an experiment ran only once, if `fathom catalogue` chose that because no number was given.
fn why_once(view: &View, repeats: &str) -> &'static str {
    let command =
        view.run.iter().find(|(key, _)| key == "command").map(|(_, value)| value.as_str());
    let chosen = command.is_some_and(|c| c.contains(" catalogue ") && !c.contains("--repeat"));
    if repeats == "1" && chosen {
        ", since a repeat takes more than three minutes by its plan"
    } else {
        ""
    }
}

/// Writes a table of the source, each figure next to the one found here.
fn reported(page: &mut String, table: &Reported) {
    let _ = write!(
        page,
        "\n{}:\n\n| of | source, {} | over the first | here | over the first |\n| --- | ---: | ---: | ---: | ---: |\n",
        plain(&wording::reported_title(table)),
        plain(&table.source_unit)
    );
    for row in &table.rows {
        let ratio = wording::times;
        let dash = || NONE.to_owned();
        let found = row.ratio.as_ref().and_then(|found| {
            let ends = found.low.zip(found.high);
            let ends = ends.map(|(low, high)| format!(" [{}, {}]", ratio(low), ratio(high)));
            Some(format!("{}{}", ratio(found.median?), ends.unwrap_or_default()))
        });
        let cells = [
            wording::reported(row, &table.rows),
            units::show::significant(row.source, SOURCE_DIGITS),
            row.source_ratio.map_or_else(dash, ratio),
            wording::found_here(row),
            found.unwrap_or_else(dash),
        ];
        let _ = writeln!(page, "| {} |", cells.map(|cell| plain(&cell)).join(" | "));
    }
    if let Some(here) = &table.here {
        let _ = writeln!(page, "\nThe quantity measured here differs: {}.", plain(here));
    }
    let columns = wording::SPREAD_COLUMNS;
    let spreads = wording::spreads(table);
    if !spreads.is_empty() {
        let _ = write!(
            page,
            "\nThe same for the single I/Os of a run:\n\n| of | | {} |\n| --- | --- |{}\n",
            columns.join(" | "),
            " ---: |".repeat(columns.len())
        );
    }
    for (of, whose, cells) in spreads {
        let cells = cells.map(|cell| plain(&cell)).join(" | ");
        let _ = writeln!(page, "| {} | {whose} | {cells} |", plain(&of));
    }
}

/// Tells whether a figure of threads is expected or was reported, so that all kinds of threads are of interest.
fn asks_of_threads(view: &View) -> bool {
    let expected = view.expectations.iter().map(|held| &held.expected.figure);
    let reported = view.reported.iter().flat_map(|table| &table.rows).map(|row| &row.figure);
    expected.chain(reported).any(|figure| figure.metric.contains("thread"))
}

/// Writes a table of the busiest thread of each kind, a column for each variant.
fn thread_kinds(page: &mut String, view: &View) {
    if view.thread_kinds.is_empty() {
        return;
    }
    let names: Vec<_> = view.variants.iter().map(|variant| plain(&variant.name)).collect();
    let _ = write!(
        page,
        "\nThe busiest thread of each kind, percent of one CPU, and how many there were:\n\n| thread that | {} |\n| --- |{}\n",
        names.join(" | "),
        " ---: |".repeat(names.len())
    );
    for row in &view.thread_kinds {
        let busiest = row.busiest.iter().map(|busiest| match busiest {
            None => NONE.to_owned(),
            Some((percent, 1)) => Unit::Percent.show(*percent),
            Some((percent, threads)) => format!("{} of {threads}", Unit::Percent.show(*percent)),
        });
        let _ = writeln!(
            page,
            "| {} | {} |",
            plain(&layers::thread(&row.kind)),
            busiest.collect::<Vec<_>>().join(" | ")
        );
    }
}

/// Describes the outcome of an expectation, for readers who know the source.
fn outcome_text(held: &Expectation) -> String {
    match held.outcome {
        ExpectationOutcome::Met => wording::as_expected(held.expected.grounds).to_owned(),
        ExpectationOutcome::Missed => {
            let why =
                wording::why_otherwise(held).map_or_else(String::new, |why| format!(": {why}"));
            format!("differs{why}")
        }
        ExpectationOutcome::Unclear => {
            let why = wording::why_not_judged(held);
            let why = why.unwrap_or_else(|| "a part of the interval is as expected".to_owned());
            format!("cannot be said: {why}")
        }
        ExpectationOutcome::Unknown => "cannot be said: there is no such figure".to_owned(),
        ExpectationOutcome::NoRatio => {
            "cannot be said: there is no ratio, what it is divided by is 0".to_owned()
        }
        ExpectationOutcome::NotRun => "cannot be said: it did not run".to_owned(),
        ExpectationOutcome::Elsewhere => {
            let scale = held.expected.scale.as_deref().unwrap_or_default();
            let because = held.expected.because.as_deref();
            let because = because.map(|because| format!(": {because}")).unwrap_or_default();
            format!("cannot be said: expected at scale {scale} alone{because}")
        }
    }
}

fn row(held: &Expectation) -> String {
    let words = wording::expected(held);
    let found = match (words.found, words.interval, held.n) {
        (None, ..) => NONE.to_owned(),
        _ if held.outcome == ExpectationOutcome::Elsewhere => NONE.to_owned(),
        (Some(found), _, 1) => format!("{found}, one run"),
        (Some(found), Some(interval), n) => format!("{found} {interval}, {n} repeats"),
        (Some(found), None, n) => format!("{found}, {n} repeats"),
    };
    let source = held.expected.source.as_deref().unwrap_or(NONE);
    let rests_on = match held.expected.grounds {
        Grounds::Document => source.to_owned(),
        other => format!("{}: {source}", wording::grounds(other)),
    };
    let cells = [&*words.figure, &words.bound, &found, &outcome_text(held), &rests_on].map(plain);
    format!("| {} |\n", cells.join(" | "))
}

/// Returns a text that neither ends a cell of a table nor is taken for markup.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    for c in units::printable(text).chars() {
        match c {
            '\n' => shown.push(' '),
            '<' => shown.push_str("&lt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => shown.extend(['\\', c]),
            c => shown.push(c),
        }
    }
    shown
}
