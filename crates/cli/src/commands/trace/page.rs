//! A trace as a page.

use report::html::{Block, Sheet};

use super::shown::Shown;
use super::{charts, words};
use crate::commands::recorded;

/// Returns the page: the pictures first, then what they consist of.
pub(super) fn sheet(shown: &Shown) -> Sheet {
    let Shown { trace, figures } = shown;
    let ops = figures.ops();
    let title = |text: &str| Block::Title(text.into());
    let table = |(heads, rows): words::Table| Block::Table { heads, rows };
    let mut blocks = Vec::new();
    let missing = recorded::missing(trace);
    if !missing.is_empty() {
        blocks.extend([title("Missing in this recording"), Block::List(missing)]);
    }
    blocks.push(table(words::operations(&ops)));
    blocks.push(Block::List(words::sizes(&ops)));
    blocks.push(title("Where and when"));
    blocks.push(Block::Text(
        "A rising line is sequential I/O, a level band is data used again and again, a cloud is random I/O, an empty column is a pause.".into(),
    ));
    blocks.extend(charts::pictures(figures).into_iter().map(Block::Chart));
    let [seeks, arrivals] = charts::rates(figures);
    if let Some(line) = words::seeks(figures) {
        blocks.extend([title("Seeks"), Block::Text(format!("{line}."))]);
        blocks.extend(seeks.map(Block::Chart));
    }
    blocks.push(title("Sequential runs"));
    blocks.push(Block::Text(
        "A run goes on as long as each I/O of the operation begins where an earlier one ended; up to 32 runs side by side are told apart. \
        The last two columns: the share of the bytes that are in runs of at least that length."
            .into(),
    ));
    blocks.push(table(words::runs(&ops)));
    blocks.push(Block::Chart(charts::runs(figures)));
    if figures.analysis().touched().bytes > 0.0 {
        blocks
            .extend([title("Touched data"), Block::Text(format!("{}.", words::touched(figures)))]);
        blocks.extend(charts::growth(figures).map(Block::Chart));
        blocks.push(Block::List(words::reuse(figures)));
        blocks.extend(charts::reuse(figures).map(Block::Chart));
    }
    if let Some(arrivals) = arrivals {
        blocks.extend([title("Arrivals"), Block::Chart(arrivals)]);
    }
    let not_known = words::not_known(trace, figures);
    if !not_known.is_empty() {
        blocks.extend([title("Not known from this"), Block::List(not_known)]);
    }
    Sheet {
        kicker: "Trace".into(),
        what: format!("{} ({})", recorded::what(trace), words::format(trace)),
        headline: words::headline(figures),
        blocks,
    }
}
