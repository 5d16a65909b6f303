//! One large I/O, or the same bytes as many small ones: the answers, and the table behind them.

use analysis::Split;
use maud::{Markup, html};
use units::{Unit, show};

use super::inline::range;
use crate::view::View;
use crate::wording::{self, split_parts, split_whole};

/// Returns the answers of each sweep by outstanding bytes; nothing where there is none.
pub fn splits(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! { @for (index, row) in view.splits.iter().enumerate() {
        h2 id=(id(&format!("splits-{index}"))) { "Split or merge? " span.soft { (row.label) } }
        ul { @for answer in &row.answers { li { (answer) } } }
        details {
            summary { "Each amount of bytes in flight" }
            p.reading { "The fastest split compared with one large I/O of the same bytes. All splits of the result are judged together (Holm), so \
                         that the fastest of many is not called faster by chance; differences below 5 % do not matter." }
            div.scroll tabindex="0" role="region" aria-label={ "Splits of " (row.label) } { table {
                thead { tr { th scope="col" { "In flight" } th scope="col" { "As one" } th scope="col" { "Fastest split" } th scope="col" { "Times" } th.text scope="col" { "Answer" } } }
                tbody { @for (index, split) in row.found.iter().enumerate() {
                    @if index == 0 || row.found[index - 1].variant != split.variant {
                        tr.group { th.name colspan="5" scope="rowgroup" { (split.variant) } }
                    }
                    (line(split))
                } }
            } }
        }
    } }
}

fn line(split: &Split) -> Markup {
    let speed = |value: Option<f64>| {
        value.map_or("not measured".to_owned(), |value| wording::value(Unit::BytesPerSecond, value))
    };
    let whole = match split.whole.depth {
        1 => String::new(),
        _ => split_whole(split),
    };
    html! { tr {
        th scope="row" { (show::bytes(split.outstanding as f64)) }
        td { (speed(split.whole.median)) (range(&whole)) }
        td { (speed(split.best.median)) (range(&split_parts(split))) }
        td {
            (split.ratio.map_or_else(|| wording::NONE.to_owned(), wording::ratio))
            @if let (Some(low), Some(high)) = (split.low, split.high) { (range(&format!("[{}, {}]", show::bound(low), show::bound(high)))) }
        }
        td.text { (split.answer.word()) }
    } }
}
