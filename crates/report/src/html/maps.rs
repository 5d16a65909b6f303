//! Maps of sweeps over two numbers: cells and diagonals as SVG, and their texts as HTML beside and over it. No script is needed.

use maud::{Markup, html};
use units::Unit;

use super::inline::dot;
use crate::drawing::CellMap;
use crate::view::{CLASSES, MapGroup, Panel, SweepMap, View};
use crate::wording;

/// Most columns of a map whose ticks all have room.
const ROOMY: usize = 7;

/// Returns the maps over bytes in flight, which are an answer, and all others folded; nothing where there are none.
pub fn maps(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let (answers, others): (Vec<&SweepMap>, Vec<&SweepMap>) =
        view.maps.iter().partition(|map| map.in_flight);
    html! {
        @for (index, map) in answers.iter().enumerate() {
            h2 id=(id(&format!("map-{index}"))) { (map.title) span.soft { " by depth and block size" } }
            (one(map))
        }
        @for map in others { details.part {
            summary { h2 { (map.title) span.soft { " by " (map.keys[0]) " and " (map.keys[1]) } } }
            (one(map))
        } }
    }
}

fn one(map: &SweepMap) -> Markup {
    html! {
        p.reading { "The stronger the colour of a cell, the larger the figure; panels with one scale are of the same devices."
            @if map.in_flight { " A thin line joins the cells with as many bytes in flight, from few large I/Os on the left to many small ones. \
                A frame marks the fastest cell of a line: unbroken where the repeats decide it, broken where they do not." }
            " A hollow cell has a figure that a finding or too few I/Os spoil; what was not measured has no cell." }
        @for group in &map.groups {
            (scale(map.unit, group))
            div.maps { @for one in &group.panels { (panel(map, one)) } }
        }
        (table(map))
    }
}

/// Returns the colours of a scale with their numbers.
fn scale(unit: Unit, group: &MapGroup) -> Markup {
    let number = |at: usize| unit.show_with(group.ends[at], 2);
    html! { ul.scale { @for class in 0..CLASSES { li style={ "--c:var(--m" (class) ")" } { (number(class)) " to " (number(class + 1)) } } } }
}

fn panel(map: &SweepMap, panel: &Panel) -> Markup {
    let drawn = CellMap::of(map, panel);
    html! { figure.map {
        figcaption { (dot(panel.variant)) (panel.name) @if !panel.answer.is_empty() { span.over { (panel.answer) } } }
        div.plot role="img" aria-label={ (map.title) ", " (panel.name) } style={ "--n:" (format!("{:.0}", drawn.columns)) ";--m:" (format!("{:.0}", drawn.rows)) } {
            p.yl { (map.keys[1]) @if map.in_flight { span.end { "in flight" } } }
            div.ys style={ "width:" (widest(map)) "ch" } { @for tick in &drawn.y { span style={ "bottom:" (percent(tick.at)) } { (tick.text) } } }
            div.room {
                svg viewBox={ "0 0 " (crate::drawing::WIDTH) " " (crate::drawing::HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
                    @for cell in &drawn.cells { path.cell.hollow[cell.spoiled] style={ "--c:var(--m" (cell.class) ")" } d=(cell.path) { title { (cell.title) } } }
                    path.flight d=(drawn.lines) {}
                    path.frame d=(drawn.sure) {}
                    path.frame.open d=(drawn.open) {}
                }
                @for cell in &drawn.cells { span.val style={ "left:" (percent(cell.centre.0)) ";bottom:" (percent(cell.centre.1)) @if !cell.spoiled { ";color:var(--t" (cell.class) ")" } } { (cell.value) } }
            }
            @if map.in_flight { div.rs { @for tick in &drawn.right { span style={ "bottom:" (percent(tick.at)) } { (tick.text) } } } }
            div.xs.many[drawn.x.len() > ROOMY] { @for tick in &drawn.x { span style={ "left:" (percent(tick.at)) } { (tick.text) } } }
            p.xl { (map.keys[0]) }
            @if !drawn.below.is_empty() {
                div.xs.many[drawn.below.len() > ROOMY] { @for tick in &drawn.below { span style={ "left:" (percent(tick.at)) } { (tick.text) } } }
                p.xl { "bytes in flight on the line that ends there" }
            }
        }
    } }
}

fn widest(map: &SweepMap) -> usize {
    map.levels[1].iter().map(|level| level.name.chars().count()).max().unwrap_or(1)
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// Returns the figures of all cells: a row for each point, a column for each variant.
fn table(map: &SweepMap) -> Markup {
    let panels = || map.groups.iter().flat_map(|group| &group.panels);
    let mut places: Vec<[usize; 2]> =
        panels().flat_map(|panel| panel.cells.iter().map(|cell| cell.at)).collect();
    places.sort_unstable_by_key(|at| [at[1], at[0]]);
    places.dedup();
    let value = |panel: &Panel, at: [usize; 2]| {
        let cell = panel.cells.iter().find(|cell| cell.at == at);
        cell.map_or_else(|| wording::NONE.to_owned(), |cell| wording::value(map.unit, cell.value))
    };
    html! { details { summary { "Table" }
        div.scroll tabindex="0" role="region" aria-label={ "Table of " (map.title) } { table {
            thead { tr { th scope="col" { (wording::capital(&map.keys[1])) } th scope="col" { (wording::capital(&map.keys[0])) }
                @for panel in panels() { th.name scope="col" { (panel.name) } } } }
            tbody { @for at in places { tr {
                th scope="row" { (map.levels[1][at[1]].name) } td { (map.levels[0][at[0]].name) }
                @for panel in panels() { td { (value(panel, at)) } }
            } } }
        } }
    } }
}
