//! The states that layers were brought to, with the proof.

use maud::{Markup, html};

use crate::view::View;

/// Returns a table of the criteria; nothing where no stage asked for a state.
pub fn states(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let missed = view.states.iter().filter(|row| !row.met).count();
    html! { @if !view.states.is_empty() {
        h2 id=(id("states")) { "States before the measurement" }
        p.reading {
            "The conditions that a layer had to meet, and the layer's own figures at the end of the stage. "
            @if missed == 0 { "All were met." } @else { (missed) " of them not met: what follows was measured in another state." }
        }
        div.scroll tabindex="0" role="region" aria-label="States before the measurement" { table {
            thead { tr { th scope="col" { "Cell" } th.text scope="col" { "Stage" } th.text scope="col" { "Asked" } th scope="col" { "Read" } th.text scope="col" { "Held" } } }
            tbody { @for row in &view.states { tr {
                th.name scope="row" { (row.cell) }
                td.text { (row.stage) span.range { (row.state) } }
                td.text { (row.asked) }
                td { (row.read) }
                td.text { span.chip.better[row.met].worse[!row.met] { @if row.met { "✓ yes" } @else { "✗ no" } } }
            } } }
        } }
    } }
}
