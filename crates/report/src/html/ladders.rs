//! Latency by layer: one ladder from the load to the disks for each measured stage of each variant.

use analysis::{Ladder, Rung};
use maud::{Markup, html};

use super::inline::dot;
use crate::ladder::{HEADS, LAST, cells, depths};
use crate::view::{LadderRow, View};

/// Returns all ladders; nothing where latency by layer was not asked for.
pub fn ladders(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! { @if !view.ladders.is_empty() {
        h2 id=(id("ladders")) { "Latency by layer" }
        p.reading { "From the load down to the disks: the latency of each device as seen from the layer above. A bar begins where the slowest \
                     device below it ends, and is what the layer adds to the 99th percentile. No layer is named if there were too few I/Os, \
                     events were lost, or a layer answers before the one below it." }
        @for row in &view.ladders { (one(row)) }
    } }
}

fn one(row: &LadderRow) -> Markup {
    let ladder = &row.stage_ladder.ladder;
    let named = ladder.made.as_ref().ok().map(|made| made.name.as_str());
    html! {
        h3 { (dot(row.stage_ladder.variant)) (row.text) }
        div.scroll tabindex="0" role="region" aria-label={ "Latency by layer: " (row.name) } { table {
            thead { tr { th.text scope="col" { "Layer" } th.text scope="col" { "Part of the p99" }
                @for head in HEADS.into_iter().chain([LAST]) { th scope="col" { (head) } } } }
            tbody { @for (rung, depth) in ladder.rungs.iter().zip(depths(ladder)) { tr {
                th.name scope="row" style={ "padding-left:" (14 + 14 * depth) "px" } {
                    @if named == Some(rung.name.as_str()) { b { (rung.name) } } @else { (rung.name) }
                    @if let Some(by) = rung.by { span.range { (by.word()) } }
                    @if let Some(why) = &rung.absent { span.range { (why) } }
                    @if rung.lost > 0 { span.range { (rung.lost) " events lost" } }
                }
                td.text style="min-width:12em" { (bar(ladder, rung, named)) }
                @for cell in cells(rung) { td { (cell) } }
            } } }
        } }
    }
}

/// Returns a bar for the part of the largest 99th percentile that a rung adds, at its position.
fn bar(ladder: &Ladder, rung: &Rung, named: Option<&str>) -> Markup {
    let all = ladder.rungs.iter().filter_map(|rung| rung.all.p99_ns);
    let most = all.fold(0.0, f64::max);
    let (Some(p99), Some(adds)) = (rung.all.p99_ns, rung.adds_ns) else { return html! {} };
    if most <= 0.0 {
        return html! {};
    }
    let percent = |ns: f64| format!("{:.1}%", 100.0 * ns.max(0.0) / most);
    let colour = if named == Some(rung.name.as_str()) { "--v1" } else { "--v0" };
    let style = format!(
        "margin-left:{};width:{};min-width:1px;--c:var({colour})",
        percent(p99 - adds.max(0.0)),
        percent(adds)
    );
    html! { div.track aria-hidden="true" { i style=(style) {} } }
}
