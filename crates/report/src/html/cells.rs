//! The cells in the order they ran, with the exact commands.

use maud::{Markup, html};
use results::model::plain_and_raw;

use super::inline::dot;
use super::parts::{folded, why};
use crate::view::{Cell, View};
use crate::wording::NONE;

/// Every cell: its figures, and the steps that raised and took down its stack.
pub fn cells(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let names: Vec<_> = view.cells.iter().map(|c| c.figures.iter().map(|f| &f.0).collect()).fold(
        Vec::new(),
        |longest: Vec<&String>, own: Vec<&String>| {
            if own.len() > longest.len() { own } else { longest }
        },
    );
    let body = html! {
        p.reading { "Each cell is one variant at one repeat on a fresh stack, in the order they ran. Drift or an effect of the order would show \
                     here as a trend down the rows." }
        div.scroll tabindex="0" role="region" aria-label="Cells" { table {
            thead { tr { th scope="col" { "#" } th.text scope="col" { "Variant" } th scope="col" { "Repeat" } th.text scope="col" { "State" }
                @for name in &names { th scope="col" { (name) } } } }
            tbody { @for (index, cell) in view.cells.iter().enumerate() { tr {
                td { (index + 1) }
                td.text { @if let Some(v) = cell.variant { (dot(v)) } (cell.name) }
                td { (cell.repeat) }
                td.wrap { (cell.state) @if !cell.disturbed.is_empty() { ", " b { "disturbed" } ": " (cell.disturbed.join(", ")) } @if let Some(reason) = &cell.reason {
                    @let (plain, raw) = plain_and_raw(reason);
                    ": " (plain) (why(raw)) } }
                @for name in &names {
                    td { (cell.figures.iter().find(|f| f.0 == **name).map_or(NONE, |f| f.1.as_str())) }
                }
            } } }
        } }
        h3 { "Commands" }
        p.reading { "What was done to the machine, step by step, as a person would type it. Lines with # say what a step is for or wait for." }
        @for (index, cell) in view.cells.iter().enumerate() { @if !cell.steps.is_empty() { (commands(index, cell)) } }
    };
    folded(&id("cells"), "Cells and commands", &body)
}

fn commands(index: usize, cell: &Cell) -> Markup {
    let text = cell
        .steps
        .iter()
        .map(|step| {
            let failed =
                step.error.as_ref().map(|e| format!("\n# failed: {e}")).unwrap_or_default();
            let time = units::show::nanos(step.duration_ns as f64);
            format!("# {} ({time})\n{}{failed}", one_line(&step.about), one_line(&step.command))
        })
        .collect::<Vec<_>>()
        .join("\n");
    html! {
        details.cell { summary { "Cell " (index + 1) ": " (cell.name) ", repeat " (cell.repeat) " (" (cell.steps.len()) " steps)" }
            div.copy { pre tabindex="0" { (text) } } }
    }
}

/// A line break in a name must not turn the rest of a comment into a command.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
