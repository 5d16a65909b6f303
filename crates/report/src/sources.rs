//! What sources found beside what was found here: one Markdown page over several results, from their expectations.

use std::fmt::Write as _;

use analysis::Expectation;

use crate::view::View;
use crate::wording::{self, NONE};

/// How every such page begins.
pub const MARK: &str = "# What the sources found, and what was found here\n";

/// The page. Each result is told with its table, also where it expects nothing.
pub fn markdown(views: &[View]) -> String {
    let mut page = MARK.to_owned();
    page.push_str(
        "\nMade by `fathom catalogue` from the results beside it. A figure is the median over the repeats, with its 95 % interval \
         from five repeats on and its range below that. `met`, `missed` and `unclear` say whether it is as expected; `unknown` that \
         there is no such figure.\n",
    );
    for view in views {
        experiment(&mut page, view);
    }
    page
}

fn experiment(page: &mut String, view: &View) {
    let _ = write!(page, "\n## {}\n\n{}\n\n", plain(&view.experiment), plain(&view.about));
    for name in ["source", "scale", "repeats of each variant", "accelerator", "started"] {
        let found = view.run.iter().find(|(key, value)| key == name && !value.is_empty());
        if let Some((key, value)) = found {
            let _ = writeln!(page, "* {key}: {}", plain(value));
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
    if view.expectations.is_empty() {
        page.push_str("\nIt expects nothing: no source gives a figure.\n");
        return;
    }
    page.push_str(
        "\n| figure | expected | found | outcome | source |\n| --- | --- | --- | --- | --- |\n",
    );
    for held in &view.expectations {
        page.push_str(&row(held));
    }
}

fn row(held: &Expectation) -> String {
    let said = wording::expected(held);
    let found = match (said.found, said.interval, held.n) {
        (None, ..) => NONE.to_owned(),
        (Some(found), _, 1) => format!("{found}, one run"),
        (Some(found), Some(interval), n) => format!("{found} {interval}, {n} repeats"),
        (Some(found), None, n) => format!("{found}, {n} repeats"),
    };
    let source = held.expected.source.as_deref().unwrap_or(NONE);
    let cells = [&said.figure, &said.asked, &found, held.outcome.word(), source].map(plain);
    format!("| {} |\n", cells.join(" | "))
}

/// Text that neither ends a cell of a table nor is taken for markup.
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
